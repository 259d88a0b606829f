package party

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// leasing says who lends a facet and who may hold it.
var leasing = map[partyv1.Facet]struct{ lender, holder string }{
	partyv1.Facet_FACET_ROSTER:  {"parties", "runs"},
	partyv1.Facet_FACET_LOADOUT: {"characters", "runs"},
	partyv1.Facet_FACET_PACK:    {"companies", "journeys"},
	partyv1.Facet_FACET_VITALS:  {"characters", "journeys"},
	partyv1.Facet_FACET_SHEET:   {"characters", "scenes"},
}

// leaseRequest is what the requests of LeaseService have in common.
type leaseRequest interface {
	proto.Message
	GetLender() string
	GetFacet() partyv1.Facet
	GetHolder() string
	GetRequestId() string
}

// leaseCommand checks a lease request and makes the lender's command of it. A party's lender is its campaign: the roster
// is part of that.
func (s *Server) leaseCommand(ctx context.Context, req leaseRequest) (adapter.Command, error) {
	if err := adapter.RequireService(ctx); err != nil {
		return adapter.Command{}, err
	}
	fits, ok := leasing[req.GetFacet()]
	if !ok || collectionOf(req.GetLender()) != fits.lender {
		return adapter.Command{}, fault.Invalid("facet", "%s is not lent by %s", req.GetFacet(), req.GetLender())
	}
	if collectionOf(req.GetHolder()) != fits.holder {
		return adapter.Command{}, fault.Invalid("holder", "%s is not borrowed by %s", req.GetFacet(), req.GetHolder())
	}
	caller, err := s.access.Caller(ctx, req.GetLender())
	if err != nil {
		return adapter.Command{}, err
	}
	if err := adapter.SameCampaign(caller.Campaign, "holder", req.GetHolder()); err != nil {
		return adapter.Command{}, err
	}
	stream := req.GetLender()
	if req.GetFacet() == partyv1.Facet_FACET_ROSTER {
		stream = caller.Campaign
	}
	return adapter.CommandOf(ctx, req, caller, stream)
}

// collectionOf returns the kind of a resource in a campaign, such as "runs".
func collectionOf(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

// TakeLease implements LeaseService. The answer is what the facet held when it was borrowed, also to a repetition.
func (s *Server) TakeLease(ctx context.Context, req *partyv1.TakeLeaseRequest) (*partyv1.TakeLeaseResponse, error) {
	cmd, err := s.leaseCommand(ctx, req)
	if err != nil {
		return nil, err
	}
	x := lent{req.GetFacet(), req.GetHolder()}
	switch req.GetFacet() {
	case partyv1.Facet_FACET_ROSTER:
		ans, err := s.campaigns.Commit(ctx, cmd, func(_ context.Context, at journal.At[campaign], _ *play.Dice) (d adapter.Decision[*partyv1.CampaignEvent], err error) {
			rules, err := s.diggerRules(at)
			if err != nil {
				return d, err
			}
			d.Events, err = at.State.lendRoster(rules, req.GetLender(), req.GetHolder())
			return d, err
		})
		if err != nil {
			return nil, err
		}
		return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Roster{Roster: ans.State.State.rosterFacet(req.GetLender())}}, nil
	case partyv1.Facet_FACET_PACK:
		ans, err := s.companies.Commit(ctx, cmd, func(_ context.Context, at journal.At[company], _ *play.Dice) (d adapter.Decision[*partyv1.CompanyEvent], err error) {
			d.Events, err = at.State.lend(req.GetHolder())
			return d, err
		})
		if err != nil {
			return nil, err
		}
		c := ans.State.State
		return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Pack{Pack: &partyv1.PackFacet{Travelers: c.Travelers, Pack: c.Pack}}}, nil
	}
	now, err := s.loadCampaign(ctx, cmd.Caller.Campaign)
	if err != nil {
		return nil, err
	}
	rules, err := s.diggerRules(now)
	if err != nil {
		return nil, err
	}
	ans, err := s.characters.Commit(ctx, cmd, func(_ context.Context, at journal.At[character], _ *play.Dice) (d adapter.Decision[*partyv1.CharacterEvent], err error) {
		d.Note = noteOf(now)
		d.Events, err = at.State.lend(x)
		return d, err
	})
	if err != nil {
		return nil, err
	}
	if req.GetFacet() == partyv1.Facet_FACET_SHEET {
		ch := ans.State.State
		return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Sheet{Sheet: &partyv1.SheetFacet{
			Owner: ch.Owner, Title: ch.Title, Sheet: ch.Danger,
		}}}, nil
	}
	if req.GetFacet() == partyv1.Facet_FACET_LOADOUT {
		return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Loadout{Loadout: loadoutFacet(rules, ans.State.State)}}, nil
	}
	ch := ans.State.State
	return &partyv1.TakeLeaseResponse{Held: &partyv1.TakeLeaseResponse_Vitals{Vitals: &partyv1.VitalsFacet{
		Owner: ch.Owner, Title: ch.Title, Vitals: ch.Vitals,
	}}}, nil
}

