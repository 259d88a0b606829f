package travel

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

const (
	phasePreparing = travelv1.Journey_PHASE_PREPARING
	phaseTraveling = travelv1.Journey_PHASE_TRAVELING
	phaseEnding    = travelv1.Journey_PHASE_ENDING
	phaseEnded     = travelv1.Journey_PHASE_ENDED
	phaseAbandoned = travelv1.Journey_PHASE_ABANDONED
	phaseUndoing   = travelv1.Journey_PHASE_UNDOING
	phaseUndone    = travelv1.Journey_PHASE_UNDONE
)

// journey is the fold of a journey's journal. The messages in it are shared with the events and never changed.
type journey struct {
	Phase      travelv1.Journey_Phase `json:"phase"`
	Company    string                 `json:"company"`
	Characters []string               `json:"characters"`
	Region     string                 `json:"region"`
	Revision   int                    `json:"revision"`
	Expedition string                 `json:"expedition,omitempty"`
	Stream     string                 `json:"stream"`
	// Hex, Inside, Discovered and Params are how it is to begin.
	Hex        *diedrop.Hex   `json:"hex,omitempty"`
	Inside     string         `json:"inside,omitempty"`
	Discovered []string       `json:"discovered,omitempty"`
	Params     map[string]any `json:"params,omitempty"`
	Commitment []byte         `json:"commitment,omitempty"`
	// Owners tells whose the characters are.
	Owners map[string]string `json:"owners,omitempty"`
	// UsualCapacity names the members who have no capacity of their own.
	UsualCapacity []string        `json:"usual_capacity,omitempty"`
	Play          diedrop.Journey `json:"play"`
	// Refused is why the start is undone.
	Refused *refused `json:"refused,omitempty"`
	// Left are those whose vitals have to go back while the journey goes on.
	Left []vitalsDue `json:"left,omitempty"`
	// Joining are those whose vitals are being borrowed, NotJoined why others could not join, and Gone all who cannot again.
	Joining   []joiner            `json:"joining,omitempty"`
	NotJoined map[string]*refused `json:"not_joined,omitempty"`
	Gone      []string            `json:"gone,omitempty"`
	// Abandoned, Pack and Vitals are how it ends.
	Abandoned bool               `json:"abandoned,omitempty"`
	Pack      *partyv1.PackFacet `json:"pack,omitempty"`
	Vitals    []vitalsDue        `json:"vitals,omitempty"`
}

// vitalsDue is what has to go back to a character; no vitals leave them as they were.
type vitalsDue struct {
	Character string          `json:"character"`
	Vitals    *partyv1.Vitals `json:"vitals"`
}

// joiner is a character who means to join.
type joiner struct {
	Character string `json:"character"`
	Label     string `json:"label"`
}

