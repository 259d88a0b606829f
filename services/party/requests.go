package party

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// FileRequest implements CampaignService. Who files a note is told its number; what it says only GMs read.
func (s *Server) FileRequest(ctx context.Context, req *partyv1.FileRequestRequest) (*partyv1.FileRequestResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	ans, err := s.changeCampaign(ctx, req, req.GetParent(), func(ctx context.Context, caller adapter.Caller, c campaign) (campaignEvents, error) {
		if _, err := s.actor(ctx, caller, req.GetCharacter()); err != nil {
			return nil, err
		}
		return c.decideRoster(digger.Default(), "", digger.FileRequest{Character: req.GetCharacter(), Text: req.GetText()})
	})
	if err != nil {
		return nil, err
	}
	filed := ans.State.State.Roster.Requests
	return adapter.Redact(caller, &partyv1.FileRequestResponse{
		Record: ans.Record, Request: requestToProto(ans.State.Stream, filed[len(filed)-1]),
	}), nil
}

// ListRequests implements CampaignService. The token of a page is the number of the last note before it.
func (s *Server) ListRequests(ctx context.Context, req *partyv1.ListRequestsRequest) (*partyv1.ListRequestsResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := caller.RequireGM(); err != nil {
		return nil, err
	}
	at, err := s.loadCampaign(ctx, caller.Campaign)
	if err != nil {
		return nil, err
	}
	all := at.State.Roster.Requests
	after, err := readRequestToken(req.GetPageToken(), len(all))
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = journal.DefaultPageSize
	}
	size = min(size, journal.MaxPageSize)
	res := &partyv1.ListRequestsResponse{}
	for _, r := range all[after:] {
		if !r.Open && !req.GetShowClosed() {
			continue
		}
		if len(res.Requests) == size {
			res.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(requestToken + strconv.Itoa(after)))
			break
		}
		res.Requests = append(res.Requests, requestToProto(caller.Campaign, r))
		after = r.Number
	}
	return res, nil
}

const requestToken = "requests/"

func readRequestToken(token string, last int) (after int, err error) {
	if token == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if n, ok := strings.CutPrefix(string(raw), requestToken); ok && err == nil {
		if after, err := strconv.Atoi(n); err == nil && after > 0 && after <= last {
			return after, nil
		}
	}
	return 0, fault.Invalid("page_token", "page_token was not made for this list").Because(journal.ReasonPageToken)
}

// CloseRequest implements CampaignService.
func (s *Server) CloseRequest(ctx context.Context, req *partyv1.CloseRequestRequest) (*partyv1.CloseRequestResponse, error) {
	name, err := adapter.CampaignOf(req.GetName())
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(adapter.IDOf(req.GetName()))
	if err != nil {
		return nil, unknown("name", req.GetName())
	}
	ans, err := s.changeCampaign(ctx, req, name, func(_ context.Context, caller adapter.Caller, c campaign) (campaignEvents, error) {
		if err := caller.RequireGM(); err != nil {
			return nil, err
		}
		if number < 1 || number > len(c.Roster.Requests) {
			return nil, unknown("name", req.GetName())
		}
		return c.decideRoster(digger.Default(), "", digger.CloseRequest{Number: number})
	})
	if err != nil {
		return nil, err
	}
	// Whoever could close it may read it; a repetition after the role is gone is redacted for the present one.
	caller, err := s.access.Caller(ctx, name)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(caller, &partyv1.CloseRequestResponse{
		Record: ans.Record, Request: requestToProto(name, ans.State.State.Roster.Requests[number-1]),
	}), nil
}

// requestToProto maps a note. Its name has the number without leading zeros, whatever the caller wrote.
func requestToProto(campaign string, r digger.Request) *partyv1.Request {
	return &partyv1.Request{Name: campaign + "/requests/" + strconv.Itoa(r.Number), Character: r.Character, Text: r.Text, Open: r.Open}
}
