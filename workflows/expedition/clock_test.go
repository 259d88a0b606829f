package expedition

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

const bram = "campaigns/c1/characters/bram"

// dawn is when the tests' clocks begin: so late that no timer of the real workflow beside them goes off.
var dawn = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// watchmaker is a clock that is set by hand.
type watchmaker struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watchmaker) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watchmaker) set(minutes float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = dawn.Add(time.Duration(minutes * float64(time.Minute)))
}

func clockTable(t *testing.T) (*table, *watchmaker) {
	t.Helper()
	w := &watchmaker{}
	w.set(0)
	tb := newTable(t, temporalClient(t, devServer(t)), func(c *Config) { c.Clock = w.clock })
	tb.work(tb.server)
	return tb, w
}

// ticked does what the expedition's timer does.
func (tb *table) ticked(name string) state {
	tb.t.Helper()
	for {
		at, err := tb.server.tick(tb.t.Context(), name)
		if errors.Is(err, errMoved) { // the workflow's own timer was as fast
			continue
		}
		if err != nil {
			tb.t.Fatal(err)
		}
		return at.State
	}
}

func TestRealMinutesCountInSessionsOnly(t *testing.T) {
	t.Parallel()
	tb, w := clockTable(t)
	name := tb.begin("session")
	open2 := func(subject, id string) (*expeditionv1.OpenSessionResponse, error) {
		return tb.client.OpenSession(by(t.Context(), subject), &expeditionv1.OpenSessionRequest{Name: name, RequestId: id})
	}
	shut := func(subject, id string) (*expeditionv1.CloseSessionResponse, error) {
		return tb.client.CloseSession(by(t.Context(), subject), &expeditionv1.CloseSessionRequest{Name: name, RequestId: id})
	}
	reason := func(err error) string { return fault.ReasonOf(fault.FromStatus(err)) }
	if _, err := open2("bob", "no"); reason(err) != "NOT_CREATOR" {
		t.Errorf("opened by anybody: %v", err)
	}
	if _, err := shut("alice", "none"); reason(err) != reasonNoSession {
		t.Errorf("closed before it was opened: %v", err)
	}
	first, err := open2("alice", "open-1")
	if err != nil || first.GetExpedition().GetSession().GetNumber() != 1 {
		t.Fatalf("opened: %v, %v", first, err)
	}
	if again, err := open2("alice", "open-1"); err != nil || !proto.Equal(first, again) {
		t.Errorf("opened again: %v, %v", again, err)
	}
	if _, err := open2("gerd", "open-twice"); reason(err) != reasonSessionOpen {
		t.Errorf("opened twice: %v", err)
	}
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	w.set(3.5)
	delve := tb.must("alice", open(name, "open"), Delving).GetExpedition().GetDelve()
	minutes := func() (n int32) {
		tb.world.with(func() { n = tb.world.delves[delve].GetRealClock() })
		return n
	}
	expect := func(when string, want int32) {
		t.Helper()
		if n := minutes(); n != want {
			t.Errorf("%s: %d minutes, want %d", when, n, want)
		}
	}
	expect("what passed before the delve", 0)
	w.set(14.5)
	tb.must("alice", on(name, "on-1"), Delving)
	expect("before a command", 11)
	tb.must("alice", on(name, "on-1"), Delving)
	w.set(12)
	tb.must("alice", on(name, "on-2"), Delving)
	expect("the clock went back", 11)
	w.set(20)
	if st := tb.ticked(name); !st.wake().Equal(dawn.Add(30*time.Minute)) || st.Session.Minutes != 20 {
		t.Errorf("after the mark: %+v, wakes at %v", st.Session, st.wake())
	}
	expect("at the mark", 17)
	tb.ticked(name)
	expect("the same mark once more", 17)
	// Three weeks of downtime, in which the session was left open.
	w.set(21 * 24 * 60)
	tb.must("alice", on(name, "on-3"), Delving)
	expect("after three weeks", 21*24*60-3)
	w.set(21*24*60 + 2.9)
	closed, err := shut("gerd", "close-1")
	if err != nil || closed.GetExpedition().GetSession() != nil {
		t.Fatalf("closed: %v, %v", closed, err)
	}
	expect("at the close", 21*24*60-1)
	w.set(22 * 24 * 60)
	tb.must("alice", on(name, "on-4"), Delving)
	expect("outside a session", 21*24*60-1)
	if again, err := open2("alice", "open-2"); err != nil || again.GetExpedition().GetSession().GetNumber() != 2 {
		t.Errorf("a second session: %v, %v", again, err)
	}
	tb.whole(name)
}

