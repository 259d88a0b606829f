package delve

import (
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
)

// i32 narrows numbers that the rules keep far below the bound.
func i32(n int) int32 { return int32(n) } //nolint:gosec // see above

func i32Ptr(n *int) *int32 {
	if n == nil {
		return nil
	}
	v := i32(*n)
	return &v
}

func intPtr(n *int32) *int {
	if n == nil {
		return nil
	}
	v := int(*n)
	return &v
}

func i32s(list []int) []int32 {
	out := make([]int32, len(list))
	for i, n := range list {
		out[i] = i32(n)
	}
	return out
}

func mapOf(m *dangerpool.Map) *dungeonv1.DelveMap {
	out := &dungeonv1.DelveMap{Title: m.Title}
	for _, a := range m.Areas {
		out.Areas = append(out.Areas, &dungeonv1.DelveArea{Id: a.ID, Title: a.Title, Notes: a.Notes, Ways: a.Ways})
	}
	return out
}

func mapFrom(m *dungeonv1.DelveMap) *dangerpool.Map {
	if m == nil {
		return nil
	}
	out := &dangerpool.Map{Title: m.GetTitle()}
	for _, a := range m.GetAreas() {
		out.Areas = append(out.Areas, dangerpool.Area{ID: a.GetId(), Title: a.GetTitle(), Notes: a.GetNotes(), Ways: a.GetWays()})
	}
	return out
}

func memberOf(m dangerpool.Member) *dungeonv1.DelveMember {
	return &dungeonv1.DelveMember{Name: m.Name, Character: m.Character, Kind: m.Kind, Rank: m.Rank, Darkvision: m.Darkvision}
}

func lightsOf(list []dangerpool.Light) []*dungeonv1.DelveLight {
	var out []*dungeonv1.DelveLight
	for _, l := range list {
		out = append(out, &dungeonv1.DelveLight{Id: l.ID, Source: l.Source, Remaining: i32(l.Remaining), Active: l.Active})
	}
	return out
}

func lightsFrom(list []*dungeonv1.DelveLight) []dangerpool.Light {
	var out []dangerpool.Light
	for _, l := range list {
		out = append(out, dangerpool.Light{ID: l.GetId(), Source: l.GetSource(), Remaining: int(l.GetRemaining()), Active: l.GetActive()})
	}
	return out
}

func spellOf(s dangerpool.Spell) *dungeonv1.DelveSpell {
	return &dungeonv1.DelveSpell{Id: s.ID, RemainingSeconds: i32(s.Seconds)}
}

func spellFrom(s *dungeonv1.DelveSpell) dangerpool.Spell {
	return dangerpool.Spell{ID: s.GetId(), Seconds: int(s.GetRemainingSeconds())}
}

func dangerOf(rs *dangerpool.Ruleset, e dangerpool.DangerEvent) *dungeonv1.DangerEvent {
	return &dungeonv1.DangerEvent{
		D12: i32(e.D12), Total: i32(e.Total), Rolled: i32(e.Rolled), Final: i32(e.Final), Event: e.Event, Overridden: e.Overridden,
		Title: rs.Event(e.Final).Name, Invokes: rs.Invokes(e.Final), Shows: e.Shows, Note: e.Note,
	}
}

func dangerFrom(e *dungeonv1.DangerEvent) dangerpool.DangerEvent {
	return dangerpool.DangerEvent{
		D12: int(e.GetD12()), Total: int(e.GetTotal()), Rolled: int(e.GetRolled()), Final: int(e.GetFinal()), Event: e.GetEvent(),
		Overridden: e.GetOverridden(), Shows: e.GetShows(), Note: e.GetNote(),
	}
}

func spillOf(rs *dangerpool.Ruleset, s dangerpool.Spilled) *dungeonv1.Spill {
	out := &dungeonv1.Spill{
		Number: i32(s.Number), AtDie: i32(s.AtDie), Nth: i32(s.Nth), Faces: i32s(s.Faces), Ones: i32(s.Ones), Severity: s.Severity,
	}
	for _, e := range s.Events {
		out.Events = append(out.Events, dangerOf(rs, e))
	}
	return out
}

func spillFrom(s *dungeonv1.Spill) dangerpool.Spilled {
	out := dangerpool.Spilled{
		Number: int(s.GetNumber()), AtDie: int(s.GetAtDie()), Nth: int(s.GetNth()), Ones: int(s.GetOnes()), Severity: s.GetSeverity(),
	}
	for _, f := range s.GetFaces() {
		out.Faces = append(out.Faces, int(f))
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, dangerFrom(e))
	}
	return out
}

