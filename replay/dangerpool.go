package replay

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

func playDangerPool(ctx context.Context, s *session, document []byte, _ Open) ([]transcript.Played, error) {
	file, err := dangerpool.ParseTranscripts(document)
	if err != nil {
		return nil, err
	}
	played := make([]transcript.Played, len(file.Transcripts))
	for i, t := range file.Transcripts {
		played[i] = s.dangerPool(ctx, i, t)
	}
	return played, nil
}

func (s *session) dangerPool(ctx context.Context, i int, t dangerpool.Transcript) transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected}
	p := &delveTable{session: s, Transcript: t}
	if err := p.begin(ctx, i); err != nil {
		out.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return out
	}
	defer p.end(ctx)
	for _, step := range t.Steps {
		stepped, err := p.step(ctx, step)
		if err != nil {
			out.Err = fmt.Errorf("%s: %w", step.Trigger, err)
			return out
		}
		out.Add(stepped)
	}
	return out
}

// delveTable is a transcript on its way through a server.
type delveTable struct {
	*session
	dangerpool.Transcript
	delve *dungeonv1.Delve
}

// begin opens a delve without a map and takes it through its setup to the first area.
func (p *delveTable) begin(ctx context.Context, i int) error {
	commands, err := p.Commands()
	if err != nil {
		return err
	}
	campaign, err := p.campaign(ctx, i, p.Title)
	if err != nil {
		return err
	}
	params, err := plainStruct(p.Params)
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	name := campaign + "/delves/transcript"
	err = p.post(ctx, campaign+"/delves", &dungeonv1.CreateDelveRequest{
		Parent: campaign, DelveId: "transcript", InvokedBy: dungeonv1.InvokedBy_INVOKED_BY_DM_JUDGMENT,
		Map: &dungeonv1.DelveMap{Title: "Transcript"}, Entry: "entrance", Params: params,
	}, &dungeonv1.CreateDelveResponse{})
	if err != nil {
		return err
	}
	for _, c := range commands {
		req, verb := setupRequest(name, c)
		if req == nil {
			continue
		}
		res := &dungeonv1.BeginDelveResponse{} // all steps of the setup answer alike
		if err := p.post(ctx, name+verb, req, res); err != nil {
			return fmt.Errorf("setup: %w", err)
		}
		p.delve = res.GetDelve()
	}
	return nil
}

func setupRequest(name string, c dangerpool.Command) (proto.Message, string) {
	switch c := c.(type) {
	case dangerpool.RecordMembers:
		req := &dungeonv1.RecordMembersRequest{Name: name}
		for _, m := range c.Members {
			req.Members = append(req.Members, &dungeonv1.DelveMemberEntry{Name: m.Name, Kind: m.Kind, Rank: m.Rank, Darkvision: m.Darkvision})
		}
		return req, ":recordMembers"
	case dangerpool.RecordProvisions:
		return &dungeonv1.RecordProvisionsRequest{Name: name, Note: c.Note}, ":recordProvisions"
	case dangerpool.RecordLights:
		req := &dungeonv1.RecordLightsRequest{Name: name}
		for _, l := range c.Lights {
			req.Lights = append(req.Lights, &dungeonv1.CarriedLight{Id: l.ID, Source: l.Source, Active: l.Active, Remaining: optional(l.Remaining)})
		}
		for _, s := range c.Spells {
			req.Spells = append(req.Spells, &dungeonv1.RunningSpell{Id: s.ID, Seconds: i32(s.Seconds)})
		}
		return req, ":recordLights"
	case dangerpool.Begin:
		return &dungeonv1.BeginDelveRequest{Name: name}, ":begin"
	}
	return nil, ""
}

