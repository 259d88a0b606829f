package console

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

const delver = "members of the delve; game masters"

// poolCommands play a delve by the Danger Pool.
func poolCommands() []command {
	risk := []arg{{name: "risk", optional: true, choices: []string{"yes", "no"}}}
	light := []arg{{name: "light", kind: name}}
	minutes := []arg{{name: "minutes", kind: number}}
	return []command{
		{
			name: "pool", aliases: []string{"pool/info", "pool/status"}, who: delver,
			help: "Shows where you are, the pool, the clock, lights, spells and marching order.", read: (*call).poolStatus,
		},
		{
			name: "pool/open", who: "players; game masters", args: []arg{{name: "place", kind: name}},
			options: []arg{{name: "entry", kind: name}, {name: "by", optional: true, choices: []string{"loop", "clearing", "judgment"}}},
			help:    "Opens a delve into a place, by an entry that is known. Then +pool/members, +pool/provisions, +pool/lights, +pool/begin.", plan: (*call).openDelve,
		},
		{
			name: "pool/members", who: delver, args: []arg{{name: "members", kind: pairs, choices: []string{"front", "middle", "rear"}}},
			options: nil,
			help:    "Records everybody in marching order, as in +pool/members Ada=front Bram=rear \"Old Tom\"=middle,darkvision.", plan: (*call).recordMembers,
		},
		{
			name: "pool/provisions", who: delver, args: []arg{{name: "note", kind: text}},
			help: "Notes what you have to eat and drink.", plan: (*call).recordProvisions,
		},
		{
			name: "pool/lights", who: delver, args: []arg{{name: "lights", kind: text}},
			help: "Records every light carried, lit unless it is said, as in +pool/lights torch \"spare torch\"=torch,out lantern; or none; or carry, for what an earlier delve left.", plan: (*call).recordLights,
		},
		{name: "pool/begin", who: delver, help: "Describes the first area: from now on time counts.", plan: delveCommand(func(d, who string) proto.Message {
			return &dungeonv1.BeginDelveRequest{Name: d, Character: who}
		})},
		{
			name: "pool/add", who: delver,
			args:    []arg{{name: "trigger", choices: []string{"move", "interact", "hunker", "wait", "risk", "time"}}, {name: "what", kind: name, optional: true}},
			options: risk,
			help:    "Adds dice for a trigger: a move to an area, dealing with the area, hunkering down, minutes of waiting, a risk that was noticed, minutes of real time (game masters).", plan: (*call).addDice,
		},
		{
			name: "pool/move", aliases: []string{"pool/go"}, who: delver, args: []arg{{name: "area", kind: name, optional: true}}, options: risk,
			help: "Goes on to a connected area; on a map without areas, just on.", plan: (*call).poolMove,
		},
		{
			name: "pool/interact", who: delver, options: risk,
			help: "Deals with the area that you are in.", plan: (*call).interact,
		},
		{
			name: "pool/hunker", who: delver, options: risk,
			help: "Settles down in a secluded place, where time is cheap.", plan: (*call).hunker,
		},
		{name: "pool/unhunker", who: delver, help: "Leaves it.", plan: delveCommand(func(d, who string) proto.Message {
			return &dungeonv1.LeaveHunkerRequest{Name: d, Character: who}
		})},
		{name: "pool/wait", who: delver, args: minutes, help: "Lets minutes pass in the game.", plan: (*call).poolWait},
		{name: "pool/risk", who: delver, help: "Tells that something done was noticed.", plan: delveCommand(func(d, who string) proto.Message {
			return &dungeonv1.TakeRiskRequest{Name: d, Character: who}
		})},
		{
			name: "pool/light", who: delver, args: light,
			help: "Lights a source that you carry.", plan: (*call).lightOn,
		},
		{
			name: "pool/douse", aliases: []string{"pool/out"}, who: delver, args: light,
			help: "Puts a light out.", plan: (*call).lightOff,
		},
		{
			name: "pool/newlight", who: delver, args: []arg{{name: "source", choices: sources}},
			options: []arg{{name: "name", optional: true}},
			help:    "Lights something new.", plan: (*call).newLight,
		},
		{
			name: "pool/refuel", who: delver, args: []arg{{name: "lantern", kind: name}},
			help: "Fills a lantern with oil and lights it.", plan: (*call).refuel,
		},
		{
			name: "pool/cast", who: delver, args: []arg{{name: "spell", kind: name}},
			options: []arg{{name: "minutes", kind: number, optional: true}, {name: "seconds", kind: number, optional: true}},
			help:    "Begins a spell that lasts.", plan: (*call).cast,
		},
		{
			name: "pool/endspell", who: delver, args: []arg{{name: "spell", kind: name}},
			help: "Ends a spell.", plan: (*call).endSpell,
		},
		{
			name: "pool/rest", who: delver, args: []arg{{name: "rest", choices: []string{"short", "long"}}},
			help: "Rests for an hour, or for eight.", plan: (*call).poolRest,
		},
		{
			name: "pool/combat", aliases: []string{"pool/fight"}, who: delver,
			args: []arg{{name: "what", choices: []string{"start", "rounds", "end"}}, {name: "number", kind: number, optional: true}},
			help: "Begins a fight, counts its rounds, or ends it.", plan: (*call).poolCombat,
		},
		{
			name: "pool/remark", who: delver, args: []arg{{name: "remark", kind: text}},
			help: "Puts something notable into the log.", plan: (*call).remark,
		},
		{
			name: "pool/log", who: delver, help: "Shows the end of the log.", read: (*call).poolLog,
		},
		{
			name: "pool/leave", who: delver, args: []arg{{name: "for", optional: true, choices: []string{"travel", "loop"}}},
			help: "Leaves the place: the delve is over.", plan: (*call).leaveDelve,
		},
	}
}

