package console

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Who may give a command, as the help says it.
const (
	anyone  = "anyone in the campaign"
	member  = "members of a party"
	leader  = "the leader of the party"
	drawer  = "who drew the challenge"
	owner   = "the character's player"
	gmsOnly = "game masters"
)

// diggerCommands are those of the catalogue (DIG-CMD-01 to -18).
func diggerCommands() []command {
	action := []arg{{name: "action or tool", kind: name}}
	return []command{
		{
			name: "dungeon/list", aliases: []string{"dungeons"}, who: anyone, anyone: true,
			help: "Lists the dungeons with their numbers.", read: (*call).listDungeons,
		},
		{
			name: "party/create", args: []arg{{name: "number", kind: number}}, who: "players without a party",
			help: "Forms a party that you lead, and readies the dungeon of that number.", plan: (*call).createParty,
		},
		{
			name: "party/join", args: []arg{{name: "player", kind: name}}, who: "players without a party",
			help: "Joins the party that the player leads. It must not have entered a dungeon.", plan: (*call).joinParty,
		},
		{
			name: "party/reset", aliases: []string{"party/leave"}, who: member,
			help: "Takes you out of your party, also during a run. A leader promotes somebody first; alone, they dissolve the party.", plan: (*call).resetParty,
		},
		{
			name: "party/promote", args: []arg{{name: "player", kind: name}}, who: leader,
			help: "Hands leadership to another member. Not while acts of the round are pending.", plan: (*call).promote,
		},
		{
			name: "tools", aliases: []string{"tool", "tools/list"}, args: []arg{{name: "form", kind: name, optional: true}}, who: owner,
			help: "Shows the tools of your current form, or of the form named, with their numbers.", read: (*call).tools,
		},
		{
			name: "tools/load", args: []arg{{name: "number", kind: number}}, who: owner,
			help: "Puts the tool of that number into a slot of your belt. Not during a run.", plan: (*call).loadTool,
		},
		{
			name: "tools/unload", args: []arg{{name: "number", kind: number}}, who: owner,
			help: "Takes the tool of that number out of your belt. Not during a run.", plan: (*call).unloadTool,
		},
		{
			name: "form", args: []arg{{name: "form", kind: name}}, who: owner,
			help: "Changes into another form of yours. Not during a run.", plan: (*call).switchForm,
		},
		{
			name: "camp", aliases: []string{"party", "party/info"}, who: member,
			help: "Shows your party: members, leader, belts, and in a dungeon exhaustion, exploration, conditions and effects.", read: (*call).camp,
		},
		{
			name: "dungeon/info", aliases: []string{"dungeon"}, who: member,
			help: "Tells about the dungeon that your party has readied or entered.", read: (*call).dungeonInfo,
		},
		{
			name: "dungeon/enter", aliases: []string{"enter"}, who: leader,
			help: "Enters the dungeon: the entry challenge comes, nobody joins any more, belts and forms are locked.", plan: (*call).enterDungeon,
		},
		{
			name: "dungeon/draw", aliases: []string{"draw"}, who: "members who are not exhausted",
			help: "Draws the next challenge, which you then run. Conditions tick.", plan: (*call).draw,
		},
		{
			name: "act", args: action, who: "members who are not exhausted",
			help: "Contributes a basic action (force, rush, investigate, fight), its ability, or a loaded tool by name or #number. Once a round.", plan: (*call).act,
		},
		{
			name: "risk", args: action, who: "members who are not exhausted",
			help: "As +act, with a bonus to your own total and more exhaustion if you fail.", plan: (*call).risk,
		},
		{
			name: "act/complete", aliases: []string{"complete"}, who: drawer,
			help: "Ends the round once every member has acted or is exhausted. Effects tick.", plan: (*call).complete,
		},
		{
			name: "challenge", aliases: []string{"dungeon/challenge"}, who: member,
			help: "Reads the pending challenge and lists the members with what they do.", read: (*call).challenge,
		},
		{
			name: "dungeon/abandon", who: leader,
			help: "Gives the run up.", plan: (*call).abandonRun,
		},
	}
}

