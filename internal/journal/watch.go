package journal

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
)

const (
	// keepRecent is how many records a follower keeps for its watchers.
	keepRecent = 64
	// keepPages is how many pages of older records a follower keeps for those who are further behind: when a server starts
	// again all its watchers come back at once, from about the same place.
	keepPages = 4
)

// Watch yields the records of a stream from seq from on (from the first when from is below 1), without gaps and each
// once, those that are there and then those to come, until ctx or the journal ends. The stream need not exist yet. An
// error of the store is yielded and ends the sequence; the caller may watch again from the next seq.
//
// All watchers of a stream share one follower, which learns at once of this journal's commits and polls for those of
// others; what they missed is read for all of them together. A slow watcher delays nobody and misses nothing.
func (j *Journal[S]) Watch(ctx context.Context, stream string, from int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		pos := max(from, 1) - 1
		f := j.watch.join(stream, pos)
		if f == nil {
			return
		}
		defer j.watch.leave(f)
		for {
			recs, wait := f.after(pos)
			if wait != nil {
				select {
				case <-wait:
					continue
				case <-ctx.Done():
					return
				case <-f.ctx.Done():
					return
				}
			}
			if recs == nil {
				var err error
				recs, err = j.watch.older(ctx, f, pos)
				if ctx.Err() != nil {
					return
				}
				if err == nil && len(recs) > 0 && recs[0].Seq != pos+1 {
					err = errUnreadable(stream, pos+1, fmt.Errorf("found record %d in its place", recs[0].Seq))
				}
				if err != nil {
					if f.ctx.Err() == nil {
						yield(Record{}, fmt.Errorf("watch %s: %w", stream, err))
					}
					return
				}
				if len(recs) == 0 {
					f.rewind(pos)
					continue
				}
			}
			for _, r := range recs {
				if ctx.Err() != nil || !yield(r, nil) {
					return
				}
				pos = r.Seq
			}
		}
	}
}

// followers are the followers of a journal, one for each stream that is watched.
type followers struct {
	store Store
	opts  options

	mu     sync.Mutex
	active map[string]*follower
	closed bool
	wg     sync.WaitGroup
}

// follower keeps the end of one stream for its watchers.
type follower struct {
	stream string
	refs   int // guarded by followers.mu
	ctx    context.Context
	stop   context.CancelFunc
	poke   chan struct{} // holds one token when the store should be read at once

	mu sync.Mutex
	// tail is the seq after which the follower looks for records; recent holds the last records up to tail.
	tail   int
	recent []Record
	moved  chan struct{} // closed and replaced when tail changes
	pages  []*page       // read last, at most keepPages
}

// page holds the records of a stream from seq first on, readPage of them unless the stream ended before. First is one more
// than a multiple of readPage, so that watchers in different places share pages.
type page struct {
	first int
	read  chan struct{} // closed when recs and err are set
	recs  []Record
	err   error
}

// join returns the follower of a stream, a new one that starts after pos if need be, or nil when the journal is closed.
func (fs *followers) join(stream string, pos int) *follower {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil
	}
	f := fs.active[stream]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &follower{stream: stream, ctx: ctx, stop: stop, tail: pos, poke: make(chan struct{}, 1), moved: make(chan struct{})}
		f.poke <- struct{}{}
		fs.active[stream] = f
		fs.wg.Go(func() { f.run(fs.store, fs.opts) })
	}
	f.refs++
	return f
}

func (fs *followers) leave(f *follower) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.refs--; f.refs == 0 {
		delete(fs.active, f.stream)
		f.stop()
	}
}

func (fs *followers) close() {
	fs.mu.Lock()
	fs.closed = true
	for _, f := range fs.active {
		f.stop()
	}
	fs.mu.Unlock()
	fs.wg.Wait()
}

