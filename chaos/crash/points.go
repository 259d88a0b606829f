package crash

// what are the points by program and kind. Each is one before and one after.
var what = []struct {
	program, kind string
	what          []string
}{
	{"dice", Insert, []string{"stream"}},
	{"dice", Answer, []string{"CreateStream", "Draw", "RevealStream"}},
	{"party", Insert, []string{"campaign", "character", "company"}},
	{"party", Answer, []string{"TakeLease", "ReturnLease"}},
	{"dungeon", Insert, []string{"run", "delve"}},
	{"dungeon", Owe, []string{"run", "delve"}},
	{"dungeon", Settle, []string{"runs", "delves"}},
	{"dungeon", Lease, []string{"TakeLease ROSTER", "TakeLease LOADOUT", "ReturnLease ROSTER", "ReturnLease LOADOUT"}},
	{"dungeon", Answer, []string{
		"StartRun", "Draw", "Act", "Complete", "Leave", "Promote", "AbandonRun", "CreateDelve", "RecordMembers", "RecordProvisions", "RecordLights", "BeginDelve",
		"Interact", "TakeRisk", "Wait", "ShortRest", "StartCombat", "EndCombat", "AddRealTime", "LeaveDelve",
	}},
	{"travel", Insert, []string{"journey"}},
	{"travel", Owe, []string{"journey"}},
	{"travel", Settle, []string{"journeys"}},
	{"travel", Lease, []string{"TakeLease PACK", "TakeLease VITALS", "ReturnLease PACK", "ReturnLease VITALS"}},
	{"travel", Answer, []string{
		"StartJourney", "Move", "Search", "Forage", "Light", "EnterLocation", "LeaveLocation", "BuyFood", "BuyGear", "EndJourney", "AbandonJourney",
	}},
	{"expedition", Insert, []string{"expedition"}},
	{"expedition", Activity, []string{"RestoreExpedition", "ExecuteCommand", "TickExpedition"}},
	{"expedition", Update, []string{"Execute"}},
	{"expedition", Answer, []string{"Execute", "OpenSession", "CloseSession", "AbandonExpedition"}},
}

// Points are all points of a run.
var Points = func() []Point {
	var out []Point
	for _, w := range what {
		for _, name := range w.what {
			out = append(out, Point{w.program, w.kind, name, Before}, Point{w.program, w.kind, name, After})
		}
	}
	return out
}()