// end leaves the dungeon, so that nothing of a replay goes on. What was played stands whether or not this succeeds.
func (p *delveTable) end(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if p.delve.GetInCombat() {
		_ = p.post(ctx, p.delve.GetName()+":endCombat", &dungeonv1.EndCombatRequest{Name: p.delve.GetName()}, &dungeonv1.EndCombatResponse{})
	}
	if p.delve.GetPhase() == dungeonv1.Delve_PHASE_EXPLORING {
		_ = p.post(ctx, p.delve.GetName()+":leave", &dungeonv1.LeaveDelveRequest{Name: p.delve.GetName(), Target: "TRAVEL"}, &dungeonv1.LeaveDelveResponse{})
	}
}

func (p *delveTable) step(ctx context.Context, s dangerpool.Step) (dangerpool.Stepped, error) {
	req, verb := triggerRequest(s, p.delve.GetName(), p.delve.GetEtag())
	if req == nil {
		return dangerpool.Stepped{}, fmt.Errorf("there is no trigger %q", s.Trigger)
	}
	res := &dungeonv1.MoveResponse{} // all triggers answer alike
	if err := p.post(ctx, p.delve.GetName()+verb, req, res); err != nil {
		return dangerpool.Stepped{}, err
	}
	p.delve = res.GetDelve()
	out := dangerpool.Stepped{Result: triggerResult(res.GetResult()), State: delveView(p.delve)}
	// A spill without dice in the file was rolled by the server.
	return out, s.Fits(out.Result.Spills)
}

// triggerRequest makes the command of a step, with its dice reported for the state of the etag, and its verb.
func triggerRequest(s dangerpool.Step, name, etag string) (proto.Message, string) {
	var calls []*dungeonv1.SpillCall
	for _, sp := range s.Spills {
		call := &dungeonv1.SpillCall{}
		if sp.Override != nil {
			call.Override = i32(*sp.Override)
		}
		calls = append(calls, call)
	}
	dice, keep := i32s(s.Faces()), s.UseFreeAction != nil && !*s.UseFreeAction
	switch s.Trigger {
	case dangerpool.TriggerMove:
		return &dungeonv1.MoveRequest{Name: name, KeepFreeAction: keep, Calls: calls, ReportedDice: dice, Etag: etag}, ":move"
	case dangerpool.TriggerInteract:
		return &dungeonv1.InteractRequest{Name: name, KeepFreeAction: keep, Calls: calls, ReportedDice: dice, Etag: etag}, ":interact"
	case dangerpool.TriggerHunkerDown:
		return &dungeonv1.HunkerDownRequest{Name: name, KeepFreeAction: keep, Calls: calls, ReportedDice: dice, Etag: etag}, ":hunkerDown"
	case dangerpool.TriggerLeaveHunker:
		return &dungeonv1.LeaveHunkerRequest{Name: name, Etag: etag}, ":leaveHunker"
	case dangerpool.TriggerWait:
		return &dungeonv1.WaitRequest{Name: name, Minutes: number(s.Minutes), Calls: calls, ReportedDice: dice, Etag: etag}, ":wait"
	case dangerpool.TriggerRealTime:
		return &dungeonv1.AddRealTimeRequest{Name: name, Minutes: number(s.Minutes), Calls: calls, ReportedDice: dice, Etag: etag}, ":addRealTime"
	case dangerpool.TriggerRisk:
		return &dungeonv1.TakeRiskRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}, ":takeRisk"
	case dangerpool.TriggerShortRest:
		return &dungeonv1.ShortRestRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}, ":shortRest"
	case dangerpool.TriggerLongRest:
		return &dungeonv1.LongRestRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}, ":longRest"
	case dangerpool.TriggerCombatStart:
		return &dungeonv1.StartCombatRequest{Name: name, Etag: etag}, ":startCombat"
	case dangerpool.TriggerCombatRounds:
		return &dungeonv1.FightRoundsRequest{Name: name, Rounds: number(s.Rounds), Etag: etag}, ":fightRounds"
	case dangerpool.TriggerCombatEnd:
		return &dungeonv1.EndCombatRequest{Name: name, Calls: calls, ReportedDice: dice, Etag: etag}, ":endCombat"
	case dangerpool.TriggerLightAdd:
		return &dungeonv1.AddLightRequest{Name: name, Id: text(s.ID), Source: text(s.Source), Etag: etag}, ":addLight"
	case dangerpool.TriggerLightOn, dangerpool.TriggerLightOff:
		return &dungeonv1.SwitchLightRequest{Name: name, Id: text(s.ID), On: s.Trigger == dangerpool.TriggerLightOn, Etag: etag}, ":switchLight"
	case dangerpool.TriggerRefuel:
		return &dungeonv1.RefuelLightRequest{Name: name, Id: text(s.ID), Etag: etag}, ":refuelLight"
	case dangerpool.TriggerCast:
		req := &dungeonv1.CastSpellRequest{Name: name, Id: text(s.ID), Length: &dungeonv1.CastSpellRequest_Seconds{Seconds: number(s.Seconds)}, Etag: etag}
		if s.Minutes != nil {
			req.Length = &dungeonv1.CastSpellRequest_Minutes{Minutes: number(s.Minutes)}
		}
		return req, ":castSpell"
	case dangerpool.TriggerSpellEnd:
		return &dungeonv1.EndSpellRequest{Name: name, Id: text(s.ID), Etag: etag}, ":endSpell"
	case dangerpool.TriggerLeave:
		return &dungeonv1.LeaveDelveRequest{Name: name, Target: text(s.Target), Etag: etag}, ":leave"
	}
	return nil, ""
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
	return i32(*n)
}

