package console_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"
)

// TestBadLines: each names the column, what was expected there, and the nearest that would do, by REST as by gRPC.
func TestBadLines(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram", "cleo")
	tb.company("ada")
	for _, p := range []string{"ada", "bram"} {
		for n := range 3 {
			tb.say(p, fmt.Sprintf("+tools/load %d", n+1))
		}
	}
	tb.say("ada", "+party/create 1")
	tb.say("bram", "+party/join ada")
	tb.say("ada", "+dungeon/enter")
	tb.say("ada", "+travel/start walkers hex=0,0")
	for _, c := range []struct {
		why, line, reason, column, expected string
		suggestions                         []string
	}{
		{"a line without a +", "dungeon/draw", "BAD_LINE", "1", "+", []string{"+dungeon/draw"}},
		{"talk", "hello there", "BAD_LINE", "1", "+", nil},
		{"blanks", "   ", "BAD_LINE", "1", "a command such as +help", nil},
		{"a + alone", " + ", "BAD_LINE", "3", "the name of a command", nil},
		{"two lines", "+draw\n+draw", "BAD_LINE", "6", "one line of text", nil},
		{"a quotation that never ends", `+travel/buy torch carrier="old tom`, "BAD_LINE", "27", `"`, nil},
		{"a misspelt command", "+dungen/draw", "UNKNOWN_COMMAND", "2", "a command; +help lists them", []string{"+dungeon/draw"}},
		{"letters exchanged", "+cmap", "UNKNOWN_COMMAND", "2", "a command; +help lists them", []string{"+camp"}},
		{"nothing like it", "+xyzzy", "UNKNOWN_COMMAND", "2", "a command; +help lists them", nil},
		{"a misspelt switch", "+dungeon/drwa", "UNKNOWN_SWITCH", "10", "a switch of +dungeon", []string{"+dungeon/draw"}},
		{"a switch begun", "+travel/f", "UNKNOWN_SWITCH", "9", "a switch of +travel", nil},
		{"a switch too many", "+act/complete/now", "UNKNOWN_SWITCH", "6", "a switch of +act", []string{"+act/complete"}},
		{"a missing number", "+tools/load", "MISSING_ARGUMENT", "12", "<number>: +tools/load <number>", nil},
		{"a word for a number", "+tools/load rope", "BAD_ARGUMENT", "13", "a whole number from 0", nil},
		{"a number below 0", "+party/create -1", "BAD_ARGUMENT", "15", "a whole number from 0", nil},
		{"a number beyond all", "+party/create 99999999999", "BAD_ARGUMENT", "15", "a whole number from 0", nil},
		{"one thing too many", "+tools/load 1 2", "TOO_MANY_ARGUMENTS", "15", "the end of the line: +tools/load <number>", nil},
		{"an argument to none", "+camp here", "TOO_MANY_ARGUMENTS", "7", "the end of the line: +camp", nil},
		{"a misspelt tool", "+act hmep rope", "UNKNOWN_NAME", "6", "an ability, a basic action or a loaded tool", []string{"Hemp Rope"}},
		{"a misspelt action", "+act forse", "UNKNOWN_NAME", "6", "an ability, a basic action or a loaded tool", []string{"force"}},
		{"a tool that is two", "+risk iron", "AMBIGUOUS", "7", "a name that fits one thing", []string{"Iron Gauntlets", "Iron Lamp"}},
		{"a misspelt player", "+party/promote brm", "UNKNOWN_NAME", "16", "the name of a member of your party", []string{"Bram"}},
		{"a misspelt form", "+tools bsae", "UNKNOWN_NAME", "8", "the name of a form", []string{"base"}},
		{"a misspelt hex", "+travel/move owl wod", "UNKNOWN_NAME", "14", "n, ne, se, s, sw, nw, a hex as 3,-1, or its name", []string{"Owl Wood"}},
		{"a hex that is two", "+travel/move old", "AMBIGUOUS", "14", "a name that fits one thing", []string{"Old Hill", "Old Ford"}},
		{"a misspelt direction", "+travel/move nroth", "UNKNOWN_NAME", "14", "n, ne, se, s, sw, nw, a hex as 3,-1, or its name", []string{"north"}},
		{"a misspelt place", "+travel/enter hamlt", "UNKNOWN_NAME", "15", "the name of a place", []string{"The Hamlet"}},
		{"a misspelt light", "+travel/light lantrn", "BAD_ARGUMENT", "15", "one of torch, lantern", []string{"lantern"}},
		{"a misspelt ware", "+travel/buy bred", "BAD_ARGUMENT", "13", "one of food, torch, torches, oil, lantern, boat", nil},
		{"a misspelt option", "+travel/move n vai=road", "BAD_ARGUMENT", "16", "one of via", []string{"via"}},
		{"an option twice", "+travel/move n via=road via=road", "TOO_MANY_ARGUMENTS", "25", "each option once", nil},
		{"a misspelt company", "+travel/start wakers hex=0,0", "UNKNOWN_NAME", "15", "the name of a company", []string{"The Walkers"}},
		{"shares without a number", "+travel/share ada", "BAD_ARGUMENT", "15", "<name>=<number>", nil},
		{"somebody twice", "+travel/share ada=1 ada=2", "TOO_MANY_ARGUMENTS", "21", "each member once", nil},
		{"a misspelt topic", "+help dungon", "UNKNOWN_NAME", "7", "a topic or a command", []string{"dungeon", "+dungeon"}},
	} {
		req := tb.line("ada", c.line)
		_, got := tb.send("ada", req)
		if got == nil {
			t.Errorf("%s: %q is played", c.why, c.line)
			continue
		}
		want := &failure{code: codes.InvalidArgument, reason: c.reason, field: "line", message: got.message, column: c.column, expected: c.expected, suggestions: got.suggestions}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(failure{})); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", c.why, c.line, diff)
		}
		if n := min(len(c.suggestions), len(got.suggestions)); !slices.Equal(c.suggestions, got.suggestions[:n]) || c.suggestions == nil && c.reason == "BAD_LINE" && got.suggestions != nil {
			t.Errorf("%s: %q suggests %q, not %q", c.why, c.line, got.suggestions, c.suggestions)
		}
		if len(got.suggestions) > 0 && !strings.Contains(got.message, `Did you mean "`+got.suggestions[0]+`"`) {
			t.Errorf("%s: the message does not suggest: %s", c.why, got.message)
		}
		if _, rest := tb.post("ada", req); cmp.Diff(got, rest, cmp.AllowUnexported(failure{})) != "" {
			t.Errorf("%s: REST refuses %+v, gRPC %+v", c.why, rest, got)
		}
	}
	// What is unclear has no effect.
	if run := tb.run("ada"); run.GetSeq() > 3 || len(run.GetChallenge().GetWaiting()) != 2 {
		t.Errorf("bad lines have changed the run: %v", run)
	}
}

