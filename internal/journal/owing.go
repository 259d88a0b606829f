package journal

import (
	"context"
	"errors"
	"fmt"
)

// Sweep walks the index of records that began something, and calls see for each stream of this kind that has one. See
// carries on with what the stream still owes and tells whether, as of the state it loaded or left behind, nothing is
// owed any more; only then the entries are removed. An error of see is kept and the walk goes on; all of them are
// returned joined.
//
// Entries may be left over from what was settled long ago, or from a commit that lost its race, so see must judge by
// the state alone.
func (j *Journal[S]) Sweep(ctx context.Context, see func(ctx context.Context, stream string) (settled bool, err error)) error {
	var errs []error
	var after Obligation
	for {
		page, err := j.store.Owing(ctx, j.fold.Kind, after, readPage)
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("sweep %s: %w", j.fold.Kind, err))...)
		}
		for i := 0; i < len(page); {
			n := i + 1
			for n < len(page) && page[n].Stream == page[i].Stream {
				n++
			}
			if err := j.sweepStream(ctx, page[i:n], see); err != nil {
				if ctx.Err() != nil {
					return errors.Join(append(errs, err)...)
				}
				errs = append(errs, fmt.Errorf("sweep %s: %w", page[i].Stream, err))
			}
			i = n
		}
		if len(page) < readPage {
			return errors.Join(errs...)
		}
		after = page[len(page)-1]
	}
}

// sweepStream sees to the entries of one stream. An entry is removed only when its record exists: else a commit that has
// announced its record but not inserted it yet would lose it.
func (j *Journal[S]) sweepStream(ctx context.Context, owed []Obligation, see func(context.Context, string) (bool, error)) error {
	through, due := 0, false
	for _, o := range owed {
		recs, err := j.store.Read(ctx, o.Stream, o.Seq-1, 1)
		if err != nil {
			return err
		}
		if len(recs) == 0 {
			break
		}
		through = o.Seq
		due = due || recs[0].Owing
	}
	if through == 0 {
		return nil
	}
	if due {
		settled, err := see(ctx, owed[0].Stream)
		if err != nil || !settled {
			return err
		}
	}
	return j.store.Settle(ctx, owed[0].Stream, through)
}

// Settle removes a stream's entries from the index of what is owed, up to the record with seq through, which must
// exist. Call it when the state after that record owes nothing; a Decision with Settled does the same.
func (j *Journal[S]) Settle(ctx context.Context, stream string, through int) error {
	if err := j.store.Settle(ctx, stream, through); err != nil {
		return fmt.Errorf("settle %s: %w", stream, err)
	}
	return nil
}
