package archive

import (
	"fmt"
	"reflect"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Problem is something that is not as it has to be.
type Problem struct {
	Service, Stream string
	// Seq is the record at fault; 0: the stream as a whole.
	Seq  int
	What string
}

func (p Problem) String() string {
	if p.Seq == 0 {
		return fmt.Sprintf("%s: %s: %s", p.Service, p.Stream, p.What)
	}
	return fmt.Sprintf("%s: record %d of %s: %s", p.Service, p.Seq, p.Stream, p.What)
}

// Count is what was walked of a service.
type Count struct {
	Streams, Records int
	// Drawn are the dice that were derived again, Reported those that no stream has.
	Drawn, Reported int
}

// Checker looks whether journals are sound: no gap in a stream, every record folds, request ids are used once, every drawn
// face is the one of its stream. It is given the records of a stream one after the other.
//
// What it keeps for each stream seen is its name, for each dice stream its seed.
type Checker struct {
	services map[string]Service
	report   func(Problem)
	counts   map[string]*Count
	// whole tells that every stream drawn from has to be there.
	whole bool
	seen  map[string]bool
	seeds map[string]Seed

	// The stream at hand.
	service, stream string
	kind            Kind
	first           journal.Record
	seq             int
	fold            journal.Refolding // nil once it cannot be folded on
	requests        map[string]int
}

// NewChecker returns a checker for records of the services. Each problem is given to report. Where the journals of the service
// that keeps the dice streams are not among them, faces are not checked.
func NewChecker(services []Service, report func(Problem)) *Checker {
	c := &Checker{
		services: map[string]Service{}, report: report, counts: map[string]*Count{}, seen: map[string]bool{}, seeds: map[string]Seed{},
	}
	for _, s := range services {
		c.services[s.Name] = s
		c.counts[s.Name] = &Count{}
		for _, k := range s.Kinds {
			c.whole = c.whole || k.Seed != nil
		}
	}
	return c
}

func (c *Checker) problem(seq int, format string, args ...any) {
	c.report(Problem{Service: c.service, Stream: c.stream, Seq: seq, What: fmt.Sprintf(format, args...)})
}

// Add checks the next record. It returns the dice stream that the record drew from; empty when it drew none.
func (c *Checker) Add(service string, r journal.Record) (diceStream string) {
	if service != c.service || r.Stream != c.stream {
		c.finish()
		c.begin(service, r)
	}
	count := c.counts[service]
	if count == nil {
		return ""
	}
	count.Records++
	c.seq++
	switch {
	case r.Seq != c.seq:
		c.problem(c.seq, "is missing: record %d is in its place", r.Seq)
		c.seq, c.fold = r.Seq, nil
	case r.Campaign != c.first.Campaign:
		c.problem(r.Seq, "is of %q, the stream of %q", r.Campaign, c.first.Campaign)
	case r.Seq > 1 && r.Parent != "":
		c.problem(r.Seq, "has a parent, which only record 1 has")
	}
	if r.RequestID == "" {
		c.problem(r.Seq, "has no request id")
	} else if before := c.requests[r.RequestID]; before > 0 {
		c.problem(r.Seq, "has the request id %q of record %d", r.RequestID, before)
	}
	c.requests[r.RequestID] = r.Seq
	diceStream = c.dice(r, count)
	if c.fold != nil {
		if err := c.fold.Add(r); err != nil {
			c.problem(r.Seq, "%v", err)
			c.fold = nil
		}
	}
	return diceStream
}

func (c *Checker) begin(service string, r journal.Record) {
	c.service, c.stream, c.first, c.seq, c.fold, c.kind = service, r.Stream, r, 0, nil, Kind{}
	c.requests = map[string]int{}
	s, ok := c.services[service]
	if !ok {
		c.problem(0, "nobody knows the service")
		return
	}
	c.counts[service].Streams++
	if key := service + "\x00" + r.Stream; c.seen[key] {
		c.problem(r.Seq, "stands apart from the records of its stream")
	} else {
		c.seen[key] = true
	}
	if c.kind, ok = s.kind(r.Kind); !ok {
		c.problem(0, "nobody knows the kind %q", r.Kind)
		return
	}
	c.fold = c.kind.Refold(r.Stream)
}

// dice checks the faces of a record against the stream that the state before it names.
func (c *Checker) dice(r journal.Record, count *Count) (stream string) {
	drawn := false
	for i, d := range r.Dice {
		switch {
		case d.Sides < 1 || d.Face < 1 || d.Face > d.Sides:
			c.problem(r.Seq, "die %d has %d sides and shows %d", i+1, d.Sides, d.Face)
		case d.Reported:
			count.Reported++
		default:
			drawn = true
		}
	}
	if !drawn || c.fold == nil || c.kind.DiceStream == nil {
		if drawn && c.fold != nil {
			c.problem(r.Seq, "has dice, and the kind %q draws none", c.kind.Name)
		}
		return ""
	}
	if stream = c.kind.DiceStream(c.fold.State()); stream == "" {
		c.problem(r.Seq, "has dice, and no stream to draw them from")
		return ""
	}
	if !c.whole {
		return stream
	}
	seed, ok := c.seeds[stream]
	if !ok {
		c.problem(r.Seq, "draws from %s, which is not there", stream)
		return stream
	}
	if !seed.Drawn {
		c.problem(r.Seq, "draws from %s, which does not know of any draw", stream)
	}
	faces, err := Derive(seed, r)
	if err != nil {
		c.problem(r.Seq, "cannot be drawn from %s: %v", stream, err)
		return stream
	}
	for i, d := range r.Dice {
		if d.Reported {
			continue
		}
		count.Drawn++
		if d.Face != faces[i] {
			c.problem(r.Seq, "die %d of %d sides shows %d, %s gives %d", i+1, d.Sides, d.Face, stream, faces[i])
			break // what comes after a wrong number of dice is wrong as well
		}
	}
	return stream
}

// Derive returns the faces that a dice stream gives for the dice of a record, 0 in the places of reported ones.
func Derive(seed Seed, r journal.Record) ([]int, error) {
	var sides, places []int
	for i, d := range r.Dice {
		if !d.Reported {
			sides, places = append(sides, d.Sides), append(places, i)
		}
	}
	faces, err := dicestream.Faces(seed.Seed, seed.Client, uint64(max(r.Seq, 0)), sides...) //nolint:gosec // not negative
	if err != nil {
		return nil, err
	}
	out := make([]int, len(r.Dice))
	for i, place := range places {
		out[place] = faces[i]
	}
	return out, nil
}

// finish keeps what others need of the stream at hand.
func (c *Checker) finish() {
	if c.fold == nil || c.kind.Seed == nil {
		return
	}
	seed := c.kind.Seed(c.fold.State())
	if len(seed.Seed) != dicestream.SeedSize {
		c.problem(0, "its seed has %d bytes, not %d", len(seed.Seed), dicestream.SeedSize)
	}
	c.seeds[c.stream] = seed
}

// owes tells whether the stream at hand owes something after its last record.
func (c *Checker) owes() bool {
	return c.fold != nil && c.kind.Owes != nil && c.kind.Owes(c.fold.State())
}

// Counts ends the walk and tells what was walked, by service.
func (c *Checker) Counts() map[string]Count {
	c.finish()
	c.service, c.stream, c.fold = "", "", nil
	out := map[string]Count{}
	for name, n := range c.counts {
		out[name] = *n
	}
	return out
}

// same tells whether two records are one and the same, whatever blanks stand in their events.
func same(a, b journal.Record) bool {
	x, y := lineOf("", "", a), lineOf("", "", b)
	if !x.Time.Equal(y.Time) || len(x.Events) != len(y.Events) {
		return false
	}
	for i := range x.Events {
		if compact(x.Events[i]) != compact(y.Events[i]) {
			return false
		}
	}
	x.Time, x.Events, y.Events = y.Time, nil, nil
	if len(x.Dice) == 0 && len(y.Dice) == 0 {
		x.Dice, y.Dice = nil, nil
	}
	return reflect.DeepEqual(x, y)
}
