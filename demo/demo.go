// Package demo plays the main job through REST alone and prints it as a story: a campaign, a party, an expedition through
// hexes to a dungeon and back, and every die checked afterwards.
//
// It trusts nothing: each answer is looked at, and the first surprise ends it with an error.
package demo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// Config says where to play.
type Config struct {
	// URL is where REST is, without a slash at the end.
	URL string
	// Password is that of the demo users.
	Password string
	// ID makes the names of this play-through unique.
	ID string
	// Out takes the story.
	Out io.Writer
}

// players are the demo users who play, each with one character of the same id.
var players = []string{"ada", "bram", "cleo", "dov"}

// story is one play-through.
type story struct {
	cfg      Config
	client   client
	tokens   map[string]string
	campaign string
	// expedition is empty when the server has no expedition service; then journey and run are played by themselves.
	expedition string
	journey    string
	run        string
	requests   int
	reported   int
	drawn      int
}

// Example sets up the campaign "example" for people to play with: the demo users with their characters and a party, the
// map and the dungeons. A server that has it already is left as it is.
func Example(ctx context.Context, cfg Config) error {
	cfg.ID = "example"
	s := &story{cfg: cfg, client: client{base: cfg.URL, http: &http.Client{}}, tokens: map[string]string{}, campaign: "campaigns/example"}
	token, err := s.client.token(ctx, "gm", cfg.Password)
	if err != nil {
		return err
	}
	_, err = s.client.call(ctx, token, s.campaign+"/parties/lanterns", nil)
	var r *refusal
	if !errors.As(err, &r) || r.code != http.StatusNotFound {
		return err
	}
	// The request ids are the same each time, so a start that was cut short is carried on.
	for _, step := range []func(context.Context) error{s.gather, s.definitions, s.characters, s.party} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Play plays the whole story. Its error is the first surprise.
func Play(ctx context.Context, cfg Config) error {
	s := &story{cfg: cfg, client: client{base: cfg.URL, http: &http.Client{}}, tokens: map[string]string{}, campaign: "campaigns/demo-" + cfg.ID}
	begin := time.Now()
	for _, chapter := range []struct {
		title string
		play  func(context.Context) error
	}{
		{"The table gathers", s.gather},
		{"Four characters", s.characters},
		{"A party", s.party},
		{"The map and the dungeons", s.definitions},
		{"Setting out", s.setOut},
		{"On the road, the river and through the forest", s.travel},
		{"Underground", s.delve},
		{"The way home", s.home},
		{"Every die is checked", s.verify},
	} {
		s.say("\n== %s", chapter.title)
		if err := chapter.play(ctx); err != nil {
			return fmt.Errorf("%s: %w", chapter.title, err)
		}
	}
	s.say("\n%d requests, %d dice from streams and %d reported ones, in %s. Nothing surprising happened.",
		s.requests, s.drawn, s.reported, time.Since(begin).Round(time.Millisecond))
	return nil
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.cfg.Out, format+"\n", args...) }

func (s *story) character(id string) string { return s.campaign + "/characters/" + id }

// as calls REST as a user; every mutation gets a request id of its own.
func (s *story) as(ctx context.Context, user, path string, body object) (object, error) {
	s.requests++
	if body != nil && body["requestId"] == nil && path != "dice:verify" { // which changes nothing
		body["requestId"] = fmt.Sprintf("%s-%d", s.cfg.ID, s.requests)
	}
	var sent any
	if body != nil {
		sent = body
	}
	answer, err := s.client.call(ctx, s.tokens[user], path, sent)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", user, path, err)
	}
	return answer, nil
}

// refused calls REST as a user and expects a refusal with a reason.
func (s *story) refused(ctx context.Context, user, path string, body object, reason string) error {
	_, err := s.as(ctx, user, path, body)
	var r *refusal
	if !errors.As(err, &r) || r.reason != reason {
		return fmt.Errorf("%s %s: expected %s, got %w", user, path, reason, err)
	}
	s.say("   (%s tries %s: %s, as it should be)", user, path[strings.LastIndexAny(path, ":/")+1:], reason)
	return nil
}

