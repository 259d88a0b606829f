package memory_test

import (
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
)

func fresh(testing.TB) journaltest.Place {
	s := memory.New()
	return func(testing.TB) journal.Store { return s }
}

func TestStore(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, journaltest.Options{}, fresh)
}

func BenchmarkStore(b *testing.B) { journaltest.Bench(b, fresh) }
