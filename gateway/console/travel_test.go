package console_test

import (
	"fmt"
	"strings"
	"testing"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

// company gathers the players' characters with a porter.
func (tb *table) company(players ...string) {
	tb.t.Helper()
	travelers := []*partyv1.Traveler{}
	for _, p := range players {
		tb.do("gm", &partyv1.SetVitalsRequest{Name: tb.character(p), Vitals: &partyv1.Vitals{Hp: 9, HpMax: 12, Str: 10, StrMax: 12}})
		travelers = append(travelers, &partyv1.Traveler{Character: tb.character(p), Torches: 2})
	}
	travelers = append(travelers, &partyv1.Traveler{Label: "Old Tom", Vitals: &partyv1.Vitals{Hp: 4, HpMax: 4, Str: 10, StrMax: 10}})
	tb.do("gm", &partyv1.CreateCompanyRequest{Parent: tb.campaign, CompanyId: "walkers", Title: "The Walkers", Travelers: travelers,
		Pack: &partyv1.Pack{Gold: 200, Food: []int32{8}}})
}

func (tb *table) journey(who string) *travelv1.Journey {
	tb.t.Helper()
	return result[*travelv1.Journey](tb, who, "+travel")
}

// gmSays gives a line of the GM's for a character, with dice rolled by hand if there are any.
func (tb *table) gmSays(character, line string, dice ...int32) string {
	tb.t.Helper()
	req := tb.line(character, line)
	if req.ReportedDice = dice; len(dice) > 0 {
		req.Etag = tb.journey(character).GetEtag()
	}
	res, refused := tb.send("gm", req)
	if refused != nil {
		tb.t.Fatalf("%s %v: %+v", line, dice, refused)
	}
	return res.GetText()
}

// TestATravelDayByCommandsAlone walks a small map, buys, searches, forages, rests and comes home. The dice are reported, so
// that the text is known.
func TestATravelDayByCommandsAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	tb.company("ada", "bram")
	tb.refused("ada", "+travel", "NO_JOURNEY")
	tb.refused("ada", "+travel/move n", "NO_JOURNEY")
	tb.refused("ada", "+travel/start walkers", "MISSING_ARGUMENT")
	tb.has(tb.say("ada", "+travel/start walkers hex=Millfield"), "ada, bram and Old Tom set out in Millfield, 0,0 (plains).", "Food d8, gold 200.")
	tb.has(tb.say("bram", "+travel"), "The small vale: the journey is under way, round 0", "In Millfield, 0,0 (plains)", "Here: The Hamlet (settlement), The Old Pit (site)", "food d8, gold 200, light: dark", "ada", "hp 9/12, str 10/12", "Old Tom")

	// In the hamlet.
	tb.refused("ada", "+travel/buy food", "NOT_SETTLEMENT")
	tb.has(tb.say("ada", "+travel/enter the hamlet"), "The company enters The Hamlet.")
	tb.refused("ada", "+travel/move s", "INSIDE_LOCATION")
	tb.has(tb.say("ada", "+travel/buy food 2"), "Food is bought for", "Food now: d12")
	tb.has(tb.say("ada", "+travel/buy torches 2"), "Bought: 2 torch for ada")
	tb.has(tb.say("bram", `+travel/buy torch carrier="old tom"`), "Bought: 1 torch for Old Tom")
	tb.has(tb.say("ada", "+travel/buy lantern"), "Bought: lantern")
	tb.refused("ada", "+travel/buy boat 3", "TOO_MANY_ARGUMENTS")
	tb.has(tb.say("ada", "+travel/longrest"), "The company rests long.", "ada: hp 12/12, str 12/12")
	tb.has(tb.say("ada", "+travel/leave"), "The company leaves The Hamlet.")

	// A day on the way: by road, a search, food, a rest.
	tb.has(tb.gmSays("ada", "+travel/move se", 5, 5, 5), "Round 1: the company moves on.", "By road into Owl Wood, 1,0 (plains).", "Food: highest of 2 d12 shows 5, it lasts.", "Encounter check 5: nobody.")
	if at := tb.journey("ada").GetHex(); at.GetQ() != 1 || at.GetR() != 0 {
		t.Errorf("the company is in %v", at)
	}
	tb.has(tb.gmSays("ada", "+travel/search", 2, 6), "Round 2: the company searches.", "Food: d12 shows 2, down to d10.", "Found: Whisper Cave.")
	tb.has(tb.say("ada", "+travel"), "Here: Whisper Cave (poi)")
	tb.has(tb.say("bram", "+travel/enter whisper"), "The company enters Whisper Cave.")
	tb.say("bram", "+travel/exit")
	text := tb.say("ada", "+travel/forage")
	tb.has(text, "Round 3: the company forages.", "Food:", "Encounter check")
	tb.say("ada", "+travel/rest")
	tb.has(tb.gmSays("ada", "+travel/harm old tom hp=1"), "Old Tom is harmed: hp -1, str -0.")
	j := tb.journey("ada")
	tb.has(tb.gmSays("ada", "+travel/move Old Ford via=terrain", 5, 5), "Round 4:", "By terrain into Old Ford, 1,1 (plains).")
	tb.has(tb.gmSays("bram", "+travel/go (0,1) via=terrain", 5, 5, 5), "By terrain into Old Hill, 0,1 (hills).")
	if got := tb.journey("bram"); got.GetRound() != j.GetRound()+2 {
		t.Errorf("round %d after %d and two moves", got.GetRound(), j.GetRound())
	}
	tb.has(tb.gmSays("ada", "+travel/move north", 5, 5), "into Millfield, 0,0 (plains).")

	// Company.
	tb.has(tb.say("ada", `+travel/hire Young Nell hp=3 str=9`), "Young Nell comes along: hp 3/3, str 9/9")
	tb.has(tb.say("ada", "+travel/dismiss nell"), "Young Nell goes their own way.")
	need := tb.journey("ada").GetSlotsNeeded()
	tb.has(tb.say("ada", fmt.Sprintf(`+travel/share ada=%d bram=0 "Old Tom"=0`, need)), "The food is handed out anew.")
	tb.has(tb.say("ada", "+travel/free"), "of eaten food came free.")
	tb.refused("ada", "+travel/loot", "NO_GOLD_HERE")
	tb.refused("ada", "+travel/remains 1 value=5", "NO_REMAINS")
	tb.refused("ada", "+travel/sell", "NOT_SETTLEMENT")

	// A site, by turns.
	tb.has(tb.say("ada", "+travel/enter old pit"), "The company enters The Old Pit.")
	tb.has(tb.say("ada", "+crawl"), "inside The Old Pit", "Ways to: mouth")
	tb.refused("ada", "+crawl/room", "TOO_DARK")
	tb.has(tb.say("ada", "+crawl/light torch"), "A light burns, from", "torch d")
	tb.has(tb.gmSays("ada", "+crawl/room", 4, 6), "The company is in mouth.", "Ways to: gallery, shaft", "Turn 1: the company goes on.", "Light: d", "Encounter check 6: nobody.")
	if f := tb.refused("ada", "+crawl/room", "MISSING_ARGUMENT"); strings.Join(f.suggestions, " ") != "gallery shaft" {
		t.Errorf("two ways: %+v", f)
	}
	if f := tb.refused("ada", "+crawl/room galery", "UNKNOWN_NAME"); strings.Join(f.suggestions, " ") != "gallery" {
		t.Errorf("a typo: %+v", f)
	}
	tb.gmSays("ada", "+crawl/go gallery", 4, 6)
	tb.has(tb.gmSays("ada", "+crawl/search", 4, 6), "Turn 3: time passes.")
	tb.has(tb.gmSays("ada", "+crawl/fight", 4, 6), "Turn 4: the fight is over.")
	tb.has(tb.gmSays("ada", "+crawl/retreat", 4, 6), "The company is in mouth.", "Turn 5: the company retreats.")
	tb.has(tb.say("ada", "+crawl/leave"), "The company leaves The Old Pit.")

	tb.has(tb.say("ada", "+travel/end"), "The journey is over")
	tb.refused("ada", "+travel", "NO_JOURNEY")
}

