package travel

import (
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

var (
	regionSpec = adapter.Spec[region, *travelv1.RegionEvent]{
		Kind: "region", Version: 1, Apply: region.apply,
		New: func() *travelv1.RegionEvent { return new(travelv1.RegionEvent) },
	}
	journeySpec = adapter.Spec[journey, *travelv1.JourneyEvent]{
		Kind: "journey", Version: 1, Apply: journey.apply,
		New:      func() *travelv1.JourneyEvent { return new(travelv1.JourneyEvent) },
		Stream:   func(j journey) string { return j.Stream },
		Unlisted: func(j journey) bool { return j.Phase == phaseUndoing || j.Phase == phaseUndone },
		Ended:    journey.over,
	}
	boardSpec = adapter.Spec[board, *travelv1.MissionBoardEvent]{
		Kind: "missionBoard", Version: 1, Apply: board.apply,
		New:    func() *travelv1.MissionBoardEvent { return new(travelv1.MissionBoardEvent) },
		Stream: func(b board) string { return b.Stream },
	}
)

// Kinds lists what the service keeps, for tools that walk its journals.
func Kinds() []archive.Kind {
	return []archive.Kind{regionSpec.Walk(nil), journeySpec.Walk(journey.due), boardSpec.Walk(nil)}
}

// due tells whether advance has a step to take.
func (j journey) due() bool {
	switch j.Phase {
	case phasePreparing, phaseUndoing, phaseEnding:
		return true
	case phaseTraveling:
		return j.owes() > 0
	}
	return false
}