func (c *call) listDungeons(args) (string, proto.Message, error) {
	all, err := c.allDungeons()
	if err != nil {
		return "", nil, err
	}
	if len(all) == 0 {
		return "There are no dungeons.", &dungeonv1.ListDungeonsResponse{}, nil
	}
	rows := make([][]string, len(all))
	for i, d := range all {
		rows[i] = []string{numberOf(d), d.GetDefinition().GetName(), d.GetDefinition().GetType()}
	}
	return "Dungeons:\n" + columns(rows), &dungeonv1.ListDungeonsResponse{Dungeons: all}, nil
}

func numberOf(d *dungeonv1.Dungeon) string {
	if n := d.GetDefinition().GetNumber(); n > 0 {
		return fmt.Sprint(n)
	}
	return "-"
}

func (c *call) createParty(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	all, err := c.allDungeons()
	if err != nil {
		return nil, err
	}
	n := a.number("number", 0)
	var found []*dungeonv1.Dungeon
	var there []string
	for _, d := range all {
		if d.GetDefinition().GetNumber() == n && n > 0 {
			found = append(found, d)
		}
		if d.GetDefinition().GetNumber() > 0 {
			there = append(there, numberOf(d))
		}
	}
	at := a.get("number")
	switch len(found) {
	case 1:
		return &partyv1.CreatePartyRequest{Parent: c.req.GetCampaign(), Character: who, Dungeon: found[0].GetName()}, nil
	case 0:
		return nil, refuse(reasonName, at.column, "a number of +dungeon/list", "there is no dungeon %s", at.text).suggest(near(n, there)...)
	}
	return nil, refuse(reasonSeveral, at.column, "a number of one dungeon", "%d dungeons have the number %s", len(found), at.text)
}

// near returns the numbers closest to n.
func near(n int32, numbers []string) []string {
	gap := func(s string) int {
		var m int32
		_, _ = fmt.Sscan(s, &m)
		return int(max(n-m, m-n))
	}
	numbers = slices.Clone(numbers)
	slices.SortStableFunc(numbers, func(a, b string) int { return gap(a) - gap(b) })
	return numbers[:min(len(numbers), mostSuggestions)]
}

func (c *call) joinParty(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	parties, err := c.allParties()
	if err != nil {
		return nil, err
	}
	people, err := c.people(func(*partyv1.Character) bool { return true })
	if err != nil {
		return nil, err
	}
	leads := func(t thing) (out *partyv1.Party) {
		for _, p := range parties {
			if p.GetLeader() == t.value {
				out = p
			}
		}
		return out
	}
	// A name that fits several people means the one who leads.
	leaders := slices.DeleteFunc(slices.Clone(people), func(t thing) bool { return leads(t) == nil })
	if t, err := find("a player who leads a party", a.get("player"), leaders); err == nil {
		return &partyv1.JoinPartyRequest{Name: leads(t).GetName(), Character: who}, nil
	}
	t, err := find("a player who leads a party", a.get("player"), people)
	if err != nil {
		return nil, err
	}
	labels := make([]string, len(leaders))
	for i, l := range leaders {
		labels[i] = l.label
	}
	return nil, refuse(reasonName, a.get("player").column, "a player who leads a party", "%s leads no party", t.label).
		suggest(labels[:min(len(labels), mostSuggestions)]...)
}

func (c *call) resetParty(args) (proto.Message, error) {
	p, err := c.party()
	if err != nil {
		return nil, err
	}
	if p.GetState() == partyv1.Party_STATE_IN_RUN {
		run, err := c.runOf(p)
		if err != nil {
			return nil, err
		}
		return of(run.GetExpedition(), &dungeonv1.LeaveRequest{Name: run.GetName(), Character: c.character.GetName()}), nil
	}
	return &partyv1.ResetPartyRequest{Parent: c.req.GetCampaign(), Character: c.character.GetName()}, nil
}

func (c *call) promote(a args) (proto.Message, error) {
	p, err := c.party()
	if err != nil {
		return nil, err
	}
	people, err := c.people(func(ch *partyv1.Character) bool { return sits(p, ch.GetName()) })
	if err != nil {
		return nil, err
	}
	t, err := find("a member of your party", a.get("player"), people)
	if err != nil {
		return nil, err
	}
	target := t.value.(string) //nolint:forcetypeassert // people have names
	if p.GetState() == partyv1.Party_STATE_IN_RUN {
		run, err := c.runOf(p)
		if err != nil {
			return nil, err
		}
		return of(run.GetExpedition(), &dungeonv1.PromoteRequest{Name: run.GetName(), Character: c.character.GetName(), Target: target}), nil
	}
	return &partyv1.PromoteMemberRequest{Name: p.GetName(), Character: c.character.GetName(), Target: target}, nil
}

