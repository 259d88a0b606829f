package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

func plain(stream string, seq int) journal.Record {
	return journal.Record{
		Stream: stream, Seq: seq, Campaign: "c", Kind: "k", RequestID: fmt.Sprint(seq), RequestHash: "h",
		Time: time.UnixMilli(int64(seq)).UTC(), Events: []json.RawMessage{json.RawMessage(`{}`)},
	}
}

func files(t *testing.T, n int) (paths []string, stores []*Store) {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.db", i)))
		s, err := Open(t.Context(), paths[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		stores = append(stores, s)
	}
	return paths, stores
}

// Record n goes to the first file, then to the second one, then to the third: at any moment the first has at most one more.
func TestSnapshotsAreOfOneMoment(t *testing.T) {
	t.Parallel()
	paths, stores := files(t, 3)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var written atomic.Int64
	go func() {
		for seq := 1; ctx.Err() == nil; seq++ {
			for _, s := range stores {
				if err := s.Insert(context.WithoutCancel(ctx), plain("s", seq)); err != nil {
					done <- err
					return
				}
			}
			written.Store(int64(seq))
		}
		done <- nil
	}()
	for round := range 10 {
		for before := written.Load(); written.Load() == before && len(done) == 0; runtime.Gosched() { // so that the rounds differ
		}
		snaps, err := Freeze(t.Context(), paths...)
		if err != nil {
			t.Fatal(err)
		}
		for before := written.Load(); written.Load() < before+2 && len(done) == 0; runtime.Gosched() { // written to while they are read
		}
		ends := make([]int, len(snaps))
		for i, s := range snaps {
			for more := true; more; {
				recs, err := s.Read(t.Context(), "s", ends[i], 50)
				if err != nil {
					t.Fatal(err)
				}
				ends[i] += len(recs)
				more = len(recs) > 0
			}
		}
		if ends[1] > ends[0] || ends[2] > ends[1] || ends[0] > ends[2]+1 || ends[2] == 0 {
			t.Errorf("round %d: the files end at %v", round, ends)
		}
		firsts, err := snaps[1].Firsts(t.Context(), journal.Filter{Kind: "k"}, journal.Cursor{}, 9)
		if err != nil || len(firsts) != 1 || firsts[0].Stream != "s" {
			t.Errorf("first records: %v, %v", firsts, err)
		}
		for _, s := range snaps {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the writer: %v", err)
	}
}

func TestASnapshotReadsWhatAStoreDoes(t *testing.T) {
	t.Parallel()
	paths, stores := files(t, 1)
	s := stores[0]
	h := journal.Head{Stream: "s", Fold: 2, Seq: 1, RequestID: "1", State: json.RawMessage(`{}`), Sum: "x"}
	err := errors.Join(s.Insert(t.Context(), plain("s", 1)), s.PutHead(t.Context(), h), s.Owe(t.Context(), journal.Obligation{Kind: "k", Stream: "s", Seq: 1}))
	if err != nil {
		t.Fatal(err)
	}
	snaps, err := Freeze(t.Context(), paths...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = snaps[0].Close() })
	if got, err := snaps[0].Head(t.Context(), "s", 2); err != nil || got.Sum != "x" {
		t.Errorf("head: %v, %v", got, err)
	}
	if _, err := snaps[0].Head(t.Context(), "s", 3); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("no head: %v", err)
	}
	if got, err := snaps[0].Owing(t.Context(), "k", journal.Obligation{}, 9); err != nil || len(got) != 1 || got[0].Seq != 1 {
		t.Errorf("owing: %v, %v", got, err)
	}
	if err := s.Settle(t.Context(), "s", 1); err != nil {
		t.Fatal(err)
	}
	if got, err := snaps[0].Owing(t.Context(), "k", journal.Obligation{}, 9); err != nil || len(got) != 1 {
		t.Errorf("owing of the moment: %v, %v", got, err)
	}
}

func TestWhatCannotBeFrozen(t *testing.T) {
	t.Parallel()
	paths, _ := files(t, 1)
	none := filepath.Join(t.TempDir(), "none.db")
	if _, err := Freeze(t.Context(), paths[0], none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	later, stores := files(t, 1)
	if _, err := stores[0].writer.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if _, err := Freeze(t.Context(), later...); err == nil || !strings.Contains(err.Error(), "schema version 99, this program reads 2") {
		t.Errorf("a later format: %v", err)
	}
	// What was frozen before the failure is writable again.
	s, err := Open(t.Context(), paths[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Insert(t.Context(), plain("s", 1)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
