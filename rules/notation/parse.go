package notation

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

const (
	// MaxLength is how many characters a notation may have.
	MaxLength = 4096
	// MaxSides is the largest die.
	MaxSides = 1_000_000
	// MaxFaces is how many faces a custom die may have.
	MaxFaces = 1000
	// MaxDice is how many dice a notation may name, and how many dice one of its counts may become.
	MaxDice = 1000
	// MaxNumber is the largest constant.
	MaxNumber = 2_147_483_647
	// MaxParts is how many numbers, dice, signs and functions a notation may have.
	MaxParts = 1000
	// MaxDepth is how deep parentheses and the like may be nested.
	MaxDepth = 100
	// MaxExplosions is how often one die explodes when the notation names no limit.
	MaxExplosions = 100
	// MaxLabel is how many characters a label or comment may have.
	MaxLabel = 200
)

const (
	// BadNotation refuses what is not a notation; the message names the column, from 1, and what was expected there.
	BadNotation = "BAD_NOTATION"
	// TooMuchWork refuses a notation that goes beyond the limits, when it is read or when it is rolled.
	TooMuchWork = "TOO_MUCH_WORK"
	// Endless refuses re-rolls and explosions that no face would end.
	Endless = "ENDLESS"
	// Overflow refuses values beyond 64 bits, and totals beyond 32.
	Overflow = "OVERFLOW"
	// DivisionByZero refuses just that.
	DivisionByZero = "DIVISION_BY_ZERO"
	// BadValue refuses a value that makes no sense where it stands, such as half a die.
	BadValue = "BAD_VALUE"
)

// UsageSides are the sizes of usage dice (DDW-USE-03).
var UsageSides = []int{4, 6, 8, 10, 12, 20}

// functions by name, with how many arguments they take; -1: one or more.
var functions = map[string]int{
	"abs": 1, "ceil": 1, "cos": 1, "exp": 1, "floor": 1, "log": 1, "max": -1, "min": -1, "pow": 2, "round": 1, "sign": 1,
	"sin": 1, "sqrt": 1, "tan": 1,
}

// Parse reads a notation. It fails with a *play.Refusal: BAD_NOTATION or TOO_MUCH_WORK, and with what can be told without
// rolling: ENDLESS, OVERFLOW, DIVISION_BY_ZERO and BAD_VALUE.
func Parse(text string) (Notation, error) {
	if len(text) > 4*MaxLength {
		return Notation{}, tooLong()
	}
	p := parser{text: text}
	plainly := true
	for i := range len(text) {
		plainly = plainly && text[i] < utf8.RuneSelf
		p.joins = p.joins || text[i] >= '(' && text[i] <= '/' // one of ( ) * + , - . /
	}
	if !plainly {
		p.widen()
	}
	length := len(p.text)
	if length > MaxLength {
		return Notation{}, tooLong()
	}
	e, err := p.whole()
	if err != nil {
		return Notation{}, err
	}
	n := Notation{Expr: e, Comment: strings.Join(p.comments, " ")}
	if utf8.RuneCountInString(n.Comment) > MaxLabel {
		return Notation{}, play.Refuse(TooMuchWork, "a comment has at most %d characters", MaxLabel)
	}
	if p.dices > MaxDice && n.Dice() > MaxDice {
		return Notation{}, play.Refuse(TooMuchWork, "a notation has at most %d dice", MaxDice)
	}
	if _, _, err := e.foresee(true); err != nil {
		return Notation{}, err
	}
	// The canonical spelling may be longer, and is to be read again.
	if length > MaxLength/4 && utf8.RuneCountInString(n.String()) > MaxLength {
		return Notation{}, tooLong()
	}
	return n, nil
}

func tooLong() error {
	return play.Refuse(TooMuchWork, "a notation has at most %d characters", MaxLength)
}

// plain maps the forms that word processors and keyboards of other scripts write, one by one, so that columns stay.
func plain(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0xff01 && r <= 0xff5e: // full-width forms
		return r - 0xff01 + '!'
	}
	switch r {
	case '\u2212', '\u2010', '\u2011', '\u2012', '\u2013', '\u2014':
		return '-'
	case '\u00a0', '\u2007', '\u2009', '\u202f', '\u3000':
		return ' '
	case '×', '⋅':
		return '*'
	case '÷':
		return '/'
	}
	return r
}