// form finds a form of the acting character; without a name, the current one.
func (c *call) form(a args) (*partyv1.Form, error) {
	if _, err := c.actor(); err != nil {
		return nil, err
	}
	var forms []thing
	for _, f := range c.character.GetForms() {
		if !a.has("form") && f.GetId() == c.character.GetCurrentForm() {
			return f, nil
		}
		forms = append(forms, thing{label: f.GetId(), value: f})
	}
	t, err := find("a form", a.get("form"), forms)
	if err != nil {
		return nil, err
	}
	return t.value.(*partyv1.Form), nil //nolint:forcetypeassert // see above
}

func (c *call) tools(a args) (string, proto.Message, error) {
	f, err := c.form(a)
	if err != nil {
		return "", nil, err
	}
	return toolList(c.character, f), f, nil
}

func toolList(ch *partyv1.Character, f *partyv1.Form) string {
	head := fmt.Sprintf("Tools of %s, form %s", ch.GetTitle(), f.GetId())
	if f.GetStatblock() == nil {
		return head + ": it has no statblock and cannot enter dungeons."
	}
	loaded := 0
	var rows [][]string
	for _, t := range f.GetStatblock().GetTools() {
		mark := " "
		if t.GetLoaded() {
			mark = "*"
			loaded++
		}
		rows = append(rows, []string{
			fmt.Sprintf("%s%d", mark, t.GetNumber()), toolName(t.GetTitle(), t.GetId()), t.GetRating() + " " + t.GetAbility(),
			plural(t.GetUses(), "use"), traits(t.GetQualities(), t.GetDrawback()),
		})
	}
	if len(rows) == 0 {
		return head + ": none."
	}
	return fmt.Sprintf("%s (* loaded, %d of %d belt slots):\n%s", head, loaded, ch.GetBeltSlots(), columns(rows))
}

func toolName(title, id string) string {
	if title == "" {
		return id
	}
	return title
}

func traits(qualities []string, drawback string) string {
	if drawback == "" {
		return strings.Join(qualities, ", ")
	}
	return strings.Join(append(slices.Clone(qualities), "but "+drawback), ", ")
}

func (c *call) loadTool(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	return &partyv1.LoadToolRequest{Name: who, Number: a.number("number", 0)}, c.toolNumber(a)
}

func (c *call) unloadTool(a args) (proto.Message, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	return &partyv1.UnloadToolRequest{Name: who, Number: a.number("number", 0)}, c.toolNumber(a)
}

// toolNumber refuses what is no number of the list.
func (c *call) toolNumber(a args) error {
	f, err := c.form(args{})
	if err != nil {
		return err
	}
	var there []string
	for _, t := range f.GetStatblock().GetTools() {
		if t.GetNumber() == a.number("number", 0) {
			return nil
		}
		there = append(there, fmt.Sprint(t.GetNumber()))
	}
	at := a.get("number")
	return refuse(reasonName, at.column, "a number of +tools", "there is no tool %s", at.text).suggest(near(a.number("number", 0), there)...)
}

func (c *call) switchForm(a args) (proto.Message, error) {
	f, err := c.form(a)
	if err != nil {
		return nil, err
	}
	return &partyv1.SwitchFormRequest{Name: c.character.GetName(), Form: f.GetId()}, nil
}

func (c *call) camp(args) (string, proto.Message, error) {
	p, err := c.party()
	if err != nil {
		return "", nil, err
	}
	run, err := c.runOf(p)
	if err != nil {
		return "", nil, err
	}
	if run != nil {
		return c.campOfRun(run), run, nil
	}
	text, err := c.campOfParty(p)
	return text, p, err
}