// ReturnLease implements LeaseService. A lender that does not exist has lent nothing: an undone start gives back to every
// lender that it named, also to the one whose absence undid it.
func (s *Server) ReturnLease(ctx context.Context, req *partyv1.ReturnLeaseRequest) (*partyv1.ReturnLeaseResponse, error) {
	cmd, err := s.leaseCommand(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := checkResult(cmd.Caller.Campaign, req); err != nil {
		return nil, err
	}
	switch req.GetFacet() {
	case partyv1.Facet_FACET_ROSTER:
		_, err = s.campaigns.Commit(ctx, cmd, func(_ context.Context, at journal.At[campaign], _ *play.Dice) (d adapter.Decision[*partyv1.CampaignEvent], err error) {
			d.Events, err = at.State.takeBackRoster(req.GetLender(), req.GetHolder(), req.GetRoster())
			return d, err
		})
	case partyv1.Facet_FACET_PACK:
		_, err = s.companies.Commit(ctx, cmd, func(_ context.Context, at journal.At[company], _ *play.Dice) (d adapter.Decision[*partyv1.CompanyEvent], err error) {
			d.Events = at.State.takeBack(req.GetHolder(), req.GetPack())
			return d, nil
		})
	default:
		_, err = s.characters.Commit(ctx, cmd, func(_ context.Context, at journal.At[character], _ *play.Dice) (d adapter.Decision[*partyv1.CharacterEvent], err error) {
			d.Events = at.State.takeBack(lent{req.GetFacet(), req.GetHolder()}, req.GetVitals(), req.GetSheet())
			return d, nil
		})
	}
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	return &partyv1.ReturnLeaseResponse{}, nil
}

// checkResult refuses a result that is another facet's, names resources of another campaign or cannot be.
func checkResult(campaign string, req *partyv1.ReturnLeaseRequest) error {
	facet := req.GetFacet()
	switch result := req.GetResult().(type) {
	case nil:
	case *partyv1.ReturnLeaseRequest_Roster:
		if facet != partyv1.Facet_FACET_ROSTER {
			return fault.Invalid("roster", "is no result of %s", facet)
		}
		return sameCampaign(campaign, "roster", result.Roster.GetCharacter(), result.Roster.GetLeader())
	case *partyv1.ReturnLeaseRequest_Pack:
		if facet != partyv1.Facet_FACET_PACK {
			return fault.Invalid("pack", "is no result of %s", facet)
		}
		for _, t := range result.Pack.GetTravelers() {
			if err := sameCampaign(campaign, "pack.travelers", t.GetCharacter()); err != nil {
				return err
			}
			if t.GetVitals() != nil {
				if err := checkVitals("pack.travelers", t.GetVitals()); err != nil {
					return err
				}
			}
		}
	case *partyv1.ReturnLeaseRequest_Vitals:
		if facet != partyv1.Facet_FACET_VITALS {
			return fault.Invalid("vitals", "is no result of %s", facet)
		}
		return checkVitals("vitals", result.Vitals)
	case *partyv1.ReturnLeaseRequest_Sheet:
		if facet != partyv1.Facet_FACET_SHEET {
			return fault.Invalid("sheet", "is no result of %s", facet)
		}
	}
	return nil
}
