package expedition

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// keep names the path that the histories stand for, for example "wakes": old ones stay, since workflows that began under them
// may still run.
var keep = flag.String("keep", "", "keep the histories of this run as testdata/history-<keep>-<expedition>-<n>.json")

// dev is a real Temporal server, started when the first test needs it.
var dev struct {
	sync.Once
	addr string
	err  error
	stop func()
}

// telemetry is that of the process, there before anything is measured: what goes up and down would else come out too low.
var telemetry *serve.Telemetry

func TestMain(m *testing.M) {
	var err error
	if telemetry, err = serve.NewTelemetry(context.Background(), serve.TelemetryConfig{Program: "test"}); err != nil {
		fmt.Fprintln(os.Stderr, "expedition:", err)
		os.Exit(1)
	}
	telemetry.Install()
	code := m.Run()
	if dev.stop != nil {
		dev.stop()
	}
	os.Exit(code)
}

func devServer(t *testing.T) string {
	t.Helper()
	dev.Do(func() {
		// It ends with its standard input, so also when the tests are killed.
		cmd := exec.Command(filepath.Join("..", "..", "bin", "temporaldev"), "-port=0", "-ui-port=-1", "-with-parent", "-in-flight-updates=10", "-log=fatal")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			dev.err = err
			return
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			dev.err = err
			return
		}
		cmd.Stderr = os.Stderr
		if dev.err = cmd.Start(); dev.err != nil {
			return
		}
		dev.stop = func() { _ = stdin.Close(); _ = cmd.Wait() }
		slow := time.AfterFunc(await.Limit, func() { _ = cmd.Process.Kill() }) // or all tests would wait for what it says
		line, err := bufio.NewReader(stdout).ReadBytes('\n')
		slow.Stop()
		var ready struct{ Frontend string }
		dev.err = errors.Join(err, json.Unmarshal(line, &ready))
		dev.addr = ready.Frontend
	})
	if dev.err != nil {
		t.Fatalf("no Temporal server, which `make temporaldev` builds: %v", dev.err)
	}
	return dev.addr
}

func temporalClient(t *testing.T, addr string) client.Client {
	t.Helper()
	opts := client.Options{HostPort: addr, Identity: "test", Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	if err := Encrypt(&opts, testKey); err != nil {
		t.Fatal(err)
	}
	if addr == "" {
		opts.HostPort = "127.0.0.1:1"
		c, err := client.NewLazyClient(opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	c, err := client.Dial(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// table is a group around a table: the services, the log's store, the expedition service and what its users call.
type table struct {
	t      *testing.T
	world  *world
	cfg    Config
	server *Server
	client expeditionv1.ExpeditionServiceClient
}

func newTable(t *testing.T, temporal client.Client, change ...func(*Config)) *table {
	t.Helper()
	w := newWorld(t)
	conn := serveOn(t, "service:expedition", w.register)
	tb := &table{t: t, world: w, cfg: Config{
		Store: memory.New(), Temporal: temporal, TaskQueue: t.Name(), Members: people, Travel: conn, Dungeon: conn, Party: conn,
		Redact: func(m proto.Message) proto.Message {
			return adapter.Redact(adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}, m)
		},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Grace: 5 * time.Second,
		TemporalWait: await.Limit, // a busy machine is slow, not away
	}}
	for _, c := range change {
		c(&tb.cfg)
	}
	tb.server = tb.another()
	tb.client = expeditionv1.NewExpeditionServiceClient(serveOn(t, "", tb.server.Register))
	return tb
}

// another makes a second server on the same log and task queue.
func (tb *table) another() *Server {
	tb.t.Helper()
	s, err := New(tb.cfg)
	if err != nil {
		tb.t.Fatal(err)
	}
	return s
}

// work starts the worker of a server until the test ends.
func (tb *table) work(s *Server) {
	tb.t.Helper()
	if err := s.Start(); err != nil {
		tb.t.Fatal(err)
	}
	tb.t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			tb.t.Errorf("stop: %v", err)
		}
	})
}

// begin creates an expedition and returns its name.
func (tb *table) begin(id string) string {
	tb.t.Helper()
	res, err := tb.client.CreateExpedition(by(tb.t.Context(), "alice"), &expeditionv1.CreateExpeditionRequest{
		Parent: "campaigns/c1", ExpeditionId: id, Title: "To the mill", Company: "campaigns/c1/companies/k1", RequestId: "create",
	})
	if err != nil {
		tb.t.Fatalf("create: %v", err)
	}
	return res.GetExpedition().GetName()
}

// The commands of the tests.
type req = expeditionv1.ExecuteRequest

func start(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_StartJourney{StartJourney: &travelv1.StartJourneyRequest{
		Region: "campaigns/c1/regions/r", Hex: &travelv1.Hex{},
	}}}
}

func move(name, id string, q int32) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_Move{Move: &travelv1.MoveRequest{To: &travelv1.Hex{Q: q}}}}
}

func enter(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_EnterLocation{EnterLocation: &travelv1.EnterLocationRequest{Location: "mill"}}}
}

func end(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_EndJourney{EndJourney: &travelv1.EndJourneyRequest{}}}
}

const ada = "campaigns/c1/characters/ada"

