package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// One stream tells a whole expedition: each record of its journey, run and delve, once, in the order in which they came
// about. Whoever comes back from any position gets the rest of it, by REST as by gRPC.
func TestOneStreamTellsAWholeExpedition(t *testing.T) {
	t.Parallel()
	g := newTable(t, "stream", "ada", "bram")
	dungeon := g.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		g.player(p, p)
	}
	g.party("delvers", "ada", "ada", "bram")
	name, journey := g.expedition("long", "ada", g.setOut("walkers", object{"gold": 60, "food": []int{20, 20}}, "ada", "bram"))
	execute := func(user, command string, req object) object {
		t.Helper()
		answer, ok := g.do(user, expeditions+"Execute", object{"name": name, command: req}).Get(command).(map[string]any)
		if !ok {
			t.Fatalf("Execute answers without %s", command)
		}
		return answer
	}
	by := func(who string) object { return object{"character": g.character(who)} }

	// Somebody watches all the time.
	live := make(chan []object, 1)
	go func() {
		records, err := g.via.watch(g.ctx, g.tokens["bram"], expeditions+"WatchExpedition", object{"name": name}, never)
		if err != nil {
			t.Error(err)
		}
		live <- records
	}()
	execute("bram", "move", by("bram").With("to", object{"q": 1, "r": 0}))
	execute("ada", "move", by("ada").With("to", object{"q": 0, "r": 0}))
	execute("ada", "enterLocation", by("ada").With("location", "hamlet"))
	run := execute("ada", "startRun", by("ada").With("party", g.campaign+"/parties/delvers").With("dungeon", dungeon))
	act := object{"basic": run.Text("run.challenge.ability")}
	execute("ada", "act", by("ada").With("action", act))
	execute("bram", "act", by("bram").With("action", act))
	execute("ada", "complete", by("ada"))
	execute("bram", "leave", by("bram")) // the party's change is the run's
	execute("ada", "abandonRun", by("ada"))
	delve := execute("gm", "startDelve", object{"invokedBy": "INVOKED_BY_BASIC_GAME_LOOP", "map": object{"title": "The cellar"}, "entry": "the trapdoor"})
	execute("gm", "recordMembers", object{"members": []object{{"name": "Ada", "character": g.character("ada"), "kind": "PC", "rank": "FRONT"}}})
	execute("ada", "leaveDelve", by("ada").With("target", "TRAVEL"))
	execute("ada", "leaveLocation", by("ada"))
	execute("ada", "endJourney", by("ada"))

	whole := await.Value(t, live, "the watch to end with the expedition")
	next := map[string]int{}
	var order []string
	for i, rec := range whole {
		if got := rec.Number("record.seq"); got != i+1 {
			t.Fatalf("record %d comes in the place of %d", got, i+1)
		}
		for _, e := range rec.List("events") {
			if aggregate := e.Text("logged.aggregate"); aggregate != "" {
				if next[aggregate]++; e.Number("logged.record.seq") != next[aggregate] {
					t.Fatalf("record %d of %s comes in the place of %d", e.Number("logged.record.seq"), aggregate, next[aggregate])
				}
			}
			if command := e.Text("executed.command"); command != "" {
				order = append(order, command)
			}
		}
	}
	if got := strings.Join(order, " "); got != "start_journey move move enter_location start_run act act complete leave abandon_run "+
		"start_delve record_members leave_delve leave_location end_journey" {
		t.Errorf("told were %s", got)
	}
	// What the log has of each is what each has.
	if len(next) != 3 {
		t.Errorf("told was of %v", next)
	}
	for aggregate, method := range map[string]string{
		journey: journeys + "WatchJourney", run.Text("run.name"): runs + "WatchRun", delve.Text("delve.name"): "dungeon.v1.DelveService/WatchDelve",
	} {
		own, err := g.via.watch(g.ctx, g.tokens["bram"], method, object{"name": aggregate}, never)
		if err != nil {
			t.Fatal(err)
		}
		if len(own) != next[aggregate] {
			t.Errorf("%s has %d records and %d were told", aggregate, len(own), next[aggregate])
		}
	}
	for way, via := range both(t) {
		for from := range len(whole) + 1 {
			rest, err := via.watch(g.ctx, g.tokens["bram"], expeditions+"WatchExpedition", object{"name": name, "fromSeq": from}, never)
			if err != nil {
				t.Fatalf("%s from %d: %v", way, from, err)
			}
			if want := whole[from:]; len(rest) != len(want) || len(want) > 0 && !reflect.DeepEqual(rest, want) {
				t.Errorf("%s from %d: %d records came, which are not the %d of the live stream", way, from, len(rest), len(want))
			}
		}
	}
}

// never is for watches that end by themselves.
func never(object) bool { return false }

// anybody may read.
type anybody struct{}

func (anybody) Role(context.Context, string, string) (typev1.Role, error) {
	return typev1.Role_ROLE_GM, nil
}

