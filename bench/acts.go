package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// seats is the size of the largest party.
const seats = 7

func actName(store string) string { return "RunService.Act, " + store }

// acts compares RunService.Act with the insert of the record that it made, under another stream of the same store. In a
// round everybody acts once, so there is a new campaign, party and run for every seven acts; making them is not measured.
func acts(ctx context.Context, dir, store string, open opener, groups int) (rows []row, err error) {
	h, err := newHouse(ctx, dir, open)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	user, err := h.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	runs, journal := dungeonv1.NewRunServiceClient(h.conns[delving]), h.stores[delving]
	var waiting []string
	var run string
	group, inserted := 0, 0
	// One group more to warm up.
	r, err := row{name: actName(store), than: "insert of the record"}.compare(seats, groups*seats, func() (base, measured time.Duration, err error) {
		if len(waiting) == 0 {
			group++
			if run, waiting, err = h.enter(user, fmt.Sprintf("g%d", group), 2); err != nil {
				return 0, 0, err
			}
		}
		req := &dungeonv1.ActRequest{
			Name: run, Character: waiting[0], Action: &dungeonv1.Action{Means: &dungeonv1.Action_Basic{Basic: "force"}}, RequestId: h.id(),
		}
		waiting = waiting[1:]
		var res *dungeonv1.ActResponse
		if measured, err = timed(func() (err error) { res, err = runs.Act(user, req); return err }); err != nil {
			return 0, 0, err
		}
		recs, err := journal.Read(ctx, run, int(res.GetRecord().GetSeq())-1, 1)
		if err != nil || len(recs) != 1 {
			return 0, 0, fmt.Errorf("read the record of an act: %d found: %w", len(recs), err)
		}
		inserted++
		rec := recs[0]
		rec.Stream, rec.Seq = "campaigns/raw/runs/bench", inserted
		base, err = timed(func() error { return journal.Insert(ctx, rec) })
		return base, measured, err
	})
	return []row{r}, err
}

// enter makes a campaign with a full party in a dungeon of so many normal cards, and returns its run with those who have to act.
func (h *house) enter(user context.Context, id string, cards int) (run string, waiting []string, err error) {
	parent := "campaigns/" + id
	campaigns, characters := partyv1.NewCampaignServiceClient(h.conns[parties]), partyv1.NewCharacterServiceClient(h.conns[parties])
	if _, err := campaigns.CreateCampaign(user, &partyv1.CreateCampaignRequest{CampaignId: id, Title: "Bench", Chapter: 3, RequestId: h.id()}); err != nil {
		return "", nil, fmt.Errorf("campaign: %w", err)
	}
	for seat := range seats {
		one := fmt.Sprintf("c%d", seat+1)
		name := parent + "/characters/" + one
		if _, err := characters.CreateCharacter(user, &partyv1.CreateCharacterRequest{Parent: parent, CharacterId: one, Title: one, RequestId: h.id()}); err != nil {
			return "", nil, fmt.Errorf("character: %w", err)
		}
		_, err := characters.SetAbilities(user, &partyv1.SetAbilitiesRequest{
			Name: name, Abilities: &partyv1.Abilities{Brute: 5, Agility: 4, Wits: 4, Combat: 4}, RequestId: h.id(),
		})
		if err != nil {
			return "", nil, fmt.Errorf("abilities: %w", err)
		}
		if seat == 0 {
			_, err = campaigns.CreateParty(user, &partyv1.CreatePartyRequest{Parent: parent, PartyId: "team", Character: name, RequestId: h.id()})
		} else {
			_, err = campaigns.JoinParty(user, &partyv1.JoinPartyRequest{Name: parent + "/parties/team", Character: name, RequestId: h.id()})
		}
		if err != nil {
			return "", nil, fmt.Errorf("party: %w", err)
		}
	}
	deck := &dungeonv1.DungeonDefinition{Id: "cellar", Number: 1, Name: "The Cellar", Type: "ruin", Summary: "Barrels behind barrels.", TnBonus: &dungeonv1.TnBonus{Final: 1}}
	list := [][2]string{{"stairs", "entry"}, {"vintner", "final"}}
	for i := range cards {
		list = append(list, [2]string{fmt.Sprintf("rats-%d", i+1), "normal"})
	}
	for _, c := range list {
		deck.Cards = append(deck.Cards, &dungeonv1.Card{
			Id: c[0], Kind: c[1], Ability: "brute", Level: 1, Conditions: []string{"treasure"}, Title: c[0], Text: "Something is in the way.",
		})
	}
	_, err = dungeonv1.NewDungeonServiceClient(h.conns[delving]).ImportDungeon(user, &dungeonv1.ImportDungeonRequest{Parent: parent, Dungeon: deck, RequestId: h.id()})
	if err != nil {
		return "", nil, fmt.Errorf("dungeon: %w", err)
	}
	res, err := dungeonv1.NewRunServiceClient(h.conns[delving]).StartRun(user, &dungeonv1.StartRunRequest{
		Parent: parent, RunId: "delve", Party: parent + "/parties/team", Dungeon: parent + "/dungeons/cellar",
		Character: parent + "/characters/c1", RequestId: h.id(),
	})
	if err != nil {
		return "", nil, fmt.Errorf("run: %w", err)
	}
	waiting = res.GetRun().GetChallenge().GetWaiting()
	if len(waiting) != seats {
		return "", nil, fmt.Errorf("run: %d have to act, not %d", len(waiting), seats)
	}
	return res.GetRun().GetName(), waiting, nil
}
