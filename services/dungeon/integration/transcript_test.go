package integration_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// transcript is a worked example of the catalogue; docs/rules/digger.md describes the format.
type transcript struct {
	ID      string          `json:"id"`
	Dungeon json.RawMessage `json:"dungeon"`
	Party   []struct {
		Name      string             `json:"name"`
		Abilities *partyv1.Abilities `json:"abilities"`
		Tools     []*partyv1.Tool    `json:"tools"`
	} `json:"party"`
	Rounds []struct {
		Card    string `json:"card"`
		Drawer  string `json:"drawer"`
		Actions []struct {
			Member string `json:"member"`
			Use    string `json:"use"`
			Risk   bool   `json:"risk"`
		} `json:"actions"`
		Dice map[string]struct {
			D10  int32  `json:"d10"`
			D100 *int32 `json:"d100"`
		} `json:"dice"`
	} `json:"rounds"`
	Expected []expected `json:"expected"`
}

// expected is the state after a round as the catalogue tells it.
type expected struct {
	Round             int32            `json:"round"`
	Card              string           `json:"card"`
	Kind              string           `json:"kind"`
	Ability           string           `json:"ability"`
	Level             int32            `json:"level"`
	TN                int32            `json:"tn"`
	Modifier          int32            `json:"modifier"`
	ConditionsAtDraw  []lasting        `json:"conditions_at_draw"`
	ConditionsInForce []lasting        `json:"conditions_in_force"`
	EffectsInForce    []lasting        `json:"effects_in_force"`
	EffectsAfter      []lasting        `json:"effects_after"`
	Score             int32            `json:"party_score"`
	Target            int32            `json:"party_target"`
	Passed            bool             `json:"party_success"`
	Gain              int32            `json:"exploration_gain"`
	Exploration       int32            `json:"exploration"`
	Members           []expectedMember `json:"members"`
	Outcome           string           `json:"outcome"`
}

type lasting struct {
	Name      string   `json:"name"`
	Remaining *int32   `json:"remaining"`
	Users     []string `json:"users"`
}

type expectedMember struct {
	Name       string           `json:"name"`
	Acted      bool             `json:"acted"`
	Roll       int32            `json:"roll"`
	Effective  int32            `json:"effective"`
	ToolBonus  int32            `json:"tool_bonus"`
	RiskBonus  int32            `json:"risk_bonus"`
	Total      int32            `json:"total"`
	Success    bool             `json:"success"`
	Gain       int32            `json:"exhaustion_gain"`
	Exhaustion int32            `json:"exhaustion"`
	Uses       map[string]int32 `json:"tool_uses_left"`
}

func transcripts(t *testing.T) []transcript {
	t.Helper()
	raw, err := os.ReadFile("../../../rules/digger/testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Transcripts []transcript `json:"transcripts"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Transcripts) == 0 {
		t.Fatal("no transcripts")
	}
	return file.Transcripts
}

func (tr transcript) definition(t *testing.T) *dungeonv1.DungeonDefinition {
	t.Helper()
	d := &dungeonv1.DungeonDefinition{}
	if err := protojson.Unmarshal(tr.Dungeon, d); err != nil {
		t.Fatal(err)
	}
	return d
}

func inCamp(name string) string { return camp + "/characters/" + strings.ToLower(name) }

// bare is the name that a transcript uses for a character.
func bare(character string) string {
	name := strings.TrimPrefix(character, camp+"/characters/")
	return strings.ToUpper(name[:1]) + name[1:]
}

// table is a transcript that is being played. Every member is played by a player of their own.
type table struct {
	*node
	transcript
	dungeon *dungeonv1.DungeonDefinition
	player  map[string]string
	pile    []string
	got     []expected
}

// lay makes characters, party and dungeon of a transcript, and enters.
func lay(t *testing.T, tr transcript) *table {
	t.Helper()
	x := &table{node: newWorld(t).node(), transcript: tr, dungeon: tr.definition(t), player: map[string]string{}}
	players := []string{adas, brams, cleos}
	for i, m := range tr.Party {
		x.player[m.Name] = players[i]
		x.character(strings.ToLower(m.Name), players[i], m.Abilities, m.Tools...)
	}
	leader := tr.Rounds[0].Drawer
	must(x.world, x.player[leader], &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: inCamp(leader), Dungeon: camp + "/dungeons/" + x.dungeon.GetId()})
	// Party order is the transcript's: who leads comes first here, so the results are sorted by it.
	for _, m := range tr.Party {
		if m.Name != leader {
			must(x.world, x.player[m.Name], &partyv1.JoinPartyRequest{Name: team, Character: inCamp(m.Name)})
		}
	}
	do[*dungeonv1.ImportDungeonResponse](x.node, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: x.dungeon})
	return x
}

