package delve_test

import (
	"encoding/json"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

func i32s(list []int) []int32 {
	var out []int32
	for _, n := range list {
		out = append(out, int32(n)) //nolint:gosec // small
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int) int32 {
	if n == nil {
		return 0
	}
	return int32(*n) //nolint:gosec // small
}

// requestOf is the call that gives a step of a transcript, with its dice reported for the state of this etag.
func requestOf(t *testing.T, s dangerpool.Step, name, etag string) proto.Message {
	t.Helper()
	var calls []*dungeonv1.SpillCall
	for _, sp := range s.Spills {
		calls = append(calls, &dungeonv1.SpillCall{Override: number(sp.Override)})
	}
	dice := i32s(s.Faces())
	keep := s.UseFreeAction != nil && !*s.UseFreeAction
	switch s.Trigger {
	case dangerpool.TriggerMove:
		return &dungeonv1.MoveRequest{Name: name, KeepFreeAction: keep, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerInteract:
		return &dungeonv1.InteractRequest{Name: name, KeepFreeAction: keep, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerHunkerDown:
		return &dungeonv1.HunkerDownRequest{Name: name, KeepFreeAction: keep, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerLeaveHunker:
		return &dungeonv1.LeaveHunkerRequest{Name: name, Etag: etag}
	case dangerpool.TriggerWait:
		return &dungeonv1.WaitRequest{Name: name, Minutes: number(s.Minutes), Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerRealTime:
		return &dungeonv1.AddRealTimeRequest{Name: name, Minutes: number(s.Minutes), Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerRisk:
		return &dungeonv1.TakeRiskRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerShortRest:
		return &dungeonv1.ShortRestRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerLongRest:
		return &dungeonv1.LongRestRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerCombatStart:
		return &dungeonv1.StartCombatRequest{Name: name, Etag: etag}
	case dangerpool.TriggerCombatRounds:
		return &dungeonv1.FightRoundsRequest{Name: name, Rounds: number(s.Rounds), Etag: etag}
	case dangerpool.TriggerCombatEnd:
		return &dungeonv1.EndCombatRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}
	case dangerpool.TriggerLightAdd:
		return &dungeonv1.AddLightRequest{Name: name, Id: text(s.ID), Source: text(s.Source), Etag: etag}
	case dangerpool.TriggerLightOn, dangerpool.TriggerLightOff:
		return &dungeonv1.SwitchLightRequest{Name: name, Id: text(s.ID), On: s.Trigger == dangerpool.TriggerLightOn, Etag: etag}
	case dangerpool.TriggerRefuel:
		return &dungeonv1.RefuelLightRequest{Name: name, Id: text(s.ID), Etag: etag}
	case dangerpool.TriggerCast:
		if s.Minutes != nil {
			return &dungeonv1.CastSpellRequest{Name: name, Id: text(s.ID), Length: &dungeonv1.CastSpellRequest_Minutes{Minutes: number(s.Minutes)}, Etag: etag}
		}
		return &dungeonv1.CastSpellRequest{Name: name, Id: text(s.ID), Length: &dungeonv1.CastSpellRequest_Seconds{Seconds: number(s.Seconds)}, Etag: etag}
	case dangerpool.TriggerSpellEnd:
		return &dungeonv1.EndSpellRequest{Name: name, Id: text(s.ID), Etag: etag}
	case dangerpool.TriggerLeave:
		return &dungeonv1.LeaveDelveRequest{Name: name, Target: text(s.Target), Etag: etag}
	}
	t.Fatalf("no call for %s", s.Trigger)
	return nil
}

// steppedOf is what a call answered, as transcripts have it.
func steppedOf(a answer) dangerpool.Stepped {
	ints := func(list []int32) []int {
		out := []int{}
		for _, n := range list {
			out = append(out, int(n))
		}
		return out
	}
	words := func(list []string) []string { return append([]string{}, list...) }
	r, d := a.GetResult(), a.GetDelve()
	out := dangerpool.Stepped{
		Result: dangerpool.Result{
			Trigger: r.GetTrigger(), DiceAdded: int(r.GetDiceAdded()), Note: r.GetNote(), LightsOut: words(r.GetLightsOut()),
			SpellsEnded: words(r.GetSpellsEnded()), Spills: []dangerpool.SpillView{}, Interrupted: r.GetInterrupted(),
		},
		State: dangerpool.View{
			Pool: int(d.GetPool()), Ever: int(d.GetDiceEver()), Elapsed: int(d.GetElapsedMinutes()), Unpriced: int(d.GetUnpricedHunkerMinutes()),
			RealClock: int(d.GetRealClock()), WaitClock: int(d.GetWaitClock()), InCombat: d.GetInCombat(), CombatMinutes: int(d.GetCombatMinutes()),
			Hunkered: d.GetHunkered(), FreeAction: d.GetFreeAction(), Lights: []dangerpool.Light{}, Darkness: d.GetDarkness(),
			Spells: []dangerpool.SpellView{}, SpillsTotal: int(d.GetSpillsTotal()),
		},
	}
	for _, s := range r.GetSpills() {
		view := dangerpool.SpillView{
			Number: int(s.GetNumber()), AtDie: int(s.GetAtDie()), Faces: ints(s.GetFaces()), Ones: int(s.GetOnes()), Severity: s.GetSeverity(), Events: []dangerpool.EventView{},
		}
		for _, e := range s.GetEvents() {
			view.Events = append(view.Events, dangerpool.EventView{
				D12: int(e.GetD12()), Total: int(e.GetTotal()), Rolled: int(e.GetRolled()), Final: int(e.GetFinal()), Event: e.GetEvent(), Overridden: e.GetOverridden(),
			})
		}
		out.Result.Spills = append(out.Result.Spills, view)
	}
	for _, l := range d.GetLights() {
		out.State.Lights = append(out.State.Lights, dangerpool.Light{ID: l.GetId(), Source: l.GetSource(), Remaining: int(l.GetRemaining()), Active: l.GetActive()})
	}
	for _, s := range d.GetSpells() {
		out.State.Spells = append(out.State.Spells, dangerpool.SpellView{ID: s.GetId(), Seconds: int(s.GetRemainingSeconds()), Dice: int(s.GetDiceLeft())})
	}
	return out
}

// The catalogue's transcripts, every step a call with reported dice.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../../rules/dangerpool/testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := dangerpool.ParseTranscripts(document)
	if err != nil || len(file.Transcripts) != 6 {
		t.Fatalf("%d transcripts: %v", len(file.Transcripts), err)
	}
	n := start(t)
	for i, tr := range file.Transcripts {
		played := n.play(t, tr, camp+"/delves/t"+string(rune('1'+i)))
		if err := transcript.Check([]transcript.Played{played}); err != nil {
			t.Error(err)
		}
		if len(played.Got) != len(tr.Steps) {
			t.Errorf("%s: %d of %d steps", tr.ID, len(played.Got), len(tr.Steps))
		}
	}
}

func (n *node) play(t *testing.T, tr dangerpool.Transcript, name string) transcript.Played {
	t.Helper()
	commands, err := tr.Commands()
	if err != nil {
		t.Fatal(err)
	}
	open := &dungeonv1.CreateDelveRequest{
		Parent: camp, DelveId: name[len(camp+"/delves/"):], InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT,
		Map: &dungeonv1.DelveMap{Title: tr.ID}, Entry: "entrance",
	}
	if len(tr.Params) > 0 {
		raw, err := json.Marshal(tr.Params)
		if err != nil {
			t.Fatal(err)
		}
		open.Params = &structpb.Struct{}
		if err := open.Params.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
	}
	must[*dungeonv1.CreateDelveResponse](n, gm, open)
	members, lights := &dungeonv1.RecordMembersRequest{Name: name}, &dungeonv1.RecordLightsRequest{Name: name}
	for _, c := range commands {
		switch c := c.(type) {
		case dangerpool.RecordMembers:
			for _, m := range c.Members {
				members.Members = append(members.Members, &dungeonv1.DelveMemberEntry{Name: m.Name, Kind: m.Kind, Rank: m.Rank})
			}
		case dangerpool.RecordLights:
			for _, l := range c.Lights {
				lights.Lights = append(lights.Lights, &dungeonv1.CarriedLight{Id: l.ID, Source: l.Source, Active: l.Active})
			}
			for _, s := range c.Spells {
				lights.Spells = append(lights.Spells, &dungeonv1.RunningSpell{Id: s.ID, Seconds: int32(s.Seconds)}) //nolint:gosec // small
			}
		}
	}
	n.do(gm, members)
	n.do(gm, &dungeonv1.RecordProvisionsRequest{Name: name, Note: "as carried"})
	n.do(gm, lights)
	etag := n.do(gm, &dungeonv1.BeginDelveRequest{Name: name}).GetDelve().GetEtag()
	p := transcript.Played{ID: tr.ID, Want: tr.Expected}
	for _, s := range tr.Steps {
		a := n.do(gm, requestOf(t, s, name, etag))
		etag = a.GetDelve().GetEtag()
		p.Add(steppedOf(a))
		for _, d := range a.GetRecord().GetDice() {
			if !d.GetReported() {
				t.Errorf("%s: a die that was not reported: %v", s, d)
			}
		}
	}
	return p
}
