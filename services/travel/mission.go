package travel

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

const (
	reasonMissionTaken = "MISSION_TAKEN"
	reasonNotTaken     = "NOT_TAKEN"
)

type (
	boardAt       = journal.At[board]
	boardEvents   = []*travelv1.MissionBoardEvent
	boardAnswer   = adapter.Answer[board, *travelv1.MissionBoardEvent]
	boardDecision = adapter.Decision[*travelv1.MissionBoardEvent]
)

// CreateMissionBoard implements MissionService. The stream is made before the record that names it: a stream too many
// harms nobody.
func (s *Server) CreateMissionBoard(ctx context.Context, req *travelv1.CreateMissionBoardRequest) (*travelv1.CreateMissionBoardResponse, error) {
	name := childName(req.GetParent(), "missionBoards", req.GetMissionBoardId(), req.GetRequestId())
	cmd, err := s.command(ctx, req, name)
	if err != nil {
		return nil, err
	}
	cmd.Mode, cmd.Parent = journal.Create, req.GetRegion()+req.GetJourney()
	ans, err := s.boards.Commit(ctx, cmd, func(ctx context.Context, _ boardAt, _ *play.Dice) (d boardDecision, err error) {
		opened, err := s.opened(ctx, cmd.Caller, req)
		if err != nil {
			return d, err
		}
		opened.Stream = streamOf(cmd.Caller.Campaign, name, 0)
		if opened.Commitment, err = s.boardStream(ctx, cmd.Caller.Campaign, name, opened.GetStream()); err != nil {
			return d, err
		}
		d.Events = boardEvents{{Event: &travelv1.MissionBoardEvent_Opened{Opened: opened}}}
		return d, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(cmd.Caller, &travelv1.CreateMissionBoardResponse{Record: ans.Record, MissionBoard: boardToProto(ans.State)}), nil
}

// opened decides whether a board may be hung up, and by which rules.
func (s *Server) opened(ctx context.Context, caller adapter.Caller, req *travelv1.CreateMissionBoardRequest) (*travelv1.MissionBoardOpened, error) {
	if err := caller.RequireGM(); err != nil {
		return nil, err
	}
	for _, f := range []struct{ field, name string }{{"region", req.GetRegion()}, {"journey", req.GetJourney()}} {
		if err := adapter.SameCampaign(caller.Campaign, f.field, f.name); err != nil {
			return nil, err
		}
	}
	rules, seq, err := s.boardRules(ctx, caller.Campaign, req)
	if err != nil {
		return nil, err
	}
	if err := s.hangs(ctx, req.GetRegion(), req.GetLocation()); err != nil {
		return nil, err
	}
	ruleset, err := rulesetTo(rules)
	if err != nil {
		return nil, err
	}
	return &travelv1.MissionBoardOpened{
		Title: req.GetTitle(), Region: req.GetRegion(), Location: req.GetLocation(), Journey: req.GetJourney(), Ruleset: ruleset, CampaignSeq: i32(seq),
	}, nil
}

// boardRules returns the rules of a new board: those of its journey, or the campaign's with what this board overrides.
func (s *Server) boardRules(ctx context.Context, campaign string, req *travelv1.CreateMissionBoardRequest) (*diedrop.Ruleset, int, error) {
	if req.GetJourney() != "" {
		switch {
		case req.GetRegion() != "":
			return nil, 0, fault.Invalid("region", "the board of a journey goes where it goes")
		case req.GetLocation() != "":
			return nil, 0, fault.Invalid("location", "the board of a journey goes where it goes")
		case req.GetParams() != nil:
			return nil, 0, fault.Invalid("params", "the board of a journey has its rules")
		}
		at, err := s.journeys.Load(ctx, req.GetJourney())
		switch {
		case err != nil:
			return nil, 0, missing(err, "journey", req.GetJourney())
		case !at.State.Play.Started():
			return nil, 0, play.Refuse(reasonNotTraveling, "%s has not begun", req.GetJourney()).On("journey")
		}
		return at.State.Play.Ruleset, 0, nil
	}
	rules, seq, err := s.dieDropRules(ctx, campaign)
	if err != nil || len(req.GetParams().AsMap()) == 0 {
		return rules, seq, err
	}
	if rules, err = rules.With(req.GetParams().AsMap()); err != nil {
		return nil, 0, fault.Invalid("params", "%v", err)
	}
	return rules, seq, nil
}

// hangs refuses a place where no board can hang. What is hidden is not told by a board either.
func (s *Server) hangs(ctx context.Context, region, id string) error {
	if region == "" {
		if id != "" {
			return fault.Invalid("location", "a settlement is in a region")
		}
		return nil
	}
	at, err := s.loadRegion(ctx, "region", region)
	if err != nil || id == "" {
		return err
	}
	i := slices.IndexFunc(at.State.Draft.GetLocations(), func(l *travelv1.Location) bool { return l.GetId() == id && l.GetVisible() })
	switch {
	case i < 0:
		return play.Refuse(diedrop.UnknownLocation, "%s has no visible location %s", region, id).On("location")
	case at.State.Draft.GetLocations()[i].GetKind() != diedrop.KindSettlement:
		return play.Refuse(diedrop.NotSettlement, "%s is no settlement", id).On("location")
	}
	return nil
}

// boardStream makes a dice stream of a board, or finds it made, and returns its commitment.
func (s *Server) boardStream(ctx context.Context, campaign, name, stream string) ([]byte, error) {
	res, err := s.cfg.Dice.CreateStream(auth.WithoutActor(ctx), &dicev1.CreateStreamRequest{
		Parent: campaign, StreamId: adapter.IDOf(stream), Holder: name, RequestId: requestid.Derive(stream, "create"),
	})
	if err != nil {
		return nil, fault.FromStatus(err)
	}
	return res.GetStream().GetCommitment(), nil
}

// GetMissionBoard implements MissionService.
func (s *Server) GetMissionBoard(ctx context.Context, req *travelv1.GetMissionBoardRequest) (*travelv1.GetMissionBoardResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.boards.Load(ctx, req.GetName())
	if err != nil {
		return nil, missing(err, "name", req.GetName())
	}
	return adapter.Redact(caller, &travelv1.GetMissionBoardResponse{MissionBoard: boardToProto(at)}), nil
}

// ListMissionBoards implements MissionService.
func (s *Server) ListMissionBoards(ctx context.Context, req *travelv1.ListMissionBoardsRequest) (*travelv1.ListMissionBoardsResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := adapter.SameCampaign(caller.Campaign, "within", req.GetWithin()); err != nil {
		return nil, err
	}
	page, err := s.boards.List(ctx, journal.Query[board]{
		Campaign: caller.Campaign, Parent: req.GetWithin(), PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &travelv1.ListMissionBoardsResponse{
		MissionBoards: each(page.Rows, boardToProto), NextPageToken: page.NextToken,
	}), nil
}

// WatchMissionBoard implements MissionService.
func (s *Server) WatchMissionBoard(req *travelv1.WatchMissionBoardRequest, stream travelv1.MissionService_WatchMissionBoardServer) error {
	ctx := stream.Context()
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return err
	}
	err := s.boards.Watch(ctx, req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, evs boardEvents) error {
		caller, err := s.access.Caller(ctx, req.GetName()) // who lost their role sees no more
		if err != nil {
			return err
		}
		return stream.Send(adapter.Redact(caller, &travelv1.WatchMissionBoardResponse{Record: rec, Events: evs}))
	})
	return missing(err, "name", req.GetName())
}

// boardRequest is what the commands to a board have in common.
type boardRequest interface {
	proto.Message
	GetName() string
}

// commandBoard commits a command to a board.
func (s *Server) commandBoard(ctx context.Context, req boardRequest, decide func(context.Context, adapter.Caller, board, *play.Dice) (boardDecision, error)) (adapter.Caller, boardAnswer, error) {
	cmd, err := s.command(ctx, req, req.GetName())
	if err != nil {
		return cmd.Caller, boardAnswer{}, err
	}
	ans, err := s.boards.Commit(ctx, cmd, func(ctx context.Context, at boardAt, dice *play.Dice) (boardDecision, error) {
		return decide(ctx, cmd.Caller, at.State, dice)
	})
	return cmd.Caller, ans, missing(err, "name", req.GetName())
}

// chart commits a command of the rules to a board. GMs only.
func (s *Server) chart(ctx context.Context, req boardRequest, c diedrop.Command) (adapter.Caller, boardAnswer, error) {
	return s.commandBoard(ctx, req, func(ctx context.Context, caller adapter.Caller, b board, dice *play.Dice) (d boardDecision, err error) {
		if err := caller.RequireGM(); err != nil {
			return d, err
		}
		if b.Journey != "" {
			// Who is dead stays so, and nothing else of the journey counts: reading it is enough.
			at, err := s.journeys.Load(ctx, b.Journey)
			switch {
			case err != nil:
				return d, err
			case at.State.Play.Living() == 0:
				return d, play.Refuse(diedrop.PartyDead, "nobody of the company lives")
			}
		}
		evs, err := diedrop.DecideBoard(b.Ruleset, b.Board, c, dice)
		if err != nil {
			return d, err
		}
		for _, e := range evs {
			ev, err := boardEvent(b, e)
			if err != nil {
				return d, err
			}
			d.Events = append(d.Events, ev)
		}
		return d, nil
	})
}

// RollMissions implements MissionService.
func (s *Server) RollMissions(ctx context.Context, req *travelv1.RollMissionsRequest) (*travelv1.RollMissionsResponse, error) {
	c := diedrop.RollMissions{Count: int(req.GetCount()), False: ints(req.GetFalsePlaces())}
	caller, ans, err := s.chart(ctx, req, c)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &travelv1.RollMissionsResponse{Record: ans.Record, MissionBoard: boardToProto(ans.State), Events: ans.Events}), nil
}

