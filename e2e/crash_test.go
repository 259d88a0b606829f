package e2e

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
)

// serveVariable makes the test's own program serve the suite from the directory it names, instead of testing: a process
// that can be killed, of the code under test, with the race detector if there is one.
const serveVariable = "WAYFARER_E2E_SERVE"

// temporalVariable names the temporaldev that the test's own program starts beside the suite; empty: no expeditions.
const temporalVariable = "WAYFARER_E2E_TEMPORAL"

// programVariable names a wayfarer-local, with what it starts beside it, to be killed in place of the test's own program:
// a slower and larger machine, expeditions and all.
const programVariable = "WAYFARER_E2E_PROGRAM"

// ports are all those of wayfarer-local; 0 takes a free one.
var ports = []string{"HTTP", "DICE", "PARTY", "DUNGEON", "TRAVEL", "EXPEDITION", "TEMPORAL", "TEMPORAL_UI"}

// serve runs the suite until its standard input ends, so that it never outlives the test.
func serve(dir string) error {
	cfg := suite.Config{
		HTTP: "127.0.0.1:0", Data: dir, Grace: 2 * time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
	if program := os.Getenv(temporalVariable); program != "" {
		cfg.Temporal = &suite.Temporal{Program: program, UIPort: -1}
	}
	s, err := suite.Start(context.Background(), cfg)
	if err != nil {
		return err
	}
	fmt.Println("ready", s.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

// machine is a process that serves the suite from a directory, killed and started again on it.
type machine struct {
	*table
	dir string
	// expeditions tells that it has Temporal.
	expeditions bool
	cmd         *exec.Cmd
	life        io.Closer
}

var address = regexp.MustCompile(`http://[0-9.:]+`)

// start starts the process, waits until it serves, and logs everybody in: what a token is worth ends with its issuer.
func (m *machine) start() {
	m.tb.Helper()
	m.cmd = m.command()
	m.cmd.Stderr = os.Stderr
	in, err := m.cmd.StdinPipe()
	if err != nil {
		m.tb.Fatal(err)
	}
	m.life = in
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		m.tb.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		m.tb.Fatal(err)
	}
	base, ready := "", false
	for lines := bufio.NewScanner(out); !ready && lines.Scan(); {
		if at := address.FindString(lines.Text()); base == "" && at != "" { // REST comes first
			base = at
		}
		ready = strings.HasPrefix(lines.Text(), "ready")
	}
	if base == "" || !ready {
		m.tb.Fatalf("the suite does not start from %s: %v", m.dir, m.cmd.Wait())
	}
	m.via = rest{base: base}
	for _, user := range suite.Users {
		m.tokens[user] = m.login(base, user)
	}
}

// command is the process, not started yet.
func (m *machine) command() *exec.Cmd {
	m.tb.Helper()
	program, err := os.Executable()
	if err != nil {
		m.tb.Fatal(err)
	}
	env := []string{serveVariable + "=" + m.dir}
	if m.expeditions {
		temporal, err := temporaldev()
		if err != nil {
			m.tb.Fatal(err)
		}
		env = append(env, temporalVariable+"="+temporal)
	}
	if local := os.Getenv(programVariable); local != "" {
		program, env = local, []string{"WAYFARER_DATA_DIR=" + m.dir}
		for _, p := range ports {
			env = append(env, "WAYFARER_"+p+"_PORT=0")
		}
	}
	cmd := exec.CommandContext(m.ctx, program)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func (m *machine) login(base, user string) string {
	m.tb.Helper()
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {suite.Password}}
	req, err := http.NewRequestWithContext(m.ctx, http.MethodPost, base+"/dev/token", strings.NewReader(form.Encode()))
	if err != nil {
		m.tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := rest{base: base}.do(req)
	if err != nil {
		m.tb.Fatalf("log %s in: %v", user, err)
	}
	return answer.Text("access_token")
}

// kill ends the process as a power cut would.
func (m *machine) kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait() // it was killed
	_ = m.life.Close()
	m.cmd = nil
}

// The moments at which the process is killed.
type moment int

const (
	afterAnswer moment = iota // the caller has its answer
	afterSent                 // the caller has sent its request
	afterSeen                 // somebody else sees the record
	moments
)

func (m moment) String() string {
	return [...]string{"once it is answered", "once it is sent", "once a watcher sees it"}[m]
}

// crash gives a command to an aggregate, kills the process in the middle of it, starts it again and repeats the command. It
// returns the answer. One tells that the command adds one record; those that begin and end an aggregate add more, by and by.
func (m *machine) crash(when moment, user, method string, req object, aggregate string, one bool) object {
	m.tb.Helper()
	m.requests++
	req = req.With("requestId", fmt.Sprintf("crash-%d", m.requests))
	seq := 0
	if before, err := m.steady(m.via, "gm", getters[kindOf(aggregate)], object{"name": aggregate}); err == nil {
		seq = before.Number("seq")
	} else if !isNotFound(err) {
		m.tb.Fatalf("read %s: %v", aggregate, err)
	}
	first, watcher := m.strike(when, 0, user, method, req, aggregate, seq)
	m.start()

	answer := m.repeat(user, method, req)
	if first.err == nil && !reflect.DeepEqual(first.answer, answer) {
		m.tb.Fatalf("%s %s: the answer was\n%v\nand is, after the crash,\n%v", method, when, first.answer, answer)
	}
	if watcher != nil {
		if watcher.err != nil {
			m.tb.Fatalf("watch %s: %v", aggregate, watcher.err)
		}
		if got, want := answer["record"], watcher.answer["record"]; one && !reflect.DeepEqual(got, want) {
			m.tb.Fatalf("%s: a watcher saw\n%v\nand the answer after the crash says\n%v", method, want, got)
		}
	}
	if again := m.repeat(user, method, req); !reflect.DeepEqual(again, answer) {
		m.tb.Fatalf("%s: the answer to the repetition was\n%v\nand is\n%v", method, answer, again)
	}
	if one {
		if got := m.read("gm", aggregate).Number("seq"); got != seq+1 || answer.Number("record.seq") != seq+1 {
			m.tb.Fatalf("%s went from seq %d to %d, and the answer says %d", aggregate, seq, got, answer.Number("record.seq"))
		}
	}
	return answer
}

// result is what came of a call.
type result struct {
	answer object
	err    error
}

// strike gives a command and kills the process: at the moment, or the delay after it. It returns what the caller got, and
// for afterSeen what a watcher of the aggregate, which is at seq, saw.
func (m *machine) strike(when moment, delay time.Duration, user, method string, req object, aggregate string, seq int) (first, watcher *result) {
	m.tb.Helper()
	sent := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(m.ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) {
			select {
			case sent <- struct{}{}:
			default: // the transport wrote it anew on another connection
			}
		},
	}))
	defer cancel()
	answered, seen := make(chan result, 1), make(chan result, 1)
	via, token := m.via, m.tokens[user]
	if when == afterSeen {
		go func() {
			watch := func() ([]object, error) {
				return via.watch(m.ctx, token, watchers[kindOf(aggregate)], object{"name": aggregate, "fromSeq": seq}, func(object) bool { return true })
			}
			lines, err := watch()
			for isNotFound(err) { // until it begins
				lines, err = watch()
			}
			if err == nil && len(lines) == 0 {
				err = errors.New("the watch ended without a record")
			}
			if err != nil {
				seen <- result{nil, err}
				return
			}
			seen <- result{lines[0], nil}
		}()
	}
	go func() {
		if when == afterAnswer { // which is to come
			answer, err := m.steady(via, user, method, req)
			answered <- result{answer, err}
			return
		}
		answer, err := via.call(ctx, token, method, req)
		answered <- result{answer, err}
	}()

	switch when {
	case afterAnswer:
		r := await.Value(m.tb, answered, "the answer")
		first = &r
	case afterSent:
		select {
		case <-sent:
		case r := <-answered: // it could not even be sent
			first = &r
		}
	case afterSeen:
		r := await.Value(m.tb, seen, "the record")
		watcher = &r
	}
	if delay > 0 {
		<-time.After(delay)
	}
	m.kill()
	if first == nil { // it may have come in the last moment
		r := await.Value(m.tb, answered, "the end of the call")
		first = &r
	}
	m.tb.Logf("%s: %s, killed %s; answered before: %t", user, method, when, first.err == nil)
	var refused *failure
	if when == afterAnswer && first.err != nil || errors.As(first.err, &refused) && refused.code != codes.Unavailable && refused.code != codes.Internal {
		m.tb.Fatalf("%s: %s %v: %v", user, method, req, first.err)
	}
	return first, watcher
}

