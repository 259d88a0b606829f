package expedition

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// lateStore lets something happen after a request was looked up and not found, once.
type lateStore struct {
	journal.Store
	request string
	then    func()
}

func (s *lateStore) ByRequest(ctx context.Context, stream, requestID string) (journal.Record, error) {
	r, err := s.Store.ByRequest(ctx, stream, requestID)
	if then := s.then; errors.Is(err, journal.ErrNotFound) && requestID == s.request && then != nil {
		s.then = nil
		then()
	}
	return r, err
}

// An attempt that was given up and is only slow comes through after the next one has looked for its record, and before that
// one loads the expedition: there the command has been carried out, and would be refused.
func TestAnAttemptIsOvertakenByTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	store := &lateStore{request: "dive"}
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
