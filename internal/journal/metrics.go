package journal

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

const scope = "github.com/wayfarer-rpg/wayfarer/internal/journal"

// instruments are what a process tells of its journals. Kinds of aggregates and outcomes are all that labels them: names
// would be without number, and some are secret.
type instruments struct {
	// commands counts by kind and outcome: recorded, repeated, or not recorded.
	commands metric.Int64Counter
	// conflicts counts inserts that lost the race for their place, each of which is decided again.
	conflicts metric.Int64Counter
	// dice counts faces by kind and whether they came from the stream or were reported.
	dice metric.Int64Counter
	// seconds is how long a command took, its conflicts included.
	seconds metric.Float64Histogram
}

// meters are made at the first use, when the program has installed its telemetry.
var meters = sync.OnceValue(func() instruments {
	m := otel.Meter(scope)
	var i instruments
	// An instrument that could not be made counts nothing; nothing is worth refusing a command for.
	i.commands, _ = m.Int64Counter("wayfarer.journal.commands", metric.WithDescription("Commands by outcome: recorded, repeated, not recorded."))
	i.conflicts, _ = m.Int64Counter("wayfarer.journal.conflicts", metric.WithDescription("Records that lost the race for their place and were decided again."))
	i.dice, _ = m.Int64Counter("wayfarer.dice.drawn", metric.WithDescription("Faces in accepted records, by source: stream or reported."))
	i.seconds, _ = m.Float64Histogram("wayfarer.journal.commit.duration", metric.WithUnit("s"), metric.WithDescription("Duration of a command to a journal."),
		metric.WithExplicitBucketBoundaries(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10))
	return i
})

func ofKind(kind string, more ...attribute.KeyValue) attribute.Set {
	return attribute.NewSet(append(more, attribute.String("kind", kind))...)
}

// begin opens the span of a command and returns how to close it.
func begin(ctx context.Context, kind, stream string) (context.Context, func(rec Record, repeated bool, err error)) {
	start := time.Now()
	ctx, span := otel.Tracer(scope).Start(ctx, "journal "+kind, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(attribute.String("wayfarer.stream", stream))
	}
	return ctx, func(rec Record, repeated bool, err error) {
		outcome := "recorded"
		switch {
		case err != nil:
			outcome = "not recorded"
			if isAway(err) {
				span.SetStatus(codes.Error, "the store is away")
			}
		case repeated:
			outcome = "repeated"
		}
		if span.IsRecording() {
			span.SetAttributes(attribute.Int("wayfarer.seq", rec.Seq), attribute.String("wayfarer.outcome", outcome))
		}
		span.End()
		m := meters()
		m.commands.Add(ctx, 1, metric.WithAttributeSet(ofKind(kind, attribute.String("outcome", outcome))))
		m.seconds.Record(ctx, time.Since(start).Seconds(), metric.WithAttributeSet(ofKind(kind)))
		if err != nil || repeated {
			return
		}
		var drawn, reported int64
		for _, d := range rec.Dice {
			if d.Reported {
				reported++
			} else {
				drawn++
			}
		}
		for source, n := range map[string]int64{"stream": drawn, "reported": reported} {
			if n > 0 {
				m.dice.Add(ctx, n, metric.WithAttributeSet(ofKind(kind, attribute.String("source", source))))
			}
		}
	}
}
