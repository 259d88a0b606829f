package diedrop

import "testing"

func enterRoom(to string) TakeTurn { return TakeTurn{Trigger: TriggerRoom, To: to} }

var (
	activity = TakeTurn{Trigger: TriggerActivity}
	combat   = TakeTurn{Trigger: TriggerCombat}
)

func TestTurns(t *testing.T) {
	t.Parallel()
	torch := &Light{Torch, 8}
	rules{
		"DDW-TURN-01 each room entered is a turn": func(t *testing.T) {
			j := inSite(t, "pennard-delve", "", torch)
			for i, room := range []string{"adit", "cartway", "adit"} {
				j, _ = do(t, j, enterRoom(room), 5, 6)
				eq(t, "turn", j.Turn, i+1)
				eq(t, "room", j.Room, room)
			}
			eq(t, "visited once each", j.Visited, []string{"adit", "cartway"})
			refuse(t, j, enterRoom("deepface"), "no_such_way")
			refuse(t, j, enterRoom("adit"), "no_such_way")
			refuse(t, inSite(t, "pennard-delve", "", torch), enterRoom("cartway"), "no_such_way")
			refuse(t, scene{inside: "sage-stone", light: torch}.begin(t), enterRoom("adit"), "not_dungeon")
			refuse(t, scene{light: torch}.begin(t), enterRoom("adit"), "not_dungeon")
		},
		"DDW-TURN-02 an activity is a turn": func(t *testing.T) {
			j := inSite(t, "pennard-delve", "adit", torch)
			after, _ := do(t, j, activity, 5, 6)
			eq(t, "turn", after.Turn, j.Turn+1)
			eq(t, "room", after.Room, "adit")
			outside := inSite(t, "pennard-delve", "", torch)
			refuse(t, outside, activity, "not_in_room")
			refuse(t, outside, combat, "not_in_room")
		},
		"DDW-TURN-03 the end of a fight is a turn": func(t *testing.T) {
			j := inSite(t, "pennard-delve", "adit", torch)
			after, _ := do(t, j, combat, 5, 6)
			eq(t, "turn without an encounter", after.Turn, j.Turn+1)
			j, _ = do(t, j, activity, 5, 1, 2, 2, 3, 4, 2, 3)
			after, _ = do(t, j, combat, 5, 6)
			eq(t, "turn", after.Turn, j.Turn+1)
			eq(t, "gold still there", after.Encounter.Gold, 5)
		},
		"DDW-TURN-04 each lit turn rolls the light's die": func(t *testing.T) {
			j, dice := rolls(t, inSite(t, "pennard-delve", "adit", torch), activity, 3, 6)
			eq(t, "dice", dice, "d8 d6")
			eq(t, "light", *j.Light, *torch)
			j, _ = do(t, j, activity, 2, 6)
			eq(t, "stepped down", *j.Light, Light{Torch, 6})
		},
		"DDW-TURN-05 an encounter on 1": func(t *testing.T) {
			j := inSite(t, "pennard-delve", "adit", torch)
			after, _ := do(t, j, activity, 5, 1, 3, 2, 3, 4)
			eq(t, "on 1", after.Encounter.Creature, "Skeletons")
			after, _ = do(t, j, activity, 5, 2)
			eq(t, "on 2", after.Encounter == nil, true)
		},
		"DDW-TURN-06 light, check, kind, number, reaction": func(t *testing.T) {
			j, dice := rolls(t, inSite(t, "pennard-delve", "adit", torch), activity, 2, 1, 3, 4, 5, 5)
			eq(t, "dice", dice, "d8 d6 d6 d6 d6 d6")
			eq(t, "light", j.Light.Sides, 6)
			eq(t, "met", [3]any{j.Encounter.Creature, j.Encounter.Number, *j.Encounter.ReactionTotal}, [3]any{"Skeletons", 4, 10})
			_, dice = rolls(t, inSite(t, "pennard-delve", "adit", torch), activity, 5, 1, 2, 2, 5, 5, 1, 1)
			eq(t, "gold comes last", dice, "d8 d6 d6 d6 d6 d6 d4 d4")
		},
		"DDW-TURN-07 leaving is no turn": func(t *testing.T) {
			for _, room := range []string{"", "adit"} {
				j := inSite(t, "pennard-delve", room, torch)
				out, dice := rolls(t, j, Leave{})
				eq(t, "dice", dice, "")
				eq(t, "turn", out.Turn, j.Turn)
				eq(t, "outside", [3]any{out.Inside, out.Room, len(out.Visited)}, [3]any{"", "", 0})
				refuse(t, out, Leave{}, "not_inside")
			}
			j, _ := do(t, inSite(t, "pennard-delve", "adit", torch), enterRoom("cartway"), 5, 6)
			refuse(t, j, Leave{}, "not_at_exit")
		},
	}.run(t)
}

