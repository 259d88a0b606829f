package party_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// overrideOf is a request that sets parameters and clears others.
func overrideOf(campaign, system string, set map[string]any, clear ...string) *partyv1.OverrideRulesetRequest {
	values, err := structpb.NewStruct(set)
	if err != nil {
		panic(err)
	}
	return &partyv1.OverrideRulesetRequest{Name: campaign + "/rulesets/" + system, Set: values, Clear: clear}
}

// override sets parameters in the name of the GM.
func (w *world) override(system string, set map[string]any, clear ...string) *partyv1.Ruleset {
	w.t.Helper()
	return do[*partyv1.OverrideRulesetResponse](w, gm, overrideOf(camp, system, set, clear...)).GetRuleset()
}

func (w *world) ruleset(system string) *partyv1.Ruleset {
	w.t.Helper()
	return do[*partyv1.GetRulesetResponse](w, spectator, &partyv1.GetRulesetRequest{Name: camp + "/rulesets/" + system}).GetRuleset()
}

func parameter(t *testing.T, rs *partyv1.Ruleset, name string) *partyv1.RulesetParameter {
	t.Helper()
	for _, p := range rs.GetParameters() {
		if p.GetName() == name {
			return p
		}
	}
	t.Fatalf("%s has no parameter %s", rs.GetName(), name)
	return nil
}

