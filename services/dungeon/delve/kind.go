package delve

import "github.com/wayfarer-rpg/wayfarer/internal/journal/archive"

// Kind is what tools have to know that walk the journals of delves.
func Kind() archive.Kind { return spec.Walk(delve.owes) }
