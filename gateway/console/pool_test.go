package console_test

import (
	"strings"
	"testing"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
)

func (tb *table) delve(who string) *dungeonv1.Delve {
	tb.t.Helper()
	return result[*dungeonv1.Delve](tb, who, "+pool")
}

// gmPools gives a line of the GM's for a character in a delve, with dice rolled by hand.
func (tb *table) gmPools(character, line string, dice ...int32) string {
	tb.t.Helper()
	req := tb.line(character, line)
	req.ReportedDice, req.Etag = dice, tb.delve(character).GetEtag()
	res, refused := tb.send("gm", req)
	if refused != nil {
		tb.t.Fatalf("%s %v: %+v", line, dice, refused)
	}
	return res.GetText()
}

// TestADelveByCommandsAlone opens a delve, sets it up, explores with every trigger, and leaves.
func TestADelveByCommandsAlone(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada", "bram")
	tb.refused("ada", "+pool", "NO_DELVE")
	tb.refused("ada", "+pool/open The Drowned Mill", "MISSING_ARGUMENT")
	tb.has(tb.say("ada", `+pool/open The Drowned Mill entry="the sluice"`), "A delve is opened: The Drowned Mill.")
	tb.has(tb.say("ada", "+pool"), "The Drowned Mill is about to be set up: +pool/members", "Pool 0 of 6")
	tb.refused("ada", "+pool/provisions bread", "SETUP_ORDER")
	tb.refused("ada", "+pool/begin", "SETUP_INCOMPLETE")
	if f := tb.refused("ada", "+pool/members Ada=frnt", "BAD_ARGUMENT"); f.column != "19" || f.suggestions[0] != "front" {
		t.Errorf("a misspelt rank: %+v", f)
	}
	tb.has(tb.say("ada", `+pool/members ada=front Bram=rear "Old Tom"=middle,darkvision`), "They march: Ada (front), Bram (rear) and Old Tom (middle).")
	tb.say("ada", "+pool/provisions bread, cheese & water = 3 days")
	if f := tb.refused("ada", "+pool/lights troch", "BAD_ARGUMENT"); f.suggestions[0] != "torch" || f.column != "14" {
		t.Errorf("a misspelt light: %+v", f)
	}
	tb.has(tb.say("ada", `+pool/lights torch torch,out "Tom's lamp"=lantern,out`), "Lights: torch (lit, ", "torch 2 (out, ", "Tom's lamp (out, ")
	tb.has(tb.say("ada", "+pool/begin"), "From now on time counts.")
	tb.has(tb.say("bram", "+pool"), "The Drowned Mill is being explored.", "Provisions: bread, cheese & water = 3 days", "Ada", "front", "sees: bright", "Old Tom")

	// Each trigger adds its dice; the sixth spills.
	tb.has(tb.say("ada", "+pool/move"), "They move on.", "+1 die, the pool holds 1 of 6.")
	tb.has(tb.say("bram", "+pool/add interact"), "They look into it.", "+1 die, the pool holds 2 of 6.")
	tb.has(tb.say("bram", "+pool/add risk"), "Something was noticed.", "the pool holds 3 of 6.")
	tb.has(tb.say("ada", "+pool/wait 20"), "Time passes.", "+2 dice, the pool holds 5 of 6.")
	tb.has(tb.gmPools("ada", "+pool/interact", 2, 3, 4, 5, 6, 6), "Spill 1: 2 3 4 5 6 6. Nothing happens.")
	tb.refused("ada", "+pool/add time 10", "NOT_GM")
	tb.refused("ada", "+pool/add wait", "MISSING_ARGUMENT")
	tb.refused("ada", "+pool/add wait long", "BAD_ARGUMENT")
	tb.refused("ada", "+pool/add risk twice", "TOO_MANY_ARGUMENTS")
	if d := tb.delve("ada"); d.GetSpillsTotal() != 1 || d.GetDiceEver() != 6 {
		t.Errorf("after one spill: %v", d)
	}

	// Lights and spells.
	tb.has(tb.say("ada", "+pool/light tom's"), "Tom's lamp (lit, ")
	tb.has(tb.say("ada", "+pool/out Tom's lamp"), "Tom's lamp (out, ")
	if f := tb.refused("ada", "+pool/light lampp", "UNKNOWN_NAME"); f.suggestions[0] != "Tom's lamp" {
		t.Errorf("a misspelt light: %+v", f)
	}
	tb.has(tb.say("bram", "+pool/newlight torch"), "torch 3 (lit, ")
	tb.has(tb.say("bram", "+pool/refuel tom's lamp"), "Tom's lamp (lit, ")
	tb.has(tb.say("ada", "+pool/cast shield of salt minutes=60"), "Shield of salt begins.")
	tb.refused("ada", "+pool/cast haste", "MISSING_ARGUMENT")
	tb.has(tb.say("ada", "+pool/endspell shield"), "Shield of salt ends.")

	// A fight.
	tb.has(tb.say("ada", "+pool/combat start"), "A fight begins.")
	tb.refused("ada", "+pool/rest short", "IN_COMBAT")
	tb.has(tb.say("ada", "+pool/fight rounds 3"), "3 rounds of fighting.")
	tb.has(tb.say("ada", "+pool/fight end"), "The fight is over.")
	tb.has(tb.say("ada", "+pool"), "One action is free.")
	tb.has(tb.say("ada", "+pool/move risk=no"), "They move on (free action).")

	// Rest, hidden and not.
	tb.has(tb.say("ada", "+pool/hunker"), "They hunker down.")
	tb.say("ada", "+pool/rest short")
	tb.say("ada", "+pool/unhunker")
	tb.has(tb.say("ada", "+pool/remark a door with three locks"), "Noted: a door with three locks")
	tb.has(tb.say("bram", "+pool/log"), "Log of The Drowned Mill:", "They begin at", "Spill 1:", "A fight begins.", "The fight is over.", "a door with three locks")
	tb.has(tb.say("ada", "+pool/leave travel"), "They leave The Drowned Mill.")
	tb.refused("ada", "+pool/move", "NO_DELVE")
}

