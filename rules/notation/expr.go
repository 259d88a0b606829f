package notation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Kind is what an expression is.
type Kind uint8

// The kinds of expressions.
const (
	// Number is a constant.
	Number Kind = iota
	// Negate is a minus sign before an expression.
	Negate
	// Binary joins two expressions by Op.
	Binary
	// Call is the function Op.
	Call
	// Dice are dice of one sort, with their modifiers.
	Dice
	// Group is several expressions, with modifiers over their values; or a single one, with modifiers over its dice.
	Group
)

// Sort is what shows on a die.
type Sort uint8

// The sorts of dice.
const (
	// Plain dice show 1 to Sides.
	Plain Sort = iota
	// Fate dice show -1, 0 and 1, each on a third of their sides.
	Fate
	// FateOne dice have six sides: one -1, one 1, the others 0.
	FateOne
	// Custom dice show the Faces.
	Custom
	// Usage dice are plain dice that may step down (DDW-USE-03).
	Usage
	// Pool is a Danger World pool, rolled once. Its value is the height of its highest set, 0 without any (DW-SET-02).
	Pool
)

// Expr is an expression. Parentheses are not kept: printing sets those that are needed. What Parse has made is not to be
// changed: small numbers are shared between notations.
type Expr struct {
	Kind Kind
	Sort Sort
	// sound tells that Parse found nothing wrong with dice whose parameters roll none.
	sound bool
	// column of its first sign in what was parsed, from 1.
	column int32
	// Op is the sign of a Binary, one of "+ - * / // % ^ = <> < <= > >=", or the name of a Call.
	Op string
	// Value of a Number, not negative.
	Value Value
	// Args are operands, arguments, or the parts of a group.
	Args []*Expr
	// Count and Sides of Dice; a Fate or Custom die has no Sides, a Pool neither.
	Count, Sides *Expr
	// Special is nil but for Custom dice and Pools.
	*Special
	// Mods of Dice and groups, in the order in which they work.
	Mods []Mod
	// Label is a text for people, empty for none.
	Label string
}

// Special is what only few dice have.
type Special struct {
	// Faces of Custom dice.
	Faces []int
	// Normal, Danger and Penalty dice of a Pool.
	Normal, Danger, Penalty int
}

// ModKind is what a modifier does. Modifiers work in the order of these constants.
type ModKind uint8

// The kinds of modifiers.
const (
	// Reroll rolls a die again until it does not match; RerollOnce only once.
	Reroll ModKind = iota
	RerollOnce
	// RerollHigh and RerollLow roll the N highest or lowest dice once more, when all are there. They choose together, no die
	// twice.
	RerollHigh
	RerollLow
	// Explode rolls one more die for each that matches; Compound adds it to the die. The Penetrate kinds take 1 off each
	// further die.
	Explode
	Compound
	Penetrate
	PenetrateCompound
	// ExplodeHigh and ExplodeLow roll one more die for each of the N highest or lowest, after the explosions above. They
	// choose together too.
	ExplodeHigh
	ExplodeLow
	// Unique rolls dice again that show what an earlier one shows, UniqueOnce only once.
	Unique
	UniqueOnce
	// Min raises lower dice to N, Max lowers higher ones.
	Min
	Max
	// Keep kinds drop what none of them keeps; Drop kinds drop what they match. The High and Low kinds count N dice.
	KeepHigh
	KeepLow
	KeepIf
	DropHigh
	DropLow
	DropIf
	// Success counts the dice that match instead of adding them up; Failure takes 1 off for each that matches.
	Success
	Failure
	// CritSuccess and CritFailure mark dice.
	CritSuccess
	CritFailure
	// SortUp and SortDown change the order in which dice are shown.
	SortUp
	SortDown
)

// Mod is a modifier.
type Mod struct {
	Kind ModKind
	// Compare says which dice it matches; nil for the default: the lowest face for re-rolls and critical failures, the
	// highest for explosions and critical successes, all for Unique.
	Compare *Compare
	// N of Min, Max, and the High and Low kinds.
	N *Expr
	// Limit is how often one die may explode; nil for MaxExplosions.
	Limit *Expr
}