// An attempt that dies between the call and the log counts nothing twice, however late the next one comes.
func TestMinutesCountOnceWhateverDies(t *testing.T) {
	t.Parallel()
	tb, w := clockTable(t)
	name := tb.begin("dying")
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	delve := tb.must("alice", open(name, "open"), Delving).GetExpedition().GetDelve()
	if _, err := tb.client.OpenSession(by(t.Context(), "alice"), &expeditionv1.OpenSessionRequest{Name: name, RequestId: "session"}); err != nil {
		t.Fatal(err)
	}
	w.set(7)
	second := tb.another()
	ctx, die := context.WithCancel(t.Context())
	second.afterCall = func(context.Context, string) { die() }
	if _, err := second.tick(ctx, name); err == nil {
		t.Fatal("the attempt lives")
	}
	w.set(9)
	tb.ticked(name)
	tb.must("alice", on(name, "on"), Delving)
	tb.world.with(func() {
		if n := tb.world.delves[delve].GetRealClock(); n != 9 {
			t.Errorf("%d minutes of 9", n)
		}
	})
	tb.whole(name)
}

func TestWhoLetsATurnPass(t *testing.T) {
	t.Parallel()
	for policy, want := range map[expeditionv1.Absence_Policy]struct{ done, stood string }{
		expeditionv1.Absence_POLICY_WAIT:         {"start_journey enter_location start_run", ""},
		expeditionv1.Absence_POLICY_BASIC_ACTION: {"start_journey enter_location start_run promote draw act act complete draw", "ada:draw bram:act ada:act ada:complete ada:draw"},
		expeditionv1.Absence_POLICY_SKIP:         {"start_journey enter_location start_run promote draw act act complete draw", "bram:draw bram:act ada:act bram:complete bram:draw"},
	} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			tb, w := clockTable(t)
			tb.world.turns = true
			res, err := tb.client.CreateExpedition(by(t.Context(), "alice"), &expeditionv1.CreateExpeditionRequest{
				Parent: "campaigns/c1", ExpeditionId: "idle-" + strconv.Itoa(int(policy)), RequestId: "create", Company: "campaigns/c1/companies/k1",
				Absence: &expeditionv1.Absence{Policy: policy, IdleAfter: durationpb.New(time.Hour)},
			})
			if err != nil {
				t.Fatal(err)
			}
			name := res.GetExpedition().GetName()
			tb.must("alice", start(name, "start"), Traveling)
			tb.must("alice", enter(name, "enter"), AtLocation)
			turn := tb.must("alice", delve(name, "run"), Delving).GetExpedition().GetTurn()
			if turn.GetStep() != stepDraw || !turn.GetDeadline().AsTime().Equal(w.clock().Add(time.Hour)) {
				t.Errorf("the first turn is %v", turn)
			}
			w.set(59)
			tb.ticked(name)
			for hour := 1; hour <= 4; hour++ {
				w.set(float64(60 * hour))
				tb.ticked(name)
			}
			if got := strings.Join(tb.whole(name), " "); got != want.done {
				t.Errorf("executed %s, want %s", got, want.done)
			}
			var stood []string
			for _, rec := range tb.logOf("alice", name) {
				for _, e := range rec.GetEvents() {
					if s := e.GetStoodIn(); s != nil {
						stood = append(stood, s.GetCharacter()[len("campaigns/c1/characters/"):]+":"+s.GetStep()+s.GetRefused())
					}
				}
			}
			if got := strings.Join(stood, " "); got != want.stood {
				t.Errorf("stood in %s, want %s", got, want.stood)
			}
		})
	}
}

