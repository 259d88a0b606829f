package e2e

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/certtest"
	"github.com/wayfarer-rpg/wayfarer/internal/port"
)

// observer is a collector: it keeps which programs took part in which trace, and which told figures.
type observer struct {
	tracesv1.UnimplementedTraceServiceServer
	mu     sync.Mutex
	traces map[string]map[string]bool
	meters map[string]bool
}

func (o *observer) Export(_ context.Context, req *tracesv1.ExportTraceServiceRequest) (*tracesv1.ExportTraceServiceResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, rs := range req.GetResourceSpans() {
		program := ""
		for _, a := range rs.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				program = a.GetValue().GetStringValue()
			}
		}
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				id := string(s.GetTraceId())
				if o.traces[id] == nil {
					o.traces[id] = map[string]bool{}
				}
				o.traces[id][program] = true
			}
		}
	}
	return &tracesv1.ExportTraceServiceResponse{}, nil
}

// figures is the part of an observer that takes metrics.
type figures struct {
	metricsv1.UnimplementedMetricsServiceServer
	*observer
}

// Export implements the metrics' collector.
func (f figures) Export(_ context.Context, req *metricsv1.ExportMetricsServiceRequest) (*metricsv1.ExportMetricsServiceResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rm := range req.GetResourceMetrics() {
		for _, a := range rm.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				f.meters[a.GetValue().GetStringValue()] = true
			}
		}
	}
	return &metricsv1.ExportMetricsServiceResponse{}, nil
}

func observe(t *testing.T) (o *observer, url string) {
	t.Helper()
	o = &observer{traces: map[string]map[string]bool{}, meters: map[string]bool{}}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	tracesv1.RegisterTraceServiceServer(srv, o)
	metricsv1.RegisterMetricsServiceServer(srv, figures{observer: o})
	go func() { _ = srv.Serve(lis) }()
	t.Cleanup(srv.Stop)
	return o, "http://" + lis.Addr().String()
}

// background is a program that runs beside the test. Its standard input is a pipe that lives as long as the test's process.
type background struct {
	t   *testing.T
	cmd *exec.Cmd
}

func run(t *testing.T, program string, env []string, args ...string) (*background, io.Reader) {
	t.Helper()
	b := &background{t: t, cmd: exec.Command(program, args...)} //nolint:noctx // ended below
	b.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	b.cmd.Stderr = os.Stderr
	if _, err := b.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.cmd.ProcessState == nil {
			_ = b.cmd.Process.Kill()
			_ = b.cmd.Wait()
		}
	})
	return b, out
}

// within kills the program when it is not done with something for too long, until what it returns is called.
func (b *background) within(limit time.Duration) (done func()) {
	slow := time.AfterFunc(limit, func() { _ = b.cmd.Process.Kill() })
	return func() { slow.Stop() }
}

// frontend waits for a Temporal server to say where it serves.
func (b *background) frontend(said io.Reader) string {
	b.t.Helper()
	defer b.within(await.Limit)()
	line, err := bufio.NewReader(said).ReadBytes('\n')
	if err != nil {
		b.t.Fatalf("Temporal does not start: %v", err)
	}
	var ready struct{ Frontend string }
	if err := json.Unmarshal(line, &ready); err != nil {
		b.t.Fatalf("Temporal says %s: %v", line, err)
	}
	return ready.Frontend
}

// stop asks a program to end, which it does well.
func (b *background) stop() {
	b.t.Helper()
	defer b.within(await.Limit)()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		b.t.Error(err)
	}
	if err := b.cmd.Wait(); err != nil {
		b.t.Errorf("%s ended with %v", filepath.Base(b.cmd.Path), err)
	}
}