func value(t *testing.T, v any) *structpb.Value {
	t.Helper()
	out, err := structpb.NewValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRulesets(t *testing.T) {
	t.Parallel()
	same := func(t *testing.T, what string, got, want proto.Message) {
		t.Helper()
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	t.Run("a new campaign plays by the shipped rules, and every parameter says so", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		for _, system := range ruleset.Systems() {
			rs := w.ruleset(system)
			if got, want := len(rs.GetParameters()), len(ruleset.Parameters(system)); got != want || want == 0 {
				t.Errorf("%s has %d parameters, want %d", system, got, want)
			}
			for _, p := range rs.GetParameters() {
				same(t, system+" "+p.GetName(), p.GetValue(), p.GetDefaultValue())
				if p.GetOverride() != nil || p.GetNote() == "" {
					t.Errorf("%s %s: override %v, note %q", system, p.GetName(), p.GetOverride(), p.GetNote())
				}
			}
		}
		same(t, "cp_per_dp", parameter(t, w.ruleset("digger"), "dp.cp_per_dp"), &partyv1.RulesetParameter{
			Name: "dp.cp_per_dp", Kind: partyv1.RulesetParameter_KIND_INTEGER, Value: value(t, 5), DefaultValue: value(t, 5),
			Min: proto.Float64(1), Max: proto.Float64(10_000), Note: "character points that make one dungeon point", Rules: []string{"DIG-DP-01"},
		})
	})
	t.Run("an override is told with its record and who made it, also at what lies within a table", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		rs := w.override("digger", map[string]any{"dp.cp_per_dp": 4, "challenge.tn": map[string]any{"1": 8, "2": 10, "3": 12, "4": 14}})
		from := func(name string) *partyv1.RulesetOverride {
			return &partyv1.RulesetOverride{Seq: rs.GetSeq(), Actor: gm, Parameter: name}
		}
		same(t, "cp_per_dp", parameter(t, rs, "dp.cp_per_dp").GetOverride(), from("dp.cp_per_dp"))
		same(t, "dp.cp_per_dp", parameter(t, rs, "dp.cp_per_dp").GetValue(), value(t, 4))
		same(t, "challenge.tn.3", parameter(t, rs, "challenge.tn.3").GetOverride(), from("challenge.tn"))
		same(t, "challenge.tn.3", parameter(t, rs, "challenge.tn.3").GetValue(), value(t, 12))
		if o := parameter(t, rs, "dp.cp_at_creation").GetOverride(); o != nil {
			t.Errorf("what nobody named is overridden: %v", o)
		}
		same(t, "the document", rs.GetDocument().GetFields()["dp"].GetStructValue().GetFields()["cp_per_dp"], value(t, 4))
		same(t, "what is read later", w.ruleset("digger"), rs)

		later := w.override("digger", map[string]any{"challenge.tn.3": 20}, "dp.cp_per_dp")
		same(t, "an entry", parameter(t, later, "challenge.tn.3").GetOverride(), &partyv1.RulesetOverride{Seq: later.GetSeq(), Actor: gm, Parameter: "challenge.tn.3"})
		same(t, "its table", parameter(t, later, "challenge.tn").GetValue(), value(t, map[string]any{"1": 8, "2": 10, "3": 20, "4": 14}))
		same(t, "what was cleared", parameter(t, later, "dp.cp_per_dp"), parameter(t, newWorld(t).begin().ruleset("digger"), "dp.cp_per_dp"))
		table := w.override("digger", map[string]any{"challenge.tn": map[string]any{"1": 1, "2": 2, "3": 3, "4": 4}})
		same(t, "a table that is set after an entry of it", parameter(t, table, "challenge.tn.3").GetValue(), value(t, 3))

		list := do[*partyv1.ListRulesetsResponse](w, spectator, &partyv1.ListRulesetsRequest{Parent: camp})
		if len(list.GetRulesets()) != len(ruleset.Systems()) {
			t.Fatalf("%d rulesets", len(list.GetRulesets()))
		}
		for _, rs := range list.GetRulesets() {
			var names []string
			for _, p := range rs.GetParameters() {
				names = append(names, p.GetName())
			}
			var want []string
			if rs.GetName() == camp+"/rulesets/digger" {
				want = []string{"challenge.tn"}
			}
			if diff := cmp.Diff(want, names); diff != "" || rs.GetDocument() != nil {
				t.Errorf("%s: %s", rs.GetName(), diff)
			}
		}
	})
	t.Run("another replica and another campaign", func(t *testing.T) {
		t.Parallel()
		store := memory.New()
		w := newWorldOn(t, store).begin()
		rs := w.override("die-drop", map[string]any{"starve.variant": "drain"})
		again := newWorldOn(t, store)
		same(t, "on another replica", again.ruleset("die-drop"), rs)
		theirs := do[*partyv1.GetRulesetResponse](again, stranger, &partyv1.GetRulesetRequest{Name: other + "/rulesets/die-drop"}).GetRuleset()
		same(t, "in another campaign", parameter(t, theirs, "starve.variant").GetValue(), value(t, "damage"))
	})
	t.Run("a service gets the document that the rules read", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		digs := w.override("digger", map[string]any{"party.max": 4})
		w.override("die-drop", map[string]any{"starve.variant": "deprived", "search.success_min": 4})
		ask := func(system string) *partyv1.GetEffectiveRulesetResponse {
			return do[*partyv1.GetEffectiveRulesetResponse](w, service, &partyv1.GetEffectiveRulesetRequest{Campaign: camp, System: system})
		}
		rules, err := digger.ParseRuleset(ask("digger").GetDocument())
		if err != nil || rules.Party.Max != 4 || ask("digger").GetCampaignSeq() != digs.GetSeq()+1 {
			t.Errorf("%v %+v", err, ask("digger").GetCampaignSeq())
		}
		travel, err := diedrop.Parse(ask("die-drop").GetDocument())
		if err != nil || *travel.Params["starve.variant"].Value != "deprived" {
			t.Errorf("%v %+v", err, travel.Params["starve.variant"])
		}
		for _, req := range []*partyv1.GetEffectiveRulesetRequest{{Campaign: camp, System: "chess"}, {Campaign: "campaigns/none", System: "digger"}} {
			_, err := w.call(service, req)
			refusal{code: codes.NotFound, reason: "NOT_FOUND"}.check(t, err)
		}
	})
}

