package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/port"
)

// names are the programs, in the order in which they start.
var names = []string{"dice", "party", "dungeon", "travel", "expedition", "gateway"}

// field is the ground on which it is played: the programs as processes, and what is between them.
type field struct {
	dir     string
	victims []*process
	issuer  *process
	proxies []*proxy
	gateway string
	tokens  string
	// release gives back the addresses of the programs.
	release func()

	kills, cuts int
}

// process is a program that is started again whenever it was killed.
type process struct {
	name string
	path string
	args []string
	env  []string
	log  string
	// at is where it listens.
	at string

	mu   sync.Mutex
	cmd  *exec.Cmd
	life io.Closer
	gone chan struct{}
	// done is set when it is not to run any more.
	done bool
}

// start starts it, unless it runs.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil || p.done {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()     // the process has its own
	cmd := exec.Command(p.path, p.args...) //nolint:gosec,noctx // the suite's own programs; killed below
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	// Those that end with their standard input do not outlive this program.
	if p.life, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.cmd, p.gone = cmd, make(chan struct{})
	go p.attend(cmd, p.gone)
	return nil
}

// attend starts the process again when it ended by itself, as whatever runs it elsewhere would: some end when they do not
// find at their start what they need.
func (p *process) attend(cmd *exec.Cmd, gone chan struct{}) {
	_ = cmd.Wait() // why it ended is in its log
	close(gone)
	p.mu.Lock()
	mine := p.cmd == cmd
	if mine {
		_ = p.life.Close()
		p.cmd = nil
	}
	p.mu.Unlock()
	if mine {
		time.Sleep(300 * time.Millisecond)
		if err := p.start(); err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
		}
	}
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	cmd, gone := p.cmd, p.gone
	p.cmd = nil
	_ = cmd.Process.Kill()
	<-gone
	_ = p.life.Close()
}

// retire asks the process to end, as a rollout does, waits until it has, and tells whether it ended well and in time.
func (p *process) retire(within time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return fmt.Errorf("%s does not run", p.name)
	}
	cmd, gone := p.cmd, p.gone
	p.cmd = nil
	_ = cmd.Process.Signal(syscall.SIGTERM)
	defer func() { _ = p.life.Close() }()
	select {
	case <-gone:
	case <-time.After(within):
		_ = cmd.Process.Kill()
		<-gone
		return fmt.Errorf("%s had not ended %s after it was asked to", p.name, within)
	}
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("%s was asked to end: %s", p.name, cmd.ProcessState)
	}
	return nil
}

// end kills it for good.
func (p *process) end() {
	p.mu.Lock()
	p.done = true
	p.mu.Unlock()
	p.kill()
}

const (
	// grace is how long the programs may take to drain.
	grace = 5 * time.Second
	// retireTime is how long one may take to its end: it drains, and then ends one thing after the other.
	retireTime = time.Minute
)

