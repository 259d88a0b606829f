package party

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// CreateParty implements CampaignService.
func (s *Server) CreateParty(ctx context.Context, req *partyv1.CreatePartyRequest) (*partyv1.CreatePartyResponse, error) {
	id := req.GetPartyId()
	if id == "" {
		id = requestid.Derive(req.GetParent(), "parties/"+req.GetRequestId())
	}
	name := req.GetParent() + "/parties/" + id
	ans, err := s.changeRoster(ctx, req, req.GetParent(), func(ctx context.Context, caller adapter.Caller, rules *digger.Ruleset, c campaign) (campaignEvents, error) {
		leader, err := s.actor(ctx, caller, req.GetCharacter())
		if err != nil {
			return nil, err
		}
		if err := adapter.SameCampaign(caller.Campaign, "dungeon", req.GetDungeon()); err != nil {
			return nil, err
		}
		return c.createParty(rules, name, leader, req.GetDungeon())
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.CreatePartyResponse{Record: ans.Record, Party: partyToProto(ans.State, name)}, nil
}

// GetParty implements CampaignService.
func (s *Server) GetParty(ctx context.Context, req *partyv1.GetPartyRequest) (*partyv1.GetPartyResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.loadCampaign(ctx, caller.Campaign)
	if err != nil {
		return nil, err
	}
	if !at.State.hasParty(req.GetName()) {
		return nil, unknown("name", req.GetName())
	}
	return &partyv1.GetPartyResponse{Party: partyToProto(at, req.GetName())}, nil
}

// ListParties implements CampaignService. The token of a page is the ordinal of the last party before it, so that
// dissolved parties disturb no page.
func (s *Server) ListParties(ctx context.Context, req *partyv1.ListPartiesRequest) (*partyv1.ListPartiesResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	if req.GetPageSize() < 0 {
		return nil, fault.Invalid("page_size", "page_size is %d, below 0", req.GetPageSize())
	}
	at, err := s.loadCampaign(ctx, caller.Campaign)
	if err != nil {
		return nil, err
	}
	after, err := readPartyToken(req.GetPageToken(), at.State.Last)
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = journal.DefaultPageSize
	}
	size = min(size, journal.MaxPageSize)
	res := &partyv1.ListPartiesResponse{}
	for _, p := range at.State.Roster.Parties {
		n := at.State.Ordinals[p.ID]
		if n <= after {
			continue
		}
		if len(res.Parties) == size {
			res.NextPageToken = partyToken(after)
			break
		}
		res.Parties = append(res.Parties, partyToProto(at, p.ID))
		after = n
	}
	return res, nil
}

const tokenPrefix = "parties/"

func partyToken(after int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + strconv.Itoa(after)))
}

func readPartyToken(token string, last int) (after int, err error) {
	if token == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if n, ok := strings.CutPrefix(string(raw), tokenPrefix); ok && err == nil {
		if after, err := strconv.Atoi(n); err == nil && after > 0 && after <= last {
			return after, nil
		}
	}
	return 0, fault.Invalid("page_token", "page_token was not made for this list").Because(journal.ReasonPageToken)
}

