package party

import (
	"context"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// Membership implements adapter.Members from the campaigns' own journals. A campaign that does not exist and one in
// which the subject has no role cannot be told apart.
func (s *Server) Membership(ctx context.Context, campaign, subject string) (adapter.Membership, error) {
	at, err := s.campaigns.Load(ctx, campaign)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return adapter.Membership{}, err
	}
	m, ok := at.State.Members.find(subject)
	if err != nil || !ok {
		return adapter.Membership{}, fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist", campaign).With("resource", campaign)
	}
	return adapter.Membership{Role: m.Role, Characters: m.Characters, Chapter: at.State.Chapter, CampaignSeq: at.Seq}, nil
}

// GetMembership implements MembershipService.
func (s *Server) GetMembership(ctx context.Context, req *partyv1.GetMembershipRequest) (*partyv1.GetMembershipResponse, error) {
	if err := adapter.RequireService(ctx); err != nil {
		return nil, err
	}
	m, err := s.Membership(ctx, req.GetCampaign(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	return &partyv1.GetMembershipResponse{
		Role: m.Role, Characters: m.Characters,
		Chapter: i32(m.Chapter), CampaignSeq: i32(m.CampaignSeq),
	}, nil
}