func delve(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_StartRun{StartRun: &dungeonv1.StartRunRequest{
		Party: "campaigns/c1/parties/p", Character: ada,
	}}}
}

func draw(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_Draw{Draw: &dungeonv1.DrawRequest{Character: ada}}}
}

func complete(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_Complete{Complete: &dungeonv1.CompleteRequest{Character: ada}}}
}

// must executes a command that is expected to succeed and to leave the expedition in a phase.
func (tb *table) must(subject string, r *req, phase Phase) *expeditionv1.ExecuteResponse {
	tb.t.Helper()
	res, err := tb.client.Execute(by(tb.t.Context(), subject), r)
	if err != nil {
		tb.t.Fatalf("%s: %v", r.GetRequestId(), err)
	}
	if got := res.GetExpedition().GetPhase(); got != phase {
		tb.t.Errorf("%s: %v, want %v", r.GetRequestId(), got, phase)
	}
	return res
}

// refused executes a command that is expected to fail for a reason.
func (tb *table) refused(subject string, r *req, reason string) fault.Error {
	tb.t.Helper()
	_, err := tb.client.Execute(by(tb.t.Context(), subject), r)
	var f *fault.Error
	if !errors.As(fault.FromStatus(err), &f) || f.Reason != reason {
		tb.t.Errorf("%s: %v, want %s", r.GetRequestId(), err, reason)
		return fault.Error{}
	}
	return *f
}

