package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

const traveler = "travelers; game masters"

// travelCommands play a journey over the map.
func travelCommands() []command {
	return []command{
		{
			name: "travel", aliases: []string{"travel/info", "travel/status"}, who: traveler,
			help: "Shows where your company is, how it fares, and who was met.", read: (*call).travelStatus,
		},
		{
			name: "travel/start", who: "a traveler of the company",
			args: []arg{{name: "company", kind: name}},
			options: []arg{
				{name: "region", optional: true}, {name: "hex", optional: true}, {name: "inside", optional: true}, {name: "expedition", optional: true},
			},
			help: "Sets the company out on a journey, from a hex; game masters may begin inside a location. The region may be left out where there is only one.",
			plan: (*call).startJourney,
		},
		{
			name: "travel/move", aliases: []string{"travel/go"}, who: traveler,
			args:    []arg{{name: "hex", kind: name}},
			options: []arg{{name: "via", optional: true, choices: []string{"auto", "road", "river", "terrain"}}},
			help:    "Goes into a neighbouring hex: n, ne, se, s, sw, nw, its name, or its column and row as 3,-1. A round.", plan: (*call).move,
		},
		{name: "travel/search", who: traveler, help: "Looks for hidden places in the hex. A round.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.SearchRequest{Name: j, Character: who}
		})},
		{name: "travel/forage", aliases: []string{"travel/hunt"}, who: traveler, help: "Hunts or gathers food. A round.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.ForageRequest{Name: j, Character: who}
		})},
		{
			name: "travel/enter", who: traveler, args: []arg{{name: "place", kind: name}},
			help: "Goes inside a place in the hex.", plan: (*call).enterPlace,
		},
		{name: "travel/leave", aliases: []string{"travel/exit"}, who: traveler, help: "Goes outside.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.LeaveLocationRequest{Name: j, Character: who}
		})},
		{
			name: "travel/buy", who: traveler,
			args: []arg{
				{name: "item", choices: []string{"food", "torch", "torches", "oil", "lantern", "boat"}}, {name: "number", kind: number, optional: true},
			},
			options: []arg{{name: "carrier", kind: name, optional: true}},
			help:    "Buys in a settlement: food by steps of its die, torches and oil by number for a carrier (you, if not said), a lantern, a boat.", plan: (*call).buy,
		},
		{name: "travel/rest", aliases: []string{"travel/camp"}, who: traveler, help: "Rests: hit points come back.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.RestRequest{Name: j, Character: who}
		})},
		{name: "travel/longrest", aliases: []string{"travel/stay"}, who: traveler, help: "Rests long, in a settlement: strength comes back, too, and Fatigue goes.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.LongRestRequest{Name: j, Character: who}
		})},
		{
			name: "travel/light", who: traveler, args: []arg{{name: "light", choices: []string{"torch", "lantern"}}},
			help: "Lights a spare torch or the lantern.", plan: (*call).light,
		},
		{name: "travel/loot", who: traveler, help: "Takes the gold of those met.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.LootRequest{Name: j, Character: who}
		})},
		{
			name: "travel/remains", who: traveler, args: []arg{{name: "number", kind: number}},
			options: []arg{{name: "value", kind: number}, {name: "carrier", kind: name, optional: true}},
			help:    "Makes a load of the remains of that many of those met, worth so much gold as the game master says. A round, in a site a turn.", plan: (*call).remains,
		},
		{name: "travel/sell", who: traveler, help: "Sells all loads of remains in a settlement.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.SellRemainsRequest{Name: j, Character: who}
		})},
		{name: "travel/free", who: traveler, help: "Frees slots of eaten food.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.FreeFoodSlotsRequest{Name: j, Character: who}
		})},
		{
			name: "travel/share", aliases: []string{"travel/distribute"}, who: traveler, args: []arg{{name: "slots", kind: pairs}},
			help: "Hands the food slots out anew, to every living member, as in +travel/share Ada=2 \"Old Tom\"=1.", plan: (*call).share,
		},
		{
			name: "travel/join", aliases: []string{"travel/hire"}, who: traveler, args: []arg{{name: "name", kind: name}},
			options: []arg{{name: "hp", kind: number}, {name: "str", kind: number}, {name: "gear", kind: number, optional: true}},
			help:    "Takes a hireling or guest along, with hit points and strength.", plan: (*call).hire,
		},
		{
			name: "travel/dismiss", who: traveler, args: []arg{{name: "member", kind: name}},
			help: "Lets a member go.", plan: (*call).dismiss,
		},
		{
			name: "travel/harm", who: gmsOnly, args: []arg{{name: "member", kind: name}},
			options: []arg{{name: "hp", kind: number, optional: true}, {name: "str", kind: number, optional: true}},
			help:    "Damages hit points or strength, as a fight does.", plan: (*call).harm,
		},
		{name: "travel/end", who: traveler, help: "Ends the journey: everybody has their own back.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.EndJourneyRequest{Name: j, Character: who}
		})},
		{name: "travel/abandon", who: traveler, help: "Gives the journey up.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.AbandonJourneyRequest{Name: j, Character: who}
		})},
	}
}

