package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}

// ErrNotStill says that the journals were written to all the time while they were read.
var ErrNotStill = errors.New("the journals kept changing while they were looked through, so no moment could be caught: " +
	"try again, or stop the programs, or take a snapshot of the database by its own means")

// Scope is what of the journals is taken.
type Scope struct {
	// Campaign is the resource name of the only campaign to take; empty: everything.
	Campaign string
	// Frozen tells that the sources show one and the same moment already. Else the moment is found: see [Export].
	Frozen bool
	// Tries is how often the streams are looked through for such a moment; 0 means 10.
	Tries int
}

// Export writes the journals of the services to a file. It returns what it wrote, by service; what is not sound about the
// records is reported, and written nevertheless.
//
// The file shows all services at one moment, so what it holds could have been found after a crash at that moment, which
// services recover from by themselves. Unless the sources are frozen, that moment is found without stopping anybody: streams
// only grow, so if each of them ends, twice in a row, where it ended before, the moment between was such a one. It fails with
// [ErrNotStill] when somebody writes all the time.
func Export(ctx context.Context, w *Writer, services []Service, scope Scope, report func(Problem)) (map[string]Count, error) {
	check := NewChecker(services, report)
	var ends map[string]int
	if !scope.Frozen {
		var err error
		if ends, err = still(ctx, services, scope); err != nil {
			return nil, err
		}
	}
	for _, s := range services {
		for _, k := range s.Kinds {
			err := streams(ctx, s.Source, k.Name, scope.Campaign, func(first journal.Record) error {
				through := 0
				if !scope.Frozen {
					if through = ends[s.Name+"\x00"+first.Stream]; through == 0 {
						return nil // begun after the moment
					}
				}
				return records(ctx, s.Source, first.Stream, through, func(r journal.Record) error {
					return w.Write(lineOf(s.Name, check.Add(s.Name, r), r))
				})
			})
			if err != nil {
				return nil, fmt.Errorf("export %s of %s: %w", k.Name, s.Name, err)
			}
		}
	}
	return check.Counts(), nil
}

// still returns where each stream ended at one moment.
func still(ctx context.Context, services []Service, scope Scope) (map[string]int, error) {
	tries := scope.Tries
	if tries == 0 {
		tries = 10
	}
	ends := map[string]int{}
	for range tries {
		grown := false
		for _, s := range services {
			for _, k := range s.Kinds {
				err := streams(ctx, s.Source, k.Name, scope.Campaign, func(first journal.Record) error {
					key := s.Name + "\x00" + first.Stream
					end, err := endOf(ctx, s.Source, first.Stream, ends[key])
					grown = grown || end != ends[key]
					ends[key] = end
					return err
				})
				if err != nil {
					return nil, fmt.Errorf("look through %s of %s: %w", k.Name, s.Name, err)
				}
			}
		}
		if !grown {
			return ends, nil
		}
	}
	return nil, ErrNotStill
}