// publish tells the follower of the record's stream, if there is one, of a record just stored.
func (fs *followers) publish(r Record) {
	fs.mu.Lock()
	f := fs.active[r.Stream]
	fs.mu.Unlock()
	if f != nil && !f.push(r) {
		select {
		case f.poke <- struct{}{}:
		default:
		}
	}
}

// run reads the store when poked and at each tick, until nobody watches any more.
func (f *follower) run(store Store, opts options) {
	ticks, stopTicks := opts.ticker(opts.poll)
	defer stopTicks()
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-f.poke:
		case <-ticks:
		}
		for f.ctx.Err() == nil {
			f.mu.Lock()
			tail := f.tail
			f.mu.Unlock()
			recs, err := store.Read(f.ctx, f.stream, tail, readPage)
			if err != nil {
				if f.ctx.Err() == nil {
					opts.log.Warn("watched stream cannot be read; trying again", "stream", f.stream, "err", err)
				}
				break
			}
			f.push(recs...)
			if len(recs) < readPage {
				break
			}
		}
	}
}

// push appends records that continue the tail and skips those that are known. It tells whether the last of recs is
// covered now.
func (f *follower) push(recs ...Record) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.tail
	for _, r := range recs {
		if r.Seq == f.tail+1 {
			f.recent = append(f.recent, r)
			f.tail = r.Seq
		}
	}
	if f.tail != was {
		if drop := len(f.recent) - keepRecent; drop > 0 {
			f.recent = append([]Record(nil), f.recent[drop:]...)
		}
		f.wake()
	}
	return len(recs) == 0 || recs[len(recs)-1].Seq <= f.tail
}

// older returns records after pos out of the page that they are on, none when the stream has none. Whoever wants the same
// page meanwhile, or later while it is kept, shares one read of it.
func (fs *followers) older(ctx context.Context, f *follower, pos int) ([]Record, error) {
	p := fs.page(f, pos)
	if p == nil {
		return nil, f.ctx.Err()
	}
	select {
	case <-p.read:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if skip := pos + 1 - p.first; skip < len(p.recs) {
		return p.recs[skip:], p.err
	}
	return nil, p.err
}

// page returns the page with the record after pos, which is being read if it is not kept; nil when the journal is closed.
func (fs *followers) page(f *follower, pos int) *page {
	first := pos - pos%readPage + 1
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.pages, func(p *page) bool { return p.first == first })
	if i >= 0 {
		p := f.pages[i]
		select {
		case <-p.read:
			if p.err == nil && first+len(p.recs) > pos+1 {
				return p
			}
			f.pages = slices.Delete(f.pages, i, i+1) // failed, or the stream went on since
		default:
			return p
		}
	}
	p := &page{first: first, read: make(chan struct{})}
	if !fs.spawn(func() {
		defer close(p.read)
		p.recs, p.err = fs.store.Read(f.ctx, f.stream, first-1, readPage)
	}) {
		return nil
	}
	f.pages = append(f.pages, p)
	f.pages = slices.Delete(f.pages, 0, max(len(f.pages)-keepPages, 0))
	return p
}

// spawn runs a goroutine that close waits for. It runs none when the journal is closed.
func (fs *followers) spawn(run func()) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return false
	}
	fs.wg.Go(run)
	return true
}

// after returns the recent records after pos; or a channel to wait on when there are none yet; or neither when pos has
// fallen behind and the store must be read.
func (f *follower) after(pos int) ([]Record, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pos >= f.tail {
		return nil, f.moved
	}
	if n := f.tail - pos; n <= len(f.recent) {
		return append([]Record(nil), f.recent[len(f.recent)-n:]...), nil
	}
	return nil, nil
}

// rewind takes the tail back to pos: the store has no record after it, so the follower was started beyond the end.
func (f *follower) rewind(pos int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pos < f.tail && len(f.recent) == 0 {
		f.tail = pos
		f.wake()
	}
}

func (f *follower) wake() {
	close(f.moved)
	f.moved = make(chan struct{})
}
