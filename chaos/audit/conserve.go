package audit

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// rules are those by which runs are played.
var rules = digger.Default()

// conserved follows what the game neither makes nor destroys but by its rules: supplies from the company through the journey
// back to the company, uses and cards of runs, the dice of danger pools, what characters own.
func (j *judge) conserved() {
	for _, name := range slices.Sorted(maps.Keys(j.Parts)) {
		p := j.Parts[name]
		switch kindOfName(name) {
		case "journeys":
			j.supplies(name, p)
		case "runs":
			j.deck(name, p)
			j.uses(name, p)
		case "delves":
			j.pool(name, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Characters)) {
		j.belongings(name, j.Characters[name])
	}
}

func kindOfName(name string) string {
	parts := strings.Split(name, "/")
	return parts[max(len(parts)-2, 0)]
}

// pack is what a journey carries.
type pack struct {
	gold          int
	food          []int
	boat, lantern bool
	// members are those of whom anything is known, by name.
	members map[string]member
}

// member is somebody on a journey.
type member struct {
	character             string
	torches, oil, hp, str int
}

func (p *pack) spares() (torches, oil int) {
	for _, m := range p.members {
		torches += m.torches
		oil += m.oil
	}
	return torches, oil
}

// give gives somebody torches and oil, or takes them.
func (p *pack) give(name string, torches, oil int) {
	m := p.members[name]
	m.torches += torches
	m.oil += oil
	p.members[name] = m
}

// steps is how many times food dice can step down; the ladder has the sizes, the smallest first.
func steps(ladder, food []int) int {
	n := 0
	for _, sides := range food {
		n += slices.Index(ladder, sides) + 1
	}
	return n
}

// ladder are the sizes of usage dice. The audit knows them by itself: what it checks does not tell it what is right.
var ladder = []int{4, 6, 8, 10, 12, 20}

// supplies follows a journey's records: what they say was there before and after fits together, and fits what the company and
// the characters lent and got back.
func (j *judge) supplies(name string, p Aggregate) {
	var has *pack
	for i, rec := range p.Journal {
		bad := func(format string, args ...any) {
			j.wrong(Broken, "%s: record %d: "+format, append([]any{name, i + 1}, args...)...)
		}
		if has == nil {
			for _, e := range rec.List("events") {
				if s := e.Object("started"); s != nil {
					has = packOf(s.List("members"))
					has.gold, has.food, has.boat, has.lantern = s.Number("gold"), s.Numbers("food"), s.True("boat"), s.True("lantern")
					j.borrowed(name, s, has, bad)
				}
			}
			continue
		}
		has = follow(has, rec, bad)
	}
	if has == nil {
		return
	}
	at := p.State
	if at.Number("gold") != has.gold || !slices.Equal(at.Numbers("food"), has.food) {
		j.wrong(Broken, "%s has %d gold and food %v, its journal leaves %d and %v", name, at.Number("gold"), at.Numbers("food"), has.gold, has.food)
	}
	j.returned(name, p, has)
}

func packOf(members []rest.Object) *pack {
	out := &pack{members: map[string]member{}}
	for _, m := range members {
		out.members[m.Text("name")] = memberOf(m)
	}
	return out
}

func memberOf(m rest.Object) member {
	return member{m.Text("character"), m.Number("torches"), m.Number("oil"), m.Number("hp"), m.Number("str")}
}

// follow checks one record against what there was before it and returns what there is after it.
func follow(before *pack, rec rest.Object, bad func(string, ...any)) *pack {
	has := *before
	has.members = maps.Clone(before.members)
	// down is what usage dice have to lose yet, up what was gained and not yet added, lost tells of the dead and of gifts to
	// newcomers: those let food go that no check took.
	down, up, lost := 0, 0, false
	paid := func(e rest.Object, sign int, field string) {
		if has.gold += sign * e.Number(field); e.Number("gold") != has.gold {
			bad("%d gold are left, it should be %d", e.Number("gold"), has.gold)
			has.gold = e.Number("gold")
		}
	}
	for _, e := range rec.List("events") {
		for kind := range e {
			ev := e.Object(kind)
			switch kind {
			case "usageChecked":
				u := ev.Object("usage")
				if u == nil {
					u = ev
				}
				down += usage(u, has.food, bad)
			case "foodBought":
				paid(ev, -1, "paid")
				up += ev.Number("steps")
			case "gearBought":
				paid(ev, -1, "paid")
				switch ev.Text("item") {
				case "torch":
					has.give(ev.Text("carrier"), ev.Number("count"), 0)
				case "oil":
					has.give(ev.Text("carrier"), 0, ev.Number("count"))
				case "boat":
					has.boat = true
				case "lantern":
					has.lantern = true
				}
			case "looted":
				paid(ev, 1, "taken")
			case "remainsSold":
				paid(ev, 1, "earned")
			case "foraged":
				if r := ev.Text("result"); r == "raised" || r == "added_die" || r == "from_out" {
					up++
				}
			case "memberDied", "memberJoined", "memberLeft":
				lost = true
				if kind == "memberJoined" {
					has.members[ev.Text("member.name")] = memberOf(ev.Object("member"))
				}
				if kind == "memberLeft" {
					delete(has.members, ev.Text("name"))
				}
			case "foodChanged":
				next := ev.Numbers("food")
				switch d := steps(ladder, next) - steps(ladder, has.food); {
				case d < 0 && ev.Text("why") == "used" && -d <= down:
					down += d
				case d > 0 && d == up:
					up = 0
				case d < 0 && lost:
				default:
					bad("food goes from %v to %v (%s)", has.food, next, ev.Text("why"))
				}
				has.food = next
			case "lightLit":
				has.burn(ev.Text("light.kind"), ev.Text("from"))
			case "lightChecked":
				has.burn(ev.Text("replaced"), ev.Text("from"))
			case "membersChanged":
				for _, m := range ev.List("members") { // those who changed
					name, now := m.Text("name"), memberOf(m)
					if was := has.members[name]; !lost && (now.torches != was.torches || now.oil != was.oil) {
						bad("%s has %d torches and %d oil, it should be %d and %d", name, now.torches, now.oil, was.torches, was.oil)
					}
					has.members[name] = now
				}
			case "adjusted":
				if g := ev.Get("gold"); g != nil {
					has.gold = ev.Number("gold")
				}
			}
		}
	}
	if down > 0 || up > 0 {
		bad("food was to change by %d steps up and %d down, and did not", up, down)
	}
	return &has
}

// burn takes a spare light from whoever had one.
func (p *pack) burn(kind, from string) {
	switch {
	case from == "":
	case kind == "torch":
		p.give(from, -1, 0)
	case kind == "lantern":
		p.give(from, 0, -1)
	}
}

// usage checks a roll of a food die and returns by how many steps the food has to go down.
func usage(u rest.Object, food []int, bad func(string, ...any)) int {
	if !slices.Contains(food, u.Number("sides")) {
		bad("a d%d of food was rolled, there are %v", u.Number("sides"), food)
	}
	if u.Number("kept") < 1 || u.Number("kept") > u.Number("sides") {
		bad("a d%d of food shows %d", u.Number("sides"), u.Number("kept"))
	}
	if u.True("steppedDown") {
		return 1
	}
	return 0
}

// borrowed compares what a journey began with and what the company and the characters had when they lent it.
func (j *judge) borrowed(name string, started rest.Object, has *pack, bad func(string, ...any)) {
	var lent rest.Object
	for _, rec := range j.Company.Journal {
		for _, e := range rec.List("events") {
			for _, from := range []string{"created.pack", "packSet.pack", "packReturned.pack"} {
				if p := e.Object(from); p != nil {
					lent = p
				}
			}
			if e.Text("packLeased.holder") != name || lent == nil {
				continue
			}
			if lent.Number("gold") != has.gold || !slices.Equal(lent.Numbers("food"), has.food) {
				bad("it began with %d gold and food %v, the company had %d and %v", has.gold, has.food, lent.Number("gold"), lent.Numbers("food"))
			}
			return
		}
	}
	bad("the company has not lent its pack: %v", started.Get("gold"))
}

// returned compares what a journey ended with and what the company and the characters have got back.
func (j *judge) returned(name string, p Aggregate, has *pack) {
	var ending rest.Object
	for _, rec := range p.Journal {
		for _, e := range rec.List("events") {
			if x := e.Object("ending"); x != nil {
				ending = x
			}
		}
	}
	if ending == nil {
		return // it is found to be open elsewhere
	}
	given := ending.Object("pack.pack")
	if given.Number("gold") != has.gold || !slices.Equal(given.Numbers("food"), has.food) {
		j.wrong(Broken, "%s gives back %d gold and food %v of %d and %v", name, given.Number("gold"), given.Numbers("food"), has.gold, has.food)
	}
	torches, oil := has.spares()
	for _, t := range ending.List("pack.travelers") {
		torches -= t.Number("torches")
		oil -= t.Number("oil")
	}
	if torches != 0 || oil != 0 {
		j.wrong(Broken, "%s gives back %d torches and %d oil less than it has", name, torches, oil)
	}
	times := 0
	for _, rec := range j.Company.Journal {
		for _, e := range rec.List("events") {
			if back := e.Object("packReturned"); back != nil && back.Text("holder") == name && back.Object("pack") != nil {
				times++
				if !reflect.DeepEqual(back.Get("pack"), ending.Get("pack.pack")) {
					j.wrong(Broken, "%s gave back\n%v\nand the company got\n%v", name, ending.Get("pack.pack"), back.Get("pack"))
				}
			}
		}
	}
	if times != 1 {
		j.wrong(countOf(times), "the company got the pack of %s back %d times", name, times)
	}
	if now := j.Company.State.Object("pack"); times == 1 && !reflect.DeepEqual(now.Get("food"), given.Get("food")) || now.Number("gold") != given.Number("gold") {
		j.wrong(Broken, "%s gave back\n%v\nand the company has\n%v", name, given, now)
	}
	for _, v := range ending.List("vitals") {
		character := v.Text("character")
		want := [2]int{v.Number("vitals.hp"), v.Number("vitals.str")}
		for _, m := range has.members {
			if was := [2]int{m.hp, m.str}; m.character == character && was != want {
				j.wrong(Broken, "%s gives %s back with HP and STR %v of %v", name, character, want, was)
			}
		}
		c, ok := j.Characters[character]
		if !ok {
			continue
		}
		times := 0
		for _, rec := range c.Journal {
			for _, e := range rec.List("events") {
				if back := e.Object("facetReturned"); back != nil && back.Text("lease.holder") == name && back.Object("vitals") != nil {
					times++
					if got := [2]int{back.Number("vitals.hp"), back.Number("vitals.str")}; got != want {
						j.wrong(Broken, "%s gave %s back with HP and STR %v, and they are %v", name, character, want, got)
					}
				}
			}
		}
		if times != 1 {
			j.wrong(countOf(times), "%s came back from %s %d times", character, name, times)
		}
	}
}

// countOf is the kind of finding for something that is there so many times and should be there once.
func countOf(times int) Kind {
	if times == 0 {
		return Lost
	}
	return Doubled
}

// deck follows a run's cards: they come from its dungeon, none twice between two shuffles, and rounds and exploration add up.
func (j *judge) deck(name string, p Aggregate) {
	cards, played := map[string]bool{}, map[string]bool{}
	round, exploration, drawn := 0, 0, ""
	for i, rec := range p.Journal {
		bad := func(format string, args ...any) {
			j.wrong(Broken, "%s: record %d: "+format, append([]any{name, i + 1}, args...)...)
		}
		for _, e := range rec.List("events") {
			if s := e.Object("started"); s != nil {
				for _, c := range s.List("dungeon.cards") {
					cards[c.Text("id")] = true
				}
			}
			if d := e.Object("challengeDrawn"); d != nil {
				if d.True("reshuffled") {
					clear(played)
				}
				drawn = d.Text("card.id")
				if played[drawn] {
					bad("card %s is drawn twice", drawn)
				}
				if !cards[drawn] {
					bad("card %s is not of the dungeon", drawn)
				}
				played[drawn] = true
				if round++; d.Number("round") != round {
					bad("round %d is called %d", round, d.Number("round"))
					round = d.Number("round")
				}
			}
			if c := e.Object("roundCompleted"); c != nil {
				if c.Text("card") != drawn {
					bad("card %s is completed, %s was drawn", c.Text("card"), drawn)
				}
				want := min(rules.Exploration.Goal, exploration+c.Number("explorationGain")) // DIG-RES-09
				if c.Text("outcome") == digger.Won {
					want = rules.Exploration.Goal // DIG-WIN-02
				}
				if c.Number("exploration") != want {
					bad("exploration is %d, it should be %d", c.Number("exploration"), want)
				}
				exploration = c.Number("exploration")
			}
			if a := e.Object("adjusted"); a != nil && a.Get("exploration") != nil {
				exploration = a.Number("exploration")
			}
		}
	}
	if p.State.Number("exploration") != exploration {
		j.wrong(Broken, "%s has explored %d, its journal leaves %d", name, p.State.Number("exploration"), exploration)
	}
}

// tool is a tool of somebody in a run.
type tool struct {
	who    string
	number int
}

// uses follows the tools of a run and how tired its members are.
func (j *judge) uses(name string, p Aggregate) {
	left, tired := map[tool]int{}, map[string]int{}
	for i, rec := range p.Journal {
		bad := func(format string, args ...any) {
			j.wrong(Broken, "%s: record %d: "+format, append([]any{name, i + 1}, args...)...)
		}
		for _, e := range rec.List("events") {
			for _, m := range e.List("started.members") {
				tired[m.Text("character")] = m.Number("exhaustion")
				for _, t := range m.List("tools") {
					left[tool{m.Text("character"), t.Number("number")}] = t.Number("usesLeft")
				}
			}
			if a := e.Object("memberActed"); a != nil && a.Number("action.tool") > 0 {
				t := tool{a.Text("character"), a.Number("action.tool")}
				if left[t]--; a.Number("usesLeft") != left[t] || left[t] < 0 {
					bad("tool %d of %s has %d uses left, it should be %d", t.number, t.who, a.Number("usesLeft"), left[t])
					left[t] = a.Number("usesLeft")
				}
			}
			for _, r := range e.List("roundCompleted.results") {
				who := r.Text("character")
				if want := min(rules.Exhaustion.Cap, tired[who]+r.Number("exhaustionGain")); r.Number("exhaustion") != want { // DIG-RES-13
					bad("the exhaustion of %s is %d, it should be %d", who, r.Number("exhaustion"), want)
				}
				tired[who] = r.Number("exhaustion")
			}
			for _, m := range e.List("adjusted.members") {
				if m.Get("exhaustion") != nil {
					tired[m.Text("character")] = m.Number("exhaustion")
				}
			}
		}
	}
	for _, m := range p.State.List("members") {
		for _, t := range m.List("tools") {
			if want := left[tool{m.Text("character"), t.Number("number")}]; t.Number("usesLeft") != want {
				j.wrong(Broken, "%s: tool %d of %s has %d uses left, its journal leaves %d", name, t.Number("number"), m.Text("character"), t.Number("usesLeft"), want)
			}
		}
	}
}

// pool follows the dice of a delve's danger pool: what is added is there until it spills, and spills whole.
func (j *judge) pool(name string, p Aggregate) {
	dice, ever, spills := 0, 0, 0
	for i, rec := range p.Journal {
		for _, e := range rec.List("events") {
			if o := e.Object("opened"); o != nil {
				dice = o.Number("pool")
			}
			if a := e.Object("diceAdded"); a != nil {
				dice += a.Number("count")
				ever += a.Number("count")
			}
			if s := e.Object("spilled"); s != nil {
				spills++
				if n := len(s.Numbers("faces")); n != dice {
					j.wrong(Broken, "%s: record %d: %d dice spill of %d", name, i+1, n, dice)
				}
				dice = 0
			}
			if a := e.Object("adjusted"); a != nil && a.Get("pool") != nil {
				dice = a.Number("pool")
			}
		}
	}
	at := p.State
	if at.Number("pool") != dice || at.Number("diceEver") != ever || at.Number("spillsTotal") != spills {
		j.wrong(Broken, "%s has %d dice, %d ever, %d spills; its journal leaves %d, %d and %d",
			name, at.Number("pool"), at.Number("diceEver"), at.Number("spillsTotal"), dice, ever, spills)
	}
}

// belongings checks that a character owns what was bought and has the points that this left, and that what is lent of them
// comes back once for each time it was lent.
func (j *judge) belongings(name string, c Aggregate) {
	if n := c.State.Number("seq"); n != len(c.Journal) {
		j.wrong(Lost, "%s has %d of %d records", name, len(c.Journal), n)
	}
	tools, loaded, cp := 0, map[int]bool{}, 0
	lent := map[string]int{}
	for _, rec := range c.Journal {
		for _, e := range rec.List("events") {
			cp += e.Number("created.cp") + e.Number("pointsGranted.cp")
			for _, locked := range []string{"toolsBought", "beltSlotBought", "toolLoaded", "toolUnloaded", "abilitiesSet", "formSwitched"} {
				if e.Object(locked) != nil && lentOut(lent, "FACET_LOADOUT") {
					j.wrong(Broken, "%s: record %d: %s while the loadout is lent", name, rec.Number("record.seq"), locked)
				}
			}
			tools += len(e.List("toolsBought.tools"))
			if n := e.Number("toolLoaded.number"); n > 0 {
				loaded[n] = true
			}
			if n := e.Number("toolUnloaded.number"); n > 0 {
				delete(loaded, n)
			}
			if l := e.Object("facetLeased.lease"); l != nil {
				lent[l.Text("facet")+" by "+l.Text("holder")]++
			}
			if l := e.Object("facetReturned.lease"); l != nil {
				lent[l.Text("facet")+" by "+l.Text("holder")]--
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(lent)) {
		if lent[what] > 0 {
			j.wrong(Broken, "%s of %s was not given back", what, name)
		}
	}
	if at := c.State.Number("cp"); at != cp {
		j.wrong(Broken, "%s has %d character points of %d", name, at, cp)
	}
	owned, free, used := 0, 0, map[int]bool{}
	for _, f := range c.State.List("forms") {
		free += f.Number("statblock.dpFree")
		for _, t := range f.List("statblock.tools") {
			owned++
			if t.True("loaded") {
				used[t.Number("number")] = true
			}
		}
	}
	if owned != tools || !maps.Equal(used, loaded) {
		j.wrong(Broken, "%s has %d tools, loaded %v; bought were %d, loaded %v", name, owned, used, tools, loaded)
	}
	if total := c.State.Number("dp"); total != free+c.State.Number("forms.0.statblock.dpSpent") {
		j.wrong(Broken, "%s has %d dungeon points, %d spent and %d free", name, total, c.State.Number("forms.0.statblock.dpSpent"), free)
	}
}

func lentOut(lent map[string]int, facet string) bool {
	for what, n := range lent {
		if n > 0 && strings.HasPrefix(what, facet+" ") {
			return true
		}
	}
	return false
}
