package dungeon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// The phases of a run's borrowing.
const (
	preparing = "preparing"
	playing   = "playing"
	undoing   = "undoing"
	undone    = "undone"
)

// run is the fold of a run's events: the game, and what it borrows.
type run struct {
	Phase      string   `json:"phase"`
	Party      string   `json:"party"`
	Dungeon    string   `json:"dungeon"`
	Revision   int      `json:"revision"`
	Expedition string   `json:"expedition,omitempty"`
	Lenders    []string `json:"lenders"` // characters, beside the party
	Character  string   `json:"character"`
	Overridden bool     `json:"overridden,omitempty"`
	Stream     string   `json:"stream"`
	Reported   []int    `json:"reported,omitempty"`
	// Staged are those who enter a run that borrows nothing.
	Staged  []stagedMember `json:"staged,omitempty"`
	Refusal *refusal       `json:"refusal,omitempty"`

	Game   digger.Run        `json:"game"`
	Owners map[string]string `json:"owners,omitempty"`
	Titles map[string]string `json:"titles,omitempty"`
	// Owed lists early leavers whose loadout and seat are still to be given back.
	Owed    []string `json:"owed,omitempty"`
	Settled bool     `json:"settled,omitempty"`
}

// stagedMember is who enters a staged run.
type stagedMember struct {
	Entrant digger.Entrant `json:"entrant"`
	Owner   string         `json:"owner"`
	Title   string         `json:"title"`
}

