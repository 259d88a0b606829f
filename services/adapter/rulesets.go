package adapter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Rulesets tells by which rules a campaign plays at present. Whoever begins something asks once and keeps the answer in the
// record with which it starts, so that later overrides do not touch it.
type Rulesets interface {
	// Ruleset returns the complete document of a rule system, one of the names that the package rules/ruleset has, with all
	// of the campaign's overrides in it, and the campaign record that it comes from. It fails with NOT_FOUND for an unknown
	// campaign or system, and with FAILED_PRECONDITION INVALID_RULESET when an override has to be mended first.
	Ruleset(ctx context.Context, campaign, system string) (document []byte, seq int, err error)
}

// Ruleset implements [Rulesets] by asking the party service, each time: who begins something wants the present rules.
func (r *RemoteMembers) Ruleset(ctx context.Context, campaign, system string) ([]byte, int, error) {
	res, err := r.client.GetEffectiveRuleset(auth.WithoutActor(ctx), &partyv1.GetEffectiveRulesetRequest{Campaign: campaign, System: system})
	if err != nil {
		return nil, 0, withoutFields(fault.FromStatus(err))
	}
	return res.GetDocument(), int(res.GetCampaignSeq()), nil
}

// withoutFields drops the fields of a fault: they are those of a request that the caller never saw.
func withoutFields(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) == 0 {
		return err
	}
	bare := *f
	bare.Fields = nil
	return &bare
}

// CampaignNote is the note of a record that was decided by the campaign as of one of its records.
func CampaignNote(seq int) string { return campaignNote + strconv.Itoa(seq) }

// CampaignSeq reads the campaign record out of such a note.
func CampaignSeq(note string) (int, error) {
	seq, ok := strings.CutPrefix(note, campaignNote)
	if !ok {
		return 0, fmt.Errorf("the note %q names no campaign record", note)
	}
	return strconv.Atoi(seq)
}

const campaignNote = "campaign_seq="

// Parsed returns a campaign's ruleset as a rules package reads it, with the campaign record that it comes from. Without
// rulesets, every campaign plays by the usual one; its record is 0 then.
func Parsed[R any](ctx context.Context, from Rulesets, campaign, system string, usual R, parse func([]byte) (R, error)) (R, int, error) {
	if from == nil {
		return usual, 0, nil
	}
	document, seq, err := from.Ruleset(ctx, campaign, system)
	if err != nil {
		return usual, 0, err
	}
	rules, err := parse(document)
	return rules, seq, err
}
