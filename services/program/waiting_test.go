package program_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/cut"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest/ferret"
	"github.com/wayfarer-rpg/wayfarer/internal/port"
	"github.com/wayfarer-rpg/wayfarer/services/program"
)

// A program that is there before its store is alive and not ready, and goes on by itself; one that ended instead would be
// started again later and later.
func TestAProgramIsThereBeforeItsStore(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(ferret.URI(t))
	if err != nil {
		t.Fatal(err)
	}
	wire := cut.New(t, server.Host)
	wire.Cut()
	server.Host, server.RawQuery = wire.Addr(), "directConnection=true&serverSelectionTimeoutMS=100"
	held, release, err := port.Hold(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	env := map[string]string{}
	for _, v := range newHouse(t, "").env("dice", "STORE=mongodb", "MONGODB_URI="+server.String(), "WAYFARER_MONGODB_DATABASE="+ferret.Database(), "WAYFARER_METRICS_LISTEN="+held[0]) {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	opened, enough := make(chan error, 1), errors.New("enough")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	run := func(ctx context.Context) chan error {
		ended := make(chan error, 1)
		go func() {
			ended <- program.Run(ctx, "dice", "v", func(k string) string { return env[k] }, func(d program.Deps) (program.Service, error) {
				opened <- d.Store.Ping(ctx)
				return nil, enough
			})
		}()
		return ended
	}
	says := func(path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+held[0]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	ended := run(ctx)
	await.Until(t, "it is alive", func() (bool, any) { got := says("/healthz"); return got == http.StatusOK, got })
	if got := says("/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("without its store it is ready: %d", got)
	}
	if got := says("/metrics"); got != http.StatusOK {
		t.Errorf("metrics: %d", got)
	}
	stop()
	if err := await.Value(t, ended, "the end of one that is told to"); err == nil || !strings.Contains(err.Error(), "waiting for the store") || errors.Is(err, enough) {
		t.Errorf("told to end: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()

	ended = run(t.Context())
	await.Until(t, "another is alive", func() (bool, any) { got := says("/healthz"); return got == http.StatusOK, got })
	wire.Mend(t)
	if err := await.Value(t, opened, "the store to be opened"); err != nil {
		t.Errorf("the store: %v", err)
	}
	if err := await.Value(t, ended, "the end"); !errors.Is(err, enough) {
		t.Error(err)
	}
}
