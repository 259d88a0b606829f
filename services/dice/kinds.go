package dice

import "github.com/wayfarer-rpg/wayfarer/internal/journal/archive"

// Kinds lists what the service keeps, for tools that walk its journals: the dice streams first, since roll logs draw from
// them.
func Kinds() []archive.Kind {
	stream := streamSpec.Walk(nil)
	stream.Seed = func(state any) archive.Seed {
		s := state.(streamState) //nolint:forcetypeassert // of its own Refold
		seed := archive.Seed{Seed: s.Seed, Drawn: s.Drawn, Revealed: s.Revealed}
		if s.ClientSeed != nil {
			seed.Client = *s.ClientSeed
		}
		return seed
	}
	return []archive.Kind{stream, logSpec.Walk(nil)}
}