// UseMission implements MissionService.
func (s *Server) UseMission(ctx context.Context, req *travelv1.UseMissionRequest) (*travelv1.UseMissionResponse, error) {
	caller, ans, err := s.chart(ctx, req, diedrop.UseMission{Number: int(req.GetNumber()), Replacement: req.GetReplacement()})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &travelv1.UseMissionResponse{Record: ans.Record, MissionBoard: boardToProto(ans.State), Events: ans.Events}), nil
}

// note commits a note of who means to see to a mission.
func (s *Server) note(ctx context.Context, req boardRequest, character string, number int32, decide func(takers []string) (*travelv1.MissionBoardEvent, error)) (adapter.Caller, boardAnswer, error) {
	return s.commandBoard(ctx, req, func(ctx context.Context, caller adapter.Caller, b board, _ *play.Dice) (d boardDecision, err error) {
		if err := s.mayActFor(ctx, caller, character); err != nil {
			return d, err
		}
		i := b.open(number)
		if i < 0 {
			return d, play.Refuse(diedrop.NoSuchMission, "mission %d is not open", number).On("number")
		}
		ev, err := decide(b.Told[i].GetTakers())
		d.Events = boardEvents{ev}
		return d, err
	})
}

// mayActFor refuses a caller who may not give commands for a character, and a character that is not there.
func (s *Server) mayActFor(ctx context.Context, caller adapter.Caller, character string) error {
	if err := caller.RequirePlay(); err != nil {
		return err
	}
	if err := adapter.SameCampaign(caller.Campaign, "character", character); err != nil {
		return err
	}
	res, err := s.cfg.Characters.GetCharacter(auth.WithoutActor(ctx), &partyv1.GetCharacterRequest{Name: character})
	if err != nil {
		return notThere(err, "character", character)
	}
	return caller.RequireActFor(res.GetCharacter().GetOwner(), character)
}