// logOf reads the whole log as a user sees it, up to the record that the expedition is at now.
func (tb *table) logOf(subject, name string) []*expeditionv1.WatchExpeditionResponse {
	tb.t.Helper()
	ctx, cancel := context.WithCancel(by(tb.t.Context(), subject))
	defer cancel()
	now, err := tb.client.GetExpedition(ctx, &expeditionv1.GetExpeditionRequest{Name: name})
	if err != nil {
		tb.t.Fatal(err)
	}
	watch, err := tb.client.WatchExpedition(ctx, &expeditionv1.WatchExpeditionRequest{Name: name})
	if err != nil {
		tb.t.Fatal(err)
	}
	var out []*expeditionv1.WatchExpeditionResponse
	for range now.GetExpedition().GetSeq() {
		rec, err := watch.Recv()
		if err != nil {
			tb.t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

// whole checks that the log has every record of the journey and the runs once, in order, as the services have them, and
// returns the names of the commands executed.
func (tb *table) whole(name string) []string {
	tb.t.Helper()
	var (
		done []string
		seen = map[string]int{}
	)
	tb.world.mu.Lock()
	truth := map[string][]entry{}
	for aggregate, log := range tb.world.log {
		truth[aggregate] = append([]entry(nil), log...)
	}
	tb.world.mu.Unlock()
	for _, rec := range tb.logOf("gerd", name) {
		for _, e := range rec.GetEvents() {
			if x := e.GetExecuted(); x != nil {
				done = append(done, x.GetCommand())
			}
			l := e.GetLogged()
			if l == nil {
				continue
			}
			n := seen[l.GetAggregate()]
			if n >= len(truth[l.GetAggregate()]) || !proto.Equal(l.GetRecord(), truth[l.GetAggregate()][n].record) {
				tb.t.Errorf("record %d of the log has %v", rec.GetRecord().GetSeq(), l.GetRecord())
			}
			seen[l.GetAggregate()]++
		}
	}
	for aggregate, log := range truth {
		if seen[aggregate] != len(log) {
			tb.t.Errorf("the log has %d of %d records of %s", seen[aggregate], len(log), aggregate)
		}
	}
	return done
}

func TestAWholeExpedition(t *testing.T) {
	t.Parallel()
	tc := temporalClient(t, devServer(t))
	tb := newTable(t, tc, func(c *Config) { c.MaxUpdates = 4 })
	tb.work(tb.server)
	name := tb.begin("whole")

	if f := tb.refused("alice", move(name, "early", 1), reasonWrongPhase); f.Metadata["phase"] != "ASSEMBLING" {
		t.Errorf("metadata %v", f.Metadata)
	}
	started := tb.must("alice", start(name, "start"), Traveling)
	if j := started.GetStartJourney().GetJourney(); j.GetCompany() != "campaigns/c1/companies/k1" || j.GetExpedition() != name || j.GetName() != started.GetExpedition().GetJourney() {
		t.Errorf("the journey began as %v", j)
	}
	moved := tb.must("bob", move(name, "move-1", 1), Traveling)
	tb.refused("alice", delve(name, "no-place"), reasonWrongPhase)
	tb.must("alice", enter(name, "enter"), AtLocation)
	run := tb.must("alice", delve(name, "delve"), Delving).GetExpedition().GetRun()
	if run == "" {
		t.Error("no run is open")
	}
	tb.refused("alice", end(name, "too-early"), reasonRunOpen)
	tb.must("alice", draw(name, "draw"), Delving)
	tb.world.with(func() { tb.world.slowSettling = true })
	won := tb.must("alice", complete(name, "complete"), AtLocation)
	if ex := won.GetExpedition(); ex.GetRun() != "" || len(ex.GetRuns()) != 1 || ex.GetRuns()[0] != run || won.GetComplete().GetRun().GetPhase() != dungeonv1.Run_PHASE_WON {
		t.Errorf("after the run: %v", won)
	}
	tb.must("alice", end(name, "end"), Concluded)
	tb.refused("alice", move(name, "late", 1), reasonEnded)

	// What was answered is answered again, whatever has happened since; the same id for something else is refused.
	again := tb.must("bob", move(name, "move-1", 1), Traveling)
	if !proto.Equal(again, moved) {
		t.Errorf("the second answer\n%v\nthe first\n%v", again, moved)
	}
	tb.must("alice", start(name, "start"), Traveling)
	tb.refused("bob", move(name, "move-1", 2), journal.ReasonRequestIDReused)
	tb.refused("alice", move(name, "move-1", 1), journal.ReasonRequestIDReused)
	if n := tb.world.count("MoveRequest"); n != 1 {
		t.Errorf("%d moves", n)
	}

	want := "start_journey move enter_location start_run draw complete end_journey"
	if got := strings.Join(tb.whole(name), " "); got != want {
		t.Errorf("executed %s, want %s", got, want)
	}
	if got := strings.Join(tb.world.actors, " "); got != "alice bob alice alice alice alice alice" {
		t.Errorf("acted for %s", got)
	}
	faces := func(subject string) (n int) {
		for _, rec := range tb.logOf(subject, name) {
			for _, e := range rec.GetEvents() {
				for _, d := range e.GetLogged().GetRecord().GetDice() {
					n += int(d.GetFace())
				}
				if e.GetStartIntended().GetCommand() != nil {
					n++
				}
			}
		}
		return n
	}
	if gm, player := faces("gerd"), faces("alice"); gm == 0 || player != 0 {
		t.Errorf("a game master sees secrets %d, a player %d", gm, player)
	}
	replay(t, tc, name)
}

// replay runs every history of a workflow again with the code of today; -keep keeps them.
func replay(t *testing.T, tc client.Client, name string) {
	t.Helper()
	if replayed(t, tc, name) < 2 {
		t.Error("the workflow never turned over")
	}
}

// replayed replays the histories of all runs of an expedition and returns how many there are.
func replayed(t *testing.T, tc client.Client, name string) int {
	t.Helper()
	runID := ""
	for n := 1; ; n++ {
		h := &historypb.History{}
		iter := tc.GetWorkflowHistory(t.Context(), name, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iter.HasNext() {
			e, err := iter.Next()
			if err != nil {
				t.Fatal(err)
			}
			h.Events = append(h.Events, e)
		}
		if err := replayer(t).ReplayWorkflowHistory(nil, h); err != nil {
			t.Errorf("history %d from the end: %v", n, err)
		}
		if *keep != "" {
			raw, err := protojson.MarshalOptions{Indent: " "}.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			// The names of sticky queues are those of machines.
			raw = regexp.MustCompile(`"name":\s*"[^"]*:[0-9a-f-]{36}"`).ReplaceAll(raw, []byte(`"name": "sticky"`))
			if err := os.WriteFile(filepath.Join("testdata", fmt.Sprintf("history-%s-%s-%d.json", *keep, name[strings.LastIndex(name, "/")+1:], n)), append(raw, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		runID = h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		if runID == "" {
			return n
		}
	}
}

func replayer(t *testing.T) worker.WorkflowReplayer {
	t.Helper()
	var opts client.Options
	if err := Encrypt(&opts, testKey); err != nil {
		t.Fatal(err)
	}
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: opts.DataConverter, FailureConverter: opts.FailureConverter, DisableDeadlockDetection: true, // which takes a busy machine for one
	})
	if err != nil {
		t.Fatal(err)
	}
	d := definition{attempt: 2 * time.Second, silence: beatTimeout, maxUpdates: 4}
	r.RegisterWorkflowWithOptions(d.run, workflow.RegisterOptions{Name: workflowName})
	return r
}

// Histories of an earlier build: running workflows outlive deployments.
func TestSavedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/history-*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("histories %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if err := replayer(t).ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRefusalsComeThroughUnchanged(t *testing.T) {
	t.Parallel()
	tb := newTable(t, temporalClient(t, devServer(t)))
	tb.work(tb.server)
	name := tb.begin("refusals")
	tb.must("alice", start(name, "start"), Traveling)

	journey := tb.must("alice", move(name, "near", 1), Traveling).GetExpedition().GetJourney()
	_, err := tb.client.Execute(by(t.Context(), "alice"), move(name, "far", 99))
	want, _ := fault.ToStatus(fault.New(fault.FailedPrecondition, "NOT_ADJACENT", "too far").With("resource", journey))
	if got := status.Convert(err); !proto.Equal(got.Proto(), want.Proto()) {
		t.Errorf("got %v, want %v", got.Proto(), want.Proto())
	}
	stale := move(name, "stale", 1)
	stale.GetMove().Etag = "stale"
	if f := tb.refused("alice", stale, "ETAG_MISMATCH"); f.Kind != fault.Aborted || len(f.Fields) != 1 || f.Fields[0].Field != "etag" {
		t.Errorf("a stale etag: %+v", f)
	}
	tb.world.with(func() {
		tb.world.refuse["MoveRequest"] = fault.Invalid("reported_dice", "too few").Because("BAD_DICE")
	})
	if f := tb.refused("alice", move(name, "dice", 1), "BAD_DICE"); f.Kind != fault.InvalidArgument || f.Fields[0].Field != "reported_dice" {
		t.Errorf("bad dice: %+v", f)
	}
	// A passing failure is not the user's concern.
	tb.world.with(func() {
		tb.world.refuse["MoveRequest"] = fault.New(fault.Aborted, "STREAM_BUSY", "busy").After(time.Millisecond)
	})
	tb.must("alice", move(name, "busy", 1), Traveling)

	own := move(name, "own", 1)
	own.GetMove().RequestId = "mine"
	if f := tb.refused("alice", own, "INVALID"); len(f.Fields) != 1 || f.Fields[0].Field != "move.request_id" {
		t.Errorf("a request_id inside: %+v", f)
	}
	foreign := move(name, "foreign", 1)
	foreign.GetMove().Name = "campaigns/c1/journeys/other"
	if f := tb.refused("alice", foreign, "INVALID"); len(f.Fields) != 1 || f.Fields[0].Field != "move.name" {
		t.Errorf("another journey: %+v", f)
	}
	if _, err := tb.client.Execute(by(t.Context(), "alice"), &req{Name: name, RequestId: "none"}); status.Code(err).String() != "InvalidArgument" {
		t.Errorf("no command: %v", err)
	}
	tb.refused("sven", move(name, "spectator", 1), "SPECTATOR")
	tb.refused("zoe", move(name, "stranger", 1), "NOT_FOUND")
	if f := tb.refused("alice", move("campaigns/c1/expeditions/none", "none", 1), "NOT_FOUND"); f.Metadata["resource"] != "campaigns/c1/expeditions/none" {
		t.Errorf("unknown: %+v", f)
	}
	tb.refused("alice", move("campaigns/c2/expeditions/refusals", "elsewhere", 1), "NOT_FOUND")
	if got := strings.Join(tb.whole(name), " "); got != "start_journey move move" {
		t.Errorf("executed %s", got)
	}
}

// A worker dies after the owning service has answered and before the log has heard of it. Another worker takes the
// command up, long before the attempt would have come to its end; nothing is lost, nothing happens twice, and when the first one turns out to live it does no harm.
func TestAWorkerDiesBetweenCallAndLog(t *testing.T) {
	t.Parallel()
	tb := newTable(t, temporalClient(t, devServer(t)), func(c *Config) { c.Grace, c.Attempt = time.Millisecond, time.Hour })
	name := tb.begin("dies")
	dying, dead := make(chan struct{}), make(chan struct{})
	revive := sync.OnceFunc(func() { close(dead) })
	t.Cleanup(revive)
	var once sync.Once
	tb.server.afterCall = func(_ context.Context, command string) {
		if command == "move" {
			once.Do(func() {
				close(dying)
				<-dead
			})
		}
	}
	if err := tb.server.Start(); err != nil {
		t.Fatal(err)
	}
	tb.must("alice", start(name, "start"), Traveling)
	type result struct {
		res *expeditionv1.ExecuteResponse
		err error
	}
	first := make(chan result, 1)
	go func() {
		res, err := tb.client.Execute(by(t.Context(), "alice"), move(name, "move", 1))
		first <- result{res, err}
	}()
	await.Value(t, dying, "the first worker to die")
	tb.server.worker.Stop()
	tb.work(tb.another())
	got := await.Value(t, first, "an answer by the second worker")
	if got.err != nil {
		t.Fatalf("the command: %v", got.err)
	}
	revive()
	again := tb.must("alice", move(name, "move", 1), Traveling)
	if !proto.Equal(again, got.res) {
		t.Errorf("the second answer\n%v\nthe first\n%v", again, got.res)
	}
	tb.must("alice", enter(name, "enter"), AtLocation)
	if got := strings.Join(tb.whole(name), " "); got != "start_journey move enter_location" || tb.world.count("MoveRequest") != 1 {
		t.Errorf("executed %s, %d moves", got, tb.world.count("MoveRequest"))
	}
}

// A worker that is told to stop finishes the command that is under way; whoever waits for it gets the answer from it, and what
// comes meanwhile is taken by another.
func TestAWorkerThatStopsFinishesWhatItHasBegun(t *testing.T) {
	t.Parallel()
	const silence = 10 * time.Second
	tb := newTable(t, temporalClient(t, devServer(t)), func(c *Config) { c.Grace, c.Attempt, c.silence = await.Limit, await.Limit, silence })
	name := tb.begin("stops")
	begun, finishing := make(chan struct{}), make(chan struct{})
	finish := sync.OnceFunc(func() { close(finishing) })
	t.Cleanup(finish)
	var once sync.Once
	tb.server.afterCall = func(_ context.Context, command string) {
		if command == "move" {
			once.Do(func() { close(begun); <-finishing })
		}
	}
	if err := tb.server.Start(); err != nil {
		t.Fatal(err)
	}
	tb.must("alice", start(name, "start"), Traveling)
	answered := make(chan error, 2)
	for i := range 2 {
		go func() {
			_, err := tb.client.Execute(by(t.Context(), "alice"), move(name, fmt.Sprint("move-", i), 1))
			answered <- err
		}()
	}
	await.Value(t, begun, "a command to begin")
	stopped := make(chan struct{})
	go func() { defer close(stopped); tb.server.worker.Stop() }()
	second := tb.another()
	taken := make(chan string, 16)
	second.afterCall = func(_ context.Context, command string) { taken <- command }
	tb.work(second)
	// It gives signs of life for longer than a worker may give none.
	told := time.Now()
	await.Until(t, "it has given a sign of life after so long", func() (bool, any) {
		d, err := tb.cfg.Temporal.DescribeWorkflow(t.Context(), name, "")
		if err != nil {
			t.Fatal(err)
		}
		under := d.RawResponse.GetPendingActivities()
		if len(under) != 1 || under[0].GetAttempt() != 1 {
			t.Fatalf("under way is %v", under)
		}
		return under[0].GetLastHeartbeatTime().AsTime().After(told.Add(silence)), under
	})
	select {
	case <-stopped:
		t.Error("it stopped with a command under way")
	case got := <-taken:
		t.Errorf("another worker took %s while the first one lives", got)
	case err := <-answered:
		t.Errorf("answered before it was finished: %v", err)
	default:
	}
	finish()
	await.Value(t, stopped, "the worker to stop")
	for range 2 {
		if err := await.Value(t, answered, "an answer"); err != nil {
			t.Errorf("a command: %v", err)
		}
	}
	if got := strings.Join(tb.whole(name), " "); got != "start_journey move move" || tb.world.count("MoveRequest") != 2 {
		t.Errorf("executed %s, %d moves", got, tb.world.count("MoveRequest"))
	}
}

// Many players at once, while the workflow turns over all the time and is terminated: each command once.
func TestManyAtOnceThroughTurnovers(t *testing.T) {
	t.Parallel()
	tc := temporalClient(t, devServer(t))
	tb := newTable(t, tc, func(c *Config) { c.MaxUpdates = 3 })
	tb.work(tb.server)
	name := tb.begin("many")
	tb.must("alice", start(name, "start"), Traveling)
	const players, moves = 6, 5
	var wg sync.WaitGroup
	for p := range players {
		wg.Go(func() {
			for m := range moves {
				id := fmt.Sprintf("move-%d-%d", p, m)
				for { // what has no outcome is repeated
					_, err := tb.client.Execute(by(t.Context(), "bob"), move(name, id, int32(m))) //nolint:gosec // few
					if err == nil {
						break
					}
					if fault.KindOf(fault.FromStatus(err)) != fault.Unavailable {
						t.Errorf("%s: %v", id, err)
						return
					}
				}
			}
			if p < 2 {
				_ = tc.TerminateWorkflow(t.Context(), name, "", "a test")
			}
		})
	}
	wg.Wait()
	tb.must("alice", enter(name, "enter"), AtLocation)
	if n := tb.world.count("MoveRequest"); n != players*moves || len(tb.whole(name)) != players*moves+2 {
		t.Errorf("%d moves, %d commands in the log", n, len(tb.whole(name)))
	}
}

// More callers at once than Temporal takes for one workflow, over two replicas, wait instead of failing.
func TestACrowdQueuesAtTheEdge(t *testing.T) {
	t.Parallel()
	tb := newTable(t, temporalClient(t, devServer(t)))
	tb.work(tb.server)
	second := tb.another()
	tb.work(second)
	clients := []expeditionv1.ExpeditionServiceClient{tb.client, expeditionv1.NewExpeditionServiceClient(serveOn(t, "", second.Register))}
	name := tb.begin("crowd")
	tb.must("alice", start(name, "start"), Traveling)
	const callers = 40
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if _, err := clients[i%2].Execute(by(t.Context(), "bob"), move(name, fmt.Sprintf("move-%d", i), 1)); err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := tb.world.count("MoveRequest"); n != callers || len(tb.whole(name)) != callers+1 {
		t.Errorf("%d moves, %d commands in the log", n, len(tb.whole(name)))
	}
}

func open(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_StartDelve{StartDelve: &dungeonv1.CreateDelveRequest{
		Character: ada, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_BASIC_GAME_LOOP, Map: &dungeonv1.DelveMap{Title: "The mill cellar"}, Entry: "the trapdoor",
	}}}
}

func on(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_DelveMove{DelveMove: &dungeonv1.MoveRequest{Character: ada}}}
}

func fight(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_StartCombat{StartCombat: &dungeonv1.StartCombatRequest{Character: ada}}}
}

func out(name, id string) *req {
	return &req{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_LeaveDelve{LeaveDelve: &dungeonv1.LeaveDelveRequest{Character: ada, Target: "TRAVEL"}}}
}

// A delve is entered, explored and left like a run; what is in one is not in the other.
func TestADelveOnTheWay(t *testing.T) {
	t.Parallel()
	tc := temporalClient(t, devServer(t))
	tb := newTable(t, tc, func(c *Config) { c.MaxUpdates = 4 })
	tb.work(tb.server)
	name := tb.begin("pool")
	tb.must("alice", start(name, "start"), Traveling)
	tb.refused("alice", open(name, "outside"), reasonWrongPhase)
	tb.must("alice", enter(name, "enter"), AtLocation)
	begun := tb.must("alice", open(name, "open"), Delving).GetExpedition()
	if begun.GetDelve() == "" || begun.GetRun() != "" || len(begun.GetDelves()) != 1 || begun.GetDelves()[0] != begun.GetDelve() {
		t.Errorf("the delve began as %v", begun)
	}
	tb.refused("alice", draw(name, "draw"), reasonWrongPhase)
	tb.refused("alice", delve(name, "run"), reasonWrongPhase)
	tb.refused("alice", open(name, "another"), reasonWrongPhase)
	tb.refused("alice", end(name, "end-early"), reasonRunOpen)
	first := tb.must("alice", on(name, "on"), Delving)
	if first.GetDelveMove().GetDelve().GetPool() != 1 {
		t.Errorf("after a move: %v", first)
	}
	if again := tb.must("alice", on(name, "on"), Delving); !proto.Equal(first, again) {
		t.Errorf("again: %v", again)
	}
	tb.must("alice", fight(name, "fight"), Delving)
	tb.refused("alice", out(name, "out-early"), "IN_COMBAT")
	tb.must("alice", &req{Name: name, RequestId: "peace", Command: &expeditionv1.ExecuteRequest_EndCombat{EndCombat: &dungeonv1.EndCombatRequest{Character: ada}}}, Delving)
	if ex := tb.must("alice", out(name, "out"), AtLocation).GetExpedition(); ex.GetDelve() != "" || len(ex.GetDelves()) != 1 {
		t.Errorf("after the delve: %v", ex)
	}
	tb.must("alice", delve(name, "run-2"), Delving)
	tb.refused("alice", on(name, "on-2"), reasonWrongPhase)
	tb.must("alice", complete(name, "complete"), AtLocation)
	tb.must("alice", end(name, "end"), Concluded)
	want := "start_journey enter_location start_delve delve_move start_combat end_combat leave_delve start_run complete end_journey"
	if got := strings.Join(tb.whole(name), " "); got != want {
		t.Errorf("executed %s, want %s", got, want)
	}
	replay(t, tc, name)
}

// Who gives up in the middle of a fight breaks it off.
func TestAbandonInADelve(t *testing.T) {
	t.Parallel()
	tb := newTable(t, temporalClient(t, devServer(t)))
	tb.work(tb.server)
	name := tb.begin("rout")
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	tb.must("alice", open(name, "open"), Delving)
	tb.must("alice", fight(name, "fight"), Delving)
	give := &expeditionv1.AbandonExpeditionRequest{Name: name, RequestId: "give-up", Character: ada}
	first, err := tb.client.AbandonExpedition(by(t.Context(), "alice"), give)
	if err != nil || first.GetExpedition().GetPhase() != Concluded || first.GetExpedition().GetDelve() != "" || !first.GetExpedition().GetAbandoned() {
		t.Fatalf("given up: %v, %v", first, err)
	}
	if again, err := tb.client.AbandonExpedition(by(t.Context(), "alice"), give); err != nil || !proto.Equal(first, again) {
		t.Errorf("again: %v, %v", again, err)
	}
	if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location start_delve start_combat end_combat leave_delve abandon_journey" {
		t.Errorf("executed %s", got)
	}
}

func TestAbandon(t *testing.T) {
	t.Parallel()
	tb := newTable(t, temporalClient(t, devServer(t)))
	tb.work(tb.server)
	abandon := func(subject, name, id, character string) (*expeditionv1.AbandonExpeditionResponse, error) {
		return tb.client.AbandonExpedition(by(t.Context(), subject), &expeditionv1.AbandonExpeditionRequest{Name: name, RequestId: id, Character: character})
	}
	early := tb.begin("early")
	if _, err := abandon("bob", early, "b", ""); fault.ReasonOf(fault.FromStatus(err)) != "NOT_CREATOR" {
		t.Errorf("by another before the journey: %v", err)
	}
	for _, who := range []string{"alice", "gerd"} {
		_, err := abandon(who, early, "stray-"+who, "campaigns/c2/characters/ada")
		var f *fault.Error
		if !errors.As(fault.FromStatus(err), &f) || f.Kind != fault.NotFound || len(f.Fields) != 1 || f.Fields[0].Field != "character" {
			t.Errorf("%s, by a character of another campaign: %v", who, err)
		}
	}
	if res, err := abandon("alice", early, "a", ""); err != nil || res.GetExpedition().GetPhase() != Concluded || !res.GetExpedition().GetAbandoned() {
		t.Errorf("by its creator: %v, %v", res, err)
	}
	name := tb.begin("delving")
	tb.world.with(func() { tb.world.slowSettling = true })
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	tb.must("alice", delve(name, "delve"), Delving)
	if _, err := abandon("bob", name, "b", "campaigns/c1/characters/bram"); fault.ReasonOf(fault.FromStatus(err)) != "NOT_LEADER" {
		t.Errorf("by another than the leader: %v", err)
	}
	first, err := abandon("gerd", name, "g", "")
	if err != nil || first.GetExpedition().GetPhase() != Concluded || !first.GetExpedition().GetAbandoned() || first.GetExpedition().GetRun() != "" {
		t.Fatalf("by the game master: %v, %v", first, err)
	}
	again, err := abandon("gerd", name, "g", "")
	if err != nil || !proto.Equal(first, again) {
		t.Errorf("again: %v, %v", again, err)
	}
	if _, err := abandon("gerd", name, "h", ""); fault.ReasonOf(fault.FromStatus(err)) != reasonEnded {
		t.Errorf("once more: %v", err)
	}
	if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location start_run abandon_run abandon_journey" {
		t.Errorf("executed %s", got)
	}
}

