package expedition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// kind and foldVersion name the expedition's journal. Raise the version when the same events give another state.
const (
	kind        = "expedition"
	foldVersion = 3
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
	Delve     string   `json:"delve,omitempty"`
	Delves    []string `json:"delves,omitempty"`
	Abandoned bool     `json:"abandoned,omitempty"`
	// Settling are runs and delves that are over but still give back what they borrowed, or publish their seed.
	Settling []string `json:"settling,omitempty"`
	// Logged is the last record of each journey, run and delve that the log has.
	Logged map[string]int32 `json:"logged,omitempty"`
	// Unclaimed are the request ids of logged records for which no command was recorded as executed: those of commands
	// whose activity was given up between the call and the log, and of what the services do by themselves.
	Unclaimed map[string]string `json:"unclaimed,omitempty"`
	// Pending is a start that was begun and not seen through, as the JSON of a StartIntended.
	Pending json.RawMessage `json:"pending,omitempty"`
	// Sessions counts the sessions so far; Session is the open one, nil when none is.
	Sessions int      `json:"sessions,omitempty"`
	Session  *session `json:"session,omitempty"`
	Absence  absence  `json:"absence"`
	// Turn is what the open run waits for; nil for nothing.
	Turn *turnOf `json:"turn,omitempty"`
	// Lead is who leads the open run; nil when none is open, and in a run of which nothing was heard since there was such a
	// thing.
	Lead *leadOf `json:"lead,omitempty"`
	// Block is how many real minutes make a die in the latest delve, by the ruleset that is frozen in it; 0: see mark.
	Block int `json:"block,omitempty"`
}

// session is a time in which the table plays.
type session struct {
	Number int       `json:"number"`
	Opened time.Time `json:"opened"`
	// Minutes of it have been counted. Intended, when it is more, are being counted in Delve.
	Minutes  int    `json:"minutes"`
	Intended int    `json:"intended,omitempty"`
	Delve    string `json:"delve,omitempty"`
}

// absence is what happens when those whose turn it is let it pass.
type absence struct {
	Policy    expeditionv1.Absence_Policy `json:"policy,omitempty"`
	IdleAfter time.Duration               `json:"idle_after,omitempty"`
}

// acts tells whether anything happens.
func (a absence) acts() bool {
	return a.Policy == expeditionv1.Absence_POLICY_BASIC_ACTION || a.Policy == expeditionv1.Absence_POLICY_SKIP
}

// same tells whether it means the same.
func (a absence) same(o absence) bool {
	const wait = expeditionv1.Absence_POLICY_WAIT
	return a.IdleAfter == o.IdleAfter && cmp.Or(a.Policy, wait) == cmp.Or(o.Policy, wait)
}

// deadline is that of what begins now; zero: none.
func (a absence) deadline(now time.Time) time.Time {
	if a.IdleAfter <= 0 {
		return time.Time{}
	}
	return now.Add(a.IdleAfter).UTC().Truncate(time.Millisecond)
}

// turnOf is whose turn it is.
type turnOf struct {
	Step       string    `json:"step"`
	Round      int32     `json:"round"`
	Characters []string  `json:"characters,omitempty"`
	Deadline   time.Time `json:"deadline,omitzero"`
}

func (s state) clone() state {
	s.Runs, s.Delves, s.Settling = slices.Clone(s.Runs), slices.Clone(s.Delves), slices.Clone(s.Settling)
	s.Logged, s.Unclaimed = maps.Clone(s.Logged), maps.Clone(s.Unclaimed)
	if s.Session != nil {
		open := *s.Session
		s.Session = &open
	}
	return s
}

// unclaimed returns the journey, run or delve that has a record under the request id which the log knows without its command.
func (s state) unclaimed(requestID string) (string, bool) {
	for key, id := range s.Unclaimed {
		if id == requestID {
			name, _, _ := strings.Cut(key, "#")
			return name, true
		}
	}
	return "", false
}

// unclaimedRecord is unclaimed with the number of the record.
func (s state) unclaimedRecord(requestID string) (string, int32, bool) {
	for key, id := range s.Unclaimed {
		if id == requestID {
			name, number, _ := strings.Cut(key, "#")
			seq, err := strconv.ParseInt(number, 10, 32)
			return name, int32(seq), err == nil
		}
	}
	return "", 0, false
}

// open are the open run or delve and the journey, where there are such.
func (s state) open() []string {
	return slices.DeleteFunc([]string{s.Run, s.Delve, s.Journey}, func(name string) bool { return name == "" })
}

// inside is what the expedition is in: its journey alone, or the run or delve that is open.
func (s state) inside() target {
	switch {
	case s.Run != "":
		return runTarget
	case s.Delve != "":
		return delveTarget
	}
	return journeyTarget
}