// TakeMission implements MissionService.
func (s *Server) TakeMission(ctx context.Context, req *travelv1.TakeMissionRequest) (*travelv1.TakeMissionResponse, error) {
	caller, ans, err := s.note(ctx, req, req.GetCharacter(), req.GetNumber(), func(takers []string) (*travelv1.MissionBoardEvent, error) {
		if slices.Contains(takers, req.GetCharacter()) {
			return nil, play.Refuse(reasonMissionTaken, "%s has taken mission %d", req.GetCharacter(), req.GetNumber()).On("number")
		}
		return &travelv1.MissionBoardEvent{Event: &travelv1.MissionBoardEvent_MissionTaken{
			MissionTaken: &travelv1.MissionTaken{Number: req.GetNumber(), Character: req.GetCharacter()},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &travelv1.TakeMissionResponse{Record: ans.Record, MissionBoard: boardToProto(ans.State), Events: ans.Events}), nil
}

// DropMission implements MissionService.
func (s *Server) DropMission(ctx context.Context, req *travelv1.DropMissionRequest) (*travelv1.DropMissionResponse, error) {
	caller, ans, err := s.note(ctx, req, req.GetCharacter(), req.GetNumber(), func(takers []string) (*travelv1.MissionBoardEvent, error) {
		if !slices.Contains(takers, req.GetCharacter()) {
			return nil, play.Refuse(reasonNotTaken, "%s has not taken mission %d", req.GetCharacter(), req.GetNumber()).On("number")
		}
		return &travelv1.MissionBoardEvent{Event: &travelv1.MissionBoardEvent_MissionDropped{
			MissionDropped: &travelv1.MissionDropped{Number: req.GetNumber(), Character: req.GetCharacter()},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &travelv1.DropMissionResponse{Record: ans.Record, MissionBoard: boardToProto(ans.State), Events: ans.Events}), nil
}

// RotateMissionBoard implements MissionService. The next stream is made before the record that names it, the old one
// revealed after it; what fails of that is left to the sweeper.
func (s *Server) RotateMissionBoard(ctx context.Context, req *travelv1.RotateMissionBoardRequest) (*travelv1.RotateMissionBoardResponse, error) {
	cmd, err := s.command(ctx, req, req.GetName())
	if err != nil {
		return nil, err
	}
	ans, known, err := s.boards.First(ctx, cmd) // asked for again, no stream is to be made
	if err == nil && !known {
		ans, err = s.boards.Commit(ctx, cmd, func(ctx context.Context, at boardAt, _ *play.Dice) (d boardDecision, err error) {
			if err := cmd.Caller.RequireGM(); err != nil {
				return d, err
			}
			next := &travelv1.MissionBoardRotated{Stream: streamOf(at.Campaign, at.Stream, len(at.State.Past)+1), Revealed: at.State.Stream}
			if next.Commitment, err = s.boardStream(ctx, at.Campaign, at.Stream, next.GetStream()); err != nil {
				return d, err
			}
			d.Owing, d.Events = true, boardEvents{{Event: &travelv1.MissionBoardEvent_Rotated{Rotated: next}}}
			return d, nil
		})
	}
	if err != nil {
		return nil, missing(err, "name", req.GetName())
	}
	if _, err := s.seeBoard(ctx, req.GetName()); err != nil {
		s.cfg.Logger.WarnContext(ctx, "stream not revealed yet", "board", req.GetName(), "err", err)
	}
	return adapter.Redact(cmd.Caller, &travelv1.RotateMissionBoardResponse{Record: ans.Record, MissionBoard: boardToProto(ans.State), Events: ans.Events}), nil
}

// seeBoard reveals every stream that a board has left behind.
func (s *Server) seeBoard(ctx context.Context, name string) (bool, error) {
	at, err := s.boards.Load(ctx, name)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, stream := range at.State.Past {
		_, err := s.cfg.Dice.RevealStream(auth.WithoutActor(ctx), &dicev1.RevealStreamRequest{Name: stream, RequestId: requestid.Derive(stream, "reveal")})
		errs = append(errs, fault.FromStatus(err))
	}
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return true, s.boards.Journal().Settle(ctx, name, at.Seq)
}
