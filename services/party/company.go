package party

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// CreateCompany implements CompanyService.
func (s *Server) CreateCompany(ctx context.Context, req *partyv1.CreateCompanyRequest) (*partyv1.CreateCompanyResponse, error) {
	cmd, err := s.creation(ctx, req, "companies", req.GetCompanyId(), req.GetRequestId())
	if err != nil {
		return nil, err
	}
	ans, err := s.companies.Commit(ctx, cmd, func(ctx context.Context, _ journal.At[company], _ *play.Dice) (d adapter.Decision[*partyv1.CompanyEvent], err error) {
		if err := cmd.Caller.RequirePlay(); err != nil {
			return d, err
		}
		now, err := s.loadCampaign(ctx, cmd.Caller.Campaign)
		if err != nil {
			return d, err
		}
		d.Note = noteOf(now)
		pack := req.GetPack()
		if pack == nil {
			pack = &partyv1.Pack{}
		} else if err := gmField(cmd.Caller, "pack"); err != nil {
			return d, err
		}
		if err := s.checkPack(now, pack); err != nil {
			return d, err
		}
		travelers := make([]*partyv1.Traveler, len(req.GetTravelers()))
		for i, t := range req.GetTravelers() {
			if travelers[i], err = s.traveler(ctx, cmd.Caller, fmt.Sprintf("travelers[%d]", i), t); err != nil {
				return d, err
			}
		}
		if err := s.requireOneOf(ctx, cmd.Caller, travelers); err != nil {
			return d, err
		}
		d.Events, err = gather(req.GetTitle(), travelers, pack)
		return d, err
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.CreateCompanyResponse{Record: ans.Record, Company: companyToProto(ans.State)}, nil
}

// GetCompany implements CompanyService.
func (s *Server) GetCompany(ctx context.Context, req *partyv1.GetCompanyRequest) (*partyv1.GetCompanyResponse, error) {
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return nil, err
	}
	at, err := s.companies.Load(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &partyv1.GetCompanyResponse{Company: companyToProto(at)}, nil
}

// ListCompanies implements CompanyService.
func (s *Server) ListCompanies(ctx context.Context, req *partyv1.ListCompaniesRequest) (*partyv1.ListCompaniesResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.companies.List(ctx, journal.Query[company]{
		Campaign: caller.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &partyv1.ListCompaniesResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		res.Companies = append(res.Companies, companyToProto(at))
	}
	return res, nil
}

// WatchCompany implements CompanyService.
func (s *Server) WatchCompany(req *partyv1.WatchCompanyRequest, stream partyv1.CompanyService_WatchCompanyServer) error {
	if _, err := s.access.Caller(stream.Context(), req.GetName()); err != nil {
		return err
	}
	return s.companies.Watch(stream.Context(), req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, events []*partyv1.CompanyEvent) error {
		caller, err := s.access.Caller(stream.Context(), req.GetName()) // who lost their role sees no more
		if err != nil {
			return err
		}
		return stream.Send(adapter.Redact(caller, &partyv1.WatchCompanyResponse{Record: rec, Events: events}))
	})
}

// AddTraveler implements CompanyService.
func (s *Server) AddTraveler(ctx context.Context, req *partyv1.AddTravelerRequest) (*partyv1.AddTravelerResponse, error) {
	ans, err := s.changeCompany(ctx, req, func(ctx context.Context, caller adapter.Caller, _ journal.At[campaign], c company) ([]*partyv1.CompanyEvent, error) {
		t, err := s.traveler(ctx, caller, "traveler", req.GetTraveler())
		if err != nil {
			return nil, err
		}
		if err := s.requireOneOf(ctx, caller, append([]*partyv1.Traveler{t}, c.Travelers...)); err != nil {
			return nil, err
		}
		return c.add(t)
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.AddTravelerResponse{Record: ans.Record, Company: companyToProto(ans.State)}, nil
}

// RemoveTraveler implements CompanyService.
func (s *Server) RemoveTraveler(ctx context.Context, req *partyv1.RemoveTravelerRequest) (*partyv1.RemoveTravelerResponse, error) {
	ans, err := s.changeCompany(ctx, req, func(ctx context.Context, caller adapter.Caller, _ journal.At[campaign], c company) ([]*partyv1.CompanyEvent, error) {
		if err := s.requireOneOf(ctx, caller, c.Travelers); err != nil {
			return nil, err
		}
		return c.remove(req.GetLabel())
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.RemoveTravelerResponse{Record: ans.Record, Company: companyToProto(ans.State)}, nil
}

// SetPack implements CompanyService.
func (s *Server) SetPack(ctx context.Context, req *partyv1.SetPackRequest) (*partyv1.SetPackResponse, error) {
	ans, err := s.changeCompany(ctx, req, func(_ context.Context, caller adapter.Caller, now journal.At[campaign], c company) ([]*partyv1.CompanyEvent, error) {
		if err := caller.RequireGM(); err != nil {
			return nil, err
		}
		if err := s.checkPack(now, req.GetPack()); err != nil {
			return nil, err
		}
		return c.setPack(req.GetPack())
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.SetPackResponse{Record: ans.Record, Company: companyToProto(ans.State)}, nil
}

// changeCompany commits a command to a company, which sees the campaign as it is now; the record notes as of which record.
func (s *Server) changeCompany(ctx context.Context, req named, decide func(context.Context, adapter.Caller, journal.At[campaign], company) ([]*partyv1.CompanyEvent, error)) (adapter.Answer[company, *partyv1.CompanyEvent], error) {
	cmd, err := s.command(ctx, req)
	if err != nil {
		return adapter.Answer[company, *partyv1.CompanyEvent]{}, err
	}
	return s.companies.Commit(ctx, cmd, func(ctx context.Context, at journal.At[company], _ *play.Dice) (d adapter.Decision[*partyv1.CompanyEvent], err error) {
		now, err := s.loadCampaign(ctx, cmd.Caller.Campaign)
		if err != nil {
			return d, err
		}
		d.Note = noteOf(now)
		d.Events, err = decide(ctx, cmd.Caller, now, at.State)
		return d, err
	})
}

// checkPack refuses what a GM puts into a pack against the campaign's present rules. What a company has stays as it is.
func (s *Server) checkPack(now journal.At[campaign], p *partyv1.Pack) error {
	rules, err := s.dieDropRules(now)
	if err != nil {
		return err
	}
	if most := rules.MaxFoodDice(); len(p.GetFood()) > most { // DDW-SLOT-11
		return fault.Invalid("pack.food", "a company has at most %d food dice", most)
	}
	return nil
}

// traveler completes and checks who is to join: a character of the campaign, which brings its own vitals, or a hireling.
func (s *Server) traveler(ctx context.Context, caller adapter.Caller, field string, t *partyv1.Traveler) (*partyv1.Traveler, error) {
	if t.GetTorches() != 0 || t.GetOil() != 0 || t.GetFoodSlots() != 0 {
		if err := gmField(caller, field); err != nil {
			return nil, err
		}
	}
	t = proto.CloneOf(t)
	if t.GetCharacter() == "" {
		if t.GetLabel() == "" {
			return nil, fault.Invalid(field+".label", "a hireling needs a label")
		}
		if t.Vitals == nil {
			t.Vitals = freshVitals()
		}
		return t, checkVitals(field+".vitals", t.Vitals)
	}
	if t.Vitals != nil {
		return nil, fault.Invalid(field+".vitals", "a character brings its own")
	}
	if _, err := s.character(ctx, caller.Campaign, field+".character", t.GetCharacter()); err != nil {
		return nil, err
	}
	if t.GetLabel() == "" {
		t.Label = adapter.IDOf(t.GetCharacter())
	}
	return t, nil
}

// requireOneOf refuses whoever may act for none of the travelers.
func (s *Server) requireOneOf(ctx context.Context, caller adapter.Caller, travelers []*partyv1.Traveler) error {
	if caller.GM() {
		return nil
	}
	for _, t := range travelers {
		if t.GetCharacter() == "" {
			continue
		}
		ch, err := s.character(ctx, caller.Campaign, "character", t.GetCharacter())
		if err != nil {
			return err
		}
		if caller.MayActFor(ch.State.Owner, t.GetCharacter()) {
			return nil
		}
	}
	return fault.New(fault.PermissionDenied, "NOT_YOUR_CHARACTER", "%s may act for none of the travelers", caller.Subject)
}

// gmField refuses a field that only game masters may set.
func gmField(caller adapter.Caller, field string) error {
	if caller.GM() {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may set %s", field).At(field, "is for game masters")
}

func companyToProto(at journal.At[company]) *partyv1.Company {
	c := &partyv1.Company{
		Name: at.Stream, Title: at.State.Title, Travelers: at.State.Travelers, Pack: at.State.Pack,
		Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created),
	}
	if held := at.State.Leases.toProto(); len(held) > 0 {
		c.Lease = held[0]
	}
	return c
}