// endOf finds the last seq of a stream, which has one of at least after: in steps that grow, then by halves.
func endOf(ctx context.Context, from Source, stream string, after int) (int, error) {
	has := func(seq int) (bool, error) {
		recs, err := from.Read(ctx, stream, seq-1, 1)
		return len(recs) > 0, err
	}
	low, high := after, after+1
	for step := 1; ; step *= 2 {
		ok, err := has(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		low, high = high, high+step
	}
	for high-low > 1 { // low is there, high is not
		mid := low + (high-low)/2
		ok, err := has(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}

// Verify walks the journals of the services and reports what is not sound. Beside what a [Checker] looks at, whatever owes
// something has to be listed as owing.
func Verify(ctx context.Context, services []Service, scope Scope, report func(Problem)) (map[string]Count, error) {
	check := NewChecker(services, report)
	for _, s := range services {
		for _, k := range s.Kinds {
			listed, err := owing(ctx, s.Source, k.Name) // before the streams: an entry comes before its record
			if err != nil {
				return nil, fmt.Errorf("verify %s of %s: %w", k.Name, s.Name, err)
			}
			err = streams(ctx, s.Source, k.Name, scope.Campaign, func(first journal.Record) error {
				add := func(r journal.Record) error { check.Add(s.Name, r); return nil }
				if err := records(ctx, s.Source, first.Stream, 0, add); err != nil {
					return err
				}
				if !check.owes() || listed[first.Stream] {
					return nil
				}
				// Begun since the index was read, or settled since the stream was.
				if listed, err = owing(ctx, s.Source, k.Name); err != nil || listed[first.Stream] {
					return err
				}
				if !scope.Frozen {
					if err := rest(ctx, s.Source, first.Stream, check.seq, add); err != nil {
						return err
					}
				}
				if check.owes() {
					check.problem(0, "owes something, and is not listed as owing: nobody will see it through")
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("verify %s of %s: %w", k.Name, s.Name, err)
			}
		}
	}
	return check.Counts(), nil
}

func rest(ctx context.Context, from Source, stream string, after int, see func(journal.Record) error) error {
	recs, err := from.Read(ctx, stream, after, page)
	for _, r := range recs {
		err = errors.Join(err, see(r))
	}
	return err
}

// owing names the streams of a kind that are listed as owing.
func owing(ctx context.Context, from Source, kind string) (map[string]bool, error) {
	listed := map[string]bool{}
	var after journal.Obligation
	for {
		list, err := from.Owing(ctx, kind, after, page)
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			listed[o.Stream] = true
			after = o
		}
		if len(list) < page {
			return listed, nil
		}
	}
}

// VerifyFile reads a file to its end and reports what is not sound about the journals in it. It fails when the file is
// damaged. The services need neither source nor store.
func VerifyFile(in io.Reader, services []Service, report func(Problem)) (Header, map[string]Count, error) {
	r, err := NewReader(in)
	if err != nil {
		return Header{}, nil, err
	}
	of := slices.DeleteFunc(slices.Clone(services), func(s Service) bool { return !slices.Contains(r.Header.Services, s.Name) })
	check := NewChecker(of, report)
	for {
		l, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return r.Header, check.Counts(), nil
		case err != nil:
			return r.Header, nil, err
		}
		if l.Campaign != r.Header.Campaign && r.Header.Campaign != "" {
			report(Problem{l.Service, l.Stream, l.Seq, fmt.Sprintf("is of %q, the file of %q", l.Campaign, r.Header.Campaign)})
		}
		if stream := check.Add(l.Service, l.Record()); stream != l.DiceStream {
			report(Problem{l.Service, l.Stream, l.Seq, fmt.Sprintf("draws from %q, the file says %q", stream, l.DiceStream)})
		}
	}
}

// ConflictError says that a store has other records than a file. Nothing was imported.
type ConflictError struct{ Problems []Problem }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%d streams are there and differ from the file; the first: %s", len(e.Problems), e.Problems[0])
}

// Imported is what came of an import, by service.
type Imported struct {
	// New is how many records were added, Known how many were there already.
	New, Known int
}

// Import adds the records of a file to the stores of the services. What is there already has to be the same; a stream may
// have grown since the file was written, and a stream that the store has the beginning of is completed. So an import that
// was broken off may be repeated, and a whole one repeated changes nothing. It fails with a [ConflictError], before anything
// is added, when a stream differs.
//
// The file is to have been verified: see [VerifyFile]. It is read twice.
func Import(ctx context.Context, file io.ReadSeeker, services []Service) (map[string]Imported, error) {
	stores := map[string]journal.Store{}
	for _, s := range services {
		stores[s.Name] = s.Store
	}
	var conflict ConflictError
	differs := ""
	sum, err := walk(file, stores, func(l Line, store journal.Store) error {
		if differs == l.Service+"\x00"+l.Stream {
			return nil
		}
		there, err := store.Read(ctx, l.Stream, l.Seq-1, 1)
		if err == nil && len(there) > 0 && !same(there[0], l.Record()) {
			differs = l.Service + "\x00" + l.Stream
			conflict.Problems = append(conflict.Problems, Problem{l.Service, l.Stream, l.Seq, "is another one in the store"})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(conflict.Problems) > 0 {
		return nil, &conflict
	}
	done := map[string]Imported{}
	var batch []journal.Record
	last := ""
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		added, known, err := add(ctx, stores[last], batch)
		n := done[last]
		done[last] = Imported{n.New + added, n.Known + known}
		batch = batch[:0]
		return err
	}
	size := 0
	again, err := walk(file, stores, func(l Line, _ journal.Store) error {
		if l.Service != last || len(batch) == page || size > 4<<20 {
			if err := flush(); err != nil {
				return err
			}
			last, size = l.Service, 0
		}
		batch = append(batch, l.Record())
		for _, e := range l.Events {
			size += len(e)
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil && again != sum {
		err = errors.New("the file changed while it was read")
	}
	return done, err
}

// walk reads the file from its beginning and returns its checksum.
func walk(file io.ReadSeeker, stores map[string]journal.Store, see func(Line, journal.Store) error) (string, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	r, err := NewReader(file)
	if err != nil {
		return "", err
	}
	for {
		l, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return r.seen.SHA256, nil
		case err != nil:
			return "", err
		case stores[l.Service] == nil:
			return "", fmt.Errorf("there is no store for the service %q", l.Service)
		}
		if err := see(l, stores[l.Service]); err != nil {
			return "", fmt.Errorf("import record %d of %s: %w", l.Seq, l.Stream, err)
		}
	}
}

// add inserts records as the journal itself does: what is owed is listed before the record that owes it.
func add(ctx context.Context, store journal.Store, recs []journal.Record) (added, known int, err error) {
	for _, r := range recs {
		if r.Owing {
			if err := store.Owe(ctx, journal.Obligation{Kind: r.Kind, Stream: r.Stream, Seq: r.Seq}); err != nil {
				return added, known, err
			}
		}
	}
	if bulk, ok := store.(journal.Bulk); ok {
		err := bulk.InsertMany(ctx, recs)
		if err == nil {
			return len(recs), 0, nil
		}
		if !errors.Is(err, journal.ErrTaken) {
			return 0, 0, err
		}
	}
	for _, r := range recs {
		err := store.Insert(ctx, r)
		switch {
		case err == nil:
			added++
			continue
		case !errors.Is(err, journal.ErrTaken) && !errors.Is(err, journal.ErrRequestTaken):
			return added, known, err
		}
		there, err := store.Read(ctx, r.Stream, r.Seq-1, 1)
		if err != nil {
			return added, known, err
		}
		if len(there) == 0 || !same(there[0], r) {
			return added, known, fmt.Errorf("record %d of %s: somebody else wrote it meanwhile", r.Seq, r.Stream)
		}
		known++
	}
	return added, known, nil
}

// Heads is what became of the cached folds of a service.
type Heads struct {
	// Right were as the records have it, Behind as well, but older; Missing were not there, Wrong were reported.
	Right, Behind, Missing, Wrong int
	// Dropped is how many there were in all, also of streams and folds that are no more; Made is how many were written.
	Dropped, Made int
}

// RebuildHeads drops every head and makes them anew from the records. It reports those that were not what the records
// say. Programs may be at work meanwhile: heads are a cache.
func RebuildHeads(ctx context.Context, services []Service, report func(Problem)) (map[string]Heads, error) {
	out := map[string]Heads{}
	for _, s := range services {
		var n Heads
		err := refold(ctx, s, func(stream string, fold journal.Refolding, walk func(see func(journal.Record) error) error) error {
			blank, err := fold.Head() // tells the fold version
			if err != nil {
				return err
			}
			old, err := s.Store.Head(ctx, stream, blank.Fold)
			switch {
			case errors.Is(err, journal.ErrNotFound):
				n.Missing++
				return walk(func(journal.Record) error { return nil })
			case err != nil:
				return err
			}
			wrong, last := true, 0
			err = walk(func(r journal.Record) error {
				last = r.Seq
				if r.Seq != old.Seq {
					return nil
				}
				now, err := fold.Head()
				wrong = err == nil && !equal(now, old)
				return err
			})
			switch {
			case err != nil:
				return err
			case wrong:
				n.Wrong++
				report(Problem{s.Name, stream, old.Seq, "the head is not what the records say"})
			case last > old.Seq:
				n.Behind++
			default:
				n.Right++
			}
			return nil
		}, report)
		if err != nil {
			return nil, err
		}
		dropper, ok := s.Store.(journal.HeadDropper)
		if !ok {
			return nil, fmt.Errorf("the store of %s cannot drop heads", s.Name)
		}
		if n.Dropped, err = dropper.DropHeads(ctx); err != nil {
			return nil, fmt.Errorf("drop heads of %s: %w", s.Name, err)
		}
		err = refold(ctx, s, func(_ string, fold journal.Refolding, walk func(see func(journal.Record) error) error) error {
			if err := walk(func(journal.Record) error { return nil }); err != nil {
				return err
			}
			h, err := fold.Head()
			if err != nil {
				return err
			}
			n.Made++
			return s.Store.PutHead(ctx, h)
		}, func(Problem) {}) // reported above
		if err != nil {
			return nil, err
		}
		out[s.Name] = n
	}
	return out, nil
}

// equal tells whether an old head says what the records do, if it says it; older programs did not keep request ids in it.
func equal(now, old journal.Head) bool {
	return now.Stream == old.Stream && now.Fold == old.Fold && now.Seq == old.Seq && now.RequestID == old.RequestID &&
		(compact(now.State) == compact(old.State) || compact(now.Unheard().State) == compact(old.State))
}

// errUnfoldable ends the walk of one stream.
var errUnfoldable = errors.New("cannot be folded")

// refold begins to fold every stream of a service and gives it to see, with a way to walk its records, each folded before it
// is seen. A stream that cannot be folded is reported and left alone.
func refold(ctx context.Context, s Service, see func(stream string, fold journal.Refolding, walk func(func(journal.Record) error) error) error, report func(Problem)) error {
	for _, k := range s.Kinds {
		err := streams(ctx, s.Store, k.Name, "", func(first journal.Record) error {
			fold := k.Refold(first.Stream)
			err := see(first.Stream, fold, func(each func(journal.Record) error) error {
				return records(ctx, s.Store, first.Stream, 0, func(r journal.Record) error {
					if err := fold.Add(r); err != nil {
						report(Problem{s.Name, first.Stream, r.Seq, err.Error()})
						return errUnfoldable
					}
					return each(r)
				})
			})
			if errors.Is(err, errUnfoldable) {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("walk %s of %s: %w", k.Name, s.Name, err)
		}
	}
	return nil
}
