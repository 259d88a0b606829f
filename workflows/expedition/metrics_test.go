package expedition

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// scraped are the metrics of this process, summed over their labels unless a label is named.
func scraped(t *testing.T, label string) map[string]float64 {
	t.Helper()
	rec := httptest.NewRecorder()
	telemetry.Metrics().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	out := map[string]float64{}
	for line := range strings.Lines(rec.Body.String()) {
		m := regexp.MustCompile(`^([a-z_]+)(\{.*\})? (\S+)`).FindStringSubmatch(line)
		if m == nil || label != "" && !strings.Contains(m[2], label) {
			continue
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		out[m[1]] += v
	}
	return out
}

// What a process tells of its expeditions is told, in the right measure, and is all that it tells. The process is shared by all
// tests, so what is told may be more.
func TestMetricsAreTold(t *testing.T) {
	t.Parallel()
	const phases, late, waiting = "wayfarer_expedition_phases_total", "wayfarer_expedition_timers_late_seconds_count", "wayfarer_expedition_commands_waiting"

	// Phases, one of which is entered twice.
	s, w := timed(t, "")
	before := scraped(t, `to="traveling"`)[phases]
	g := s.gather(t, "metrics", acting)
	g.arrive()
	g.does("alice", g.goOut("out"))
	g.does("alice", g.goOut("out")) // a repetition enters nothing
	if n := scraped(t, `to="traveling"`)[phases] - before; n < 2 {
		t.Errorf("traveling was entered %v times", n)
	}
	if n := scraped(t, `from="none",`)[phases]; n < 1 {
		t.Errorf("%v expeditions began", n)
	}
	// A deadline that is 100 s late, and a look before anything is due.
	again := g.goIn("pit")
	again.RequestId = "again"
	g.does("alice", again)
	g.does("alice", g.enterRun("run"))
	within := func() float64 {
		return scraped(t, `le="300"`)["wayfarer_expedition_timers_late_seconds_bucket"]
	}
	bucket, count := within(), scraped(t, "")[late]
	w.set(60 + 100.0/60)
	g.ticked(g.name)
	if within() < bucket+1 || scraped(t, "")[late] < count+1 {
		t.Errorf("a timer that was late is not told: %v", scraped(t, ""))
	}
	// A command that waits.
	gate := newGate(1)
	leave, err := gate.enter(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	through := make(chan func())
	go func() {
		leave, _ := gate.enter(t.Context(), "one")
		through <- leave
	}()
	await.Until(t, "somebody waits", func() (bool, any) { n := scraped(t, "")[waiting]; return n >= 1, n })
	leave()
	await.Value(t, through, "the command to be let through")()

	told := scraped(t, "")
	known := map[string]bool{}
	for _, name := range Metrics() {
		known[strings.TrimSuffix(name, "_bucket")] = true
		if _, ok := told[name]; !ok {
			t.Errorf("%s is not told", name)
		}
	}
	for name := range told {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if strings.HasPrefix(name, "wayfarer_expedition_") && !known[base] {
			t.Errorf("%s is told and not named", name)
		}
	}
}
