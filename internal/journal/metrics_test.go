package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
)

// metered is what the process measures of its journals: what counts is made once, and told to the first who asks for it.
var metered = sync.OnceValue(func() *sdkmetric.ManualReader {
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	return reader
})

var meteredKinds atomic.Int64

// What a process tells of its journals: how commands come out, races lost, faces by where they came from.
func TestMetrics(t *testing.T) {
	reader, own := metered(), fmt.Sprintf("metered-%d", meteredKinds.Add(1))
	store := memory.New()
	open := func() *journal.Journal[int] {
		return journal.New(store, journal.Fold[int]{
			Kind: own, Version: 1, Apply: func(n int, _ json.RawMessage) (int, error) { return n + 1, nil },
		})
	}
	j, other := open(), open()
	refuse := errors.New("no")
	commit := func(j *journal.Journal[int], id string, err error) {
		_, _ = j.Commit(t.Context(), journal.Command{Stream: "s", Mode: journal.Either, Campaign: "c", RequestID: id, RequestHash: "h", Actor: "a"},
			func(context.Context, journal.At[int]) (journal.Decision, error) {
				return journal.Decision{Events: []json.RawMessage{json.RawMessage(`{}`)}, Dice: []journal.Die{
					{Sides: 6, Face: 1}, {Sides: 6, Face: 2}, {Sides: 6, Face: 3, Reported: true},
				}}, err
			})
	}
	commit(j, "1", nil)
	commit(j, "1", nil)
	commit(other, "2", nil)
	commit(j, "3", nil) // its fold is older than the other's record: it loses the race and decides again
	commit(j, "4", refuse)

	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					label := ""
					for _, key := range []string{"outcome", "source"} {
						if v, ok := p.Attributes.Value(attribute.Key(key)); ok {
							label = " " + v.AsString()
						}
					}
					if kind, _ := p.Attributes.Value("kind"); kind.AsString() == own {
						got[m.Name+label] += p.Value
					}
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					if kind, _ := p.Attributes.Value("kind"); kind.AsString() == own {
						got[m.Name] += int64(p.Count) //nolint:gosec // few
					}
				}
			}
		}
	}
	want := map[string]int64{
		"wayfarer.journal.commands recorded": 3, "wayfarer.journal.commands repeated": 1, "wayfarer.journal.commands not recorded": 1,
		"wayfarer.journal.conflicts": 1, "wayfarer.dice.drawn stream": 6, "wayfarer.dice.drawn reported": 3,
		"wayfarer.journal.commit.duration": 5,
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s is %d, want %d (all: %v)", name, got[name], n, got)
		}
	}
}
