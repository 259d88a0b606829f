package digger

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"
)

//go:embed dungeons.json
var shippedDungeons []byte

// The kinds of card (DIG-DECK-01).
const (
	Entry  = "entry"
	Normal = "normal"
	Second = "second"
	Third  = "third"
	Climax = "climax"
	Final  = "final"
)

var kinds = []string{Entry, Normal, Second, Third, Climax, Final}

// kind is the place of a kind of card in kinds.
type kind int

const (
	entryCard kind = iota
	normalCard
	secondCard
	thirdCard
	climaxCard
	finalCard
	noKind
)

func kindOf(name string) kind {
	if i := slices.Index(kinds, name); i >= 0 {
		return kind(i)
	}
	return noKind
}

func (k kind) String() string {
	if k < noKind {
		return kinds[k]
	}
	return ""
}

// Dungeon is a deck of challenges. It is not changed once made; share it freely.
type Dungeon struct {
	ID     string `json:"id"`
	Number int    `json:"number,omitempty"`
	Name   string `json:"name"`
	// Type is a name of the ruleset's type profiles: ruin, labyrinth, abyss.
	Type    string  `json:"type"`
	TNBonus TNBonus `json:"tn_bonus"`
	Summary string  `json:"summary,omitempty"`
	Cards   []Card  `json:"cards"`
}

// TNBonus is the dungeon's own addition to target numbers (DIG-RES-03).
type TNBonus struct {
	Climax int `json:"climax"`
	Final  int `json:"final"`
}

// Card is one challenge (DIG-CARD-01).
type Card struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Ability    string   `json:"ability"`
	Level      int      `json:"level"`
	Conditions []string `json:"conditions"`
	Title      string   `json:"title,omitempty"`
	Text       string   `json:"text"`
}

// ShippedDungeons returns the dungeons that come with the system.
var ShippedDungeons = sync.OnceValue(func() []Dungeon {
	var file struct {
		Dungeons []Dungeon `json:"dungeons"`
	}
	dec := json.NewDecoder(bytes.NewReader(shippedDungeons))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		panic(fmt.Sprintf("digger: shipped dungeons: %v", err))
	}
	return file.Dungeons
})

// ShippedDungeonsDocument returns the shipped dungeons as JSON.
func ShippedDungeonsDocument() []byte { return bytes.Clone(shippedDungeons) }

// Violation is one thing wrong with a definition.
type Violation struct {
	// Field is the path, for example "cards[3].level".
	Field string
	// Code names the fault in upper case.
	Code    string
	Message string
}

var goodID = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

// Limits of a definition.
const (
	MaxCards = 500
	maxBonus = 100
	maxText  = 2000
)

