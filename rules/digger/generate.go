package digger

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// grain is the fineness with which shares of a profile are rolled.
const grain = 1_000_000

// pick draws a whole number from shares that add up to 1.
func pick(faces Faces, shares map[string]float64) int {
	roll, sum, last := float64(faces.below(grain))/grain, 0.0, 0
	for key, share := range byName(shares) {
		if share == 0 {
			continue
		}
		last, _ = strconv.Atoi(key)
		if sum += share; roll < sum {
			break
		}
	}
	return last
}

// Generate makes a deck by the profile of a dungeon type: one entry, eight normal, two second and two third cards, a
// climax by its chance, and one final. Its texts only tell what the cards are. An unknown type is refused as INVALID.
func Generate(rs *Ruleset, id, kind string, faces Faces) (*Dungeon, error) {
	p, ok := rs.TypeProfiles[kind]
	if !ok {
		return nil, play.Refuse(Invalid, "there is no dungeon type %q", kind).At("type")
	}
	d := &Dungeon{ID: id, Name: "Generated " + kind, Type: kind, TNBonus: TNBonus{Climax: p.ClimaxTNBonus, Final: p.FinalTNBonus}}
	add := func(cardKind string, level, leastAdvanced int) {
		c := Card{ID: fmt.Sprintf("%s-%d", cardKind, len(d.Cards)+1), Kind: cardKind, Level: level, Ability: AbilityNames[faces.below(len(AbilityNames))]}
		for range pick(faces, p.BasicPerCard) {
			c.Conditions = append(c.Conditions, rs.drawCondition(faces, "basic", p.BeneficialShare))
		}
		for range max(leastAdvanced, pick(faces, p.AdvancedPerCard)) {
			c.Conditions = append(c.Conditions, rs.drawCondition(faces, "advanced", p.BeneficialShare))
		}
		c.Title = fmt.Sprintf("Challenge %d", len(d.Cards)+1)
		c.Text = fmt.Sprintf("A challenge of %s, level %d.", c.Ability, c.Level)
		d.Cards = append(d.Cards, c)
	}
	add(Entry, p.EntryLevel, 0)
	for _, part := range []struct {
		kind  string
		count int
	}{{Normal, 8}, {Second, 2}, {Third, 2}} {
		for range part.count {
			add(part.kind, pick(faces, p.LevelMix), 0)
		}
	}
	if float64(faces.below(grain)) < p.ClimaxChance*grain {
		add(Climax, p.ClimaxLevel, 0)
	}
	add(Final, p.FinalLevel, p.FinalMinAdvanced)
	if faults := Check(rs, d); len(faults) > 0 {
		return nil, play.Refuse(Invalid, "the profile of %s makes no playable deck: %s: %s", kind, faults[0].Field, faults[0].Message).At("type")
	}
	return d, nil
}

// drawCondition draws evenly among the beneficial or the harmful conditions of a class.
func (rs *Ruleset) drawCondition(faces Faces, class string, beneficialShare float64) string {
	beneficial := float64(faces.below(grain)) < beneficialShare*grain
	var names, any []string
	for name, c := range byName(rs.Conditions) {
		if c.Class != class {
			continue
		}
		any = append(any, name)
		if c.Beneficial == beneficial {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = any // a ruleset may have only one sort of a class
	}
	if len(names) == 0 {
		return ""
	}
	return names[faces.below(len(names))]
}

// Advanced tells how many cards of a dungeon carry an advanced condition (DIG-TYPE-04).
func Advanced(rs *Ruleset, d *Dungeon) int {
	n := 0
	for _, c := range d.Cards {
		if slices.ContainsFunc(c.Conditions, func(name string) bool { return rs.Conditions[name].Class == "advanced" }) {
			n++
		}
	}
	return n
}