// Compare matches values.
type Compare struct {
	// Op is one of "= <> < <= > >=".
	Op string
	To *Expr
}

// holds tells whether a op b.
func holds(op string, a, b Value) bool {
	c := a.Cmp(b)
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// modText is how a modifier begins.
var modText = [...]string{
	Reroll: "r", RerollOnce: "ro", RerollHigh: "roh", RerollLow: "rol",
	Explode: "!", Compound: "!!", Penetrate: "!p", PenetrateCompound: "!!p", ExplodeHigh: "eh", ExplodeLow: "el",
	Unique: "u", UniqueOnce: "uo", Min: "min", Max: "max", KeepHigh: "kh", KeepLow: "kl", KeepIf: "k",
	DropHigh: "dh", DropLow: "dl", DropIf: "d", Success: "", Failure: "f", CritSuccess: "cs", CritFailure: "cf",
	SortUp: "sa", SortDown: "sd",
}

// Notation is a whole notation.
type Notation struct {
	Expr *Expr
	// Comment is a text for people, empty for none.
	Comment string
}

// String is the canonical spelling, which parses to the same notation.
func (n Notation) String() string {
	if n.Expr == nil {
		return ""
	}
	var p printer
	p.expr(n.Expr, precCompare)
	if n.Comment != "" {
		p.WriteString(" # " + n.Comment)
	}
	return p.String()
}

// String is the canonical spelling of an expression by itself.
func (e *Expr) String() string { return Notation{Expr: e}.String() }

// Precedences, from the loosest.
const (
	precCompare = iota
	precSum
	precProduct
	precUnary
	precPower
	precAtom
)

func precedence(op string) int {
	switch op {
	case "+", "-":
		return precSum
	case "*", "/", "//", "%":
		return precProduct
	case "^":
		return precPower
	}
	return precCompare
}

func (e *Expr) precedence() int {
	switch {
	case e.Label != "":
		return precAtom // printed in parentheses with the label behind them
	case e.Kind == Negate:
		return precUnary
	case e.Kind == Binary:
		return precedence(e.Op)
	}
	return precAtom
}

type printer struct{ strings.Builder }

func (p *printer) expr(e *Expr, least int) {
	inner := e.Kind == Negate || e.Kind == Binary
	if parens := e.precedence() < least || inner && e.Label != ""; parens {
		p.WriteByte('(')
		defer func() {
			p.WriteByte(')')
			p.label(e)
		}()
	} else {
		defer p.label(e)
	}
	switch e.Kind {
	case Number:
		p.WriteString(e.Value.decimal())
	case Negate:
		p.WriteByte('-')
		p.expr(e.Args[0], precUnary)
	case Binary:
		p.binary(e)
	case Call:
		p.WriteString(e.Op)
		p.list('(', e.Args, ')')
	case Dice:
		p.dice(e)
		p.mods(e.Mods)
	case Group:
		p.list('{', e.Args, '}')
		p.mods(e.Mods)
	}
}

func (p *printer) label(e *Expr) {
	if e.Label != "" {
		p.WriteString("[" + e.Label + "]")
	}
}

func (p *printer) binary(e *Expr) {
	own := precedence(e.Op)
	left, right := own, own+1
	switch own {
	case precPower: // groups to the right; its exponent may have a sign
		left, right = precAtom, precUnary
	case precCompare: // none follows another, and dice before one would take it as theirs
		if left = precSum; e.Args[0].open() {
			left = precAtom + 1
		}
	}
	p.parens(e.Args[0], left)
	p.WriteString(e.Op)
	p.expr(e.Args[1], right)
}

// open tells whether an expression ends with dice or a group, which would take what follows for a modifier.
func (e *Expr) open() bool {
	switch {
	case e.Label != "":
		return false
	case e.Kind == Binary:
		return e.Args[1].open()
	case e.Kind == Negate:
		return e.Args[0].open()
	}
	return e.Kind == Dice && e.Sort != Pool || e.Kind == Group
}

// parens prints an operand that may need parentheses although it is an atom.
func (p *printer) parens(e *Expr, least int) {
	if least <= precAtom {
		p.expr(e, least)
		return
	}
	p.WriteByte('(')
	p.expr(e, precCompare)
	p.WriteByte(')')
}

func (p *printer) list(open byte, args []*Expr, end byte) {
	p.WriteByte(open)
	for i, a := range args {
		if i > 0 {
			p.WriteString(", ")
		}
		p.expr(a, precCompare)
	}
	p.WriteByte(end)
}

func (p *printer) dice(e *Expr) {
	if e.Sort == Pool {
		p.WriteString("dw" + strconv.Itoa(e.Normal))
		if e.Danger > 0 {
			p.WriteString("d" + strconv.Itoa(e.Danger))
		}
		if e.Penalty > 0 {
			p.WriteString("p" + strconv.Itoa(e.Penalty))
		}
		return
	}
	p.count(e.Count)
	switch e.Sort {
	case Fate:
		p.WriteString("dF")
	case FateOne:
		p.WriteString("dF.1")
	case Custom:
		p.WriteString("d{")
		for i, f := range e.Faces {
			if i > 0 {
				p.WriteByte(',')
			}
			p.WriteString(strconv.Itoa(f))
		}
		p.WriteByte('}')
	case Usage:
		p.WriteByte('u')
		fallthrough
	default:
		p.WriteByte('d')
		p.count(e.Sides)
	}
}

// count prints a number as such and everything else in parentheses.
func (p *printer) count(e *Expr) {
	if e.Kind == Number && e.Label == "" {
		p.expr(e, precAtom)
		return
	}
	p.parens(e, precAtom+1)
}

// param prints a number, maybe with a sign, as such and everything else in parentheses.
func (p *printer) param(e *Expr) {
	if e.Kind == Negate && e.Label == "" && e.Args[0].Kind == Number && e.Args[0].Label == "" {
		p.expr(e, precUnary)
		return
	}
	p.count(e)
}

func (p *printer) mods(mods []Mod) {
	for i, m := range mods {
		bare := i > 0 && mods[i-1].Compare == nil && mods[i-1].N == nil && mods[i-1].Limit == nil
		switch {
		case bare && (m.Kind == Success || m.Kind == Explode && m.Compare != nil && m.Compare.Op == "="):
			p.WriteByte(' ') // else the comparison, or "!=", would be the one of the modifier before
		case m.Kind == Reroll && m.Compare == nil:
			p.WriteByte('r') // "rr", since another re-roll may follow
		}
		p.WriteString(modText[m.Kind])
		if m.Compare != nil {
			p.WriteString(m.Compare.Op)
			p.param(m.Compare.To)
		}
		switch {
		case m.N == nil:
		case m.Kind == Min || m.Kind == Max:
			p.param(m.N)
		default:
			p.count(m.N) // where none may stand, a minus would be the next operator
		}
		if m.Limit != nil {
			p.WriteByte('x')
			p.param(m.Limit)
		}
	}
}

// sortMods brings modifiers into the order in which they work.
func sortMods(mods []Mod) {
	if len(mods) < 2 {
		return
	}
	slices.SortStableFunc(mods, func(a, b Mod) int { return cmp.Compare(a.Kind, b.Kind) })
}

// Dice is how many dice the notation names, those left out whose number other dice decide.
func (n Notation) Dice() int { return n.Expr.dice() }

func (e *Expr) dice() int {
	if e.Kind == Number {
		return 0
	}
	sum := 0
	if e.Sort == Pool {
		sum = e.Normal + e.Danger + e.Penalty
	}
	if e.Count != nil && e.Count.Kind == Number {
		sum = int(e.Count.Value.num)
	}
	for _, x := range e.Args {
		sum += x.dice()
	}
	var few [fewParams]*Expr
	for _, x := range e.params(few[:0]) {
		if x.Kind != Number {
			sum += x.dice()
		}
	}
	return sum
}

// Rolls tells whether an expression rolls dice.
func (e *Expr) Rolls() bool {
	return e.Kind == Dice || slices.ContainsFunc(e.Args, (*Expr).Rolls)
}
