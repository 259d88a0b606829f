package dungeon

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// definition is the fold of a dungeon's events: every revision, the first at 0.
type definition struct {
	Revisions []*digger.Dungeon `json:"revisions"`
}

var definitionSpec = adapter.Spec[definition, *dungeonv1.DungeonEvent]{
	Kind:    "dungeon",
	Version: 1,
	New:     func() *dungeonv1.DungeonEvent { return &dungeonv1.DungeonEvent{} },
	Apply: func(d definition, e *dungeonv1.DungeonEvent) (definition, error) {
		imported := e.GetImported()
		if imported == nil {
			return d, fmt.Errorf("unknown dungeon event %T", e.GetEvent())
		}
		n := len(d.Revisions)
		d.Revisions = append(d.Revisions[:n:n], definitionFrom(imported.GetDefinition()))
		return d, nil
	},
}

// revision returns a revision by number, the newest for 0.
func (d definition) revision(n int) (*digger.Dungeon, int, bool) {
	if n == 0 {
		n = len(d.Revisions)
	}
	if n < 1 || n > len(d.Revisions) {
		return nil, n, false
	}
	return d.Revisions[n-1], n, true
}

// ImportDungeon implements DungeonService.
func (s *Server) ImportDungeon(ctx context.Context, req *dungeonv1.ImportDungeonRequest) (*dungeonv1.ImportDungeonResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	d := definitionFrom(req.GetDungeon())
	cmd, err := adapter.CommandOf(ctx, req, c, req.GetParent()+"/dungeons/"+d.ID)
	if err != nil {
		return nil, err
	}
	// Commit tells of it: a repetition gets its first answer whatever has become of the caller's role since.
	if cmd.Refusal = c.RequireGM(); cmd.Refusal == nil {
		rules, _, err := s.diggerRules(ctx, c.Campaign)
		if err != nil {
			return nil, err
		}
		if problems := digger.Check(rules, d); len(problems) > 0 {
			return nil, invalidDungeon(problems)
		}
	}
	cmd.Mode = journal.Either
	ans, err := s.definitions.Commit(ctx, cmd, func(context.Context, journal.At[definition], *play.Dice) (adapter.Decision[*dungeonv1.DungeonEvent], error) {
		return adapter.Decision[*dungeonv1.DungeonEvent]{Events: []*dungeonv1.DungeonEvent{{
			Event: &dungeonv1.DungeonEvent_Imported{Imported: &dungeonv1.DungeonImported{Definition: req.GetDungeon()}},
		}}}, nil
	})
	if err != nil {
		return nil, err
	}
	out, err := dungeonOf(ans.State, 0)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.ImportDungeonResponse{Record: ans.Record, Dungeon: out}), nil
}

func invalidDungeon(problems []digger.Violation) error {
	fields := make([]fault.Violation, len(problems))
	for i, p := range problems {
		fields[i] = fault.Violation{Field: "dungeon." + p.Field, Reason: p.Code, Description: p.Message}
	}
	return fault.Violations("INVALID_DUNGEON", fields, "the dungeon cannot be played: %d faults, the first at %s: %s", len(fields), fields[0].Field, fields[0].Description)
}

// ValidateDungeon implements DungeonService.
func (s *Server) ValidateDungeon(ctx context.Context, req *dungeonv1.ValidateDungeonRequest) (*dungeonv1.ValidateDungeonResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	rules, _, err := s.diggerRules(ctx, c.Campaign)
	if err != nil {
		return nil, err
	}
	d := definitionFrom(req.GetDungeon())
	res := &dungeonv1.ValidateDungeonResponse{
		Violations: problemsOf(digger.Check(rules, d)), Warnings: problemsOf(digger.Lint(rules, d)),
	}
	res.Valid = len(res.GetViolations()) == 0
	return res, nil
}

func problemsOf(found []digger.Violation) []*dungeonv1.Problem {
	out := make([]*dungeonv1.Problem, len(found))
	for i, v := range found {
		out[i] = &dungeonv1.Problem{Field: "dungeon." + v.Field, Reason: v.Code, Description: v.Message}
	}
	return out
}

// GetDungeon implements DungeonService.
func (s *Server) GetDungeon(ctx context.Context, req *dungeonv1.GetDungeonRequest) (*dungeonv1.GetDungeonResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.definitions.Load(ctx, req.GetName())
	if err != nil {
		return nil, missing(err, "name", req.GetName())
	}
	d, err := dungeonOf(at, int(req.GetRevision()))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &dungeonv1.GetDungeonResponse{Dungeon: d}), nil
}

// ListDungeons implements DungeonService.
func (s *Server) ListDungeons(ctx context.Context, req *dungeonv1.ListDungeonsRequest) (*dungeonv1.ListDungeonsResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.definitions.List(ctx, journal.Query[definition]{
		Campaign: c.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &dungeonv1.ListDungeonsResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		d, err := dungeonOf(at, 0)
		if err != nil {
			return nil, err
		}
		res.Dungeons = append(res.Dungeons, d)
	}
	return adapter.Redact(c, res), nil
}

func dungeonOf(at journal.At[definition], revision int) (*dungeonv1.Dungeon, error) {
	d, n, ok := at.State.revision(revision)
	if !ok {
		return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s has no revision %d", at.Stream, revision).With("resource", at.Stream).At("revision", "does not exist")
	}
	return &dungeonv1.Dungeon{
		Name: at.Stream, Revision: int32(n), Definition: definitionOf(d), Etag: at.Etag(), CreateTime: timestamppb.New(at.Created), //nolint:gosec // a count
	}, nil
}

func definitionOf(d *digger.Dungeon) *dungeonv1.DungeonDefinition {
	out := &dungeonv1.DungeonDefinition{
		Id: d.ID, Number: i32(d.Number), Name: d.Name, Type: d.Type, Summary: d.Summary,
		TnBonus: &dungeonv1.TnBonus{Climax: i32(d.TNBonus.Climax), Final: i32(d.TNBonus.Final)},
	}
	for _, c := range d.Cards {
		out.Cards = append(out.Cards, cardOf(c))
	}
	return out
}

func cardOf(c digger.Card) *dungeonv1.Card {
	return &dungeonv1.Card{
		Id: c.ID, Kind: c.Kind, Ability: c.Ability, Level: i32(c.Level), Conditions: c.Conditions, Title: c.Title, Text: c.Text,
	}
}

func definitionFrom(d *dungeonv1.DungeonDefinition) *digger.Dungeon {
	out := &digger.Dungeon{
		ID: d.GetId(), Number: int(d.GetNumber()), Name: d.GetName(), Type: d.GetType(), Summary: d.GetSummary(),
		TNBonus: digger.TNBonus{Climax: int(d.GetTnBonus().GetClimax()), Final: int(d.GetTnBonus().GetFinal())},
	}
	for _, c := range d.GetCards() {
		out.Cards = append(out.Cards, digger.Card{
			ID: c.GetId(), Kind: c.GetKind(), Ability: c.GetAbility(), Level: int(c.GetLevel()),
			Conditions: c.GetConditions(), Title: c.GetTitle(), Text: c.GetText(),
		})
	}
	return out
}

// i32 narrows a number of the rules, all of which are small.
func i32(n int) int32 { return int32(n) } //nolint:gosec // see above