// sources are the words for kinds of light.
var sources = []string{"torch", "lantern", "bullseye", "spell"}

func sourceOf(word string) string {
	return map[string]string{"bullseye": "BULLSEYE_LANTERN", "spell": "LIGHT_SPELL"}[word] + map[string]string{"torch": "TORCH", "lantern": "LANTERN"}[word]
}

// delve is the one that the acting character is in; while members are not recorded, the newest; for a GM without a
// character, the only open one.
func (c *call) delve() (*dungeonv1.Delve, error) {
	var mine, blank, open []*dungeonv1.Delve
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*dungeonv1.ListDelvesResponse](c, &dungeonv1.ListDelvesRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, d := range res.GetDelves() {
			if d.GetPhase() == dungeonv1.Delve_PHASE_LEFT {
				continue
			}
			open = append(open, d)
			if len(d.GetMembers()) == 0 {
				blank = append(blank, d)
			}
			if slices.ContainsFunc(d.GetMembers(), func(m *dungeonv1.DelveMember) bool {
				return m.GetCharacter() != "" && m.GetCharacter() == c.character.GetName()
			}) {
				mine = append(mine, d)
			}
		}
		return res.GetNextPageToken(), len(mine) > 0, err
	})
	switch {
	case err != nil:
		return nil, err
	case len(mine) > 0:
		return mine[0], nil
	case c.character != nil && len(blank) > 0:
		return blank[0], nil
	case c.character == nil && len(open) == 1:
		return open[0], nil
	case c.character == nil && len(open) > 1:
		return nil, fault.Invalid("character", "%d delves are open: name a character of the one meant", len(open))
	}
	return nil, none("NO_DELVE", "no delve is open: +pool/open")
}

// delveCommand is a command to the delve without arguments.
func delveCommand(req func(delve, character string) proto.Message) func(*call, args) (proto.Message, error) {
	return func(c *call, _ args) (proto.Message, error) {
		d, err := c.delve()
		if err != nil {
			return nil, err
		}
		return of(d.GetExpedition(), req(d.GetName(), c.character.GetName())), nil
	}
}

func (c *call) poolStatus(args) (string, proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return "", nil, err
	}
	return delveText(d), d, nil
}

