// Package jsonobject reads JSON objects whose shape is not worth types: what programs that play, and tests, get from REST.
package jsonobject

import (
	"strconv"
	"strings"
)

// Object is a JSON object, as encoding/json reads it or as literals write it.
type Object map[string]any

// Get walks a path of keys and places in lists, such as "run.members.0.exhaustion"; nil when it leads nowhere.
func (o Object) Get(path string) any {
	var at any = o
	for key := range strings.SplitSeq(path, ".") {
		switch x := at.(type) {
		case map[string]any:
			at = x[key]
		case Object:
			at = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			at = x[i]
		default:
			return nil
		}
	}
	return at
}

// Text returns the string at a path, "" when there is none.
func (o Object) Text(path string) string { s, _ := o.Get(path).(string); return s }

// Number returns the whole number at a path, 0 when there is none.
func (o Object) Number(path string) int { n, _ := o.Get(path).(float64); return int(n) }

// True tells whether the value at a path is true.
func (o Object) True(path string) bool { b, _ := o.Get(path).(bool); return b }

// Object returns the object at a path, nil when there is none.
func (o Object) Object(path string) Object {
	switch x := o.Get(path).(type) {
	case map[string]any:
		return x
	case Object:
		return x
	}
	return nil
}

// List returns the objects in the list at a path.
func (o Object) List(path string) []Object {
	raw, _ := o.Get(path).([]any)
	out := make([]Object, 0, len(raw))
	for _, x := range raw {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Numbers returns the whole numbers in the list at a path.
func (o Object) Numbers(path string) []int {
	raw, _ := o.Get(path).([]any)
	var out []int
	for _, x := range raw {
		n, _ := x.(float64)
		out = append(out, int(n))
	}
	return out
}

// With returns a copy in which a key has a value.
func (o Object) With(key string, value any) Object {
	out := make(Object, len(o)+1)
	for k, v := range o {
		out[k] = v
	}
	out[key] = value
	return out
}