// TestWhoMaySpeak: a line is given in the caller's own name.
func TestWhoMaySpeak(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	for _, c := range []struct {
		why, user, character, line string
		code                       codes.Code
		reason                     string
	}{
		{"one's own character", "ada", "ada", "+tools", codes.OK, ""},
		{"another's character, changing", "bram", "ada", "+tools/load 1", codes.PermissionDenied, "NOT_YOUR_CHARACTER"},
		{"another's character, reading", "bram", "ada", "+tools", codes.PermissionDenied, "NOT_YOUR_CHARACTER"},
		{"a bot for a character that it lists", "robot", "ada", "+tools/load 1", codes.OK, ""},
		{"a bot for another", "robot", "bram", "+tools/load 1", codes.PermissionDenied, "NOT_YOUR_CHARACTER"},
		{"a game master for anybody", "gm", "bram", "+tools/load 1", codes.OK, ""},
		{"a spectator", "eve", "ada", "+tools", codes.PermissionDenied, "NOT_YOUR_CHARACTER"},
		{"a spectator who rolls", "eve", "", "+roll d6", codes.PermissionDenied, ""},
		{"a spectator who asks for help", "eve", "", "+help", codes.OK, ""},
		{"a stranger", "dov", "", "+help", codes.NotFound, "NOT_FOUND"},
		{"a character that does not exist", "ada", "zed", "+tools", codes.NotFound, "NOT_FOUND"},
		{"no character where one is needed", "ada", "", "+tools", codes.InvalidArgument, "INVALID"},
		{"no character for a GM where one is needed", "gm", "", "+tools", codes.InvalidArgument, "INVALID"},
		{"a game master's command", "ada", "ada", "+request/list", codes.PermissionDenied, "NOT_GM"},
	} {
		_, got := tb.send(c.user, tb.line(c.character, c.line))
		if got == nil {
			got = &failure{}
		}
		if got.code != c.code || c.reason != "" && got.reason != c.reason {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
	other := newTable(t, "ada")
	req := tb.line("ada", "+tools")
	req.Character = other.character("ada")
	if _, f := tb.send("ada", req); f == nil || f.code != codes.NotFound || f.field != "character" {
		t.Errorf("a character of another campaign: %+v", f)
	}
	req = tb.line("ada", "+tools/load 2")
	req.OverrideReason = "because"
	if _, f := tb.send("ada", req); f == nil || f.field != "override_reason" {
		t.Errorf("an override where none is known: %+v", f)
	}
	for field, change := range map[string]func(*consolev1.ExecuteRequest){
		"override_reason": func(r *consolev1.ExecuteRequest) { r.OverrideReason = "because" },
		"reported_dice":   func(r *consolev1.ExecuteRequest) { r.ReportedDice = []int32{1} },
		"etag":            func(r *consolev1.ExecuteRequest) { r.Etag = "1-x" },
	} {
		req := tb.line("ada", "+tools")
		change(req)
		if _, f := tb.send("ada", req); f == nil || f.field != field {
			t.Errorf("%s to a command that reads: %+v", field, f)
		}
	}
	for field, req := range map[string]*consolev1.ExecuteRequest{
		"campaign":   {Campaign: "camp", Line: "+help", RequestId: "x"},
		"line":       {Campaign: tb.campaign, RequestId: "x"},
		"request_id": {Campaign: tb.campaign, Line: "+help"},
		"character":  {Campaign: tb.campaign, Line: "+help", Character: "ada", RequestId: "x"},
	} {
		if _, f := tb.send("ada", req); f == nil || f.code != codes.InvalidArgument || f.field != field {
			t.Errorf("a bad %s: %+v", field, f)
		}
	}
}

// TestALineIsDoneOnce: the same line under the same id means what it meant first, and is answered as it was.
func TestALineIsDoneOnce(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	tb.company("ada")
	both := func(user string, req *consolev1.ExecuteRequest) {
		t.Helper()
		first, refused := tb.send(user, req)
		if refused != nil {
			t.Fatalf("%s: %+v", req.GetLine(), refused)
		}
		again, refused := tb.post(user, req)
		if refused != nil {
			t.Fatalf("%s again: %+v", req.GetLine(), refused)
		}
		if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-first +again):\n%s", req.GetLine(), diff)
		}
	}
	// "north" is another hex once the company has moved; a party of no members cannot be left again.
	tb.say("ada", "+travel/start walkers hex=0,1")
	move := tb.line("ada", "+travel/move n")
	both("ada", move)
	if j := tb.journey("ada"); j.GetRound() != 1 || j.GetHex().GetR() != 0 {
		t.Errorf("the company has moved twice: %v", j.GetHex())
	}
	other := proto.Clone(move).(*consolev1.ExecuteRequest) //nolint:forcetypeassert // a clone
	other.Line = "+travel/move s"
	if _, f := tb.send("ada", other); f == nil || f.reason != "REQUEST_ID_REUSED" || f.field != "request_id" {
		t.Errorf("another line under the id: %+v", f)
	}
	both("ada", tb.line("ada", "+party/create 1"))
	both("bram", tb.line("bram", "+party/join ada"))
	both("bram", tb.line("bram", "+party/reset"))
	tb.say("bram", "+party/join ada")
	enter := tb.line("ada", "+dungeon/enter")
	both("ada", enter)
	both("ada", tb.line("ada", "+act "+tb.run("ada").GetChallenge().GetAbility()))
	both("bram", tb.line("bram", "+act "+tb.run("ada").GetChallenge().GetAbility()))
	both("ada", tb.line("ada", "+act/complete"))
	both("ada", enter) // long after
	roll := tb.line("ada", "+roll 10d1000")
	both("ada", roll)
	// Ids are each caller's own.
	mine, yours := tb.line("ada", "+roll 5d100"), tb.line("bram", "+roll 5d100")
	yours.RequestId = mine.GetRequestId()
	both("ada", mine)
	both("bram", yours)
	// A refused line may be tried again under its id, and then means the same.
	tb.do("ada", &partyv1.AddFormRequest{Name: tb.character("ada"), Form: "wolf"})
	again := tb.line("ada", "+request open the door")
	tb.do("gm", &partyv1.SetMemberRequest{Name: tb.campaign, Member: &partyv1.CampaignMember{Subject: "ada", Role: typev1.Role_ROLE_PLAYER}})
	both("ada", again)
}

