package dice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// streamState is the fold of a stream's events.
type streamState struct {
	Seed       []byte  `json:"seed"`
	Holder     string  `json:"holder"`
	Secret     bool    `json:"secret,omitempty"`
	ClientSeed *string `json:"client_seed,omitempty"`
	Drawn      bool    `json:"drawn,omitempty"`
	Revealed   bool    `json:"revealed,omitempty"`
}

var streamSpec = adapter.Spec[streamState, *dicev1.StreamEvent]{
	Kind:    "stream",
	Version: 1,
	New:     func() *dicev1.StreamEvent { return &dicev1.StreamEvent{} },
	Apply: func(s streamState, e *dicev1.StreamEvent) (streamState, error) {
		switch ev := e.GetEvent().(type) {
		case *dicev1.StreamEvent_Begun:
			s.Seed, s.Holder, s.Secret = ev.Begun.GetSeed(), ev.Begun.GetHolder(), ev.Begun.GetSecret()
		case *dicev1.StreamEvent_ClientSeedSet:
			s.ClientSeed = proto.String(ev.ClientSeedSet.GetClientSeed())
		case *dicev1.StreamEvent_Drawn:
			s.Drawn = true
		case *dicev1.StreamEvent_Revealed:
			s.Revealed = true
		default:
			return s, fmt.Errorf("unknown stream event %T", ev)
		}
		return s, nil
	},
	Ended: func(s streamState) bool { return s.Revealed },
}

const (
	streamRevealed = "STREAM_REVEALED"
	streamDrawn    = "STREAM_DRAWN"
	clientSeedSet  = "CLIENT_SEED_SET"
)

// errDone says that there is nothing left to record.
var errDone = errors.New("done already")

// streams keeps the dice streams.
type streams struct {
	agg *adapter.Aggregate[streamState, *dicev1.StreamEvent]
	// entropy is where seeds come from.
	entropy io.Reader
}

func streamEvent(e *dicev1.StreamEvent) adapter.Decision[*dicev1.StreamEvent] {
	return adapter.Decision[*dicev1.StreamEvent]{Events: []*dicev1.StreamEvent{e}}
}

// create begins a stream with a fresh seed. Creating it again with the same request gets the first one.
func (s streams) create(ctx context.Context, cmd adapter.Command, holder string, secret bool) (*dicev1.Stream, error) {
	cmd.Mode = journal.Create
	ans, err := s.agg.Commit(ctx, cmd, func(context.Context, journal.At[streamState], *play.Dice) (adapter.Decision[*dicev1.StreamEvent], error) {
		seed := make([]byte, dicestream.SeedSize)
		if _, err := io.ReadFull(s.entropy, seed); err != nil {
			return adapter.Decision[*dicev1.StreamEvent]{}, err
		}
		return streamEvent(&dicev1.StreamEvent{Event: &dicev1.StreamEvent_Begun{
			Begun: &dicev1.StreamBegun{Seed: seed, Holder: holder, Secret: secret},
		}}), nil
	})
	if err != nil {
		return nil, err
	}
	return streamOf(cmd.Caller, ans.State), nil
}

func (s streams) setClientSeed(ctx context.Context, cmd adapter.Command, text string) (*dicev1.Stream, error) {
	ans, err := s.agg.Commit(ctx, cmd, func(_ context.Context, at journal.At[streamState], _ *play.Dice) (adapter.Decision[*dicev1.StreamEvent], error) {
		switch {
		case at.State.Revealed:
			return adapter.Decision[*dicev1.StreamEvent]{}, play.Refuse(streamRevealed, "%s is revealed", at.Stream)
		case at.State.ClientSeed != nil:
			return adapter.Decision[*dicev1.StreamEvent]{}, play.Refuse(clientSeedSet, "%s has a client seed already", at.Stream)
		case at.State.Drawn:
			return adapter.Decision[*dicev1.StreamEvent]{}, play.Refuse(streamDrawn, "%s has been drawn from already", at.Stream)
		}
		return streamEvent(&dicev1.StreamEvent{Event: &dicev1.StreamEvent_ClientSeedSet{
			ClientSeedSet: &dicev1.ClientSeedSet{ClientSeed: text},
		}}), nil
	})
	if err != nil {
		return nil, err
	}
	return streamOf(cmd.Caller, ans.State), nil
}