func (c *call) openDelve(a args) (proto.Message, error) {
	by := dungeonv1.InvokedBy_INVOKED_BY_BASIC_GAME_LOOP
	switch {
	case a.text("by") == "clearing":
		by = dungeonv1.InvokedBy_INVOKED_BY_CLEARING
	case a.text("by") == "judgment", c.gm && !a.has("by"):
		by = dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT
	}
	expedition, err := c.expedition()
	if err != nil {
		return nil, err
	}
	return of(expedition, &dungeonv1.CreateDelveRequest{
		Parent: c.req.GetCampaign(), Character: c.character.GetName(), InvokedBy: by,
		Map: &dungeonv1.DelveMap{Title: a.text("place")}, Entry: a.text("entry"),
	}), nil
}

func (c *call) recordMembers(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	all, err := c.allCharacters()
	if err != nil {
		return nil, err
	}
	req := &dungeonv1.RecordMembersRequest{Name: d.GetName(), Character: c.character.GetName()}
	for _, p := range a.pairs {
		rank, eyes, dark := strings.Cut(fold(p.value.text), ",")
		entry := &dungeonv1.DelveMemberEntry{Name: p.key.text, Kind: "HENCHMAN", Rank: strings.ToUpper(rank), Darkvision: dark}
		if dark && strings.TrimSpace(eyes) != "darkvision" {
			return nil, refuse(reasonArgument, p.value.column, "a rank, or a rank with ,darkvision", "%q is no rank", p.value.text).suggest(rank + ",darkvision")
		}
		for _, ch := range all {
			if fold(ch.GetTitle()) == fold(p.key.text) || idOf(ch.GetName()) == fold(p.key.text) {
				entry.Name, entry.Character, entry.Kind = ch.GetTitle(), ch.GetName(), "PC"
			}
		}
		req.Members = append(req.Members, entry)
	}
	return of(d.GetExpedition(), req), nil
}

func (c *call) recordProvisions(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.RecordProvisionsRequest{Name: d, Character: who, Note: a.text("note")}
	})(c, a)
}

func (c *call) recordLights(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	list, err := items(a.get("lights"))
	if err != nil {
		return nil, err
	}
	req := &dungeonv1.RecordLightsRequest{Name: d.GetName(), Character: c.character.GetName()}
	for _, it := range list {
		what, how, out := strings.Cut(it.value.text, ",")
		source, err := (arg{name: "kind of light", choices: append(slices.Clone(sources), "none", "carry")}).check(span{what, it.value.column})
		if err != nil {
			return nil, err
		}
		if out && fold(how) != "out" {
			return nil, refuse(reasonArgument, it.value.column, source.text+" or "+source.text+",out", "%q is no light", it.value.text)
		}
		switch source.text {
		case "none":
		case "carry":
			req.CarryOver = true
		default:
			name := it.key.text
			if !it.pair {
				name = fresh(source.text, func(n string) bool {
					return slices.ContainsFunc(req.GetLights(), func(l *dungeonv1.CarriedLight) bool { return l.GetId() == n })
				})
			}
			req.Lights = append(req.Lights, &dungeonv1.CarriedLight{Id: name, Source: sourceOf(source.text), Active: !out})
		}
	}
	return of(d.GetExpedition(), req), nil
}

// fresh is a name that is not taken: "torch", "torch 2", …
func fresh(word string, taken func(string) bool) string {
	name := word
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s %d", word, n)
	}
	return name
}

func (c *call) addDice(a args) (proto.Message, error) {
	what := func(name string, needed bool) (args, error) {
		out := args{values: map[string]span{}, end: a.end}
		if a.has("risk") {
			out.values["risk"] = a.get("risk")
		}
		if a.has("what") {
			if name == "" {
				return out, refuse(reasonTooMany, a.get("what").column, "the end of the line", "%q is too much", a.text("what"))
			}
			out.values[name] = a.get("what")
		} else if needed {
			return out, refuse(reasonMissing, a.end, "<"+name+">", "the %s are missing", name)
		}
		return out, nil
	}
	minutes := func() (args, error) {
		out, err := what("minutes", true)
		if err == nil {
			out.values["minutes"], err = (arg{name: "minutes", kind: number}).check(out.get("minutes"))
		}
		return out, err
	}
	var rest args
	var err error
	var then func(args) (proto.Message, error)
	switch a.text("trigger") {
	case "move":
		rest, err = what("area", false)
		then = c.poolMove
	case "wait":
		rest, err = minutes()
		then = c.poolWait
	case "time":
		rest, err = minutes()
		then = c.realTime
	case "interact":
		rest, err = what("", false)
		then = c.interact
	case "hunker":
		rest, err = what("", false)
		then = c.hunker
	default:
		rest, err = what("", false)
		then = func(a args) (proto.Message, error) {
			return delveCommand(func(d, who string) proto.Message { return &dungeonv1.TakeRiskRequest{Name: d, Character: who} })(c, a)
		}
	}
	if err != nil {
		return nil, err
	}
	return then(rest)
}

