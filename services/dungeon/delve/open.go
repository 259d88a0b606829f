package delve

import (
	"context"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// CreateDelve implements DelveService.
func (s *Server) CreateDelve(ctx context.Context, req *dungeonv1.CreateDelveRequest) (*dungeonv1.CreateDelveResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	id := req.GetDelveId()
	if id == "" {
		id = requestid.Derive(req.GetParent()+"/delves", req.GetRequestId())
	}
	name := req.GetParent() + "/delves/" + id
	cmd, err := adapter.CommandOf(ctx, req, c, name)
	if err != nil {
		return nil, err
	}
	cmd.Mode = journal.Create
	ans, repeated, err := s.delves.First(ctx, cmd)
	if err != nil {
		return nil, err
	}
	if !repeated {
		event, note, err := s.opened(ctx, req, c, name)
		if err != nil {
			return nil, adapter.Fault(err)
		}
		ans, err = s.delves.Commit(ctx, cmd, func(context.Context, journal.At[delve], *play.Dice) (adapter.Decision[*dungeonv1.DelveEvent], error) {
			return adapter.Decision[*dungeonv1.DelveEvent]{Events: []*dungeonv1.DelveEvent{event}, Note: note}, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return adapter.Redact(c, &dungeonv1.CreateDelveResponse{Record: ans.Record, Delve: delveOf(ans.State), Events: ans.Events}), nil
}

// opened checks everything about a new delve, makes its dice stream, and returns what opens it.
func (s *Server) opened(ctx context.Context, req *dungeonv1.CreateDelveRequest, c adapter.Caller, name string) (*dungeonv1.DelveEvent, string, error) {
	if err := c.RequirePlay(); err != nil {
		return nil, "", err
	}
	if err := gmField(c, "map.areas", len(req.GetMap().GetAreas()) > 0); err != nil {
		return nil, "", err
	}
	if err := gmField(c, "params", req.GetParams() != nil); err != nil {
		return nil, "", err
	}
	for _, f := range [][2]string{
		{"dungeon", req.GetDungeon()}, {"continues", req.GetContinues()}, {"expedition", req.GetExpedition()}, {"character", req.GetCharacter()},
	} {
		if err := adapter.SameCampaign(c.Campaign, f[0], f[1]); err != nil {
			return nil, "", err
		}
	}
	if req.GetExpedition() != "" && !c.Service {
		return nil, "", fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only an expedition opens delves of its own").At("expedition", "is set by the expedition service")
	}
	owner, err := s.opener(ctx, req, c)
	if err != nil {
		return nil, "", err
	}
	if req.GetDungeon() != "" {
		if err := s.cfg.Dungeon(ctx, req.GetDungeon()); err != nil {
			return nil, "", missing(err, "dungeon", req.GetDungeon())
		}
	}
	rules, seq, err := adapter.Parsed(ctx, s.cfg.Rulesets, c.Campaign, ruleset.DangerPool, s.cfg.Rules, dangerpool.Parse)
	if err != nil {
		return nil, "", err
	}
	if req.GetParams() != nil {
		if rules, err = rules.With(req.GetParams().AsMap()); err != nil {
			return nil, "", fault.Invalid("params", "%v", err)
		}
	}
	open := dangerpool.Open{Ruleset: rules, Map: mapFrom(req.GetMap()), Entry: req.GetEntry(), InvokedBy: invokers[req.GetInvokedBy()]}
	if req.GetContinues() != "" {
		before, err := s.load(ctx, "continues", req.GetContinues())
		if err != nil {
			return nil, "", err
		}
		if !before.State.Game.Over() {
			return nil, "", play.Refuse(reasonNotOver, "%s lasts", before.Stream).On("continues")
		}
		if rules.KeepsPool() {
			open.Pool = before.State.Game.Pool
		}
	}
	// Nothing random is in the beginning: what the rules say now, they say when it is journaled.
	events, err := dangerpool.Decide(dangerpool.Delve{}, open, play.ReportedDice())
	if err != nil {
		return nil, "", err
	}
	event, err := eventOf(rules, events[0])
	if err != nil {
		return nil, "", err
	}
	stream, err := s.cfg.Dice.CreateStream(auth.WithoutActor(ctx), &dicev1.CreateStreamRequest{
		Parent: c.Campaign, StreamId: requestid.Derive(name, "stream"), Holder: name, RequestId: requestid.Derive(name, "create stream"),
	})
	if err != nil {
		return nil, "", fault.FromStatus(err)
	}
	o := event.GetOpened()
	o.Dungeon, o.Continues, o.Expedition, o.Character, o.Owner = req.GetDungeon(), req.GetContinues(), req.GetExpedition(), req.GetCharacter(), owner
	o.Stream, o.Commitment = stream.GetStream().GetName(), stream.GetStream().GetCommitment()
	return event, adapter.CampaignNote(seq), nil
}

// opener tells whose the acting character is, and refuses a caller who may not act for it.
func (s *Server) opener(ctx context.Context, req *dungeonv1.CreateDelveRequest, c adapter.Caller) (string, error) {
	if req.GetCharacter() == "" {
		return "", nameless(c)
	}
	owner, err := s.owned(ctx, c.Campaign, "character", req.GetCharacter())
	if err != nil {
		return "", err
	}
	return owner, c.RequireActFor(owner, req.GetCharacter())
}

// RecordMembers implements DelveService.
func (s *Server) RecordMembers(ctx context.Context, req *dungeonv1.RecordMembersRequest) (*dungeonv1.RecordMembersResponse, error) {
	p, err := s.prepared(ctx, req, "", func(c adapter.Caller, _ delve) (plan, error) {
		owners := map[string]string{}
		command := dangerpool.RecordMembers{}
		for i, m := range req.GetMembers() {
			if m.GetCharacter() != "" {
				field := memberField(i)
				if _, twice := owners[m.GetCharacter()]; twice {
					return plan{}, play.Refuse(dangerpool.IDTaken, "%s is named twice", m.GetCharacter()).At(field)
				}
				owner, err := s.owned(ctx, c.Campaign, field, m.GetCharacter())
				if err != nil {
					return plan{}, err
				}
				owners[m.GetCharacter()] = owner
			}
			command.Members = append(command.Members, dangerpool.Member{
				Name: m.GetName(), Character: m.GetCharacter(), Kind: m.GetKind(), Rank: m.GetRank(), Darkvision: m.GetDarkvision(),
			})
		}
		return plan{command, owners}, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.RecordMembersResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// RecordLights implements DelveService.
func (s *Server) RecordLights(ctx context.Context, req *dungeonv1.RecordLightsRequest) (*dungeonv1.RecordLightsResponse, error) {
	p, err := s.prepared(ctx, req, "", func(c adapter.Caller, d delve) (plan, error) {
		command := dangerpool.RecordLights{}
		if req.GetCarryOver() {
			if d.Continues == "" {
				return plan{}, fault.Invalid("carry_over", "this delve continues none")
			}
			before, err := s.load(ctx, "carry_over", d.Continues)
			if err != nil {
				return plan{}, err
			}
			command = leftOf(before.State.Game)
		}
		for i, l := range req.GetLights() {
			if err := gmField(c, lightField(i), l.Remaining != nil); err != nil {
				return plan{}, err
			}
			command.Lights = append(command.Lights, dangerpool.Carried{ID: l.GetId(), Source: l.GetSource(), Active: l.GetActive(), Remaining: intPtr(l.Remaining)})
		}
		for _, sp := range req.GetSpells() {
			command.Spells = append(command.Spells, dangerpool.Spell{ID: sp.GetId(), Seconds: int(sp.GetSeconds())})
		}
		return plan{command: command}, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(p.caller, &dungeonv1.RecordLightsResponse{Record: p.Record, Delve: p.delve, Events: p.Events, Result: p.result}), nil
}

// leftOf is what a delve left of its lights and spells. Burnt torches and light spells that ended stay behind.
func leftOf(d dangerpool.Delve) dangerpool.RecordLights {
	out := dangerpool.RecordLights{Spells: d.Spells}
	for _, l := range d.Lights {
		if l.Remaining > 0 || l.Source == dangerpool.Lantern || l.Source == dangerpool.BullseyeLantern {
			left := l.Remaining
			out.Lights = append(out.Lights, dangerpool.Carried{ID: l.ID, Source: l.Source, Active: l.Active, Remaining: &left})
		}
	}
	return out
}
