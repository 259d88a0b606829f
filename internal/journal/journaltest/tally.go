package journaltest

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Tally is the state of the aggregate that the suite plays with.
type Tally struct {
	Sum  int            `json:"sum"`
	By   map[string]int `json:"by"` // what each name added
	Done bool           `json:"done"`
	Gone bool           `json:"gone"`
}

type tallyEvent struct {
	Kind string `json:"kind"`
	By   string `json:"by,omitempty"`
	N    int    `json:"n,omitempty"`
}

// TallyFold folds the events that Add, End and Hide make. It changes the map of the state it is given and so relies on Clone.
func TallyFold(version int) journal.Fold[Tally] {
	return journal.Fold[Tally]{
		Kind: "tally", Version: version,
		Zero:  func() Tally { return Tally{By: map[string]int{}} },
		Clone: func(s Tally) Tally { s.By = maps.Clone(s.By); return s },
		Apply: func(s Tally, raw json.RawMessage) (Tally, error) {
			var ev tallyEvent
			if err := json.Unmarshal(raw, &ev); err != nil {
				return s, err
			}
			switch ev.Kind {
			case "add":
				s.Sum += ev.N
				s.By[ev.By] += ev.N
			case "end":
				s.Done = true
			case "hide":
				s.Gone = true
			default:
				return s, fmt.Errorf("unknown kind of event %q", ev.Kind)
			}
			return s, nil
		},
		Unlisted: func(s Tally) bool { return s.Gone },
		Ended:    func(s Tally) bool { return s.Done },
	}
}

func event(ev tallyEvent) json.RawMessage {
	raw, err := json.Marshal(ev)
	if err != nil {
		panic(err) // two strings and a number
	}
	return raw
}

// Add is the event of n added by somebody.
func Add(by string, n int) json.RawMessage { return event(tallyEvent{Kind: "add", By: by, N: n}) }

// End is the event that ends a tally.
func End() json.RawMessage { return event(tallyEvent{Kind: "end"}) }

// Hide is the event that takes a tally out of lists.
func Hide() json.RawMessage { return event(tallyEvent{Kind: "hide"}) }
