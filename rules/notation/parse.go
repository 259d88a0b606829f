package notation

import (
	"slices"
	"strconv"
	"strings"
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
	raw := []rune(text)
	if len(raw) > MaxLength {
		return Notation{}, tooLong()
	}
	p := parser{raw: raw, text: raw}
	for i, r := range raw {
		if q := plain(r); q != r {
			if &p.text[0] == &raw[0] {
				p.text = slices.Clone(raw)
			}
			p.text[i] = q
		}
	}
	e, err := p.whole()
	if err != nil {
		return Notation{}, err
	}
	n := Notation{Expr: e, Comment: strings.Join(p.comments, " ")}
	if len([]rune(n.Comment)) > MaxLabel {
		return Notation{}, play.Refuse(TooMuchWork, "a comment has at most %d characters", MaxLabel)
	}
	if n.Dice() > MaxDice {
		return Notation{}, play.Refuse(TooMuchWork, "a notation has at most %d dice", MaxDice)
	}
	if _, _, err := e.foresee(true); err != nil {
		return Notation{}, err
	}
	// The canonical spelling may be longer, and is to be read again.
	if len(raw) > MaxLength/4 && len([]rune(n.String())) > MaxLength {
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

type parser struct {
	raw, text []rune
	at        int
	parts     int
	depth     int
	comments  []string
	// room is where the next parts go: most notations need few, and one allocation is cheaper than one for each.
	room []Expr
}

// put keeps a part without counting it.
func (p *parser) put(e Expr) *Expr {
	if len(p.room) == 0 {
		p.room = make([]Expr, min(max(len(p.text)-p.at, 1), 8))
	}
	at := &p.room[0]
	p.room = p.room[1:]
	*at = e
	return at
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
func (p *parser) peek(ahead int) rune {
	if p.at+ahead < len(p.text) {
		return p.text[p.at+ahead]
	}
	return 0
}

func (p *parser) has(s string) bool {
	ahead := 0
	for _, r := range s {
		if p.peek(ahead) != r {
			return false
		}
		ahead++
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

func digit(r rune) bool { return r >= '0' && r <= '9' }

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// lower is the sign at a distance as a small letter.
func (p *parser) lower(ahead int) rune {
	r := p.peek(ahead)
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// blanks passes over blanks and comments.
func (p *parser) blanks() {
	for p.at < len(p.text) {
		switch r := p.text[p.at]; {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			p.at++
		case r == '#':
			p.comment(p.at+1, len(p.raw), len(p.raw))
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
			p.comment(p.at+2, len(p.raw), len(p.raw))
		default:
			return
		}
	}
}

// comment keeps the text up to end and goes on at next.
func (p *parser) comment(from, end, next int) {
	if text := tidy(p.text[from:end]); text != "" {
		p.comments = append(p.comments, text)
	}
	p.at = next
}

// tidy joins the words of a text by single blanks.
func tidy(text []rune) string { return strings.Join(strings.Fields(string(text)), " ") }

// operand tells whether an operand may begin at a distance: two slashes before one divide, else they begin a comment.
func (p *parser) operand(ahead int) bool {
	for p.peek(ahead) == ' ' || p.peek(ahead) == '\t' {
		ahead++
	}
	r := p.lower(ahead)
	switch {
	case digit(r), strings.ContainsRune("({+-.", r) && r != 0:
		return true
	case r == 'u':
		return p.lower(ahead+1) == 'd' && digit(p.peek(ahead+2))
	case r == 'd' && p.dieAt(ahead):
		return true
	}
	name := ""
	for ; letter(p.peek(ahead)); ahead++ {
		name += string(p.lower(ahead))
	}
	_, known := functions[name]
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

// node counts a part.
func (p *parser) node(e Expr) (*Expr, error) {
	if p.parts++; p.parts > MaxParts {
		return nil, play.Refuse(TooMuchWork, "a notation has at most %d parts", MaxParts)
	}
	return p.put(e), nil
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
	defer func() { p.depth-- }()
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	p.blanks()
	at := p.at
	op := p.comparison()
	if op == "" && p.accept("!=") {
		op = "<>"
	}
	if op == "" {
		return left, nil
	}
	right, err := p.sum()
	if err != nil {
		return nil, err
	}
	return p.node(Expr{Kind: Binary, Op: op, Args: []*Expr{left, right}, column: at + 1})
}

// comparison reads a sign of comparison, but not "!=", which dice take for an explosion.
func (p *parser) comparison() string {
	switch p.peek(0) {
	case '<', '=', '>', '≤', '≥', '≠':
	default:
		return ""
	}
	for _, s := range []struct{ text, op string }{
		{"<>", "<>"}, {"<=", "<="}, {">=", ">="}, {"==", "="}, {"=", "="}, {"<", "<"}, {">", ">"}, {"≤", "<="}, {"≥", ">="}, {"≠", "<>"},
	} {
		if p.has(s.text) {
			p.at += utf8.RuneCountInString(s.text)
			return s.op
		}
	}
	return ""
}

func (p *parser) sum() (*Expr, error) {
	left, err := p.product()
	for err == nil {
		p.blanks()
		at := p.at
		var op string
		switch {
		case p.accept("+"):
			op = "+"
		case p.accept("-"):
			op = "-"
		default:
			return left, nil
		}
		var right *Expr
		if right, err = p.product(); err == nil {
			left, err = p.node(Expr{Kind: Binary, Op: op, Args: []*Expr{left, right}, column: at + 1})
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
		switch {
		case p.has("**"):
			return left, nil
		case p.accept("*"):
			op = "*"
		case p.accept("//"):
			op = "//"
		case p.accept("/"):
			op = "/"
		case p.accept("%"):
			op = "%"
		default:
			return left, nil
		}
		var right *Expr
		if right, err = p.unary(); err == nil {
			left, err = p.node(Expr{Kind: Binary, Op: op, Args: []*Expr{left, right}, column: at + 1})
		}
	}
	return nil, err
}

func (p *parser) unary() (*Expr, error) {
	p.blanks()
	at := p.at
	minus := p.accept("-")
	if !minus && !p.accept("+") {
		return p.power()
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.unary()
	if err != nil || !minus {
		return e, err
	}
	return p.node(Expr{Kind: Negate, Args: []*Expr{e}, column: at + 1})
}

func (p *parser) power() (*Expr, error) {
	base, err := p.labelled()
	if err != nil {
		return nil, err
	}
	p.blanks()
	at := p.at
	if !p.accept("^") && !p.accept("**") {
		return base, nil
	}
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	exponent, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.node(Expr{Kind: Binary, Op: "^", Args: []*Expr{base, exponent}, column: at + 1})
}

func (p *parser) labelled() (*Expr, error) {
	e, err := p.atom()
	for err == nil {
		if p.blanks(); !p.has("[") {
			return e, nil
		}
		start := p.at
		end := slices.Index(p.text[start:], ']')
		if end < 0 {
			p.at = len(p.text)
			return nil, p.fail(`"]"`)
		}
		text := tidy(p.text[start+1 : start+end])
		switch {
		case text == "":
			p.at++
			return nil, p.fail("the text of a label")
		case strings.ContainsRune(text, '['):
			p.at = start + 1 + slices.Index(p.text[start+1:], '[')
			return nil, p.fail(`"]"`)
		case e.Label != "":
			text = e.Label + ", " + text
		}
		if len([]rune(text)) > MaxLabel {
			return nil, play.Refuse(TooMuchWork, "column %d: a label has at most %d characters", start+1, MaxLabel)
		}
		e.Label = text
		p.at = start + end + 1
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
		e, err := p.node(Expr{Kind: Number, Value: v, column: at + 1})
		if err != nil || p.lower(0) != 'd' && (p.lower(0) != 'u' || p.lower(1) != 'd') {
			return e, err
		}
		return p.dice(e, at)
	case r == 'd' || r == 'u' && p.lower(1) == 'd':
		if p.lower(1) == 'w' && r == 'd' {
			return p.pool()
		}
		e, err := p.node(Expr{Kind: Number, Value: Whole(1), column: at + 1})
		if err != nil {
			return nil, err
		}
		return p.dice(e, at)
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
	if p.has(",") {
		return p.group(')', e, at)
	}
	if !p.accept(")") {
		return nil, p.fail(`")" or an operator`)
	}
	if p.lower(0) == 'd' && p.dieAt(0) && p.lower(1) != 'w' || p.lower(0) == 'u' && p.lower(1) == 'd' {
		return p.dice(e, at)
	}
	return e, nil
}

// group reads parts up to the end sign, the first maybe read already.
func (p *parser) group(end rune, first *Expr, at int) (*Expr, error) {
	var parts []*Expr
	if first != nil {
		parts = append(parts, first)
	}
	for {
		if len(parts) > 0 {
			p.blanks()
			if p.accept(string(end)) {
				break
			}
			if !p.accept(",") {
				return nil, p.fail(`"," or "` + string(end) + `"`)
			}
			if p.blanks(); end == ')' && p.accept(")") { // a comma more
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
	e, err := p.node(Expr{Kind: Group, Args: parts, column: at + 1})
	if err != nil {
		return nil, err
	}
	return e, p.mods(e)
}

func (p *parser) call() (*Expr, error) {
	at := p.at
	name := ""
	for letter(p.peek(0)) {
		name += string(p.lower(0))
		p.at++
	}
	arity, known := functions[name]
	if !known {
		p.at = at
		return nil, p.fail("a number, dice such as 2d6, or a function")
	}
	p.blanks()
	if !p.accept("(") {
		return nil, p.fail(`"(" of ` + name)
	}
	e, err := p.node(Expr{Kind: Call, Op: name, column: at + 1})
	if err != nil {
		return nil, err
	}
	for {
		arg, err := p.compare()
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		if p.blanks(); !p.accept(",") {
			break
		}
	}
	switch {
	case !p.has(")"):
		return nil, p.fail(`"," or ")"`)
	case arity > 0 && len(e.Args) != arity:
		return nil, p.fail(name + " with " + strconv.Itoa(arity) + " arguments")
	}
	p.at++
	return e, nil
}

// pool reads a Danger World pool such as dw5d2p1.
func (p *parser) pool() (*Expr, error) {
	e := Expr{Kind: Dice, Sort: Pool, column: p.at + 1}
	for _, part := range []struct {
		text string
		n    *int
	}{{"dw", &e.Normal}, {"d", &e.Danger}, {"p", &e.Penalty}} {
		start := p.at
		if p.lower(0) != rune(part.text[0]) {
			continue
		}
		p.at += len(part.text)
		if !digit(p.peek(0)) {
			return nil, p.fail("a number of dice")
		}
		var ok bool
		if *part.n, ok = p.digits(MaxDice); !ok || e.Normal+e.Danger+e.Penalty > MaxDice {
			return nil, play.Refuse(TooMuchWork, "column %d: a notation has at most %d dice", start+1, MaxDice)
		}
	}
	return p.node(e)
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
	e, err := p.node(Expr{Kind: Dice, Count: count, column: at + 1})
	if err != nil {
		return nil, err
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
		e.Sides = p.put(Expr{Kind: Number, Value: Whole(int64(n)), column: at + 1})
		return nil
	case e.Sort == Usage:
		return p.fail("4, 6, 8, 10, 12 or 20 sides of a usage die")
	case r == '%':
		p.at++
		e.Sides = p.put(Expr{Kind: Number, Value: Whole(100), column: at + 1})
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
		if p.blanks(); !p.accept(")") {
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
	e.Sort = Custom
	p.at++
	for {
		p.blanks()
		negative := p.accept("-")
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
		if p.blanks(); p.accept("}") {
			return nil
		}
		if !p.accept(",") {
			return p.fail(`"," or "}"`)
		}
	}
}

func (p *parser) fail(want string) error {
	found := "the end"
	if p.at < len(p.raw) {
		found = strconv.QuoteRune(p.raw[p.at])
	}
	return play.Refuse(BadNotation, "column %d: found %s, expected %s", p.at+1, found, want)
}