// The signs that are not ASCII but mean something.
const (
	atMost = utf8.RuneSelf + iota
	atLeast
	unequal
	noSign // the others, of labels and comments
)

type parser struct {
	// text has one byte for each character, so that a place in it is a column.
	text string
	// raw are the characters of a text that is not ASCII, tame those that they stand for.
	raw, tame []rune
	at        int
	parts     int
	dices     int // how many dice were read, those of modifiers that another took the place of included
	depth     int
	comments  []string
	// joins tells that the text seems to have several parts.
	joins bool
	// nodes, args and mod1 are where the next parts, pairs of operands and first modifiers go: one allocation for all that
	// most notations need is cheaper than one for each.
	nodes []Expr
	args  []*Expr
	mod1  []Mod
	grown bool
}

// grow makes room for parts: for dice alone, for a short formula, or for some of a long one.
func (p *parser) grow() {
	switch {
	case p.grown:
		p.nodes, p.args = make([]Expr, 8), make([]*Expr, 8)
	case p.joins:
		room := new(struct {
			nodes [3]Expr
			args  [2]*Expr
			mod1  [1]Mod
		})
		p.nodes, p.args, p.mod1 = room.nodes[:], room.args[:], room.mod1[:]
	default:
		room := new(struct {
			nodes [1]Expr
			mod1  [1]Mod
		})
		p.nodes, p.mod1 = room.nodes[:], room.mod1[:]
	}
	p.grown = true
}

// widen reads a text that is not ASCII.
func (p *parser) widen() {
	p.raw = []rune(p.text)
	p.tame = make([]rune, len(p.raw))
	signs := make([]byte, len(p.raw))
	for i, r := range p.raw {
		r = plain(r)
		p.tame[i] = r
		switch {
		case r < utf8.RuneSelf:
			signs[i] = byte(r) //nolint:gosec // ASCII
		case r == '≤':
			signs[i] = atMost
		case r == '≥':
			signs[i] = atLeast
		case r == '≠':
			signs[i] = unequal
		default:
			signs[i] = noSign
		}
	}
	p.text = string(signs)
}

// words are the characters between two places, joined by single blanks. Control characters are blanks, and what
// turns the direction of letters: whatever shows the text to others would obey them.
func (p *parser) words(from, end int) string {
	text := p.text[from:end]
	if p.tame != nil {
		text = string(p.tame[from:end])
	}
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}

// put makes a part without counting it. The column is from 1.
func (p *parser) put(kind Kind, column int) *Expr {
	if len(p.nodes) == 0 {
		p.grow()
	}
	e := &p.nodes[0]
	p.nodes = p.nodes[1:]
	e.Kind, e.column = kind, int32(column) //nolint:gosec // at most MaxLength
	return e
}

// numbers are the small ones that dice and modifiers have. Nothing is wrong with them wherever they stand, so that none
// needs a column of its own.
var numbers = func() (out [101]Expr) {
	for i := range out {
		out[i].Value = Whole(int64(i))
	}
	return out
}()

// constant is a number that nothing is done to: no label can follow it.
func (p *parser) constant(v Value, column int) *Expr {
	if v.IsWhole() && v.num > 0 && v.num < int64(len(numbers)) {
		return &numbers[v.num]
	}
	e := p.put(Number, column)
	e.Value = v
	return e
}

func (p *parser) whole() (*Expr, error) {
	e, err := p.compare()
	if err != nil {
		return nil, err
	}
	if p.blanks(); p.at < len(p.text) {
		return nil, p.fail("an operator or the end")
	}
	return e, nil
}

// peek is the sign at a distance, 0 beyond the end.
func (p *parser) peek(ahead int) byte {
	if p.at+ahead < len(p.text) {
		return p.text[p.at+ahead]
	}
	return 0
}

// has tells whether a text of ASCII stands here.
func (p *parser) has(s string) bool {
	ahead := 0
	for ; ahead < len(s); ahead++ {
		if p.peek(ahead) != s[ahead] {
			return false
		}
	}
	return true
}

