package expedition

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

var acting = &expeditionv1.Absence{Policy: expeditionv1.Absence_POLICY_BASIC_ACTION, IdleAfter: durationpb.New(time.Hour)}

// timed is a suite with a clock that is set by hand.
func timed(t *testing.T, temporal string) (*suite, *watchmaker) {
	t.Helper()
	w := &watchmaker{}
	w.set(0)
	return newSuite(t, temporal, func(c *Config) { c.Clock, c.MaxUpdates = w.clock, 4 }), w
}

// leading is who leads, by the last part of the name, with when it passes on in minutes since dawn, who may reclaim it and who
// was found away.
type leading struct {
	who    string
	passes float64
	absent string
	away   string
}

func leadingOf(l *expeditionv1.Leadership) leading {
	short := func(name string) string { return name[strings.LastIndex(name, "/")+1:] }
	out := leading{who: short(l.GetCharacter()), absent: short(l.GetAbsentLeader())}
	for _, c := range l.GetAway() {
		out.away = strings.TrimSpace(out.away + " " + short(c))
	}
	if l.GetDeadline() != nil {
		out.passes = l.GetDeadline().AsTime().Sub(dawn).Minutes()
	}
	return out
}

func (g *group) leads(when string, want leading) {
	g.t.Helper()
	if diff := cmp.Diff(want, leadingOf(g.now().GetLeadership()), cmp.AllowUnexported(leading{})); diff != "" {
		g.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
	res := &dungeonv1.GetRunResponse{}
	g.call("gerd", &dungeonv1.GetRunRequest{Name: g.now().GetRun()}, res)
	if leader := res.GetRun().GetLeader(); leader != g.character(want.who) {
		g.t.Errorf("%s the run is led by %s", when, leader)
	}
}

// causes are why the leadership changed, in order, and to whom.
func (g *group) causes() []string {
	g.t.Helper()
	var out []string
	for _, rec := range g.logOf("alice", g.name) {
		for _, e := range rec.GetEvents() {
			if l := e.GetLeadershipChanged(); l != nil {
				out = append(out, strings.TrimPrefix(l.GetCause().String(), "CAUSE_")+" "+leadingOf(l.GetLeadership()).who)
			}
		}
	}
	return out
}

func TestLeadershipPassesOnAndIsReclaimed(t *testing.T) {
	t.Parallel()
	s, w := timed(t, devServer(t))
	g := s.gather(t, "leads", acting)
	hand := func(who, id, to string) (*expeditionv1.HandOverLeadershipResponse, error) {
		return g.client.HandOverLeadership(by(t.Context(), who), &expeditionv1.HandOverLeadershipRequest{
			Name: g.name, Character: to, OverrideReason: "she has the map", RequestId: id,
		})
	}
	reclaim := func(who, id string) (*expeditionv1.ReclaimLeadershipResponse, error) {
		return g.client.ReclaimLeadership(by(t.Context(), who), &expeditionv1.ReclaimLeadershipRequest{Name: g.name, RequestId: id})
	}
	refused := func(err error, kind fault.Kind, reason string) {
		t.Helper()
		if f := fault.FromStatus(err); fault.KindOf(f) != kind || fault.ReasonOf(f) != reason {
			t.Errorf("%v, want %s", err, reason)
		}
	}
	g.arrive()
	_, err := hand("gerd", "early", g.character("bram"))
	refused(err, fault.FailedPrecondition, reasonWrongPhase)
	g.does("alice", g.enterRun("run"))
	g.leads("at the start", leading{who: "ada", passes: 60})

	w.set(30)
	g.does("alice", g.acted("a1", "ada"))
	w.set(40)
	g.does("bob", g.acted("b1", "bram"))
	g.leads("seen at half past", leading{who: "ada", passes: 90})
	_, err = hand("gerd", "acts", g.character("cleo"))
	refused(err, fault.FailedPrecondition, "ACTS_PENDING")
	g.does("carol", g.acted("c1", "cleo"))
	g.does("gerd", &req{Name: g.name, RequestId: "d1", Command: &expeditionv1.ExecuteRequest_Complete{Complete: &dungeonv1.CompleteRequest{Character: g.character("ada")}}})
	g.leads("a game master acted for her", leading{who: "ada", passes: 90})

	w.set(89)
	g.ticked(g.name)
	g.leads("a minute before", leading{who: "ada", passes: 90})
	w.set(90)
	g.ticked(g.name)
	g.leads("away", leading{who: "bram", passes: 150, absent: "ada", away: "ada"})
	_, err = reclaim("bob", "not-mine")
	refused(err, fault.PermissionDenied, reasonNotOwner)
	w.set(91)
	back, err := reclaim("alice", "back")
	if err != nil || len(back.GetEvents()) == 0 {
		t.Fatalf("reclaimed: %v, %v", back, err)
	}
	g.leads("reclaimed", leading{who: "ada", passes: 151})
	if again, err := reclaim("alice", "back"); err != nil || !proto.Equal(again, back) {
		t.Errorf("reclaimed again: %v, %v", again, err)
	}
	_, err = reclaim("alice", "twice")
	refused(err, fault.FailedPrecondition, reasonNothingToReclaim)

	_, err = hand("alice", "not-gm", g.character("cleo"))
	refused(err, fault.PermissionDenied, "NOT_GM")
	_, err = hand("gerd", "elsewhere", "campaigns/other/characters/cleo")
	refused(err, fault.NotFound, "NOT_FOUND")
	_, err = hand("gerd", "nobody", g.character("dan"))
	refused(err, fault.FailedPrecondition, "NOT_A_MEMBER")
	w.set(92)
	given, err := hand("gerd", "given", g.character("cleo"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := hand("gerd", "given", g.character("cleo")); err != nil || !proto.Equal(again, given) {
		t.Errorf("handed over again: %v, %v", again, err)
	}
	_, err = hand("gerd", "given", g.character("bram"))
	refused(err, fault.InvalidArgument, "REQUEST_ID_REUSED")
	g.leads("handed over", leading{who: "cleo", passes: 152})
	_, err = reclaim("alice", "handed")
	refused(err, fault.FailedPrecondition, reasonNothingToReclaim)

	// Any command of its owner's keeps it: a session is one.
	w.set(95)
	if _, err := g.client.SetAbsence(by(t.Context(), "gerd"), &expeditionv1.SetAbsenceRequest{Name: g.name, Absence: acting, RequestId: "absence"}); err != nil {
		t.Fatal(err)
	}
	g.leads("somebody else was seen", leading{who: "cleo", passes: 152})
	g.does("carol", &req{Name: g.name, RequestId: "up", Command: &expeditionv1.ExecuteRequest_AbandonRun{AbandonRun: &dungeonv1.AbandonRunRequest{Character: g.character("cleo")}}})
	if l := g.now().GetLeadership(); l != nil {
		t.Errorf("after the run %v leads", l)
	}
	want := []string{"RUN ada", "SEEN ada", "AWAY bram", "RECLAIMED ada", "HANDED_OVER cleo", "RUN "}
	if diff := cmp.Diff(want, g.causes()); diff != "" {
		t.Errorf("the log tells (-want +got):\n%s", diff)
	}
	g.complete()
	replay(t, g.cfg.Temporal, g.name)
	if g.party().GetLeader() != "" && g.party().GetLeader() != g.character("cleo") {
		t.Errorf("the party is led by %s", g.party().GetLeader())
	}
}

// Nobody is there: leadership goes round once and stays, until somebody is seen.
func TestLeadershipGoesRoundOnce(t *testing.T) {
	t.Parallel()
	s, w := timed(t, "")
	g := s.gather(t, "round", acting)
	g.arrive()
	g.does("alice", g.enterRun("run"))
	g.round("first", "ada")
	g.leads("at the start", leading{who: "ada", passes: 60})
	// The turns pass as well; what matters here is that the leadership passes between challenges alone.
	for minute, want := 60.0, []string{"bram", "cleo"}; len(want) > 0 && minute < 2000; minute += 60 {
		w.set(minute)
		g.ticked(g.name)
		if l := leadingOf(g.now().GetLeadership()); l.who == want[0] {
			want = want[1:]
		}
		if g.now().GetRun() == "" {
			t.Fatalf("the run was over before %v led", want)
		}
	}
	g.leads("everybody is away", leading{who: "cleo", absent: "ada", away: "ada bram"})
	if at, err := g.server.log.Load(t.Context(), g.name); err != nil || !at.State.leadPasses().IsZero() {
		t.Errorf("it passes on at %v, %v", at.State.leadPasses(), err)
	}
	_, err := g.server.tick(t.Context(), g.name)
	if err != nil {
		t.Error(err)
	}
	minute := w.clock().Sub(dawn).Minutes()
	if g.now().GetTurn().GetStep() == stepAct {
		g.does("bob", g.acted("there", "bram"))
	} else {
		g.does("bob", g.drawn("there"))
	}
	g.leads("somebody is back", leading{who: "cleo", passes: minute + 60, absent: "ada", away: "ada"})
	g.complete()
}

// An attempt that dies between the run and the log leaves no doubt: the next one tells what happened, once.
func TestWhatTheExpeditionDidIsToldWhateverDies(t *testing.T) {
	t.Parallel()
	s, w := timed(t, "")
	for _, dies := range []string{promote, stepDraw, stepAct, stepComplete} {
		for _, next := range []string{"a tick", "a command"} {
			t.Run(dies+", found by "+next, func(t *testing.T) {
				g := s.gather(t, "dies-"+dies+"-"+strings.ReplaceAll(next, " ", "-"), acting)
				w.set(0)
				g.arrive()
				g.does("alice", g.enterRun("run"))
				if dies == stepComplete {
					for _, c := range []string{"ada", "bram", "cleo"} {
						g.does(players[c], g.acted("act"+c, c))
					}
				}
				if dies == promote || dies == stepDraw {
					g.round("first", "ada")
				}
				w.set(60)
				second := g.another()
				ctx, die := context.WithCancel(t.Context())
				second.afterCall = func(_ context.Context, command string) {
					if command == dies {
						die()
					}
				}
				if _, err := second.tick(ctx, g.name); err == nil {
					t.Fatal("the attempt lives")
				}
				if next == "a tick" {
					g.ticked(g.name)
				} else {
					_ = g.attempts("carol", g.acted("next", "cleo"))
					_ = g.attempts("carol", &req{Name: g.name, RequestId: "next-2", Command: &expeditionv1.ExecuteRequest_Draw{Draw: &dungeonv1.DrawRequest{Character: g.character("cleo")}}})
				}
				told := g.told()
				if dies == promote {
					if n := slices.Index(g.causes(), "AWAY bram"); n < 0 || tally(told, promote) != 1 {
						t.Errorf("told %v, %v", told, g.causes())
					}
				} else if tally(told, "stood_in") == 0 || tally(told, dies) == 0 {
					t.Errorf("told %v", told)
				}
				stood := map[string]int{}
				for _, rec := range g.logOf("alice", g.name) {
					for _, e := range rec.GetEvents() {
						if x := e.GetStoodIn(); x != nil && x.GetRefused() == "" {
							stood[x.GetStep()+" "+x.GetCharacter()]++
						}
					}
				}
				for what, n := range stood {
					if n != 1 {
						t.Errorf("%s was told %d times", what, n)
					}
				}
				g.complete()
			})
		}
	}
}

// Outside runs nobody leads: every traveler gives the journey's commands. A party whose leader is away does not wait at the
// door of a dungeon either, since a game master enters for them, or makes somebody else their leader.
func TestNobodyWaitsForALeaderOutsideRuns(t *testing.T) {
	t.Parallel()
	s, _ := timed(t, "")
	enters := func(g *group, id, character, reason string) *req {
		r := g.enterRun(id)
		r.GetStartRun().Character, r.GetStartRun().OverrideReason = g.character(character), reason
		return r
	}
	for way, help := range map[string]func(g *group){
		"a game master enters": func(g *group) { g.does("gerd", enters(g, "for-them", "bram", "the leader is away")) },
		"a game master hands the party over": func(g *group) {
			g.call("gerd", &partyv1.PromoteMemberRequest{
				Name: g.campaign + "/parties/team", Character: g.character("ada"), Target: g.character("bram"), OverrideReason: "the leader is away",
			}, &partyv1.PromoteMemberResponse{})
			g.does("bob", enters(g, "by-himself", "bram", ""))
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			g := s.gather(t, "outside-"+strings.ReplaceAll(way, " ", "-"), acting)
			for i, r := range []*req{g.setOut(), g.goIn("hamlet"), g.goOut("out"), g.goIn("pit")} {
				r.RequestId = fmt.Sprint("way-", i)
				switch c := r.GetCommand().(type) {
				case *expeditionv1.ExecuteRequest_StartJourney:
					c.StartJourney.Character = g.character("bram")
				case *expeditionv1.ExecuteRequest_EnterLocation:
					c.EnterLocation.Character = g.character("bram")
				case *expeditionv1.ExecuteRequest_LeaveLocation:
					c.LeaveLocation.Character = g.character("bram")
				}
				g.does("bob", r)
			}
			if err := g.attempts("bob", enters(g, "alone", "bram", "")); fault.ReasonOf(err) != "NOT_LEADER" {
				t.Errorf("who does not lead enters: %v", err)
			}
			if got := g.now(); got.GetPhase() != AtLocation || got.GetLeadership() != nil {
				t.Errorf("at the door they are %v", got)
			}
			help(g)
			if got := g.now(); got.GetPhase() != Delving || got.GetLeadership() == nil {
				t.Errorf("they are %v", got)
			}
			g.complete()
		})
	}
}

// The calls are there over REST, too.
func TestLeadershipOverREST(t *testing.T) {
	t.Parallel()
	s, w := timed(t, devServer(t))
	g := s.gather(t, "rest", acting)
	g.arrive()
	g.does("alice", g.enterRun("run"))
	g.round("first", "ada")
	w.set(60)
	g.ticked(g.name)
	mux := runtime.NewServeMux()
	if err := expeditionv1.RegisterExpeditionServiceHandlerClient(t.Context(), mux, g.client); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	post := func(who, verb, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/v1/"+g.name+":"+verb, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+who)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		raw, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw)
	}
	if code, body := post("alice", "reclaimLeadership", `{"requestId": "back"}`); code != http.StatusOK || !strings.Contains(body, "CAUSE_RECLAIMED") {
		t.Errorf("reclaimed: %d %s", code, body)
	}
	if code, body := post("gerd", "handOverLeadership", `{"requestId": "hand", "character": "`+g.character("cleo")+`", "overrideReason": "the map"}`); code != http.StatusOK || !strings.Contains(body, "CAUSE_HANDED_OVER") {
		t.Errorf("handed over: %d %s", code, body)
	}
	if code, body := post("gerd", "handOverLeadership", `{"requestId": "hand-2", "character": "`+g.character("ada")+`"}`); code != http.StatusBadRequest {
		t.Errorf("handed over for no reason: %d %s", code, body)
	}
}

// Every ability has a basic action, and the rules take it from whoever has to act.
func TestTheBasicActionIsLegalInEveryChallenge(t *testing.T) {
	t.Parallel()
	s, w := timed(t, "")
	g := s.gather(t, "basic", acting)
	g.arrive()
	g.does("alice", g.enterRun("run"))
	abilities := map[string]bool{}
	for minute := 60.0; g.now().GetRun() != "" && minute < 60*200; minute += 60 {
		res := &dungeonv1.GetRunResponse{}
		g.call("gerd", &dungeonv1.GetRunRequest{Name: g.now().GetRun()}, res)
		abilities[res.GetRun().GetChallenge().GetAbility()] = true
		w.set(minute)
		g.ticked(g.name)
	}
	if g.now().GetRun() != "" || len(abilities) < 3 {
		t.Errorf("after many turns they are in %s, and have seen %v", g.now().GetRun(), abilities)
	}
	for _, rec := range g.logOf("alice", g.name) {
		for _, e := range rec.GetEvents() {
			if x := e.GetStoodIn(); x.GetRefused() != "" {
				t.Errorf("refused: %v", x)
			}
		}
	}
	g.complete()
}

// A delve tells how many minutes make a die in it; the expedition wakes at each.
func TestAnExpeditionWakesAtTheBlocksOfTheDelve(t *testing.T) {
	t.Parallel()
	s, w := timed(t, devServer(t))
	for id, row := range map[string]struct {
		block, wakes float64
	}{"usual": {0, 10}, "short": {4, 4}, "long": {25, 25}} {
		t.Run(id, func(t *testing.T) {
			g := s.gather(t, "block-"+id, nil)
			w.set(0)
			g.arrive()
			if row.block > 0 {
				set, err := structpb.NewStruct(map[string]any{"real_time_block": row.block})
				if err != nil {
					t.Fatal(err)
				}
				g.call("gerd", &partyv1.OverrideRulesetRequest{Name: g.campaign + "/rulesets/danger-pool", Set: set}, &partyv1.OverrideRulesetResponse{})
			}
			g.explore()
			g.session()
			at, err := g.server.log.Load(t.Context(), g.name)
			if err != nil {
				t.Fatal(err)
			}
			if got := at.State.wake().Sub(dawn).Minutes(); got != row.wakes {
				t.Errorf("it wakes after %v minutes, want %v", got, row.wakes)
			}
			w.set(row.wakes)
			g.ticked(g.name)
			res := &dungeonv1.GetDelveResponse{}
			g.call("gerd", &dungeonv1.GetDelveRequest{Name: g.now().GetDelve()}, res)
			if n := res.GetDelve().GetDiceEver(); n != 1 {
				t.Errorf("%d dice", n)
			}
			if at, err = g.server.log.Load(t.Context(), g.name); err != nil || at.State.wake().Sub(dawn).Minutes() != 2*row.wakes {
				t.Errorf("then it wakes at %v, %v", at.State.wake(), err)
			}
		})
	}
}