func (c *call) dungeonInfo(args) (string, proto.Message, error) {
	p, err := c.party()
	if err != nil {
		return "", nil, err
	}
	run, err := c.runOf(p)
	switch {
	case err != nil:
		return "", nil, err
	case run != nil:
		return runInfo(run), run, nil
	case p.GetDungeon() == "":
		return "", nil, none("NO_DUNGEON", "the party has readied no dungeon")
	}
	res, err := ask[*dungeonv1.GetDungeonResponse](c, &dungeonv1.GetDungeonRequest{Name: p.GetDungeon()})
	if err != nil {
		return "", nil, err
	}
	d := res.GetDungeon().GetDefinition()
	text := fmt.Sprintf("Dungeon %s: %s (%s), not entered yet.", numberOf(res.GetDungeon()), d.GetName(), d.GetType())
	if d.GetSummary() != "" {
		text += "\n" + wrapText(d.GetSummary(), "  ")
	}
	return text, res.GetDungeon(), nil
}

func (c *call) enterDungeon(args) (proto.Message, error) {
	p, err := c.party()
	if err != nil {
		return nil, err
	}
	expedition, err := c.expedition()
	if err != nil {
		return nil, err
	}
	return of(expedition, &dungeonv1.StartRunRequest{Parent: c.req.GetCampaign(), Party: p.GetName(), Character: c.character.GetName()}), nil
}

// expedition names the one that the acting character travels with and is at a location of: the run is then part of it.
func (c *call) expedition() (string, error) {
	j, err := c.journey()
	if fault.ReasonOf(err) == "NO_JOURNEY" {
		return "", nil
	}
	if err != nil || j.GetInside() == "" {
		return "", err
	}
	return j.GetExpedition(), nil
}

func (c *call) draw(args) (proto.Message, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	return of(run.GetExpedition(), &dungeonv1.DrawRequest{Name: run.GetName(), Character: c.character.GetName()}), nil
}

// basics are the words for acting without a tool.
var basics = []string{"force", "rush", "investigate", "fight", "brute", "agility", "wits", "combat"}

func (c *call) act(a args) (proto.Message, error)  { return c.contribute(a, false) }
func (c *call) risk(a args) (proto.Message, error) { return c.contribute(a, true) }

func (c *call) contribute(a args, risk bool) (proto.Message, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	does := a.get("action or tool")
	action := &dungeonv1.Action{Risk: risk}
	if slices.Contains(basics, fold(does.text)) {
		action.Means = &dungeonv1.Action_Basic{Basic: fold(does.text)}
	} else {
		number, err := tool(run, c.character.GetName(), does)
		if err != nil {
			return nil, err
		}
		action.Means = &dungeonv1.Action_Tool{Tool: number}
	}
	return of(run.GetExpedition(), &dungeonv1.ActRequest{Name: run.GetName(), Character: c.character.GetName(), Action: action}), nil
}

// tool finds a loaded tool by its name or #number; basic actions are among what it suggests.
func tool(run *dungeonv1.Run, who string, does span) (int32, error) {
	var things []thing
	for _, m := range run.GetMembers() {
		if m.GetCharacter() != who {
			continue
		}
		for _, t := range m.GetTools() {
			things = append(things, thing{
				label: toolName(t.GetTitle(), t.GetId()), also: []string{t.GetId(), fmt.Sprintf("#%d", t.GetNumber())}, value: t.GetNumber(),
			})
		}
	}
	t, err := find("a loaded tool", does, things)
	if err == nil {
		return t.value.(int32), nil //nolint:forcetypeassert // see above
	}
	if bad, ok := err.(*lineError); ok && bad.reason == reasonName { //nolint:errorlint // find wraps nothing
		for _, b := range basics {
			things = append(things, thing{label: b})
		}
		err = refuse(reasonName, does.column, "an ability, a basic action or a loaded tool", "there is no action or loaded tool %q", does.text).
			suggest(nearestThings(does.text, things)...)
	}
	return 0, err
}

func (c *call) complete(args) (proto.Message, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	return of(run.GetExpedition(), &dungeonv1.CompleteRequest{Name: run.GetName(), Character: c.character.GetName()}), nil
}

func (c *call) challenge(args) (string, proto.Message, error) {
	run, err := c.run()
	switch {
	case err != nil:
		return "", nil, err
	case run.GetChallenge() == nil:
		return "", nil, none("NO_CHALLENGE", "no challenge is pending: +dungeon/draw")
	}
	return challengeText(run), run, nil
}

func (c *call) abandonRun(args) (proto.Message, error) {
	run, err := c.run()
	if err != nil {
		return nil, err
	}
	return of(run.GetExpedition(), &dungeonv1.AbandonRunRequest{Name: run.GetName(), Character: c.character.GetName()}), nil
}
