package console

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

// runAnswer is what commands to a run answer, journeyAnswer what commands to a journey do.
type (
	runAnswer interface {
		GetRun() *dungeonv1.Run
		GetEvents() []*dungeonv1.RunEvent
	}
	journeyAnswer interface {
		GetJourney() *travelv1.Journey
		GetEvents() []*travelv1.JourneyEvent
	}
)

// show tells in text what came of a command. It reads nothing but the answer, and what never changes: a repetition that
// gets the first answer shows the first text.
func (c *call) show(res proto.Message) (string, error) {
	switch r := res.(type) {
	case *partyv1.CreatePartyResponse:
		return c.campOfNewParty(r.GetParty()), nil
	case *partyv1.JoinPartyResponse:
		p := r.GetParty()
		members := make([]string, len(p.GetMembers()))
		for i, m := range p.GetMembers() {
			members[i] = m.GetCharacter()
		}
		return fmt.Sprintf("%s joins the party of %s: %s.", c.character.GetTitle(), c.called(p.GetLeader()), join(c.calledAll(members), "and")), nil
	case *partyv1.ResetPartyResponse:
		return c.character.GetTitle() + " is in no party any more.", nil
	case *partyv1.PromoteMemberResponse:
		return c.called(r.GetParty().GetLeader()) + " leads the party now.", nil
	case *partyv1.LoadToolResponse:
		return toolList(r.GetCharacter(), currentForm(r.GetCharacter())), nil
	case *partyv1.UnloadToolResponse:
		return toolList(r.GetCharacter(), currentForm(r.GetCharacter())), nil
	case *partyv1.SwitchFormResponse:
		return toolList(r.GetCharacter(), currentForm(r.GetCharacter())), nil
	case *partyv1.FileRequestResponse:
		return fmt.Sprintf("Note %s is filed for the game masters.", idOf(r.GetRequest().GetName())), nil
	case *partyv1.CloseRequestResponse:
		return fmt.Sprintf("Note %s of %s is closed.", idOf(r.GetRequest().GetName()), c.called(r.GetRequest().GetCharacter())), nil
	case *expeditionv1.CreateExpeditionResponse:
		return expeditionText(r.GetExpedition()), nil
	case *expeditionv1.AbandonExpeditionResponse:
		return expeditionText(r.GetExpedition()), nil
	case *dicev1.RollResponse:
		return c.rollText(r.GetRoll()), nil
	case *travelv1.CreateMissionBoardResponse:
		return fmt.Sprintf("The board %q hangs.", r.GetMissionBoard().GetTitle()), nil
	case boardAnswer:
		return c.boardEvents(r.GetMissionBoard(), r.GetEvents()), nil
	case runAnswer:
		return c.runEvents(r.GetRun(), r.GetEvents()), nil
	case sceneAnswer:
		var k *partyv1.Check
		if with, ok := res.(interface{ GetCheck() *partyv1.Check }); ok {
			k = with.GetCheck()
		}
		return c.sceneEvents(r.GetScene(), r.GetEvents(), k), nil
	case delveAnswer:
		return delveEvents(r.GetDelve(), r.GetEvents()), nil
	case journeyAnswer:
		region, err := c.region(r.GetJourney())
		if err != nil {
			return "", err
		}
		return journeyEvents(r.GetJourney(), region, r.GetEvents()), nil
	}
	return "", fmt.Errorf("%s has no words", res.ProtoReflect().Descriptor().FullName())
}

func (c *call) campOfNewParty(p *partyv1.Party) string {
	return fmt.Sprintf("%s leads a new party; dungeon %s is readied. Others may +party/join %s.",
		c.called(p.GetLeader()), idOf(p.GetDungeon()), strings.ToLower(c.called(p.GetLeader())))
}

func currentForm(ch *partyv1.Character) *partyv1.Form {
	for _, f := range ch.GetForms() {
		if f.GetId() == ch.GetCurrentForm() {
			return f
		}
	}
	return nil
}
