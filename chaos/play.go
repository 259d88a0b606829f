package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// users play at every table: a game master and two players, each with a character of their name.
var users = []string{"gm", "ada", "bram"}

// table is one expedition with who plays it.
type table struct {
	field  *field
	client *client
	number int
	seed   uint64
	pace   time.Duration

	campaign, expedition, dungeon string
	tokens                        map[string]string

	mu    sync.Mutex
	calls map[string]*told
	// wrong is what was noticed while it was played.
	wrong      []string
	duplicates int
}

// told is what a client was told of one request.
type told struct {
	user string
	body object
	// answer is the first good one; nil when there was none.
	answer object
	// refused is set by an answer that says that nothing was done.
	refused string
	// doubt is set when an answer may have been lost, and none came after.
	doubt bool
}

func newTable(f *field, number int, s settings) *table {
	campaign := fmt.Sprintf("campaigns/chaos-%d", number)
	return &table{
		field: f, client: newClient(f.gateway), number: number, seed: s.Seed, pace: s.Pace, campaign: campaign,
		expedition: campaign + "/expeditions/out", dungeon: campaign + "/dungeons/" + digger.ShippedDungeons()[0].ID,
		tokens: map[string]string{}, calls: map[string]*told{},
	}
}

func (t *table) character(user string) string { return t.campaign + "/characters/" + user }

// lay makes everything that an expedition needs, before the chaos.
func (t *table) lay(ctx context.Context) error {
	for _, u := range users {
		var err error
		if t.tokens[u], err = token(ctx, t.field.tokens, u); err != nil {
			return err
		}
	}
	n := 0
	must := func(user, path string, body object) (object, error) {
		n++
		body["requestId"] = fmt.Sprintf("lay-%d", n)
		for {
			a := t.client.call(ctx, t.tokens[user], path, body)
			switch {
			case a.ok():
				return a.body, nil
			case !a.doubtful() || ctx.Err() != nil:
				return nil, fmt.Errorf("%s: %v", path, a)
			}
			if !pause(ctx, 100*time.Millisecond) {
				return nil, ctx.Err()
			}
		}
	}
	type step struct {
		user, path string
		body       object
	}
	hex := func(q, r int) object { return object{"q": q, "r": r} }
	steps := []step{
		{"gm", "campaigns", object{"campaignId": t.campaign[len("campaigns/"):], "title": "Chaos", "chapter": 3, "members": []object{
			{"subject": "ada", "role": "ROLE_PLAYER"}, {"subject": "bram", "role": "ROLE_PLAYER"},
		}}},
		{"gm", t.campaign + "/regions:import", object{"regionId": "vale", "region": object{
			"title": "The vale", "hexes": []object{{"q": 0, "r": 0, "terrain": "plains"}, {"q": 1, "r": 0, "terrain": "plains"}, {"q": 1, "r": 1, "terrain": "forest"}},
			"roads":     []object{{"id": "lane", "name": "The lane", "path": []object{hex(0, 0), hex(1, 0)}}},
			"locations": []object{{"id": "hamlet", "name": "The hamlet", "kind": "settlement", "hex": hex(0, 0), "visible": true}},
		}}},
		{"gm", t.campaign + "/dungeons:import", object{"dungeon": shipped()}},
	}
	for _, u := range users[1:] {
		name := t.character(u)
		steps = append(steps,
			step{u, t.campaign + "/characters", object{"characterId": u, "title": u}},
			step{u, name + ":setAbilities", object{"abilities": object{"brute": 5, "agility": 4, "wits": 4, "combat": 4}}},
			step{u, name + ":buyTools", object{"tools": []object{
				{"id": "gauntlets", "ability": "brute", "rating": "major", "qualities": []string{"improved"}},
				{"id": "whistle", "ability": "wits", "rating": "minor", "qualities": []string{"efficient"}},
			}}},
			step{u, name + ":loadTool", object{"number": 1}}, step{u, name + ":loadTool", object{"number": 2}},
		)
	}
	steps = append(steps,
		step{"ada", t.campaign + "/parties", object{"partyId": "delvers", "character": t.character("ada")}},
		step{"bram", t.campaign + "/parties/delvers:join", object{"character": t.character("bram")}},
		step{"gm", t.campaign + "/companies", object{
			"companyId": "walkers", "title": "The walkers", "pack": object{"gold": 100000, "food": []int{20, 20}},
			"travelers": []object{{"character": t.character("ada")}, {"character": t.character("bram")}},
		}},
		step{"ada", t.campaign + "/expeditions", object{"expeditionId": "out", "title": "Out", "company": t.campaign + "/companies/walkers"}},
		step{"ada", t.expedition + ":execute", object{"startJourney": object{"region": t.campaign + "/regions/vale", "hex": hex(0, 0), "character": t.character("ada")}}},
	)
	for _, s := range steps {
		if _, err := must(s.user, s.path, s.body); err != nil {
			return err
		}
	}
	return nil
}

