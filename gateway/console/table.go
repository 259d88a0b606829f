package console

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
)

// kind says how an argument is read.
type kind int

const (
	// The usual kind is one word or quotation.
	_ kind = iota
	// number is a whole number from 0.
	number
	// name is a word or quotation; as the last argument, the rest of the line up to the options.
	name
	// text is the rest of the line as it stands.
	text
	// pairs are one or several name=number.
	pairs
)

// arg is an argument by place, or an option written key=value.
type arg struct {
	name     string
	kind     kind
	optional bool
	// choices are all words that it may be; nil: any.
	choices []string
}

// command is one row of the table.
type command struct {
	// name is without the +; aliases do the same.
	name    string
	aliases []string
	topic   string
	args    []arg
	options []arg
	who     string
	help    string
	// anyone marks commands that need no acting character.
	anyone bool
	// plan makes the request that changes something; read answers without. Each command has one of them.
	plan func(*call, args) (proto.Message, error)
	read func(*call, args) (string, proto.Message, error)
}

// usage is how the command is written.
func (c *command) usage() string {
	var b strings.Builder
	b.WriteString("+" + c.name)
	put := func(optional bool, s string) {
		if optional {
			s = "[" + s + "]"
		}
		b.WriteString(" " + s)
	}
	for _, a := range c.args {
		switch {
		case a.kind == pairs:
			put(a.optional, a.pair()+" ...")
		case len(a.choices) > 0:
			put(a.optional, strings.Join(a.choices, "|"))
		default:
			put(a.optional, "<"+a.name+">")
		}
	}
	for _, o := range c.options {
		value := "<" + o.name + ">"
		if len(o.choices) > 0 {
			value = strings.Join(o.choices, "|")
		} else if o.kind == number {
			value = "<number>"
		}
		put(o.optional, o.name+"="+value)
	}
	return b.String()
}

func (c *command) toProto() *consolev1.Command {
	out := &consolev1.Command{Name: "+" + c.name, Usage: c.usage(), Text: c.help, Who: c.who, Topic: c.topic}
	for _, a := range c.aliases {
		out.Aliases = append(out.Aliases, "+"+a)
	}
	return out
}

// table has every command in the order of the help; byName finds one by its name or an alias.
var (
	table  []*command
	byName = map[string]*command{}
	topics []topic
)

type topic struct{ name, help string }

// A function, since the help reads the table that it is part of.
func init() { //nolint:gochecknoinits // see above
	for _, family := range []struct {
		topic
		commands []command
	}{
		{topic{"dungeon", "parties and dungeons by the cards"}, diggerCommands()},
		{topic{"travel", "journeys over the map"}, travelCommands()},
		{topic{"expedition", "journeys and dungeons as one whole"}, expeditionCommands()},
		{topic{"crawl", "turns inside sites"}, crawlCommands()},
		{topic{"pool", "delves by the danger pool"}, poolCommands()},
		{topic{"check", "scenes and their checks"}, checkCommands()},
		{topic{"missions", "missions and rumours"}, missionCommands()},
		{topic{"dice", "dice of your own, and odds"}, diceCommands()},
		{topic{"help", "this text, and the game masters"}, helpCommands()},
	} {
		topics = append(topics, family.topic)
		for _, c := range family.commands {
			c.topic = family.name
			table = append(table, &c)
			for _, n := range append([]string{c.name}, c.aliases...) {
				if byName[n] != nil {
					panic("two commands are called +" + n)
				}
				byName[n] = &c
			}
		}
	}
}

// known tells whether a word, with or without switches, begins a command.
func known(path string) bool {
	family, _, _ := strings.Cut(path, "/")
	return byName[path] != nil || slices.Contains(families(), family)
}

// names lists every name and alias, with the +, in the order of the table.
func names() []string {
	var out []string
	for _, c := range table {
		out = append(out, "+"+c.name)
		for _, a := range c.aliases {
			out = append(out, "+"+a)
		}
	}
	return out
}