func triggerResult(r *dungeonv1.TriggerResult) dangerpool.Result {
	out := dangerpool.Result{
		Trigger: r.GetTrigger(), DiceAdded: int(r.GetDiceAdded()), Note: r.GetNote(), LightsOut: append([]string{}, r.GetLightsOut()...),
		SpellsEnded: append([]string{}, r.GetSpellsEnded()...), Spills: []dangerpool.SpillView{}, Interrupted: r.GetInterrupted(),
	}
	for _, s := range r.GetSpills() {
		view := dangerpool.SpillView{
			Number: int(s.GetNumber()), AtDie: int(s.GetAtDie()), Faces: []int{}, Ones: int(s.GetOnes()), Events: []dangerpool.EventView{}, Severity: s.GetSeverity(),
		}
		for _, face := range s.GetFaces() {
			view.Faces = append(view.Faces, int(face))
		}
		for _, e := range s.GetEvents() {
			view.Events = append(view.Events, dangerpool.EventView{
				D12: int(e.GetD12()), Total: int(e.GetTotal()), Rolled: int(e.GetRolled()), Final: int(e.GetFinal()), Event: e.GetEvent(), Overridden: e.GetOverridden(),
			})
		}
		out.Spills = append(out.Spills, view)
	}
	return out
}

// delveView shows a delve as transcripts do.
func delveView(d *dungeonv1.Delve) dangerpool.View {
	v := dangerpool.View{
		Pool: int(d.GetPool()), Ever: int(d.GetDiceEver()), Elapsed: int(d.GetElapsedMinutes()), Unpriced: int(d.GetUnpricedHunkerMinutes()),
		RealClock: int(d.GetRealClock()), WaitClock: int(d.GetWaitClock()), InCombat: d.GetInCombat(), CombatMinutes: int(d.GetCombatMinutes()),
		Hunkered: d.GetHunkered(), FreeAction: d.GetFreeAction(), Lights: []dangerpool.Light{}, Darkness: d.GetDarkness(), Spells: []dangerpool.SpellView{},
		SpillsTotal: int(d.GetSpillsTotal()),
	}
	for _, l := range d.GetLights() {
		v.Lights = append(v.Lights, dangerpool.Light{ID: l.GetId(), Source: l.GetSource(), Remaining: int(l.GetRemaining()), Active: l.GetActive()})
	}
	for _, s := range d.GetSpells() {
		v.Spells = append(v.Spells, dangerpool.SpellView{ID: s.GetId(), Seconds: int(s.GetRemainingSeconds()), Dice: int(s.GetDiceLeft())})
	}
	return v
}