// aggregate names what a target's commands are about.
func (s state) aggregate(of target) string {
	switch of {
	case runTarget:
		return s.Run
	case delveTarget:
		return s.Delve
	}
	return s.Journey
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
		s.Absence = absenceFrom(e.Created.GetAbsence())
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
			s.Logged = map[string]int32{}
		}
		if s.Unclaimed == nil { // also in a state from a head, where it was empty
			s.Unclaimed = map[string]string{}
		}
		name, rec := e.Logged.GetAggregate(), e.Logged.GetRecord()
		s.Logged[name] = rec.GetSeq()
		s.Unclaimed[recordKey(name, rec.GetSeq())] = rec.GetRequestId()
		for _, j := range e.Logged.GetJourneyEvents() {
			if p := j.GetPreparing(); p != nil { // start_journey may have named it, or another one
				s.Company = p.GetCompany()
			}
		}
		for _, d := range e.Logged.GetDelveEvents() {
			if o := d.GetOpened(); o != nil {
				s.Block = blockOf(o.GetRuleset())
			}
		}
	case *expeditionv1.ExpeditionEvent_Executed:
		x := e.Executed
		delete(s.Unclaimed, recordKey(x.GetAggregate(), x.GetSeq()))
		switch x.GetCommand() {
		case startJourney:
			s.Pending, s.Journey = nil, x.GetAggregate()
		case startRun:
			s.Pending = nil
			s.Runs = append(s.Runs, x.GetAggregate())
		case startDelve:
			s.Pending = nil
			s.Delves = append(s.Delves, x.GetAggregate())
		}
	case *expeditionv1.ExpeditionEvent_PhaseChanged:
		s.Phase, s.Settling = e.PhaseChanged.GetPhase(), e.PhaseChanged.GetSettling()
		s.Run, s.Delve = e.PhaseChanged.GetRun(), e.PhaseChanged.GetDelve()
	case *expeditionv1.ExpeditionEvent_Concluded:
		s.Phase, s.Settling, s.Abandoned = Concluded, nil, e.Concluded.GetAbandoned()
		s.Run, s.Delve, s.Session, s.Turn, s.Lead = "", "", nil, nil, nil
	case *expeditionv1.ExpeditionEvent_SessionOpened:
		s.Sessions = int(e.SessionOpened.GetNumber())
		s.Session = &session{Number: s.Sessions, Opened: e.SessionOpened.GetTime().AsTime()}
	case *expeditionv1.ExpeditionEvent_SessionClosed:
		s.Session = nil
	case *expeditionv1.ExpeditionEvent_ClockIntended:
		s.Session.Intended, s.Session.Delve = int(e.ClockIntended.GetMinutes()), e.ClockIntended.GetDelve()
	case *expeditionv1.ExpeditionEvent_ClockAdvanced:
		s.Session.Minutes, s.Session.Intended, s.Session.Delve = int(e.ClockAdvanced.GetMinutes()), 0, ""
	case *expeditionv1.ExpeditionEvent_AbsenceSet:
		s.Absence = absenceFrom(e.AbsenceSet.GetAbsence())
	case *expeditionv1.ExpeditionEvent_TurnChanged:
		s.Turn = turnFrom(e.TurnChanged.GetTurn())
	case *expeditionv1.ExpeditionEvent_LeadershipChanged:
		s.Lead = leadFrom(e.LeadershipChanged.GetLeadership())
	case *expeditionv1.ExpeditionEvent_StoodIn: // told, and nothing more
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
	x := &expeditionv1.Expedition{
		Name: at.Stream, Title: s.Title, Company: s.Company, Phase: s.Phase, Journey: s.Journey, Run: s.Run, Runs: s.Runs,
		Delve: s.Delve, Delves: s.Delves, Creator: s.Creator, Abandoned: s.Abandoned, Etag: at.Etag(), Seq: int32(at.Seq), //nolint:gosec // record numbers fit
		CreateTime: timestamppb.New(at.Created), UpdateTime: timestamppb.New(at.Updated),
		Absence: absenceOf(s.Absence), Turn: turnToProto(s.Turn), Leadership: leadToProto(s.Lead),
	}
	if o := s.Session; o != nil {
		x.Session = &expeditionv1.Session{Number: int32(o.Number), OpenTime: timestamppb.New(o.Opened), Minutes: int32(o.Minutes)} //nolint:gosec // few
	}
	return x
}

func absenceFrom(a *expeditionv1.Absence) absence {
	return absence{Policy: a.GetPolicy(), IdleAfter: a.GetIdleAfter().AsDuration()}
}

func absenceOf(a absence) *expeditionv1.Absence {
	out := &expeditionv1.Absence{Policy: cmp.Or(a.Policy, expeditionv1.Absence_POLICY_WAIT)}
	if a.IdleAfter > 0 {
		out.IdleAfter = durationpb.New(a.IdleAfter)
	}
	return out
}

func turnFrom(t *expeditionv1.Turn) *turnOf {
	if t == nil {
		return nil
	}
	out := &turnOf{Step: t.GetStep(), Round: t.GetRound(), Characters: t.GetCharacters()}
	if t.GetDeadline() != nil {
		out.Deadline = t.GetDeadline().AsTime()
	}
	return out
}

func turnToProto(t *turnOf) *expeditionv1.Turn {
	if t == nil {
		return nil
	}
	out := &expeditionv1.Turn{Step: t.Step, Round: t.Round, Characters: t.Characters}
	if !t.Deadline.IsZero() {
		out.Deadline = timestamppb.New(t.Deadline)
	}
	return out
}