// play lets everybody give commands until ctx ends.
func (t *table) play(ctx context.Context) {
	var wg sync.WaitGroup
	for i, u := range users {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(t.seed, uint64(t.number*len(users)+i+100))) //nolint:gosec // repeatable on purpose
			for n := 0; pause(ctx, time.Duration(rng.Float64()*2*float64(t.pace))); n++ {
				t.one(ctx, u, fmt.Sprintf("%s-%d", u, n), rng)
			}
		})
	}
	wg.Wait()
}

// one gives one command, repeats it while nobody knows what became of it, and every tenth time once more for good measure.
func (t *table) one(ctx context.Context, user, id string, rng *rand.Rand) {
	body := t.choose(ctx, user, rng)
	if body == nil {
		return
	}
	body["requestId"] = id
	call := &told{user: user, body: body}
	t.mu.Lock()
	t.calls[id] = call
	t.mu.Unlock()
	path := t.expedition + ":execute"
	// The caller's patience ends with the chaos; the request's effect does not.
	for try := 0; ; try++ {
		a := t.client.call(context.WithoutCancel(ctx), t.tokens[user], path, body)
		t.note(id, a)
		if !a.doubtful() && a.reason != "STREAM_BUSY" || ctx.Err() != nil {
			break
		}
		if try > 0 && rng.IntN(10) == 0 || !pause(ctx, time.Duration(50+rng.IntN(300))*time.Millisecond) {
			break // gives up: it stays in doubt
		}
	}
	if rng.IntN(10) == 0 {
		t.mu.Lock()
		t.duplicates++
		t.mu.Unlock()
		t.note(id, t.client.call(context.WithoutCancel(ctx), t.tokens[user], path, body))
	}
}

// note keeps what a client was told. A second good answer is like the first.
func (t *table) note(id string, a answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.calls[id]
	switch {
	case a.ok() && c.answer == nil:
		// Also after a refusal: that left nothing behind, and what it asked for may be right by now.
		c.answer, c.doubt, c.refused = a.body, false, ""
	case a.ok():
		if !reflect.DeepEqual(c.answer, a.body) {
			t.wrong = append(t.wrong, fmt.Sprintf("%s was answered\n%v\nand then\n%v", id, c.answer, a.body))
		}
	case a.doubtful(), a.reason == "STREAM_BUSY":
		c.doubt = c.answer == nil
	case c.answer != nil:
		t.wrong = append(t.wrong, fmt.Sprintf("%s was answered and then refused: %v", id, a))
	case c.doubt:
		// A refusal after a doubt: the command had not been carried out, or what it did refuses its own repetition, which
		// must not be. The journals will tell.
		c.refused, c.doubt = a.reason, false
	default:
		c.refused = a.reason
	}
}

