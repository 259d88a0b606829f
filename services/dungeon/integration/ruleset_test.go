package integration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// override sets parameters of Digger in the name of the GM and returns the campaign record.
func (n *node) override(set map[string]any, clear ...string) int32 {
	n.t.Helper()
	values, err := structpb.NewStruct(set)
	if err != nil {
		n.t.Fatal(err)
	}
	req := &partyv1.OverrideRulesetRequest{Name: camp + "/rulesets/digger", Set: values, Clear: clear}
	return must(n.world, gm, req).(*partyv1.OverrideRulesetResponse).GetRuleset().GetSeq() //nolint:forcetypeassert // a test
}

// A run keeps the numbers that it began with; the next one has those of its own time.
func TestARunKeepsItsRuleset(t *testing.T) {
	t.Parallel()
	n := newWorld(t).node().begin()
	first := n.override(map[string]any{"challenge.tn.1": 6, "exploration.success.1": 30})
	began := do[*dungeonv1.StartRunResponse](n, adas, startDelve())
	started := func(events []*dungeonv1.RunEvent) *dungeonv1.RunStarted {
		t.Helper()
		for _, e := range events {
			if s := e.GetStarted(); s != nil {
				return s
			}
		}
		t.Fatal("the run has not started")
		return nil
	}
	number := func(s *dungeonv1.RunStarted, group, table, level string) float64 {
		return s.GetRuleset().GetFields()[group].GetStructValue().GetFields()[table].GetStructValue().GetFields()[level].GetNumberValue()
	}
	// The lease of the roster is a record of the campaign, too, after the override's.
	if s := started(began.GetEvents()); number(s, "challenge", "tn", "1") != 6 || number(s, "challenge", "tn", "2") != 11 || s.GetCampaignSeq() < first {
		t.Errorf("the ruleset of campaign record %d: %v", s.GetCampaignSeq(), s.GetRuleset().GetFields()["challenge"])
	}
	n.override(map[string]any{"challenge.tn.1": 20, "exploration.success.1": 90})

	// In force for this run are still a target of 6 and 30 of exploration, to which the entry's treasure adds 5.
	res := n.node().round(1, 2, 2) // another process, which knows the run from its journal
	r := res.GetRun()
	if done := res.GetEvents()[0].GetRoundCompleted(); done.GetTn() != 6 || !done.GetPassed() || done.GetExplorationGain() != 35 {
		t.Errorf("a round after the override: %v", done)
	}
	if r.GetExploration() != 35 {
		t.Errorf("exploration %d", r.GetExploration())
	}
	do[*dungeonv1.AbandonRunResponse](n, gm, &dungeonv1.AbandonRunRequest{Name: delve, Character: ada})

	must(n.world, adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "second", Character: ada})
	must(n.world, brams, &partyv1.JoinPartyRequest{Name: camp + "/parties/second", Character: bram})
	next := startDelve()
	next.RunId, next.RequestId, next.Party = "next", "next", camp+"/parties/second"
	s := started(do[*dungeonv1.StartRunResponse](n, adas, next).GetEvents())
	if number(s, "challenge", "tn", "1") != 20 || number(s, "exploration", "success", "1") != 90 || s.GetCampaignSeq() <= first {
		t.Errorf("the next run's ruleset of campaign record %d: %v", s.GetCampaignSeq(), s.GetRuleset().GetFields()["challenge"])
	}
}

func TestOverridesCountWhereARunBegins(t *testing.T) {
	t.Parallel()
	t.Run("who may enter", func(t *testing.T) {
		t.Parallel()
		n := newWorld(t).node().begin()
		n.override(map[string]any{"flow.enter_requires_leader": false, "party.min_to_enter": 4})
		req := startDelve()
		req.Character = bram
		before := n.seqs()
		_, err := n.try(brams, req)
		refusal{codes.FailedPrecondition, "TOO_FEW_MEMBERS", ""}.check(t, err)
		if diff := cmp.Diff(before, n.seqs()); diff != "" {
			t.Errorf("the journal has changed: %s", diff)
		}
		n.override(nil, "party.min_to_enter")
		do[*dungeonv1.StartRunResponse](n, brams, req)
	})
	t.Run("which dungeons can be imported", func(t *testing.T) {
		t.Parallel()
		n := newWorld(t).node().begin()
		n.override(map[string]any{"conditions.treasure": map[string]any{"class": "basic", "phases": []any{map[string]any{"brute": -3}}}})
		do[*dungeonv1.ImportDungeonResponse](n, gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: testDungeon()})
		levels := map[string]any{"1": 0.5, "2": 0.5}
		n.override(map[string]any{
			"challenge.levels": []any{1, 2}, "challenge.tn": map[string]any{"1": 9, "2": 11},
			"exploration.success": map[string]any{"1": 18, "2": 20}, "exploration.failure": map[string]any{"1": 8, "2": 10},
			"exhaustion.party_success": map[string]any{"1": 5, "2": 6}, "exhaustion.party_failure": map[string]any{"1": 11, "2": 13},
			"exhaustion.individual_failure": map[string]any{"1": 3, "2": 4},
			"type_profiles.ruin.level_mix":  levels, "type_profiles.ruin.final_level": 2,
			"type_profiles.labyrinth.level_mix": levels, "type_profiles.labyrinth.final_level": 2, "type_profiles.labyrinth.climax_level": 2,
			"type_profiles.abyss.level_mix": levels, "type_profiles.abyss.final_level": 2, "type_profiles.abyss.climax_level": 2,
		})
		steep := testDungeon()
		steep.Cards[1].Level = 3
		_, err := n.try(gm, &dungeonv1.ImportDungeonRequest{Parent: camp, Dungeon: steep})
		refusal{codes.InvalidArgument, "INVALID_DUNGEON", "dungeon.cards[1].level"}.check(t, err)
		found := do[*dungeonv1.ValidateDungeonResponse](n, gm, &dungeonv1.ValidateDungeonRequest{Parent: camp, Dungeon: steep})
		if found.GetValid() {
			t.Error("a level that there is not is valid")
		}
	})
}