// crawlCommands play turns inside sites.
func crawlCommands() []command {
	turn := func(trigger string) func(*call, args) (proto.Message, error) {
		return journeyCommand(func(j, who string) proto.Message {
			return &travelv1.TakeTurnRequest{Name: j, Character: who, Trigger: trigger}
		})
	}
	return []command{
		{
			name: "crawl", aliases: []string{"crawl/info", "crawl/status"}, who: traveler,
			help: "Shows the room that you are in, the ways from it and your light.", read: (*call).travelStatus,
		},
		{
			name: "crawl/room", aliases: []string{"crawl/go", "crawl/move"}, who: traveler, args: []arg{{name: "room", kind: name, optional: true}},
			help: "Enters a room; without a name, the only one to which a way leads. A turn.", plan: (*call).enterRoom,
		},
		{name: "crawl/search", aliases: []string{"crawl/activity", "crawl/wait"}, who: traveler, help: "Spends a turn in the room.", plan: turn("activity")},
		{name: "crawl/combat", aliases: []string{"crawl/fight"}, who: traveler, help: "Counts the turn of a fight that has just ended.", plan: turn("combat")},
		{name: "crawl/retreat", aliases: []string{"crawl/flee"}, who: traveler, help: "Goes one room nearer to the exit, with light or without. A turn.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.RetreatRequest{Name: j, Character: who}
		})},
		{
			name: "crawl/light", who: traveler, args: []arg{{name: "light", choices: []string{"torch", "lantern"}}},
			help: "Lights a spare torch or the lantern.", plan: (*call).light,
		},
		{name: "crawl/leave", aliases: []string{"crawl/exit"}, who: traveler, help: "Goes outside, from the room at the exit.", plan: journeyCommand(func(j, who string) proto.Message {
			return &travelv1.LeaveLocationRequest{Name: j, Character: who}
		})},
	}
}

// journeyCommand is a command to the journey without arguments.
func journeyCommand(req func(journey, character string) proto.Message) func(*call, args) (proto.Message, error) {
	return func(c *call, _ args) (proto.Message, error) {
		j, err := c.journey()
		if err != nil {
			return nil, err
		}
		return of(j.GetExpedition(), req(j.GetName(), c.character.GetName())), nil
	}
}

func (c *call) travelStatus(args) (string, proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return "", nil, err
	}
	r, err := c.region(j)
	if err != nil {
		return "", nil, err
	}
	return journeyText(j, r), j, nil
}

func (c *call) startJourney(a args) (proto.Message, error) {
	company, err := c.company(a.get("company"))
	if err != nil {
		return nil, err
	}
	region, err := c.regionNamed(a)
	if err != nil {
		return nil, err
	}
	req := &travelv1.StartJourneyRequest{Parent: c.req.GetCampaign(), Character: c.character.GetName(), Company: company, Region: region.GetName()}
	if a.has("hex") {
		if req.Hex, err = hexOf(a.get("hex"), region, nil); err != nil {
			return nil, err
		}
	}
	if a.has("inside") {
		p, err := find("a place", a.get("inside"), places(region.GetLocations(), region.GetHiddenLocations()))
		if err != nil {
			return nil, err
		}
		l := p.value.(*travelv1.Location) //nolint:forcetypeassert // places are locations
		req.Inside = l.GetId()
		if req.Hex == nil {
			req.Hex = l.GetHex()
		}
	}
	if !a.has("hex") && !a.has("inside") {
		return nil, refuse(reasonMissing, a.end, "hex=<hex>", "the hex to begin in is missing")
	}
	if a.has("expedition") {
		e, err := c.expeditionNamed(a.get("expedition"))
		if err != nil {
			return nil, err
		}
		return of(e.GetName(), req), nil
	}
	return req, nil
}

