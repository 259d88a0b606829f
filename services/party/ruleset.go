package party

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// override is a value that a campaign sets, with who set it when.
type override struct {
	Value any    `json:"value"`
	Seq   int    `json:"seq"`
	Actor string `json:"actor"`
}

// overrides are what a campaign sets of one rule system. Seq is the record of the last change, so that campaign, system and
// Seq tell what they are.
type overrides struct {
	Seq    int                 `json:"seq"`
	Values map[string]override `json:"values,omitempty"`
}

func (o overrides) values() map[string]any {
	out := make(map[string]any, len(o.Values))
	for name, v := range o.Values {
		out[name] = v.Value
	}
	return out
}

// overridden folds a change of a ruleset.
func (c campaign) overridden(e *partyv1.RulesetOverridden) campaign {
	was := c.Rulesets[e.GetSystem()]
	now := overrides{Seq: int(e.GetSeq()), Values: maps.Clone(was.Values)}
	if now.Values == nil {
		now.Values = map[string]override{}
	}
	for _, name := range e.GetCleared() {
		delete(now.Values, name)
	}
	for name, v := range e.GetSet().AsMap() {
		now.Values[name] = override{Value: v, Seq: int(e.GetSeq()), Actor: e.GetActor()}
	}
	c.Rulesets = maps.Clone(c.Rulesets)
	if c.Rulesets == nil {
		c.Rulesets = map[string]overrides{}
	}
	c.Rulesets[e.GetSystem()] = now
	return c
}

// override decides a change of a ruleset. The whole ruleset that comes of it has to be one.
func (c campaign) override(system string, req *partyv1.OverrideRulesetRequest, actor string, seq int) (campaignEvents, error) {
	set := req.GetSet().AsMap()
	if len(set) > maxOverrides {
		return nil, fault.Invalid("set", "names %d parameters, at most %d are set at once", len(set), maxOverrides)
	}
	if len(set) == 0 && len(req.GetClear()) == 0 {
		return nil, fault.Invalid("set", "nothing is set and nothing is cleared")
	}
	for i, name := range req.GetClear() {
		if _, ok := set[name]; ok {
			return nil, fault.Invalid(fmt.Sprintf("clear[%d]", i), "%s is set and cleared", name)
		}
	}
	merged, dropped, err := ruleset.Merge(system, c.Rulesets[system].values(), set, req.GetClear())
	if err == nil {
		_, _, err = ruleset.Effective(system, merged)
	}
	if err != nil {
		return nil, atParameter(err, set, req.GetClear())
	}
	return campaignEvents{{Event: &partyv1.CampaignEvent_RulesetOverridden{RulesetOverridden: &partyv1.RulesetOverridden{
		System: system, Set: req.GetSet(), Cleared: dropped, Actor: actor, Seq: i32(seq),
	}}}}, nil
}

// maxOverrides bounds the parameters that one command sets.
const maxOverrides = 200

// atParameter names the field of the request that holds the parameter which the rules refuse. One that stands in neither
// list was overridden before, and does not go with what is changed now.
func atParameter(err error, set map[string]any, cleared []string) error {
	var r *play.Refusal
	if !errors.As(err, &r) || r.Field == "" {
		return err
	}
	if _, ok := set[r.Field]; ok {
		return r.At(fmt.Sprintf("set[%q]", r.Field))
	}
	if i := slices.Index(cleared, r.Field); i >= 0 {
		return r.At(fmt.Sprintf("clear[%d]", i))
	}
	return r.At("set")
}

