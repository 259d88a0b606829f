package dungeon

import (
	"cmp"
	"context"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// gmsOnly is the permission to give a command that stands for nobody but the game master.
func gmsOnly(c adapter.Caller, _ adapter.Command, _ run) error { return c.RequireGM() }

// StageRun implements RunService. It is a start that borrows nothing.
func (s *Server) StageRun(ctx context.Context, req *dungeonv1.StageRunRequest) (*dungeonv1.StageRunResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	return beginRun(ctx, s, c, req, func(name string, reported []int) (*dungeonv1.RunPreparing, error) {
		return s.staging(ctx, req, c, name, reported)
	}, func(ans adapter.Answer[run, *dungeonv1.RunEvent]) *dungeonv1.StageRunResponse {
		return &dungeonv1.StageRunResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}
	})
}

// staging checks a staged start, which the rules try with everything they need: nothing can refuse it later.
func (s *Server) staging(ctx context.Context, req *dungeonv1.StageRunRequest, c adapter.Caller, name string, reported []int) (*dungeonv1.RunPreparing, error) {
	if err := c.RequireGM(); err != nil {
		return nil, err
	}
	for _, f := range [][2]string{{"dungeon", req.GetDungeon()}, {"leader", req.GetLeader()}} {
		if err := adapter.SameCampaign(c.Campaign, f[0], f[1]); err != nil {
			return nil, err
		}
	}
	for _, m := range req.GetMembers() {
		if err := adapter.SameCampaign(c.Campaign, "members", m.GetCharacter()); err != nil {
			return nil, err
		}
	}
	at, err := s.definitions.Load(ctx, req.GetDungeon())
	if err != nil {
		return nil, missing(err, "dungeon", req.GetDungeon())
	}
	d, revision, ok := at.State.revision(int(req.GetRevision()))
	if !ok {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s has no revision %d", req.GetDungeon(), revision).At("revision", "does not exist")
	}
	rules, _, err := s.diggerRules(ctx, c.Campaign)
	if err != nil {
		return nil, err
	}
	leader := cmp.Or(req.GetLeader(), req.GetMembers()[0].GetCharacter())
	enter := digger.Enter{Ruleset: rules, Dungeon: d, Leader: leader}
	for _, m := range req.GetMembers() {
		enter.Members = append(enter.Members, stagedEntrant(m).Entrant)
	}
	return &dungeonv1.RunPreparing{
		Dungeon: req.GetDungeon(), Revision: i32(revision), Character: leader, Stream: c.Campaign + "/streams/" + requestid.Derive(name, "stream"),
		ReportedDice: req.GetReportedDice(), Staged: req.GetMembers(), Reason: req.GetReason(),
	}, tried(enter, reported)
}

func stagedEntrant(m *dungeonv1.StagedMember) entrant {
	r := m.GetRatings() // four, by the contract
	e := entrant{owner: m.GetOwner(), title: cmp.Or(m.GetTitle(), adapter.IDOf(m.GetCharacter())), Entrant: digger.Entrant{
		ID: m.GetCharacter(), Exhaustion: int(m.GetExhaustion()),
		Statblock: &digger.Abilities{Brute: int(r[0]), Agility: int(r[1]), Wits: int(r[2]), Combat: int(r[3])},
	}}
	for i, t := range m.GetTools() {
		e.Tools = append(e.Tools, digger.NumberedTool{Number: i + 1, Tool: digger.Tool{
			ID: t.GetId(), Title: t.GetTitle(), Ability: t.GetAbility(), Rating: t.GetRating(), Qualities: t.GetQualities(),
			Drawback: t.GetDrawback(), Loaded: true,
		}})
	}
	return e
}

// AdjustRun implements RunService.
func (s *Server) AdjustRun(ctx context.Context, req *dungeonv1.AdjustRunRequest) (*dungeonv1.AdjustRunResponse, error) {
	c, ans, err := s.play(ctx, req, gmsOnly, func(bool) digger.RunCommand {
		out := digger.Adjust{Reason: req.GetReason(), ClearConditions: req.GetClearConditions(), Members: adjustmentsFrom(req.GetMembers())}
		if req.Exploration != nil {
			n := int(req.GetExploration())
			out.Exploration = &n
		}
		return out
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.AdjustRunResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}

func adjustmentsFrom(list []*dungeonv1.RunMemberAdjustment) []digger.MemberAdjustment {
	var out []digger.MemberAdjustment
	for _, m := range list {
		a := digger.MemberAdjustment{ID: m.GetCharacter()}
		if m.Exhaustion != nil {
			n := int(m.GetExhaustion())
			a.Exhaustion = &n
		}
		for number, uses := range m.GetUsesLeft() {
			if a.UsesLeft == nil {
				a.UsesLeft = map[int]int{}
			}
			a.UsesLeft[int(number)] = int(uses)
		}
		out = append(out, a)
	}
	return out
}

func adjustmentsOf(list []digger.MemberAdjustment) []*dungeonv1.RunMemberAdjustment {
	var out []*dungeonv1.RunMemberAdjustment
	for _, a := range list {
		m := &dungeonv1.RunMemberAdjustment{Character: a.ID}
		if a.Exhaustion != nil {
			n := i32(*a.Exhaustion)
			m.Exhaustion = &n
		}
		for number, uses := range a.UsesLeft {
			if m.UsesLeft == nil {
				m.UsesLeft = map[int32]int32{}
			}
			m.UsesLeft[i32(number)] = i32(uses)
		}
		out = append(out, m)
	}
	return out
}

// AbandonRun implements RunService. A game master needs no character, but a reason.
func (s *Server) AbandonRun(ctx context.Context, req *dungeonv1.AbandonRunRequest) (*dungeonv1.AbandonRunResponse, error) {
	may := actingFor(req.GetCharacter())
	if req.GetCharacter() == "" {
		may = withReason
	}
	c, ans, err := s.play(ctx, req, may, func(override bool) digger.RunCommand {
		return digger.Abandon{Member: req.GetCharacter(), Override: override}
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.AbandonRunResponse{Record: ans.Record, Run: runOf(ans.State), Events: ans.Events}), nil
}

// withReason is the permission of a game master who names no character.
func withReason(c adapter.Caller, cmd adapter.Command, _ run) error {
	if !c.GM() {
		return fault.Invalid("character", "only a game master may leave it out")
	}
	if cmd.OverrideReason == "" {
		return fault.Invalid("override_reason", "without a character a reason is needed").Because("REASON_REQUIRED")
	}
	return nil
}
