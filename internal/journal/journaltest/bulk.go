package journaltest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

func testBulk(t *testing.T, _ Options, place Place) {
	ctx, s := t.Context(), place(t)
	if bulk, ok := s.(journal.Bulk); ok {
		recs := []journal.Record{record("one", 1, "a"), record("one", 2, "b"), record("two", 1, "a")}
		recs[0].Parent, recs[1].Dice, recs[2].Owing = "p", []journal.Die{{Purpose: "x", Sides: 6, Face: 2, Secret: true}}, true
		must(t, bulk.InsertMany(ctx, recs))
		one, err := s.Read(ctx, "one", 0, 9)
		must(t, err)
		two, err := s.Read(ctx, "two", 0, 9)
		must(t, err)
		equal(t, "what was added", append(one, two...), recs)
		firsts, err := s.Firsts(ctx, journal.Filter{Kind: "tally", Parent: "p"}, journal.Cursor{}, 9)
		must(t, err)
		equal(t, "what is listed", firsts, recs[:1])
		for name, taken := range map[string]journal.Record{"a place": record("one", 2, "c"), "a request id": record("one", 3, "b")} {
			if err := bulk.InsertMany(ctx, []journal.Record{record("new "+name, 1, "a"), taken, record("never "+name, 1, "a")}); !errors.Is(err, journal.ErrTaken) {
				t.Errorf("%s that is taken: %v", name, err)
			}
			if after, err := s.Read(ctx, "never "+name, 0, 9); err != nil || len(after) > 0 {
				t.Errorf("after %s that is taken: %v, %v", name, after, err)
			}
		}
	}
	for _, h := range []journal.Head{{Stream: "one", Fold: 1, Seq: 1}, {Stream: "one", Fold: 2, Seq: 2}, {Stream: "gone", Fold: 1, Seq: 1}} {
		h.State = json.RawMessage(`{}`)
		must(t, s.PutHead(ctx, h))
	}
	dropper, ok := s.(journal.HeadDropper)
	if !ok {
		t.Fatalf("%T drops no heads", s)
	}
	for _, want := range []int{3, 0} {
		if n, err := dropper.DropHeads(ctx); err != nil || n != want {
			t.Errorf("%d heads dropped, %v, want %d", n, err, want)
		}
	}
	if _, err := s.Head(ctx, "one", 1); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a dropped head: %v", err)
	}
}