// TestTheAreasOfADelve: on a map with areas a move names one, or takes the only way.
func TestTheAreasOfADelve(t *testing.T) {
	t.Parallel()
	tb := newTable(t, "ada")
	tb.do("gm", &dungeonv1.CreateDelveRequest{
		Parent: tb.campaign, InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT, Entry: "gate",
		Map: &dungeonv1.DelveMap{Title: "The Crypt", Areas: []*dungeonv1.DelveArea{
			{Id: "gate", Title: "Rusty Gate", Ways: []string{"stair"}}, {Id: "stair", Title: "Broken Stair", Ways: []string{"gate", "nave", "well"}},
			{Id: "nave", Title: "Nave", Notes: "the bishop wakes", Ways: []string{"stair"}}, {Id: "well", Title: "Well", Ways: []string{"stair"}},
		}},
	})
	tb.refused("ada", "+pool/members Ada=front", "NOT_A_MEMBER") // the GM opened it, and records
	req := tb.line("", "+pool/members Ada=front")
	if _, refused := tb.send("gm", req); refused != nil {
		t.Fatal(refused)
	}
	for _, line := range []string{"+pool/members Ada=front", "+pool/provisions none", "+pool/lights none", "+pool/begin"} {
		tb.say("ada", line)
	}
	tb.has(tb.say("ada", "+pool"), "In Rusty Gate. Ways to: stair.", "it is dark")
	tb.has(tb.say("ada", "+pool/move"), "They are in Broken Stair.")
	if f := tb.refused("ada", "+pool/move", "MISSING_ARGUMENT"); len(f.suggestions) != 3 {
		t.Errorf("three ways: %+v", f)
	}
	if f := tb.refused("ada", "+pool/move navy", "UNKNOWN_NAME"); strings.Join(f.suggestions, " ") != "nave" {
		t.Errorf("a misspelt area: %+v", f)
	}
	text := tb.say("ada", "+pool/add move nave risk=yes")
	tb.has(text, "+2 dice", "3 of 6")
	tb.refused("ada", "+pool/go rusty gate", "NOT_CONNECTED")
}
