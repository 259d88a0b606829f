// Package dashboards_test holds the dashboard and the alerts to what programs really tell.
package dashboards_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/internal/limit"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

type nobody struct{}

func (nobody) Verify(context.Context, string) (auth.Principal, error) { return auth.Principal{}, nil }

// told are the metrics of a program that has served a call and taken commands, one of which lost a race.
func told(t *testing.T) map[string]bool {
	t.Helper()
	telemetry, err := serve.NewTelemetry(t.Context(), serve.TelemetryConfig{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	telemetry.Install()
	srv, err := serve.NewServer(serve.Config{
		Name: "test", Verifier: nobody{}, Logger: slog.New(slog.DiscardHandler), Reflection: true, Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	// Health checks are not measured, reflection is, like any call.
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	scrape := func() string {
		rec := httptest.NewRecorder()
		telemetry.Metrics().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return rec.Body.String()
	}
	ready := func() string {
		return regexp.MustCompile(`(?m)^wayfarer_ready{.*server="test".*} (.*)$`).ReplaceAllString(regexp.MustCompile(`(?m)^wayfarer_ready.*$`).FindString(scrape()), "$1")
	}
	await.Until(t, "the server is ready", func() (bool, any) { got := ready(); return got == "1", got })
	s, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err == nil {
		err = s.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err == nil {
		t.Fatal("reflection answered without a question")
	}

	store := memory.New()
	open := func() *journal.Journal[int] {
		return journal.New(store, journal.Fold[int]{Kind: "test", Version: 1, Apply: func(n int, _ json.RawMessage) (int, error) { return n, nil }})
	}
	j, other := open(), open()
	for id, j := range []*journal.Journal[int]{j, other, j} {
		_, err := j.Commit(t.Context(), journal.Command{
			Stream: "s", Mode: journal.Either, Campaign: "c", RequestID: string(rune('a' + id)), RequestHash: "h", Actor: "a",
		}, func(context.Context, journal.At[int]) (journal.Decision, error) {
			return journal.Decision{Events: []json.RawMessage{json.RawMessage(`{}`)}, Dice: []journal.Die{{Sides: 6, Face: 1}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// One request by REST, and one too many.
	edge, err := rest.New(ctx, rest.Config{Limits: rest.Limits{Address: limit.Rate{PerSecond: 0.001, Burst: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusNotFound, http.StatusTooManyRequests} {
		rec := httptest.NewRecorder()
		edge.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/nothing", nil))
		if rec.Code != want {
			t.Fatalf("the edge answered %d, not %d", rec.Code, want)
		}
	}
	// By whatever host it is called, and wherever it is mounted, a request is kept by its route.
	edge, err = rest.New(ctx, rest.Config{Backends: []rest.Backend{{Name: "dice", Conn: conn, Register: []rest.Registration{dicev1.RegisterDiceServiceHandler}}}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", edge)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://invented.example:1234/v1/campaigns/c/rollLogs/l", nil)
	mux.ServeHTTP(httptest.NewRecorder(), req)
	_ = conn.Close()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := ready(); got != "0" {
		t.Errorf("after its end it is ready: %q", got)
	}
	told := scrape()
	measured := regexp.MustCompile(`http_server_request_duration_seconds_count{[^}]*http_route="/v1/\{[^"]*:?[^"]*}"[^}]*}`).FindString(told)
	if measured == "" || !strings.Contains(measured, `rpc_method="wayfarer.dice.v1.DiceService/`) || strings.Contains(told, `http_route="/v1/"`) {
		t.Errorf("no request is kept by its route and method: %q", measured)
	}
	if strings.Contains(told, "invented") {
		t.Error("whoever invents hosts makes as many series")
	}
	names := map[string]bool{"up": true} // Prometheus's own
	for line := range strings.Lines(told) {
		if name := regexp.MustCompile(`^[a-z_]+`).FindString(line); name != "" {
			names[name] = true
		}
	}
	// What of expeditions is told, and that it is no more than this, the tests beside them find out.
	for _, name := range expedition.Metrics() {
		names[name] = true
	}
	return names
}

var (
	quoted = regexp.MustCompile(`"[^"]*"|\$[a-z_]+|\[[^\]]*\]|(by|without) \([^)]*\)|\{\{[^}]*\}\}`)
	word   = regexp.MustCompile(`\b[a-z_]+\b[^(a-z_]?`)
)

// metricsIn names the metrics of an expression: the words that are neither functions, labels nor operators.
func metricsIn(expr string) []string {
	expr = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(quoted.ReplaceAllString(expr, ""), "")
	var out []string
	for _, w := range word.FindAllString(expr, -1) {
		w = strings.TrimRight(w, " )+-/*><=\n,")
		if strings.Contains(w, "_") && !slices.Contains([]string{"histogram_quantile"}, w) || w == "up" {
			out = append(out, w)
		}
	}
	return out
}

func TestEveryMetricExists(t *testing.T) {
	names := told(t)
	exprs := map[string]string{}
	raw, err := os.ReadFile("wayfarer.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID      int    `json:"id"`
			Type    string `json:"type"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q is there twice or shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			exprs[p.Title+": "+target.Expr] = target.Expr
		}
	}
	alerts, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)expr: (\|\n((?: {10}.*\n)+)|.*)`).FindAllStringSubmatch(string(alerts), -1) {
		exprs["alert: "+m[1]] = m[1]
	}
	used := map[string]bool{}
	for where, expr := range exprs {
		found := metricsIn(expr)
		if len(found) == 0 {
			t.Errorf("no metric found in %s", where)
		}
		for _, name := range found {
			used[name] = true
			if !names[name] {
				t.Errorf("nothing tells %s, which is in %s", name, where)
			}
		}
	}
	// What the journal tells is shown.
	for name := range names {
		if strings.HasPrefix(name, "wayfarer_") && !used[name] && !used[strings.TrimSuffix(name, "_sum")] && !strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count") {
			t.Errorf("%s is shown nowhere (%v)", name, slices.Sorted(maps.Keys(used)))
		}
	}
}