// command plays one command of the journey or the run, through the expedition if there is one.
func (s *story) command(ctx context.Context, user, aggregate, name string, body object) (object, error) {
	if dice, ok := body["reportedDice"].([]int); ok {
		s.reported += len(dice)
		at, err := s.as(ctx, user, aggregate, nil)
		if err != nil {
			return nil, err
		}
		body["etag"] = at.Text("etag")
	}
	if s.expedition == "" {
		return s.as(ctx, user, aggregate+":"+name, body)
	}
	answer, err := s.as(ctx, user, s.expedition+":execute", object{name: body})
	if err != nil {
		return nil, err
	}
	result, ok := answer.Get(name).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("execute %s: no result in %v", name, answer)
	}
	return result, nil
}

func (s *story) gather(ctx context.Context) error {
	for _, user := range append([]string{"gm"}, players...) {
		token, err := s.client.token(ctx, user, s.cfg.Password)
		if err != nil {
			return err
		}
		s.tokens[user] = token
	}
	members := []object{}
	for _, p := range players {
		members = append(members, object{"subject": p, "role": "ROLE_PLAYER"})
	}
	c, err := s.as(ctx, "gm", "campaigns", object{
		"campaignId": strings.TrimPrefix(s.campaign, "campaigns/"), "title": "The Vale of Ansel", "chapter": 3, "members": members,
	})
	if err != nil {
		return err
	}
	if c.Number("chapter") != 3 || len(c.List("members")) != 5 {
		return fmt.Errorf("the campaign is another one: %v", c)
	}
	s.say("%s opens %q in chapter 3 for %s.", c.Text("members.0.subject"), c.Text("title"), strings.Join(players, ", "))
	return nil
}

// build is what a player buys with 48 dungeon points: ratings for 45 and two tools for the price of one.
type build struct {
	abilities object
	tools     []object
}

var builds = map[string]build{
	"ada": {object{"brute": 5, "agility": 4, "wits": 4, "combat": 4}, []object{
		{"id": "gauntlets", "title": "armoured gauntlets", "ability": "brute", "rating": "major", "qualities": []string{"strengthen"}, "drawback": "sacrifice"},
		{"id": "notebook", "title": "a notebook full of marks", "ability": "wits", "rating": "minor", "qualities": []string{"improved", "efficient"}},
	}},
	"bram": {object{"brute": 4, "agility": 5, "wits": 4, "combat": 4}, []object{
		{"id": "grapple", "title": "grapple and line", "ability": "agility", "rating": "major", "qualities": []string{"improved"}},
		{"id": "whistle", "title": "a whistle that carries", "ability": "combat", "rating": "minor", "qualities": []string{"embolden"}},
	}},
	"cleo": {object{"brute": 4, "agility": 4, "wits": 5, "combat": 4}, []object{
		{"id": "goggles", "title": "far-sight goggles", "ability": "wits", "rating": "major", "qualities": []string{"improved"}},
		{"id": "salts", "title": "smelling salts", "ability": "agility", "rating": "minor", "qualities": []string{"cleanse"}, "drawback": "shortsighted"},
	}},
	"dov": {object{"brute": 4, "agility": 4, "wits": 4, "combat": 5}, []object{
		{"id": "net", "title": "a weighted net", "ability": "combat", "rating": "major", "qualities": []string{"improved"}},
		{"id": "lever", "title": "an iron lever", "ability": "brute", "rating": "minor", "qualities": []string{"stalwart"}},
	}},
}

