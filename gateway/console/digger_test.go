package console_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// TestARunByCommandsAlone plays a dungeon from the first list to the end, every command of the catalogue on the way.
func TestARunByCommandsAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram", "cleo")

	// DIG-CMD-01: all dungeons with number, name and type, in the order of their numbers.
	tb.has(tb.say("ada", "+dungeon/list"), "Dungeons:", "1", "ruin", "2", "labyrinth", "3", "abyss")
	if got := result[*dungeonv1.ListDungeonsResponse](tb, "ada", "+dungeons").GetDungeons(); len(got) != 3 || got[0].GetDefinition().GetNumber() != 1 {
		t.Errorf("listed: %v", got)
	}
	for _, d := range result[*dungeonv1.ListDungeonsResponse](tb, "ada", "+dungeon/list").GetDungeons() {
		if len(d.GetDefinition().GetCards()) > 0 {
			t.Errorf("a player sees the cards of %s", d.GetName())
		}
	}

	// DIG-CMD-02: an unknown number is refused, and nobody is in two parties.
	if f := tb.refused("ada", "+party/create 9", "UNKNOWN_NAME"); f.column != "15" || len(f.suggestions) != 3 || f.suggestions[0] != "3" {
		t.Errorf("create 9: %+v", f)
	}
	tb.has(tb.say("ada", "+party/create 1"), "Ada leads a new party")
	tb.refused("ada", "+party/create 1", "ALREADY_IN_PARTY")

	// DIG-CMD-03: by the leader's name, in any case; a mere member leads nothing.
	tb.has(tb.say("bram", "+party/join ADA"), "Bram joins the party of Ada: Ada and Bram.")
	if f := tb.refused("cleo", "+party/join bram", "UNKNOWN_NAME"); !strings.Contains(f.message, "Bram leads no party") || f.suggestions[0] != "Ada" {
		t.Errorf("join a member: %+v", f)
	}
	tb.say("cleo", "+party/join ada")

	// DIG-CMD-04: a member resets and may create; a leader with members may not.
	tb.refused("ada", "+party/reset", "LEADER_WITH_MEMBERS")
	tb.has(tb.say("cleo", "+party/reset"), "Cleo is in no party any more.")
	tb.say("cleo", "+party/create 2")
	tb.say("cleo", "+party/leave")
	tb.say("cleo", "+party/join ada")

	// DIG-CMD-05: the leader alone promotes, a member.
	tb.refused("bram", "+party/promote bram", "NOT_LEADER")
	tb.has(tb.say("ada", "+party/promote bram"), "Bram leads the party now.")
	tb.say("bram", "+party/promote Ada")

	// DIG-CMD-06: the current form's tools, or those of the form named.
	tb.has(tb.say("ada", "+tools"), "Tools of Ada, form base (* loaded, 0 of 4 belt slots):", "1", "Hemp Rope", "minor agility", "3 uses", "improved", "2", "Iron Gauntlets", "2 uses")
	tb.do("ada", &partyv1.AddFormRequest{Name: tb.character("ada"), Form: "wolf"})
	tb.do("ada", &partyv1.BuyToolsRequest{Name: tb.character("ada"), Form: "wolf", Tools: []*partyv1.Tool{{Id: "fangs", Ability: "combat", Rating: "minor"}}})
	tb.has(tb.say("ada", "+tools Wolf"), "form wolf", "fangs", "minor combat")

	// DIG-CMD-07, -08: numbers alone load and unload.
	if f := tb.refused("ada", "+tools/load rope", "BAD_ARGUMENT"); f.column != "13" || !strings.Contains(f.expected, "number") {
		t.Errorf("load rope: %+v", f)
	}
	tb.refused("ada", "+tools/load 7", "UNKNOWN_NAME")
	tb.refused("ada", "+tools/unload 2", "NOT_LOADED")
	for _, who := range []string{"ada", "bram", "cleo"} {
		for n := 1; n <= 3; n++ {
			tb.has(tb.say(who, fmt.Sprintf("+tools/load %d", n)), fmt.Sprintf("%d of 4 belt slots", n), fmt.Sprintf("*%d", n))
		}
	}
	tb.refused("ada", "+tools/load 1", "ALREADY_LOADED")
	tb.has(tb.say("ada", "+tools/unload 3"), "2 of 4", " 3")

	// DIG-CMD-09, -10: before entering, and for members only.
	tb.has(tb.say("bram", "+camp"), "led by Ada", "*Ada", "Hemp Rope (3)", "Iron Gauntlets (2)", "Bram", "Cleo", "Dungeon 1,", "not entered yet")
	tb.has(tb.say("bram", "+dungeon/info"), "Dungeon 1:", "ruin", "not entered yet")
	tb.refused("bram", "+challenge", "NO_RUN")
	tb.refused("bram", "+dungeon/draw", "NO_RUN")

	// DIG-CMD-11: the leader enters; then belts are locked and nobody joins.
	tb.refused("bram", "+dungeon/enter", "NOT_LEADER")
	tb.has(tb.say("ada", "+dungeon/enter"), "Ada leads the party into 1,", "Round 1:", "entry challenge", "target number", "Ada runs it.", "Ada: -", "Bram: -", "Cleo: -")
	tb.refused("ada", "+dungeon/enter", "RUN_BEGUN")
	tb.refused("ada", "+tools/load 3", "LEASED")
	tb.refused("ada", "+tools/unload 1", "LEASED")
	tb.refused("ada", "+form wolf", "LEASED")

	// DIG-CMD-12, -17: not while a challenge is pending, not before all have acted, not by another.
	tb.refused("ada", "+dungeon/draw", "CHALLENGE_PENDING")
	tb.refused("ada", "+act/complete", "NOT_ALL_ACTED")

	tb.round("ada")
	rounds := 1
	for run := tb.run("ada"); run.GetPhase() == dungeonv1.Run_PHASE_DRAW; run = tb.run("ada") {
		tb.refused("ada", "+challenge", "NO_CHALLENGE")
		tb.refused("ada", "+act/complete", "NO_CHALLENGE")
		drawer := ""
		for _, m := range run.GetMembers() { // who is not exhausted draws
			if m.GetExhaustion() < 100 {
				drawer = idOf(m.GetCharacter())
			}
		}
		rounds++
		tb.has(tb.say(drawer, "+dungeon/draw"), fmt.Sprintf("Round %d:", rounds), "runs it.")
		tb.round(drawer)
	}
	run := tb.run("ada")
	if run.GetRound() != int32(rounds) || run.GetPhase() == dungeonv1.Run_PHASE_ACT { //nolint:gosec // few
		t.Errorf("after %d rounds: %v", rounds, run)
	}
	tb.has(tb.say("bram", "+dungeon/info"), "Dungeon 1,", fmt.Sprintf("Exploration %d of 100", run.GetExploration()), fmt.Sprintf("round %d", rounds))
	tb.refused("ada", "+dungeon/draw", "RUN_OVER")

	// DIG-CMD-02, -04: an ended run binds nobody, its leader neither.
	tb.has(tb.say("ada", "+party/reset"), "Ada is in no party")
	tb.has(tb.say("bram", "+party/create 2"), "Bram leads")
	tb.say("cleo", "+party/join bram")
	tb.refused("ada", "+camp", "NOT_IN_PARTY") // DIG-CMD-09: outside a party
	tb.refused("ada", "+dungeon/info", "NOT_IN_PARTY")
}

func idOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

func (tb *table) run(who string) *dungeonv1.Run {
	tb.t.Helper()
	return result[*dungeonv1.Run](tb, who, "+camp")
}

// round has everybody act on the pending challenge and the drawer complete it, and compares what is told with what is so.
func (tb *table) round(drawer string) {
	tb.t.Helper()
	before := tb.run(drawer)
	ability, acted := before.GetChallenge().GetAbility(), 0
	tool := map[string]string{"agility": "rope", "brute": "Iron Gauntlets"}[ability]
	for _, m := range before.GetMembers() {
		who := idOf(m.GetCharacter())
		if m.GetExhaustion() >= 100 {
			tb.refused(who, "+act "+ability, "EXHAUSTED")
			continue
		}
		acted++
		// DIG-CMD-13 to -16: an ability, a basic action or a tool, with a risk or without.
		line := map[string]string{"ada": "+act " + strings.ToUpper(ability), "bram": "+risk " + ability, "cleo": "+act " + ability}[who]
		want := map[string]string{"ada": ability, "bram": ability + " (risk)", "cleo": ability}[who]
		if left := usesLeft(m, tool); tool != "" && left > 0 && who != "ada" {
			title := map[string]string{"rope": "Hemp Rope"}[tool]
			if title == "" {
				title = tool
			}
			line = map[string]string{"bram": "+risk " + strings.ToLower(tool), "cleo": "+act " + title}[who]
			want = map[string]string{"bram": title + " (risk)", "cleo": title}[who]
		}
		tb.refused(who, "+act "+map[bool]string{true: "rush", false: "force"}[ability != "agility"], "WRONG_ABILITY")
		text := tb.say(who, line)
		tb.has(text, strings.ToUpper(who[:1])+who[1:])
		tb.refused(who, line, "ALREADY_ACTED")
		// DIG-CMD-18: the challenge shows who has acted, and how.
		tb.has(tb.say(who, "+challenge"), before.GetChallenge().GetTitle(), fmt.Sprintf("target number %d", before.GetChallenge().GetTn()), fmt.Sprintf("%s%s: %s", strings.ToUpper(who[:1]), who[1:], want))
		if acted == 1 {
			tb.refused("ada", "+party/promote bram", "ACTS_PENDING")
		}
	}
	for _, m := range before.GetMembers() {
		if who := idOf(m.GetCharacter()); who != drawer {
			tb.refused(who, "+act/complete", "NOT_DRAWER")
			break
		}
	}
	text := tb.say(drawer, "+act/complete")
	after := tb.run(drawer)
	for _, m := range after.GetMembers() {
		tb.has(text, m.GetTitle(), fmt.Sprintf("now %d", m.GetExhaustion()))
	}
	if after.GetPhase() != dungeonv1.Run_PHASE_WON { // which sets it to 100
		tb.has(text, fmt.Sprintf("Exploration +%d", after.GetExploration()-before.GetExploration()), fmt.Sprintf("now %d", after.GetExploration()))
	}
	if over := after.GetPhase() != dungeonv1.Run_PHASE_DRAW; over != strings.Contains(text, "The run is over") {
		tb.t.Errorf("the run is over: %v, and the text is:\n%s", over, text)
	}
	tb.has(tb.say(drawer, "+camp"), "Camp, led by Ada", fmt.Sprintf("exhaustion %d", after.GetMembers()[0].GetExhaustion()), "belt: #1 Hemp Rope", "Conditions:", "Effects:")
}