func TestListsAndWatches(t *testing.T) {
	t.Parallel()
	tb := newTable(t, temporalClient(t, ""))
	for _, id := range []string{"a", "b", "c"} {
		tb.begin(id)
	}
	ctx := by(t.Context(), "alice")
	page, err := tb.client.ListExpeditions(ctx, &expeditionv1.ListExpeditionsRequest{Parent: "campaigns/c1", PageSize: 2})
	if err != nil || len(page.GetExpeditions()) != 2 || page.GetNextPageToken() == "" {
		t.Fatalf("page 1: %v, %v", page, err)
	}
	rest, err := tb.client.ListExpeditions(ctx, &expeditionv1.ListExpeditionsRequest{Parent: "campaigns/c1", PageSize: 2, PageToken: page.GetNextPageToken()})
	if err != nil || len(rest.GetExpeditions()) != 1 || rest.GetNextPageToken() != "" {
		t.Errorf("page 2: %v, %v", rest, err)
	}
	if _, err := tb.client.ListExpeditions(by(t.Context(), "zoe"), &expeditionv1.ListExpeditionsRequest{Parent: "campaigns/c1"}); fault.KindOf(fault.FromStatus(err)) != fault.NotFound {
		t.Errorf("a stranger's list: %v", err)
	}
	if _, err := tb.client.CreateExpedition(ctx, &expeditionv1.CreateExpeditionRequest{Parent: "campaigns/c1", ExpeditionId: "a", RequestId: "other"}); fault.KindOf(fault.FromStatus(err)) != fault.AlreadyExists {
		t.Errorf("the same id twice: %v", err)
	}
	if res, err := tb.client.CreateExpedition(ctx, &expeditionv1.CreateExpeditionRequest{
		Parent: "campaigns/c1", ExpeditionId: "a", Title: "To the mill", Company: "campaigns/c1/companies/k1", RequestId: "create",
	}); err != nil || res.GetExpedition().GetSeq() != 1 || res.GetExpedition().GetTitle() != "To the mill" {
		t.Errorf("created again: %v, %v", res, err)
	}
	watch := func(name string, from int32) error {
		s, err := tb.client.WatchExpedition(ctx, &expeditionv1.WatchExpeditionRequest{Name: name, FromSeq: from})
		if err != nil {
			return err
		}
		_, err = s.Recv()
		return err
	}
	if err := watch("campaigns/c1/expeditions/none", 0); fault.KindOf(fault.FromStatus(err)) != fault.NotFound {
		t.Errorf("a watch of nothing: %v", err)
	}
}