// choose makes a command: mostly one that fits, sometimes one that does not.
func (t *table) choose(ctx context.Context, user string, rng *rand.Rand) object {
	at := t.client.call(ctx, t.tokens[user], t.expedition, nil)
	phase := at.body.text("phase")
	who := user
	if user == "gm" { // acts for anybody
		who = users[1+rng.IntN(2)]
	}
	character := t.character(who)
	with := func(name string, fields object) object {
		fields["character"] = character
		return object{name: fields}
	}
	to := func(q, r int) object { return object{"q": q, "r": r} }
	wild := []func() object{
		func() object { return with("draw", object{}) },
		func() object { return with("move", object{"to": to(9, 9)}) },
		func() object { return with("act", object{"action": object{"tool": 9}}) },
		func() object { return with("complete", object{}) },
		func() object { return with("enterLocation", object{"location": "nowhere"}) },
		func() object { return with("takeRisk", object{}) },
		func() object { return with("endCombat", object{}) },
	}
	if rng.IntN(7) == 0 {
		return wild[rng.IntN(len(wild))]()
	}
	travel := []func() object{
		func() object { return with("move", object{"to": to(rng.IntN(2), 0)}) },
		func() object { return with("move", object{"to": to(1, rng.IntN(2))}) },
		func() object { return with("search", object{}) },
		func() object { return with("forage", object{}) },
		func() object { return with("enterLocation", object{"location": "hamlet"}) },
		func() object { return with("enterLocation", object{"location": "hamlet"}) },
	}
	inside := []func() object{
		func() object {
			return with("startRun", object{"party": t.campaign + "/parties/delvers", "dungeon": t.dungeon})
		},
		func() object {
			return with("startDelve", object{"invokedBy": "INVOKED_BY_BASIC_GAME_LOOP", "map": object{"title": "The cellar"}, "entry": "the trapdoor"})
		},
		func() object { return with("buyFood", object{"steps": 1 + rng.IntN(3)}) },
		func() object { return with("leaveLocation", object{}) },
	}
	delve := []func() object{
		func() object {
			return with("recordMembers", object{"members": []object{{"name": who, "kind": "PC", "rank": "FRONT", "character": character}}})
		},
		func() object { return with("recordProvisions", object{"note": "bread"}) },
		func() object {
			return with("recordLights", object{"lights": []object{{"id": "torch", "source": "TORCH", "active": true}}})
		},
		func() object { return with("beginDelve", object{}) },
		func() object { return with("interact", object{}) },
		func() object { return with("interact", object{}) },
		func() object { return with("takeRisk", object{}) },
		func() object { return with("wait", object{"minutes": 10 + rng.IntN(50)}) },
		func() object { return with("shortRest", object{}) },
		func() object { return with("leaveDelve", object{"target": "TRAVEL"}) },
	}
	pick := func(from []func() object) object { return from[rng.IntN(len(from))]() }
	switch phase {
	case "PHASE_TRAVELING":
		return pick(travel)
	case "PHASE_AT_LOCATION":
		return pick(inside)
	case "PHASE_DELVING":
		if at.body.text("delve") != "" {
			return pick(delve)
		}
		run := t.client.call(ctx, t.tokens[user], at.body.text("run"), nil)
		ability := run.body.text("challenge.ability")
		if ability == "" {
			ability = "brute"
		}
		return pick([]func() object{
			func() object { return with("draw", object{}) },
			func() object {
				return with("act", object{"action": object{"basic": ability, "risk": rng.IntN(2) == 0}})
			},
			func() object {
				return with("act", object{"action": object{"basic": ability, "risk": rng.IntN(2) == 0}})
			},
			func() object { return with("act", object{"action": object{"tool": 1 + rng.IntN(2)}}) },
			func() object { return with("complete", object{}) },
			func() object { return with("complete", object{}) },
			func() object {
				if rng.IntN(6) > 0 {
					return with("draw", object{})
				}
				return with("abandonRun", object{})
			},
		})
	}
	return pick(append(travel, inside...)) // it is not known where they are
}