// Check returns everything that is wrong with a dungeon, in the order of the document; nothing for one that can be played.
func Check(rs *Ruleset, d *Dungeon) []Violation {
	var found []Violation
	bad := func(code, message, field string, args ...any) {
		found = append(found, Violation{Field: fmt.Sprintf(field, args...), Code: code, Message: message})
	}
	if !goodID.MatchString(d.ID) {
		bad("BAD_ID", fmt.Sprintf("%q is no id of 1 to 63 of a-z, 0-9 and -", d.ID), "id")
	}
	if d.Number < 0 {
		bad("BAD_NUMBER", "a number is 1 or more", "number")
	}
	if n := utf8.RuneCountInString(d.Name); n < 1 || n > 200 {
		bad("NAME_MISSING", "a dungeon needs a name of 1 to 200 characters", "name")
	}
	if _, ok := rs.TypeProfiles[d.Type]; !ok {
		bad("UNKNOWN_TYPE", fmt.Sprintf("there is no dungeon type %q", d.Type), "type")
	}
	for field, bonus := range byName(map[string]int{"tn_bonus.climax": d.TNBonus.Climax, "tn_bonus.final": d.TNBonus.Final}) {
		if bonus < -maxBonus || bonus > maxBonus {
			bad("BONUS_OUT_OF_RANGE", fmt.Sprintf("a bonus is -%d to %d", maxBonus, maxBonus), "%s", field)
		}
	}
	if utf8.RuneCountInString(d.Summary) > maxText {
		bad("TEXT_TOO_LONG", fmt.Sprintf("at most %d characters", maxText), "summary")
	}
	if len(d.Cards) > MaxCards {
		bad("TOO_MANY_CARDS", fmt.Sprintf("a deck has at most %d cards", MaxCards), "cards")
		return found
	}
	for _, kind := range []string{Entry, Normal, Final} {
		if !slices.ContainsFunc(d.Cards, func(c Card) bool { return c.Kind == kind }) {
			bad("MISSING_"+map[string]string{Entry: "ENTRY", Normal: "NORMAL", Final: "FINAL"}[kind],
				fmt.Sprintf("a deck needs at least one %s card", kind), "cards")
		}
	}
	seen := map[string]bool{}
	for i, c := range d.Cards {
		switch {
		case !goodID.MatchString(c.ID):
			bad("BAD_ID", fmt.Sprintf("%q is no id of 1 to 63 of a-z, 0-9 and -", c.ID), "cards[%d].id", i)
		case seen[c.ID]:
			bad("DUPLICATE_ID", fmt.Sprintf("%q is there already", c.ID), "cards[%d].id", i)
		}
		seen[c.ID] = true
		if !slices.Contains(kinds, c.Kind) {
			bad("UNKNOWN_KIND", fmt.Sprintf("%q is none of %v", c.Kind, kinds), "cards[%d].kind", i)
		}
		if !slices.Contains(AbilityNames, c.Ability) {
			bad("UNKNOWN_ABILITY", fmt.Sprintf("%q is none of %v", c.Ability, AbilityNames), "cards[%d].ability", i)
		}
		if !slices.Contains(rs.Challenge.Levels, c.Level) {
			bad("LEVEL_OUT_OF_RANGE", fmt.Sprintf("%d is none of the levels %v", c.Level, rs.Challenge.Levels), "cards[%d].level", i)
		}
		if len(c.Conditions) == 0 {
			bad("NO_CONDITIONS", "a card has at least one condition", "cards[%d].conditions", i)
		}
		if len(c.Conditions) > 20 {
			bad("TOO_MANY_CONDITIONS", "a card has at most 20 conditions", "cards[%d].conditions", i)
		}
		for j, name := range c.Conditions {
			if _, ok := rs.Conditions[name]; !ok {
				bad("UNKNOWN_CONDITION", fmt.Sprintf("there is no condition %q", name), "cards[%d].conditions[%d]", i, j)
			}
		}
		if n := utf8.RuneCountInString(c.Text); n < 1 || n > maxText {
			bad("TEXT_MISSING", fmt.Sprintf("a card needs a text of 1 to %d characters", maxText), "cards[%d].text", i)
		}
		if utf8.RuneCountInString(c.Title) > 200 {
			bad("TEXT_TOO_LONG", "at most 200 characters", "cards[%d].title", i)
		}
	}
	return found
}

// Lint returns what differs from the profile of the dungeon's type. It restricts nothing (DIG-TYPE-05).
func Lint(rs *Ruleset, d *Dungeon) []Violation {
	p, ok := rs.TypeProfiles[d.Type]
	if !ok {
		return nil
	}
	var found []Violation
	warn := func(code, message, field string, args ...any) {
		found = append(found, Violation{Field: fmt.Sprintf(field, args...), Code: code, Message: message})
	}
	for i, c := range d.Cards {
		advanced := 0
		for _, name := range c.Conditions {
			if rs.Conditions[name].Class == "advanced" {
				advanced++
			}
		}
		switch c.Kind {
		case Normal, Second, Third:
			if p.LevelMix[fmt.Sprint(c.Level)] == 0 {
				warn("LEVEL_NOT_IN_PROFILE", fmt.Sprintf("level %d is not in the mix of a %s", c.Level, d.Type), "cards[%d].level", i)
			}
		case Final:
			if advanced < p.FinalMinAdvanced {
				warn("FEW_ADVANCED", fmt.Sprintf("the final of a %s has at least %d advanced conditions", d.Type, p.FinalMinAdvanced), "cards[%d].conditions", i)
			}
		case Climax:
			if p.ClimaxChance == 0 {
				warn("CLIMAX_NOT_IN_PROFILE", fmt.Sprintf("a %s has no climax", d.Type), "cards[%d].kind", i)
			}
		}
	}
	return found
}

func (d *Dungeon) card(id string) Card {
	i := slices.IndexFunc(d.Cards, func(c Card) bool { return c.ID == id })
	if i < 0 {
		return Card{}
	}
	return d.Cards[i]
}