// GetRuleset implements CampaignService.
func (s *Server) GetRuleset(ctx context.Context, req *partyv1.GetRulesetRequest) (*partyv1.GetRulesetResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	system, err := systemOf(req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.loadCampaign(ctx, caller.Campaign)
	if err != nil {
		return nil, err
	}
	out, err := s.rulesetToProto(at, system)
	return &partyv1.GetRulesetResponse{Ruleset: out}, err
}

// ListRulesets implements CampaignService.
func (s *Server) ListRulesets(ctx context.Context, req *partyv1.ListRulesetsRequest) (*partyv1.ListRulesetsResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	at, err := s.loadCampaign(ctx, caller.Campaign)
	if err != nil {
		return nil, err
	}
	res := &partyv1.ListRulesetsResponse{}
	for _, system := range ruleset.Systems() {
		out := rulesetHead(at, system)
		set := at.State.Rulesets[system].Values
		for _, p := range ruleset.Parameters(system) {
			if o, ok := set[p.Name]; ok {
				row, err := parameterToProto(p, o.Value)
				if err != nil {
					return nil, err
				}
				row.Override = o.toProto(p.Name)
				out.Parameters = append(out.Parameters, row)
			}
		}
		res.Rulesets = append(res.Rulesets, out)
	}
	return res, nil
}

// OverrideRuleset implements CampaignService.
func (s *Server) OverrideRuleset(ctx context.Context, req *partyv1.OverrideRulesetRequest) (*partyv1.OverrideRulesetResponse, error) {
	name, err := adapter.CampaignOf(req.GetName())
	if err != nil {
		return nil, err
	}
	cmd, err := s.commandOn(ctx, req, name)
	if err != nil {
		return nil, err
	}
	system, err := systemOf(req.GetName())
	if err != nil {
		return nil, err
	}
	ans, err := s.campaigns.Commit(ctx, cmd, func(_ context.Context, at journal.At[campaign], _ *play.Dice) (d adapter.Decision[*partyv1.CampaignEvent], err error) {
		if err := cmd.Caller.RequireGM(); err != nil {
			return d, err
		}
		d.Events, err = at.State.override(system, req, cmd.Caller.Subject, at.Next())
		return d, err
	})
	if err != nil {
		return nil, err
	}
	out, err := s.rulesetToProto(ans.State, system)
	return &partyv1.OverrideRulesetResponse{Record: ans.Record, Ruleset: out}, err
}

// GetEffectiveRuleset implements MembershipService.
func (s *Server) GetEffectiveRuleset(ctx context.Context, req *partyv1.GetEffectiveRulesetRequest) (*partyv1.GetEffectiveRulesetResponse, error) {
	if err := adapter.RequireService(ctx); err != nil {
		return nil, err
	}
	document, seq, err := s.Ruleset(ctx, req.GetCampaign(), req.GetSystem())
	if err != nil {
		return nil, err
	}
	return &partyv1.GetEffectiveRulesetResponse{Document: document, CampaignSeq: i32(seq)}, nil
}

// Ruleset implements adapter.Rulesets.
func (s *Server) Ruleset(ctx context.Context, campaign, system string) ([]byte, int, error) {
	if !ruleset.Known(system) {
		return nil, 0, unknown("system", system)
	}
	at, err := s.campaigns.Load(ctx, campaign)
	if fault.KindOf(err) == fault.NotFound && err != nil {
		return nil, 0, unknown("campaign", campaign)
	}
	if err != nil {
		return nil, 0, err
	}
	document, _, err := s.effective(at, system)
	return document, at.Seq, err
}

// systemOf reads the rule system out of a ruleset's name.
func systemOf(name string) (string, error) {
	system := adapter.IDOf(name)
	if !ruleset.Known(system) {
		return "", unknown("name", name)
	}
	return system, nil
}

// effective makes the document of a campaign. Overrides that an earlier version took and this one does not are refused as
// the campaign's state, not as anything in the request at hand.
func (s *Server) effective(at journal.At[campaign], system string) (document []byte, origins map[string]string, err error) {
	document, origins, err = ruleset.Effective(system, at.State.Rulesets[system].values())
	var r *play.Refusal
	if errors.As(err, &r) {
		return nil, nil, fault.New(fault.FailedPrecondition, ruleset.Invalid, "the campaign's overrides of %s have to be mended: %s", system, r.Message).
			With("system", system).With("parameter", r.Field)
	}
	return document, origins, err
}

// diggerRules returns the Digger rules of a campaign as it stands.
func (s *Server) diggerRules(at journal.At[campaign]) (*digger.Ruleset, error) {
	set := at.State.Rulesets[ruleset.Digger]
	if len(set.Values) == 0 {
		return digger.Default(), nil
	}
	return s.digger.get(rulesKey{at.Stream, set.Seq}, func() (*digger.Ruleset, error) {
		document, _, err := s.effective(at, ruleset.Digger)
		if err != nil {
			return nil, err
		}
		return digger.ParseRuleset(document)
	})
}

// dieDropRules returns the Die Drop rules of a campaign as it stands.
func (s *Server) dieDropRules(at journal.At[campaign]) (*diedrop.Ruleset, error) {
	set := at.State.Rulesets[ruleset.DieDrop]
	if len(set.Values) == 0 {
		return diedrop.Default(), nil
	}
	return s.dieDrop.get(rulesKey{at.Stream, set.Seq}, func() (*diedrop.Ruleset, error) {
		document, _, err := s.effective(at, ruleset.DieDrop)
		if err != nil {
			return nil, err
		}
		return diedrop.Parse(document)
	})
}

// rulesKey tells parsed rulesets apart: by the campaign and its last record that changed them.
type rulesKey struct {
	campaign string
	seq      int
}

// parsed keeps rulesets that were made before.
type parsed[R any] struct {
	mu    sync.Mutex
	known map[rulesKey]R
}

// maxParsed bounds what is kept; beyond it everything is dropped.
const maxParsed = 256

func (p *parsed[R]) get(key rulesKey, parse func() (R, error)) (R, error) {
	p.mu.Lock()
	rules, ok := p.known[key]
	p.mu.Unlock()
	if ok {
		return rules, nil
	}
	rules, err := parse()
	if err != nil {
		return rules, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxParsed {
		p.known = map[rulesKey]R{}
	}
	p.known[key] = rules
	return rules, nil
}

func rulesetHead(at journal.At[campaign], system string) *partyv1.Ruleset {
	return &partyv1.Ruleset{Name: at.Stream + "/rulesets/" + system, Etag: at.Etag(), Seq: i32(at.Seq)}
}

func (s *Server) rulesetToProto(at journal.At[campaign], system string) (*partyv1.Ruleset, error) {
	document, origins, err := s.effective(at, system)
	if err != nil {
		return nil, err
	}
	values, err := ruleset.Values(system, document)
	if err != nil {
		return nil, err
	}
	out := rulesetHead(at, system)
	out.Document = &structpb.Struct{}
	if err := out.Document.UnmarshalJSON(document); err != nil {
		return nil, err
	}
	for _, p := range ruleset.Parameters(system) {
		row, err := parameterToProto(p, values[p.Name])
		if err != nil {
			return nil, err
		}
		if from, ok := origins[p.Name]; ok {
			row.Override = at.State.Rulesets[system].Values[from].toProto(from)
		}
		out.Parameters = append(out.Parameters, row)
	}
	return out, nil
}

func (o override) toProto(parameter string) *partyv1.RulesetOverride {
	return &partyv1.RulesetOverride{Seq: i32(o.Seq), Actor: o.Actor, Parameter: parameter}
}

var parameterKinds = map[ruleset.Kind]partyv1.RulesetParameter_Kind{
	ruleset.Integer: partyv1.RulesetParameter_KIND_INTEGER,
	ruleset.Number:  partyv1.RulesetParameter_KIND_NUMBER,
	ruleset.Boolean: partyv1.RulesetParameter_KIND_BOOLEAN,
	ruleset.Enum:    partyv1.RulesetParameter_KIND_ENUM,
	ruleset.List:    partyv1.RulesetParameter_KIND_LIST,
	ruleset.Map:     partyv1.RulesetParameter_KIND_MAP,
}

func parameterToProto(p ruleset.Parameter, value any) (*partyv1.RulesetParameter, error) {
	out := &partyv1.RulesetParameter{Name: p.Name, Kind: parameterKinds[p.Kind], Nullable: p.Nullable, Note: p.Note, Rules: p.Rules}
	if p.Min != nil {
		out.Min = proto.Float64(*p.Min)
	}
	if p.Max != nil {
		out.Max = proto.Float64(*p.Max)
	}
	var err error
	if out.Value, err = structpb.NewValue(value); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	if out.DefaultValue, err = structpb.NewValue(p.Default); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	for _, o := range p.Options {
		v, err := structpb.NewValue(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		out.Options = append(out.Options, v)
	}
	return out, nil
}
