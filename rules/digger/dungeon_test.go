package digger

import (
	"strings"
	"testing"
)

func codes(list []Violation) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Field+" "+v.Code)
	}
	return out
}

func TestDungeonRules(t *testing.T) {
	t.Parallel()
	rs := Default()
	with := func(change func(d *Dungeon)) []string {
		d := deck(card(Entry, "brute", 1), card(Normal, "wits", 2), card(Final, "combat", 3))
		change(d)
		return codes(Check(rs, d))
	}
	for name, tc := range map[string]struct{ got, want []string }{
		"a playable deck": {with(func(*Dungeon) {}), nil},
		"DIG-OVER-02 an arena of 13 cards": {with(func(d *Dungeon) {
			*d = *deck(card(Entry, "brute", 1), card(Normal, "wits", 2), card(Normal, "wits", 2), card(Normal, "wits", 2), card(Normal, "wits", 2),
				card(Normal, "wits", 2), card(Normal, "wits", 2), card(Normal, "wits", 2), card(Second, "brute", 1), card(Third, "brute", 1),
				card(Third, "brute", 1), card(Climax, "brute", 1), card(Final, "brute", 1))
			d.Summary = "arena"
		}), nil},
		"DIG-DECK-01 kind boss":           {with(func(d *Dungeon) { d.Cards[1].Kind = "boss" }), []string{"cards MISSING_NORMAL", "cards[1].kind UNKNOWN_KIND"}},
		"DIG-DECK-02 no final":            {with(func(d *Dungeon) { d.Cards = d.Cards[:2] }), []string{"cards MISSING_FINAL"}},
		"DIG-DECK-02 no cards":            {with(func(d *Dungeon) { d.Cards = nil }), []string{"cards MISSING_ENTRY", "cards MISSING_NORMAL", "cards MISSING_FINAL"}},
		"DIG-CARD-01 level 5":             {with(func(d *Dungeon) { d.Cards[0].Level = 5 }), []string{"cards[0].level LEVEL_OUT_OF_RANGE"}},
		"DIG-CARD-01 level 0":             {with(func(d *Dungeon) { d.Cards[0].Level = 0 }), []string{"cards[0].level LEVEL_OUT_OF_RANGE"}},
		"DIG-CARD-01 no condition":        {with(func(d *Dungeon) { d.Cards[0].Conditions = nil }), []string{"cards[0].conditions NO_CONDITIONS"}},
		"DIG-CARD-01 no text":             {with(func(d *Dungeon) { d.Cards[2].Text = "" }), []string{"cards[2].text TEXT_MISSING"}},
		"DIG-TYPE-05 a ruin with level 4": {with(func(d *Dungeon) { d.Cards[1].Level = 4 }), nil},
		"everything at once": {with(func(d *Dungeon) {
			d.ID, d.Name, d.Type = "No Good", "", "castle"
			d.Number = -1
			d.TNBonus = TNBonus{Climax: 1000, Final: -1000}
			d.Cards[0].ID, d.Cards[1].ID = "Bad", d.Cards[2].ID
			d.Cards[0].Ability = "luck"
			d.Cards[2].Conditions = []string{"suffer", "hunger"}
		}), []string{
			"id BAD_ID", "number BAD_NUMBER", "name NAME_MISSING", "type UNKNOWN_TYPE", "tn_bonus.climax BONUS_OUT_OF_RANGE",
			"tn_bonus.final BONUS_OUT_OF_RANGE", "cards[0].id BAD_ID", "cards[0].ability UNKNOWN_ABILITY", "cards[2].id DUPLICATE_ID",
			"cards[2].conditions[1] UNKNOWN_CONDITION",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			equal(t, "violations", tc.got, tc.want)
		})
	}

	t.Run("DIG-TYPE-05 the lint warns", func(t *testing.T) {
		t.Parallel()
		d := deck(card(Entry, "brute", 1), card(Normal, "wits", 4), card(Climax, "wits", 2))
		equal(t, "warnings", codes(Lint(rs, d)), []string{"cards[1].level LEVEL_NOT_IN_PROFILE", "cards[2].kind CLIMAX_NOT_IN_PROFILE"})
		d.Type = "abyss"
		d.Cards[1].Level = 3
		equal(t, "warnings", codes(Lint(rs, d)), []string{"cards[3].conditions FEW_ADVANCED"})
	})
	t.Run("DIG-TYPE-04 advanced conditions of the shipped dungeons", func(t *testing.T) {
		t.Parallel()
		ruin, labyrinth, abyss := ShippedDungeons()[0], ShippedDungeons()[1], ShippedDungeons()[2]
		equal(t, "ruin", Advanced(rs, &ruin), 0)
		equal(t, "abyss", []int{Advanced(rs, &abyss), len(abyss.Cards)}, []int{8, 16})
		for _, c := range labyrinth.Cards {
			if c.Kind == Final && !strings.Contains(strings.Join(c.Conditions, " "), "maim") {
				t.Errorf("final %s: %v", c.ID, c.Conditions)
			}
		}
		tally := simulate(t, rs, &labyrinth, Sensible, 4, 400)
		if reached := tally.Won; tally.Advanced < reached {
			t.Errorf("%d runs met an advanced condition, %d won", tally.Advanced, reached)
		}
	})
	t.Run("shipped dungeons are sound and fit their profiles", func(t *testing.T) {
		t.Parallel()
		for _, d := range ShippedDungeons() {
			equal(t, d.ID, codes(Check(rs, &d)), nil)
			equal(t, d.ID, codes(Lint(rs, &d)), nil)
		}
	})
	t.Run("DIG-CMD-01 the list", func(t *testing.T) {
		t.Parallel()
		var numbers []int
		for _, line := range ListDungeons(ShippedDungeons()) {
			numbers = append(numbers, line.Number)
			if line.Name == "" || line.Type == "" {
				t.Errorf("%+v", line)
			}
		}
		equal(t, "numbers", numbers, []int{1, 2, 3})
		lines := ListDungeons([]Dungeon{{ID: "a"}, {ID: "b", Number: 1}, {ID: "c", Number: 1}})
		equal(t, "unnumbered", []string{lines[0].ID, lines[1].ID, lines[2].ID}, []string{"b", "a", "c"})
	})
}