func (c *call) poolMove(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	req := &dungeonv1.MoveRequest{Name: d.GetName(), Character: c.character.GetName(), Risky: a.text("risk") == "yes"}
	var areas []thing
	for _, k := range append(slices.Clone(d.GetWays()), d.GetVisited()...) {
		if !slices.ContainsFunc(areas, func(t thing) bool { return t.also[0] == k.GetId() }) {
			areas = append(areas, thing{label: toolName(k.GetTitle(), k.GetId()), also: []string{k.GetId()}, value: k.GetId()})
		}
	}
	switch {
	case a.has("area") && len(areas) > 0:
		t, err := find("an area", a.get("area"), areas)
		if err != nil {
			return nil, err
		}
		req.To = t.value.(string) //nolint:forcetypeassert // see above
	case a.has("area"):
		req.To = a.text("area") // the rules tell that there are none
	case len(d.GetWays()) == 1:
		req.To = d.GetWays()[0].GetId()
	case len(d.GetWays()) > 1:
		e := refuse(reasonMissing, a.end, "<area>", "%d ways lead from here", len(d.GetWays()))
		for _, k := range d.GetWays()[:min(len(d.GetWays()), 2*mostSuggestions)] {
			e.suggestions = append(e.suggestions, toolName(k.GetTitle(), k.GetId()))
		}
		return nil, e
	}
	return of(d.GetExpedition(), req), nil
}

func (c *call) interact(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.InteractRequest{Name: d, Character: who, Risky: a.text("risk") == "yes"}
	})(c, a)
}

func (c *call) hunker(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.HunkerDownRequest{Name: d, Character: who, Risky: a.text("risk") == "yes"}
	})(c, a)
}

func (c *call) poolWait(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.WaitRequest{Name: d, Character: who, Minutes: a.number("minutes", 0)}
	})(c, a)
}

func (c *call) realTime(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.AddRealTimeRequest{Name: d, Character: who, Minutes: a.number("minutes", 0)}
	})(c, a)
}

// lightNamed finds a light of the delve.
func lightNamed(d *dungeonv1.Delve, what string, named span) (string, error) {
	var things []thing
	for _, l := range d.GetLights() {
		things = append(things, thing{label: l.GetId(), value: l.GetId()})
	}
	t, err := find(what, named, things)
	return t.label, err
}

func (c *call) switchLight(a args, on bool) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	id, err := lightNamed(d, "a light", a.get("light"))
	if err != nil {
		return nil, err
	}
	return of(d.GetExpedition(), &dungeonv1.SwitchLightRequest{Name: d.GetName(), Character: c.character.GetName(), Id: id, On: on}), nil
}

func (c *call) lightOn(a args) (proto.Message, error)  { return c.switchLight(a, true) }
func (c *call) lightOff(a args) (proto.Message, error) { return c.switchLight(a, false) }

func (c *call) newLight(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	id := a.text("name")
	if id == "" {
		id = fresh(a.text("source"), func(n string) bool {
			return slices.ContainsFunc(d.GetLights(), func(l *dungeonv1.DelveLight) bool { return l.GetId() == n })
		})
	}
	return of(d.GetExpedition(), &dungeonv1.AddLightRequest{Name: d.GetName(), Character: c.character.GetName(), Id: id, Source: sourceOf(a.text("source"))}), nil
}

