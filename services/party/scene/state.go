package scene

import (
	"maps"
	"slices"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// The phases of a scene.
const (
	preparing = "preparing"
	playing   = "playing"
	over      = "over"
	undoing   = "undoing"
	undone    = "undone"
)

// scene is the fold of a scene's events: the game, and what it borrows.
type scene struct {
	Phase       string   `json:"phase"`
	Title       string   `json:"title,omitempty"`
	Lenders     []string `json:"lenders,omitempty"`
	Stream      string   `json:"stream"`
	CampaignSeq int      `json:"campaign_seq,omitempty"`
	Refusal     *refusal `json:"refusal,omitempty"`

	Game   dangerworld.Scene `json:"game"`
	Owners map[string]string `json:"owners,omitempty"`
	Titles map[string]string `json:"titles,omitempty"`
	// Joining lists those whose sheets are being borrowed; Attempts counts all who ever were.
	Joining  []joining `json:"joining,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
	// Owed lists sheets still to be given back before the end.
	Owed    []owed `json:"owed,omitempty"`
	Settled bool   `json:"settled,omitempty"`
}

type joining struct {
	Character string `json:"character"`
	Attempt   int    `json:"attempt"`
}

// owed is a sheet that goes back; one that was borrowed and never played goes back as nil, unchanged.
type owed struct {
	Character string             `json:"character"`
	Sheet     *dangerworld.Sheet `json:"sheet,omitempty"`
}

// refusal is why a start was given up, or somebody turned away.
type refusal struct {
	Kind     fault.Kind        `json:"kind"`
	Reason   string            `json:"reason"`
	Message  string            `json:"message"`
	Field    string            `json:"field,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func refusalFrom(u *partyv1.SceneUndoing) *refusal {
	return &refusal{fault.Kind(u.GetCode()), u.GetReason(), u.GetMessage(), u.GetField(), u.GetMetadata()} //nolint:gosec // a gRPC code
}

func undoingOf(f *fault.Error) *partyv1.SceneUndoing {
	u := &partyv1.SceneUndoing{Code: i32(int(f.Kind)), Reason: f.Reason, Message: f.Message, Metadata: maps.Clone(f.Metadata)}
	if len(f.Fields) > 0 {
		u.Field = f.Fields[0].Field
	}
	return u
}

func (r refusal) fault() error {
	f := fault.New(r.Kind, r.Reason, "%s", r.Message)
	for k, v := range r.Metadata {
		f = f.With(k, v)
	}
	if r.Field != "" {
		f = f.At(r.Field, r.Message)
	}
	return f
}

var spec = adapter.Spec[scene, *partyv1.SceneEvent]{
	Kind: "scene", Version: 1,
	New:      func() *partyv1.SceneEvent { return &partyv1.SceneEvent{} },
	Apply:    scene.apply,
	Stream:   func(s scene) string { return s.Stream },
	Unlisted: func(s scene) bool { return s.Phase == undoing || s.Phase == undone },
	Ended:    func(s scene) bool { return s.Settled || s.Phase == undone },
}

// apply folds one event without changing what the old state refers to.
func (s scene) apply(e *partyv1.SceneEvent) (scene, error) {
	switch ev := e.GetEvent().(type) {
	case *partyv1.SceneEvent_Preparing:
		s.Phase, s.Title, s.Lenders, s.Stream = preparing, ev.Preparing.GetTitle(), ev.Preparing.GetCharacters(), ev.Preparing.GetStream()
		return s, nil
	case *partyv1.SceneEvent_Undoing:
		s.Phase, s.Refusal = undoing, refusalFrom(ev.Undoing)
		return s, nil
	case *partyv1.SceneEvent_Undone:
		s.Phase = undone
		return s, nil
	case *partyv1.SceneEvent_CharacterJoining:
		j := ev.CharacterJoining
		s.Joining = append(slices.Clone(s.Joining), joining{j.GetCharacter(), int(j.GetAttempt())})
		s.Attempts = int(j.GetAttempt())
		return s, nil
	case *partyv1.SceneEvent_CharacterTurnedAway:
		s = s.joined(ev.CharacterTurnedAway.GetCharacter())
		if ev.CharacterTurnedAway.GetHeld() {
			s.Owed = append(slices.Clone(s.Owed), owed{Character: ev.CharacterTurnedAway.GetCharacter()})
		}
		return s, nil
	case *partyv1.SceneEvent_SheetGivenBack:
		s.Owed = slices.DeleteFunc(slices.Clone(s.Owed), func(o owed) bool { return o.Character == ev.SheetGivenBack.GetCharacter() })
		return s, nil
	case *partyv1.SceneEvent_Ended:
		s.Phase = over
		return s, nil
	case *partyv1.SceneEvent_Settled:
		s.Settled = true
		return s, nil
	case *partyv1.SceneEvent_Started:
		s.Phase, s.CampaignSeq = playing, int(ev.Started.GetCampaignSeq())
		for _, c := range ev.Started.GetCharacters() {
			s = s.known(c)
		}
	case *partyv1.SceneEvent_CharacterCame:
		s = s.joined(ev.CharacterCame.GetCharacter()).known(ev.CharacterCame)
	case *partyv1.SceneEvent_CharacterWent:
		sheet := SheetFrom(ev.CharacterWent.GetCharacter(), ev.CharacterWent.GetSheet())
		s.Owed = append(slices.Clone(s.Owed), owed{sheet.Character, &sheet})
	}
	events, err := gameEventsFrom(e)
	if err != nil {
		return s, err
	}
	for _, g := range events {
		s.Game = dangerworld.Apply(s.Game, g)
	}
	return s, nil
}

func (s scene) joined(character string) scene {
	s.Joining = slices.DeleteFunc(slices.Clone(s.Joining), func(j joining) bool { return j.Character == character })
	return s
}

func (s scene) known(c *partyv1.CharacterCame) scene {
	s.Owners, s.Titles = maps.Clone(s.Owners), maps.Clone(s.Titles)
	if s.Owners == nil {
		s.Owners, s.Titles = map[string]string{}, map[string]string{}
	}
	s.Owners[c.GetCharacter()], s.Titles[c.GetCharacter()] = c.GetOwner(), c.GetTitle()
	return s
}

func (s scene) isJoining(character string) bool {
	return slices.ContainsFunc(s.Joining, func(j joining) bool { return j.Character == character })
}

// owes tells whether there is anything left to do for lenders.
func (s scene) owes() bool {
	switch s.Phase {
	case preparing, undoing:
		return true
	case playing, over:
		return len(s.Joining)+len(s.Owed) > 0 || s.Phase == over && !s.Settled
	}
	return false
}