func usesLeft(m *dungeonv1.Member, tool string) int32 {
	for _, t := range m.GetTools() {
		if t.GetId() == tool || t.GetTitle() == tool {
			return t.GetUsesLeft()
		}
	}
	return 0
}

// DIG-CMD-19: a member's note reaches the game masters, and nobody else.
func TestNotesForTheGameMasters(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	tb.refused("ada", "+request who owns the idol?", "NOT_IN_PARTY")
	tb.say("ada", "+party/create 1")
	res, refused := tb.send("ada", tb.line("ada", `+request who owns the "idol" = me?`))
	if refused != nil {
		t.Fatal(refused)
	}
	tb.has(res.GetText(), "Note 1 is filed")
	gm := func(line string) string {
		t.Helper()
		res, refused := tb.send("gm", tb.line("", line))
		if refused != nil {
			t.Fatalf("%s: %+v", line, refused)
		}
		return res.GetText()
	}
	tb.has(gm("+request/list"), "1 Ada: ", `who owns the "idol" = me?`)
	for _, who := range []string{"ada", "bram"} {
		tb.refused(who, "+request/list", "NOT_GM")
		tb.refused(who, "+request/close 1", "NOT_GM")
	}
	tb.has(gm("+request/close 1"), "Note 1 of Ada is closed.")
	tb.has(gm("+requests"), "No note is open.")
	if _, f := tb.send("gm", tb.line("", "+request/close 1")); f == nil || f.reason != "NO_SUCH_REQUEST" {
		t.Errorf("closed twice: %+v", f)
	}
	if f := tb.refused("ada", "+request", "MISSING_ARGUMENT"); f.code != codes.InvalidArgument || f.field != "line" {
		t.Errorf("an empty note: %+v", f)
	}
}

func TestLeavingAndGivingUpARun(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram", "cleo")
	tb.say("ada", "+party/create 3")
	tb.say("bram", "+party/join ada")
	tb.say("cleo", "+party/join ada")
	tb.say("ada", "+enter")
	tb.has(tb.say("bram", "+party/reset"), "Bram leaves the dungeon and the party.")
	tb.has(tb.say("ada", "+party/promote cleo"), "Cleo leads now.")
	tb.refused("ada", "+dungeon/abandon", "NOT_LEADER")
	tb.has(tb.say("cleo", "+dungeon/abandon"), "The run is over: given up.")
	tb.has(tb.say("ada", "+camp"), "given up")
}
