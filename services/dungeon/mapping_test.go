package dungeon

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protojson"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// begun is a run of a shipped dungeon with its entry drawn, and its first events.
func begun(t *testing.T, dungeon int) (digger.Run, []digger.RunEvent) {
	t.Helper()
	d := digger.ShippedDungeons()[dungeon]
	tool := func(n int, id, ability, rating, drawback string, qualities ...string) digger.NumberedTool {
		return digger.NumberedTool{Number: n, Tool: digger.Tool{
			ID: id, Title: "the " + id, Ability: ability, Rating: rating, Qualities: qualities, Drawback: drawback, Loaded: true,
		}}
	}
	enter := digger.Enter{
		Ruleset: digger.Default(), Dungeon: &d, Party: "campaigns/c1/parties/team", Leader: "ada",
		Members: []digger.Entrant{
			{ID: "ada", Form: "base", Statblock: &digger.Abilities{Brute: 5, Agility: 4, Wits: 3, Combat: 2}, Tools: []digger.NumberedTool{
				tool(1, "maul", "brute", "major", "sacrifice", "strengthen"), tool(3, "censer", "wits", "minor", "shortsighted", "cleanse"),
			}},
			{ID: "bram", Form: "wolf", Statblock: &digger.Abilities{Brute: 4, Agility: 4, Wits: 4, Combat: 4}, Tools: []digger.NumberedTool{
				tool(1, "drum", "agility", "minor", "", "rally", "fanfare"), tool(2, "blade", "combat", "major", "liability", "improved", "stalwart"),
			}},
			{ID: "cleo", Form: "base", Statblock: &digger.Abilities{Brute: 6, Agility: 6}},
		},
	}
	events, err := digger.DecideRun(digger.Run{}, enter, play.NewDice(func(int) (int, error) { return 1, nil }))
	if err != nil {
		t.Fatal(err)
	}
	var r digger.Run
	for _, e := range events {
		r = digger.ApplyRun(r, e)
	}
	return r, events
}

// around maps an event to the one that is journaled, by way of its JSON, and back.
func around(t *testing.T, before run, e digger.RunEvent) (*dungeonv1.RunEvent, digger.RunEvent) {
	t.Helper()
	m, err := gameEventOf(before.Game, e)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	stored := &dungeonv1.RunEvent{}
	if err := protojson.Unmarshal(raw, stored); err != nil {
		t.Fatal(err)
	}
	back, err := gameEventFrom(before, stored)
	if err != nil {
		t.Fatal(err)
	}
	return stored, back
}

// filled fails for a field of an event that a test left at zero: what is lost of it would go unseen.
func filled(t *testing.T, path string, v reflect.Value, spare map[string]bool) {
	t.Helper()
	if spare[path] {
		return
	}
	switch v.Kind() { //nolint:exhaustive // the others hold nothing
	case reflect.Struct:
		for i := range v.NumField() {
			filled(t, path+"."+v.Type().Field(i).Name, v.Field(i), spare)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Errorf("%s is empty", path)
		}
		for i := range v.Len() {
			filled(t, path, v.Index(i), spare)
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is zero", path)
		}
	}
}

func TestEveryEventMapsBothWays(t *testing.T) {
	t.Parallel()
	game, entered := begun(t, 0)
	before := run{Party: "campaigns/c1/parties/team", Game: game}
	effects := []digger.Effect{{Name: "rally", Phase: 2, Users: []string{"ada", "bram"}, Ability: "brute", Owed: digger.Phase{"relevant": -1}}}
	card := game.PendingCard()
	events := map[string]digger.RunEvent{
		"a beginning": entered[0],
		"a draw": digger.Drawn{
			Round: 2, Card: card.ID, Kind: digger.Normal, Drawer: "bram", Cleared: true, Reshuffled: true,
			Conditions: []digger.Instance{{Name: "weaken", Phase: 2, Owed: digger.Phase{"all": -2, "exhaustion": 3}}},
		},
		"an act with a tool": digger.Acted{Act: digger.Act{Member: "ada", Tool: 3, Risk: true}, UsesLeft: 2, Effects: effects, Cleansed: true},
		"a round": digger.Completed{
			Round: 1, Card: card.ID, TN: 9, Modifier: -2, Score: 31, Target: 27, Passed: true, ExplorationGain: 18, Exploration: 40,
			Results: []digger.Result{{
				Member: "ada", Acted: true, Roll: 7, Effective: -1, ToolBonus: 4, RiskBonus: 2, Total: 12, Success: true, RiskRoll: 51, Gain: 5, Exhaustion: 9,
			}},
			Effects: effects, Outcome: digger.Running,
		},
		"leaving":        digger.Departed{Member: "cleo"},
		"a promotion":    digger.Promoted{Leader: "bram"},
		"another ending": digger.RunEnded{Outcome: digger.Abandoned},
		"a game master's hand": digger.Adjusted{
			Reason: "a fall", Exploration: pointer(70), ClearConditions: true,
			Members: []digger.MemberAdjustment{{ID: "ada", Exhaustion: pointer(30), UsesLeft: map[int]int{3: 1}}},
		},
	}
	// A member has drawn nothing before the first draw, nor is exhausted; the ruleset has zeros of its own.
	spare := map[string]bool{
		"Entered.Members.Draws": true, "Entered.Members.Exhaustion": true, "Entered.Ruleset": true, "Entered.Dungeon": true, "Entered.Members.Abilities": true,
		"Entered.Members.Tools": true,
	}
	for name, e := range events {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filled(t, reflect.TypeOf(e).Name(), reflect.ValueOf(e), spare)
			_, back := around(t, before, e)
			if diff := cmp.Diff(e, back); diff != "" {
				t.Errorf("(-event +mapped twice):\n%s", diff)
			}
		})
	}
	t.Run("a basic action shows the ability it stands for", func(t *testing.T) {
		t.Parallel()
		e := digger.Acted{Act: digger.Act{Member: "bram"}}
		stored, back := around(t, before, e)
		if diff := cmp.Diff(digger.RunEvent(e), back); diff != "" {
			t.Errorf("(-event +mapped twice):\n%s", diff)
		}
		if got := stored.GetMemberActed().GetAction().GetBasic(); got != card.Ability {
			t.Errorf("shown as %q, want %q", got, card.Ability)
		}
	})
}

