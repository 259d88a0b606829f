package expedition

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/cut"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// soon is how long anybody may wait to be told that something is away.
const soon = 25 * time.Second

// away checks that an error says so, with a time to wait.
func away(t *testing.T, err error, reason string, took time.Duration) {
	t.Helper()
	var f *fault.Error
	if !errors.As(fault.FromStatus(err), &f) || f.Kind != fault.Unavailable || f.Reason != reason || f.RetryAfter <= 0 {
		t.Errorf("while it is away: %v, want %s", err, reason)
	}
	if took > soon {
		t.Errorf("told after %s", took)
	}
}

// comesBack repeats a command until it goes well.
func (tb *table) comesBack(r *req) {
	tb.t.Helper()
	for begin := time.Now(); ; {
		_, err := tb.client.Execute(by(tb.t.Context(), "alice"), r)
		switch {
		case err == nil:
			return
		case fault.KindOf(fault.FromStatus(err)) != fault.Unavailable || time.Since(begin) > await.Limit:
			tb.t.Fatalf("it is back, but %s: %v", r.GetRequestId(), err)
		}
	}
}

func TestCommandsWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	for id, begin := range map[string]func(*cut.Wire){"cut-off": (*cut.Wire).Cut, "mute": (*cut.Wire).Mute} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			wire := cut.New(t, devServer(t))
			tb := newTable(t, temporalClient(t, wire.Addr()), func(c *Config) { c.TemporalWait = 500 * time.Millisecond })
			tb.work(tb.server)
			name := tb.begin("temporal-" + id)
			tb.must("alice", start(name, "start"), Traveling)

			begin(wire)
			at := time.Now()
			_, err := tb.client.Execute(by(t.Context(), "alice"), move(name, "move", 1))
			away(t, err, "TEMPORAL_UNAVAILABLE", time.Since(at))
			if _, err := tb.client.GetExpedition(by(t.Context(), "alice"), &expeditionv1.GetExpeditionRequest{Name: name}); err != nil {
				t.Errorf("it cannot be read: %v", err)
			}
			tb.must("alice", start(name, "start"), Traveling) // what had its turn is answered from the log

			wire.Mend(t)
			tb.comesBack(move(name, "move", 1))
			tb.must("alice", move(name, "move", 1), Traveling)
			if n := tb.world.count("MoveRequest"); n != 1 {
				t.Errorf("moved %d times", n)
			}
			tb.whole(name)
		})
	}
}

func TestCommandsWhileAServiceIsAway(t *testing.T) {
	t.Parallel()
	var wire *cut.Wire
	tb := newTable(t, temporalClient(t, devServer(t)), func(c *Config) {
		wire = cut.New(t, c.Travel.(*grpc.ClientConn).Target())
		conn, err := grpc.NewClient(wire.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithPerRPCCredentials(identity("service:expedition")),
			grpc.WithChainUnaryInterceptor(auth.UnaryClient()), grpc.WithChainStreamInterceptor(auth.StreamClient()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		c.Travel = conn
	})
	tb.work(tb.server)
	name := tb.begin("service-away")
	tb.must("alice", start(name, "start"), Traveling)

	wire.Cut()
	at := time.Now()
	_, err := tb.client.Execute(by(t.Context(), "alice"), move(name, "move", 1))
	away(t, err, fault.Unreachable, time.Since(at))

	wire.Mend(t)
	tb.comesBack(move(name, "move", 1))
	if n := tb.world.count("MoveRequest"); n != 1 {
		t.Errorf("moved %d times", n)
	}
	tb.whole(name)
}

// cutStore is a store that is away now and then.
type cutStore struct {
	journal.Store
	away atomic.Bool
}

func (s *cutStore) gone() error {
	if s.away.Load() {
		return journal.Away(errors.New("cut"))
	}
	return nil
}

func (s *cutStore) Insert(ctx context.Context, r journal.Record) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.Insert(ctx, r)
}

func (s *cutStore) Read(ctx context.Context, stream string, after, limit int) ([]journal.Record, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Read(ctx, stream, after, limit)
}

func (s *cutStore) ByRequest(ctx context.Context, stream, requestID string) (journal.Record, error) {
	if err := s.gone(); err != nil {
		return journal.Record{}, err
	}
	return s.Store.ByRequest(ctx, stream, requestID)
}

func TestCommandsWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	store := &cutStore{}
	tb := newTable(t, temporalClient(t, devServer(t)), func(c *Config) {
		store.Store = c.Store
		c.Store = store
	})
	tb.work(tb.server)
	name := tb.begin("store-away")
	tb.must("alice", start(name, "start"), Traveling)
	execute := func(r *req) error {
		_, err := tb.client.Execute(by(t.Context(), "alice"), r)
		return err
	}
	get := func() error {
		_, err := tb.client.GetExpedition(by(t.Context(), "alice"), &expeditionv1.GetExpeditionRequest{Name: name})
		return err
	}
	for _, when := range []string{"before-the-command", "between-answer-and-log"} {
		at := time.Now()
		r := move(name, when, 1)
		if when == "before-the-command" {
			store.away.Store(true)
		} else {
			tb.server.afterCall = func(context.Context, string) { store.away.Store(true) }
		}
		away(t, execute(r), journal.ReasonStoreAway, time.Since(at))
		away(t, get(), journal.ReasonStoreAway, 0)
		tb.server.afterCall = nil
		store.away.Store(false)
		tb.comesBack(r)
	}
	if n := tb.world.count("MoveRequest"); n != 2 {
		t.Errorf("moved %d times", n)
	}
	tb.whole(name)
}
