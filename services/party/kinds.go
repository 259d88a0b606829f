package party

import (
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/party/scene"
)

var (
	campaignSpec = adapter.Spec[campaign, *partyv1.CampaignEvent]{
		Kind: "campaign", Version: 1, Apply: campaign.apply,
		New: func() *partyv1.CampaignEvent { return new(partyv1.CampaignEvent) },
	}
	characterSpec = adapter.Spec[character, *partyv1.CharacterEvent]{
		Kind: "character", Version: 1, Apply: character.apply,
		New: func() *partyv1.CharacterEvent { return new(partyv1.CharacterEvent) },
	}
	companySpec = adapter.Spec[company, *partyv1.CompanyEvent]{
		Kind: "company", Version: 1, Apply: company.apply,
		New: func() *partyv1.CompanyEvent { return new(partyv1.CompanyEvent) },
	}
	intentSpec = adapter.Spec[intent, *partyv1.IntentEvent]{
		Kind: "intent", Version: 1, Apply: intent.apply, Ended: func(intent) bool { return true },
		New: func() *partyv1.IntentEvent { return new(partyv1.IntentEvent) },
	}
)

// Kinds lists what the service keeps, for tools that walk its journals.
func Kinds() []archive.Kind {
	return []archive.Kind{campaignSpec.Walk(nil), characterSpec.Walk(nil), companySpec.Walk(nil), intentSpec.Walk(nil), scene.Kind()}
}