func families() []string {
	var out []string
	for _, n := range names() {
		family, _, _ := strings.Cut(n[1:], "/")
		if !slices.Contains(out, family) {
			out = append(out, family)
		}
	}
	return out
}

// lookUp finds a command by its path.
func lookUp(path span) (*command, error) {
	if c := byName[path.text]; c != nil {
		return c, nil
	}
	family, sub, switched := strings.Cut(path.text, "/")
	if slices.Contains(families(), family) {
		var switches []string
		for _, n := range names() {
			if f, s, ok := strings.Cut(n[1:], "/"); ok && f == family {
				switches = append(switches, s)
			}
		}
		if !switched {
			return nil, refuse(reasonCommand, path.column, "a switch such as +"+family+"/"+switches[0], "+%s alone does nothing", family).
				suggest(prefixed("+"+family+"/", switches)...)
		}
		near := nearest(sub, switches)
		return nil, refuse(reasonSwitch, path.column+len([]rune(family))+1, "a switch of +"+family, "+%s has no switch %q", family, sub).
			suggest(prefixed("+"+family+"/", near)...)
	}
	return nil, refuse(reasonCommand, path.column, "a command; +help lists them", "there is no command +%s", path.text).
		suggest(nearest("+"+path.text, names())...)
}

func prefixed(prefix string, words []string) []string {
	var out []string
	for _, w := range words[:min(len(words), mostSuggestions)] {
		out = append(out, prefix+w)
	}
	return out
}

// args are the arguments of a line by name.
type args struct {
	values map[string]span
	// pairs are the arguments of kind pairs, in order.
	pairs []item
	// end is the column behind the line.
	end int
}

func (a args) has(name string) bool    { _, ok := a.values[name]; return ok }
func (a args) get(name string) span    { return a.values[name] }
func (a args) text(name string) string { return a.values[name].text }

// number returns an argument that was read as a number, or the value for a missing one.
func (a args) number(name string, missing int32) int32 {
	if !a.has(name) {
		return missing
	}
	n, _ := strconv.ParseInt(a.text(name), 10, 32) // checked when it was read
	return int32(n)
}

// parse reads a line to the last character.
func parse(line string) (*command, args, error) {
	path, rest, err := cut(line)
	if err != nil {
		return nil, args{}, err
	}
	c, err := lookUp(path)
	if err != nil {
		return nil, args{}, err
	}
	a, err := c.read1(rest)
	return c, a, err
}

// read1 reads the arguments of the command.
func (c *command) read1(rest span) (args, error) {
	a := args{values: map[string]span{}, end: rest.end()}
	if len(c.args) == 1 && c.args[0].kind == text {
		if rest.text == "" {
			return a, c.missing(a, c.args[0])
		}
		a.values[c.args[0].name] = rest
		return a, nil
	}
	list, err := items(rest)
	if err != nil {
		return a, err
	}
	var placed []item
	for _, it := range list {
		if len(c.args) > 0 && c.args[len(c.args)-1].kind == text && len(placed) == len(c.args)-1 {
			from := it.raw.column - rest.column
			a.values[c.args[len(c.args)-1].name] = span{string([]rune(rest.text)[from:]), it.raw.column}
			break
		}
		taken, err := c.option(a, it)
		if err != nil {
			return a, err
		}
		if !taken {
			placed = append(placed, it)
		}
	}
	if err := c.place(&a, placed); err != nil {
		return a, err
	}
	for _, o := range c.options {
		if !o.optional && !a.has(o.name) {
			return a, c.missing(a, o)
		}
	}
	return a, nil
}

