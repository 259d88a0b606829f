package ruleset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// The rule systems, by the names that the rest of the house knows them by.
const (
	Digger      = "digger"
	DangerWorld = "danger-world"
	DangerPool  = "danger-pool"
	DieDrop     = "die-drop"
)

// The refusals; all but the first name the parameter as their field.
const (
	// UnknownSystem refuses a rule system that there is not.
	UnknownSystem = "UNKNOWN_SYSTEM"
	// UnknownParameter refuses a name that is no parameter of the system.
	UnknownParameter = "UNKNOWN_PARAMETER"
	// WrongType refuses a value of another kind than the parameter's.
	WrongType = "WRONG_TYPE"
	// OutOfRange refuses a value that is below the least, above the greatest or none of the options.
	OutOfRange = "OUT_OF_RANGE"
	// Invalid refuses values that are possible by themselves and not beside the others, and tables in which something is
	// wrong.
	Invalid = "INVALID_RULESET"
)

// Kind says which values a parameter may have.
type Kind int

// The kinds. An enum's value is one of the options, of whatever type; null is a value only where the parameter says so.
const (
	Integer Kind = iota + 1
	Number
	Boolean
	Enum
	List
	Map
)

// Parameter is one value that a campaign may override.
type Parameter struct {
	// System is the rule system, Name the parameter as its catalogue writes it, for example "dp.cp_per_dp".
	System string
	Name   string
	Kind   Kind
	// Elements is the kind of what a list or map holds: Integer, Number, Enum for words, or 0 for anything else.
	Elements Kind
	// Min and Max bound a number, or the numbers of a list or map; nil: unbounded.
	Min, Max *float64
	// Options are the values of an enum, in the order of the catalogue.
	Options []any
	// Nullable allows null, which stands for "none".
	Nullable bool
	// Default is the shipped value, as JSON decodes it. Do not change it.
	Default any
	// Note tells people what it is for.
	Note string
	// Rules are the catalogue ids that name it: rules, or open points that it decides.
	Rules []string

	// path is where an override stands in the document; fallback is where the shipped value stands, when that is elsewhere.
	path, fallback []string
}

// value returns what the parameter is in a document.
func (p Parameter) value(tree any) any {
	if v := lookup(tree, p.path); v != nil || p.fallback == nil {
		return v
	}
	return lookup(tree, p.fallback)
}

// spec is a rule system as this package sees it.
type spec struct {
	document   func() []byte
	parse      func(document []byte) error
	parameters func(document any) []Parameter
	// complete adds to a patched document what follows from the overrides, and tells of each parameter set so from which
	// override; may be nil.
	complete func(document any, overridden func(name string) bool) map[string]string
}

var specs = map[string]spec{
	Digger: {
		document:   digger.DefaultDocument,
		parse:      func(d []byte) error { _, err := digger.ParseRuleset(d); return err },
		parameters: diggerParameters, complete: completeDigger,
	},
	DangerWorld: {
		document: dangerworld.DefaultDocument,
		parse:    func(d []byte) error { _, err := dangerworld.Parse(d); return err },
		parameters: declared("parameters", func(name string) (low, high int, ok bool) {
			r, ok := dangerworld.ParamRange(name)
			return r.Min, r.Max, ok
		}),
	},
	DangerPool: {
		document:   dangerpool.DefaultDocument,
		parse:      func(d []byte) error { _, err := dangerpool.Parse(d); return err },
		parameters: declared("parameters", dangerpool.ParamRange),
	},
	DieDrop: {
		document:   diedrop.DefaultDocument,
		parse:      func(d []byte) error { _, err := diedrop.Parse(d); return err },
		parameters: declared("params", unbounded),
	},
}

// system is a spec with its parameters by name.
type system struct {
	spec
	list  []Parameter
	named map[string]Parameter
}

