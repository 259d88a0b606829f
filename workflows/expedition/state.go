package expedition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// kind and foldVersion name the expedition's journal. Raise the version when the same events give another state.
const (
	kind        = "expedition"
	foldVersion = 1
)

// state is the fold of an expedition's log.
type state struct {
	Title     string   `json:"title,omitempty"`
	Company   string   `json:"company,omitempty"`
	Creator   string   `json:"creator,omitempty"`
	Phase     Phase    `json:"phase"`
	Journey   string   `json:"journey,omitempty"`
	Run       string   `json:"run,omitempty"`
	Runs      []string `json:"runs,omitempty"`
	Abandoned bool     `json:"abandoned,omitempty"`
	// Settling are runs that are over but still give back what they borrowed.
	Settling []string `json:"settling,omitempty"`
	// Logged is the last record of each journey and run that the log has.
	Logged map[string]int32 `json:"logged,omitempty"`
	// Unclaimed are the request ids of logged records for which no command was recorded as executed: those of commands
	// whose activity was given up between the call and the log, and of what the services do by themselves.
	Unclaimed map[string]string `json:"unclaimed,omitempty"`
	// Pending is a start that was begun and not seen through, as the JSON of a StartIntended.
	Pending json.RawMessage `json:"pending,omitempty"`
}

func (s state) clone() state {
	s.Runs, s.Settling = slices.Clone(s.Runs), slices.Clone(s.Settling)
	s.Logged, s.Unclaimed = maps.Clone(s.Logged), maps.Clone(s.Unclaimed)
	return s
}

// unclaimed returns the journey or run that has a record under the request id which the log knows without its command.
func (s state) unclaimed(requestID string) (string, bool) {
	for key, id := range s.Unclaimed {
		if id == requestID {
			name, _, _ := strings.Cut(key, "#")
			return name, true
		}
	}
	return "", false
}

// open are the journey and the open run, where there are such.
func (s state) open() []string {
	return slices.DeleteFunc([]string{s.Run, s.Journey}, func(name string) bool { return name == "" })
}

// pending returns the start that has to be seen through; nil when there is none.
func (s state) pending() (*expeditionv1.StartIntended, error) {
	if s.Pending == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	p := &expeditionv1.StartIntended{}
	return p, protojson.Unmarshal(s.Pending, p)
}

// apply folds one event into a state that it may change.
func apply(s state, e *expeditionv1.ExpeditionEvent) (state, error) {
	switch e := e.GetEvent().(type) {
	case *expeditionv1.ExpeditionEvent_Created:
		s.Title, s.Company, s.Creator, s.Phase = e.Created.GetTitle(), e.Created.GetCompany(), e.Created.GetCreator(), Assembling
	case *expeditionv1.ExpeditionEvent_StartIntended:
		raw, err := marshal(e.StartIntended)
		if err != nil {
			return s, err
		}
		s.Pending = raw
	case *expeditionv1.ExpeditionEvent_StartRefused:
		s.Pending = nil
	case *expeditionv1.ExpeditionEvent_Logged:
		if s.Logged == nil {
			s.Logged, s.Unclaimed = map[string]int32{}, map[string]string{}
		}
		name, rec := e.Logged.GetAggregate(), e.Logged.GetRecord()
		s.Logged[name] = rec.GetSeq()
		s.Unclaimed[recordKey(name, rec.GetSeq())] = rec.GetRequestId()
	case *expeditionv1.ExpeditionEvent_Executed:
		x := e.Executed
		delete(s.Unclaimed, recordKey(x.GetAggregate(), x.GetSeq()))
		switch x.GetCommand() {
		case startJourney:
			s.Pending, s.Journey = nil, x.GetAggregate()
		case startRun:
			s.Pending = nil
			s.Runs = append(s.Runs, x.GetAggregate())
		}
	case *expeditionv1.ExpeditionEvent_PhaseChanged:
		s.Phase, s.Run, s.Settling = e.PhaseChanged.GetPhase(), e.PhaseChanged.GetRun(), e.PhaseChanged.GetSettling()
	case *expeditionv1.ExpeditionEvent_Concluded:
		s.Phase, s.Run, s.Settling, s.Abandoned = Concluded, "", nil, e.Concluded.GetAbandoned()
	default:
		return s, fmt.Errorf("unknown event %T", e)
	}
	return s, nil
}

func recordKey(aggregate string, seq int32) string { return fmt.Sprintf("%s#%d", aggregate, seq) }

func fold() journal.Fold[state] {
	return journal.Fold[state]{
		Kind: kind, Version: foldVersion, Clone: state.clone,
		Apply: func(s state, raw json.RawMessage) (state, error) {
			e := &expeditionv1.ExpeditionEvent{}
			if err := protojson.Unmarshal(raw, e); err != nil {
				return s, err
			}
			return apply(s, e)
		},
		Ended: func(s state) bool { return s.Phase == Concluded },
	}
}

// toProto shows an expedition.
func toProto(at journal.At[state]) *expeditionv1.Expedition {
	s := at.State
	return &expeditionv1.Expedition{
		Name: at.Stream, Title: s.Title, Company: s.Company, Phase: s.Phase, Journey: s.Journey, Run: s.Run, Runs: s.Runs,
		Creator: s.Creator, Abandoned: s.Abandoned, Etag: at.Etag(), Seq: int32(at.Seq), //nolint:gosec // record numbers fit
		CreateTime: timestamppb.New(at.Created), UpdateTime: timestamppb.New(at.Updated),
	}
}
