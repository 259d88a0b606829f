package scene

import (
	"context"
	"errors"
	"fmt"
	"slices"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// errDone says that somebody else has taken the step.
var errDone = errors.New("done already")

// System is the name of the rule system among a campaign's rulesets.
const System = "danger-world"

// itself makes calls for this service, not for the user whose call it serves: borrowing and giving back are the scene's
// doing.
func itself(ctx context.Context) context.Context { return auth.WithoutActor(ctx) }

// actor is who takes the steps that no user asked for.
const actor = "service:party"

// step is the command of a saga's step. Its id is derived, so whoever repeats the step gets the first answer. The blank in
// it keeps it apart from every id that a caller can send.
func step(at journal.At[scene], name string) adapter.Command {
	return adapter.Command{
		Caller: adapter.Caller{Campaign: at.Campaign, Subject: actor, Service: true, Itself: true},
		Stream: at.Stream, RequestID: "step " + requestid.Derive(at.Stream, name), RequestHash: name,
	}
}

// carry takes every step that a scene owes to lenders, forward only, and tells whether nothing is owed any more. Each step
// may be repeated, also by several at once.
func (s *Server) carry(ctx context.Context, name string) (bool, error) {
	for {
		at, err := s.scenes.Load(ctx, name)
		if err != nil {
			return false, err
		}
		switch {
		case !at.State.owes():
			return true, s.scenes.Journal().Settle(ctx, name, at.Seq)
		case at.State.Phase == preparing:
			err = s.prepare(ctx, at)
		case at.State.Phase == undoing:
			err = s.undo(ctx, at)
		case len(at.State.Joining) > 0:
			err = s.join(ctx, at, at.State.Joining[0])
		case len(at.State.Owed) > 0:
			err = s.giveSheetBack(ctx, at, at.State.Owed[0])
		default:
			err = s.settle(ctx, at)
		}
		if err != nil && !errors.Is(err, errDone) {
			return false, err
		}
	}
}

// record commits a step whose events depend on nothing but what still holds.
func (s *Server) record(ctx context.Context, at journal.At[scene], name string, still func(scene) bool, event *partyv1.SceneEvent) error {
	_, err := s.scenes.Commit(ctx, step(at, name), func(_ context.Context, at journal.At[scene], _ *play.Dice) (d adapter.Decision[*partyv1.SceneEvent], err error) {
		if !still(at.State) {
			return d, errDone
		}
		return decided(at.State, event)
	})
	return err
}

// decided makes a decision of events and marks what they make the scene owe.
func decided(before scene, events ...*partyv1.SceneEvent) (d adapter.Decision[*partyv1.SceneEvent], err error) {
	next := before
	for _, e := range events {
		if next, err = next.apply(e); err != nil {
			return d, err
		}
	}
	return adapter.Decision[*partyv1.SceneEvent]{Events: events, Owing: next.owes(), Settled: before.owes() && !next.owes()}, nil
}

// prepare borrows everything, then begins play. Only a refusal ends a start; anything else is tried again.
func (s *Server) prepare(ctx context.Context, at journal.At[scene]) error {
	came, err := s.borrow(ctx, at)
	if err == nil {
		err = s.begin(ctx, at, came)
	}
	f, ok := refused(err)
	if !ok {
		return err
	}
	// Journaled before anything is given back: it beats a start by its place in the journal.
	return s.record(ctx, at, "undoing", func(x scene) bool { return x.Phase == preparing },
		&partyv1.SceneEvent{Event: &partyv1.SceneEvent_Undoing{Undoing: undoingOf(f)}})
}

// refused returns the fault of a refusal. Other errors may pass.
func refused(err error) (*fault.Error, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return nil, false
	}
	switch f.Kind { //nolint:exhaustive // all others may pass
	case fault.FailedPrecondition, fault.NotFound, fault.InvalidArgument, fault.AlreadyExists:
		return f, true
	}
	return nil, false
}