var systems = sync.OnceValue(func() map[string]system {
	out := map[string]system{}
	for name, s := range specs {
		var tree any
		if err := json.Unmarshal(s.document(), &tree); err != nil {
			panic(fmt.Sprintf("ruleset: shipped document of %s: %v", name, err))
		}
		sys := system{spec: s, list: s.parameters(tree), named: map[string]Parameter{}}
		slices.SortFunc(sys.list, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
		for i := range sys.list {
			p := &sys.list[i]
			p.System, p.Default = name, p.value(tree)
			sys.named[p.Name] = *p
		}
		out[name] = sys
	}
	return out
})

// Systems returns the rule systems in the order of their names.
func Systems() []string { return slices.Sorted(maps.Keys(specs)) }

// Known tells whether there is such a rule system.
func Known(system string) bool {
	_, ok := specs[system]
	return ok
}

// Parameters returns what a campaign may override, in the order of the names; nothing for an unknown system.
func Parameters(system string) []Parameter { return slices.Clone(systems()[system].list) }

// Effective returns the document of a system with overrides in it. Origins tells for every parameter whose value does not
// come from the shipped document which override it comes from: its own, that of the table around it, for a table one of an
// entry in it, and for a value that follows from others one of those. Refused are UNKNOWN_SYSTEM, UNKNOWN_PARAMETER, WRONG_TYPE, OUT_OF_RANGE and INVALID_RULESET.
// Values are as JSON decodes them; whole numbers may be of any type.
func Effective(system string, overrides map[string]any) (document []byte, origins map[string]string, err error) {
	sys, ok := systems()[system]
	if !ok {
		return nil, nil, play.Refuse(UnknownSystem, "there is no rule system %q", system)
	}
	names, err := sys.check(system, overrides)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return sys.document(), map[string]string{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(sys.document()))
	dec.UseNumber() // numbers that nobody touches stay written as they are
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, nil, fmt.Errorf("ruleset: shipped document of %s: %w", system, err)
	}
	for _, name := range names {
		patch(tree, sys.named[name].path, overrides[name])
	}
	origins = sys.origins(names)
	if sys.complete != nil {
		maps.Copy(origins, sys.complete(tree, func(name string) bool { _, ok := overrides[name]; return ok }))
	}
	if document, err = json.Marshal(tree); err != nil {
		return nil, nil, fmt.Errorf("ruleset: %w", err)
	}
	if err := sys.parse(document); err != nil {
		return nil, nil, sys.invalid(names, err)
	}
	return document, origins, nil
}

// check refuses names and values that are wrong by themselves. It returns the names so that a table comes before what is
// set in it.
func (sys system) check(name string, overrides map[string]any) ([]string, error) {
	names := slices.Sorted(maps.Keys(overrides))
	for _, n := range names {
		p, ok := sys.named[n]
		if !ok {
			return nil, play.Refuse(UnknownParameter, "%s has no parameter %q", name, n).At(n)
		}
		if err := p.Check(overrides[n]); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(sys.named[a].path) - len(sys.named[b].path) })
	return names, nil
}

// invalid turns what a system's package says of a document into a refusal. Its first line begins with the path at
// fault; when that is none of what was overridden, one of those that were has made it so.
func (sys system) invalid(names []string, err error) error {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if lines = append(lines, strings.TrimSpace(line)); len(lines) == 5 {
			break
		}
	}
	at := slices.MinFunc(names, func(a, b string) int { return rank(lines, a) - rank(lines, b) })
	code := Invalid
	if sys.named[at].Elements == Enum { // only its package knows the words
		code = OutOfRange
	}
	return play.Refuse(code, "no ruleset comes of this: %s", strings.Join(lines, "; ")).At(at)
}

// rank is the first line that is about a parameter; those after all lines speak of it nowhere.
func rank(lines []string, name string) int {
	i := slices.IndexFunc(lines, func(l string) bool {
		path, _, _ := strings.Cut(l, ": ")
		path = strings.TrimPrefix(strings.TrimPrefix(path, "parameters."), "params.")
		return path == name || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[") || strings.HasPrefix(name, path+".")
	})
	if i < 0 {
		i = slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, name) })
	}
	if i < 0 {
		return len(lines)
	}
	return i
}

func (sys system) origins(names []string) map[string]string {
	out := map[string]string{}
	for _, name := range names { // a table before its entries, so that the nearest is the last to say so
		at := sys.named[name].path
		for _, p := range sys.list {
			switch {
			case within(p.path, at):
				out[p.Name] = name
			case within(at, p.path) && out[p.Name] == "":
				out[p.Name] = name
			}
		}
	}
	return out
}

// within tells whether a path is at another or below it.
func within(path, at []string) bool {
	return len(path) >= len(at) && slices.Equal(path[:len(at)], at)
}

// Merge returns the overrides of a system after a change: what is set replaces what was, also what was set before inside of
// a table that is set now; what is cleared is gone. Dropped names what is no longer overridden, in order. Nothing is checked
// but the names to clear: one that is neither a parameter nor overridden is refused as UNKNOWN_PARAMETER.
func Merge(system string, present, set map[string]any, clear []string) (merged map[string]any, dropped []string, err error) {
	sys := systems()[system]
	merged = maps.Clone(present)
	if merged == nil {
		merged = map[string]any{}
	}
	for _, name := range clear {
		_, known := sys.named[name]
		if _, overridden := present[name]; !known && !overridden {
			return nil, nil, play.Refuse(UnknownParameter, "%s has no parameter %q", system, name).At(name)
		}
		delete(merged, name)
	}
	for name := range set {
		at := sys.named[name].path
		for other := range merged {
			if p := sys.named[other].path; len(at) > 0 && len(p) > len(at) && within(p, at) {
				delete(merged, other)
			}
		}
	}
	maps.Copy(merged, set)
	for name := range present {
		if _, still := merged[name]; !still {
			dropped = append(dropped, name)
		}
	}
	slices.Sort(dropped)
	return merged, dropped, nil
}

