package diedrop

import "testing"

func TestJoiningAndLeaving(t *testing.T) {
	t.Parallel()
	mabyn := AddMember{Newcomer{Name: "Mabyn", HP: 3, STR: 8}}
	own := map[string]any{"party.newcomer_food": "own"}
	rules{
		"DDW-PARTY-01 who joins is a member like the others": func(t *testing.T) {
			j, _ := do(t, scene{members: people(4)}.begin(t), mabyn)
			eq(t, "last in order", j.Members[4].Name, "Mabyn")
			j, _ = do(t, j, Move{To: Hex{3, 1}, Via: RouteTerrain}, 6)
			eq(t, "hit points", hp(j), []int{3, 3, 3, 3, 2})
		},
		"DDW-PARTY-02 where, who and how": func(t *testing.T) {
			for _, inside := range []string{"sage-stone", "pennard-delve"} {
				j := scene{inside: inside}.begin(t)
				refuse(t, j, mabyn, "inside_location")
				refuse(t, j, RemoveMember{"Ada"}, "inside_location")
			}
			j, dice := rolls(t, scene{hungry: 2}.begin(t), mabyn)
			eq(t, "dice", dice, "")
			eq(t, "round", j.Round, 0)
			eq(t, "hungry rounds stay", j.StarvingRounds, 2)
			eq(t, "newcomer", j.Members[2], Member{Name: "Mabyn", HP: 3, HPMax: 3, STR: 8, STRMax: 8, Capacity: 10})
			refuse(t, j, mabyn, "name_taken")
			j, _ = do(t, j, Harm{Name: "Mabyn", STR: 8})
			refuse(t, j, mabyn, "name_taken")
			none := 0
			j, _ = do(t, scene{food: []int{8}, members: people(1)}.begin(t), AddMember{Newcomer{Name: "Mabyn", HP: 3, STR: 8, Capacity: &none}})
			eq(t, "carries nothing", held(j), []int{1, 0})
			do(t, inTallowick(t, people(1), 0), mabyn)
		},
		"DDW-PARTY-02 the encounter stays": func(t *testing.T) {
			j, _ := do(t, scene{food: []int{8}}.begin(t), Search{}, 5, 1, 2, 2, 1, 3, 3, 4)
			before := *j.Encounter
			j, _ = do(t, j, mabyn)
			j, _ = do(t, j, RemoveMember{"Mabyn"})
			eq(t, "encounter", *j.Encounter, before)
		},
		"DDW-PARTY-03 newcomers share what is there": func(t *testing.T) {
			for _, tc := range []struct {
				members      int
				before       []int
				after        string
				needed, held int
			}{
				{4, []int{8}, "[d6]", 3, 4},
				{4, []int{20, 4}, "[d12]", 10, 13},
				{4, []int{4}, "[d4]", 2, 2},
			} {
				j := scene{members: people(tc.members), food: tc.before}.begin(t)
				j, _ = do(t, j, mabyn)
				eq(t, "food", food(j), tc.after)
				eq(t, "needed", j.SlotsNeeded(), tc.needed)
				eq(t, "held", j.SlotsHeld(), tc.held)
			}
			none := 0
			full := scene{members: people(4, gear(10)), food: []int{4}}
			full.members[0].Gear = 9
			refuse(t, full.begin(t), AddMember{Newcomer{Name: "Mabyn", HP: 3, STR: 8, Capacity: &none}}, "no_room")
			j, _ := do(t, full.begin(t), mabyn)
			eq(t, "the newcomer carries", held(j), []int{1, 0, 0, 0, 1})
		},
		"DDW-PARTY-04 newcomers bring rations of their own": func(t *testing.T) {
			j, _ := do(t, scene{params: own, members: people(4), food: []int{8}}.begin(t), mabyn)
			eq(t, "food", food(j), "[d8]")
			eq(t, "needed and held", [2]int{j.SlotsNeeded(), j.SlotsHeld()}, [2]int{5, 5})
			none := 0
			full := scene{params: own, members: people(4, gear(9)), food: []int{8}}.begin(t)
			refuse(t, full, AddMember{Newcomer{Name: "Mabyn", HP: 3, STR: 8, Capacity: &none}}, "no_room")
		},
		"DDW-PARTY-05 who leaves takes their rations": func(t *testing.T) {
			j, _ := do(t, scene{members: people(3), food: []int{8}}.begin(t), RemoveMember{"Bren"})
			eq(t, "food", food(j), "[d8]")
			eq(t, "needed and held", [2]int{j.SlotsNeeded(), j.SlotsHeld()}, [2]int{2, 2})
			eq(t, "members", len(j.Members), 2)
			refuse(t, j, RemoveMember{"Bren"}, "no_such_member")
			refuse(t, scene{members: people(1)}.begin(t), RemoveMember{"Ada"}, "last_member")
			dead, _ := do(t, j, Harm{Name: "Cole", STR: 10})
			refuse(t, dead, RemoveMember{"Ada"}, "last_member")
			refuse(t, dead, RemoveMember{"Cole"}, "no_such_member")
			tight := fed(6, 0)
			tight[1].Gear = 9
			j, _ = do(t, scene{members: tight, food: []int{20}}.begin(t), RemoveMember{"Ada"})
			eq(t, "the die steps down until it fits", food(j), "[d8]")
		},
		"DDW-PARTY-06 who leaves hands over what is the company's": func(t *testing.T) {
			members := people(3, gear(10))
			members[0].Gear, members[0].Torches, members[1].Gear = 0, 2, 8
			load := func(carrier string) Load {
				return Load{Carrier: carrier, Creature: "Bears", Count: 1, Value: 9, Slots: 1}
			}
			j, _ := do(t, scene{members: members, cargo: []Load{load("Ada")}}.begin(t), RemoveMember{"Ada"})
			eq(t, "Bren's torches", j.Members[0].Torches, 2)
			eq(t, "cargo", len(j.Cargo), 0)

			members = people(3, gear(8))
			members[0].Torches, members[0].Oil, members[0].Gear = 1, 1, 4
			j, _ = do(t, scene{members: members, cargo: []Load{load("Ada"), load("Cole"), load("Ada"), load("Ada")}}.begin(t), RemoveMember{"Ada"})
			eq(t, "torches", ofMembers(j, func(m Member) int { return m.Torches }), []int{1, 0})
			eq(t, "oil", ofMembers(j, func(m Member) int { return m.Oil }), []int{1, 0})
			carriers := map[string]int{}
			for _, l := range j.Cargo {
				carriers[l.Carrier]++
			}
			eq(t, "carriers", carriers, map[string]int{"Cole": 2})
			eq(t, "used", ofMembers(j, j.SlotsUsed), []int{10, 10})
		},
	}.run(t)
}
