package party

import (
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// character is the fold of a character's journal: the Digger sheet with what Die Drop travel and Danger World read, and
// what is lent of each. The messages in it are shared with the events and never changed.
type character struct {
	Title  string          `json:"title"`
	Owner  string          `json:"owner"`
	Sheet  digger.Sheet    `json:"sheet"`
	Vitals *partyv1.Vitals `json:"vitals"`
	// Danger is the Danger World sheet, nil as long as nobody has set one.
	Danger *partyv1.DangerSheet `json:"danger,omitempty"`
	Leases leases               `json:"leases"`
}

func (c character) apply(ev *partyv1.CharacterEvent) (character, error) {
	switch e := ev.GetEvent().(type) {
	case *partyv1.CharacterEvent_VitalsSet:
		c.Vitals = e.VitalsSet.GetVitals()
	case *partyv1.CharacterEvent_DangerSheetSet:
		c.Danger = e.DangerSheetSet.GetDangerSheet()
	case *partyv1.CharacterEvent_FacetLeased:
		c.Leases = c.Leases.taken(lentFrom(e.FacetLeased.GetLease()))
	case *partyv1.CharacterEvent_FacetReturned:
		c.Leases = c.Leases.given(lentFrom(e.FacetReturned.GetLease()))
		if e.FacetReturned.GetVitals() != nil {
			c.Vitals = e.FacetReturned.GetVitals()
		}
		if e.FacetReturned.GetDangerSheet() != nil {
			c.Danger = e.FacetReturned.GetDangerSheet()
		}
	default:
		if e, ok := e.(*partyv1.CharacterEvent_Created); ok {
			c.Title, c.Owner, c.Vitals = e.Created.GetTitle(), e.Created.GetOwner(), e.Created.GetVitals()
		}
		fact, err := sheetEventFrom(ev)
		if err != nil {
			return c, err
		}
		c.Sheet = digger.ApplySheet(c.Sheet, fact)
	}
	return c, nil
}

// setVitals decides a change of hit points and the like.
func (c character) setVitals(v *partyv1.Vitals) (characterEvents, error) {
	if err := c.Leases.atRest(partyv1.Facet_FACET_VITALS); err != nil {
		return nil, err
	}
	if err := checkVitals("vitals", v); err != nil {
		return nil, err
	}
	return characterEvents{{Event: &partyv1.CharacterEvent_VitalsSet{VitalsSet: &partyv1.VitalsSet{Vitals: v}}}}, nil
}

// lend decides a borrowing of the loadout, the vitals or the Danger World sheet.
func (c character) lend(x lent) (characterEvents, error) {
	news, err := c.Leases.take(x)
	if err != nil || !news {
		return nil, err
	}
	switch x.Facet { //nolint:exhaustive // the others are always there
	case partyv1.Facet_FACET_LOADOUT:
		if err := c.canEnter(); err != nil {
			return nil, err
		}
	case partyv1.Facet_FACET_SHEET:
		if c.Danger == nil {
			return nil, fault.New(fault.FailedPrecondition, "NO_SHEET", "%s has no Danger World sheet", c.Title)
		}
	}
	return characterEvents{{Event: &partyv1.CharacterEvent_FacetLeased{FacetLeased: &partyv1.FacetLeased{Lease: x.toProto()}}}}, nil
}

// takeBack decides a giving back; vitals and sheet count only if the holder held them.
func (c character) takeBack(x lent, vitals *partyv1.Vitals, sheet *partyv1.DangerSheet) characterEvents {
	news, held := c.Leases.give(x)
	if !news {
		return nil
	}
	back := &partyv1.FacetReturned{Lease: x.toProto()}
	if held {
		back.Vitals, back.DangerSheet = vitals, sheet
	}
	return characterEvents{{Event: &partyv1.CharacterEvent_FacetReturned{FacetReturned: back}}}
}