// maxBytes bounds the JSON of one value.
const maxBytes = 8 << 10

// Check refuses a value that the parameter cannot have, whatever the others are: WRONG_TYPE or OUT_OF_RANGE.
func (p Parameter) Check(v any) error {
	if raw, err := json.Marshal(v); err != nil { // a number that JSON does not know
		return play.Refuse(WrongType, "%s: %v", p.Name, err).At(p.Name)
	} else if len(raw) > maxBytes {
		return play.Refuse(OutOfRange, "%s has a value of %d bytes, of at most %d", p.Name, len(raw), maxBytes).At(p.Name)
	}
	v = normal(v)
	if v == nil && p.Nullable {
		return nil
	}
	if p.Kind == Enum {
		return p.checkOption(v)
	}
	if err := kindOf(p.Kind, v); err != "" {
		return play.Refuse(WrongType, "%s has to be %s", p.Name, err).At(p.Name)
	}
	switch v := v.(type) {
	case float64:
		return p.bounded(v, "")
	case []any:
		for i, e := range v {
			if err := p.element(e, fmt.Sprintf("[%d]", i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := p.element(v[key], "."+key); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOption tells a value of another type from one that is none of the options.
func (p Parameter) checkOption(v any) error {
	sameType := false
	for _, o := range p.Options {
		if o = normal(o); o == v {
			return nil
		}
		sameType = sameType || fmt.Sprintf("%T", o) == fmt.Sprintf("%T", v)
	}
	if !sameType {
		return play.Refuse(WrongType, "%s has to be one of %v", p.Name, p.Options).At(p.Name)
	}
	return play.Refuse(OutOfRange, "%s is %v, which is none of %v", p.Name, v, p.Options).At(p.Name)
}

func (p Parameter) element(v any, where string) error {
	if p.Elements == 0 {
		return nil // its package checks it
	}
	if err := kindOf(p.Elements, v); err != "" {
		return play.Refuse(WrongType, "%s%s has to be %s", p.Name, where, err).At(p.Name)
	}
	if n, ok := v.(float64); ok {
		return p.bounded(n, where)
	}
	return nil
}

func (p Parameter) bounded(n float64, where string) error {
	switch {
	case p.Min != nil && n < *p.Min:
		return play.Refuse(OutOfRange, "%s%s is %v, below %v", p.Name, where, n, *p.Min).At(p.Name)
	case p.Max != nil && n > *p.Max:
		return play.Refuse(OutOfRange, "%s%s is %v, above %v", p.Name, where, n, *p.Max).At(p.Name)
	}
	return nil
}

// kindOf says what a value would have to be, "" when it is that.
func kindOf(k Kind, v any) string {
	ok, want := false, ""
	switch k {
	case Integer:
		n, isNumber := v.(float64)
		ok, want = isNumber && n == math.Trunc(n), "a whole number"
	case Number:
		_, ok = v.(float64)
		want = "a number"
	case Boolean:
		_, ok = v.(bool)
		want = "true or false"
	case List:
		_, ok = v.([]any)
		want = "a list"
	case Map:
		_, ok = v.(map[string]any)
		want = "an object"
	case Enum:
		_, ok = v.(string)
		want = "a word"
	}
	if ok {
		return ""
	}
	return want
}

// normal maps all kinds of numbers to the one that JSON decodes to, at any depth.
func normal(v any) any {
	switch v.(type) {
	case nil, bool, string, float64:
		return v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		return v
	}
	return out
}

// lookup returns what stands at a path, nil where nothing does.
func lookup(tree any, path []string) any {
	for _, key := range path {
		object, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = object[key]
	}
	return tree
}

// patch sets what stands at a path. Objects on the way that a wider override took away are made again, so that the system's
// package sees what was asked for.
func patch(tree any, path []string, v any) {
	object, ok := tree.(map[string]any)
	if !ok {
		return
	}
	for _, key := range path[:len(path)-1] {
		next, ok := object[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[key] = next
		}
		object = next
	}
	object[path[len(path)-1]] = clone(v)
}

// clone copies a value, so that patching inside of an override does not change the caller's.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// Values returns what the parameters of a system are in a document of it, by name.
func Values(system string, document []byte) (map[string]any, error) {
	sys, ok := systems()[system]
	if !ok {
		return nil, play.Refuse(UnknownSystem, "there is no rule system %q", system)
	}
	var tree any
	if err := json.Unmarshal(document, &tree); err != nil {
		return nil, errors.Join(errors.New("ruleset: no document"), err)
	}
	out := map[string]any{}
	for _, p := range sys.list {
		out[p.Name] = p.value(tree)
	}
	return out, nil
}
