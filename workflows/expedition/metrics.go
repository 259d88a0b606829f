package expedition

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scope = "github.com/wayfarer-rpg/wayfarer/workflows/expedition"

// Metrics are the names under which Prometheus knows what a process tells of its expeditions; of a histogram that of its
// buckets. All of it is measured in activities and at the edge: the workflow's own code runs again whenever a history is
// replayed.
func Metrics() []string {
	return []string{
		"wayfarer_expedition_phases_total", "wayfarer_expedition_timers_late_seconds_bucket", "wayfarer_expedition_commands_waiting",
	}
}

// instruments are what a process tells of its expeditions. Phases are all that labels them.
type instruments struct {
	// phases counts changes of phase by the one that was left, "NONE" at the beginning, and the one that was entered: those
	// entered less those left is how many stand in a phase.
	phases metric.Int64Counter
	// late is how long after its time an expedition had done what it does by itself.
	late metric.Float64Histogram
	// waiting is how many commands wait in this process until others of their expedition had their turn.
	waiting metric.Int64UpDownCounter
}

// meters are made at the first use, when the program has installed its telemetry.
var meters = sync.OnceValue(func() instruments {
	m := otel.Meter(scope)
	var i instruments
	// An instrument that could not be made counts nothing; nothing is worth refusing a command for.
	i.phases, _ = m.Int64Counter("wayfarer.expedition.phases", metric.WithDescription("Changes of phase, by the one left and the one entered."))
	i.late, _ = m.Float64Histogram("wayfarer.expedition.timers.late", metric.WithUnit("s"),
		metric.WithDescription("How long after its time an expedition had done what it does by itself."),
		metric.WithExplicitBucketBoundaries(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600))
	i.waiting, _ = m.Int64UpDownCounter("wayfarer.expedition.commands.waiting",
		metric.WithDescription("Commands that wait in this process until others of their expedition had their turn."))
	return i
})

// entered tells that an expedition is in another phase; from is 0 at its beginning.
func entered(ctx context.Context, from, to Phase) {
	if from == to {
		return
	}
	left := "NONE"
	if from != 0 {
		left = phaseName(from)
	}
	meters().phases.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(
		attribute.String("from", strings.ToLower(left)), attribute.String("to", strings.ToLower(phaseName(to))),
	)))
}

// wasDue tells that what was due is done.
func wasDue(ctx context.Context, due, now time.Time) {
	if !due.IsZero() && !now.Before(due) {
		meters().late.Record(ctx, now.Sub(due).Seconds())
	}
}
