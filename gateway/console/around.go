package console

import (
	"slices"
	"strings"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// pageSize is the largest page that every list gives.
const pageSize = 200

func none(reason, format string, args ...any) error {
	return fault.New(fault.FailedPrecondition, reason, format, args...)
}

// actor is the resource name of the acting character. Without one it refuses: the command is about somebody.
func (c *call) actor() (string, error) {
	if c.character == nil {
		return "", fault.Invalid("character", "this command needs an acting character")
	}
	return c.character.GetName(), nil
}

// pages calls a list until its last page or until next says that it has seen enough.
func pages(next func(token string) (string, bool, error)) error {
	for token := ""; ; {
		following, enough, err := next(token)
		if err != nil || enough || following == "" {
			return err
		}
		token = following
	}
}

// allCharacters are the campaign's, newest first.
func (c *call) allCharacters() ([]*partyv1.Character, error) {
	if c.characters != nil {
		return c.characters, nil
	}
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*partyv1.ListCharactersResponse](c, &partyv1.ListCharactersRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		c.characters = append(c.characters, res.GetCharacters()...)
		return res.GetNextPageToken(), false, err
	})
	return c.characters, err
}

// called is what people call a character.
func (c *call) called(name string) string {
	all, err := c.allCharacters()
	if err == nil {
		for _, ch := range all {
			if ch.GetName() == name && ch.GetTitle() != "" {
				return ch.GetTitle()
			}
		}
	}
	return idOf(name)
}

func (c *call) calledAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = c.called(n)
	}
	return out
}

func idOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// people are characters as things to be named: by title, id, or, when it is their only one, by their player.
func (c *call) people(among func(*partyv1.Character) bool) ([]thing, error) {
	all, err := c.allCharacters()
	if err != nil {
		return nil, err
	}
	owned := map[string]int{}
	for _, ch := range all {
		if among(ch) {
			owned[ch.GetOwner()]++
		}
	}
	var out []thing
	for _, ch := range all {
		if !among(ch) {
			continue
		}
		t := thing{label: ch.GetTitle(), also: []string{idOf(ch.GetName())}, value: ch.GetName()}
		if owned[ch.GetOwner()] == 1 {
			t.also = append(t.also, ch.GetOwner())
		}
		out = append(out, t)
	}
	return out, nil
}

func (c *call) allParties() (out []*partyv1.Party, err error) {
	err = pages(func(token string) (string, bool, error) {
		res, err := ask[*partyv1.ListPartiesResponse](c, &partyv1.ListPartiesRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		out = append(out, res.GetParties()...)
		return res.GetNextPageToken(), false, err
	})
	return out, err
}

func sits(p *partyv1.Party, character string) bool {
	return slices.ContainsFunc(p.GetMembers(), func(m *partyv1.PartyMember) bool { return m.GetCharacter() == character })
}

// party is the acting character's.
func (c *call) party() (*partyv1.Party, error) {
	who, err := c.actor()
	if err != nil {
		return nil, err
	}
	all, err := c.allParties()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if sits(p, who) {
			return p, nil
		}
	}
	return nil, none("NOT_IN_PARTY", "%s is in no party: +party/create or +party/join", c.character.GetTitle())
}

// run is the one that the acting character's party is in, or was in last.
func (c *call) run() (*dungeonv1.Run, error) {
	p, err := c.party()
	if err != nil {
		return nil, err
	}
	run, err := c.runOf(p)
	if err == nil && run == nil {
		err = none("NO_RUN", "the party is in no dungeon yet: its leader gives +dungeon/enter")
	}
	return run, err
}

// runOf returns nil when the party has not entered.
func (c *call) runOf(p *partyv1.Party) (run *dungeonv1.Run, err error) {
	if p.GetRun() != "" {
		res, err := ask[*dungeonv1.GetRunResponse](c, &dungeonv1.GetRunRequest{Name: p.GetRun()})
		return res.GetRun(), err
	}
	if p.GetState() != partyv1.Party_STATE_ENDED {
		return nil, nil //nolint:nilnil // none is no error
	}
	err = pages(func(token string) (string, bool, error) {
		res, err := ask[*dungeonv1.ListRunsResponse](c, &dungeonv1.ListRunsRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, r := range res.GetRuns() {
			if r.GetParty() == p.GetName() {
				run = r
				return "", true, nil
			}
		}
		return res.GetNextPageToken(), false, err
	})
	return run, err
}

func (c *call) allDungeons() (out []*dungeonv1.Dungeon, err error) {
	err = pages(func(token string) (string, bool, error) {
		res, err := ask[*dungeonv1.ListDungeonsResponse](c, &dungeonv1.ListDungeonsRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		out = append(out, res.GetDungeons()...)
		return res.GetNextPageToken(), false, err
	})
	slices.SortStableFunc(out, func(a, b *dungeonv1.Dungeon) int {
		if n, m := a.GetDefinition().GetNumber(), b.GetDefinition().GetNumber(); n != m {
			return int(n - m)
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	return out, err
}

// journey is the one that the acting character travels on; a GM without a character means the only one under way.
func (c *call) journey() (*travelv1.Journey, error) {
	for _, l := range c.character.GetLeases() {
		if l.GetFacet() == partyv1.Facet_FACET_VITALS {
			res, err := ask[*travelv1.GetJourneyResponse](c, &travelv1.GetJourneyRequest{Name: l.GetHolder()})
			return res.GetJourney(), err
		}
	}
	if c.character != nil {
		return nil, none("NO_JOURNEY", "%s is on no journey: +travel/start", c.character.GetTitle())
	}
	var open []*travelv1.Journey
	err := pages(func(token string) (string, bool, error) {
		res, err := ask[*travelv1.ListJourneysResponse](c, &travelv1.ListJourneysRequest{Parent: c.req.GetCampaign(), PageSize: pageSize, PageToken: token})
		for _, j := range res.GetJourneys() {
			if j.GetPhase() == travelv1.Journey_PHASE_TRAVELING {
				open = append(open, j)
			}
		}
		return res.GetNextPageToken(), false, err
	})
	switch {
	case err != nil:
		return nil, err
	case len(open) == 0:
		return nil, none("NO_JOURNEY", "nobody is on a journey")
	case len(open) > 1:
		return nil, fault.Invalid("character", "%d journeys are under way: name a character of the one meant", len(open))
	}
	return open[0], nil
}

// region is the map of a journey in the revision that is played.
func (c *call) region(j *travelv1.Journey) (*travelv1.Region, error) {
	res, err := ask[*travelv1.GetRegionResponse](c, &travelv1.GetRegionRequest{Name: j.GetRegion(), Revision: j.GetRevision()})
	return res.GetRegion(), err
}
