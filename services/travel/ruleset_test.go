package travel_test

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

// rulesets answers for the party service: what is overridden, and how often that was changed.
type rulesets struct {
	mu   sync.Mutex
	set  map[string]any
	seq  int
	fail error
}

func (r *rulesets) override(set map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set, r.seq = set, r.seq+1
}

func (r *rulesets) Ruleset(_ context.Context, _, system string) ([]byte, int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return nil, 0, r.fail
	}
	document, _, err := ruleset.Effective(system, r.set)
	return document, r.seq, err
}

var _ adapter.Rulesets = (*rulesets)(nil)

// hungry is a world in which a company without food sets out, and its rules.
func hungry() (*world, *rulesets) {
	w, rules := newWorld(), &rulesets{}
	w.party.companies[band].Pack.Food = nil
	return w, rules
}

func ruledBy(rules *rulesets) func(*travel.Config) {
	return func(cfg *travel.Config) { cfg.Rulesets = rules }
}

// searched plays a round without food and returns the journey after it.
func (n *node) searched() *travelv1.Journey {
	n.t.Helper()
	return do[*travelv1.SearchResponse](n, gm, &travelv1.SearchRequest{Name: trek}).GetJourney()
}

// What hunger does is the campaign's choice (DDW-STARVE-01, -05, -06), made before the journey begins.
func TestHungerIsTheCampaignsChoice(t *testing.T) {
	t.Parallel()
	ada := func(j *travelv1.Journey) *travelv1.Member { return j.GetMembers()[0] }
	for name, tc := range map[string]struct {
		set    map[string]any
		params map[string]any // the journey's own
		check  func(t *testing.T, before, after *travelv1.Member)
	}{
		"by default every round costs a point": {nil, nil, func(t *testing.T, before, after *travelv1.Member) {
			t.Helper()
			if after.GetHp() != before.GetHp()-1 || after.GetFatigue() != before.GetFatigue() {
				t.Errorf("%v after %v", after, before)
			}
		}},
		"damage of two": {map[string]any{"starve.damage": 2}, nil, func(t *testing.T, before, after *travelv1.Member) {
			t.Helper()
			if after.GetHp() != before.GetHp()-2 {
				t.Errorf("%v after %v", after, before)
			}
		}},
		"deprived, and tired after a day": {map[string]any{"starve.variant": "deprived", "starve.rounds_per_day": 1}, nil, func(t *testing.T, before, after *travelv1.Member) {
			t.Helper()
			if after.GetHp() != before.GetHp() || after.GetFatigue() != before.GetFatigue()+1 {
				t.Errorf("%v after %v", after, before)
			}
		}},
		"drained by a die": {map[string]any{"starve.variant": "drain"}, nil, func(t *testing.T, before, after *travelv1.Member) {
			t.Helper()
			if lost := before.GetHp() + before.GetStr() - after.GetHp() - after.GetStr(); lost < 1 || after.GetFatigue() != before.GetFatigue() {
				t.Errorf("%v after %v", after, before)
			}
		}},
		"the journey's own word counts more": {map[string]any{"starve.variant": "drain", "starve.damage": 3}, map[string]any{"starve.variant": "damage"}, func(t *testing.T, before, after *travelv1.Member) {
			t.Helper()
			if after.GetHp() != before.GetHp()-3 {
				t.Errorf("%v after %v", after, before)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, rules := hungry()
			n := w.node(t, ruledBy(rules))
			n.importPlain()
			rules.override(tc.set)
			req := startTrek()
			if tc.params != nil {
				params, err := structpb.NewStruct(tc.params)
				if err != nil {
					t.Fatal(err)
				}
				req.Params = params
			}
			begun := do[*travelv1.StartJourneyResponse](n, gm, req)
			// What is overridden now is for other journeys.
			rules.override(map[string]any{"starve.damage": 0, "starve.variant": "damage"})
			tc.check(t, ada(begun.GetJourney()), ada(n.searched()))
		})
	}
}

// A journey keeps the numbers that it began with, in every process; the next one has those of its own time.
func TestAJourneyKeepsItsRuleset(t *testing.T) {
	t.Parallel()
	w, rules := hungry()
	n := w.node(t, ruledBy(rules))
	n.importPlain()
	rules.override(map[string]any{"starve.damage": 2})
	started := func(events []*travelv1.JourneyEvent) *travelv1.JourneyStarted {
		t.Helper()
		for _, e := range events {
			if s := e.GetStarted(); s != nil {
				return s
			}
		}
		t.Fatal("the journey has not started")
		return nil
	}
	damage := func(s *travelv1.JourneyStarted) float64 {
		return s.GetRuleset().GetFields()["params"].GetStructValue().GetFields()["starve.damage"].GetStructValue().GetFields()["value"].GetNumberValue()
	}
	req := startTrek()
	first := started(do[*travelv1.StartJourneyResponse](n, adas, req).GetEvents())
	rules.override(map[string]any{"starve.damage": 3})
	if damage(first) != 2 || first.GetCampaignSeq() != 1 {
		t.Errorf("damage %v of campaign record %d", damage(first), first.GetCampaignSeq())
	}
	other := w.node(t, ruledBy(rules))
	before := other.journey(gm).GetMembers()[0]
	if after := other.searched().GetMembers()[0]; after.GetHp() != before.GetHp()-2 {
		t.Errorf("hp %d after %d", after.GetHp(), before.GetHp())
	}
	do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	again := startTrek()
	again.JourneyId, again.RequestId = "second", "second"
	if s := started(do[*travelv1.StartJourneyResponse](n, adas, again).GetEvents()); damage(s) != 3 || s.GetCampaignSeq() != 2 {
		t.Errorf("the next: damage %v of campaign record %d", damage(s), s.GetCampaignSeq())
	}
}

func TestARulesetThatCannotBeHad(t *testing.T) {
	t.Parallel()
	t.Run("refuses a start before anything is borrowed", func(t *testing.T) {
		t.Parallel()
		w, rules := hungry()
		n := w.node(t, ruledBy(rules))
		n.importPlain()
		rules.fail = fault.New(fault.FailedPrecondition, "INVALID_RULESET", "starve.damage has to be mended")
		_, err := n.call(adas, startTrek())
		refusal{codes.FailedPrecondition, "INVALID_RULESET", ""}.check(t, err)
		if len(w.party.held) > 0 {
			t.Errorf("borrowed: %v", w.party.held)
		}
	})
	t.Run("fails a start that may be tried again", func(t *testing.T) {
		t.Parallel()
		w, rules := hungry()
		n := w.node(t, ruledBy(rules))
		n.importPlain()
		rules.fail = errDown
		_, err := n.call(adas, startTrek())
		refusal{codes.Unavailable, "DOWN", ""}.check(t, err)
		rules.fail = nil
		do[*travelv1.StartJourneyResponse](n, adas, startTrek())
	})
}