func (c *call) company(named span) (string, error) {
	var things []thing
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*partyv1.ListCompaniesResponse](c, &partyv1.ListCompaniesRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, co := range res.GetCompanies() {
			things = append(things, thing{label: co.GetTitle(), also: []string{idOf(co.GetName())}, value: co.GetName()})
		}
		return res.GetNextPageToken(), false, err
	})
	if err != nil {
		return "", err
	}
	t, err := find("a company", named, things)
	if err != nil {
		return "", err
	}
	return t.value.(string), nil //nolint:forcetypeassert // see above
}

// regionNamed is the region that an option names, or the campaign's only one, with its map.
func (c *call) regionNamed(a args) (*travelv1.Region, error) {
	var things []thing
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*travelv1.ListRegionsResponse](c, &travelv1.ListRegionsRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, r := range res.GetRegions() {
			things = append(things, thing{label: r.GetTitle(), also: []string{idOf(r.GetName())}, value: r.GetName()})
		}
		return res.GetNextPageToken(), false, err
	})
	if err != nil {
		return nil, err
	}
	if !a.has("region") && len(things) != 1 {
		e := refuse(reasonMissing, a.end, "region=<region>", "there are %d regions", len(things))
		for _, t := range things[:min(len(things), mostSuggestions)] {
			e.suggestions = append(e.suggestions, "region="+t.also[0])
		}
		return nil, e
	}
	var t thing
	if a.has("region") {
		if t, err = find("a region", a.get("region"), things); err != nil {
			return nil, err
		}
	} else {
		t = things[0]
	}
	res, err := ask[*travelv1.GetRegionResponse](c, &travelv1.GetRegionRequest{Name: t.value.(string)}) //nolint:forcetypeassert // see above
	return res.GetRegion(), err
}

// compass names the neighbours of a hex. Columns stand upright, so that a step along a column goes north or south.
var compass = []struct {
	short, long string
	q, r        int32
}{
	{"n", "north", 0, -1}, {"ne", "northeast", 1, -1}, {"se", "southeast", 1, 0},
	{"s", "south", 0, 1}, {"sw", "southwest", -1, 1}, {"nw", "northwest", -1, 0},
}

// hexOf reads a hex: a direction from here, column and row, or its name on the map.
func hexOf(named span, r *travelv1.Region, here *travelv1.Hex) (*travelv1.Hex, error) {
	if q, row, ok := coordinates(fold(named.text)); ok {
		return &travelv1.Hex{Q: q, R: row}, nil
	}
	var words []string
	direction := strings.NewReplacer("-", "", " ", "").Replace(fold(named.text))
	for _, d := range compass {
		if here != nil && (direction == d.short || direction == d.long) {
			return &travelv1.Hex{Q: here.GetQ() + d.q, R: here.GetR() + d.r}, nil
		}
		words = append(words, d.long)
	}
	var things []thing
	for _, h := range r.GetHexes() {
		if h.GetName() != "" {
			things = append(things, thing{label: h.GetName(), also: []string{coordinatesOf(h)}, value: h})
			words = append(words, h.GetName())
		}
	}
	t, err := find("a hex", named, things)
	if err == nil {
		h := t.value.(*travelv1.MapHex) //nolint:forcetypeassert // see above
		return &travelv1.Hex{Q: h.GetQ(), R: h.GetR()}, nil
	}
	if bad, ok := err.(*lineError); ok && bad.reason == reasonName && here != nil { //nolint:errorlint // find wraps nothing
		err = refuse(reasonName, named.column, "n, ne, se, s, sw, nw, a hex as 3,-1, or its name", "there is no hex %q", named.text).
			suggest(nearest(named.text, words)...)
	}
	return nil, err
}