// A watch ends with the expedition wherever it began, and with the server otherwise: who watches then knows to go elsewhere.
func TestWatchesEnd(t *testing.T) {
	t.Parallel()
	tb, name := lone(t)
	ctx := await.Context(t, by(t.Context(), "alice"))
	watch := func(name string, from int32) grpc.ServerStreamingClient[expeditionv1.WatchExpeditionResponse] {
		s, err := tb.client.WatchExpedition(ctx, &expeditionv1.WatchExpeditionRequest{Name: name, FromSeq: from})
		if err == nil {
			_, err = s.Header() // it has begun
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	at, beyond, other := watch(name, 1), watch(name, 1000), watch(tb.begin("other"), 1)
	tb.acts(start(name, "start"), Traveling)
	tb.acts(end(name, "end"), Concluded)
	seqs := func(s grpc.ServerStreamingClient[expeditionv1.WatchExpeditionResponse]) (out []int32, err error) {
		for {
			res, err := s.Recv()
			if err != nil {
				return out, err
			}
			out = append(out, res.GetRecord().GetSeq())
		}
	}
	if got, err := seqs(at); !errors.Is(err, io.EOF) || !slices.Equal(got, []int32{2, 3, 4}) {
		t.Errorf("from the present end: %v, %v", got, err)
	}
	if got, err := seqs(beyond); !errors.Is(err, io.EOF) || len(got) > 0 {
		t.Errorf("from beyond it: %v, %v", got, err)
	}
	if err := tb.server.log.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := seqs(other); fault.KindOf(fault.FromStatus(err)) != fault.Unavailable || fault.ReasonOf(fault.FromStatus(err)) != "STOPPING" || len(got) > 0 {
		t.Errorf("of a server that stops: %v, %v", got, err)
	}
}

// lone is a table without Temporal, for what the activity does.
func lone(t *testing.T) (*table, string) {
	t.Helper()
	tb := newTable(t, temporalClient(t, ""))
	return tb, tb.begin("lone")
}

// act carries a command out as one attempt of the activity does; dies makes it end between call and log.
func (tb *table) act(r *req, dies bool) (st standing, err error) {
	tb.t.Helper()
	raw, err := marshal(r)
	if err != nil {
		tb.t.Fatal(err)
	}
	if dies {
		tb.server.afterCall = func(context.Context, string) { panic("killed") }
		defer func() {
			tb.server.afterCall = nil
			if recover() == nil {
				tb.t.Errorf("%s was not killed: %v", r.GetRequestId(), err)
			}
		}()
	}
	st, err = tb.server.executeCommand(tb.t.Context(), r.GetName(), command{RequestID: r.GetRequestId(), RequestHash: "hash of " + r.GetRequestId(), Actor: "alice", Execute: raw})
	if back := unpack(err); back != nil {
		err = fault.FromStatus(back.Err())
	}
	return st, err
}

func (tb *table) acts(r *req, phase Phase) {
	tb.t.Helper()
	if st, err := tb.act(r, false); err != nil || st.Phase != phase {
		tb.t.Errorf("%s: %v, %v, want %v", r.GetRequestId(), st, err, phase)
	}
}

func TestWhatAnAttemptLeftHalfDoneIsSeenThrough(t *testing.T) {
	t.Parallel()
	t.Run("a start by the next command", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		_, _ = tb.act(start(name, "start"), true)
		tb.acts(move(name, "move", 1), Traveling)
		tb.acts(start(name, "start"), Traveling)
		if got := strings.Join(tb.whole(name), " "); got != "start_journey move" || tb.world.count("StartJourneyRequest") != 1 {
			t.Errorf("executed %s", got)
		}
	})
	t.Run("a start by another start", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		_, _ = tb.act(start(name, "one"), true)
		if _, err := tb.act(start(name, "two"), false); fault.ReasonOf(err) != reasonWrongPhase {
			t.Errorf("a second start: %v", err)
		}
		if n := tb.world.count("StartJourneyRequest"); n != 1 {
			t.Errorf("%d journeys", n)
		}
	})
	t.Run("a start by itself", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		_, _ = tb.act(start(name, "start"), true)
		tb.acts(start(name, "start"), Traveling)
		tb.whole(name)
	})
	t.Run("a move by the next command, and the move answered later", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		tb.acts(start(name, "start"), Traveling)
		_, _ = tb.act(move(name, "move", 1), true)
		tb.acts(enter(name, "enter"), AtLocation)
		tb.acts(move(name, "move", 1), AtLocation)
		if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location move" || tb.world.count("MoveRequest") != 1 {
			t.Errorf("executed %s", got)
		}
	})
	t.Run("a move that another attempt overtakes", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		tb.acts(start(name, "start"), Traveling)
		tb.server.afterCall = func(context.Context, string) {
			tb.server.afterCall = nil
			tb.acts(enter(name, "enter"), AtLocation)
		}
		tb.acts(move(name, "move", 1), AtLocation)
		if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location move" || tb.world.count("MoveRequest") != 1 {
			t.Errorf("executed %s", got)
		}
	})
	t.Run("the end of a run by a command to the journey", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		tb.acts(start(name, "start"), Traveling)
		tb.acts(enter(name, "enter"), AtLocation)
		tb.acts(delve(name, "delve"), Delving)
		_, _ = tb.act(complete(name, "complete"), true)
		tb.acts(move(name, "move", 1), AtLocation)
		tb.acts(complete(name, "complete"), AtLocation)
		tb.whole(name)
	})
	t.Run("the end of the journey by whoever comes, and answered to who ended it", func(t *testing.T) {
		t.Parallel()
		tb, name := lone(t)
		tb.acts(start(name, "start"), Traveling)
		_, _ = tb.act(end(name, "end"), true)
		if _, err := tb.act(move(name, "move", 1), false); fault.ReasonOf(err) != "NOT_TRAVELING" {
			t.Errorf("a move: %v", err)
		}
		if _, err := tb.act(move(name, "move", 1), false); fault.ReasonOf(err) != reasonEnded {
			t.Errorf("a second move: %v", err)
		}
		tb.whole(name)
		res := tb.must("alice", end(name, "end"), Concluded)
		if res.GetEndJourney().GetJourney().GetPhase() != travelv1.Journey_PHASE_ENDED {
			t.Errorf("the end: %v", res)
		}
		tb.refused("alice", move(name, "late", 1), reasonEnded)
	})
}