func TestRulesetDocuments(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ old, new, want string }{
		"the shipped one":                {"", "", ""},
		"an unknown word":                {`"duplicate_users": "union"`, `"duplicate_users": "all"`, "effects.duplicate_users: \"all\" is none of"},
		"another unknown word":           {`"conditions_stacking": "stack"`, `"conditions_stacking": "pile"`, "conditions_stacking:"},
		"an unknown rule":                {`"duplicate_rule": "restart_keep_due"`, `"duplicate_rule": "sum"`, "effects.duplicate_rule:"},
		"an unknown reading":             {`"shortsighted_ability": "next_challenge"`, `"shortsighted_ability": "any"`, "effects.shortsighted_ability:"},
		"an unknown key":                 {`"final_at": 70`, `"final_at": 70, "start_at": 1`, "exploration.start_at: is unknown"},
		"a key in the wrong case":        {`"final_at": 70`, `"Final_At": 70`, "exploration.Final_At: is unknown"},
		"a missing key":                  {`"out_at": 100,`, ``, "exhaustion.out_at: is missing"},
		"a fraction":                     {`"final_at": 70`, `"final_at": 70.5`, "exploration.final_at: has to be a whole number"},
		"a number that could overflow":   {`"final_at": 70`, `"final_at": 9000000000`, "exploration.final_at:"},
		"a text for a number":            {`"die": 10`, `"die": "d10"`, "challenge.die:"},
		"a die without sides":            {`"die": 10`, `"die": 0`, "challenge.die:"},
		"an unknown phase field":         {`"gain_minimum": 10`, `"gain_maximum": 10`, "conditions.suffer.phases[0].gain_maximum: is unknown"},
		"a condition that is an effect":  {`"gain_minimum": 10`, `"relevant": 10`, "conditions.suffer.phases[0].relevant: is unknown"},
		"a second document":              {`"ruleset": "digger-default"`, `"ruleset": "digger-default"`, "more than one document"},
		"a quality for no rating":        {`"only_rating": "minor"`, `"only_rating": "tiny"`, "tools.qualities.cleanse.only_rating:"},
		"exhaustion that would decrease": {`"gain_floor": 0`, `"gain_floor": -5`, "exhaustion.gain_floor:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := string(DefaultDocument())
			if !strings.Contains(document, tc.old) {
				t.Fatalf("%s is not in the document", tc.old)
			}
			document = strings.Replace(document, tc.old, tc.new, 1)
			if tc.want == "more than one document" {
				document += "{}"
			}
			_, err := ParseRuleset([]byte(document))
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