func coordinatesOf(h interface {
	GetQ() int32
	GetR() int32
}) string {
	return fmt.Sprintf("%d,%d", h.GetQ(), h.GetR())
}

func coordinates(text string) (q, r int32, ok bool) {
	text = strings.NewReplacer("(", "", ")", "", "−", "-", "–", "-").Replace(text)
	a, b, ok := strings.Cut(text, ",")
	if !ok {
		return 0, 0, false
	}
	x, err := strconv.ParseInt(strings.TrimSpace(a), 10, 32)
	y, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 32)
	return int32(x), int32(y), err == nil && err2 == nil
}

func (c *call) move(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	r, err := c.region(j)
	if err != nil {
		return nil, err
	}
	to, err := hexOf(a.get("hex"), r, j.GetHex())
	if err != nil {
		return nil, err
	}
	return of(j.GetExpedition(), &travelv1.MoveRequest{Name: j.GetName(), Character: c.character.GetName(), To: to, Via: a.text("via")}), nil
}

// places are locations as things to be named.
func places(lists ...[]*travelv1.Location) []thing {
	var out []thing
	for _, l := range slices.Concat(lists...) {
		if !slices.ContainsFunc(out, func(t thing) bool { return t.also[0] == l.GetId() }) {
			out = append(out, thing{label: toolName(l.GetName(), l.GetId()), also: []string{l.GetId()}, value: l})
		}
	}
	return out
}

// here are the places in the company's hex that the caller knows of.
func here(j *travelv1.Journey, r *travelv1.Region) []*travelv1.Location {
	var out []*travelv1.Location
	for _, p := range places(r.GetLocations(), j.GetDiscoveredLocations()) {
		l := p.value.(*travelv1.Location) //nolint:forcetypeassert // places are locations
		if j.GetHex() != nil && l.GetHex().GetQ() == j.GetHex().GetQ() && l.GetHex().GetR() == j.GetHex().GetR() {
			out = append(out, l)
		}
	}
	return out
}

func (c *call) enterPlace(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	r, err := c.region(j)
	if err != nil {
		return nil, err
	}
	// What is near comes first; a place elsewhere is refused by the rules, in their words.
	t, err := find("a place", a.get("place"), places(here(j, r)))
	if err != nil {
		all := places(r.GetLocations(), j.GetDiscoveredLocations(), r.GetHiddenLocations())
		if t, err = find("a place", a.get("place"), all); err != nil {
			return nil, err
		}
	}
	return of(j.GetExpedition(), &travelv1.EnterLocationRequest{
		Name: j.GetName(), Character: c.character.GetName(), Location: t.value.(*travelv1.Location).GetId(), //nolint:forcetypeassert // see above
	}), nil
}

// companion finds a member of the journey by name; without a name it is the acting character.
func (c *call) companion(j *travelv1.Journey, a args, name string) (string, error) {
	var things []thing
	for _, m := range j.GetMembers() {
		if !a.has(name) && m.GetCharacter() != "" && m.GetCharacter() == c.character.GetName() {
			return m.GetName(), nil
		}
		t := thing{label: m.GetName(), value: m.GetName()}
		if m.GetCharacter() != "" {
			t.also = append(t.also, idOf(m.GetCharacter()), c.called(m.GetCharacter()))
		}
		things = append(things, t)
	}
	if !a.has(name) {
		return "", refuse(reasonMissing, a.end, name+"=<member>", "the %s is missing", name)
	}
	t, err := find("a member", a.get(name), things)
	if err != nil {
		return "", err
	}
	return t.value.(string), nil //nolint:forcetypeassert // see above
}

func (c *call) buy(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	item := a.text("item")
	if item == "torches" {
		item = "torch"
	}
	if item == "food" {
		return of(j.GetExpedition(), &travelv1.BuyFoodRequest{Name: j.GetName(), Character: c.character.GetName(), Steps: a.number("number", 1)}), nil
	}
	req := &travelv1.BuyGearRequest{Name: j.GetName(), Character: c.character.GetName(), Item: item}
	if item == "torch" || item == "oil" {
		req.Count = a.number("number", 1)
		if req.Carrier, err = c.companion(j, a, "carrier"); err != nil {
			return nil, err
		}
		return of(j.GetExpedition(), req), nil
	}
	for _, extra := range []string{"number", "carrier"} {
		if a.has(extra) && (extra != "number" || a.number(extra, 1) != 1) {
			return nil, refuse(reasonTooMany, a.get(extra).column, "the end of the line", "there is one %s for all, without a %s", item, extra)
		}
	}
	return of(j.GetExpedition(), req), nil
}