// die is the face to report for a certain card: its place among those that may come, none when only one may.
func (x *table) die(card string) []int32 {
	kind := ""
	for _, c := range x.dungeon.GetCards() {
		if c.GetId() == card {
			kind = c.GetKind()
		}
	}
	var ids []string
	for _, c := range x.dungeon.GetCards() {
		if c.GetKind() == kind && !slices.Contains(x.pile, c.GetId()) {
			ids = append(ids, c.GetId())
		}
	}
	if kind == "normal" {
		x.pile = append(x.pile, card)
	}
	if len(ids) == 1 {
		return nil
	}
	return []int32{int32(slices.Index(ids, card) + 1)}
}

// play plays a round through the RPCs as the transcript has it, and notes what came of it.
func (x *table) play(round int) {
	x.t.Helper()
	r := x.Rounds[round]
	if round == 0 {
		do[*dungeonv1.StartRunResponse](x.node, x.player[r.Drawer], &dungeonv1.StartRunRequest{
			Parent: camp, RunId: "delve", Party: team, Character: inCamp(r.Drawer), ReportedDice: x.die(r.Card),
		})
	} else {
		do[*dungeonv1.DrawResponse](x.node, gm, &dungeonv1.DrawRequest{
			Name: delve, Character: inCamp(r.Drawer), ReportedDice: x.die(r.Card), Etag: x.run(gm).GetEtag(),
		})
	}
	drawn := x.run(gm)
	var risky []string
	faces := []int32{}
	for _, a := range r.Actions {
		req := &dungeonv1.ActRequest{Name: delve, Character: inCamp(a.Member), Action: &dungeonv1.Action{Risk: a.Risk, Means: &dungeonv1.Action_Basic{Basic: a.Use}}}
		for _, m := range drawn.GetMembers() {
			for _, t := range m.GetTools() {
				if m.GetCharacter() == inCamp(a.Member) && t.GetId() == a.Use {
					req.Action.Means = &dungeonv1.Action_Tool{Tool: t.GetNumber()}
				}
			}
		}
		do[*dungeonv1.ActResponse](x.node, x.player[a.Member], req)
		faces = append(faces, r.Dice[a.Member].D10)
		if r.Dice[a.Member].D100 != nil {
			risky = append(risky, a.Member)
		}
	}
	for _, m := range risky {
		faces = append(faces, *r.Dice[m].D100)
	}
	acted := x.run(spectator)
	done := do[*dungeonv1.CompleteResponse](x.node, gm, &dungeonv1.CompleteRequest{
		Name: delve, Character: inCamp(r.Drawer), ReportedDice: faces, Etag: acted.GetEtag(),
	})
	if len(done.GetRecord().GetDice()) != len(faces) || !done.GetRecord().GetDice()[0].GetReported() {
		x.t.Errorf("round %d: recorded dice %v, want %v as reported", round+1, done.GetRecord().GetDice(), faces)
	}
	x.got = append(x.got, x.told(drawn, acted, done))
}

func (x *table) told(drawn, acted *dungeonv1.Run, done *dungeonv1.CompleteResponse) expected {
	c, e := acted.GetChallenge(), done.GetEvents()[0].GetRoundCompleted()
	out := expected{
		Round: acted.GetRound(), Card: c.GetCard(), Kind: c.GetKind(), Ability: c.GetAbility(), Level: c.GetLevel(), TN: c.GetTn(), Modifier: c.GetModifier(),
		ConditionsAtDraw: conditionsOf(drawn), ConditionsInForce: conditionsOf(acted), EffectsInForce: effectsOf(acted, true),
		EffectsAfter: effectsOf(done.GetRun(), false), Score: e.GetScore(), Target: e.GetTarget(), Passed: e.GetPassed(),
		Gain: e.GetExplorationGain(), Exploration: done.GetRun().GetExploration(), Outcome: e.GetOutcome(),
	}
	if e.GetModifier() != c.GetModifier() || e.GetTn() != c.GetTn() || e.GetCard() != c.GetCard() || e.GetRound() != acted.GetRound() {
		x.t.Errorf("the challenge %v and its result %v differ", c, e)
	}
	for _, p := range x.Party {
		i := slices.IndexFunc(e.GetResults(), func(r *dungeonv1.MemberResult) bool { return r.GetCharacter() == inCamp(p.Name) })
		j := slices.IndexFunc(done.GetRun().GetMembers(), func(m *dungeonv1.Member) bool { return m.GetCharacter() == inCamp(p.Name) })
		r := e.GetResults()[i]
		m := expectedMember{
			Name: p.Name, Acted: r.GetActed(), Roll: r.GetRoll(), Effective: r.GetEffective(), ToolBonus: r.GetToolBonus(), RiskBonus: r.GetRiskBonus(),
			Total: r.GetTotal(), Success: r.GetSuccess(), Gain: r.GetExhaustionGain(), Exhaustion: done.GetRun().GetMembers()[j].GetExhaustion(),
			Uses: map[string]int32{},
		}
		for _, t := range done.GetRun().GetMembers()[j].GetTools() {
			m.Uses[t.GetId()] = t.GetUsesLeft()
		}
		out.Members = append(out.Members, m)
	}
	return out
}