func TestAStartThatIsRefused(t *testing.T) {
	t.Parallel()
	tb, name := lone(t)
	const k1 = "campaigns/c1/companies/k1"
	tb.world.with(func() { tb.world.leased[k1] = true })
	for range 2 {
		if _, err := tb.act(start(name, "one"), false); fault.ReasonOf(err) != "LEASED" {
			t.Errorf("a leased company: %v", err)
		}
	}
	tb.world.with(func() { tb.world.leased[k1] = false })
	if _, err := tb.act(start(name, "one"), false); fault.ReasonOf(err) != "LEASED" {
		t.Errorf("the first answer is forgotten: %v", err)
	}
	tb.acts(start(name, "two"), Traveling)
	tb.whole(name)
}

func TestNewNeedsItsParts(t *testing.T) {
	t.Parallel()
	tb, _ := lone(t)
	for name, spoil := range map[string]func(*Config){
		"a store": func(c *Config) { c.Store = nil }, "a client": func(c *Config) { c.Temporal = nil },
		"a task queue": func(c *Config) { c.TaskQueue = "" }, "members": func(c *Config) { c.Members = nil },
		"travel": func(c *Config) { c.Travel = nil }, "dungeon": func(c *Config) { c.Dungeon = grpc.ClientConnInterface(nil) },
		"party":     func(c *Config) { c.Party = nil },
		"redaction": func(c *Config) { c.Redact = nil },
	} {
		cfg := tb.cfg
		spoil(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("a server without %s was made", name)
		}
	}
}