// The programs as they are delivered, each a process of its own, find each other, know each other by certificates, and
// play; and whoever looks on sees a command go through all of them.
func TestTheProgramsPlayTogether(t *testing.T) {
	t.Parallel()
	bin, data := t.TempDir(), t.TempDir()
	names := []string{"dice", "party", "dungeon", "travel", "expedition", "gateway"}
	build := []string{"build", "-buildvcs=false", "-o", bin + "/"}
	for _, n := range names {
		build = append(build, map[string]string{"expedition": "../workflows/cmd/", "gateway": "../gateway/cmd/"}[n]+n)
	}
	for i, path := range build {
		if path == "dice" || path == "party" || path == "dungeon" || path == "travel" {
			build[i] = "../services/cmd/" + path
		}
	}
	// As long as it takes: on a machine that has built nothing yet these are minutes.
	if out, err := exec.CommandContext(t.Context(), "go", build...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx := deadline(t)
	temporal, err := temporaldev()
	if err != nil {
		t.Fatal(err)
	}
	server, said := run(t, temporal, nil, "-port=0", "-ui-port=-1", "-with-parent", "-db="+filepath.Join(data, "temporal.db"))
	frontend := server.frontend(said)

	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(nil)
	issuerURL, secrets := "http://"+web.Listener.Addr().String(), map[string]string{}
	for _, n := range names {
		secrets[n] = "secret-of-" + n
	}
	issuer := devissuer.New(devissuer.Config{Issuer: issuerURL, Audience: "wayfarer", Users: suite.Users, Password: suite.Password, Services: secrets}, key)
	web.Config.Handler = issuer.Handler()
	web.Start()
	t.Cleanup(web.Close)

	watched, collector := observe(t)
	// They have to know each other's addresses before they start.
	ports, release, err := port.Hold(len(names))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	certs := certtest.New(t)
	var programs []*background
	for i, n := range names {
		dir := filepath.Join(data, n)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		own := certs.Write(dir)
		env := []string{
			"WAYFARER_LISTEN=" + ports[i], "WAYFARER_DATA_DIR=" + dir, "WAYFARER_GRACE=1m", "WAYFARER_LOG_LEVEL=ERROR",
			"WAYFARER_TLS_CA=" + own.CA, "WAYFARER_TLS_CERT=" + own.Cert, "WAYFARER_TLS_KEY=" + own.Key,
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector,
		}
		for j, other := range names[:5] {
			env = append(env, "WAYFARER_"+strings.ToUpper(other)+"_ADDR="+ports[j])
		}
		if n != "gateway" {
			env = append(env, "WAYFARER_TLS_CLIENT_CA="+own.CA,
				"WAYFARER_ISSUER="+issuerURL, "WAYFARER_JWKS_URL="+issuerURL+"/jwks.json", "WAYFARER_TOKEN_URL="+issuerURL+"/token",
				"WAYFARER_CLIENT_ID="+n, "WAYFARER_CLIENT_SECRET="+secrets[n])
		}
		if n == "expedition" {
			env = append(env, "WAYFARER_TEMPORAL_ADDR="+frontend, "WAYFARER_PAYLOAD_KEY="+base64.StdEncoding.EncodeToString(make([]byte, 32)))
		}
		p, _ := run(t, filepath.Join(bin, n), env)
		programs = append(programs, p)
	}
	base := "http://" + ports[5]
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the programs are not ready: %v", err)
		}
	}

	tb := &table{tb: t, ctx: ctx, via: rest{base: base}, campaign: "campaigns/together", tokens: map[string]string{}}
	for _, user := range []string{"gm", "ada", "bram"} {
		if tb.tokens[user], err = issuer.Token(user); err != nil {
			t.Fatal(err)
		}
	}
	tb.open("ada", "bram")
	dungeon := tb.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		tb.player(p, p)
	}
	tb.party("delvers", "ada", "ada", "bram")
	expedition, journey := tb.expedition("there", "ada", tb.setOut("walkers", object{"gold": 60, "food": []int{20, 20}}, "ada", "bram"))
	execute := func(user, command string, req object) object {
		answer, _ := tb.do(user, expeditions+"Execute", object{"name": expedition, command: req}).Get(command).(map[string]any)
		return answer
	}
	ada := tb.character("ada")
	moved := execute("bram", "move", object{"character": tb.character("bram"), "to": object{"q": 1, "r": 0}})
	if moved.Number("journey.hex.q") != 1 || len(moved.List("record.dice")) == 0 {
		t.Errorf("the move was %v", moved)
	}
	execute("bram", "move", object{"character": tb.character("bram"), "to": object{"q": 0, "r": 0}})
	execute("ada", "enterLocation", object{"character": ada, "location": "hamlet"})
	run := execute("ada", "startRun", object{"party": tb.campaign + "/parties/delvers", "dungeon": dungeon, "character": ada})
	execute("ada", "act", object{"character": ada, "action": object{"basic": run.Text("run.challenge.ability")}})
	execute("ada", "abandonRun", object{"character": ada})
	execute("ada", "leaveLocation", object{"character": ada})
	execute("ada", "endJourney", object{"character": ada})
	if phase := tb.read("gm", expedition).Text("phase"); phase != "PHASE_CONCLUDED" {
		t.Errorf("the expedition is %s", phase)
	}
	if phase := tb.read("gm", journey).Text("phase"); phase != "PHASE_ENDED" {
		t.Errorf("the journey is %s", phase)
	}
	// A stranger does not even get to the check of tokens.
	conn, err := net.DialTimeout("tcp", ports[1], time.Second)
	if err == nil {
		_, _ = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		answer, _ := io.ReadAll(conn)
		if strings.Contains(string(answer), "grpc") {
			t.Errorf("without TLS the party answers %q", answer)
		}
		_ = conn.Close()
	}

	for i := len(programs) - 1; i >= 0; i-- {
		programs[i].stop()
	}
	server.stop()
	watched.mu.Lock()
	defer watched.mu.Unlock()
	through := 0
	for _, took := range watched.traces {
		if took["gateway"] && took["expedition"] && took["travel"] && took["dice"] {
			through++
		}
	}
	if through == 0 {
		t.Errorf("none of %d traces goes from the gateway through expedition and travel to dice", len(watched.traces))
	}
	for _, n := range names {
		if !watched.meters[n] {
			t.Errorf("%s told no figures", n)
		}
	}
}
