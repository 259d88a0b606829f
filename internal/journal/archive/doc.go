// Package archive takes whole journals out of their stores and puts them back: it owns the format of exported files, what
// makes a journal sound, and how far the journals of several services belong to one moment.
//
// It knows records, folds and dice streams, and nothing of what the events mean: each service tells its [Kind]s. Services own
// their stores; the tools that use this package are the operator's, and reach all stores at once.
//
// An exported file holds what the journals hold, seeds and secrets of the game included. The owner of what is exported has
// to guard it as they guard the stores.
package archive

import (
	"context"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Source is what is read of a store. Every [journal.Store] is one.
type Source interface {
	Read(ctx context.Context, stream string, after, limit int) ([]journal.Record, error)
	Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) ([]journal.Record, error)
	Owing(ctx context.Context, kind string, after journal.Obligation, limit int) ([]journal.Obligation, error)
	Head(ctx context.Context, stream string, fold int) (journal.Head, error)
}

// Kind is what has to be known of a kind of aggregate to walk its journals.
type Kind struct {
	// Name is the kind that its records carry.
	Name string
	// Refold begins to fold a stream.
	Refold func(stream string) journal.Refolding
	// DiceStream names the dice stream that a record decided on the state draws from; empty for none. Nil: none ever.
	DiceStream func(state any) string
	// Seed is set for the kind that is a dice stream: what faces are derived from.
	Seed func(state any) Seed
	// Owes tells that the state has something to be seen through, which the index of obligations lists then. Nil: never.
	Owes func(state any) bool
}

// Seed is what the faces of a dice stream follow from.
type Seed struct {
	Seed     []byte
	Client   string
	Drawn    bool
	Revealed bool
}

// Service is the journals of one service.
type Service struct {
	Name string
	// Kinds lists every kind in the service's store. One that others draw dice from comes before these.
	Kinds []Kind
	// Source is what is read, by [Export] and [Verify].
	Source Source
	// Store is written to, by [Import] and [RebuildHeads].
	Store journal.Store
}

func (s Service) kind(name string) (Kind, bool) {
	for _, k := range s.Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

const page = 256

// streams calls see with record 1 of every stream of a kind, of one campaign if that is not empty, newest first.
func streams(ctx context.Context, from Source, kind, campaign string, see func(first journal.Record) error) error {
	var at journal.Cursor
	for {
		firsts, err := from.Firsts(ctx, journal.Filter{Kind: kind, Campaign: campaign}, at, page)
		if err != nil {
			return err
		}
		for _, r := range firsts {
			if err := see(r); err != nil {
				return err
			}
			at = journal.Cursor{Time: r.Time, Stream: r.Stream}
		}
		if len(firsts) < page {
			return nil
		}
	}
}

// records calls see with the records of a stream in order, up to seq through if that is not 0.
func records(ctx context.Context, from Source, stream string, through int, see func(journal.Record) error) error {
	after := 0
	for {
		limit := page
		if through > 0 {
			limit = min(limit, through-after)
		}
		recs, err := from.Read(ctx, stream, after, limit)
		if err != nil {
			return err
		}
		for _, r := range recs {
			if err := see(r); err != nil {
				return err
			}
			after = r.Seq
		}
		if len(recs) < limit || after == through {
			return nil
		}
	}
}