// lit is a company in the first room of the mine with what it carries.
func lit(t *testing.T, s scene) Journey {
	t.Helper()
	s.inside = "pennard-delve"
	j, err := s.begin(t).with(enterRoom("adit"))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestLight(t *testing.T) {
	t.Parallel()
	spares := func(torches, oil int) func(m *Member) {
		return func(m *Member) { m.Torches, m.Oil = torches, oil }
	}
	rules{
		"DDW-LIGHT-01 light steps down the chain": func(t *testing.T) {
			for sides, want := range map[int]int{20: 12, 12: 10, 10: 8, 8: 6, 6: 4} {
				j, _ := do(t, lit(t, scene{light: &Light{Torch, sides}}), activity, 2, 6)
				eq(t, dieName(sides), j.Light.Sides, want)
			}
			j, _ := do(t, lit(t, scene{light: &Light{Torch, 4}}), activity, 2, 6)
			eq(t, "used up", j.Dark(), true)
			j, _ = do(t, lit(t, scene{light: &Light{Torch, 4}}), activity, 3, 6)
			eq(t, "still burning", *j.Light, Light{Torch, 4})
		},
		"DDW-LIGHT-02 a torch starts as d8": func(t *testing.T) {
			j, _ := do(t, scene{members: people(1, spares(1, 0))}.begin(t), LightUp{Torch})
			eq(t, "light", *j.Light, Light{Torch, 8})
		},
		"DDW-LIGHT-03 a lantern is a d12": func(t *testing.T) {
			j, _ := do(t, scene{members: people(1, spares(0, 1)), lantern: true}.begin(t), LightUp{Lantern})
			eq(t, "light", *j.Light, Light{Lantern, 12})
		},
		"DDW-LIGHT-04 every spare torch fills a slot": func(t *testing.T) {
			j := scene{members: people(1, spares(2, 0))}.begin(t)
			eq(t, "used", j.SlotsUsed(j.Members[0]), 2)
		},
		"DDW-LIGHT-05 every spare filling fills a slot": func(t *testing.T) {
			j := scene{members: people(1, spares(0, 1)), lantern: true}.begin(t)
			eq(t, "used", j.SlotsUsed(j.Members[0]), 1)
			j, _ = do(t, j, LightUp{Lantern})
			eq(t, "used after refilling", j.SlotsUsed(j.Members[0]), 0)
		},
		"DDW-LIGHT-06 a spare is lit at once": func(t *testing.T) {
			for _, tc := range []struct {
				burns         Light
				lantern       bool
				torches, oil  int
				want          *Light
				torch2, oil2  int
				theBearerNext string
			}{
				{Light{Torch, 4}, false, 1, 0, &Light{Torch, 8}, 0, 0, "Bren"},
				{Light{Torch, 4}, true, 1, 1, &Light{Torch, 8}, 0, 1, "Bren"},
				{Light{Lantern, 4}, true, 1, 1, &Light{Lantern, 12}, 1, 0, "Bren"},
				{Light{Torch, 4}, true, 0, 1, &Light{Lantern, 12}, 0, 0, "Bren"},
				{Light{Lantern, 4}, true, 1, 0, &Light{Torch, 8}, 0, 0, "Bren"},
				{Light{Torch, 4}, false, 0, 1, nil, 0, 1, ""},
			} {
				members := people(3)
				for i := range members[1:] {
					members[i+1].Torches, members[i+1].Oil = tc.torches, tc.oil
				}
				j, events := do(t, lit(t, scene{members: members, light: &tc.burns, lantern: tc.lantern}), activity, 1, 6)
				eq(t, "light", j.Light, tc.want)
				eq(t, "Bren's spares", [2]int{j.Members[1].Torches, j.Members[1].Oil}, [2]int{tc.torch2, tc.oil2})
				eq(t, "Cole's spares", [2]int{j.Members[2].Torches, j.Members[2].Oil}, [2]int{tc.torches, tc.oil})
				checked, _ := find[LightChecked](events)
				eq(t, "from", checked.From, tc.theBearerNext)
			}
		},
		"DDW-LIGHT-07 lighting a spare": func(t *testing.T) {
			refuse(t, scene{}.begin(t), LightUp{Torch}, "no_spare")
			refuse(t, scene{light: &Light{Torch, 4}, members: people(1, spares(1, 0))}.begin(t), LightUp{Torch}, "already_lit")
			refuse(t, scene{}.begin(t), LightUp{"candle"}, "invalid")
			for _, inside := range []string{"", "pennard-delve", "tallowick"} {
				members := people(3, spares(1, 0))
				j, _ := do(t, scene{members: members, inside: inside}.begin(t), Harm{Name: "Ada", STR: 10})
				j, dice := rolls(t, j, LightUp{Torch})
				eq(t, "the earliest living member's", ofMembers(j, func(m Member) int { return m.Torches }), []int{0, 0, 1})
				eq(t, "no turn, no round, no dice", [3]any{j.Turn, j.Round, dice}, [3]any{0, 0, ""})
			}
		},
	}.run(t)
}

func TestDarkness(t *testing.T) {
	t.Parallel()
	dark := func(t *testing.T, params map[string]any, rooms ...string) Journey {
		t.Helper()
		j := lit(t, scene{params: params, light: &Light{Torch, 8}})
		for _, r := range rooms {
			j, _ = do(t, j, enterRoom(r), 5, 6)
		}
		j.Light = nil
		return j
	}
	rules{
		"DDW-DARK-01 back towards the exit": func(t *testing.T) {
			j, _ := do(t, dark(t, nil, "cartway"), Retreat{}, 6)
			eq(t, "room", j.Room, "adit")
			refuse(t, j, Retreat{}, "at_exit")
			refuse(t, inSite(t, "pennard-delve", "", nil), Retreat{}, "at_exit")
			refuse(t, scene{}.begin(t), Retreat{}, "not_dungeon")
			refuse(t, scene{inside: "sage-stone"}.begin(t), Retreat{}, "not_dungeon")
		},
		"DDW-DARK-02 one room nearer each turn, over rooms visited": func(t *testing.T) {
			j := dark(t, nil, "cartway", "winch", "deepface")
			turn := j.Turn
			for _, room := range []string{"winch", "cartway", "adit"} {
				j, _ = do(t, j, Retreat{}, 6)
				eq(t, "room", j.Room, room)
			}
			eq(t, "turns", j.Turn-turn, 3)
			j, _ = do(t, dark(t, nil, "cartway", "flooded", "deepface"), Retreat{}, 6)
			eq(t, "winch was not visited", j.Room, "flooded")
			j, _ = do(t, dark(t, nil, "cartway", "flooded", "deepface", "winch", "deepface"), Retreat{}, 6)
			eq(t, "on a tie the first way", j.Room, "winch")
			j = lit(t, scene{light: &Light{Torch, 8}})
			j, _ = do(t, j, enterRoom("cartway"), 5, 6)
			_, dice := rolls(t, j, Retreat{}, 5, 6)
			eq(t, "with light too", dice, "d8 d6")
		},
		"DDW-DARK-03 an encounter on 1 to 3": func(t *testing.T) {
			j := dark(t, nil, "cartway")
			after, dice := rolls(t, j, Retreat{}, 3, 3, 2, 3, 4)
			eq(t, "on 3", after.Encounter.Creature, "Skeletons")
			eq(t, "no light die", dice, "d6 d6 d6 d6 d6")
			after, _ = do(t, j, Retreat{}, 4)
			eq(t, "on 4", after.Encounter == nil, true)
		},
		"DDW-DARK-04 impaired and enhanced": func(t *testing.T) {
			fight := func(j Journey) [2]string { return [2]string{j.Encounter.Players, j.Encounter.NPCs} }
			after, _ := do(t, dark(t, nil), combat, 1, 3, 2, 3, 4)
			eq(t, "dark", fight(after), [2]string{"impaired", "enhanced"})
			after, _ = do(t, lit(t, scene{light: &Light{Torch, 8}}), combat, 5, 1, 3, 2, 3, 4)
			eq(t, "lit", fight(after), [2]string{"normal", "normal"})
			after, _ = do(t, scene{}.begin(t), Search{}, 1, 4, 4, 2, 3, 3)
			eq(t, "outdoors", fight(after), [2]string{"", ""})
		},
		"DDW-DARK-05 the turn in which the light fails is lit": func(t *testing.T) {
			j := lit(t, scene{light: &Light{Torch, 4}})
			after, events := do(t, j, activity, 2, 2)
			checked, _ := find[EncounterChecked](events)
			eq(t, "check", checked, EncounterChecked{Face: 2})
			eq(t, "dark afterwards", after.Dark(), true)
			same := lit(t, scene{params: map[string]any{"dark.starts": "same_turn"}, light: &Light{Torch, 4}})
			after, _ = do(t, same, activity, 2, 2, 3, 2, 3, 4)
			eq(t, "same turn", after.Encounter.Players, "impaired")
		},
		"DDW-DARK-06 only retreat and the end of a fight": func(t *testing.T) {
			j := dark(t, nil)
			refuse(t, j, activity, "too_dark")
			refuse(t, j, enterRoom("cartway"), "too_dark")
			refuse(t, j, PrepareRemains{Count: 1, Carrier: "Ada"}, "too_dark")
			for face := 1; face <= 6; face++ {
				faces := []int{face, 3, 2, 3, 4}
				if face > 3 {
					faces = faces[:1]
				}
				after, _ := do(t, j, combat, faces...)
				eq(t, "met", after.Encounter != nil, face <= 3)
			}
			allowed := dark(t, map[string]any{"dark.other_activity": "allow"})
			_, dice := rolls(t, allowed, activity, 6)
			eq(t, "allowed", dice, "d6")
		},
	}.run(t)
}