func (p *parser) accept(s string) bool {
	if !p.has(s) {
		return false
	}
	p.at += len(s)
	return true
}

// take accepts a single sign.
func (p *parser) take(r byte) bool {
	if p.peek(0) != r {
		return false
	}
	p.at++
	return true
}

func digit(r byte) bool { return r >= '0' && r <= '9' }

func letter(r byte) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// lower is the sign at a distance as a small letter.
func (p *parser) lower(ahead int) byte {
	r := p.peek(ahead)
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// blanks passes over blanks and comments, all of which begin with a sign that is not above the slash.
func (p *parser) blanks() {
	if p.at < len(p.text) && p.text[p.at] <= '/' {
		p.pass()
	}
}

func (p *parser) pass() {
	for p.at < len(p.text) {
		switch r := p.text[p.at]; {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			p.at++
		case r == '#':
			p.comment(p.at+1, len(p.text), len(p.text))
		case p.has("/*"):
			end := p.at + 2
			for end < len(p.text) && !(p.text[end] == '*' && end+1 < len(p.text) && p.text[end+1] == '/') {
				end++
			}
			if end == len(p.text) {
				return // the parser finds a sign that it does not expect
			}
			p.comment(p.at+2, end, end+2)
		case p.has("//") && !p.operand(2):
			p.comment(p.at+2, len(p.text), len(p.text))
		default:
			return
		}
	}
}

// comment keeps the text up to end and goes on at next.
func (p *parser) comment(from, end, next int) {
	if text := p.words(from, end); text != "" {
		p.comments = append(p.comments, text)
	}
	p.at = next
}

// operand tells whether an operand may begin at a distance: two slashes before one divide, else they begin a comment.
func (p *parser) operand(ahead int) bool {
	for p.peek(ahead) == ' ' || p.peek(ahead) == '\t' {
		ahead++
	}
	r := p.lower(ahead)
	switch {
	case digit(r), strings.IndexByte("({+-.", r) >= 0:
		return true
	case r == 'u':
		return p.lower(ahead+1) == 'd' && digit(p.peek(ahead+2))
	case r == 'd' && p.dieAt(ahead):
		return true
	}
	from := p.at + ahead
	for letter(p.peek(ahead)) {
		ahead++
	}
	_, known := functions[strings.ToLower(p.text[min(from, len(p.text)):min(p.at+ahead, len(p.text))])]
	return known && p.peek(ahead) == '('
}

// dieAt tells whether the d at a distance begins the sides of a die.
func (p *parser) dieAt(ahead int) bool {
	switch r := p.lower(ahead + 1); {
	case digit(r), r == '%', r == '(', r == '{', r == 'f':
		return true
	case r == 'w':
		return digit(p.peek(ahead + 2))
	}
	return false
}

// part counts one.
func (p *parser) part() error {
	if p.parts++; p.parts > MaxParts {
		return play.Refuse(TooMuchWork, "a notation has at most %d parts", MaxParts)
	}
	return nil
}

// node makes a part and counts it.
func (p *parser) node(kind Kind, column int) (*Expr, error) {
	if err := p.part(); err != nil {
		return nil, err
	}
	return p.put(kind, column), nil
}

// join makes a part of one or two operands; its sign stands at the place, from 0.
func (p *parser) join(kind Kind, op string, at int, operands ...*Expr) (*Expr, error) {
	e, err := p.node(kind, at+1)
	if err != nil {
		return nil, err
	}
	n := len(operands)
	if len(p.args) < n {
		p.args = make([]*Expr, 8)
	}
	e.Op = op
	e.Args, p.args = p.args[:n:n], p.args[n:]
	copy(e.Args, operands)
	return e, nil
}

// deeper counts a level of nesting.
func (p *parser) deeper() error {
	if p.depth++; p.depth > MaxDepth {
		return play.Refuse(TooMuchWork, "column %d: a notation is nested at most %d deep", p.at+1, MaxDepth)
	}
	return nil
}

func (p *parser) compare() (*Expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	p.blanks()
	at := p.at
	op := p.comparison()
	if op == "" && p.accept("!=") {
		op = "<>"
	}
	if op != "" {
		right, err := p.sum()
		if err != nil {
			return nil, err
		}
		if e, err = p.join(Binary, op, at, e, right); err != nil {
			return nil, err
		}
	}
	p.depth--
	return e, nil
}

// comparison reads a sign of comparison, but not "!=", which dice take for an explosion.
func (p *parser) comparison() string {
	switch p.peek(0) {
	case '=':
		p.at++
		p.take('=')
		return "="
	case '<':
		p.at++
		switch {
		case p.take('>'):
			return "<>"
		case p.take('='):
			return "<="
		}
		return "<"
	case '>':
		p.at++
		if p.take('=') {
			return ">="
		}
		return ">"
	case atMost:
		p.at++
		return "<="
	case atLeast:
		p.at++
		return ">="
	case unequal:
		p.at++
		return "<>"
	}
	return ""
}

func (p *parser) sum() (*Expr, error) {
	left, err := p.product()
	for err == nil {
		p.blanks()
		at := p.at
		var op string
		switch p.peek(0) {
		case '+':
			op = "+"
		case '-':
			op = "-"
		default:
			return left, nil
		}
		p.at++
		var right *Expr
		if right, err = p.product(); err == nil {
			left, err = p.join(Binary, op, at, left, right)
		}
	}
	return nil, err
}

func (p *parser) product() (*Expr, error) {
	left, err := p.unary()
	for err == nil {
		p.blanks()
		at := p.at
		var op string
		switch p.peek(0) {
		case '*':
			if p.peek(1) == '*' {
				return left, nil
			}
			op = "*"
		case '/':
			if op = "/"; p.peek(1) == '/' {
				op = "//"
			}
		case '%':
			op = "%"
		default:
			return left, nil
		}
		p.at += len(op)
		var right *Expr
		if right, err = p.unary(); err == nil {
			left, err = p.join(Binary, op, at, left, right)
		}
	}
	return nil, err
}

func (p *parser) unary() (*Expr, error) {
	p.blanks()
	at := p.at
	minus := p.take('-')
	if !minus && !p.take('+') {
		return p.power()
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	e, err := p.unary()
	p.depth--
	if err != nil || !minus {
		return e, err
	}
	return p.join(Negate, "", at, e)
}

func (p *parser) power() (*Expr, error) {
	base, err := p.labelled()
	if err != nil {
		return nil, err
	}
	p.blanks()
	at := p.at
	if !p.take('^') && !p.accept("**") {
		return base, nil
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	exponent, err := p.unary()
	p.depth--
	if err != nil {
		return nil, err
	}
	return p.join(Binary, "^", at, base, exponent)
}

func (p *parser) labelled() (*Expr, error) {
	e, err := p.atom()
	for err == nil {
		if p.blanks(); p.peek(0) != '[' {
			return e, nil
		}
		start := p.at
		size := strings.IndexByte(p.text[start:], ']')
		if size < 0 {
			p.at = len(p.text)
			return nil, p.fail(`"]"`)
		}
		end := start + size
		text := p.words(start+1, end)
		switch again := strings.IndexByte(p.text[start+1:end], '['); {
		case text == "":
			p.at++
			return nil, p.fail("the text of a label")
		case again >= 0:
			p.at = start + 1 + again
			return nil, p.fail(`"]"`)
		case e.Label != "":
			text = e.Label + ", " + text
		}
		if utf8.RuneCountInString(text) > MaxLabel {
			return nil, play.Refuse(TooMuchWork, "column %d: a label has at most %d characters", start+1, MaxLabel)
		}
		e.Label = text
		p.at = end + 1
	}
	return nil, err
}

func (p *parser) atom() (*Expr, error) {
	p.blanks()
	at := p.at
	switch r := p.lower(0); {
	case digit(r) || r == '.' && digit(p.peek(1)):
		v, err := p.number()
		if err != nil {
			return nil, err
		}
		if err := p.part(); err != nil {
			return nil, err
		}
		if p.lower(0) == 'd' || p.lower(0) == 'u' && p.lower(1) == 'd' {
			return p.dice(p.constant(v, at+1), at)
		}
		e := p.put(Number, at+1)
		e.Value = v
		return e, nil
	case r == 'd' || r == 'u' && p.lower(1) == 'd':
		if p.lower(1) == 'w' && r == 'd' {
			return p.pool()
		}
		if err := p.part(); err != nil {
			return nil, err
		}
		return p.dice(p.constant(Whole(1), at+1), at)
	case r == '(':
		return p.parens()
	case r == '{':
		p.at++
		return p.group('}', nil, at)
	case letter(r):
		return p.call()
	}
	return nil, p.fail("a number, dice such as 2d6, or a parenthesis")
}

// number reads a whole or decimal number.
func (p *parser) number() (Value, error) {
	start := p.at
	whole, ok := p.digits(MaxNumber)
	if !ok {
		p.at = start
		return Value{}, p.fail("a number of at most " + strconv.Itoa(MaxNumber))
	}
	v := Whole(int64(whole))
	if p.peek(0) != '.' || !digit(p.peek(1)) {
		return v, nil
	}
	p.at++
	from := p.at
	part, ok := p.digits(decimals)
	if !ok || p.at-from > 6 {
		p.at = from
		return Value{}, p.fail("at most 6 decimals")
	}
	den := int64(1)
	for range p.at - from {
		den *= 10
	}
	v, err := v.Add(fraction(int64(part), den))
	return v, err
}

// digits reads a whole number; ok is false above the largest.
func (p *parser) digits(largest int) (n int, ok bool) {
	ok = true
	for digit(p.peek(0)) {
		if n = n*10 + int(p.text[p.at]-'0'); n > largest {
			n, ok = largest, false
		}
		p.at++
	}
	return n, ok
}

// parens reads an expression in parentheses, a set of several, or the count of dice.
func (p *parser) parens() (*Expr, error) {
	at := p.at
	p.at++
	e, err := p.compare()
	if err != nil {
		return nil, err
	}
	p.blanks()
	if p.peek(0) == ',' {
		return p.group(')', e, at)
	}
	if !p.take(')') {
		return nil, p.fail(`")" or an operator`)
	}
	if p.lower(0) == 'd' && p.dieAt(0) && p.lower(1) != 'w' || p.lower(0) == 'u' && p.lower(1) == 'd' {
		return p.dice(e, at)
	}
	return e, nil
}

// group reads parts up to the end sign, the first maybe read already.
func (p *parser) group(end byte, first *Expr, at int) (*Expr, error) {
	var parts []*Expr
	if first != nil {
		parts = append(parts, first)
	}
	for {
		if len(parts) > 0 {
			p.blanks()
			if p.take(end) {
				break
			}
			if !p.take(',') {
				return nil, p.fail(`"," or "` + string(rune(end)) + `"`)
			}
			if p.blanks(); end == ')' && p.take(')') { // a comma more
				break
			}
		}
		e, err := p.compare()
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	if end == ')' && len(parts) == 1 {
		return parts[0], nil // a set of one part, of which nothing can be chosen
	}
	e, err := p.node(Group, at+1)
	if err != nil {
		return nil, err
	}
	e.Args = parts
	return e, p.mods(e)
}

func (p *parser) call() (*Expr, error) {
	at := p.at
	for letter(p.peek(0)) {
		p.at++
	}
	name := strings.ToLower(p.text[at:p.at])
	arity, known := functions[name]
	if !known {
		p.at = at
		return nil, p.fail("a number, dice such as 2d6, or a function")
	}
	p.blanks()
	if !p.take('(') {
		return nil, p.fail(`"(" of ` + name)
	}
	e, err := p.node(Call, at+1)
	if err != nil {
		return nil, err
	}
	e.Op = name
	for {
		arg, err := p.compare()
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		if p.blanks(); !p.take(',') {
			break
		}
	}
	switch {
	case p.peek(0) != ')':
		return nil, p.fail(`"," or ")"`)
	case arity > 0 && len(e.Args) != arity:
		return nil, p.fail(name + " with " + strconv.Itoa(arity) + " arguments")
	}
	p.at++
	return e, nil
}

// pool reads a Danger World pool such as dw5d2p1.
func (p *parser) pool() (*Expr, error) {
	at := p.at
	var dice Special
	for _, part := range [...]struct {
		mark string
		n    *int
	}{{"dw", &dice.Normal}, {"d", &dice.Danger}, {"p", &dice.Penalty}} {
		start := p.at
		if p.lower(0) != part.mark[0] {
			continue
		}
		p.at += len(part.mark)
		if !digit(p.peek(0)) {
			return nil, p.fail("a number of dice")
		}
		var ok bool
		if *part.n, ok = p.digits(MaxDice); !ok || dice.Normal+dice.Danger+dice.Penalty > MaxDice {
			return nil, play.Refuse(TooMuchWork, "column %d: a notation has at most %d dice", start+1, MaxDice)
		}
	}
	e, err := p.node(Dice, at+1)
	if err != nil {
		return nil, err
	}
	e.Sort, e.Special = Pool, &dice
	p.dices += dice.Normal + dice.Danger + dice.Penalty
	return e, nil
}

// dice reads what follows the count.
func (p *parser) dice(count *Expr, at int) (*Expr, error) {
	if count.Kind == Number {
		switch {
		case !count.Value.IsWhole() || count.Value.num < 1:
			p.at = at
			return nil, p.fail("at least 1 die")
		case count.Value.num > MaxDice:
			return nil, play.Refuse(TooMuchWork, "column %d: a notation has at most %d dice", at+1, MaxDice)
		}
	}
	e, err := p.node(Dice, at+1)
	if err != nil {
		return nil, err
	}
	e.Count = count
	if count.Kind == Number {
		p.dices += int(count.Value.num)
	}
	if p.lower(0) == 'u' {
		e.Sort = Usage
		p.at++
	}
	p.at++ // the d
	if err := p.sides(e); err != nil {
		return nil, err
	}
	return e, p.mods(e)
}

func (p *parser) sides(e *Expr) error {
	at := p.at
	switch r := p.lower(0); {
	case digit(r):
		n, ok := p.digits(MaxSides)
		switch {
		case !ok:
			p.at = at
			return p.fail("at most " + strconv.Itoa(MaxSides) + " sides")
		case n < 1:
			p.at = at
			return p.fail("at least 1 side")
		case e.Sort == Usage && !slices.Contains(UsageSides, n):
			p.at = at
			return p.fail("4, 6, 8, 10, 12 or 20 sides of a usage die")
		}
		e.Sides = p.constant(Whole(int64(n)), at+1)
		return nil
	case e.Sort == Usage:
		return p.fail("4, 6, 8, 10, 12 or 20 sides of a usage die")
	case r == '%':
		p.at++
		e.Sides = p.constant(Whole(100), at+1)
		return nil
	case r == 'f':
		p.at++
		e.Sort = Fate
		if p.accept(".1") {
			e.Sort = FateOne
		} else {
			p.accept(".2")
		}
		return nil
	case r == '(':
		p.at++
		var err error
		if e.Sides, err = p.compare(); err != nil {
			return err
		}
		if p.blanks(); !p.take(')') {
			return p.fail(`")" or an operator`)
		}
		return nil
	case r == '{':
		return p.faces(e)
	}
	return p.fail("the number of sides")
}

// faces reads the list of a custom die.
func (p *parser) faces(e *Expr) error {
	e.Sort, e.Special = Custom, new(Special)
	p.at++
	for {
		p.blanks()
		negative := p.take('-')
		start := p.at
		if !digit(p.peek(0)) {
			return p.fail("a whole number that a face shows")
		}
		n, ok := p.digits(MaxSides)
		if !ok {
			p.at = start
			return p.fail("a face of at most " + strconv.Itoa(MaxSides))
		}
		if negative {
			n = -n
		}
		if e.Faces = append(e.Faces, n); len(e.Faces) > MaxFaces {
			return play.Refuse(TooMuchWork, "a die has at most %d faces", MaxFaces)
		}
		if p.blanks(); p.take('}') {
			return nil
		}
		if !p.take(',') {
			return p.fail(`"," or "}"`)
		}
	}
}

func (p *parser) fail(want string) error {
	found := "the end"
	switch {
	case p.at >= len(p.text):
	case p.raw != nil:
		found = strconv.QuoteRune(p.raw[p.at])
	default:
		found = strconv.QuoteRune(rune(p.text[p.at]))
	}
	return play.Refuse(BadNotation, "column %d: found %s, expected %s", p.at+1, found, want)
}
