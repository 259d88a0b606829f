package scene

import "github.com/wayfarer-rpg/wayfarer/internal/journal/archive"

// Kind is what tools have to know that walk the journals of scenes.
func Kind() archive.Kind { return spec.Walk(scene.owes) }
