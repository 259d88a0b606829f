package party

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/party/scene"
)

// SetDangerSheet implements CharacterService.
func (s *Server) SetDangerSheet(ctx context.Context, req *partyv1.SetDangerSheetRequest) (*partyv1.SetDangerSheetResponse, error) {
	cmd, err := s.command(ctx, req)
	if err != nil {
		return nil, err
	}
	rec, ch, err := s.commitCharacterIn(ctx, cmd, func(_ digger.Env, c character, now journal.At[campaign]) (characterEvents, error) {
		if err := itsPlayer(cmd.Caller, c.Owner, cmd.Stream); err != nil {
			return nil, err
		}
		if err := maySetSheet(cmd.Caller, c, req.GetDangerSheet()); err != nil {
			return nil, err
		}
		rules, err := s.dangerRules(now)
		if err != nil {
			return nil, err
		}
		return c.setDangerSheet(rules, cmd.Stream, req.GetDangerSheet(), cmd.Caller.GM())
	})
	return &partyv1.SetDangerSheetResponse{Record: rec, Character: ch}, err
}

// maySetSheet leaves to players the stats of a character that is not approved yet.
func maySetSheet(caller adapter.Caller, c character, sheet *partyv1.DangerSheet) error {
	if caller.GM() {
		return nil
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"danger_sheet", c.Sheet.Approved}, {"danger_sheet.stat_reductions", len(sheet.GetStatReductions()) > 0}, {"danger_sheet.fp", sheet.Fp != nil},
		{"danger_sheet.bonus_dice", len(sheet.GetBonusDice()) > 0}, {"danger_sheet.danger_points", sheet.GetDangerPoints() > 0},
		{"danger_sheet.bashed", sheet.GetBashed() > 0}, {"danger_sheet.stunned", sheet.GetStunned() > 0}, {"danger_sheet.knocked_out", sheet.GetKnockedOut()},
	} {
		if f.given {
			return gmField(caller, f.name)
		}
	}
	return nil
}

// setDangerSheet decides a change of the Danger World sheet: of all of it by a GM, else of the stats alone. FP that nobody
// names stay as they are; at first they are those of a new character (O-18).
func (c character) setDangerSheet(rules *dangerworld.Ruleset, name string, sheet *partyv1.DangerSheet, all bool) (characterEvents, error) {
	if err := c.Leases.atRest(partyv1.Facet_FACET_SHEET); err != nil {
		return nil, err
	}
	want, present := scene.SheetFrom(name, sheet), scene.SheetFrom(name, c.Danger)
	if c.Danger == nil {
		present.FP = rules.StartFP()
	}
	if sheet.Fp == nil {
		want.FP = present.FP
	}
	if !all {
		present.Stats = want.Stats
		want = present
	}
	want, err := rules.CheckSheet(want)
	var r *play.Refusal
	if errors.As(err, &r) && r.Field != "" {
		return nil, r.At("danger_sheet." + r.Field)
	}
	if err != nil {
		return nil, err
	}
	return characterEvents{{Event: &partyv1.CharacterEvent_DangerSheetSet{DangerSheetSet: &partyv1.DangerSheetSet{DangerSheet: scene.SheetOf(want)}}}}, nil
}

// dangerRules returns the Danger World rules of a campaign as it stands.
func (s *Server) dangerRules(at journal.At[campaign]) (*dangerworld.Ruleset, error) {
	set := at.State.Rulesets[ruleset.DangerWorld]
	if len(set.Values) == 0 {
		return dangerworld.Default(), nil
	}
	return s.danger.get(rulesKey{at.Stream, set.Seq}, func() (*dangerworld.Ruleset, error) {
		document, _, err := s.effective(at, ruleset.DangerWorld)
		if err != nil {
			return nil, err
		}
		return dangerworld.Parse(document)
	})
}

// lender lends to scenes of this service, by the same way as to others but without a wire between.
type lender struct{ *Server }

// TakeLease implements scene.Lender.
func (l lender) TakeLease(ctx context.Context, req *partyv1.TakeLeaseRequest) (*partyv1.TakeLeaseResponse, error) {
	return l.Server.TakeLease(inside(ctx, partyv1.LeaseService_TakeLease_FullMethodName), req)
}

// ReturnLease implements scene.Lender.
func (l lender) ReturnLease(ctx context.Context, req *partyv1.ReturnLeaseRequest) (*partyv1.ReturnLeaseResponse, error) {
	return l.Server.ReturnLease(inside(ctx, partyv1.LeaseService_ReturnLease_FullMethodName), req)
}

// inside makes a call of this service by itself. The method is told as by a wire: it is part of what a request is known by,
// and a step may be repeated by the sweeper that a player's call took first.
func inside(ctx context.Context, method string) context.Context {
	ctx = auth.NewContext(ctx, auth.Principal{Subject: "service:party", Service: true})
	return grpc.NewContextWithServerTransportStream(ctx, calls(method))
}

// calls is a transport that knows the method called and sends nothing.
type calls string

func (m calls) Method() string             { return string(m) }
func (calls) SetHeader(metadata.MD) error  { return nil }
func (calls) SendHeader(metadata.MD) error { return nil }
func (calls) SetTrailer(metadata.MD) error { return nil }