// refusal is why a start was given up.
type refusal struct {
	Kind     fault.Kind        `json:"kind"`
	Reason   string            `json:"reason"`
	Message  string            `json:"message"`
	Field    string            `json:"field,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func (r refusal) fault() error {
	f := fault.New(r.Kind, r.Reason, "%s", r.Message)
	for k, v := range r.Metadata {
		f = f.With(k, v)
	}
	if r.Field != "" {
		f = f.At(r.Field, r.Message)
	}
	return f
}

var runSpec = adapter.Spec[run, *dungeonv1.RunEvent]{
	Kind: "run", Version: 1,
	New:      func() *dungeonv1.RunEvent { return &dungeonv1.RunEvent{} },
	Apply:    run.apply,
	Stream:   func(r run) string { return r.Stream },
	Unlisted: func(r run) bool { return r.Phase == undoing || r.Phase == undone },
	Ended:    func(r run) bool { return r.Settled || r.Phase == undone },
}

// apply folds one event without changing what the old state refers to.
func (r run) apply(e *dungeonv1.RunEvent) (run, error) {
	switch ev := e.GetEvent().(type) {
	case *dungeonv1.RunEvent_Preparing:
		p := ev.Preparing
		r.Phase, r.Party, r.Dungeon, r.Revision, r.Expedition = preparing, p.GetParty(), p.GetDungeon(), int(p.GetRevision()), p.GetExpedition()
		r.Lenders, r.Character, r.Overridden, r.Stream = p.GetMembers(), p.GetCharacter(), p.GetOverridden(), p.GetStream()
		for _, f := range p.GetReportedDice() {
			r.Reported = append(r.Reported, int(f))
		}
		for _, m := range p.GetStaged() {
			e := stagedEntrant(m)
			r.Staged = append(r.Staged, stagedMember{Entrant: e.Entrant, Owner: e.owner, Title: e.title})
		}
	case *dungeonv1.RunEvent_Undoing:
		u := ev.Undoing
		r.Phase = undoing
		r.Refusal = &refusal{fault.Kind(u.GetCode()), u.GetReason(), u.GetMessage(), u.GetField(), u.GetMetadata()} //nolint:gosec // a gRPC code
	case *dungeonv1.RunEvent_Undone:
		r.Phase = undone
	case *dungeonv1.RunEvent_Settled:
		r.Settled = true
	case *dungeonv1.RunEvent_SeatGivenBack:
		r.Owed = slices.DeleteFunc(slices.Clone(r.Owed), func(id string) bool { return id == ev.SeatGivenBack.GetCharacter() })
	default:
		game, err := gameEventFrom(r, e)
		if err != nil {
			return r, err
		}
		if started := e.GetStarted(); started != nil {
			r.Phase, r.Owners, r.Titles = playing, map[string]string{}, map[string]string{}
			for _, m := range started.GetMembers() {
				r.Owners[m.GetCharacter()], r.Titles[m.GetCharacter()] = m.GetOwner(), m.GetTitle()
			}
		}
		if left := e.GetMemberLeft(); left != nil && !r.staged() {
			r.Owed = append(slices.Clone(r.Owed), left.GetCharacter())
		}
		r.Game = digger.ApplyRun(r.Game, game)
	}
	return r, nil
}

// owes tells whether there is anything left to do for other services.
func (r run) owes() bool {
	switch r.Phase {
	case preparing, undoing:
		return true
	case playing:
		return len(r.Owed) > 0 || r.Game.Over() && !r.Settled
	}
	return false
}

func structOf(v any) (*structpb.Struct, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	s := &structpb.Struct{}
	return s, s.UnmarshalJSON(raw)
}

// gameEventFrom maps a journaled event to the rules' event.
func gameEventFrom(r run, e *dungeonv1.RunEvent) (digger.RunEvent, error) {
	switch ev := e.GetEvent().(type) {
	case *dungeonv1.RunEvent_Started:
		raw, err := ev.Started.GetRuleset().MarshalJSON()
		if err != nil {
			return nil, err
		}
		rs, err := digger.ParseRuleset(raw)
		if err != nil {
			return nil, err
		}
		out := digger.Entered{Ruleset: rs, Dungeon: definitionFrom(ev.Started.GetDungeon()), Party: r.Party, Leader: ev.Started.GetLeader()}
		for _, m := range ev.Started.GetMembers() {
			out.Members = append(out.Members, memberFrom(m))
		}
		return out, nil
	case *dungeonv1.RunEvent_ChallengeDrawn:
		d := ev.ChallengeDrawn
		out := digger.Drawn{
			Round: int(d.GetRound()), Card: d.GetCard().GetId(), Kind: d.GetKind(), Drawer: d.GetDrawer(), Cleared: d.GetCleared(), Reshuffled: d.GetReshuffled(),
		}
		for _, c := range d.GetConditions() {
			out.Conditions = append(out.Conditions, digger.Instance{Name: c.GetName(), Phase: int(c.GetPhase()), Owed: owedFrom(c.GetOwed())})
		}
		return out, nil
	case *dungeonv1.RunEvent_MemberActed:
		a := ev.MemberActed
		return digger.Acted{
			Act:      digger.Act{Member: a.GetCharacter(), Tool: int(a.GetAction().GetTool()), Risk: a.GetAction().GetRisk()},
			UsesLeft: int(a.GetUsesLeft()), Effects: effectsFrom(a.GetEffects()), Cleansed: a.GetCleansed(),
		}, nil
	case *dungeonv1.RunEvent_RoundCompleted:
		c := ev.RoundCompleted
		out := digger.Completed{
			Round: int(c.GetRound()), Card: c.GetCard(), TN: int(c.GetTn()), Modifier: int(c.GetModifier()), Score: int(c.GetScore()),
			Target: int(c.GetTarget()), Passed: c.GetPassed(), ExplorationGain: int(c.GetExplorationGain()), Exploration: int(c.GetExploration()),
			Effects: effectsFrom(c.GetEffects()), Outcome: c.GetOutcome(),
		}
		for _, x := range c.GetResults() {
			out.Results = append(out.Results, digger.Result{
				Member: x.GetCharacter(), Acted: x.GetActed(), Roll: int(x.GetRoll()), Effective: int(x.GetEffective()),
				ToolBonus: int(x.GetToolBonus()), RiskBonus: int(x.GetRiskBonus()), Total: int(x.GetTotal()), Success: x.GetSuccess(),
				RiskRoll: int(x.GetRiskRoll()), Gain: int(x.GetExhaustionGain()), Exhaustion: int(x.GetExhaustion()),
			})
		}
		return out, nil
	case *dungeonv1.RunEvent_MemberLeft:
		return digger.Departed{Member: ev.MemberLeft.GetCharacter()}, nil
	case *dungeonv1.RunEvent_LeaderPromoted:
		return digger.Promoted{Leader: ev.LeaderPromoted.GetLeader()}, nil
	case *dungeonv1.RunEvent_Ended:
		return digger.RunEnded{Outcome: ev.Ended.GetOutcome()}, nil
	case *dungeonv1.RunEvent_Adjusted:
		a := ev.Adjusted
		out := digger.Adjusted{Reason: a.GetReason(), ClearConditions: a.GetClearConditions(), Members: adjustmentsFrom(a.GetMembers())}
		if a.Exploration != nil {
			n := int(a.GetExploration())
			out.Exploration = &n
		}
		return out, nil
	}
	return nil, fmt.Errorf("unknown run event %T", e.GetEvent())
}

// gameEventOf maps a rules' event to the one that is journaled. Game is the state before it.
func gameEventOf(game digger.Run, e digger.RunEvent) (*dungeonv1.RunEvent, error) {
	switch ev := e.(type) {
	case digger.Entered:
		rs, err := structOf(ev.Ruleset)
		if err != nil {
			return nil, err
		}
		out := &dungeonv1.RunStarted{Ruleset: rs, Dungeon: definitionOf(ev.Dungeon), Leader: ev.Leader}
		for _, m := range ev.Members {
			out.Members = append(out.Members, memberOf(m))
		}
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Started{Started: out}}, nil
	case digger.Drawn:
		out := &dungeonv1.ChallengeDrawn{
			Round: i32(ev.Round), Kind: ev.Kind, Drawer: ev.Drawer, Cleared: ev.Cleared, Reshuffled: ev.Reshuffled,
			Card: cardOf(digger.ApplyRun(game, ev).PendingCard()),
		}
		for _, c := range ev.Conditions {
			out.Conditions = append(out.Conditions, &dungeonv1.ConditionState{Name: c.Name, Phase: i32(c.Phase), Owed: owedOf(c.Owed)})
		}
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_ChallengeDrawn{ChallengeDrawn: out}}, nil
	case digger.Acted:
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_MemberActed{MemberActed: &dungeonv1.MemberActed{
			Character: ev.Act.Member, Action: actionOf(game, ev.Act), UsesLeft: i32(ev.UsesLeft), Effects: effectStatesOf(ev.Effects), Cleansed: ev.Cleansed,
		}}}, nil
	case digger.Completed:
		out := &dungeonv1.RoundCompleted{
			Round: i32(ev.Round), Card: ev.Card, Tn: i32(ev.TN), Modifier: i32(ev.Modifier), Score: i32(ev.Score), Target: i32(ev.Target),
			Passed: ev.Passed, ExplorationGain: i32(ev.ExplorationGain), Exploration: i32(ev.Exploration),
			Effects: effectStatesOf(ev.Effects), Outcome: ev.Outcome,
		}
		for _, x := range ev.Results {
			out.Results = append(out.Results, &dungeonv1.MemberResult{
				Character: x.Member, Acted: x.Acted, Roll: i32(x.Roll), Effective: i32(x.Effective), ToolBonus: i32(x.ToolBonus),
				RiskBonus: i32(x.RiskBonus), Total: i32(x.Total), Success: x.Success, RiskRoll: i32(x.RiskRoll),
				ExhaustionGain: i32(x.Gain), Exhaustion: i32(x.Exhaustion),
			})
		}
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_RoundCompleted{RoundCompleted: out}}, nil
	case digger.Departed:
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_MemberLeft{MemberLeft: &dungeonv1.MemberLeft{Character: ev.Member}}}, nil
	case digger.Promoted:
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_LeaderPromoted{LeaderPromoted: &dungeonv1.LeaderPromoted{Leader: ev.Leader}}}, nil
	case digger.RunEnded:
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Ended{Ended: &dungeonv1.RunEnded{Outcome: ev.Outcome}}}, nil
	case digger.Adjusted:
		out := &dungeonv1.RunAdjusted{Reason: ev.Reason, ClearConditions: ev.ClearConditions, Members: adjustmentsOf(ev.Members)}
		if ev.Exploration != nil {
			out.Exploration = proto.Int32(i32(*ev.Exploration))
		}
		return &dungeonv1.RunEvent{Event: &dungeonv1.RunEvent_Adjusted{Adjusted: out}}, nil
	}
	return nil, fmt.Errorf("no message for run event %T", e)
}

// gameEventsOf maps what the rules decided on a state.
func gameEventsOf(game digger.Run, events []digger.RunEvent) ([]*dungeonv1.RunEvent, digger.Run, error) {
	out := make([]*dungeonv1.RunEvent, len(events))
	for i, e := range events {
		var err error
		if out[i], err = gameEventOf(game, e); err != nil {
			return nil, game, err
		}
		game = digger.ApplyRun(game, e)
	}
	return out, game, nil
}

func owedOf(p digger.Phase) map[string]int32 {
	if len(p) == 0 {
		return nil
	}
	out := map[string]int32{}
	for k, v := range p {
		out[k] = i32(v)
	}
	return out
}

func owedFrom(p map[string]int32) digger.Phase {
	if len(p) == 0 {
		return nil
	}
	out := digger.Phase{}
	for k, v := range p {
		out[k] = int(v)
	}
	return out
}

func effectStatesOf(list []digger.Effect) []*dungeonv1.EffectState {
	out := make([]*dungeonv1.EffectState, len(list))
	for i, e := range list {
		out[i] = &dungeonv1.EffectState{Name: e.Name, Phase: i32(e.Phase), Users: e.Users, Ability: e.Ability, Owed: owedOf(e.Owed)}
	}
	return out
}

func effectsFrom(list []*dungeonv1.EffectState) []digger.Effect {
	var out []digger.Effect
	for _, e := range list {
		out = append(out, digger.Effect{Name: e.GetName(), Phase: int(e.GetPhase()), Users: e.GetUsers(), Ability: e.GetAbility(), Owed: owedFrom(e.GetOwed())})
	}
	return out
}

func memberOf(m digger.Member) *dungeonv1.Member {
	out := &dungeonv1.Member{Character: m.ID, Form: m.Form, Exhaustion: i32(m.Exhaustion)}
	for _, name := range digger.AbilityNames {
		out.Ratings = append(out.Ratings, i32(m.Abilities.Of(name)))
	}
	for _, t := range m.Tools {
		out.Tools = append(out.Tools, &dungeonv1.RunTool{
			Number: i32(t.Number), Id: t.ID, Title: t.Title, Ability: t.Ability, Rating: t.Rating, Qualities: t.Qualities,
			Drawback: t.Drawback, UsesLeft: i32(t.UsesLeft),
		})
	}
	return out
}

func memberFrom(m *dungeonv1.Member) digger.Member {
	out := digger.Member{ID: m.GetCharacter(), Form: m.GetForm(), Exhaustion: int(m.GetExhaustion())}
	rating := func(i int) int {
		if i < len(m.GetRatings()) {
			return int(m.GetRatings()[i])
		}
		return 0
	}
	out.Abilities = digger.Abilities{Brute: rating(0), Agility: rating(1), Wits: rating(2), Combat: rating(3)}
	for _, t := range m.GetTools() {
		out.Tools = append(out.Tools, digger.RunTool{
			Tool: digger.Tool{
				ID: t.GetId(), Title: t.GetTitle(), Ability: t.GetAbility(), Rating: t.GetRating(), Qualities: t.GetQualities(),
				Drawback: t.GetDrawback(), Loaded: true,
			},
			Number: int(t.GetNumber()), UsesLeft: int(t.GetUsesLeft()),
		})
	}
	return out
}

// actionOf shows an act; a basic action by the ability that it stands for.
func actionOf(game digger.Run, a digger.Act) *dungeonv1.Action {
	out := &dungeonv1.Action{Risk: a.Risk, Means: &dungeonv1.Action_Tool{Tool: i32(a.Tool)}}
	if a.Tool == 0 {
		out.Means = &dungeonv1.Action_Basic{Basic: game.PendingCard().Ability}
	}
	return out
}

var phases = map[string]dungeonv1.Run_Phase{
	digger.Won: dungeonv1.Run_PHASE_WON, digger.LostRetreat: dungeonv1.Run_PHASE_RETREATED,
	digger.LostExhausted: dungeonv1.Run_PHASE_EXHAUSTED, digger.Abandoned: dungeonv1.Run_PHASE_ABANDONED,
}

func (r run) phase() dungeonv1.Run_Phase {
	switch {
	case r.Phase == preparing:
		return dungeonv1.Run_PHASE_PREPARING
	case r.Phase != playing:
		return dungeonv1.Run_PHASE_UNDONE
	case r.Game.Over():
		return phases[r.Game.Outcome]
	case r.Game.Pending != nil:
		return dungeonv1.Run_PHASE_ACT
	}
	return dungeonv1.Run_PHASE_DRAW
}

// runOf shows a run; of the undrawn cards it has only what comes next, which is secret.
func runOf(at journal.At[run]) *dungeonv1.Run {
	r := at.State
	out := &dungeonv1.Run{
		Name: at.Stream, Dungeon: r.Dungeon, Revision: i32(r.Revision), Party: r.Party, Expedition: r.Expedition, Stream: r.Stream,
		Phase: r.phase(), Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created), Settled: r.Settled || r.Phase == undone,
		Staged: r.staged(),
	}
	if r.Phase != playing {
		return out
	}
	g := r.Game
	out.Title, out.Number, out.Type = g.Dungeon.Name, i32(g.Dungeon.Number), g.Dungeon.Type
	out.Exploration, out.Round, out.Leader = i32(g.Exploration), i32(g.Round), g.Leader
	for _, m := range g.Members {
		x := memberOf(m)
		x.Title, x.Owner = r.Titles[m.ID], r.Owners[m.ID]
		if g.Pending != nil {
			if i := slices.IndexFunc(g.Pending.Acts, func(a digger.Act) bool { return a.Member == m.ID }); i >= 0 {
				x.Action = actionOf(g, g.Pending.Acts[i])
			}
		}
		out.Members = append(out.Members, x)
	}
	if g.Pending == nil && !g.Over() {
		out.NextDraw = g.NextDraw()
		out.Candidates, _ = g.Candidates()
	}
	if c, ok := g.Card(); ok {
		out.Challenge = &dungeonv1.Challenge{
			Card: c.ID, Kind: g.Pending.Kind, Title: c.Title, Text: c.Text, Ability: c.Ability, Level: i32(c.Level), Tn: i32(g.TN()),
			Drawer: g.Pending.Drawer, Waiting: g.Waiting(), Modifier: i32(g.Modifier()),
		}
	}
	for _, c := range g.Conditions {
		x := &dungeonv1.Condition{Name: c.Name}
		if n, timed := g.Ruleset.Remaining(c); timed {
			x.Remaining = proto.Int32(i32(n))
		}
		out.Conditions = append(out.Conditions, x)
	}
	for _, e := range g.Effects {
		out.Effects = append(out.Effects, &dungeonv1.Effect{Name: e.Name, Remaining: i32(g.Ruleset.EffectRemaining(e)), Users: e.Users})
	}
	return out
}

func undoingOf(f *fault.Error) *dungeonv1.RunUndoing {
	u := &dungeonv1.RunUndoing{Code: i32(int(f.Kind)), Reason: f.Reason, Message: f.Message, Metadata: maps.Clone(f.Metadata)}
	if len(f.Fields) > 0 {
		u.Field = f.Fields[0].Field
	}
	return u
}
