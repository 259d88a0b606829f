package dungeon

import (
	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon/delve"
)

// Kinds lists what the service keeps, for tools that walk its journals.
func Kinds() []archive.Kind {
	return []archive.Kind{definitionSpec.Walk(nil), runSpec.Walk(run.owes), delve.Kind()}
}
