package expedition

import "github.com/wayfarer-rpg/wayfarer/internal/journal/archive"

// Kinds lists what the service keeps, for tools that walk its journals.
func Kinds() []archive.Kind { return []archive.Kind{{Name: kind, Refold: fold().Refold}} }