func narratedOf(rs *dangerpool.Ruleset, e dangerpool.EventNarrated) *dungeonv1.EventNarrated {
	return &dungeonv1.EventNarrated{Spill: i32(e.Spill), Event: i32(e.Event), Now: dangerOf(rs, e.Now)}
}

func callsFrom(list []*dungeonv1.SpillCall) []dangerpool.Call {
	var out []dangerpool.Call
	for _, c := range list {
		out = append(out, dangerpool.Call{Override: int(c.GetOverride()), Shows: c.GetShows(), Note: c.GetNote()})
	}
	return out
}

// resultOf sums up what a command did, by its events alone.
func resultOf(rs *dangerpool.Ruleset, trigger string, events []dangerpool.Event) *dungeonv1.TriggerResult {
	r := dangerpool.ResultOf(trigger, events)
	out := &dungeonv1.TriggerResult{
		Trigger: r.Trigger, DiceAdded: i32(r.DiceAdded), Note: r.Note, LightsOut: r.LightsOut, SpellsEnded: r.SpellsEnded, Interrupted: r.Interrupted,
	}
	for _, e := range events {
		if s, ok := e.(dangerpool.Spilled); ok {
			out.Spills = append(out.Spills, spillOf(rs, s))
		}
	}
	return out
}

// phases are those before play, by what the setup waits for.
var phases = map[dangerpool.Setup]dungeonv1.Delve_Phase{
	dangerpool.SetupMembers:    dungeonv1.Delve_PHASE_SETUP_MEMBERS,
	dangerpool.SetupProvisions: dungeonv1.Delve_PHASE_SETUP_PROVISIONS,
	dangerpool.SetupLights:     dungeonv1.Delve_PHASE_SETUP_LIGHTS,
	dangerpool.SetupDone:       dungeonv1.Delve_PHASE_READY,
	dangerpool.SetupBegun:      dungeonv1.Delve_PHASE_EXPLORING,
}

// delveOf shows a delve.
func delveOf(at journal.At[delve]) *dungeonv1.Delve {
	d := at.State
	g := d.Game
	v := g.View()
	out := &dungeonv1.Delve{
		Name: at.Stream, Phase: phases[g.Setup], InvokedBy: invokedBy(g.InvokedBy), Title: g.Map.Title, Dungeon: d.Dungeon, Expedition: d.Expedition,
		Continues: d.Continues, Entry: g.Entry, Map: mapOf(g.Map), Provisions: g.Provisions, Pool: i32(v.Pool), PoolLimit: i32(g.Ruleset.PoolLimit()),
		DiceEver: i32(v.Ever), ElapsedMinutes: i32(v.Elapsed), UnpricedHunkerMinutes: i32(v.Unpriced), RealClock: i32(v.RealClock), WaitClock: i32(v.WaitClock),
		InCombat: v.InCombat, CombatMinutes: i32(v.CombatMinutes), Hunkered: v.Hunkered, FreeAction: v.FreeAction, Lights: lightsOf(v.Lights),
		Darkness: v.Darkness, SpillsTotal: i32(v.SpillsTotal), LeftFor: g.Left, Stream: d.Stream, Commitment: d.Commitment, Settled: d.Settled,
		Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created), UpdateTime: timestamppb.New(at.Updated),
	}
	if g.Over() {
		out.Phase = dungeonv1.Delve_PHASE_LEFT
	}
	known := func(id string) *dungeonv1.KnownArea {
		area := &dungeonv1.KnownArea{Id: id}
		if slices.Contains(g.Visited, id) {
			a, _ := g.Map.Area(id)
			area.Title = a.Title
		}
		return area
	}
	if g.Area != "" {
		out.Area = known(g.Area)
	}
	for _, id := range g.Ways() {
		out.Ways = append(out.Ways, known(id))
	}
	for _, id := range g.Visited {
		out.Visited = append(out.Visited, known(id))
	}
	for _, m := range g.Members {
		shown := memberOf(m)
		shown.Owner = d.Owners[m.Character]
		shown.Sees, shown.SeesColour = g.Sees(m)
		out.Members = append(out.Members, shown)
	}
	for _, l := range out.Lights {
		bright, dim := g.Ruleset.Reach(l.GetSource())
		l.Shape, l.BrightFt, l.DimFt = g.Ruleset.Shape(l.GetSource()), i32(bright), i32(dim)
	}
	for _, s := range v.Spells {
		out.Spells = append(out.Spells, &dungeonv1.DelveSpell{Id: s.ID, RemainingSeconds: i32(s.Seconds), DiceLeft: i32(s.Dice)})
	}
	for _, s := range g.Last {
		out.LatestSpills = append(out.LatestSpills, spillOf(g.Ruleset, s))
	}
	return out
}