// TestTextsOfOthersAreText: what somebody wrote moves no cursor, colours nothing and turns no letters on another's screen.
func TestTextsOfOthersAreText(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada")
	tb.say("ada", "+party/create 1")
	tb.do("ada", &partyv1.FileRequestRequest{Parent: tb.campaign, Character: tb.character("ada"), Text: "open\x1b[2J the \u202edoor\u2069\r now,\x00 b\u00e4r"})
	res, refused := tb.send("gm", tb.line("", "+requests"))
	if refused != nil {
		t.Fatalf("%+v", refused)
	}
	text := res.GetText()
	tb.has(text, "open [2J the door  now,  bär")
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); i >= 0 {
		t.Errorf("%q has something else than text at %d", text, i)
	}
}

// TestAliasesDoTheSame as their commands, in the help and in play.
func TestAliasesDoTheSame(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	tb.say("ada", "+party/create 1")
	tb.say("bram", "+party/join ada")
	tb.company("ada")
	tb.say("ada", "+travel/start walkers hex=0,0")
	commands := result[*consolev1.Help](tb, "ada", "+help").GetCommands()
	aliases := 0
	for _, c := range commands {
		if c.GetText() == "" || c.GetWho() == "" || c.GetTopic() == "" || !strings.HasPrefix(c.GetUsage(), c.GetName()) {
			t.Errorf("the help tells too little: %v", c)
		}
		want := result[*consolev1.Help](tb, "ada", "+help "+c.GetName())
		for _, a := range c.GetAliases() {
			aliases++
			if got := result[*consolev1.Help](tb, "ada", "+help "+a); !proto.Equal(got, want) || len(got.GetCommands()) != 1 {
				t.Errorf("%s is %v, %s is %v", c.GetName(), want, a, got)
			}
			// Both are refused alike, or read alike, and are understood as the same command.
			full, refusedFull := tb.send("ada", tb.line("ada", c.GetName()+" one two three=4 five"))
			short, refusedShort := tb.send("ada", tb.line("ada", a+" one two three=4 five"))
			if full != nil || short != nil || refusedFull.reason != refusedShort.reason {
				t.Errorf("%s is refused %+v, %s %+v", c.GetName(), refusedFull, a, refusedShort)
			}
		}
	}
	if aliases < 15 || len(commands) < 40 {
		t.Errorf("%d commands with %d aliases", len(commands), aliases)
	}
	for alias, name := range map[string]string{
		"+dungeons": "+dungeon/list", "+party": "+camp", "+dungeon": "+dungeon/info", "+tool": "+tools", "+travel/status": "+travel", "+CAMP": "+camp", "  +camp  ": "+camp",
	} {
		want, refused := tb.send("ada", tb.line("ada", name))
		if refused != nil {
			t.Fatalf("%s: %+v", name, refused)
		}
		got, refused := tb.send("ada", tb.line("ada", alias))
		if refused != nil {
			t.Fatalf("%s: %+v", alias, refused)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || got.GetCommand() != name {
			t.Errorf("%s (-%s +alias):\n%s", alias, name, diff)
		}
	}
}
