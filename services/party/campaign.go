package party

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

type (
	campaignAnswer = adapter.Answer[campaign, *partyv1.CampaignEvent]
	campaignEvents = []*partyv1.CampaignEvent
)

// CreateCampaign implements CampaignService.
func (s *Server) CreateCampaign(ctx context.Context, req *partyv1.CreateCampaignRequest) (*partyv1.CreateCampaignResponse, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, errNoToken()
	}
	id := req.GetCampaignId()
	if id == "" {
		id = requestid.Derive(p.Effective(), "campaigns/"+req.GetRequestId())
	}
	name := "campaigns/" + id
	caller := adapter.Caller{Campaign: name, Subject: p.Effective(), Service: p.Service, Itself: p.Service && p.Actor == ""}
	cmd, err := adapter.CommandOf(ctx, req, caller, name)
	if err != nil {
		return nil, err
	}
	cmd.Mode = journal.Create
	ans, err := s.campaigns.Commit(ctx, cmd, func(context.Context, journal.At[campaign], *play.Dice) (d adapter.Decision[*partyv1.CampaignEvent], err error) {
		for i, m := range req.GetMembers() {
			if err := sameCampaign(name, fmt.Sprintf("members[%d].characters", i), m.GetCharacters()...); err != nil {
				return d, err
			}
		}
		ms, err := found(caller.Subject, req.GetMembers())
		d.Events = campaignEvents{{Event: &partyv1.CampaignEvent_Created{Created: &partyv1.CampaignCreated{
			Title: req.GetTitle(), Chapter: max(req.GetChapter(), 1), Members: ms,
		}}}}
		return d, err
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.CreateCampaignResponse{Record: ans.Record, Campaign: campaignToProto(ans.State)}, nil
}

// GetCampaign implements CampaignService.
func (s *Server) GetCampaign(ctx context.Context, req *partyv1.GetCampaignRequest) (*partyv1.GetCampaignResponse, error) {
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return nil, err
	}
	at, err := s.loadCampaign(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &partyv1.GetCampaignResponse{Campaign: campaignToProto(at)}, nil
}

// ListCampaigns implements CampaignService. A service acting for itself sees them all.
func (s *Server) ListCampaigns(ctx context.Context, req *partyv1.ListCampaignsRequest) (*partyv1.ListCampaignsResponse, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return nil, errNoToken()
	}
	q := journal.Query[campaign]{PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken()}
	if !p.Service || p.Actor != "" {
		q.Match = func(at journal.At[campaign]) bool {
			_, ok := at.State.Members.find(p.Effective())
			return ok
		}
	}
	page, err := s.campaigns.List(ctx, q)
	if err != nil {
		return nil, err
	}
	res := &partyv1.ListCampaignsResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		res.Campaigns = append(res.Campaigns, campaignToProto(at))
	}
	return res, nil
}