// JoinParty implements CampaignService.
func (s *Server) JoinParty(ctx context.Context, req *partyv1.JoinPartyRequest) (*partyv1.JoinPartyResponse, error) {
	ans, err := s.changeParty(ctx, req, func(ctx context.Context, caller adapter.Caller, rules *digger.Ruleset, c campaign) (campaignEvents, error) {
		m, err := s.actor(ctx, caller, req.GetCharacter())
		if err != nil {
			return nil, err
		}
		return c.decideRoster(rules, req.GetName(), digger.JoinParty{Party: req.GetName(), Member: m})
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.JoinPartyResponse{Record: ans.Record, Party: partyToProto(ans.State, req.GetName())}, nil
}

// LeaveParty implements CampaignService.
func (s *Server) LeaveParty(ctx context.Context, req *partyv1.LeavePartyRequest) (*partyv1.LeavePartyResponse, error) {
	ans, err := s.changeParty(ctx, req, func(ctx context.Context, caller adapter.Caller, rules *digger.Ruleset, c campaign) (campaignEvents, error) {
		if _, err := s.actor(ctx, caller, req.GetCharacter()); err != nil {
			return nil, err
		}
		return c.decideRoster(rules, req.GetName(), digger.LeaveParty{Party: req.GetName(), Character: req.GetCharacter()})
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.LeavePartyResponse{Record: ans.Record, Party: partyToProto(ans.State, req.GetName())}, nil
}

// PromoteMember implements CampaignService. A GM's reason stands for the leader's word.
func (s *Server) PromoteMember(ctx context.Context, req *partyv1.PromoteMemberRequest) (*partyv1.PromoteMemberResponse, error) {
	ans, err := s.changeParty(ctx, req, func(ctx context.Context, caller adapter.Caller, rules *digger.Ruleset, c campaign) (campaignEvents, error) {
		if _, err := s.actor(ctx, caller, req.GetCharacter()); err != nil {
			return nil, err
		}
		if _, err := s.character(ctx, caller.Campaign, "target", req.GetTarget()); err != nil {
			return nil, err
		}
		return c.decideRoster(rules, req.GetName(), digger.PromoteMember{
			Party: req.GetName(), Character: req.GetCharacter(), Target: req.GetTarget(), Override: req.GetOverrideReason() != "",
		})
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.PromoteMemberResponse{Record: ans.Record, Party: partyToProto(ans.State, req.GetName())}, nil
}

// ResetParty implements CampaignService.
func (s *Server) ResetParty(ctx context.Context, req *partyv1.ResetPartyRequest) (*partyv1.ResetPartyResponse, error) {
	ans, err := s.changeRoster(ctx, req, req.GetParent(), func(ctx context.Context, caller adapter.Caller, rules *digger.Ruleset, c campaign) (campaignEvents, error) {
		if _, err := s.actor(ctx, caller, req.GetCharacter()); err != nil {
			return nil, err
		}
		return c.resetParty(rules, req.GetCharacter())
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.ResetPartyResponse{Record: ans.Record, Campaign: campaignToProto(ans.State)}, nil
}

// partyRequest is a command to a party.
type partyRequest interface {
	named
	GetRequestId() string
}

// changeParty commits a command to a party that exists.
func (s *Server) changeParty(ctx context.Context, req partyRequest, decide rosterDecision) (campaignAnswer, error) {
	name, err := adapter.CampaignOf(req.GetName())
	if err != nil {
		return campaignAnswer{}, err
	}
	return s.changeRoster(ctx, req, name, func(ctx context.Context, caller adapter.Caller, rules *digger.Ruleset, c campaign) (campaignEvents, error) {
		if !c.hasParty(req.GetName()) {
			return nil, unknown("name", req.GetName())
		}
		return decide(ctx, caller, rules, c)
	})
}

// rosterDecision decides a command to a campaign's roster by the campaign's rules.
type rosterDecision func(context.Context, adapter.Caller, *digger.Ruleset, campaign) (campaignEvents, error)

// changeRoster commits a command to a campaign's roster.
func (s *Server) changeRoster(ctx context.Context, req reqWithID, name string, decide rosterDecision) (campaignAnswer, error) {
	cmd, err := s.commandOn(ctx, req, name)
	if err != nil {
		return campaignAnswer{}, err
	}
	return s.campaigns.Commit(ctx, cmd, func(ctx context.Context, at journal.At[campaign], _ *play.Dice) (d adapter.Decision[*partyv1.CampaignEvent], err error) {
		rules, err := s.diggerRules(at)
		if err != nil {
			return d, err
		}
		d.Events, err = decide(ctx, cmd.Caller, rules, at.State)
		return d, err
	})
}

// actor returns the acting character, which must be of the campaign and one that the caller may act for.
func (s *Server) actor(ctx context.Context, caller adapter.Caller, name string) (digger.Seat, error) {
	at, err := s.character(ctx, caller.Campaign, "character", name)
	if err != nil {
		return digger.Seat{}, err
	}
	return digger.Seat{Character: name, Owner: at.State.Owner}, caller.RequireActFor(at.State.Owner, name)
}