// Key implements adapter.Keys for the roll logs of this service, and serves Draw. The first draw is journaled, since it
// closes the stream to a client seed; the key is derived from the state that closed it.
func (s streams) Key(ctx context.Context, name string, index int) ([]byte, error) {
	at, err := s.agg.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	if at.State.Revealed {
		return nil, fault.New(fault.FailedPrecondition, streamRevealed, "%s is revealed", name)
	}
	if !at.State.Drawn {
		if at, err = s.commitOnce(ctx, at, "drawn", func(st streamState) (*dicev1.StreamEvent, error) {
			switch {
			case st.Revealed:
				return nil, play.Refuse(streamRevealed, "%s is revealed", name)
			case st.Drawn:
				return nil, errDone
			}
			return &dicev1.StreamEvent{Event: &dicev1.StreamEvent_Drawn{Drawn: &dicev1.StreamDrawn{Index: int32(index)}}}, nil //nolint:gosec // a record number
		}); err != nil {
			return nil, err
		}
	}
	client := ""
	if at.State.ClientSeed != nil {
		client = *at.State.ClientSeed
	}
	return dicestream.Key(at.State.Seed, client, uint64(index)), nil //nolint:gosec // checked to be 1 or more
}

// reveal publishes the seed; revealing again changes nothing.
func (s streams) reveal(ctx context.Context, name string) (journal.At[streamState], error) {
	at, err := s.agg.Load(ctx, name)
	if err != nil || at.State.Revealed {
		return at, err
	}
	return s.commitOnce(ctx, at, "revealed", func(st streamState) (*dicev1.StreamEvent, error) {
		if st.Revealed {
			return nil, errDone
		}
		return &dicev1.StreamEvent{Event: &dicev1.StreamEvent_Revealed{Revealed: &dicev1.StreamRevealed{}}}, nil
	})
}

// commitOnce records a step that happens once in the life of a stream, whoever asks for it first.
func (s streams) commitOnce(ctx context.Context, at journal.At[streamState], step string, decide func(streamState) (*dicev1.StreamEvent, error)) (journal.At[streamState], error) {
	cmd := adapter.Command{
		Caller: adapter.Caller{Campaign: at.Campaign, Subject: "dice", Service: true, Itself: true},
		Stream: at.Stream, RequestID: requestid.Derive(at.Stream, step), RequestHash: step,
	}
	ans, err := s.agg.Commit(ctx, cmd, func(_ context.Context, at journal.At[streamState], _ *play.Dice) (adapter.Decision[*dicev1.StreamEvent], error) {
		e, err := decide(at.State)
		if err != nil {
			return adapter.Decision[*dicev1.StreamEvent]{}, err
		}
		return streamEvent(e), nil
	})
	if errors.Is(err, errDone) {
		return s.agg.Load(ctx, at.Stream)
	}
	return ans.State, err
}

// streamOf shows a stream: the seed only once it is revealed, and of a secret stream to game masters only.
func streamOf(c adapter.Caller, at journal.At[streamState]) *dicev1.Stream {
	commitment := dicestream.Commitment(at.State.Seed)
	out := &dicev1.Stream{
		Name: at.Stream, Holder: at.State.Holder, Commitment: slices.Clone(commitment[:]),
		ClientSeed: at.State.ClientSeed, Drawn: at.State.Drawn, Revealed: at.State.Revealed, Secret: at.State.Secret,
		CreateTime: timestamppb.New(at.Created),
	}
	if at.State.Revealed && (!at.State.Secret || c.GM()) {
		out.Seed = at.State.Seed
	}
	return out
}
