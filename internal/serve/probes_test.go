package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// Alive means that the process answers, ready that it can do its work: a store that is away must not have it restarted.
func TestProbesTellReadyFromAlive(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	var probes http.Handler
	startWith(t, nil, func(s *serve.Server) {
		s.Ping("store", func(context.Context) error {
			if away.Load() {
				return errors.New("away")
			}
			return nil
		})
		probes = s.Probes(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }))
	})
	ask := func(method, path string) (int, string) {
		rec := httptest.NewRecorder()
		probes.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		return rec.Code, strings.TrimSpace(rec.Body.String())
	}
	is := func(path string, code int, body string) func() bool {
		return func() bool {
			c, b := ask(http.MethodGet, path)
			return c == code && b == body
		}
	}
	eventually(t, "ready", is("/readyz", http.StatusOK, `{"status":"SERVING"}`))
	away.Store(true)
	eventually(t, "not ready", is("/readyz", http.StatusServiceUnavailable, `{"status":"NOT_SERVING"}`))
	if c, b := ask(http.MethodGet, "/healthz"); c != http.StatusOK || b != `{"status":"SERVING"}` {
		t.Errorf("alive: %d %s", c, b)
	}
	away.Store(false)
	eventually(t, "ready again", is("/readyz", http.StatusOK, `{"status":"SERVING"}`))
	if c, b := ask(http.MethodGet, "/metrics"); c != http.StatusOK || b != "metrics" {
		t.Errorf("metrics: %d %s", c, b)
	}
	for _, other := range [][2]string{{http.MethodPost, "/healthz"}, {http.MethodGet, "/debug/pprof"}} {
		if c, _ := ask(other[0], other[1]); c < 400 {
			t.Errorf("%v answers %d", other, c)
		}
	}
}

// unready is a verifier that cannot check tokens yet.
type unready struct {
	tokens
	keys chan struct{}
}

func (u unready) Ready(ctx context.Context) error {
	select {
	case <-u.keys:
		return nil
	case <-ctx.Done():
		return errors.New("no keys")
	}
}

// A server that can check no token is not ready: a rollout would have it take the place of one that can.
func TestAServerIsReadyOnceItCanCheckTokens(t *testing.T) {
	t.Parallel()
	verifier := unready{keys: make(chan struct{})}
	var stored atomic.Bool
	stored.Store(true)
	r := startWith(t, func(c *serve.Config) { c.Verifier = verifier }, func(s *serve.Server) {
		s.Ping("store", func(context.Context) error {
			if stored.Load() {
				return nil
			}
			return errors.New("gone")
		})
	})
	status := func() healthv1.HealthCheckResponse_ServingStatus {
		res, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetStatus()
	}
	eventually(t, "a warning", func() bool { return strings.Contains(r.log.String(), "keys: no keys") })
	if got := status(); got != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("status %v", got)
	}
	stored.Store(false)
	eventually(t, "a warning of what is away besides", func() bool { return strings.Contains(r.log.String(), "store: gone") })
	close(verifier.keys)
	eventually(t, "a warning of what is left", func() bool {
		for line := range strings.Lines(r.log.String()) {
			if strings.Contains(line, "store: gone") && !strings.Contains(line, "keys: ") {
				return true
			}
		}
		return false
	})
	stored.Store(true)
	eventually(t, "serving", func() bool { return status() == healthv1.HealthCheckResponse_SERVING })
}