func (c *call) light(a args) (proto.Message, error) {
	return journeyCommand(func(j, who string) proto.Message {
		return &travelv1.LightRequest{Name: j, Character: who, Kind: a.text("light")}
	})(c, a)
}

func (c *call) remains(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	carrier, err := c.companion(j, a, "carrier")
	if err != nil {
		return nil, err
	}
	return of(j.GetExpedition(), &travelv1.PrepareRemainsRequest{
		Name: j.GetName(), Character: c.character.GetName(), Count: a.number("number", 0), Value: a.number("value", 0), Carrier: carrier,
	}), nil
}

func (c *call) share(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	slots := map[string]int32{}
	for _, p := range a.pairs {
		who, err := c.companion(j, args{values: map[string]span{"member": p.key}}, "member")
		if err != nil {
			return nil, err
		}
		if _, twice := slots[who]; twice {
			return nil, refuse(reasonTooMany, p.key.column, "each member once", "%s is named twice", who)
		}
		n, err := strconv.ParseInt(p.value.text, 10, 32)
		if err != nil {
			return nil, err // cannot be: it was read as a number
		}
		slots[who] = int32(n)
	}
	return of(j.GetExpedition(), &travelv1.DistributeRequest{Name: j.GetName(), Character: c.character.GetName(), FoodSlots: slots}), nil
}

func (c *call) hire(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	return of(j.GetExpedition(), &travelv1.AddMemberRequest{Name: j.GetName(), Character: c.character.GetName(), Member: &travelv1.Newcomer{
		Name: a.text("name"), Hp: a.number("hp", 0), Str: a.number("str", 0), Gear: a.number("gear", 0),
	}}), nil
}

func (c *call) dismiss(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	who, err := c.companion(j, a, "member")
	if err != nil {
		return nil, err
	}
	return of(j.GetExpedition(), &travelv1.RemoveMemberRequest{Name: j.GetName(), Character: c.character.GetName(), Member: who}), nil
}

func (c *call) harm(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	who, err := c.companion(j, a, "member")
	if err != nil {
		return nil, err
	}
	if !a.has("hp") && !a.has("str") {
		return nil, refuse(reasonMissing, a.end, "hp=<number> or str=<number>", "the damage is missing")
	}
	return of(j.GetExpedition(), &travelv1.HarmRequest{
		Name: j.GetName(), Character: c.character.GetName(), Member: who, Hp: a.number("hp", 0), Str: a.number("str", 0),
	}), nil
}

func (c *call) enterRoom(a args) (proto.Message, error) {
	j, err := c.journey()
	if err != nil {
		return nil, err
	}
	var rooms []thing
	for _, w := range append(slices.Clone(j.GetWays()), j.GetVisited()...) {
		if !slices.ContainsFunc(rooms, func(t thing) bool { return t.label == w }) {
			rooms = append(rooms, thing{label: w, value: w})
		}
	}
	to := ""
	switch {
	case !a.has("room") && len(j.GetWays()) == 1:
		to = j.GetWays()[0]
	case !a.has("room") && len(j.GetWays()) > 1:
		return nil, refuse(reasonMissing, a.end, "<room>", "%d ways lead from here", len(j.GetWays())).suggest(j.GetWays()[:min(len(j.GetWays()), 2*mostSuggestions)]...)
	case a.has("room") && len(rooms) > 0:
		t, err := find("a room", a.get("room"), rooms)
		if err != nil {
			return nil, err
		}
		to = t.label
	}
	// Outside of a site nothing can be named, and the rules refuse the turn.
	return of(j.GetExpedition(), &travelv1.TakeTurnRequest{Name: j.GetName(), Character: c.character.GetName(), Trigger: "room", To: to}), nil
}