func pointer(n int) *int { return &n }

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// member is an active member at random.
func member(rng *rand.Rand, r digger.Run) digger.Member {
	m := r.Active()
	return m[rng.IntN(len(m))]
}

// command is what may well come next in a run.
func command(rng *rand.Rand, r digger.Run) digger.RunCommand {
	switch n := rng.IntN(40); {
	case n == 0:
		return digger.Promote{Member: r.Leader, Target: member(rng, r).ID}
	case n == 1:
		return digger.Depart{Member: member(rng, r).ID}
	case r.Pending == nil:
		return digger.Draw{Member: member(rng, r).ID}
	case len(r.Waiting()) == 0:
		return digger.Complete{Member: r.Completer()}
	}
	who := r.Waiting()[rng.IntN(len(r.Waiting()))]
	m, _ := r.Member(who)
	for _, t := range m.Tools {
		if t.Ability == r.PendingCard().Ability && t.UsesLeft > 0 && rng.IntN(3) > 0 {
			return digger.Contribute{Member: who, Tool: t.Number, Risk: rng.IntN(2) == 0}
		}
	}
	return digger.Contribute{Member: who, Use: r.PendingCard().Ability, Risk: rng.IntN(2) == 0}
}

// Whole runs of random commands: each event comes back from its message as it was, and the states folded from messages
// are those of the rules, whether the fold goes on from memory or from a state that was written down.
func TestRunsFoldAlikeFromEventsAndHeads(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
		dice := func() *play.Dice { return play.NewDice(func(n int) (int, error) { return 1 + rng.IntN(n), nil }) }
		_, events := begun(t, int(seed%3)) //nolint:gosec // small
		start := run{Phase: preparing, Party: "campaigns/c1/parties/team", Lenders: []string{"ada", "bram", "cleo"}, Stream: "s"}
		fromEvents, fromHeads, plain := start, start, digger.Run{}
		for steps := 0; ; steps++ {
			for _, e := range events {
				before := fromEvents
				before.Game = plain
				message, back := around(t, before, e)
				if diff := cmp.Diff(e, back, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d, %T (-event +mapped twice):\n%s", seed, e, diff)
				}
				seen[reflect.TypeOf(e).Name()] = true
				plain = digger.ApplyRun(plain, e)
				old := jsonOf(t, fromEvents)
				next, err := fromEvents.apply(message)
				if err != nil {
					t.Fatal(err)
				}
				if jsonOf(t, fromEvents) != old {
					t.Fatalf("seed %d: folding %T changed the old state", seed, e)
				}
				fromEvents = next
				head := run{}
				if err := json.Unmarshal([]byte(jsonOf(t, fromHeads)), &head); err != nil {
					t.Fatal(err)
				}
				if fromHeads, err = head.apply(message); err != nil {
					t.Fatal(err)
				}
			}
			if a, b := jsonOf(t, fromEvents), jsonOf(t, fromHeads); a != b {
				t.Fatalf("seed %d, from events:\n%s\nfrom heads:\n%s", seed, a, b)
			}
			if diff := cmp.Diff(plain, fromEvents.Game, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d (-rules +folded):\n%s", seed, diff)
			}
			game := plain
			if game.Over() {
				break
			}
			if steps > 2000 {
				t.Fatalf("seed %d does not end", seed)
			}
			events, _ = digger.DecideRun(game, command(rng, game), dice()) // what is refused changes nothing
		}
	}
	for _, e := range []string{"Entered", "Drawn", "Acted", "Completed", "Departed", "Promoted"} {
		if !seen[e] {
			t.Errorf("no %s in any of the runs", e)
		}
	}
}

func TestAnUnknownEventIsNoRunsEvent(t *testing.T) {
	t.Parallel()
	if _, err := (run{}).apply(&dungeonv1.RunEvent{}); err == nil {
		t.Error("an event without content was folded")
	}
	if _, err := definitionSpec.Apply(definition{}, &dungeonv1.DungeonEvent{}); err == nil {
		t.Error("an event without content was folded into a dungeon")
	}
}
