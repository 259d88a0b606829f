package party

import (
	"fmt"
	"slices"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// company is the fold of a company's journal. The messages in it are shared with the events and never changed.
type company struct {
	Title     string              `json:"title"`
	Travelers []*partyv1.Traveler `json:"travelers"`
	Pack      *partyv1.Pack       `json:"pack"`
	Leases    leases              `json:"leases"`
}

func (c company) apply(ev *partyv1.CompanyEvent) (company, error) {
	switch e := ev.GetEvent().(type) {
	case *partyv1.CompanyEvent_Created:
		c.Title, c.Travelers, c.Pack = e.Created.GetTitle(), e.Created.GetTravelers(), e.Created.GetPack()
	case *partyv1.CompanyEvent_TravelerAdded:
		c.Travelers = append(slices.Clone(c.Travelers), e.TravelerAdded.GetTraveler())
	case *partyv1.CompanyEvent_TravelerRemoved:
		c.Travelers = slices.DeleteFunc(slices.Clone(c.Travelers), func(t *partyv1.Traveler) bool {
			return t.GetLabel() == e.TravelerRemoved.GetLabel()
		})
	case *partyv1.CompanyEvent_PackSet:
		c.Pack = e.PackSet.GetPack()
	case *partyv1.CompanyEvent_PackLeased:
		c.Leases = c.Leases.taken(lent{partyv1.Facet_FACET_PACK, e.PackLeased.GetHolder()})
	case *partyv1.CompanyEvent_PackReturned:
		c.Leases = c.Leases.given(lent{partyv1.Facet_FACET_PACK, e.PackReturned.GetHolder()})
		if e.PackReturned.GetPack() != nil {
			c.Pack, c.Travelers = e.PackReturned.GetPack(), e.PackReturned.GetTravelers()
		}
	default:
		return c, fmt.Errorf("unknown company event %T", e)
	}
	return c, nil
}

// gather decides the founding of a company.
func gather(title string, travelers []*partyv1.Traveler, pack *partyv1.Pack) ([]*partyv1.CompanyEvent, error) {
	var c company
	for i, t := range travelers {
		if err := c.canJoin(t); err != nil {
			return nil, err.At(fmt.Sprintf("travelers[%d].label", i))
		}
		c.Travelers = append(c.Travelers, t)
	}
	return []*partyv1.CompanyEvent{{Event: &partyv1.CompanyEvent_Created{
		Created: &partyv1.CompanyCreated{Title: title, Travelers: travelers, Pack: pack},
	}}}, nil
}

// add decides a joining: at the end of the marching order (DDW-PARTY-01, -02).
func (c company) add(t *partyv1.Traveler) ([]*partyv1.CompanyEvent, error) {
	if err := c.Leases.atRest(partyv1.Facet_FACET_PACK); err != nil {
		return nil, err
	}
	if err := c.canJoin(t); err != nil {
		return nil, err
	}
	return []*partyv1.CompanyEvent{{Event: &partyv1.CompanyEvent_TravelerAdded{
		TravelerAdded: &partyv1.TravelerAdded{Traveler: t},
	}}}, nil
}

// canJoin refuses a label or a character that the company has already. The type of its result is the refusal's own, so
// that a caller may name the field.
func (c company) canJoin(t *partyv1.Traveler) *play.Refusal {
	for _, other := range c.Travelers {
		if other.GetLabel() == t.GetLabel() {
			return play.Refuse("NAME_TAKEN", "the company has a traveler %q", t.GetLabel())
		}
		if t.GetCharacter() != "" && other.GetCharacter() == t.GetCharacter() {
			return play.Refuse("NAME_TAKEN", "%s travels with the company already", t.GetCharacter())
		}
	}
	return nil
}

// remove decides a leaving (DDW-PARTY-05).
func (c company) remove(label string) ([]*partyv1.CompanyEvent, error) {
	if err := c.Leases.atRest(partyv1.Facet_FACET_PACK); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(c.Travelers, func(t *partyv1.Traveler) bool { return t.GetLabel() == label }) {
		return nil, play.Refuse("NO_SUCH_MEMBER", "the company has no traveler %q", label)
	}
	if len(c.Travelers) == 1 {
		return nil, play.Refuse("LAST_MEMBER", "%q is the last of the company", label)
	}
	return []*partyv1.CompanyEvent{{Event: &partyv1.CompanyEvent_TravelerRemoved{
		TravelerRemoved: &partyv1.TravelerRemoved{Label: label},
	}}}, nil
}

// setPack decides a change of what is shared.
func (c company) setPack(p *partyv1.Pack) ([]*partyv1.CompanyEvent, error) {
	if err := c.Leases.atRest(partyv1.Facet_FACET_PACK); err != nil {
		return nil, err
	}
	return []*partyv1.CompanyEvent{{Event: &partyv1.CompanyEvent_PackSet{PackSet: &partyv1.PackSet{Pack: p}}}}, nil
}

// lend decides a borrowing by a journey.
func (c company) lend(holder string) ([]*partyv1.CompanyEvent, error) {
	news, err := c.Leases.take(lent{partyv1.Facet_FACET_PACK, holder})
	if err != nil || !news {
		return nil, err
	}
	return []*partyv1.CompanyEvent{{Event: &partyv1.CompanyEvent_PackLeased{
		PackLeased: &partyv1.PackLeased{Holder: holder},
	}}}, nil
}

// takeBack decides a giving back; the result counts only if the journey held the company. A company whose travelers are
// all dead keeps its pack: it lies where they fell.
func (c company) takeBack(holder string, result *partyv1.PackFacet) []*partyv1.CompanyEvent {
	news, held := c.Leases.give(lent{partyv1.Facet_FACET_PACK, holder})
	if !news {
		return nil
	}
	back := &partyv1.PackReturned{Holder: holder}
	if held && result != nil {
		back.Pack, back.Travelers = result.GetPack(), result.GetTravelers()
		if back.Pack == nil {
			back.Pack = &partyv1.Pack{}
		}
	}
	return []*partyv1.CompanyEvent{{Event: &partyv1.CompanyEvent_PackReturned{PackReturned: back}}}
}