func conditionsOf(r *dungeonv1.Run) []lasting {
	var out []lasting
	for _, c := range r.GetConditions() {
		out = append(out, lasting{Name: c.GetName(), Remaining: c.Remaining}) //nolint:protogetter // absence counts
	}
	return out
}

func effectsOf(r *dungeonv1.Run, users bool) []lasting {
	var out []lasting
	for _, e := range r.GetEffects() {
		remaining := e.GetRemaining()
		l := lasting{Name: e.GetName(), Remaining: &remaining}
		for _, u := range e.GetUsers() {
			if users {
				l.Users = append(l.Users, bare(u))
			}
		}
		out = append(out, l)
	}
	return out
}

func TestTheTranscriptsThroughTheRPCs(t *testing.T) {
	t.Parallel()
	for _, tr := range transcripts(t) {
		t.Run(tr.ID, func(t *testing.T) {
			t.Parallel()
			x := lay(t, tr)
			for i := range tr.Rounds {
				x.play(i)
			}
			if diff := cmp.Diff(tr.Expected, x.got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			want := dungeonv1.Run_PHASE_WON
			if last := tr.Expected[len(tr.Expected)-1]; last.Outcome == "running" {
				want = dungeonv1.Run_PHASE_ABANDONED
				do[*dungeonv1.AbandonRunResponse](x.node, x.player[tr.Rounds[0].Drawer], &dungeonv1.AbandonRunRequest{Name: delve, Character: inCamp(tr.Rounds[0].Drawer)})
			}
			// Another replica folds the same from the journal.
			r := do[*dungeonv1.GetRunResponse](x.world.node(), spectator, &dungeonv1.GetRunRequest{Name: delve}).GetRun()
			if r.GetPhase() != want || !r.GetSettled() {
				t.Errorf("ended as %v, settled %v, want %v", r.GetPhase(), r.GetSettled(), want)
			}
			var all []string
			for _, p := range tr.Party {
				all = append(all, inCamp(p.Name))
			}
			if got := x.borrowed(all...); len(got) > 0 || x.owing() > 0 || !x.revealed(r.GetStream()) || x.roster().GetState() != partyv1.Party_STATE_ENDED {
				t.Errorf("after the end %v is borrowed, %d things are owed, the party is %v", got, x.owing(), x.roster())
			}
		})
	}
}

func TestWhoIsExhaustedNeitherDrawsNorActs(t *testing.T) {
	t.Parallel()
	for _, tr := range transcripts(t) {
		if tr.ID != "ex6-exhausted" {
			continue
		}
		x := lay(t, tr)
		for i := range 3 {
			x.play(i)
		}
		before := x.seqs()
		exhausted := refusal{codes.FailedPrecondition, "EXHAUSTED", ""}
		_, err := x.try(x.player["Bram"], &dungeonv1.DrawRequest{Name: delve, Character: inCamp("Bram")})
		exhausted.check(t, err)
		_, err = x.try(x.player["Bram"], force(inCamp("Bram")))
		refusal{codes.FailedPrecondition, "NO_CHALLENGE", ""}.check(t, err)
		if diff := cmp.Diff(before, x.seqs()); diff != "" {
			t.Errorf("refusals changed the journal: %s", diff)
		}
		do[*dungeonv1.DrawResponse](x.node, x.player["Asa"], &dungeonv1.DrawRequest{Name: delve, Character: inCamp("Asa")})
		_, err = x.try(x.player["Bram"], force(inCamp("Bram")))
		exhausted.check(t, err)
		return
	}
	t.Fatal("the transcript with an exhausted member is missing")
}