// refused is a refusal as it was given.
type refused struct {
	Code     int               `json:"code"`
	Reason   string            `json:"reason"`
	Message  string            `json:"message"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Field    string            `json:"field,omitempty"`
}

func (j journey) over() bool {
	return j.Phase == phaseEnded || j.Phase == phaseAbandoned || j.Phase == phaseUndone
}

func (j journey) refusal() *travelv1.StartRefusal {
	if j.Refused == nil {
		return nil
	}
	r := j.Refused
	return &travelv1.StartRefusal{Code: i32(r.Code), Reason: r.Reason, Message: r.Message, Metadata: r.Metadata, Field: r.Field}
}

func refusedFrom(r *travelv1.StartRefusal) *refused {
	return &refused{Code: int(r.GetCode()), Reason: r.GetReason(), Message: r.GetMessage(), Metadata: r.GetMetadata(), Field: r.GetField()}
}

// apply folds one event without changing what j refers to.
func (j journey) apply(ev *travelv1.JourneyEvent) (journey, error) {
	switch e := ev.GetEvent().(type) {
	case *travelv1.JourneyEvent_Preparing:
		p := e.Preparing
		j.Phase, j.Company, j.Characters, j.Region, j.Revision = phasePreparing, p.GetCompany(), p.GetCharacters(), p.GetRegion(), int(p.GetRevision())
		j.Expedition, j.Stream = p.GetExpedition(), p.GetStream()
		j.Hex, j.Inside, j.Discovered, j.Params = hexPtrFrom(p.GetHex()), p.GetInside(), p.GetDiscovered(), p.GetParams().AsMap()
		return j, nil
	case *travelv1.JourneyEvent_Started:
		begun, err := startedFrom(e.Started, j.Region, j.Revision)
		if err != nil {
			return j, err
		}
		j.Phase, j.Commitment, j.UsualCapacity = phaseTraveling, e.Started.GetCommitment(), e.Started.GetUsualCapacity()
		j.Owners = map[string]string{}
		for _, o := range e.Started.GetOwners() {
			j.Owners[o.GetCharacter()] = o.GetSubject()
		}
		j.Play = diedrop.Apply(j.Play, begun)
		return j, nil
	case *travelv1.JourneyEvent_Undoing:
		j.Phase, j.Refused = phaseUndoing, refusedFrom(e.Undoing.GetRefusal())
		return j, nil
	case *travelv1.JourneyEvent_Undone:
		j.Phase = phaseUndone
		return j, nil
	case *travelv1.JourneyEvent_Ending:
		j.Phase, j.Abandoned, j.Pack, j.Left, j.Joining, j.Vitals = phaseEnding, e.Ending.GetAbandoned(), e.Ending.GetPack(), nil, nil, nil
		for _, v := range e.Ending.GetVitals() {
			j.Vitals = append(j.Vitals, vitalsDue{v.GetCharacter(), v.GetVitals()})
		}
		return j, nil
	case *travelv1.JourneyEvent_Ended:
		if j.Phase = phaseEnded; j.Abandoned {
			j.Phase = phaseAbandoned
		}
		return j, nil
	case *travelv1.JourneyEvent_VitalsReturned:
		j.Left = slices.DeleteFunc(slices.Clone(j.Left), func(v vitalsDue) bool { return v.Character == e.VitalsReturned.GetCharacter() })
		return j, nil
	case *travelv1.JourneyEvent_Joining:
		j.Joining = append(slices.Clone(j.Joining), joiner{e.Joining.GetCharacter(), e.Joining.GetLabel()})
		return j, nil
	case *travelv1.JourneyEvent_Joined:
		who := e.Joined.GetOwner()
		if e.Joined.GetUsualCapacity() {
			j.UsualCapacity = append(slices.Clone(j.UsualCapacity), j.Joining[j.joins(who.GetCharacter())].Label)
		}
		if j.Owners = maps.Clone(j.Owners); j.Owners == nil { // of a company of hirelings, in a state from a head
			j.Owners = map[string]string{}
		}
		j.Owners[who.GetCharacter()] = who.GetSubject()
		return j.settled(who.GetCharacter()), nil
	case *travelv1.JourneyEvent_JoinRefused:
		c := e.JoinRefused.GetCharacter()
		j = j.settled(c)
		j.NotJoined = maps.Clone(j.NotJoined)
		if j.NotJoined == nil {
			j.NotJoined = map[string]*refused{}
		}
		j.NotJoined[c] = refusedFrom(e.JoinRefused.GetRefusal())
		j.Left, j.Gone = append(slices.Clone(j.Left), vitalsDue{Character: c}), append(slices.Clone(j.Gone), c)
		return j, nil
	case *travelv1.JourneyEvent_MemberLeft:
		if m, ok := j.member(e.MemberLeft.GetName()); ok && m.Character != "" {
			j.Left = append(slices.Clone(j.Left), vitalsDue{m.Character, j.vitals(m)})
			j.Gone = append(slices.Clone(j.Gone), m.Character)
		}
	}
	e, ok := eventFrom(ev)
	if !ok {
		return j, fmt.Errorf("unknown journey event %T", ev.GetEvent())
	}
	j.Play = diedrop.Apply(j.Play, e)
	return j, nil
}

func (j journey) member(name string) (diedrop.Member, bool) {
	i := slices.IndexFunc(j.Play.Members, func(m diedrop.Member) bool { return m.Name == name })
	if i < 0 {
		return diedrop.Member{}, false
	}
	return j.Play.Members[i], true
}

func (j journey) vitals(m diedrop.Member) *partyv1.Vitals {
	return vitalsOf(m, slices.Contains(j.UsualCapacity, m.Name))
}

// travels tells whether a character is in the company still.
func (j journey) travels(character string) bool {
	return slices.ContainsFunc(j.Play.Members, func(m diedrop.Member) bool { return m.Character == character })
}

// joins returns the place of a character among those who mean to join, or -1.
func (j journey) joins(character string) int {
	return slices.IndexFunc(j.Joining, func(x joiner) bool { return x.Character == character })
}

// settled takes a character off those who mean to join.
func (j journey) settled(character string) journey {
	j.Joining = slices.DeleteFunc(slices.Clone(j.Joining), func(x joiner) bool { return x.Character == character })
	return j
}

// owes counts what has to be seen to while the company travels.
func (j journey) owes() int { return len(j.Left) + len(j.Joining) }

// ending is the event that closes play.
func (j journey) ending(abandoned bool) *travelv1.JourneyEvent {
	end := &travelv1.JourneyEnding{Abandoned: abandoned, Pack: packOf(j)}
	for _, m := range j.Play.Members {
		if m.Character != "" {
			end.Vitals = append(end.Vitals, &travelv1.VitalsResult{Character: m.Character, Vitals: j.vitals(m)})
		}
	}
	for _, l := range j.Left {
		end.Vitals = append(end.Vitals, &travelv1.VitalsResult{Character: l.Character, Vitals: proto.CloneOf(l.Vitals)})
	}
	for _, x := range j.Joining {
		end.Vitals = append(end.Vitals, &travelv1.VitalsResult{Character: x.Character})
	}
	return &travelv1.JourneyEvent{Event: &travelv1.JourneyEvent_Ending{Ending: end}}
}
