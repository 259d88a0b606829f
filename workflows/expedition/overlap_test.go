package expedition

import (
	"context"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// lateStore lets something happen once, after it was asked the next time and before it answers: by that look a journal that
// holds the expedition in memory finds out whether it knows a request.
type lateStore struct {
	journal.Store
	then func()
}

func (s *lateStore) late() {
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
}

func (s *lateStore) ByRequest(ctx context.Context, stream, requestID string) (journal.Record, error) {
	r, err := s.Store.ByRequest(ctx, stream, requestID)
	s.late()
	return r, err
}

func (s *lateStore) Read(ctx context.Context, stream string, after, limit int) ([]journal.Record, error) {
	recs, err := s.Store.Read(ctx, stream, after, limit)
	s.late()
	return recs, err
}

// An attempt that was given up and is only slow comes through after the next one has looked for its record, and before that
// one loads the expedition: there the command has been carried out, and would be refused.
func TestAnAttemptIsOvertakenByTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	store := &lateStore{}
	tb := newTable(t, temporalClient(t, ""), func(c *Config) { store.Store, c.Store = c.Store, store })
	name := tb.begin("lone")
	tb.acts(start(name, "start"), Traveling)
	tb.acts(enter(name, "enter"), AtLocation)
	slow := tb.another()
	store.then = func() {
		next := tb.server
		tb.server = slow
		tb.acts(delve(name, "dive"), Delving)
		tb.server = next
	}
	tb.acts(delve(name, "dive"), Delving)
	if store.then != nil || tb.world.count("StartRunRequest") != 1 {
		t.Errorf("%d runs were started", tb.world.count("StartRunRequest"))
	}
	if got := strings.Join(tb.whole(name), " "); got != "start_journey enter_location start_run" {
		t.Errorf("executed %s", got)
	}
	// Another command is refused as ever.
	if _, err := tb.act(delve(name, "again"), false); err == nil {
		t.Error("a second run is started")
	}
}