// SetMember implements CampaignService.
func (s *Server) SetMember(ctx context.Context, req *partyv1.SetMemberRequest) (*partyv1.SetMemberResponse, error) {
	ans, err := s.changeCampaign(ctx, req, req.GetName(), func(ctx context.Context, caller adapter.Caller, c campaign) (campaignEvents, error) {
		m := req.GetMember()
		if err := c.Members.set(caller, m); err != nil {
			return nil, err
		}
		for i, ch := range m.GetCharacters() {
			if _, err := s.character(ctx, caller.Campaign, fmt.Sprintf("member.characters[%d]", i), ch); err != nil {
				return nil, err
			}
		}
		return campaignEvents{{Event: &partyv1.CampaignEvent_MemberSet{MemberSet: &partyv1.MemberSet{Member: m}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.SetMemberResponse{Record: ans.Record, Campaign: campaignToProto(ans.State)}, nil
}

// RemoveMember implements CampaignService.
func (s *Server) RemoveMember(ctx context.Context, req *partyv1.RemoveMemberRequest) (*partyv1.RemoveMemberResponse, error) {
	ans, err := s.changeCampaign(ctx, req, req.GetName(), func(_ context.Context, caller adapter.Caller, c campaign) (campaignEvents, error) {
		if err := c.Members.remove(caller, req.GetSubject()); err != nil {
			return nil, err
		}
		return campaignEvents{{Event: &partyv1.CampaignEvent_MemberRemoved{MemberRemoved: &partyv1.MemberRemoved{Subject: req.GetSubject()}}}}, nil
	})
	if fault.KindOf(err) == fault.NotFound {
		// Who gave up their own role and asks again has none to ask with, but is owed the first answer.
		if first, ok := s.ownRemoval(ctx, req); ok {
			ans, err = first, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &partyv1.RemoveMemberResponse{Record: ans.Record, Campaign: campaignToProto(ans.State)}, nil
}

func (s *Server) ownRemoval(ctx context.Context, req *partyv1.RemoveMemberRequest) (campaignAnswer, bool) {
	p, ok := auth.FromContext(ctx)
	if !ok || p.Effective() != req.GetSubject() {
		return campaignAnswer{}, false
	}
	cmd, err := adapter.CommandOf(ctx, req, adapter.Caller{Campaign: req.GetName(), Subject: p.Effective(), Service: p.Service}, req.GetName())
	if err != nil {
		return campaignAnswer{}, false
	}
	first, ok, err := s.campaigns.First(ctx, cmd)
	return first, ok && err == nil
}

// SetChapter implements CampaignService.
func (s *Server) SetChapter(ctx context.Context, req *partyv1.SetChapterRequest) (*partyv1.SetChapterResponse, error) {
	ans, err := s.changeCampaign(ctx, req, req.GetName(), func(_ context.Context, caller adapter.Caller, c campaign) (campaignEvents, error) {
		if err := caller.RequireGM(); err != nil {
			return nil, err
		}
		if int(req.GetChapter()) <= c.Chapter {
			return nil, play.Refuse("CHAPTER_PAST", "the story is in chapter %d already", c.Chapter)
		}
		return campaignEvents{{Event: &partyv1.CampaignEvent_ChapterSet{ChapterSet: &partyv1.ChapterSet{Chapter: req.GetChapter()}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &partyv1.SetChapterResponse{Record: ans.Record, Campaign: campaignToProto(ans.State)}, nil
}

// WatchCampaign implements CampaignService.
func (s *Server) WatchCampaign(req *partyv1.WatchCampaignRequest, stream partyv1.CampaignService_WatchCampaignServer) error {
	if _, err := s.access.Caller(stream.Context(), req.GetName()); err != nil {
		return err
	}
	return s.campaigns.Watch(stream.Context(), req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, events []*partyv1.CampaignEvent) error {
		caller, err := s.access.Caller(stream.Context(), req.GetName()) // who lost their role sees no more
		if err != nil {
			return err
		}
		return stream.Send(adapter.Redact(caller, &partyv1.WatchCampaignResponse{Record: rec, Events: events}))
	})
}

// changeCampaign commits a command to a campaign. Decide is where roles are checked, so that a repeated request gets its
// first answer whatever has become of the caller's role.
func (s *Server) changeCampaign(ctx context.Context, req reqWithID, name string, decide func(context.Context, adapter.Caller, campaign) (campaignEvents, error)) (campaignAnswer, error) {
	cmd, err := s.commandOn(ctx, req, name)
	if err != nil {
		return campaignAnswer{}, err
	}
	return s.campaigns.Commit(ctx, cmd, func(ctx context.Context, at journal.At[campaign], _ *play.Dice) (d adapter.Decision[*partyv1.CampaignEvent], err error) {
		d.Events, err = decide(ctx, cmd.Caller, at.State)
		return d, err
	})
}

// loadCampaign loads a campaign of which the caller is known to be a member.
func (s *Server) loadCampaign(ctx context.Context, name string) (journal.At[campaign], error) {
	at, err := s.campaigns.Load(ctx, name)
	if fault.KindOf(err) == fault.NotFound {
		return at, unknown("name", name)
	}
	return at, err
}

func campaignToProto(at journal.At[campaign]) *partyv1.Campaign {
	c := &partyv1.Campaign{
		Name: at.Stream, Title: at.State.Title, Chapter: i32(at.State.Chapter),
		Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created),
	}
	for _, m := range at.State.Members {
		c.Members = append(c.Members, m.toProto())
	}
	return c
}

// sameCampaign refuses resources of another campaign as if they did not exist.
func sameCampaign(campaign, field string, names ...string) error {
	for _, name := range names {
		if err := adapter.SameCampaign(campaign, field, name); err != nil {
			return err
		}
	}
	return nil
}

func errNoToken() error {
	return fault.New(fault.Unauthenticated, "TOKEN_MISSING", "a bearer token is needed")
}