func TestOverridesAreRefused(t *testing.T) {
	t.Parallel()
	invalid := func(reason, field string) refusal {
		return refusal{code: codes.InvalidArgument, reason: reason, field: field}
	}
	digs := func(set map[string]any, clear ...string) *partyv1.OverrideRulesetRequest {
		return overrideOf(camp, "digger", set, clear...)
	}
	travels := func(set map[string]any) *partyv1.OverrideRulesetRequest { return overrideOf(camp, "die-drop", set) }
	many := map[string]any{}
	for _, p := range ruleset.Parameters("digger")[:201] {
		many[p.Name] = p.Default
	}
	// One world serves all: none of these changes anything.
	w := newWorld(t).begin()
	before, rules := w.seqs(), w.ruleset("digger")
	for name, tc := range map[string]struct {
		who  string
		req  *partyv1.OverrideRulesetRequest
		want refusal
	}{
		"an unknown name":                     {gm, digs(map[string]any{"dp.gold": 1}), invalid("UNKNOWN_PARAMETER", `set["dp.gold"]`)},
		"a name of another system":            {gm, travels(map[string]any{"dp.cp_per_dp": 4}), invalid("UNKNOWN_PARAMETER", `set["dp.cp_per_dp"]`)},
		"a group of parameters":               {gm, digs(map[string]any{"dp": map[string]any{}}), invalid("UNKNOWN_PARAMETER", `set["dp"]`)},
		"a good one beside an unknown one":    {gm, digs(map[string]any{"party.max": 4, "party.min": 2}), invalid("UNKNOWN_PARAMETER", `set["party.min"]`)},
		"an unknown one to clear":             {gm, digs(nil, "party.max", "party.min"), invalid("UNKNOWN_PARAMETER", "clear[1]")},
		"a text for a number":                 {gm, digs(map[string]any{"party.max": "4"}), invalid("WRONG_TYPE", `set["party.max"]`)},
		"a fraction for a whole number":       {gm, digs(map[string]any{"party.max": 4.5}), invalid("WRONG_TYPE", `set["party.max"]`)},
		"null for a number":                   {gm, digs(map[string]any{"party.max": nil}), invalid("WRONG_TYPE", `set["party.max"]`)},
		"a number for a switch":               {gm, digs(map[string]any{"flow.enter_requires_leader": 1}), invalid("WRONG_TYPE", `set["flow.enter_requires_leader"]`)},
		"a number for a word":                 {gm, digs(map[string]any{"conditions_stacking": 1}), invalid("WRONG_TYPE", `set["conditions_stacking"]`)},
		"a number for a table":                {gm, digs(map[string]any{"challenge.tn": 9}), invalid("WRONG_TYPE", `set["challenge.tn"]`)},
		"a text in a table of numbers":        {gm, digs(map[string]any{"challenge.tn": map[string]any{"1": 9, "2": "11", "3": 13, "4": 15}}), invalid("WRONG_TYPE", `set["challenge.tn"]`)},
		"a text in a list of numbers":         {gm, digs(map[string]any{"party.preferred": []any{3, "4"}}), invalid("WRONG_TYPE", `set["party.preferred"]`)},
		"a number that is too small":          {gm, digs(map[string]any{"dp.cp_per_dp": 0}), invalid("OUT_OF_RANGE", `set["dp.cp_per_dp"]`)},
		"a number that is too great":          {gm, digs(map[string]any{"challenge.die": 101}), invalid("OUT_OF_RANGE", `set["challenge.die"]`)},
		"a number in a table too small":       {gm, digs(map[string]any{"exploration.failure": map[string]any{"1": -1, "2": 1, "3": 1, "4": 1}}), invalid("OUT_OF_RANGE", `set["exploration.failure"]`)},
		"a word that is no option":            {gm, digs(map[string]any{"conditions_stacking": "pile"}), invalid("OUT_OF_RANGE", `set["conditions_stacking"]`)},
		"a word that is no option, elsewhere": {gm, travels(map[string]any{"starve.variant": "feast"}), invalid("OUT_OF_RANGE", `set["starve.variant"]`)},
		"a number outside of a range":         {gm, travels(map[string]any{"use.step_down_max": 4}), invalid("OUT_OF_RANGE", `set["use.step_down_max"]`)},
		"a number that is no option":          {gm, travels(map[string]any{"starve.drain_die": 8}), invalid("OUT_OF_RANGE", `set["starve.drain_die"]`)},
		"a table without a level":             {gm, digs(map[string]any{"challenge.tn": map[string]any{"1": 9}}), invalid("INVALID_RULESET", `set["challenge.tn"]`)},
		"values that do not go together":      {gm, digs(map[string]any{"party.min_to_enter": 8}), invalid("INVALID_RULESET", `set["party.min_to_enter"]`)},
		"a condition that is none":            {gm, digs(map[string]any{"conditions.weaken": map[string]any{"class": "cruel"}}), invalid("INVALID_RULESET", `set["conditions.weaken"]`)},
		"a number that is none":               {gm, digs(map[string]any{"party.max": math.NaN()}), invalid("INVALID", "")},
		"a number without end in a table":     {gm, digs(map[string]any{"challenge.tn": map[string]any{"1": math.Inf(1), "2": 1, "3": 1, "4": 1}}), invalid("INVALID", "")},
		"a value that never ends":             {gm, digs(map[string]any{"conditions.weaken.phases": make([]any, 10_000)}), invalid("OUT_OF_RANGE", `set["conditions.weaken.phases"]`)},
		"nothing":                             {gm, digs(nil), invalid("INVALID", "set")},
		"too much at once":                    {gm, digs(many), invalid("INVALID", "set")},
		"set and cleared":                     {gm, digs(map[string]any{"party.max": 4}, "party.max"), invalid("INVALID", "clear[0]")},
		"a system that there is not":          {gm, overrideOf(camp, "chess", map[string]any{"party.max": 4}), refusal{code: codes.NotFound, reason: "NOT_FOUND", field: "name"}},
		"an old etag": {gm, func() *partyv1.OverrideRulesetRequest {
			req := digs(map[string]any{"party.max": 4})
			req.Etag = "1-00000000"
			return req
		}(), refusal{code: codes.Aborted, reason: "ETAG_MISMATCH"}},
		"by a player": {adas, digs(map[string]any{"party.max": 4}), refusal{code: codes.PermissionDenied, reason: "NOT_GM"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.call(tc.who, tc.req)
			tc.want.check(t, err)
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("the journal has changed:\n%s", diff)
			}
			if diff := cmp.Diff(rules, w.ruleset("digger"), protocmp.Transform()); diff != "" {
				t.Errorf("the ruleset has changed:\n%s", diff)
			}
		})
	}
	t.Run("what is cleared may not go with what stays", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		w.override("digger", map[string]any{"party.max": 12, "party.min_to_enter": 9})
		_, err := w.call(gm, digs(nil, "party.max"))
		invalid("INVALID_RULESET", "set").check(t, err)
		w.override("digger", nil, "party.max", "party.min_to_enter")
	})
	t.Run("a repeated request gets its first answer, another one under its id none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		req := digs(map[string]any{"party.max": 4})
		req.RequestId = "once"
		first := do[*partyv1.OverrideRulesetResponse](w, gm, req)
		w.override("digger", map[string]any{"party.max": 5})
		if diff := cmp.Diff(first, do[*partyv1.OverrideRulesetResponse](w, gm, req), protocmp.Transform()); diff != "" {
			t.Errorf("the second answer is another:\n%s", diff)
		}
		req.Set.Fields["party.max"] = structpb.NewNumberValue(6)
		_, err := w.call(gm, req)
		refusal{code: codes.InvalidArgument, reason: "REQUEST_ID_REUSED"}.check(t, err)
	})
}

