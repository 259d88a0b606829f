package expedition

import (
	"strings"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Phase is what an expedition is about.
type Phase = expeditionv1.Expedition_Phase

// The phases, from the first to the last.
const (
	Assembling = expeditionv1.Expedition_PHASE_ASSEMBLING
	Traveling  = expeditionv1.Expedition_PHASE_TRAVELING
	AtLocation = expeditionv1.Expedition_PHASE_AT_LOCATION
	Delving    = expeditionv1.Expedition_PHASE_DELVING
	Concluded  = expeditionv1.Expedition_PHASE_CONCLUDED
)

// Names of the commands that have a rule of their own, as in the contract.
const (
	startJourney = "start_journey"
	endJourney   = "end_journey"
	startRun     = "start_run"
	startDelve   = "start_delve"
)

// Reasons of refusals.
const (
	reasonEnded      = "EXPEDITION_ENDED"
	reasonWrongPhase = "WRONG_PHASE"
	reasonRunOpen    = "RUN_OPEN"
)

// target is who owns what a command is about.
type target int

const (
	journeyTarget target = iota
	runTarget
	delveTarget
)

// allowed refuses a command that cannot be given in the phase: nil, or a FAILED_PRECONDITION fault. Of is whose command it
// is, open what the expedition is in while it delves.
func allowed(phase Phase, command string, of, open target) error {
	var ok bool
	switch {
	case phase == Concluded:
		return fault.New(fault.FailedPrecondition, reasonEnded, "the expedition is over")
	case command == startJourney:
		ok = phase == Assembling
	case command == startRun, command == startDelve:
		ok = phase == AtLocation
	case of != journeyTarget:
		ok = phase == Delving && of == open
	case command == endJourney && phase == Delving:
		return fault.New(fault.FailedPrecondition, reasonRunOpen, "the journey cannot end while a run or delve is open").
			With("phase", phaseName(phase))
	default:
		ok = phase == Traveling || phase == AtLocation
	}
	if ok {
		return nil
	}
	return fault.New(fault.FailedPrecondition, reasonWrongPhase, "%s cannot be given while the expedition is %s", command, phaseName(phase)).
		With("phase", phaseName(phase))
}

// phaseName is the phase without its prefix, for example "AT_LOCATION".
func phaseName(p Phase) string { return strings.TrimPrefix(p.String(), "PHASE_") }
