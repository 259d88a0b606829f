package party

import (
	"errors"
	"fmt"
	"slices"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// campaign is the fold of a campaign's journal.
type campaign struct {
	Title   string        `json:"title"`
	Chapter int           `json:"chapter"`
	Members members       `json:"members"`
	Roster  digger.Roster `json:"roster"`
	// Ordinals number the parties in order of creation, for pages of them: a dissolved party leaves a gap. Last is the
	// greatest ever given.
	Ordinals map[string]int `json:"ordinals,omitempty"`
	Last     int            `json:"last,omitempty"`
	// Rulesets are the overrides by rule system.
	Rulesets map[string]overrides `json:"rulesets,omitempty"`
}

func (c campaign) apply(ev *partyv1.CampaignEvent) (campaign, error) {
	switch e := ev.GetEvent().(type) {
	case *partyv1.CampaignEvent_Created:
		c.Title, c.Chapter = e.Created.GetTitle(), int(e.Created.GetChapter())
		for _, m := range e.Created.GetMembers() {
			c.Members = c.Members.with(memberFrom(m))
		}
		return c, nil
	case *partyv1.CampaignEvent_MemberSet:
		c.Members = c.Members.with(memberFrom(e.MemberSet.GetMember()))
		return c, nil
	case *partyv1.CampaignEvent_MemberRemoved:
		c.Members = c.Members.without(e.MemberRemoved.GetSubject())
		return c, nil
	case *partyv1.CampaignEvent_ChapterSet:
		c.Chapter = int(e.ChapterSet.GetChapter())
		return c, nil
	case *partyv1.CampaignEvent_RulesetOverridden:
		return c.overridden(e.RulesetOverridden), nil
	}
	fact, err := rosterEventFrom(ev)
	if err != nil {
		return c, err
	}
	c.Roster = digger.ApplyRoster(c.Roster, fact)
	return c.numbered(), nil
}

// numbered gives a new party its ordinal and forgets those of dissolved ones.
func (c campaign) numbered() campaign {
	was := c.Ordinals
	c.Ordinals = make(map[string]int, len(c.Roster.Parties))
	for _, p := range c.Roster.Parties {
		n, ok := was[p.ID]
		if !ok {
			c.Last++
			n = c.Last
		}
		c.Ordinals[p.ID] = n
	}
	return c
}

func (c campaign) hasParty(name string) bool {
	_, ok := c.Roster.Party(name)
	return ok
}

// decideRoster decides a command of the Digger rules.
func (c campaign) decideRoster(rules *digger.Ruleset, party string, cmd digger.RosterCommand) (campaignEvents, error) {
	facts, err := digger.DecideRoster(c.Roster, cmd, rules)
	if err != nil {
		return nil, c.withHolder(err, party)
	}
	out := make(campaignEvents, len(facts))
	for i, e := range facts {
		if out[i], err = rosterEventToProto(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withHolder adds to a refusal because of a lease what was lent to whom.
func (c campaign) withHolder(err error, party string) error {
	var r *play.Refusal
	if errors.As(err, &r) && r.Code == digger.Leased {
		p, _ := c.Roster.Party(party)
		return leased(partyv1.Facet_FACET_ROSTER, p.Run)
	}
	return err
}

func (c campaign) createParty(rules *digger.Ruleset, name string, leader digger.Seat, dungeon string) (campaignEvents, error) {
	if c.hasParty(name) {
		return nil, fault.New(fault.AlreadyExists, journal.ReasonAlreadyExists, "%s exists already", name).With("resource", name)
	}
	return c.decideRoster(rules, name, digger.CreateParty{Party: name, Leader: leader, Dungeon: dungeon})
}

func (c campaign) resetParty(rules *digger.Ruleset, character string) (campaignEvents, error) {
	p, _ := c.Roster.PartyOf(character)
	return c.decideRoster(rules, p.ID, digger.ResetParty{Character: character})
}

// lendRoster decides a borrowing by a run. Who else holds the roster has begun a run with it, so the rules' own word is
// the refusal.
func (c campaign) lendRoster(rules *digger.Ruleset, name, run string) (campaignEvents, error) {
	if slices.Contains(c.Roster.Closed, run) {
		return nil, leaseClosed(partyv1.Facet_FACET_ROSTER, run)
	}
	if !c.hasParty(name) {
		return nil, unknown("lender", name)
	}
	return c.decideRoster(rules, name, digger.LeaseRoster{Party: name, Run: run})
}

// takeBackRoster decides a giving back: of one seat, or of the whole roster, which closes the run. What a run that does
// not hold the roster says of it does not count. No ruleset has a say in it: giving back works whatever was overridden.
func (c campaign) takeBackRoster(name, run string, result *partyv1.RosterResult) (campaignEvents, error) {
	if result.GetCharacter() != "" {
		return c.decideRoster(digger.Default(), name, digger.ReturnSeat{
			Party: name, Run: run, Character: result.GetCharacter(), Leader: result.GetLeader(),
		})
	}
	return c.decideRoster(digger.Default(), name, digger.ReturnRoster{
		Party: name, Run: run, Leader: result.GetLeader(), Began: result.GetEnded(),
	})
}

func (c campaign) rosterFacet(name string) *partyv1.RosterFacet {
	p, _ := c.Roster.Party(name)
	out := &partyv1.RosterFacet{Leader: p.Leader, Dungeon: p.Dungeon}
	for _, m := range p.Members {
		out.Members = append(out.Members, m.Character)
	}
	return out
}

var partyStates = map[string]partyv1.Party_State{
	digger.Forming: partyv1.Party_STATE_FORMING,
	digger.InRun:   partyv1.Party_STATE_IN_RUN,
	digger.Ended:   partyv1.Party_STATE_ENDED,
}

// partyToProto maps a party. Of one that was dissolved the name is left.
func partyToProto(at journal.At[campaign], name string) *partyv1.Party {
	p, _ := at.State.Roster.Party(name)
	out := &partyv1.Party{Name: name, Leader: p.Leader, Dungeon: p.Dungeon, Run: p.Run, State: partyStates[p.State], Etag: at.Etag()}
	for _, m := range p.Members {
		out.Members = append(out.Members, seatToProto(m))
	}
	return out
}

func seatToProto(s digger.Seat) *partyv1.PartyMember {
	return &partyv1.PartyMember{Character: s.Character, Owner: s.Owner}
}

func seatFrom(m *partyv1.PartyMember) digger.Seat {
	return digger.Seat{Character: m.GetCharacter(), Owner: m.GetOwner()}
}

func rosterEventToProto(e digger.RosterEvent) (*partyv1.CampaignEvent, error) {
	ev := &partyv1.CampaignEvent{}
	switch e := e.(type) {
	case digger.PartyCreated:
		ev.Event = &partyv1.CampaignEvent_PartyCreated{PartyCreated: &partyv1.PartyCreated{Party: e.Party, Leader: seatToProto(e.Leader), Dungeon: e.Dungeon}}
	case digger.PartyJoined:
		ev.Event = &partyv1.CampaignEvent_PartyJoined{PartyJoined: &partyv1.PartyJoined{Party: e.Party, Member: seatToProto(e.Member)}}
	case digger.PartyLeft:
		ev.Event = &partyv1.CampaignEvent_PartyLeft{PartyLeft: &partyv1.PartyLeft{Party: e.Party, Character: e.Character}}
	case digger.PartyPromoted:
		ev.Event = &partyv1.CampaignEvent_PartyPromoted{PartyPromoted: &partyv1.PartyPromoted{Party: e.Party, Leader: e.Leader}}
	case digger.RosterLeased:
		ev.Event = &partyv1.CampaignEvent_RosterLeased{RosterLeased: &partyv1.RosterLeased{Party: e.Party, Holder: e.Run}}
	case digger.SeatReturned:
		ev.Event = &partyv1.CampaignEvent_RosterReturned{RosterReturned: &partyv1.RosterReturned{Party: e.Party, Holder: e.Run, Character: e.Character, Leader: e.Leader}}
	case digger.RosterReturned:
		ev.Event = &partyv1.CampaignEvent_RosterReturned{RosterReturned: &partyv1.RosterReturned{Party: e.Party, Holder: e.Run, Leader: e.Leader, Ended: e.Began}}
	case digger.RequestFiled:
		ev.Event = &partyv1.CampaignEvent_RequestFiled{RequestFiled: &partyv1.RequestFiled{Character: e.Character, Text: e.Text}}
	case digger.RequestClosed:
		ev.Event = &partyv1.CampaignEvent_RequestClosed{RequestClosed: &partyv1.RequestClosed{Number: i32(e.Number)}}
	default:
		return nil, fmt.Errorf("unknown roster event %T", e)
	}
	return ev, nil
}

func rosterEventFrom(ev *partyv1.CampaignEvent) (digger.RosterEvent, error) {
	switch e := ev.GetEvent().(type) {
	case *partyv1.CampaignEvent_PartyCreated:
		return digger.PartyCreated{Party: e.PartyCreated.GetParty(), Leader: seatFrom(e.PartyCreated.GetLeader()), Dungeon: e.PartyCreated.GetDungeon()}, nil
	case *partyv1.CampaignEvent_PartyJoined:
		return digger.PartyJoined{Party: e.PartyJoined.GetParty(), Member: seatFrom(e.PartyJoined.GetMember())}, nil
	case *partyv1.CampaignEvent_PartyLeft:
		return digger.PartyLeft{Party: e.PartyLeft.GetParty(), Character: e.PartyLeft.GetCharacter()}, nil
	case *partyv1.CampaignEvent_PartyPromoted:
		return digger.PartyPromoted{Party: e.PartyPromoted.GetParty(), Leader: e.PartyPromoted.GetLeader()}, nil
	case *partyv1.CampaignEvent_RosterLeased:
		return digger.RosterLeased{Party: e.RosterLeased.GetParty(), Run: e.RosterLeased.GetHolder()}, nil
	case *partyv1.CampaignEvent_RosterReturned:
		r := e.RosterReturned
		if r.GetCharacter() != "" {
			return digger.SeatReturned{Party: r.GetParty(), Run: r.GetHolder(), Character: r.GetCharacter(), Leader: r.GetLeader()}, nil
		}
		return digger.RosterReturned{Party: r.GetParty(), Run: r.GetHolder(), Leader: r.GetLeader(), Began: r.GetEnded()}, nil
	case *partyv1.CampaignEvent_RequestFiled:
		return digger.RequestFiled{Character: e.RequestFiled.GetCharacter(), Text: e.RequestFiled.GetText()}, nil
	case *partyv1.CampaignEvent_RequestClosed:
		return digger.RequestClosed{Number: int(e.RequestClosed.GetNumber())}, nil
	}
	return nil, fmt.Errorf("unknown campaign event %T", ev.GetEvent())
}