// A turn keeps its deadline while others of the same step are still missing, and GMs and creators may change the policy.
func TestTurnsAreShown(t *testing.T) {
	t.Parallel()
	tb, w := clockTable(t)
	tb.world.turns = true
	name := tb.begin("turns")
	set := func(subject, id string, a *expeditionv1.Absence) (*expeditionv1.SetAbsenceResponse, error) {
		return tb.client.SetAbsence(by(t.Context(), subject), &expeditionv1.SetAbsenceRequest{Name: name, RequestId: id, Absence: a})
	}
	good := &expeditionv1.Absence{Policy: expeditionv1.Absence_POLICY_BASIC_ACTION, IdleAfter: durationpb.New(24 * time.Hour)}
	if _, err := set("bob", "no", good); fault.ReasonOf(fault.FromStatus(err)) != "NOT_CREATOR" {
		t.Errorf("set by anybody: %v", err)
	}
	for _, bad := range []time.Duration{59 * time.Second, 90*24*time.Hour + time.Second} {
		_, err := set("alice", "bad", &expeditionv1.Absence{IdleAfter: durationpb.New(bad)})
		var f *fault.Error
		if !errors.As(fault.FromStatus(err), &f) || f.Kind != fault.InvalidArgument || len(f.Fields) != 1 || f.Fields[0].Field != "absence.idle_after" {
			t.Errorf("%v: %v", bad, err)
		}
	}
	first, err := set("gerd", "set", good)
	if err != nil || !proto.Equal(first.GetExpedition().GetAbsence(), good) {
		t.Fatalf("set: %v, %v", first, err)
	}
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	if ex := tb.must("alice", delve(name, "run"), Delving).GetExpedition(); ex.GetTurn().GetStep() != stepDraw || ex.GetTurn().GetDeadline() == nil {
		t.Errorf("the first turn: %v", ex.GetTurn())
	}
	w.set(60)
	drawn := tb.must("alice", draw(name, "draw"), Delving).GetExpedition().GetTurn()
	w.set(120)
	acted := tb.must("bob", &req{Name: name, RequestId: "act", Command: &expeditionv1.ExecuteRequest_Act{Act: &dungeonv1.ActRequest{
		Character: bram, Action: basicAction("wits"),
	}}}, Delving).GetExpedition().GetTurn()
	if strings.Join(drawn.GetCharacters(), " ") != bram+" "+ada || strings.Join(acted.GetCharacters(), " ") != ada ||
		!drawn.GetDeadline().AsTime().Equal(dawn.Add(25*time.Hour)) || !proto.Equal(drawn.GetDeadline(), acted.GetDeadline()) {
		t.Errorf("after the draw %v, after an act %v", drawn, acted)
	}
	// What is refused waits without a deadline, and is told.
	tb.world.with(func() { tb.world.refuse["ActRequest"] = fault.New(fault.FailedPrecondition, "EXHAUSTED", "no") })
	w.set(25 * 60)
	if st := tb.ticked(name); st.Turn == nil || !st.Turn.Deadline.IsZero() || !st.wake().IsZero() {
		t.Errorf("after a refusal: %+v", st.Turn)
	}
	tb.whole(name)
}

