// Package audit compares the journals of an expedition with what its clients were told. It owns what it means that nothing is
// lost, done twice, rolled again or made of nothing; whoever disturbs a game, and how, is no matter of its.
//
// Evidence is gathered from the outside, by REST, with no more than a game master may see. Judging it is a function of the
// evidence alone.
package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
)

// Told is what a client was told of one request.
type Told struct {
	// User gave the command, Path is where it went, below /v1/, and Body what it said.
	User, Path string
	Body       rest.Object
	// Answer is the first good one; nil when there was none.
	Answer rest.Object
	// Refused is the reason of the last refusal; "" when there was none. A refusal says that nothing was done.
	Refused string
	// Lost is set when any attempt was left without an answer: it may have been carried out, at any time.
	Lost bool
}

// Doubt tells whether nobody knows what became of the request. A refusal says what became of the attempt that got it; one
// before that may still be on its way, and have its turn when what it asks for is right.
func (t Told) Doubt() bool { return t.Answer == nil && (t.Lost || t.Refused == "") }

// Scene is an expedition after the play, and who can look at it.
type Scene struct {
	Client *rest.Client
	// Tokens are the players', by user. GM is the user who sees everything and ends what is left open.
	Tokens map[string]string
	GM     string
	// Resource names.
	Campaign, Expedition, Company string
	Characters                    []string
	// Told is what the clients were told, by request_id.
	Told map[string]*Told
	// Noticed is what was wrong already while it was played.
	Noticed []string
	// Within is how long it may take to read a journal; then what came of it is all there is. 0: four minutes.
	Within time.Duration
	// Repeats is how many of the acknowledged requests are repeated at the end; 0: all of them.
	Repeats int
}

// Aggregate is a resource as it is now, and its journal.
type Aggregate struct {
	State   rest.Object
	Journal []rest.Object
	// Stream are its dice; nil when it has none.
	Stream rest.Object
}

// Evidence is everything that is judged.
type Evidence struct {
	Name       string
	Expedition Aggregate
	// Parts are the journey, the runs and the delves that the log speaks of, by name.
	Parts map[string]Aggregate
	// Listed are all journeys, runs and delves that the services list for the expedition.
	Listed     []string
	Company    Aggregate
	Characters map[string]Aggregate
	Told       map[string]*Told
	Noticed    []string
	// Repeated are the answers to repetitions after the end, by request_id, and Grown the parts that grew by them.
	Repeated map[string]rest.Answer
	Grown    []string
}

// end is the request_id by which an expedition is ended that is still open.
const end = "the-end"

// Gather ends the expedition, reads everything and repeats requests. Its error says that the evidence is not to be had, which
// is as bad as anything that it could prove.
func Gather(ctx context.Context, s Scene) (*Evidence, error) {
	g := gatherer{Scene: s, Evidence: &Evidence{
		Name: s.Expedition, Parts: map[string]Aggregate{}, Characters: map[string]Aggregate{}, Told: maps.Clone(s.Told), Noticed: s.Noticed,
		Repeated: map[string]rest.Answer{},
	}}
	for _, step := range []func(context.Context) error{g.conclude, g.read, g.list, g.repeat} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return g.Evidence, nil
}

type gatherer struct {
	Scene
	*Evidence
}

func (g gatherer) get(ctx context.Context, name string) (rest.Object, error) {
	a, err := g.Client.Steady(ctx, g.Tokens[g.GM], name, nil)
	if err == nil && !a.OK() {
		err = fmt.Errorf("read %s: %v", name, a)
	}
	return a.Body, err
}

// aggregate reads a resource and its journal, whatever still ails.
func (g gatherer) aggregate(ctx context.Context, name string) (Aggregate, error) {
	at, err := g.get(ctx, name)
	if err != nil {
		return Aggregate{}, err
	}
	a := Aggregate{State: at}
	if g.Within == 0 {
		g.Within = 4 * time.Minute // a busy machine is slow, and has lost nothing
	}
	within, cancel := context.WithTimeout(ctx, g.Within)
	defer cancel()
	for {
		// A journal that does not have what its own state says is judged like any other.
		recs, err := g.Client.Watch(within, g.Tokens[g.GM], name, at.Number("seq"))
		if len(recs) > len(a.Journal) {
			a.Journal = recs
		}
		if err == nil || !rest.Pause(within, pauseBetween) {
			break
		}
	}
	if stream := at.Text("stream"); stream != "" {
		a.Stream, err = g.get(ctx, stream)
	}
	return a, err
}

// conclude shows that the expedition can go on: it can be ended.
func (g gatherer) conclude(ctx context.Context) error {
	at, err := g.get(ctx, g.Scene.Expedition)
	if err != nil || at.Text("phase") == concluded {
		return err
	}
	last := &Told{User: g.GM, Path: g.Scene.Expedition + ":abandon", Body: rest.Object{"requestId": end}}
	a, err := g.Client.Steady(ctx, g.Tokens[g.GM], last.Path, last.Body)
	switch {
	case err != nil:
		return err
	case a.OK():
		last.Answer = a.Body
		g.Evidence.Told[end] = last
	case a.Reason != "EXPEDITION_ENDED": // by what was in doubt until now
		return fmt.Errorf("the expedition cannot be ended: %v", a)
	}
	return nil
}

func (g gatherer) read(ctx context.Context) (err error) {
	if g.Evidence.Expedition, err = g.aggregate(ctx, g.Scene.Expedition); err != nil {
		return err
	}
	for _, rec := range g.Evidence.Expedition.Journal {
		for _, e := range rec.List("events") {
			name := e.Text("logged.aggregate")
			if _, known := g.Parts[name]; name == "" || known {
				continue
			}
			if g.Parts[name], err = g.aggregate(ctx, name); err != nil {
				return err
			}
		}
	}
	if g.Evidence.Company, err = g.aggregate(ctx, g.Scene.Company); err != nil {
		return err
	}
	for _, name := range g.Scene.Characters {
		if g.Evidence.Characters[name], err = g.aggregate(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (g gatherer) list(ctx context.Context) error {
	for _, kind := range []string{"journeys", "runs", "delves"} {
		for page := ""; ; {
			res, err := g.get(ctx, g.Campaign+"/"+kind+"?page_size=100&page_token="+page)
			if err != nil {
				return err
			}
			for _, o := range res.List(kind) {
				if o.Text("expedition") == g.Scene.Expedition {
					g.Listed = append(g.Listed, o.Text("name"))
				}
			}
			if page = res.Text("nextPageToken"); page == "" {
				break
			}
		}
	}
	return nil
}

// repeat gives commands again, long after: those that were acknowledged, and all that are in doubt.
func (g gatherer) repeat(ctx context.Context) error {
	acknowledged := 0
	for _, id := range slices.Sorted(maps.Keys(g.Evidence.Told)) {
		c := g.Evidence.Told[id]
		if c.Answer != nil {
			if acknowledged++; g.Repeats > 0 && acknowledged > g.Repeats {
				continue
			}
		}
		a, err := g.Client.Steady(ctx, g.Tokens[c.User], c.Path, c.Body)
		if err != nil {
			return err
		}
		g.Repeated[id] = a
	}
	before := map[string]int{g.Scene.Expedition: g.Evidence.Expedition.State.Number("seq")}
	for name, p := range g.Parts {
		before[name] = p.State.Number("seq")
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		now, err := g.get(ctx, name)
		if err != nil {
			return err
		}
		if now.Number("seq") != before[name] {
			g.Grown = append(g.Grown, name)
		}
	}
	return nil
}
