package console

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
)

// expeditionCommands hold journeys and what is entered on the way together. The other commands find the expedition of
// what they are about by themselves.
func expeditionCommands() []command {
	named := []arg{{name: "expedition", kind: name, optional: true}}
	return []command{
		{
			name: "expedition", aliases: []string{"expedition/info", "expedition/list", "expeditions"}, who: anyone, anyone: true, args: named,
			help: "Lists the expeditions that are not over, or shows the one named.", read: (*call).expeditions,
		},
		{
			name: "expedition/create", who: "anyone but spectators", anyone: true, args: []arg{{name: "title", kind: name}},
			options: []arg{{name: "company"}},
			help:    "Opens an expedition of a company; +travel/start with expedition=<title> sets it out.", plan: (*call).createExpedition,
		},
		{
			name: "expedition/abandon", who: "travelers; game masters", args: []arg{{name: "expedition", kind: name}},
			help: "Gives an expedition up, with the run and the journey.", plan: (*call).abandonExpedition,
		},
	}
}

func (c *call) allExpeditions() (out []*expeditionv1.Expedition, err error) {
	if c.cfg.Expedition == nil {
		return nil, none("NO_EXPEDITIONS", "no expeditions are served here")
	}
	err = pages(func(token string) (string, bool, error) {
		res, err := ask[*expeditionv1.ListExpeditionsResponse](c, &expeditionv1.ListExpeditionsRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, e := range res.GetExpeditions() {
			if e.GetPhase() != expeditionv1.Expedition_PHASE_CONCLUDED {
				out = append(out, e)
			}
		}
		return res.GetNextPageToken(), false, err
	})
	return out, err
}

func (c *call) expeditionNamed(named span) (*expeditionv1.Expedition, error) {
	all, err := c.allExpeditions()
	if err != nil {
		return nil, err
	}
	var things []thing
	for _, e := range all {
		things = append(things, thing{label: toolName(e.GetTitle(), idOf(e.GetName())), also: []string{idOf(e.GetName())}, value: e})
	}
	t, err := find("an expedition", named, things)
	if err != nil {
		return nil, err
	}
	return t.value.(*expeditionv1.Expedition), nil //nolint:forcetypeassert // see above
}

func (c *call) expeditions(a args) (string, proto.Message, error) {
	if a.has("expedition") {
		e, err := c.expeditionNamed(a.get("expedition"))
		if err != nil {
			return "", nil, err
		}
		return expeditionText(e), e, nil
	}
	all, err := c.allExpeditions()
	if err != nil {
		return "", nil, err
	}
	out := []string{"Expeditions:"}
	for _, e := range all {
		out = append(out, "  "+expeditionText(e))
	}
	if len(all) == 0 {
		out = []string{"No expedition is under way."}
	}
	return strings.Join(out, "\n"), &expeditionv1.ListExpeditionsResponse{Expeditions: all}, nil
}

func expeditionText(e *expeditionv1.Expedition) string {
	phase := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(e.GetPhase().String(), "PHASE_"), "_", " "))
	return fmt.Sprintf("%s: %s.", toolName(e.GetTitle(), idOf(e.GetName())), phase)
}

func (c *call) createExpedition(a args) (proto.Message, error) {
	if c.cfg.Expedition == nil {
		return nil, none("NO_EXPEDITIONS", "no expeditions are served here")
	}
	company, err := c.company(a.get("company"))
	if err != nil {
		return nil, err
	}
	return &expeditionv1.CreateExpeditionRequest{Parent: c.req.GetCampaign(), Title: a.text("title"), Company: company}, nil
}

func (c *call) abandonExpedition(a args) (proto.Message, error) {
	e, err := c.expeditionNamed(a.get("expedition"))
	if err != nil {
		return nil, err
	}
	return &expeditionv1.AbandonExpeditionRequest{Name: e.GetName(), Character: c.character.GetName()}, nil
}