// Overrides hold for every later command to a character or party, and take nothing away.
func TestOverridesCount(t *testing.T) {
	t.Parallel()
	t.Run("for dungeon points, prices and ratings", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		before := do[*partyv1.SetAbilitiesResponse](w, adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(4, 4, 4, 4), RequestId: "early"})
		if got := before.GetCharacter().GetDp(); got != 48 {
			t.Fatalf("%d DP", got)
		}
		w.override("digger", map[string]any{"dp.cp_per_dp": 8, "tools.price_dp": 1, "belt.start_slots": 4})
		now := do[*partyv1.GetCharacterResponse](w, adas, &partyv1.GetCharacterRequest{Name: ada}).GetCharacter()
		if b := now.GetForms()[0].GetStatblock(); now.GetDp() != 30 || b.GetDpFree() != -10 || now.GetBeltSlots() != 6 || b.GetAbilities().GetBrute() != 4 {
			t.Errorf("DP %d, free %d, slots %d, ratings %v", now.GetDp(), b.GetDpFree(), now.GetBeltSlots(), b.GetAbilities())
		}
		_, err := w.call(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("x", "wits", "minor", "")}})
		refusal{code: codes.InvalidArgument, reason: "OVER_SPENT", field: "tools"}.check(t, err)
		w.override("digger", nil, "dp.cp_per_dp")
		bought := w.doCharacter(adas, &partyv1.BuyToolsRequest{Name: ada, Tools: []*partyv1.Tool{tool("x", "wits", "minor", "")}})
		if got := bought.GetForms()[0].GetStatblock().GetDpFree(); got != 7 {
			t.Errorf("%d DP are free, want 7", got)
		}
		again := do[*partyv1.SetAbilitiesResponse](w, adas, &partyv1.SetAbilitiesRequest{Name: ada, Abilities: abilities(4, 4, 4, 4), RequestId: "early"})
		if diff := cmp.Diff(before, again, protocmp.Transform()); diff != "" {
			t.Errorf("a repetition shows the rules of its time (-first +again):\n%s", diff)
		}
	})
	t.Run("for the points of new characters", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		w.override("digger", map[string]any{"dp.cp_at_creation": 100})
		if got := w.doCharacter(brams, &partyv1.CreateCharacterRequest{Parent: camp, Title: "New"}); got.GetCp() != 100 || got.GetDp() != 20 {
			t.Errorf("%d CP, %d DP", got.GetCp(), got.GetDp())
		}
	})
	t.Run("for the food of a company, whose records say by which campaign record", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		made := w.doCompany(gm, &partyv1.CreateCompanyRequest{
			Parent: camp, CompanyId: "band", Title: "The Band", Travelers: []*partyv1.Traveler{{Character: ada}}, Pack: &partyv1.Pack{Food: []int32{8, 6}},
		})
		rs := w.override("die-drop", map[string]any{"food.max_dice": 1})
		full := &partyv1.SetPackRequest{Name: made.GetName(), Pack: &partyv1.Pack{Food: []int32{8, 6}}}
		_, err := w.call(gm, full)
		refusal{code: codes.InvalidArgument, reason: "INVALID", field: "pack.food"}.check(t, err)
		_, err = w.call(gm, &partyv1.CreateCompanyRequest{Parent: camp, Title: "Others", Travelers: []*partyv1.Traveler{{Character: bram}}, Pack: &partyv1.Pack{Food: []int32{8, 6}}})
		refusal{code: codes.InvalidArgument, reason: "INVALID", field: "pack.food"}.check(t, err)
		if got := do[*partyv1.GetCompanyResponse](w, adas, &partyv1.GetCompanyRequest{Name: made.GetName()}).GetCompany(); len(got.GetPack().GetFood()) != 2 {
			t.Errorf("what the company has is %v now", got.GetPack())
		}
		w.doCompany(adas, &partyv1.AddTravelerRequest{Name: made.GetName(), Traveler: &partyv1.Traveler{Label: "porter"}})
		recs, err := w.store.Read(t.Context(), made.GetName(), 0, 10)
		if err != nil || len(recs) != 2 {
			t.Fatalf("%d records, %v", len(recs), err)
		}
		if recs[0].Note == recs[1].Note || recs[1].Note != adapter.CampaignNote(int(rs.GetSeq())) {
			t.Errorf("notes %q and %q, want the second for campaign record %d", recs[0].Note, recs[1].Note, rs.GetSeq())
		}
		w.override("die-drop", map[string]any{"food.max_dice": 3})
		full.Pack.Food, full.RequestId = []int32{8, 6, 4}, ""
		w.doCompany(gm, full)
	})
	t.Run("for the size of a party", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t).begin()
		w.doParty(adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: ada})
		w.doParty(brams, &partyv1.JoinPartyRequest{Name: camp + "/parties/team", Character: bram})
		w.override("digger", map[string]any{"party.max": 2})
		_, err := w.call(cleos, &partyv1.JoinPartyRequest{Name: camp + "/parties/team", Character: cleo})
		refusal{code: codes.FailedPrecondition, reason: "PARTY_FULL"}.check(t, err)
		w.override("digger", map[string]any{"party.max": 3, "party.min_to_enter": 3})
		_, err = w.call(service, take(camp+"/parties/team", roster, run1))
		refusal{code: codes.FailedPrecondition, reason: "TOO_FEW_MEMBERS"}.check(t, err)
		w.doParty(cleos, &partyv1.JoinPartyRequest{Name: camp + "/parties/team", Character: cleo})
		if _, err = w.call(service, take(camp+"/parties/team", roster, run1)); err != nil {
			t.Error(err)
		}
	})
}