// deploy starts everything.
func deploy(s settings, dir string) (*field, error) {
	f := &field{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	bin, err := filepath.Abs(s.Bin)
	if err != nil {
		return nil, err
	}
	own, release, err := addresses(s.Replicas)
	if err != nil {
		return nil, err
	}
	f.release = release
	reach := map[string]string{} // through a proxy, which can be cut
	for n, targets := range own {
		if n == "issuer" {
			continue
		}
		p, err := newProxy(targets...)
		if err != nil {
			return nil, err
		}
		f.proxies = append(f.proxies, p)
		reach[n] = p.addr()
	}
	add := func(name, program, at string, env []string, args ...string) *process {
		return &process{name: name, at: at, path: filepath.Join(bin, program), args: args, env: env, log: filepath.Join(dir, name+".log")}
	}
	_, issuerPort, _ := net.SplitHostPort(own["issuer"][0])
	issuerURL := "http://127.0.0.1:" + issuerPort
	clients := []string{}
	for _, n := range names[:5] {
		clients = append(clients, n+"=chaos")
	}
	f.issuer = add("issuer", "wayfarer", own["issuer"][0], nil, "issuer", "--listen="+own["issuer"][0], "--url="+issuerURL, "--key="+filepath.Join(dir, "issuer.pem"),
		"--client="+strings.Join(clients, ","))
	f.tokens, f.gateway = issuerURL, "http://"+reach["gateway"]
	_, temporalPort, _ := net.SplitHostPort(own["temporal"][0])
	f.victims = append(f.victims, add("temporal", "temporaldev", own["temporal"][0], nil, "-port="+temporalPort, "-ui-port=-1", "-with-parent", "-log=fatal",
		"-db="+filepath.Join(dir, "temporal.db")))
	uri := s.Mongo
	if s.Store == "mongodb" && uri == "" {
		data := filepath.Join(dir, "mongo")
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
		f.victims = append(f.victims, add("mongo", "ferretdev", own["mongo"][0], nil, "-listen="+own["mongo"][0], "-dir="+data, "-with-stdin"))
		uri = "mongodb://" + reach["mongo"] + "/"
	}
	for _, n := range names {
		for i, listen := range own[n] {
			env := []string{
				"WAYFARER_LISTEN=" + listen, "WAYFARER_GRPC_LISTEN=127.0.0.1:0", "WAYFARER_GRACE=" + grace.String(), "WAYFARER_LOG_LEVEL=ERROR", "WAYFARER_DATA_DIR=" + filepath.Join(dir, n),
				"STORE=" + s.Store, "MONGODB_URI=" + uri, "WAYFARER_ISSUER=" + issuerURL, "WAYFARER_JWKS_URL=" + issuerURL + "/jwks.json",
				"WAYFARER_TOKEN_URL=" + issuerURL + "/token", "WAYFARER_CLIENT_ID=" + n, "WAYFARER_CLIENT_SECRET=chaos",
				"WAYFARER_TEMPORAL_ADDR=" + reach["temporal"], "WAYFARER_PAYLOAD_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
			}
			for _, other := range names[:5] {
				env = append(env, "WAYFARER_"+strings.ToUpper(other)+"_ADDR="+reach[other])
			}
			name := n
			if i > 0 {
				name = fmt.Sprintf("%s-%d", n, i+1)
			}
			f.victims = append(f.victims, add(name, n, listen, env))
		}
	}
	for _, p := range append([]*process{f.issuer}, f.victims...) {
		if err := p.start(); err != nil {
			f.stop()
			return nil, err
		}
	}
	return f, nil
}

// addresses holds one for each program, so that nobody else has it while the program is dead.
func addresses(replicas int) (own map[string][]string, release func(), err error) {
	all := []string{"temporal", "issuer", "mongo"}
	for _, n := range names {
		all = append(all, slices.Repeat([]string{n}, replicas)...)
	}
	held, release, err := port.Hold(len(all))
	if err != nil {
		return nil, nil, err
	}
	own = map[string][]string{}
	for i, n := range all {
		own[n] = append(own[n], held[i])
	}
	return own, release, nil
}

// ready waits until every program serves.
func (f *field) ready(ctx context.Context) error {
	client := http.Client{Timeout: 5 * time.Second}
	var last error
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.gateway+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(res.Status)
		}
		last = err
		if !rest.Pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the programs are not ready: %w; their logs are in %s", last, f.dir)
		}
	}
}

// kill kills one process after the other, each for a moment.
func (f *field) kill(ctx context.Context, rng *rand.Rand, every time.Duration) {
	for rest.Pause(ctx, time.Duration(rng.Float64()*2*float64(every))) {
		v := f.victims[rng.IntN(len(f.victims))]
		v.kill()
		f.kills++
		_ = rest.Pause(ctx, time.Duration(rng.IntN(500))*time.Millisecond)
		if err := v.start(); err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return
		}
	}
}

// roll restarts one program after the other, each once the one before serves again, and begins anew until ctx ends.
func (f *field) roll(ctx context.Context) error {
	for ctx.Err() == nil {
		for _, v := range f.victims {
			if !rest.Pause(ctx, 500*time.Millisecond) {
				return nil
			}
			if err := v.retire(retireTime); err != nil {
				return err
			}
			f.kills++
			if err := v.start(); err != nil {
				return err
			}
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
			err := errors.Join(v.listening(within), f.ready(within))
			cancel()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// listening waits until somebody takes connections at the process's address.
func (p *process) listening(ctx context.Context) error {
	for {
		conn, err := net.DialTimeout("tcp", p.at, time.Second)
		if err == nil {
			return conn.Close()
		}
		if !rest.Pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%s does not serve: %w", p.name, err)
		}
	}
}

// cut cuts or delays the connections to one program after the other.
func (f *field) cut(ctx context.Context, rng *rand.Rand) {
	for rest.Pause(ctx, time.Duration(500+rng.IntN(3000))*time.Millisecond) {
		p := f.proxies[rng.IntN(len(f.proxies))]
		f.cuts++
		if rng.IntN(2) == 0 {
			p.cut()
			continue
		}
		p.slow(time.Duration(20+rng.IntN(200)) * time.Millisecond)
		_ = rest.Pause(ctx, time.Second)
		p.slow(0)
	}
}

func (f *field) stop() {
	for i := len(f.victims) - 1; i >= 0; i-- {
		f.victims[i].end()
	}
	f.issuer.end()
	for _, p := range f.proxies {
		p.close()
	}
	f.release()
}
