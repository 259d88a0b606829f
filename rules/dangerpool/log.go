package dangerpool

// The kinds of entries of the Activity Log.
const (
	LogBegun       = "BEGUN"
	LogSpill       = "SPILL"
	LogNarrated    = "NARRATED"
	LogDarkness    = "DARKNESS"
	LogCombat      = "COMBAT_STARTED"
	LogCombatEnded = "COMBAT_ENDED"
	LogInterrupted = "REST_INTERRUPTED"
	LogRemark      = "REMARK"
	LogAdjusted    = "ADJUSTED"
	LogLeft        = "LEFT"
)

// Entry is one line of the Activity Log: notable events, spills and elapsed time (POOL-SCOPE-06).
type Entry struct {
	Kind string
	// Elapsed is the in-game time in minutes.
	Elapsed int
	// Spill is set for spills.
	Spill *Spilled
	// Narrated is set for what a GM told otherwise.
	Narrated *EventNarrated
	// Text is a remark, a reason, or where play went on. Secret: for GMs.
	Text   string
	Secret bool
}

// Log returns what the events of one command put into the Activity Log, and the state after them.
func Log(d Delve, events []Event) ([]Entry, Delve) {
	var log []Entry
	for _, e := range events {
		before := d
		d = Apply(d, e)
		entry := Entry{Elapsed: d.Elapsed()}
		switch e := e.(type) {
		case Begun:
			entry.Kind, entry.Text = LogBegun, e.Area
		case Spilled:
			entry.Kind, entry.Spill = LogSpill, &e
		case EventNarrated:
			entry.Kind, entry.Narrated = LogNarrated, &e
		case Triggered:
			switch {
			case e.InCombat && !before.InCombat:
				entry.Kind = LogCombat
			case before.InCombat && !e.InCombat:
				entry.Kind = LogCombatEnded
			}
		case RestInterrupted:
			entry.Kind = LogInterrupted
		case Remarked:
			entry.Kind, entry.Text, entry.Secret = LogRemark, e.Text, e.Secret
		case Adjusted:
			entry.Kind, entry.Text, entry.Secret = LogAdjusted, e.Reason, true
		case Departed:
			entry.Kind, entry.Text = LogLeft, e.Target
		}
		if entry.Kind != "" {
			log = append(log, entry)
		}
		if d.Setup == SetupBegun && d.Darkness() && (!before.Darkness() || before.Setup != SetupBegun) {
			log = append(log, Entry{Kind: LogDarkness, Elapsed: d.Elapsed()})
		}
	}
	return log, d
}
