// Package notation reads dice notations such as "2d6+1-d4" and rolls them.
//
// The grammar, blanks allowed around every sign:
//
//	notation = [ sign ] term { sign term } .
//	term     = [ count ] "d" sides | number .
//	sign     = "+" | "-" .
//
// Count and sides are whole numbers from 1; a missing count is 1. The letter may be a capital. Minus signs, dashes and
// full-width digits as word processors write them are read as their plain forms.
package notation

import (
	"strconv"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

const (
	// MaxSides is the largest die. With the other limits it keeps every total within 32 bits.
	MaxSides = 1_000_000
	// MaxDice is how many dice one notation may roll.
	MaxDice = 1000
	// MaxNumber is the largest constant.
	MaxNumber = 1_000_000
	// MaxTerms is how many terms a notation may have.
	MaxTerms = 100
)

const (
	// BadNotation refuses what is not a notation; the message names the column, from 1, and what was expected there.
	BadNotation = "BAD_NOTATION"
	// TooMuchWork refuses a notation with more dice or terms than the limits allow.
	TooMuchWork = "TOO_MUCH_WORK"
)

// Term is one signed part of a notation: dice when Sides is above 0, else a constant.
type Term struct {
	Negative bool
	// Count dice of Sides sides.
	Count, Sides int
	// Number is the value of a constant.
	Number int
}

// String returns the canonical spelling without the sign, for example "1d6" or "3".
func (t Term) String() string {
	if t.Sides == 0 {
		return strconv.Itoa(t.Number)
	}
	return strconv.Itoa(t.Count) + "d" + strconv.Itoa(t.Sides)
}

// Notation is a sum of terms, at least one.
type Notation []Term

// String returns the canonical spelling, which parses to the same notation.
func (n Notation) String() string {
	var b strings.Builder
	for i, t := range n {
		switch {
		case t.Negative:
			b.WriteByte('-')
		case i > 0:
			b.WriteByte('+')
		}
		b.WriteString(t.String())
	}
	return b.String()
}

// Dice returns how many dice the notation rolls.
func (n Notation) Dice() int {
	dice := 0
	for _, t := range n {
		if t.Sides > 0 {
			dice += t.Count
		}
	}
	return dice
}

// Rolled is a term with its faces.
type Rolled struct {
	Term
	// Faces of its dice in order; empty for a constant.
	Faces []int
	// Value before the sign.
	Value int
}

// Roll rolls every die of the notation in order and returns the terms with their faces, and the total. It cannot
// overflow: the limits keep every total within 32 bits.
func (n Notation) Roll(purpose string, dice *play.Dice) ([]Rolled, int) {
	out := make([]Rolled, len(n))
	total := 0
	for i, t := range n {
		r := Rolled{Term: t, Value: t.Number}
		if t.Sides > 0 {
			r.Value = 0
			for range t.Count {
				face := dice.Roll(purpose, t.Sides)
				r.Faces = append(r.Faces, face)
				r.Value += face
			}
		}
		if out[i] = r; t.Negative {
			total -= r.Value
		} else {
			total += r.Value
		}
	}
	return out, total
}

// Parse reads a notation. It fails with a *play.Refusal: BAD_NOTATION or TOO_MUCH_WORK.
func Parse(text string) (Notation, error) {
	p := parser{text: []rune(normal.Replace(text))}
	var n Notation
	dice := 0
	for {
		p.blanks()
		t := Term{}
		if s, ok := p.accept("+-"); ok {
			t.Negative = s == '-'
			p.blanks()
		} else if len(n) > 0 {
			return nil, p.fail(`"+", "-" or the end`)
		}
		if err := p.term(&t); err != nil {
			return nil, err
		}
		if t.Sides > 0 {
			dice += t.Count
		}
		n = append(n, t)
		if dice > MaxDice || len(n) > MaxTerms {
			return nil, play.Refuse(TooMuchWork, "a notation may roll at most %d dice in at most %d terms", MaxDice, MaxTerms)
		}
		if p.blanks(); p.at == len(p.text) {
			return n, nil
		}
	}
}

type parser struct {
	text []rune
	at   int
}

func (p *parser) term(t *Term) error {
	start := p.at
	count, given, err := p.number(MaxNumber)
	if err != nil {
		return err
	}
	if _, ok := p.accept("dD"); !ok {
		if !given {
			return p.fail("a number or a die such as d6")
		}
		t.Number = count
		return nil
	}
	if !given {
		count = 1
	}
	sidesAt := p.at
	sides, given, err := p.number(MaxSides)
	switch {
	case err != nil:
		return err
	case !given:
		return p.fail("the number of sides")
	case sides < 1:
		p.at = sidesAt
		return p.fail("at least 1 side")
	case count < 1:
		p.at = start
		return p.fail("at least 1 die")
	}
	if count > MaxDice {
		return play.Refuse(TooMuchWork, "a notation may roll at most %d dice", MaxDice)
	}
	t.Count, t.Sides = count, sides
	return nil
}

func (p *parser) number(largest int) (n int, given bool, err error) {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		if n = n*10 + int(p.text[p.at]-'0'); n > largest {
			p.at = start
			return 0, false, p.fail("a number of at most " + strconv.Itoa(largest))
		}
		p.at++
	}
	return n, p.at > start, nil
}

func (p *parser) accept(any string) (rune, bool) {
	if p.at < len(p.text) && strings.ContainsRune(any, p.text[p.at]) {
		p.at++
		return p.text[p.at-1], true
	}
	return 0, false
}

func (p *parser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

func (p *parser) fail(want string) error {
	found := "the end"
	if p.at < len(p.text) {
		found = strconv.QuoteRune(p.text[p.at])
	}
	return play.Refuse(BadNotation, "column %d: found %s, expected %s", p.at+1, found, want)
}

// normal maps the forms that word processors and keyboards of other scripts write, rune by rune, so that columns stay.
var normal = strings.NewReplacer(
	"\u2212", "-", "\u2013", "-", "\u2014", "-", "\uff0d", "-", "\uff0b", "+", "\u00a0", " ", "\u3000", " ",
	"\uff10", "0", "\uff11", "1", "\uff12", "2", "\uff13", "3", "\uff14", "4",
	"\uff15", "5", "\uff16", "6", "\uff17", "7", "\uff18", "8", "\uff19", "9",
	"\uff44", "d", "\uff24", "d",
)