// option takes an item that is one of the command's options.
func (c *command) option(a args, it item) (bool, error) {
	if !it.pair || len(c.options) == 0 {
		return false, nil
	}
	key := strings.ToLower(it.key.text)
	i := slices.IndexFunc(c.options, func(o arg) bool { return o.name == key })
	if i < 0 {
		var all []string
		for _, o := range c.options {
			all = append(all, o.name)
		}
		return false, refuse(reasonArgument, it.key.column, "one of "+strings.Join(all, ", "), "+%s has no option %q", c.name, it.key.text).
			suggest(nearest(key, all)...)
	}
	if a.has(key) {
		return false, refuse(reasonTooMany, it.key.column, "each option once", "%s is given twice", key)
	}
	value, err := c.options[i].check(it.value)
	if err != nil {
		return false, err
	}
	a.values[key] = value
	return true, nil
}

// place gives the items without an option to the arguments in order.
func (c *command) place(a *args, placed []item) error {
	for i, spec := range c.args {
		switch {
		case spec.kind == text:
			if !a.has(spec.name) && !spec.optional {
				return c.missing(*a, spec)
			}
			return nil
		case spec.kind == pairs:
			return c.placePairs(a, spec, placed)
		case len(placed) == 0 && spec.optional:
			return nil
		case len(placed) == 0:
			return c.missing(*a, spec)
		}
		value := plain(placed[0])
		placed = placed[1:]
		if spec.kind == name && i == len(c.args)-1 {
			for _, more := range placed {
				value.text += " " + plain(more).text
			}
			placed = nil
		}
		value, err := spec.check(value)
		if err != nil {
			return err
		}
		a.values[spec.name] = value
	}
	if len(placed) > 0 {
		return refuse(reasonTooMany, placed[0].raw.column, "the end of the line: "+c.usage(), "%q is too much", placed[0].raw.text)
	}
	return nil
}

// plain is an item read without a meaning for =.
func plain(it item) span {
	if it.pair {
		return it.raw
	}
	return it.value
}

func (c *command) placePairs(a *args, spec arg, placed []item) error {
	if len(placed) == 0 && !spec.optional {
		return c.missing(*a, spec)
	}
	for _, it := range placed {
		if !it.pair {
			return refuse(reasonArgument, it.raw.column, spec.pair(), "%q has no =", it.raw.text)
		}
		if len(spec.choices) == 0 {
			if _, err := (arg{name: it.key.text, kind: number}).check(it.value); err != nil {
				return err
			}
			continue
		}
		first, _, _ := strings.Cut(it.value.text, ",") // more may follow, which the command reads itself
		if _, err := (arg{name: "word here", choices: spec.choices}).check(span{first, it.value.column}); err != nil {
			return err
		}
	}
	a.pairs = placed
	return nil
}

// pair is how one of several pairs is written.
func (s arg) pair() string {
	if len(s.choices) > 0 {
		return "<name>=" + strings.Join(s.choices, "|")
	}
	return "<name>=<number>"
}

func (c *command) missing(a args, spec arg) error {
	expected := "<" + spec.name + ">: " + c.usage()
	e := refuse(reasonMissing, a.end, expected, "the %s is missing", spec.name)
	if len(spec.choices) > 0 && spec.kind != pairs {
		return e.suggest(spec.choices...)
	}
	return e
}

// check reads one argument.
func (s arg) check(value span) (span, error) {
	if s.kind == number {
		digits := strings.TrimPrefix(value.text, "#")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt32 || strings.HasPrefix(digits, "+") {
			return value, refuse(reasonArgument, value.column, "a whole number from 0", "%q is no number", value.text)
		}
		return span{strconv.FormatInt(n, 10), value.column}, nil
	}
	if value.text == "" {
		return value, refuse(reasonArgument, value.column, "<"+s.name+">", "the %s is empty", s.name)
	}
	if len(s.choices) == 0 {
		return value, nil
	}
	low := fold(value.text)
	if slices.Contains(s.choices, low) {
		return span{low, value.column}, nil
	}
	return value, refuse(reasonArgument, value.column, "one of "+strings.Join(s.choices, ", "), "%q is no %s", value.text, s.name).
		suggest(nearest(low, s.choices)...)
}
