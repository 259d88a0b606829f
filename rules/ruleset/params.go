package ruleset

import (
	"slices"
	"strconv"
	"strings"
)

// declared reads the parameters of a document that declares them itself: an object of parameters by name, each with its
// default, its options and a note. An override is the member "value" beside them.
func declared(key string, bounds func(name string) (low, high int, ok bool)) func(document any) []Parameter {
	return func(document any) []Parameter {
		table, _ := lookup(document, []string{key}).(map[string]any)
		var out []Parameter
		for name, d := range table {
			entry, _ := d.(map[string]any)
			p := Parameter{Name: name, Default: entry["default"], path: []string{key, name, "value"}, fallback: []string{key, name, "default"}}
			if p.Note, _ = entry["note"].(string); p.Note == "" {
				p.Note = unsaid[name]
			}
			if rules, ok := entry["rules"].([]any); ok {
				for _, r := range rules {
					id, _ := r.(string)
					p.Rules = append(p.Rules, id)
				}
			}
			if point, ok := entry["open_point"].(string); ok && point != "-" {
				p.Rules = append(p.Rules, point)
			}
			p.describe(entry["options"])
			if low, high, ok := bounds(name); ok {
				p.Min, p.Max = bound(low), bound(high)
			}
			out = append(out, p)
		}
		return out
	}
}

// open bounds ranges that have no upper end, so that no sum overflows.
const open = 1_000_000

// describe finds the kind by the options and the default. A list of options is an enum, but for true and false; "1..3" and
// "0.." are ranges of whole numbers.
func (p *Parameter) describe(options any) {
	switch options := options.(type) {
	case []any:
		if _, ok := options[0].(bool); ok {
			p.Kind = Boolean
			return
		}
		p.Kind, p.Options, p.Nullable = Enum, options, slices.Contains(options, nil)
		return
	case string:
		low, high, _ := strings.Cut(options, "..")
		p.Kind = Integer
		if n, err := strconv.Atoi(low); err == nil {
			p.Min = bound(n)
		}
		p.Max = bound(open)
		if n, err := strconv.Atoi(high); err == nil {
			p.Max = bound(n)
		}
		return
	}
	p.Kind = kindOfDefault(p.Default)
	switch d := p.Default.(type) {
	case []any:
		if len(d) > 0 {
			p.Elements = kindOfDefault(d[0])
		}
	case map[string]any:
		for _, v := range d {
			if kindOfDefault(v) == Integer {
				p.Elements = Integer
			}
		}
	}
}

func kindOfDefault(v any) Kind {
	switch v.(type) {
	case bool:
		return Boolean
	case float64:
		return Integer
	case []any:
		return List
	case map[string]any:
		return Map
	}
	return Enum
}

func bound(n int) *float64 {
	f := float64(n)
	return &f
}

func unbounded(string) (low, high int, ok bool) { return 0, 0, false }

// unsaid are notes on parameters that a document leaves to speak for themselves.
var unsaid = map[string]string{
	"short_rest_minutes":       "length of a short rest",
	"short_rest_dice":          "dice that a short rest adds",
	"long_rest_minutes":        "length of a long rest",
	"long_rest_dice":           "dice that a long rest adds",
	"free_action_after_combat": "whether the first action after a combat adds no die",
}
