package expedition

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"
)

// A state that was kept in a head goes on like one that was folded, wherever it was kept.
func TestAKeptStateGoesOn(t *testing.T) {
	t.Parallel()
	const journey = "campaigns/c/journeys/j"
	logged := func(seq int32) *expeditionv1.ExpeditionEvent {
		return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_Logged{Logged: &expeditionv1.RecordLogged{
			Aggregate: journey, Record: &typev1.Record{Seq: seq, RequestId: "r"},
		}}}
	}
	executed := func(command string, seq int32) *expeditionv1.ExpeditionEvent {
		return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_Executed{Executed: &expeditionv1.CommandExecuted{
			Command: command, Aggregate: journey, Seq: seq,
		}}}
	}
	events := []*expeditionv1.ExpeditionEvent{
		{Event: &expeditionv1.ExpeditionEvent_Created{Created: &expeditionv1.ExpeditionCreated{Title: "Out", Company: "campaigns/c/companies/w", Creator: "ada"}}},
		{Event: &expeditionv1.ExpeditionEvent_StartIntended{StartIntended: &expeditionv1.StartIntended{}}},
		logged(1), executed(startJourney, 1), logged(2), logged(3), executed("move", 3), executed("move", 2), logged(4),
	}
	var folded, kept state
	for i, e := range events {
		var err error
		if folded, err = apply(folded, e); err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(kept)
		if err != nil {
			t.Fatal(err)
		}
		kept = state{}
		if err := json.Unmarshal(raw, &kept); err != nil {
			t.Fatal(err)
		}
		if kept, err = apply(kept, e); err != nil {
			t.Fatal(err)
		}
		a, b := must(json.Marshal(folded)), must(json.Marshal(kept))
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Fatalf("after event %d:\n%s", i+1, diff)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
