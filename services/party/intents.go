package party

import (
	"context"
	"fmt"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// intent is the fold of an intent's journal: one record, then nothing.
type intent struct {
	Fingerprint string `json:"fingerprint"`
	Type        string `json:"type"`
	JSON        string `json:"json"`
}

func (i intent) apply(ev *partyv1.IntentEvent) (intent, error) {
	e, ok := ev.GetEvent().(*partyv1.IntentEvent_Kept)
	if !ok {
		return i, fmt.Errorf("unknown intent event %T", ev.GetEvent())
	}
	return intent{Fingerprint: e.Kept.GetFingerprint(), Type: e.Kept.GetIntent().GetType(), JSON: e.Kept.GetIntent().GetJson()}, nil
}

// KeepIntent implements IntentService. Each request id of each subject has a journal of its own, which only that subject
// reaches: what is kept may hold dice that a GM reports in secret.
func (s *Server) KeepIntent(ctx context.Context, req *partyv1.KeepIntentRequest) (*partyv1.KeepIntentResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	stream := caller.Campaign + "/intents/" + requestid.Derive(caller.Subject, req.GetRequestId())
	first, ok, err := s.keptIntent(ctx, stream, req)
	if err != nil || ok || req.GetIntent() == nil {
		return first, err
	}
	cmd, err := adapter.CommandOf(ctx, req, caller, stream)
	if err != nil {
		return nil, err
	}
	cmd.Mode = journal.Create
	ans, err := s.intents.Commit(ctx, cmd, func(context.Context, journal.At[intent], *play.Dice) (d adapter.Decision[*partyv1.IntentEvent], err error) {
		d.Events = []*partyv1.IntentEvent{{Event: &partyv1.IntentEvent_Kept{Kept: &partyv1.IntentKept{
			Fingerprint: req.GetFingerprint(), Intent: req.GetIntent(),
		}}}}
		return d, nil
	})
	if err == nil {
		return intentToProto(ans.State.State), nil
	}
	// Somebody was faster with the same id.
	if first, ok, lost := s.keptIntent(ctx, stream, req); ok || lost != nil {
		return first, lost
	}
	return nil, err
}

// keptIntent returns what was kept, if anything was.
func (s *Server) keptIntent(ctx context.Context, stream string, req *partyv1.KeepIntentRequest) (*partyv1.KeepIntentResponse, bool, error) {
	at, err := s.intents.Load(ctx, stream)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return &partyv1.KeepIntentResponse{}, false, nil
	case err != nil:
		return nil, false, err
	case at.State.Fingerprint != req.GetFingerprint():
		return nil, false, fault.Invalid("request_id", "request_id %q was used for another line", req.GetRequestId()).Because(journal.ReasonRequestIDReused)
	}
	return intentToProto(at.State), true, nil
}

func intentToProto(i intent) *partyv1.KeepIntentResponse {
	return &partyv1.KeepIntentResponse{Intent: &partyv1.Intent{Type: i.Type, Json: i.JSON}}
}