func TestAPlayerRollsAndTheHelpHelps(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada")
	req := tb.line("", "+roll 2d6+1 # reaction")
	req.ReportedDice = []int32{3, 5}
	res, refused := tb.send("gm", req)
	if refused != nil {
		t.Fatal(refused)
	}
	tb.has(res.GetText(), "gm rolls 2d6+1:", "= 9 (reaction)")
	tb.has(tb.say("ada", "+roll d20"), "Ada rolls 1d20: (", ") = ")
	tb.refused("ada", "+roll d0", "BAD_NOTATION")
	tb.refused("ada", "+roll # nothing", "MISSING_ARGUMENT")

	tb.has(tb.say("ada", "+odds 2d6 for 9"), "2d6: mean 7, deviation 2.42.", "9 or more: 5/18 = 0.2778, 27.78 %.", "2", "2.78 %", "7", "16.67 %  ####", "12")
	tb.has(tb.say("ada", "+odds d20 vs 2d10"), "1d20 against 2d10: greater ", "equal ", "less ")
	tb.has(tb.say("ada", "+odds 100d6"), "mean 350", "50 %: 350")
	if f := tb.refused("ada", "+odds 2d6 for luck", "BAD_ARGUMENT"); f.column != "15" {
		t.Errorf("odds: %+v", f)
	}
	tb.refused("ada", "+odds two dice", "BAD_NOTATION")

	tb.has(tb.say("ada", "+help"), "Commands by topic", "dungeon (", "+dungeon/list", "travel (", "+travel/move", "crawl (", "dice (", "+roll", "help (")
	tb.has(tb.say("ada", "+help travel"), "Travel: ", "+travel/move <hex> [via=auto|road|river|terrain]")
	tb.has(tb.say("ada", "+help +travel"), "+travel\n", "The same: +travel/info")
	tb.has(tb.say("ada", "+help tools/load"), "+tools/load <number>", "By: ")
	if f := tb.refused("ada", "+help trvel", "UNKNOWN_NAME"); f.suggestions[0] != "travel" {
		t.Errorf("help: %+v", f)
	}
	for line := range strings.SplitSeq(tb.say("ada", "+help"), "\n") {
		if len([]rune(line)) > 78 {
			t.Errorf("a line of the help is too long for a terminal: %s", line)
		}
	}
}