// repeat gives a command, again and again while the services find each other after a start.
func (m *machine) repeat(user, method string, req object) object {
	m.tb.Helper()
	for {
		answer, err := m.via.call(m.ctx, m.tokens[user], method, req)
		var f *failure
		switch {
		case err == nil:
			return answer
		case m.ctx.Err() == nil && errors.As(err, &f) && f.code == codes.Unavailable:
		default:
			m.tb.Fatalf("%s repeats %s: %v", user, method, err)
		}
	}
}

func isNotFound(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.code == codes.NotFound
}

var watchers = map[string]string{
	"runs": runs + "WatchRun", "journeys": journeys + "WatchJourney", "expeditions": expeditions + "WatchExpedition",
}

func kindOf(name string) string {
	parts := strings.Split(name, "/")
	return parts[len(parts)-2]
}

// turn is the next command of the run: acts until all have acted, then the round is completed, then the next one drawn.
func (m *machine) turn(run string) (user, method string, req object) {
	m.tb.Helper()
	at := m.read("gm", run)
	id := func(character string) string { return strings.TrimPrefix(character, m.character("")) }
	if at.Text("phase") == "PHASE_ACT" {
		for _, member := range at.List("members") {
			if member["action"] == nil && member.Number("exhaustion") < 100 {
				c := member.Text("character")
				return id(c), "Act", object{"name": run, "character": c, "action": object{"basic": at.Text("challenge.ability"), "risk": true}}
			}
		}
		c := at.Text("challenge.drawer")
		return id(c), "Complete", object{"name": run, "character": c}
	}
	// Whoever has drawn least often draws; the entry was the leader's.
	members := at.List("members")
	c := members[at.Number("round")%len(members)].Text("character")
	return id(c), "Draw", object{"name": run, "character": c}
}

func TestAKilledMachineLosesNothingAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	const rounds = 8
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	m := &machine{table: &table{tb: t, ctx: ctx, campaign: "campaigns/crash", tokens: map[string]string{}}, dir: t.TempDir()}
	t.Cleanup(m.kill)
	rng := rand.New(rand.NewPCG(7, 11)) //nolint:gosec // chooses moments, the same in every run
	someMoment := func() moment { return moment(rng.IntN(int(moments))) }

	m.start()
	players := []string{"ada", "bram", "cleo", "dov"}
	m.open(players...)
	dungeon := m.importDefinitions()
	for _, p := range players {
		m.player(p, p)
	}
	m.party("delvers", "ada", players...)
	travelers := []object{{"character": m.character("ada")}, {"character": m.character("bram")}}
	company := m.do("gm", companies+"CreateCompany", object{
		"parent": m.campaign, "companyId": "walkers", "title": "The walkers", "travelers": travelers, "pack": object{"gold": 60, "food": []int{20, 20}},
	}).Text("name")

	// The starts borrow from another service, step by step, and the ends give back.
	run, journey := m.campaign+"/runs/dive", m.campaign+"/journeys/road"
	m.crash(afterSeen, "ada", runs+"StartRun", object{
		"parent": m.campaign, "runId": "dive", "party": m.campaign + "/parties/delvers", "dungeon": dungeon, "character": m.character("ada"),
	}, run, false)
	m.crash(afterSeen, "bram", journeys+"StartJourney", object{
		"parent": m.campaign, "journeyId": "road", "company": company, "region": m.campaign + "/regions/vale", "hex": object{"q": 0, "r": 0}, "character": m.character("bram"),
	}, journey, false)

	for round := range rounds {
		if round%2 == 0 {
			to := object{"q": 1 - m.read("gm", journey).Number("hex.q"), "r": 0}
			m.crash(someMoment(), "bram", journeys+"Move", object{"name": journey, "character": m.character("bram"), "to": to}, journey, true)
			continue
		}
		user, method, req := m.turn(run)
		for method == "Act" && rng.IntN(4) > 0 { // most acts go by undisturbed, so that all commands have their turn
			m.do(user, runs+method, req)
			user, method, req = m.turn(run)
		}
		m.crash(someMoment(), user, runs+method, req, run, true)
	}

	m.crash(afterSeen, "ada", runs+"AbandonRun", object{"name": run, "character": m.character("ada")}, run, false)
	m.crash(afterSeen, "bram", journeys+"EndJourney", object{"name": journey, "character": m.character("bram")}, journey, false)

	faces := m.verified(run) + m.verified(journey)
	if faces < rounds {
		t.Errorf("only %d faces were rolled", faces)
	}
	if at := m.read("gm", run); at["settled"] != true {
		t.Errorf("the run is not settled: %v", at)
	}
	if at := m.read("gm", company); at["lease"] != nil {
		t.Errorf("the company is still lent: %v", at["lease"])
	}
	for _, p := range players {
		if lent := m.read("gm", m.character(p)).List("leases"); len(lent) > 0 {
			t.Errorf("%s is still lent: %v", p, lent)
		}
	}
}