func (s *story) characters(ctx context.Context) error {
	for _, p := range players {
		title := strings.ToUpper(p[:1]) + p[1:]
		if _, err := s.as(ctx, p, s.campaign+"/characters", object{"characterId": p, "title": title}); err != nil {
			return err
		}
		name := s.character(p)
		if p == "ada" {
			too := object{"abilities": object{"brute": 6, "agility": 5, "wits": 5, "combat": 4}}
			if err := s.refused(ctx, p, name+":setAbilities", too, "OVER_SPENT"); err != nil {
				return err
			}
		}
		if _, err := s.as(ctx, p, name+":setAbilities", object{"abilities": builds[p].abilities}); err != nil {
			return err
		}
		if _, err := s.as(ctx, p, name+":buyTools", object{"tools": builds[p].tools}); err != nil {
			return err
		}
		var c object
		for n := 1; n <= 2; n++ {
			var err error
			if c, err = s.as(ctx, p, name+":loadTool", object{"number": n}); err != nil {
				return err
			}
		}
		if c.Number("dp") != 48 || c.Number("forms.0.statblock.dpFree") != 0 || c.Number("beltSlots") != 4 {
			return fmt.Errorf("%s has %d DP, %d free and %d slots", p, c.Number("dp"), c.Number("forms.0.statblock.dpFree"), c.Number("beltSlots"))
		}
		tools := c.List("forms.0.statblock.tools")
		s.say("%s: 48 of 48 DP; %s and %s in a belt of 4 (two for one price).", title, tools[0].Text("title"), tools[1].Text("title"))
		if _, err := s.as(ctx, "gm", name+":approve", object{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) party(ctx context.Context) error {
	party := s.campaign + "/parties/lanterns"
	if _, err := s.as(ctx, "ada", s.campaign+"/parties", object{"partyId": "lanterns", "character": s.character("ada")}); err != nil {
		return err
	}
	for _, p := range players[1:] {
		if _, err := s.as(ctx, p, party+":join", object{"character": s.character(p)}); err != nil {
			return err
		}
	}
	if err := s.refused(ctx, "ada", party+":leave", object{"character": s.character("ada")}, "LEADER_WITH_MEMBERS"); err != nil {
		return err
	}
	if err := s.refused(ctx, "cleo", party+":promote", object{"character": s.character("cleo"), "target": s.character("cleo")}, "NOT_LEADER"); err != nil {
		return err
	}
	p, err := s.as(ctx, "ada", party+":promote", object{"character": s.character("ada"), "target": s.character("bram")})
	if err != nil {
		return err
	}
	if p.Text("leader") != s.character("bram") || len(p.List("members")) != 4 {
		return fmt.Errorf("the party is another one: %v", p)
	}
	s.say("Ada forms a party, three join, and she hands the lead to Bram.")
	return nil
}

// region converts the shipped map, whose coordinates are pairs, to the contract's form.
func region() (object, error) {
	m := diedrop.ExampleMap()
	hex := func(h diedrop.Hex) object { return object{"q": h.Q, "r": h.R} }
	paths := func(in []diedrop.Path) []object {
		var out []object
		for _, p := range in {
			var steps []object
			for _, h := range p.Path {
				steps = append(steps, hex(h))
			}
			out = append(out, object{"id": p.ID, "name": p.Name, "direction": p.Direction, "path": steps})
		}
		return out
	}
	out := object{"title": m.Name, "roads": paths(m.Roads), "rivers": paths(m.Rivers)}
	var hexes, locations, npcs []object
	for _, h := range m.Hexes {
		hexes = append(hexes, object{"q": h.Q, "r": h.R, "terrain": h.Terrain, "name": h.Name})
	}
	for _, l := range m.Locations {
		x := object{"id": l.ID, "name": l.Name, "text": l.Text, "kind": l.Kind, "hex": hex(l.Hex), "visible": l.Visible, "table": l.Table, "entrance": l.Entrance}
		var rooms []object
		for _, id := range slices.Sorted(maps(l.Rooms)) {
			rooms = append(rooms, object{"id": id, "ways": l.Rooms[id]})
		}
		x["rooms"] = rooms
		locations = append(locations, x)
	}
	for _, n := range m.NPCs {
		npcs = append(npcs, object{"id": n.ID, "name": n.Name, "hex": hex(n.Hex), "text": n.Text})
	}
	out["hexes"], out["locations"], out["npcs"] = hexes, locations, npcs
	return out, nil
}

func maps(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (s *story) definitions(ctx context.Context) error {
	draft, err := region()
	if err != nil {
		return err
	}
	if _, err := s.as(ctx, "gm", s.campaign+"/regions:import", object{"regionId": "vale-of-ansel", "region": draft}); err != nil {
		return err
	}
	var file struct {
		Dungeons []object `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &file); err != nil {
		return err
	}
	for _, d := range file.Dungeons {
		got, err := s.as(ctx, "gm", s.campaign+"/dungeons:import", object{"dungeon": d})
		if err != nil {
			return err
		}
		s.say("Dungeon %d: %s (%s, %d cards).", got.Number("definition.number"), got.Text("definition.name"), got.Text("definition.type"), len(got.List("definition.cards")))
	}
	seen, err := s.as(ctx, "cleo", s.campaign+"/dungeons/thornglass-stair", nil)
	if err != nil {
		return err
	}
	if len(seen.List("definition.cards")) != 0 {
		return errors.New("a player sees the cards of a dungeon")
	}
	s.say("The Vale of Ansel is on the table. Players see no cards.")
	return nil
}

// hasExpeditions asks the server whether it runs expeditions.
func (s *story) hasExpeditions(ctx context.Context) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.URL+"/readyz", nil)
	if err != nil {
		return false, err
	}
	states, err := s.client.do(req)
	return states["expedition"] != nil, err
}

func (s *story) setOut(ctx context.Context) error {
	travelers := []object{}
	for _, p := range players {
		travelers = append(travelers, object{"character": s.character(p)})
	}
	company := s.campaign + "/companies/lanterns"
	if _, err := s.as(ctx, "gm", s.campaign+"/companies", object{
		"companyId": "lanterns", "title": "The Lanterns", "travelers": travelers,
		"pack": object{"gold": 60, "food": []int{8}, "boat": true},
	}); err != nil {
		return err
	}
	expeditions, err := s.hasExpeditions(ctx)
	if err != nil {
		return err
	}
	start := object{"company": company, "region": s.campaign + "/regions/vale-of-ansel", "hex": object{"q": 1, "r": 2}, "character": s.character("bram")}
	if expeditions {
		s.expedition = s.campaign + "/expeditions/orlo"
		e, err := s.as(ctx, "bram", s.campaign+"/expeditions", object{"expeditionId": "orlo", "title": "To Orlo and back", "company": company})
		if err != nil {
			return err
		}
		if e.Text("expedition.phase") != "PHASE_ASSEMBLING" {
			return fmt.Errorf("the expedition begins in %s", e.Text("expedition.phase"))
		}
		s.say("The expedition %q assembles.", e.Text("expedition.title"))
		got, err := s.command(ctx, "bram", "", "startJourney", start)
		if err != nil {
			return err
		}
		s.journey = got.Text("journey.name")
	} else {
		start["journeyId"] = "orlo"
		got, err := s.as(ctx, "bram", s.campaign+"/journeys", start)
		if err != nil {
			return err
		}
		s.journey = got.Text("journey.name")
	}
	if s.journey == "" {
		return errors.New("the journey has no name")
	}
	if err := s.refused(ctx, "gm", company+":setPack", object{"pack": object{"gold": 1000}}, "LEASED"); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		body object
		say  string
	}{
		{"enterLocation", object{"location": "tallowick"}, "They stop in Tallowick."},
		{"buyFood", object{"steps": 1}, "Food is bought: the die is now %s, %d gold are left."},
		{"leaveLocation", object{}, "Off they go."},
	} {
		step.body["character"] = s.character("bram")
		got, err := s.command(ctx, "bram", s.journey, step.name, step.body)
		if err != nil {
			return err
		}
		if strings.Contains(step.say, "%") {
			s.say(step.say, food(got), got.Number("journey.gold"))
			continue
		}
		s.say("%s", step.say)
	}
	return nil
}

func food(answer object) string {
	dice, _ := answer.Get("journey.food").([]any)
	if len(dice) == 0 {
		return "gone"
	}
	var names []string
	for _, d := range dice {
		names = append(names, fmt.Sprintf("d%v", d))
	}
	return strings.Join(names, "+")
}

// round plays a round of travel and tells what came of it.
func (s *story) round(ctx context.Context, user, name string, body object, what string) (object, error) {
	body["character"] = s.character(players[1])
	if user == "gm" {
		delete(body, "character")
	}
	got, err := s.command(ctx, user, s.journey, name, body)
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("%s. Food %s", what, food(got))
	for _, e := range got.List("events") {
		if met, ok := e["encounterMet"].(map[string]any); ok {
			m := object(met)
			line += fmt.Sprintf("; they meet %d %s, reaction %s (%d gold)", m.Number("encounter.number"), m.Text("encounter.creature"), m.Text("encounter.reaction"), m.Number("encounter.gold"))
		}
		if f, ok := e["foraged"].(map[string]any); ok {
			line += "; foraging: " + object(f).Text("result")
		}
	}
	s.say("%s.", line)
	return got, nil
}

func (s *story) move(ctx context.Context, q, r int, via, what string) error {
	got, err := s.round(ctx, "bram", "move", object{"to": object{"q": q, "r": r}, "via": via}, what)
	if err == nil && (got.Number("journey.hex.q") != q || got.Number("journey.hex.r") != r) {
		err = fmt.Errorf("the company is not in (%d,%d)", q, r)
	}
	return err
}

func (s *story) travel(ctx context.Context) error {
	if err := s.farAway(ctx); err != nil {
		return err
	}
	for _, m := range []struct {
		q, r int
		via  string
		what string
	}{
		{2, 2, "road", "Carter's Way to (2,2)"},
		{2, 3, "road", "on the road through Ravelwood to (2,3)"},
		{3, 3, "road", "still on the road to (3,3)"},
		{3, 4, "river", "by boat down the Wendle to the Mere at (3,4)"},
		{2, 5, "river", "down the Wendle to (2,5)"},
	} {
		if err := s.move(ctx, m.q, m.r, m.via, m.what); err != nil {
			return err
		}
	}
	// The GM lets the party meet somebody: dice rolled by hand, in the order in which the rules ask for them.
	got, err := s.round(ctx, "gm", "move", object{
		"to": object{"q": 2, "r": 4}, "via": "terrain", "reportedDice": []int{3, 3, 1, 4, 2, 2, 5, 6, 3, 1},
	}, "into the forest at (2,4), where the GM rolls by hand")
	if err != nil {
		return err
	}
	e := got
	if e.Text("journey.encounter.creature") != "Elves" || e.Number("journey.encounter.number") != 2 || e.Text("journey.encounter.reaction") != "talks" || e.Number("journey.encounter.gold") != 4 {
		return fmt.Errorf("the encounter is another one: %v", e.Get("journey.encounter"))
	}
	if _, err := s.round(ctx, "bram", "search", object{}, "they search"); err != nil {
		return err
	}
	if _, err := s.round(ctx, "bram", "forage", object{}, "they forage"); err != nil {
		return err
	}
	inside, err := s.command(ctx, "bram", s.journey, "enterLocation", object{"location": "orlo", "character": s.character("bram")})
	if err != nil {
		return err
	}
	if inside.Text("journey.inside") != "orlo" {
		return errors.New("the company is not inside orlo")
	}
	s.say("The search found Orlo, and they go in.")
	return nil
}

// farAway shows a refusal of the rules.
func (s *story) farAway(ctx context.Context) error {
	_, err := s.command(ctx, "bram", s.journey, "move", object{"to": object{"q": 5, "r": 5}, "character": s.character("bram")})
	var r *refusal
	if !errors.As(err, &r) || r.reason != "NOT_ADJACENT" {
		return fmt.Errorf("a move across the map: expected NOT_ADJACENT, got %w", err)
	}
	s.say("   (bram tries to move to (5,5): NOT_ADJACENT, as it should be)")
	return nil
}

func (s *story) delve(ctx context.Context) error {
	start := object{"party": s.campaign + "/parties/lanterns", "dungeon": s.campaign + "/dungeons/thornglass-stair", "character": s.character("bram")}
	var got object
	var err error
	if s.expedition != "" {
		got, err = s.command(ctx, "bram", "", "startRun", start)
	} else {
		start["runId"] = "thornglass"
		got, err = s.as(ctx, "bram", s.campaign+"/runs", start)
	}
	if err != nil {
		return err
	}
	run := got
	s.run = run.Text("run.name")
	s.say("%s, a %s. The belts are locked.", run.Text("run.title"), run.Text("run.type"))
	if err := s.refused(ctx, "ada", s.character("ada")+":unloadTool", object{"number": 1}, "LEASED"); err != nil {
		return err
	}
	climax := false
	for n := 0; ; n++ {
		if n > 40 {
			return errors.New("the run does not end")
		}
		if run, err = s.playRound(ctx, run); err != nil {
			return err
		}
		climax = climax || run.Text("played") == "climax"
		switch phase := run.Text("run.phase"); phase {
		case "PHASE_DRAW":
		case "PHASE_WON", "PHASE_RETREATED", "PHASE_EXHAUSTED":
			if !climax {
				return fmt.Errorf("the run ended without a climax: %s", phase)
			}
			s.say("The run is over: %s with %d explored.", strings.ToLower(strings.TrimPrefix(phase, "PHASE_")), run.Number("run.exploration"))
			return nil
		default:
			return fmt.Errorf("after a round the run waits in %s", phase)
		}
		drawer := players[(n+2)%len(players)]
		if drawer, err = s.standing(run, drawer); err != nil {
			return err
		}
		if got, err = s.command(ctx, drawer, s.run, "draw", object{"character": s.character(drawer)}); err != nil {
			return err
		}
		run = got
	}
}

// standing returns the first player from one on whose character is not exhausted.
func (s *story) standing(run object, from string) (string, error) {
	at := slices.Index(players, from)
	for i := range players {
		p := players[(at+i)%len(players)]
		for _, m := range run.List("run.members") {
			if m.Text("character") == s.character(p) && m.Number("exhaustion") < 100 {
				return p, nil
			}
		}
	}
	return "", errors.New("nobody stands")
}

// playRound lets everybody act on the pending challenge and completes it. After the entry the GM reports tens, so that
// the story reaches its end; the entry's dice come from the stream.
func (s *story) playRound(ctx context.Context, run object) (object, error) {
	c := run
	kind, ability, tn := c.Text("run.challenge.kind"), c.Text("run.challenge.ability"), c.Number("run.challenge.tn")
	entry := kind == "entry"
	drawer := strings.TrimPrefix(c.Text("run.challenge.drawer"), s.character(""))
	var told []string
	acting := 0
	for _, m := range c.List("run.members") {
		if m.Number("exhaustion") >= 100 {
			continue
		}
		p := strings.TrimPrefix(m.Text("character"), s.character(""))
		action := object{"basic": ability, "risk": entry}
		word := "basic"
		for _, t := range m.List("tools") {
			// Tools wait for the hard cards.
			if t.Text("ability") == ability && t.Number("usesLeft") > 0 && !entry {
				action, word = object{"tool": t.Number("number")}, t.Text("id")
			}
		}
		if acting == 0 && entry {
			wrong := object{"basic": map[bool]string{true: "rush", false: "force"}[ability == "brute"]}
			if _, err := s.command(ctx, p, s.run, "act", object{"character": m.Text("character"), "action": wrong}); !isReason(err, "WRONG_ABILITY") {
				return nil, fmt.Errorf("the wrong ability: %w", err)
			}
		}
		if _, err := s.command(ctx, p, s.run, "act", object{"character": m.Text("character"), "action": action}); err != nil {
			return nil, err
		}
		told = append(told, p+": "+word)
		acting++
	}
	body := object{"character": s.character(drawer)}
	user := drawer
	if !entry {
		dice := slices.Repeat([]int{10}, acting)
		user, body["overrideReason"], body["reportedDice"] = "gm", "the table rolled by hand", dice
	}
	got, err := s.command(ctx, user, s.run, "complete", body)
	if err != nil {
		return nil, err
	}
	out := got
	for _, e := range out.List("events") {
		done, ok := e["roundCompleted"].(map[string]any)
		if !ok {
			continue
		}
		d := object(done)
		outcome := "failed"
		if d.True("passed") {
			outcome = "passed"
		}
		var conditions []string
		for _, x := range c.List("run.conditions") {
			conditions = append(conditions, x.Text("name"))
		}
		s.say("%d. %s (%s, %s, TN %d; %s) %s. %s: %d against %d, exploration %d.", d.Number("round"), c.Text("run.challenge.title"), kind, ability, tn,
			strings.Join(conditions, ", "), strings.Join(told, ", "), outcome, d.Number("score"), d.Number("target"), d.Number("exploration"))
		out["played"] = kind
		return out, nil
	}
	return nil, errors.New("a completed round has no result")
}

func isReason(err error, reason string) bool {
	var r *refusal
	return errors.As(err, &r) && r.reason == reason
}

func (s *story) home(ctx context.Context) error {
	if _, err := s.command(ctx, "bram", s.journey, "leaveLocation", object{"character": s.character("bram")}); err != nil {
		return err
	}
	for _, m := range []struct {
		q, r int
		via  string
		what string
	}{
		{2, 3, "terrain", "Out of the forest to (2,3)"}, {2, 2, "road", "by road to (2,2)"}, {1, 2, "road", "home to (1,2)"},
	} {
		if err := s.move(ctx, m.q, m.r, m.via, m.what); err != nil {
			return err
		}
	}
	got, err := s.command(ctx, "bram", s.journey, map[bool]string{true: "endJourney", false: "end"}[s.expedition != ""], object{"character": s.character("bram")})
	if err != nil {
		return err
	}
	_ = got
	if s.expedition != "" {
		e, err := s.as(ctx, "bram", s.expedition, nil)
		if err != nil {
			return err
		}
		if e.Text("phase") != "PHASE_CONCLUDED" {
			return fmt.Errorf("the expedition is %s", e.Text("phase"))
		}
		s.say("The expedition is concluded.")
	}
	c, err := s.as(ctx, "bram", s.campaign+"/companies/lanterns", nil)
	if err != nil {
		return err
	}
	if c["lease"] != nil {
		return fmt.Errorf("the company is still lent: %v", c["lease"])
	}
	s.say("The company rests with %d gold; everything is given back.", c.Number("pack.gold"))
	return nil
}

// verify reads the whole logs back, and recomputes every face from the revealed seeds: here, and by the server.
func (s *story) verify(ctx context.Context) error {
	if s.expedition != "" {
		log, err := s.client.watch(ctx, s.tokens["dov"], s.expedition)
		if err != nil {
			return err
		}
		s.say("The expedition's log has %d records.", len(log))
	}
	for _, name := range []string{s.journey, s.run} {
		log, err := s.client.watch(ctx, s.tokens["dov"], name)
		if err != nil {
			return err
		}
		at, err := s.as(ctx, "dov", name, nil)
		if err != nil {
			return err
		}
		if len(log) != at.Number("seq") {
			return fmt.Errorf("%s has %d records, its log %d", name, at.Number("seq"), len(log))
		}
		if err := s.verifyLog(ctx, at.Text("stream"), name, log); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) verifyLog(ctx context.Context, stream, name string, log []object) error {
	st, err := s.as(ctx, "dov", stream, nil)
	if err != nil {
		return err
	}
	if !st.True("revealed") {
		return fmt.Errorf("%s is not revealed", stream)
	}
	seed, err := base64.StdEncoding.DecodeString(st.Text("seed"))
	if err != nil {
		return err
	}
	draws, faces := []object{}, 0
	for i, line := range log {
		rec := line
		if rec.Number("record.seq") != i+1 {
			return fmt.Errorf("%s: record %d stands in place %d", name, rec.Number("record.seq"), i+1)
		}
		var dice, plain []object
		var sides []int
		for _, d := range rec.List("record.dice") {
			dice = append(dice, d)
			if !d.True("reported") {
				plain, sides = append(plain, d), append(sides, d.Number("sides"))
			}
		}
		if len(plain) == 0 {
			continue
		}
		want, err := dicestream.Faces(seed, st.Text("clientSeed"), uint64(i+1), sides...) //nolint:gosec // a place in a list
		if err != nil {
			return err
		}
		for j, d := range plain {
			if d.Number("face") != want[j] {
				return fmt.Errorf("%s: die %d of record %d is %d, its stream gives %d", name, j, i+1, d.Number("face"), want[j])
			}
		}
		faces += len(plain)
		draws = append(draws, object{"index": i + 1, "dice": dice})
	}
	answer, err := s.as(ctx, "dov", "dice:verify", object{
		"seed": st.Text("seed"), "clientSeed": st.Text("clientSeed"), "commitment": st.Text("commitment"), "draws": draws,
	})
	if err != nil {
		return err
	}
	if !answer.True("verified") {
		return fmt.Errorf("the server does not verify %s: %v", stream, answer)
	}
	s.drawn += faces
	s.say("%s: %d records, seed revealed, commitment kept, %d faces recomputed and right.", name[strings.Index(name, "/")+1:], len(log), faces)
	return nil
}
