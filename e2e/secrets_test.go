package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// jsonOf is an answer as text, in which secrets are looked for.
func jsonOf(tb testing.TB, answer any) string {
	tb.Helper()
	raw, err := json.Marshal(answer)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// sights reads everything that shows a resource, by every path.
func (t *table) sights(tb testing.TB, via transport, user string, run, journey object) map[string]string {
	tb.Helper()
	out := map[string]string{}
	look := func(method string, req object) {
		tb.Helper()
		answer, err := t.steady(via, user, method, req)
		if err != nil {
			tb.Fatalf("%s: %s: %v", user, method, err)
		}
		out[method] += jsonOf(tb, answer)
	}
	look(dungeons+"GetDungeon", object{"name": run.Text("dungeon")})
	look(dungeons+"GetDungeon", object{"name": run.Text("dungeon"), "revision": 1})
	look(dungeons+"ListDungeons", object{"parent": t.campaign})
	look(regions+"GetRegion", object{"name": journey.Text("region")})
	look(regions+"ListRegions", object{"parent": t.campaign})
	look(runs+"GetRun", object{"name": run.Text("name")})
	look(runs+"ListRuns", object{"parent": t.campaign})
	look(journeys+"GetJourney", object{"name": journey.Text("name")})
	look(journeys+"ListJourneys", object{"parent": t.campaign})
	for method, at := range map[string]object{runs + "WatchRun": run, journeys + "WatchJourney": journey} {
		records, err := via.watch(t.ctx, t.tokens[user], method, object{"name": at.Text("name")}, func(line object) bool {
			return line.Number("record.seq") == at.Number("seq")
		})
		if err != nil {
			tb.Fatalf("%s: %s: %v", user, method, err)
		}
		if len(records) != at.Number("seq") {
			tb.Fatalf("%s sees %d records by %s, not %d", user, len(records), method, at.Number("seq"))
		}
		out[method] = jsonOf(tb, records)
	}
	return out
}

// named are the words of a list that a text has as whole JSON strings.
func named(text string, words []string) []string {
	var found []string
	for _, w := range words {
		if strings.Contains(text, `"`+w+`"`) {
			found = append(found, w)
		}
	}
	return found
}

func TestPlayersNeverSeeSecrets(t *testing.T) {
	t.Parallel()
	g := newTable(t, "secrets", "ada", "bram", "cleo", "dov")
	token, err := house.Token("eve")
	if err != nil {
		t.Fatal(err)
	}
	g.tokens["eve"] = token
	g.do("gm", campaigns+"SetMember", object{"name": g.campaign, "member": object{"subject": "eve", "role": "ROLE_SPECTATOR"}})
	dungeon := g.importDefinitions()
	for _, p := range []string{"ada", "bram", "cleo", "dov"} {
		g.player(p, p)
	}
	g.party("delvers", "ada", "ada", "bram", "cleo", "dov")
	run := object(g.do("ada", runs+"StartRun", object{
		"parent": g.campaign, "runId": "dive", "party": g.campaign + "/parties/delvers", "dungeon": dungeon, "character": g.character("ada"),
	}).Get("run").(map[string]any)) //nolint:forcetypeassert // a panic is as good a failure
	road := g.journey("road", "ada", object{"gold": 60, "food": []int{20}}, "ada", "bram")
	g.do("ada", journeys+"Move", object{"name": road, "character": g.character("ada"), "to": object{"q": 1, "r": 0}})

	var cards []string // but for the one drawn
	for _, c := range g.read("gm", dungeon).List("definition.cards") {
		if c.Text("id") != run.Text("challenge.card") {
			cards = append(cards, c.Text("id"), c.Text("text"))
		}
	}
	if len(cards) < 20 {
		t.Fatalf("the dungeon has too few cards for a test: %v", cards)
	}
	inside := []string{"crack", "echo-hall"}
	people := []string{"tamsin", "Tamsin Rook"}
	hidden := []string{"whisper-cave", "Whisper Cave", "It whispers."}
	farther := []string{"cold-barrow", "Cold Barrow"}

	check := func(t *testing.T, secrets, shown []string) {
		t.Helper()
		run, journey := g.read("gm", run.Text("name")), g.read("gm", road)
		for kind, via := range both(t) {
			for _, user := range []string{"ada", "eve"} {
				for where, text := range g.sights(t, via, user, run, journey) {
					if found := named(text, secrets); len(found) > 0 {
						t.Errorf("through %s, %s sees %q by %s:\n%s", kind, user, found, where, text)
					}
					if strings.HasPrefix(where, journeys) {
						if found := named(text, shown); strings.Contains(where, "Journeys") || len(found) == len(shown) {
							continue
						}
						t.Errorf("through %s, %s does not see %q by %s:\n%s", kind, user, shown, where, text)
					}
				}
			}
			// The same paths do show them to a GM: they are there to be seen.
			sights := g.sights(t, via, "gm", run, journey)
			for where, want := range map[string][]string{
				dungeons + "GetDungeon": cards, runs + "WatchRun": cards,
				regions + "GetRegion": concat(hidden, farther, inside, people),
			} {
				if found := named(sights[where], want); len(found) != len(want) {
					t.Errorf("through %s, a GM sees only %q by %s", kind, found, where)
				}
			}
		}
	}

	check(t, concat(cards, inside, people, hidden, farther), nil)
	found := g.do("ada", journeys+"Search", object{"name": road, "character": g.character("ada")})
	if found.Text("journey.discovered.0") != "whisper-cave" {
		t.Fatalf("the search did not find the cave: %v", found)
	}
	check(t, concat(cards, inside, people, farther), []string{"whisper-cave"})
}

func TestNobodySeesASeedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	g := newTable(t, "seeds", "ada", "bram")
	g.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		g.do(p, characters+"CreateCharacter", object{"parent": g.campaign, "characterId": p, "title": p})
	}
	road := g.journey("road", "ada", object{"gold": 60, "food": []int{20}}, "ada", "bram")
	g.do("ada", journeys+"Move", object{"name": road, "character": g.character("ada"), "to": object{"q": 1, "r": 0}})
	stream := g.read("gm", road).Text("stream")

	see := func(revealed bool) {
		t.Helper()
		for kind, via := range both(t) {
			for _, user := range []string{"ada", "gm"} {
				one, err := g.steady(via, user, "dice.v1.DiceService/GetStream", object{"name": stream})
				if err != nil {
					t.Fatal(err)
				}
				all, err := g.steady(via, user, "dice.v1.DiceService/ListStreams", object{"parent": g.campaign})
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range append(all.List("streams"), one) {
					if at.Text("name") != stream || at.Text("commitment") == "" || at["revealed"] != revealed || (at.Text("seed") != "") != revealed {
						t.Errorf("through %s, %s sees the stream as %v", kind, user, at)
					}
				}
				if len(all.List("streams")) != 1 {
					t.Errorf("through %s, %s sees %d streams, not 1", kind, user, len(all.List("streams")))
				}
			}
		}
	}
	see(false)
	g.do("ada", journeys+"EndJourney", object{"name": road, "character": g.character("ada")})
	see(true)
}

func concat(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}