// verified reads a log to its end, which comes once everything is given back, and recomputes its dice. It returns how
// many there are.
func (m *machine) verified(name string) int {
	m.tb.Helper()
	log, err := m.via.watch(m.ctx, m.tokens["dov"], watchers[kindOf(name)], object{"name": name}, func(object) bool { return false })
	if err != nil {
		m.tb.Fatalf("watch %s: %v", name, err)
	}
	at := m.read("dov", name)
	if len(log) != at.Number("seq") {
		m.tb.Errorf("%s is at seq %d, its log has %d records", name, at.Number("seq"), len(log))
	}
	stream := m.read("dov", at.Text("stream"))
	seed, err := base64.StdEncoding.DecodeString(stream.Text("seed"))
	if err != nil {
		m.tb.Fatal(err)
	}
	commitment, err := base64.StdEncoding.DecodeString(stream.Text("commitment"))
	if err != nil {
		m.tb.Fatal(err)
	}
	if !dicestream.Verify(seed, commitment) {
		m.tb.Fatalf("%s is not revealed, or is another than was committed to: %v", at.Text("stream"), stream)
	}
	faces := 0
	for i, rec := range log {
		if rec.Number("record.seq") != i+1 {
			m.tb.Errorf("%s: record %d stands in place %d", name, rec.Number("record.seq"), i+1)
		}
		var sides, shown []int
		for _, d := range rec.List("record.dice") {
			sides, shown = append(sides, d.Number("sides")), append(shown, d.Number("face"))
		}
		want, err := dicestream.Faces(seed, stream.Text("clientSeed"), uint64(i+1), sides...) //nolint:gosec // a place in a list
		if err != nil {
			m.tb.Fatal(err)
		}
		if len(shown) > 0 && !reflect.DeepEqual(shown, want) {
			m.tb.Errorf("%s: record %d shows %v, its stream gives %v", name, i+1, shown, want)
		}
		faces += len(shown)
	}
	return faces
}
