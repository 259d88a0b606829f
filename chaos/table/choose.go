package table

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
)

// choose makes a command: mostly one that fits, sometimes one that does not.
func (t *Table) choose(ctx context.Context, user string, rng *rand.Rand) (path string, body rest.Object) {
	c := chooser{Table: t, rng: rng, user: user, who: user}
	if user == GM { // acts for anybody
		c.who = Users[1+rng.IntN(2)]
	}
	execute := t.expedition + ":execute"
	n := rng.IntN(42)
	switch {
	case t.cfg.Keen:
	case n == 8 && t.cfg.Ends && rng.IntN(4) == 0:
		return t.expedition + ":abandon", rest.Object{"character": c.character(c.who)}
	case n < 6:
		return execute, c.pick(c.wild())
	case n == 6:
		return t.expedition + ":openSession", rest.Object{}
	case n == 7:
		return t.expedition + ":closeSession", rest.Object{}
	}
	at := t.cfg.Client.Call(ctx, t.cfg.Tokens[user], t.expedition, nil).Body
	switch at.Text("phase") {
	case "PHASE_TRAVELING":
		return execute, c.pick(c.travel())
	case "PHASE_AT_LOCATION":
		return execute, c.pick(c.inside())
	case "PHASE_DELVING":
		if name := at.Text("delve"); name != "" {
			return execute, c.pick(c.delve(t.cfg.Client.Call(ctx, t.cfg.Tokens[user], name, nil).Body))
		}
		return execute, c.pick(c.run(t.cfg.Client.Call(ctx, t.cfg.Tokens[user], at.Text("run"), nil).Body))
	}
	return execute, c.pick(append(c.travel(), c.inside()...)) // it is not known where they are
}

type chooser struct {
	*Table
	rng *rand.Rand
	// user gives the command, for the character of who.
	user, who string
}

type option struct {
	name   string
	fields rest.Object
}

func (c chooser) pick(from []option) rest.Object {
	o := from[c.rng.IntN(len(from))]
	if o.fields == nil {
		o.fields = rest.Object{}
	}
	o.fields["character"] = c.character(c.who)
	return rest.Object{o.name: o.fields}
}

// wild are commands that nobody should give.
func (c chooser) wild() []option {
	return []option{
		{"draw", nil}, {"complete", nil}, {"takeRisk", nil}, {"endCombat", nil}, {"light", rest.Object{"kind": "torch"}},
		{"move", rest.Object{"to": hex(9, 9)}}, {"act", rest.Object{"action": rest.Object{"tool": 9}}}, {"enterLocation", rest.Object{"location": "nowhere"}},
	}
}

func (c chooser) travel() []option {
	if c.cfg.Keen {
		return []option{{"enterLocation", rest.Object{"location": "hamlet"}}}
	}
	out := []option{
		{"move", rest.Object{"to": hex(c.rng.IntN(2), 0)}}, {"move", rest.Object{"to": hex(1, c.rng.IntN(2))}}, {"search", nil}, {"forage", nil},
		{"enterLocation", rest.Object{"location": "hamlet"}}, {"enterLocation", rest.Object{"location": "hamlet"}},
	}
	if c.cfg.Ends && c.rng.IntN(5) == 0 {
		out = append(out, option{"endJourney", nil})
	}
	return out
}

func (c chooser) inside() []option {
	startRun := option{"startRun", rest.Object{"party": c.campaign + "/parties/delvers", "dungeon": c.dungeon}}
	if c.cfg.Keen {
		return []option{startRun}
	}
	return []option{
		startRun, startRun,
		{"startDelve", rest.Object{"invokedBy": "INVOKED_BY_BASIC_GAME_LOOP", "map": rest.Object{"title": "The cellar"}, "entry": "the trapdoor"}},
		{"startDelve", rest.Object{"invokedBy": "INVOKED_BY_BASIC_GAME_LOOP", "map": rest.Object{"title": "The cellar"}, "entry": "the trapdoor"}},
		{"buyFood", rest.Object{"steps": 1 + c.rng.IntN(3)}}, {"buyGear", rest.Object{"item": "torch", "count": 1, "carrier": c.who}},
		{"leaveLocation", nil}, {"leaveLocation", nil},
	}
}

func (c chooser) delve(delve rest.Object) []option {
	member := func(name string) rest.Object {
		return rest.Object{"name": name, "kind": "PC", "rank": "FRONT", "character": c.character(name)}
	}
	leave := option{"leaveDelve", rest.Object{"target": "TRAVEL"}}
	next := map[string]option{
		"PHASE_SETUP_MEMBERS":    {"recordMembers", rest.Object{"members": []rest.Object{member("ada"), member("bram")}}},
		"PHASE_SETUP_PROVISIONS": {"recordProvisions", rest.Object{"note": "bread"}},
		"PHASE_SETUP_LIGHTS":     {"recordLights", rest.Object{"lights": []rest.Object{{"id": "torch", "source": "TORCH", "active": true}}}},
		"PHASE_READY":            {"beginDelve", nil},
	}
	if o, ok := next[delve.Text("phase")]; ok {
		return []option{o, o, o, o, o, {"interact", nil}, leave}
	}
	out := []option{
		{"interact", nil}, {"interact", nil}, {"takeRisk", nil}, {"wait", rest.Object{"minutes": 10 + c.rng.IntN(50)}}, {"shortRest", nil}, {"startCombat", nil},
		leave,
	}
	if delve.True("inCombat") {
		out = append(out, option{"endCombat", nil}, option{"endCombat", nil}, option{"endCombat", nil})
	}
	return out
}

func (c chooser) run(run rest.Object) []option {
	ability := run.Text("challenge.ability")
	if ability == "" {
		ability = "brute"
	}
	act := func(action rest.Object) option { return option{"act", rest.Object{"action": action}} }
	if c.cfg.Keen {
		return c.keen(ability, run.Object("challenge") != nil, act)
	}
	out := []option{
		{"draw", nil}, {"complete", nil}, {"complete", nil}, act(rest.Object{"basic": ability, "risk": c.rng.IntN(2) == 0}),
		act(rest.Object{"basic": ability, "risk": c.rng.IntN(2) == 0}), act(rest.Object{"tool": 1 + c.rng.IntN(2)}),
	}
	switch c.rng.IntN(12) {
	case 0, 1:
		out = append(out, option{"abandonRun", nil})
	case 2:
		out = append(out, option{"leave", nil})
	case 3:
		out = append(out, option{"promote", rest.Object{"target": c.character(Users[1+c.rng.IntN(2)])}})
	}
	return out
}

// keen is what brings a run on.
func (c chooser) keen(ability string, challenged bool, act func(rest.Object) option) []option {
	if !challenged {
		return []option{{"draw", nil}}
	}
	action := rest.Object{"basic": ability, "risk": c.rng.IntN(2) == 0}
	if n := slices.IndexFunc(tools, func(o rest.Object) bool { return o.Text("ability") == ability }); n >= 0 {
		action = rest.Object{"tool": n + 1}
	}
	return []option{act(action), {"complete", nil}}
}