// 500 watchers of an expedition cost the store one reader, and nothing is left of them when they have gone.
func TestManyWatchersOfAnExpedition(t *testing.T) {
	t.Parallel()
	const watchers, records, more = 500, 300, 20
	const name = "campaigns/many/expeditions/one"
	spy := &journaltest.Spy{Store: memory.New()}
	append1 := func(seq int) {
		t.Helper()
		ev := &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_StartRefused{StartRefused: &expeditionv1.StartRefused{}}}
		if seq == 1 {
			ev.Event = &expeditionv1.ExpeditionEvent_Created{Created: &expeditionv1.ExpeditionCreated{Title: "One"}}
		}
		raw, err := protojson.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		err = spy.Insert(t.Context(), journal.Record{ // as another process would
			Stream: name, Seq: seq, Campaign: "campaigns/many", Kind: "expedition", RequestID: fmt.Sprint(seq), Actor: "gm", Fold: 1, Events: []json.RawMessage{raw},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for seq := 1; seq <= records; seq++ {
		append1(seq)
	}
	// Watching needs no Temporal: nobody listens there.
	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(temporal.Close)
	nowhere, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nowhere.Close() })
	service, err := expedition.New(expedition.Config{
		Store: spy, Temporal: temporal, TaskQueue: "none", Members: anybody{}, Travel: nowhere, Dungeon: nowhere, Party: nowhere,
		Redact: func(m proto.Message) proto.Message { return m },
	})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.StreamInterceptor(asGM))
	service.Register(server)
	// All that the server starts inherits a label, by which it is told from what other tests start.
	label := unique("watched")
	go pprof.Do(context.Background(), pprof.Labels("house", label), func(context.Context) { _ = server.Serve(lis) })
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	api := expeditionv1.NewExpeditionServiceClient(conn)

	ctx, cancel := context.WithCancel(deadline(t))
	watch := func(from int, reached *atomic.Int64, last int, ended chan<- error) {
		ended <- func() error {
			stream, err := api.WatchExpedition(ctx, &expeditionv1.WatchExpeditionRequest{Name: name, FromSeq: int32(from)}) //nolint:gosec // small
			if err != nil {
				return err
			}
			for seq := from + 1; ; seq++ {
				res, err := stream.Recv()
				if err != nil {
					return err
				}
				if got := int(res.GetRecord().GetSeq()); got != seq {
					return fmt.Errorf("from %d: record %d came in the place of %d", from, got, seq)
				}
				if seq == records || seq == last {
					reached.Add(1)
				}
			}
		}()
	}
	var reached atomic.Int64
	// One goes first: its connection and its goroutines are no watcher's.
	first := make(chan error, 1)
	go watch(records-1, &reached, records+more, first)
	come := func(what string, want int64) {
		t.Helper()
		await.Until(t, what, func() (bool, any) { n := reached.Load(); return n == want, n })
	}
	come("the first watcher reads", 1)
	quiet := labelled(t, label)
	spy.Reset()
	begun := time.Now()
	// polls are more reads than two polls a second make, each with a look whether there is still more.
	polls := func() int { return 4*int(time.Since(begun)/time.Second) + 10 }

	ended := make(chan error, watchers)
	for i := range watchers {
		go watch(i%records, &reached, records+more, ended)
	}
	come("all have read the past", watchers+1)
	// Each looked once whether the expedition is over. What they missed was read once, in two pages, and no more than one
	// poll in half a second came beside it.
	if n := int(spy.Reads.Load()); n > watchers+2+polls() {
		t.Errorf("%d watchers read the store %d times to begin with", watchers, n)
	}
	spy.Reset()
	begun = time.Now()
	for seq := records + 1; seq <= records+more; seq++ {
		append1(seq)
	}
	come("all have read the news", 2*(watchers+1))
	if n := int(spy.Reads.Load()); n > polls() {
		t.Errorf("%d watchers read %d new records in %d reads", watchers, more, n)
	}
	cancel()
	for range watchers {
		if err := await.Value(t, ended, "the end of a watch"); !errors.Is(context.Cause(ctx), context.Canceled) || !strings.Contains(err.Error(), "canceled") {
			t.Errorf("a watch ended with %v", err)
		}
	}
	if err := await.Value(t, first, "the end of the first watch"); !strings.Contains(err.Error(), "canceled") {
		t.Errorf("the first watch ended with %v", err)
	}
	await.Until(t, "all goroutines of watchers have ended", func() (bool, any) { n := labelled(t, label); return n < quiet, n })
}

// asGM lets every caller be a game master.
func asGM(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return handle(srv, gmStream{stream})
}

type gmStream struct{ grpc.ServerStream }

func (s gmStream) Context() context.Context {
	return auth.NewContext(s.ServerStream.Context(), auth.Principal{Subject: "gm"})
}

// labelled counts the goroutines that carry a label.
func labelled(tb testing.TB, label string) int {
	tb.Helper()
	var out strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		tb.Fatal(err)
	}
	total := 0
	for _, block := range strings.Split(out.String(), "\n\n") {
		var n int
		if _, err := fmt.Sscanf(block, "%d @", &n); err == nil && strings.Contains(block, label) {
			total += n
		}
	}
	return total
}
