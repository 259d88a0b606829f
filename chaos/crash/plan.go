package crash

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// Harm is what happens at a point.
type Harm int

// The harms.
const (
	// Nothing happens.
	Nothing Harm = iota
	// Kill ends the program whose point it is; a new one begins on the same store when it is called.
	Kill
	// PowerCut ends all programs at once.
	PowerCut
	// Cut loses the request or the answer on its way; both ends go on.
	Cut
)

// When is the side of a point: before what is named is done, or after it.
type When string

// The sides.
const (
	Before When = "before"
	After  When = "after"
)

// Point is where a program can die: before or after it does something that others can see.
type Point struct {
	// Program is who does it, Kind what it does, and What to what: "dungeon", "insert", "run".
	Program, Kind, What string
	When                When
}

// String implements fmt.Stringer.
func (p Point) String() string {
	return fmt.Sprintf("%s: %s %s %s", p.Program, p.When, p.Kind, p.What)
}

// The kinds of points.
const (
	// Insert is that of a record.
	Insert = "insert"
	// Owe is an entry into the index of what is owed.
	Owe = "owe"
	// Settle is the end of such an entry.
	Settle = "settle"
	// Lease is a step of lending or giving back, as the borrower makes it.
	Lease = "lease"
	// Activity is one of Temporal's.
	Activity = "activity"
	// Answer is that of a call: before it is begun, and after it is done but not told.
	Answer = "answer"
	// Update is a command on its way to its turn; the one that got lost comes later.
	Update = "update"
)

// plan chooses the points of one run. What happens at a point depends on the seed, on the point and on how often it was
// passed, and on nothing else.
type plan struct {
	seed uint64
	// favourites are the points at which this seed strikes most.
	favourites []Point
	armed      bool
	visits     map[Point]int
	// left is how many more harms the command under way may suffer: it has to come through in the end.
	left int
	// Hits counts the harms by point.
	hits map[Point]int
}

const (
	// perCommand is how many harms one attempt of a client may suffer.
	perCommand = 4
	// favourite and other are the chances of a harm, one in so many.
	favouriteOdds, otherOdds = 3, 50
)

func newPlan(seed uint64, aims []Point) *plan {
	p := &plan{seed: seed, favourites: aims, visits: map[Point]int{}, hits: map[Point]int{}}
	if len(aims) > 0 {
		return p
	}
	for i := range 3 {
		p.favourites = append(p.favourites, Points[(int(seed%uint64(len(Points)))+i*len(Points)/3)%len(Points)]) //nolint:gosec // small
	}
	return p
}

// at tells what happens at a point.
func (p *plan) at(at Point) Harm {
	if !p.armed {
		return Nothing
	}
	n := p.visits[at]
	p.visits[at]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%d", p.seed, at, n)
	chance := mix(h.Sum64())
	odds := uint64(otherOdds)
	if n < 6 && slices.Contains(p.favourites, at) {
		if odds = favouriteOdds; n < 2 {
			odds = 1
		}
	}
	if chance%odds != 0 || p.left == 0 {
		return Nothing
	}
	p.left--
	p.hits[at]++
	switch kind := chance / odds % 8; {
	case at.Kind == Update: // Temporal keeps what it was told
		return Cut
	case kind == 0:
		return PowerCut
	case kind < 3 && (at.Kind == Answer || at.Kind == Lease):
		return Cut
	}
	return Kill
}

// mix spreads what a hash of a short text leaves close together.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