// Another policy takes nobody by surprise: who is waited for when it is set, and the leader, have all of its time from then on,
// however long they were waited for before.
func TestAnotherPolicyGivesAllOfItsTime(t *testing.T) {
	t.Parallel()
	tb, w := clockTable(t)
	tb.world.turns = true
	name := tb.begin("policies")
	n := 0
	set := func(policy expeditionv1.Absence_Policy, hours int) *expeditionv1.SetAbsenceResponse {
		t.Helper()
		n++
		a := &expeditionv1.Absence{Policy: policy}
		if hours > 0 {
			a.IdleAfter = durationpb.New(time.Duration(hours) * time.Hour)
		}
		res, err := tb.client.SetAbsence(by(t.Context(), "gerd"), &expeditionv1.SetAbsenceRequest{Name: name, RequestId: fmt.Sprint("set-", n), Absence: a})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	const wait, basic, skip = expeditionv1.Absence_POLICY_WAIT, expeditionv1.Absence_POLICY_BASIC_ACTION, expeditionv1.Absence_POLICY_SKIP
	// check compares the deadlines of turn and leader with hours since dawn; 0: none.
	check := func(when string, ex *expeditionv1.Expedition, turn, lead int) {
		t.Helper()
		for what, at := range map[string]struct {
			got  *timestamppb.Timestamp
			want int
		}{"turn": {ex.GetTurn().GetDeadline(), turn}, "leader": {ex.GetLeadership().GetDeadline(), lead}} {
			if at.want == 0 && at.got != nil || at.want != 0 && !at.got.AsTime().Equal(dawn.Add(time.Duration(at.want)*time.Hour)) {
				t.Errorf("%s: the deadline of the %s is %v, not %d h", when, what, at.got.AsTime(), at.want)
			}
		}
	}
	set(wait, 1)
	tb.must("alice", start(name, "start"), Traveling)
	tb.must("alice", enter(name, "enter"), AtLocation)
	check("at first", tb.must("alice", delve(name, "run"), Delving).GetExpedition(), 1, 0)
	w.set(3 * 60)
	check("from waiting to acting", set(basic, 24).GetExpedition(), 27, 27)
	w.set(26 * 60)
	if st := tb.ticked(name); st.Turn.Step != stepDraw || !st.wake().Equal(dawn.Add(27*time.Hour)) {
		t.Errorf("before the new deadline: %+v", st)
	}
	again := set(basic, 24)
	check("the same again", again.GetExpedition(), 27, 27)
	if len(again.GetEvents()) != 1 {
		t.Errorf("the same again tells %v", again.GetEvents())
	}
	changed := set(skip, 48)
	check("longer", changed.GetExpedition(), 74, 74)
	if e := changed.GetEvents(); len(e) != 3 || e[2].GetLeadershipChanged().GetCause() != causeAbsence {
		t.Errorf("it tells %v", e)
	}
	check("without a deadline", set(skip, 0).GetExpedition(), 0, 0)
	check("waiting", set(wait, 2).GetExpedition(), 28, 0)
	w.set(40 * 60)
	if st := tb.ticked(name); st.Turn.Step != stepDraw || !st.wake().IsZero() {
		t.Errorf("waiting: %+v", st)
	}
	check("acting once more", set(basic, 1).GetExpedition(), 41, 41)
	w.set(41 * 60)
	tb.ticked(name)
	if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location start_run promote draw" {
		t.Errorf("executed %s", got)
	}
}

// A deadline wakes nobody under WAIT; a mark only in a delve.
func TestWake(t *testing.T) {
	t.Parallel()
	at := time.Unix(5000, 0)
	turn := &turnOf{Step: stepDraw, Deadline: at}
	for name, row := range map[string]struct {
		st   state
		want time.Time
	}{
		"nothing":                   {state{}, time.Time{}},
		"a turn under WAIT":         {state{Turn: turn}, time.Time{}},
		"a turn":                    {state{Turn: turn, Absence: absence{Policy: expeditionv1.Absence_POLICY_SKIP}}, at},
		"a turn without a deadline": {state{Turn: &turnOf{}, Absence: absence{Policy: expeditionv1.Absence_POLICY_SKIP}}, time.Time{}},
		"a session outside":         {state{Session: &session{Opened: at}}, time.Time{}},
		"a session in a delve":      {state{Session: &session{Opened: at, Minutes: 9}, Delve: "d"}, at.Add(10 * time.Minute)},
		"after a mark":              {state{Session: &session{Opened: at, Minutes: 10}, Delve: "d"}, at.Add(20 * time.Minute)},
	} {
		if got := row.st.wake(); !got.Equal(row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
