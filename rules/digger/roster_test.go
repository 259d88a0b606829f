package digger

import "testing"

func TestRosterRules(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]func(t *testing.T){
		"DIG-PARTY-01 seven at most": func(t *testing.T) {
			r := party(t, "a", "b", "c", "d", "e", "f")
			r.do(t, JoinParty{Leader: "a", Member: Seat{Character: "g"}})
			r.refused(t, JoinParty{Leader: "a", Member: Seat{Character: "h"}}, PartyFull)
		},
		"DIG-PARTY-03 one party each, the creator leads": func(t *testing.T) {
			r := party(t, "ada", "bram")
			p, _ := r.Party("p")
			equal(t, "leader", p.Leader, "ada")
			for _, c := range []string{"ada", "bram"} {
				r.refused(t, CreateParty{Party: "q", Leader: Seat{Character: c}}, AlreadyInParty)
			}
			r.do(t, CreateParty{Party: "q", Leader: Seat{Character: "cleo"}})
			r.refused(t, JoinParty{Party: "q", Member: Seat{Character: "bram"}}, AlreadyInParty)
			r.refused(t, CreateParty{Party: "q", Leader: Seat{Character: "dov"}}, PartyExists)
		},
		"DIG-PARTY-04 nobody joins after enter": func(t *testing.T) {
			r := party(t, "ada", "bram")
			r.do(t, LeaseRoster{Party: "p", Run: "run"})
			r.refused(t, JoinParty{Leader: "ada", Member: Seat{Character: "cleo"}}, RunBegun)
		},
		"DIG-CMD-02 a number that is none; a party that binds": func(t *testing.T) {
			three := ShippedDungeons()
			if _, err := DungeonNumbered(three, 9); codeOf(t, err) != NoSuchDungeon {
				t.Errorf("dungeon 9: %v", err)
			}
			d, err := DungeonNumbered(three, 2)
			equal(t, "dungeon 2", d.ID, three[1].ID)
			equal(t, "error", codeOf(t, err), "")
			r := party(t, "ada")
			p, _ := r.Party("p")
			equal(t, "readied", p.Dungeon, "deck")
			r.refused(t, CreateParty{Party: "q", Leader: Seat{Character: "ada"}}, AlreadyInParty)
		},
		"DIG-CMD-03 joining names the leader": func(t *testing.T) {
			r := party(t, "ada", "bram")
			r.refused(t, JoinParty{Leader: "bram", Member: Seat{Character: "cleo"}}, NoSuchParty)
			r.refused(t, JoinParty{Leader: "zoe", Member: Seat{Character: "cleo"}}, NoSuchParty)
			r.refused(t, JoinParty{Party: "q", Member: Seat{Character: "cleo"}}, NoSuchParty)
			r.refused(t, JoinParty{Leader: "ada", Member: Seat{Character: "bram"}}, AlreadyInParty)
			r.do(t, JoinParty{Leader: "ada", Member: Seat{Character: "cleo"}})
		},
		"DIG-CMD-04 reset": func(t *testing.T) {
			r := party(t, "ada", "bram")
			r.refused(t, ResetParty{Character: "ada"}, LeaderWithMembers)
			r.refused(t, ResetParty{Character: "zoe"}, NotInParty)
			r.do(t, ResetParty{Character: "bram"}, CreateParty{Party: "q", Leader: Seat{Character: "bram"}})
			r.do(t, ResetParty{Character: "ada"}) // alone: dissolved
			if _, ok := r.Party("p"); ok {
				t.Error("the party of a lone leader is still there")
			}
		},
		"DIG-CMD-05 promoting": func(t *testing.T) {
			r := party(t, "ada", "bram")
			r.refused(t, PromoteMember{Party: "p", Character: "bram", Target: "bram"}, NotLeader)
			r.refused(t, PromoteMember{Party: "p", Character: "ada", Target: "zoe"}, NotAMember)
			r.do(t, PromoteMember{Party: "p", Character: "ada", Target: "bram"})
			r.do(t, LeaveParty{Party: "p", Character: "ada"})
			r.do(t, PromoteMember{Party: "p", Character: "gm", Target: "bram", Override: true})
		},
		"DIG-FLOW-02 an ended run binds nobody": func(t *testing.T) {
			r := party(t, "ada", "bram", "cleo")
			r.do(t, LeaseRoster{Party: "p", Run: "run"})
			r.refused(t, LeaveParty{Party: "p", Character: "bram"}, Leased)
			r.refused(t, CreateParty{Party: "q", Leader: Seat{Character: "ada"}}, AlreadyInParty)
			r.do(t, ReturnRoster{Party: "p", Run: "run", Leader: "ada", Began: true})
			r.do(t, CreateParty{Party: "q", Leader: Seat{Character: "ada"}})
			p, _ := r.Party("p")
			equal(t, "who stays", p.Members, []Seat{{Character: "bram"}, {Character: "cleo"}})
			equal(t, "leads then", p.Leader, "bram")
			r.do(t, LeaseRoster{Party: "p", Run: "again"}) // who stays may enter again
			r.do(t, ReturnRoster{Party: "p", Run: "again", Leader: "bram", Began: true})
			r.do(t, ResetParty{Character: "bram"}, JoinParty{Leader: "ada", Member: Seat{Character: "cleo"}})
			if _, ok := r.Party("p"); ok {
				t.Error("the emptied party is still there")
			}
		},
		"DIG-OVER-08 after a loss a new party may go for the same dungeon": func(t *testing.T) {
			r := party(t, "ada", "bram")
			r.do(t, LeaseRoster{Party: "p", Run: "run"}, ReturnRoster{Party: "p", Run: "run", Leader: "ada", Began: true})
			r.do(t, CreateParty{Party: "q", Leader: Seat{Character: "ada"}, Dungeon: "deck"}, JoinParty{Leader: "ada", Member: Seat{Character: "bram"}})
			lost := begin(t, Default(), deck(), who("ada", tool("bar", "brute", "minor")), who("bram"))
			lost, _ = turn(t, lost, map[string]string{"ada": "bar"}, 1, 1)
			lost, _ = do(t, lost, Abandon{Member: "ada"})
			if !lost.Over() {
				t.Fatal("not over")
			}
			again := begin(t, Default(), deck(), who("ada", tool("bar", "brute", "minor")), who("bram"))
			equal(t, "exhaustion and uses", []int{again.Members[0].Exhaustion, again.Members[1].Exhaustion, again.Members[0].Tools[0].UsesLeft}, []int{0, 0, 3})
		},
		"DIG-CMD-19 requests are notes of members": func(t *testing.T) {
			r := party(t, "ada")
			r.refused(t, FileRequest{Character: "zoe", Text: "who owns the idol?"}, NotInParty)
			r.refused(t, FileRequest{Character: "ada"}, Invalid)
			r.do(t, FileRequest{Character: "ada", Text: "who owns the idol?"})
			equal(t, "requests", r.Requests, []Request{{1, "ada", "who owns the idol?", true}})
			r.do(t, CloseRequest{Number: 1})
			r.refused(t, CloseRequest{Number: 1}, NoSuchRequest)
		},
		"a lease is given back once and not taken again": func(t *testing.T) {
			r := party(t, "ada", "bram", "cleo")
			r.do(t, LeaseRoster{Party: "p", Run: "run"}, LeaseRoster{Party: "p", Run: "run"})
			r.refused(t, LeaseRoster{Party: "p", Run: "other"}, RunBegun)
			r.do(t, ReturnSeat{Party: "p", Run: "run", Character: "cleo", Leader: "bram"}, ReturnSeat{Party: "p", Run: "run", Character: "cleo", Leader: "bram"})
			r.do(t, ReturnRoster{Party: "p", Run: "run", Leader: "bram"}, ReturnRoster{Party: "p", Run: "run", Leader: "bram"})
			p, _ := r.Party("p")
			equal(t, "party", p, Party{ID: "p", Leader: "bram", Members: []Seat{{Character: "ada"}, {Character: "bram"}}, Dungeon: "deck", State: Forming})
			r.refused(t, LeaseRoster{Party: "p", Run: "run"}, LeaseClosed)
			r.do(t, ReturnRoster{Party: "p", Run: "never-held"})
			r.refused(t, LeaseRoster{Party: "p", Run: "never-held"}, LeaseClosed)
			r.refused(t, LeaseRoster{Party: "q", Run: "x"}, NoSuchParty)
			r.do(t, PromoteMember{Party: "p", Character: "bram", Target: "ada"}, LeaveParty{Party: "p", Character: "bram"})
			r.refused(t, LeaseRoster{Party: "p", Run: "x"}, TooFewMembers)
		},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); check(t) })
	}
}