func (c *call) refuel(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	id, err := lightNamed(d, "a lantern", a.get("lantern"))
	if err != nil {
		return nil, err
	}
	return of(d.GetExpedition(), &dungeonv1.RefuelLightRequest{Name: d.GetName(), Character: c.character.GetName(), Id: id}), nil
}

func (c *call) cast(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	req := &dungeonv1.CastSpellRequest{Name: d.GetName(), Character: c.character.GetName(), Id: a.text("spell")}
	switch {
	case a.has("minutes") == a.has("seconds"):
		return nil, refuse(reasonMissing, a.end, "minutes=<number> or seconds=<number>", "one length is needed")
	case a.has("minutes"):
		req.Length = &dungeonv1.CastSpellRequest_Minutes{Minutes: a.number("minutes", 0)}
	default:
		req.Length = &dungeonv1.CastSpellRequest_Seconds{Seconds: a.number("seconds", 0)}
	}
	return of(d.GetExpedition(), req), nil
}

func (c *call) endSpell(a args) (proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return nil, err
	}
	var things []thing
	for _, s := range d.GetSpells() {
		if !slices.ContainsFunc(things, func(t thing) bool { return t.label == s.GetId() }) { // the oldest of a name ends first
			things = append(things, thing{label: s.GetId()})
		}
	}
	t, err := find("a spell", a.get("spell"), things)
	if err != nil {
		return nil, err
	}
	return of(d.GetExpedition(), &dungeonv1.EndSpellRequest{Name: d.GetName(), Character: c.character.GetName(), Id: t.label}), nil
}

func (c *call) poolRest(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		if a.text("rest") == "long" {
			return &dungeonv1.LongRestRequest{Name: d, Character: who}
		}
		return &dungeonv1.ShortRestRequest{Name: d, Character: who}
	})(c, a)
}

func (c *call) poolCombat(a args) (proto.Message, error) {
	if a.has("number") && a.text("what") != "rounds" {
		return nil, refuse(reasonTooMany, a.get("number").column, "the end of the line", "rounds alone have a number")
	}
	return delveCommand(func(d, who string) proto.Message {
		switch a.text("what") {
		case "start":
			return &dungeonv1.StartCombatRequest{Name: d, Character: who}
		case "rounds":
			return &dungeonv1.FightRoundsRequest{Name: d, Character: who, Rounds: a.number("number", 1)}
		}
		return &dungeonv1.EndCombatRequest{Name: d, Character: who}
	})(c, a)
}

func (c *call) remark(a args) (proto.Message, error) {
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.AddRemarkRequest{Name: d, Character: who, Text: a.text("remark")}
	})(c, a)
}

func (c *call) leaveDelve(a args) (proto.Message, error) {
	target := "BASIC_GAME_LOOP"
	if a.text("for") == "travel" {
		target = "TRAVEL"
	}
	return delveCommand(func(d, who string) proto.Message {
		return &dungeonv1.LeaveDelveRequest{Name: d, Character: who, Target: target}
	})(c, a)
}

// logEnd is how many lines of the log are shown.
const logEnd = 15

func (c *call) poolLog(args) (string, proto.Message, error) {
	d, err := c.delve()
	if err != nil {
		return "", nil, err
	}
	out := &dungeonv1.ListActivityResponse{}
	err = pages(func(token string) (string, bool, error) {
		res, err := ask[*dungeonv1.ListActivityResponse](c, &dungeonv1.ListActivityRequest{Parent: d.GetName(), PageSize: pageSize, PageToken: token})
		out.Entries = append(out.Entries, res.GetEntries()...)
		return res.GetNextPageToken(), false, err
	})
	if err != nil {
		return "", nil, err
	}
	shown := []string{"Log of " + d.GetTitle() + ":"}
	for _, e := range out.GetEntries()[max(0, len(out.GetEntries())-logEnd):] {
		if line := activityText(e); line != "" {
			shown = append(shown, fmt.Sprintf("  %s  %s", clock(e.GetElapsedMinutes()), line))
		}
	}
	return strings.Join(shown, "\n"), out, nil
}
