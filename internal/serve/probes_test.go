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
