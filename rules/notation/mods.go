package notation

import (
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// modSpelling is one way to write a modifier.
type modSpelling struct {
	text string
	kind ModKind
	// compare and number say what may follow: 'o' optional, 'm' mandatory, 0 nothing.
	compare, number byte
}

// modsFrom are the spellings by their first sign.
var modsFrom = func() (out [128][]modSpelling) {
	for _, s := range modSpellings {
		out[s.text[0]] = append(out[s.text[0]], s)
	}
	return out
}()

// The modifiers and their spellings; longer ones first where one begins another.
var modSpellings = []modSpelling{
	{"!!p", PenetrateCompound, 'o', 0},
	{"!!", Compound, 'o', 0},
	{"!p", Penetrate, 'o', 0},
	{"!", Explode, 'o', 0},
	{"rr", Reroll, 'o', 0},
	{"roh", RerollHigh, 0, 'o'},
	{"rol", RerollLow, 0, 'o'},
	{"ro", RerollOnce, 'o', 0},
	{"rah", ExplodeHigh, 0, 'o'},
	{"ral", ExplodeLow, 0, 'o'},
	{"ra", Explode, 'o', 0},
	{"r", Reroll, 'o', 0},
	{"uo", UniqueOnce, 'o', 0},
	{"u", Unique, 'o', 0},
	{"min", Min, 0, 'm'},
	{"max", Max, 0, 'm'},
	{"mi", Min, 0, 'm'},
	{"ma", Max, 0, 'm'},
	{"kh", KeepHigh, 0, 'o'},
	{"kl", KeepLow, 0, 'o'},
	{"k", KeepHigh, 0, 'o'}, // or KeepIf, when a comparison follows
	{"dh", DropHigh, 0, 'o'},
	{"dl", DropLow, 0, 'o'},
	{"d", DropLow, 0, 'm'}, // or DropIf
	{"ph", DropHigh, 0, 'o'},
	{"pl", DropLow, 0, 'o'},
	{"p", DropIf, 'm', 0},
	{"eh", ExplodeHigh, 0, 'o'},
	{"el", ExplodeLow, 0, 'o'},
	{"e", Explode, 'o', 0},
	{"cs", CritSuccess, 'o', 0},
	{"cf", CritFailure, 'o', 0},
	{"f", Failure, 'm', 0},
	{"sa", SortUp, 0, 0},
	{"sd", SortDown, 0, 0},
	{"s", SortUp, 0, 0},
}

// mods reads the modifiers behind dice or a group. Blanks may stand before each.
func (p *parser) mods(e *Expr) error {
	for {
		back, comments := p.at, len(p.comments)
		p.blanks()
		blank := p.at > back
		column := p.at
		m, ok, err := p.mod(blank)
		if err != nil {
			return err
		}
		if !ok {
			p.at, p.comments = back, p.comments[:comments]
			sortMods(e.Mods)
			return nil
		}
		if err := p.fits(e, m, column); err != nil {
			return err
		}
		if err := p.part(); err != nil {
			return err
		}
		if e.Mods == nil && len(p.mod1) > 0 {
			e.Mods, p.mod1 = p.mod1[:0:1], p.mod1[1:]
		}
		e.Mods = append(e.Mods, m)
	}
}

func (p *parser) mod(blank bool) (Mod, bool, error) {
	if op := p.comparison(); op != "" {
		to, err := p.param()
		return Mod{Kind: Success, Compare: &Compare{op, to}}, true, err
	}
	first := p.lower(0)
	if !letter(first) && first != '!' {
		return Mod{}, false, nil // as behind most dice
	}
	for i := range modsFrom[first] {
		s := &modsFrom[first][i]
		if !p.spells(s.text) || blank && s.text == "d" {
			continue
		}
		m := Mod{Kind: s.kind}
		start := p.at
		p.at += len(s.text)
		if r := p.lower(0); m.Kind == Reroll && (r == 'h' || r == 'l') && !letter(p.peek(1)) {
			return m, true, play.Refuse(Endless, "column %d: a highest and a lowest die are always there to be rolled again", start+1)
		}
		// A letter more is another word; "x" begins a limit.
		var err error
		if s.text == "k" || s.text == "d" {
			if op := p.comparison(); op != "" {
				if m.Kind = KeepIf; s.text == "d" {
					m.Kind = DropIf
				}
				to, err := p.param()
				m.Compare = &Compare{op, to}
				return m, true, err
			}
		}
		if s.compare != 0 {
			// Behind a mark of explosion "!=" is one more mark.
			if m.Compare, err = p.matching(s.compare == 'm', s.text[len(s.text)-1] != '!'); err != nil {
				return m, true, err
			}
		}
		if s.number != 0 {
			if p.paramAt() || s.number == 'm' {
				m.N, err = p.param()
			} else {
				m.N = p.constant(Whole(1), start+1)
			}
			if err != nil {
				return m, true, err
			}
		}
		if m.Kind >= Explode && m.Kind <= PenetrateCompound {
			if s.text == "ra" {
				m.Limit = p.constant(Whole(1), start+1)
			} else if p.lower(0) == 'x' {
				p.at++
				m.Limit, err = p.param()
			}
		}
		return m, true, err
	}
	return Mod{}, false, nil
}

// spells tells whether the text stands here, in small or capital letters.
func (p *parser) spells(text string) bool {
	for i := range len(text) {
		if p.lower(i) != text[i] {
			return false
		}
	}
	return true
}

// matching reads a comparison, or a number that stands for being equal to it. Unequal tells that "!=" is one here.
func (p *parser) matching(mandatory, unequal bool) (*Compare, error) {
	op := p.comparison()
	if op == "" && unequal && p.accept("!=") {
		op = "<>"
	}
	if op == "" {
		if !mandatory && !p.paramAt() {
			return nil, nil //nolint:nilnil // there is none
		}
		op = "="
	}
	to, err := p.param()
	return &Compare{op, to}, err
}

func (p *parser) paramAt() bool { return digit(p.peek(0)) || p.peek(0) == '(' }

// param reads a number, maybe with a sign, or an expression in parentheses.
func (p *parser) param() (*Expr, error) {
	p.blanks()
	at := p.at
	if p.take('(') {
		e, err := p.compare()
		if err != nil {
			return nil, err
		}
		if p.blanks(); !p.take(')') {
			return nil, p.fail(`")" or an operator`)
		}
		return e, nil
	}
	minus := p.take('-')
	if !digit(p.peek(0)) {
		return nil, p.fail("a number or a parenthesis")
	}
	v, err := p.number()
	if err != nil {
		return nil, err
	}
	if err := p.part(); err != nil {
		return nil, err
	}
	e := p.constant(v, p.at)
	if !minus {
		return e, nil
	}
	return p.join(Negate, "", at, e)
}

// fits refuses modifiers that groups do not take. Where there can only be one, it takes away the one before.
func (p *parser) fits(e *Expr, m Mod, column int) error {
	refuse := func(format string, args ...any) error {
		return play.Refuse(BadNotation, "column %d: "+format, append([]any{column + 1}, args...)...)
	}
	name := modText[m.Kind]
	if m.Kind == Success {
		name = m.Compare.Op
	}
	if e.Kind == Group && (m.Kind < KeepHigh || m.Kind == CritSuccess || m.Kind == CritFailure) {
		return refuse("found %q, expected what a group takes: keep, drop, success, failure or sort", name)
	}
	if e.Sort == Usage && (m.Kind != KeepHigh && m.Kind != KeepLow) {
		return refuse("found %q, expected kh or kl of usage dice", name)
	}
	class := func(k ModKind) ModKind {
		switch {
		case k >= Explode && k <= PenetrateCompound:
			return Explode
		case k == UniqueOnce:
			return Unique
		case k == SortDown:
			return SortUp
		}
		return k
	}
	if m.Kind == Failure && !slices.ContainsFunc(e.Mods, func(other Mod) bool { return other.Kind == Success }) {
		return refuse("found %q, expected a success such as >4 before it", name)
	}
	if len(e.Mods) == 0 {
		return nil
	}
	switch c := class(m.Kind); c { //nolint:exhaustive // the others add up
	case Explode, Unique, Min, Max, Success, Failure, SortUp:
		e.Mods = slices.DeleteFunc(e.Mods, func(other Mod) bool {
			return class(other.Kind) == c || c == Success && other.Kind == Failure // which belongs to its success
		})
	}
	return nil
}
