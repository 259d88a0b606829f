package journal_test

import (
	"context"
	"encoding/json"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
)

// A record says who gave its command, by whose token, and in which trace.
func TestRecordsTellByWhichWayTheyCame(t *testing.T) {
	t.Parallel()
	fold := journal.Fold[int]{Kind: "audited", Version: 1, Apply: func(n int, _ json.RawMessage) (int, error) { return n, nil }}
	j := journal.New(memory.New(), fold, journal.WithSelf("worker"))
	traced := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}}))
	for name, tt := range map[string]struct {
		ctx              context.Context
		principal, trace string
	}{
		"a user":                     {auth.NewContext(traced, auth.Principal{Subject: "ada"}), "ada", "01020000000000000000000000000000"},
		"a service for a user":       {auth.NewContext(traced, auth.Principal{Subject: "expedition", Service: true, Actor: "ada"}), "expedition", "01020000000000000000000000000000"},
		"without a trace":            {auth.NewContext(t.Context(), auth.Principal{Subject: "ada"}), "ada", ""},
		"a program for its own sake": {t.Context(), "worker", ""},
	} {
		done, err := j.Commit(tt.ctx, journal.Command{Stream: name, Mode: journal.Either, Campaign: "c", RequestID: "r", RequestHash: "h", Actor: "ada"},
			func(context.Context, journal.At[int]) (journal.Decision, error) { return journal.Decision{}, nil })
		if r := done.Record; err != nil || r.Actor != "ada" || r.Principal != tt.principal || r.Trace != tt.trace {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