// borrow makes the dice stream and takes every lease.
func (s *Server) borrow(ctx context.Context, at journal.At[scene]) ([]*partyv1.CharacterCame, error) {
	_, err := s.cfg.Dice.CreateStream(itself(ctx), &dicev1.CreateStreamRequest{
		Parent: at.Campaign, StreamId: adapter.IDOf(at.State.Stream), Holder: at.Stream, RequestId: requestid.Derive(at.Stream, "stream"),
	})
	if err != nil {
		return nil, fault.FromStatus(err)
	}
	var out []*partyv1.CharacterCame
	for _, character := range at.State.Lenders {
		c, err := s.take(ctx, at, character, "take/"+character)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *Server) take(ctx context.Context, at journal.At[scene], character, step string) (*partyv1.CharacterCame, error) {
	res, err := s.cfg.Lender.TakeLease(itself(ctx), &partyv1.TakeLeaseRequest{
		Lender: character, Facet: partyv1.Facet_FACET_SHEET, Holder: at.Stream, RequestId: requestid.Derive(at.Stream, step),
	})
	// The fields of a refusal are dropped: they are those of the lender's request.
	var f *fault.Error
	if err = fault.FromStatus(err); errors.As(err, &f) {
		bare := *f
		bare.Fields = nil
		err = bare.With("lender", character)
	}
	if err != nil {
		return nil, err
	}
	return &partyv1.CharacterCame{
		Character: character, Owner: res.GetSheet().GetOwner(), Title: res.GetSheet().GetTitle(), Sheet: res.GetSheet().GetSheet(),
	}, nil
}

// begin asks the rules and journals the start of play.
func (s *Server) begin(ctx context.Context, at journal.At[scene], came []*partyv1.CharacterCame) error {
	rules, seq, err := adapter.Parsed(ctx, s.cfg.Rulesets, at.Campaign, System, dangerworld.Default(), dangerworld.Parse)
	if err != nil {
		return err
	}
	_, err = s.scenes.Commit(ctx, step(at, "started"), func(_ context.Context, at journal.At[scene], dice *play.Dice) (d adapter.Decision[*partyv1.SceneEvent], err error) {
		if at.State.Phase != preparing {
			return d, errDone
		}
		started := &partyv1.SceneStarted{CampaignSeq: i32(seq)}
		if started.Ruleset, err = structOf(rules); err != nil {
			return d, err
		}
		game, err := follow(dangerworld.Scene{}, dangerworld.Begin{Ruleset: rules}, dice)
		for i, c := range came {
			if err == nil {
				game, err = follow(game, dangerworld.AddSheet{Sheet: SheetFrom(c.GetCharacter(), c.GetSheet())}, dice)
				err = under(err, fmt.Sprintf("characters[%d]", i))
			}
		}
		if err != nil {
			return d, err
		}
		for i, c := range came {
			c.Sheet = SheetOf(game.Sheets[i])
			started.Characters = append(started.Characters, c)
		}
		d, err = decided(at.State, &partyv1.SceneEvent{Event: &partyv1.SceneEvent_Started{Started: started}})
		d.Note = adapter.CampaignNote(seq)
		return d, err
	})
	return err
}

// follow decides and folds a command.
func follow(game dangerworld.Scene, c dangerworld.Command, dice *play.Dice) (dangerworld.Scene, error) {
	events, err := dangerworld.Decide(game, c, dice)
	for _, e := range events {
		game = dangerworld.Apply(game, e)
	}
	return game, err
}

// under puts the field of a refusal below the field of the request that it is about.
func under(err error, field string) error {
	var r *play.Refusal
	if !errors.As(err, &r) || r.Field == "" {
		return err
	}
	out := *r
	out.Field = field + "." + r.Field
	return &out
}

// undo gives back to every lender that was named, whether or not it lent anything: that closes the holder for good.
func (s *Server) undo(ctx context.Context, at journal.At[scene]) error {
	for _, character := range at.State.Lenders {
		if err := s.give(ctx, at, owed{Character: character}); err != nil {
			return err
		}
	}
	if err := s.reveal(ctx, at); err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	return s.record(ctx, at, "undone", func(x scene) bool { return x.Phase == undoing },
		&partyv1.SceneEvent{Event: &partyv1.SceneEvent_Undone{Undone: &partyv1.SceneUndone{}}})
}

// join borrows the sheet of somebody who comes later and lets them in, or turns them away.
func (s *Server) join(ctx context.Context, at journal.At[scene], j joining) error {
	turnedAway := func(f *fault.Error, held bool) error {
		return s.record(ctx, at, joinStep(j.Attempt), func(x scene) bool { return slices.Contains(x.Joining, j) },
			&partyv1.SceneEvent{Event: &partyv1.SceneEvent_CharacterTurnedAway{CharacterTurnedAway: &partyv1.CharacterTurnedAway{
				Character: j.Character, Refusal: undoingOf(f), Held: held,
			}}})
	}
	if at.State.Phase == over {
		return turnedAway(sceneOver(at.Stream), true)
	}
	came, err := s.take(ctx, at, j.Character, "take/"+joinStep(j.Attempt))
	if f, ok := refused(err); ok {
		return turnedAway(f, false)
	}
	if err != nil {
		return err
	}
	_, err = s.scenes.Commit(ctx, step(at, joinStep(j.Attempt)), func(_ context.Context, at journal.At[scene], dice *play.Dice) (d adapter.Decision[*partyv1.SceneEvent], err error) {
		if at.State.Phase != playing || !slices.Contains(at.State.Joining, j) {
			return d, errDone
		}
		game, err := follow(at.State.Game, dangerworld.AddSheet{Sheet: SheetFrom(j.Character, came.GetSheet())}, dice)
		if err != nil {
			return d, err
		}
		sheet, _ := game.Sheet(j.Character)
		came.Sheet = SheetOf(sheet)
		return decided(at.State, &partyv1.SceneEvent{Event: &partyv1.SceneEvent_CharacterCame{CharacterCame: came}})
	})
	if f, ok := refused(err); ok {
		return turnedAway(f, true)
	}
	return err
}

func joinStep(attempt int) string { return fmt.Sprintf("join/%d", attempt) }

func sceneOver(name string) *fault.Error {
	return fault.New(fault.FailedPrecondition, "SCENE_OVER", "%s is over", name)
}

// giveSheetBack gives back the sheet of somebody who left, or who could not stay.
func (s *Server) giveSheetBack(ctx context.Context, at journal.At[scene], o owed) error {
	if err := s.give(ctx, at, o); err != nil {
		return err
	}
	// A character comes once: the lease is closed after the first time.
	return s.record(ctx, at, "back/"+o.Character,
		func(x scene) bool {
			return slices.ContainsFunc(x.Owed, func(y owed) bool { return y.Character == o.Character })
		},
		&partyv1.SceneEvent{Event: &partyv1.SceneEvent_SheetGivenBack{SheetGivenBack: &partyv1.SheetGivenBack{Character: o.Character}}})
}

// settle gives everything back after the end and reveals the dice.
func (s *Server) settle(ctx context.Context, at journal.At[scene]) error {
	for _, sheet := range at.State.Game.Sheets {
		if err := s.give(ctx, at, owed{sheet.Character, &sheet}); err != nil {
			return err
		}
	}
	if err := s.reveal(ctx, at); err != nil {
		return err
	}
	return s.record(ctx, at, "settled", func(x scene) bool { return !x.Settled },
		&partyv1.SceneEvent{Event: &partyv1.SceneEvent_Settled{Settled: &partyv1.SceneSettled{}}})
}

func (s *Server) give(ctx context.Context, at journal.At[scene], o owed) error {
	req := &partyv1.ReturnLeaseRequest{
		Lender: o.Character, Facet: partyv1.Facet_FACET_SHEET, Holder: at.Stream, RequestId: requestid.Derive(at.Stream, "return/"+o.Character),
	}
	if o.Sheet != nil {
		req.Result = &partyv1.ReturnLeaseRequest_Sheet{Sheet: SheetOf(*o.Sheet)}
	}
	_, err := s.cfg.Lender.ReturnLease(itself(ctx), req)
	return fault.FromStatus(err)
}

func (s *Server) reveal(ctx context.Context, at journal.At[scene]) error {
	_, err := s.cfg.Dice.RevealStream(itself(ctx), &dicev1.RevealStreamRequest{
		Name: at.State.Stream, RequestId: requestid.Derive(at.Stream, "reveal"),
	})
	return fault.FromStatus(err)
}
