package party_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

const team = camp + "/parties/team"

// enlist makes a party of Ada, who leads, and Bram.
func (w *world) enlist() *world {
	w.t.Helper()
	w.doParty(adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "team", Character: ada})
	w.doParty(brams, &partyv1.JoinPartyRequest{Name: team, Character: bram})
	return w
}

func take(lender string, facet partyv1.Facet, holder string) *partyv1.TakeLeaseRequest {
	return &partyv1.TakeLeaseRequest{Lender: lender, Facet: facet, Holder: holder}
}

func give(lender string, facet partyv1.Facet, holder string) *partyv1.ReturnLeaseRequest {
	return &partyv1.ReturnLeaseRequest{Lender: lender, Facet: facet, Holder: holder}
}

const (
	roster  = partyv1.Facet_FACET_ROSTER
	loadout = partyv1.Facet_FACET_LOADOUT
	pack    = partyv1.Facet_FACET_PACK
	vitals  = partyv1.Facet_FACET_VITALS
)

// lending is one facet with its lender, two borrowers, and a change that it forbids while it is lent.
type lending struct {
	facet          partyv1.Facet
	lender         string
	first, second  string
	change         func() (who string, req proto.Message)
	secondRefused  string // the reason by which the second borrower is refused
	changeRefused  string
	whatIsBorrowed func(*partyv1.TakeLeaseResponse) bool
}

func lendings() map[string]lending {
	return map[string]lending{
		"a roster": {
			roster, team, run1, run2,
			func() (string, proto.Message) {
				return brams, &partyv1.LeavePartyRequest{Name: team, Character: bram}
			},
			"RUN_BEGUN", "LEASED",
			func(r *partyv1.TakeLeaseResponse) bool {
				return r.GetRoster().GetLeader() == ada && cmp.Equal(r.GetRoster().GetMembers(), []string{ada, bram})
			},
		},
		"a loadout": {
			loadout, ada, run1, run2,
			func() (string, proto.Message) {
				return adas, &partyv1.SwitchFormRequest{Name: ada, Form: "base"}
			},
			"LEASED", "LEASED",
			func(r *partyv1.TakeLeaseResponse) bool {
				l := r.GetLoadout()
				return l.GetOwner() == adas && l.GetTitle() == "Ada" && l.GetForm() == "base" && l.GetAbilities() != nil && len(l.GetTools()) == 0
			},
		},
		"a pack": {
			pack, band, trek1, trek2,
			func() (string, proto.Message) {
				return brams, &partyv1.RemoveTravelerRequest{Name: band, Label: "ditchdigger"}
			},
			"LEASED", "LEASED",
			func(r *partyv1.TakeLeaseResponse) bool {
				return len(r.GetPack().GetTravelers()) == 3 && r.GetPack().GetPack().GetGold() == 60
			},
		},
		"vitals": {
			vitals, ada, trek1, trek2,
			func() (string, proto.Message) {
				return gm, &partyv1.SetVitalsRequest{Name: ada, Vitals: &partyv1.Vitals{Hp: 1, HpMax: 4, Str: 9, StrMax: 10}}
			},
			"LEASED", "LEASED",
			func(r *partyv1.TakeLeaseResponse) bool {
				return r.GetVitals().GetOwner() == adas && r.GetVitals().GetTitle() == "Ada" && r.GetVitals().GetVitals().GetStr() == 10
			},
		},
	}
}

func TestAFacetIsLentToOneHolderAtATime(t *testing.T) {
	t.Parallel()
	for name, l := range lendings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).begin().gather().enlist()
			held := map[string]string{"facet": l.facet.String(), "holder": l.first}

			first := do[*partyv1.TakeLeaseResponse](w, service, take(l.lender, l.facet, l.first))
			if !l.whatIsBorrowed(first) {
				t.Errorf("borrowed: %v", first)
			}
			again := do[*partyv1.TakeLeaseResponse](w, service, take(l.lender, l.facet, l.first))
			if diff := cmp.Diff(first, again, protocmp.Transform()); diff != "" {
				t.Errorf("the holder asks again under another id (-first +second):\n%s", diff)
			}
			before := w.seqs()
			_, err := w.call(service, take(l.lender, l.facet, l.second))
			refusal{codes.FailedPrecondition, l.secondRefused, "", nil}.check(t, err)
			who, change := l.change()
			_, err = w.call(who, change)
			refusal{codes.FailedPrecondition, l.changeRefused, "", held}.check(t, err)
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("refusals were journaled (-before +after):\n%s", diff)
			}

			do[*partyv1.ReturnLeaseResponse](w, service, give(l.lender, l.facet, l.first))
			_, err = w.call(service, take(l.lender, l.facet, l.first))
			refusal{codes.FailedPrecondition, "LEASE_CLOSED", "", nil}.check(t, err)
			do[*partyv1.TakeLeaseResponse](w, service, take(l.lender, l.facet, l.second))
			do[*partyv1.ReturnLeaseResponse](w, service, give(l.lender, l.facet, l.first)) // again, late: the second keeps it
			_, err = w.call(who, proto.Clone(change))
			refusal{codes.FailedPrecondition, l.changeRefused, "", map[string]string{"holder": l.second}}.check(t, err)
			do[*partyv1.ReturnLeaseResponse](w, service, give(l.lender, l.facet, l.second))
			if _, err := w.call(who, proto.Clone(change)); err != nil {
				t.Errorf("a change after all was given back: %v", err)
			}
		})
	}
}

func TestGivingBackWhatWasNeverBorrowedIsJournaledAndCloses(t *testing.T) {
	t.Parallel()
	for name, l := range lendings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).begin().gather().enlist()
			stream := l.lender
			if l.facet == roster {
				stream = camp
			}
			before := w.seqs()[stream]
			do[*partyv1.ReturnLeaseResponse](w, service, give(l.lender, l.facet, l.first))
			if got := w.seqs()[stream]; got != before+1 {
				t.Errorf("%d records, want %d", got, before+1)
			}
			_, err := w.call(service, take(l.lender, l.facet, l.first))
			refusal{codes.FailedPrecondition, "LEASE_CLOSED", "", map[string]string{"holder": l.first}}.check(t, err)
			do[*partyv1.TakeLeaseResponse](w, service, take(l.lender, l.facet, l.second)) // closes nobody else
		})
	}
}

func TestLeaseStepsMayBeRepeated(t *testing.T) {
	t.Parallel()
	for name, l := range lendings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).begin().gather().enlist()
			replica := newWorldOn(t, w.store)
			tr := take(l.lender, l.facet, l.first)
			first := do[*partyv1.TakeLeaseResponse](w, service, tr)
			gr := give(l.lender, l.facet, l.first)
			do[*partyv1.ReturnLeaseResponse](w, service, gr)
			before := w.seqs()
			for _, at := range []*world{w, replica} {
				// The first answer, though the holder is closed by now.
				if diff := cmp.Diff(first, do[*partyv1.TakeLeaseResponse](at, service, tr), protocmp.Transform()); diff != "" {
					t.Errorf("taken again (-first +again):\n%s", diff)
				}
				do[*partyv1.ReturnLeaseResponse](at, service, gr)
			}
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("repetitions were journaled (-before +after):\n%s", diff)
			}
		})
	}
}

func TestOfManyBorrowersOneWins(t *testing.T) {
	t.Parallel()
	const borrowers = 20
	for name, l := range lendings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).begin().gather().enlist()
			replica := newWorldOn(t, w.store) // so that some races are between processes
			var wg sync.WaitGroup
			results := make([]error, borrowers)
			for i := range borrowers {
				at := []*world{w, replica}[i%2]
				req := take(l.lender, l.facet, fmt.Sprintf("%s-%d", l.first, i))
				req.RequestId = fmt.Sprintf("race-%d", i)
				wg.Go(func() { _, results[i] = at.call(service, req) })
			}
			wg.Wait()
			won := 0
			for i, err := range results {
				if status.Code(err) == codes.OK {
					won++
					continue
				}
				refusal{codes.FailedPrecondition, l.secondRefused, "", nil}.check(t, err)
				if t.Failed() {
					t.Fatalf("borrower %d: %v", i, err)
				}
			}
			if won != 1 {
				t.Errorf("%d borrowers won", won)
			}
		})
	}
}

func TestVitalsComeBackChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	do[*partyv1.TakeLeaseResponse](w, service, take(ada, vitals, trek1))
	shown := do[*partyv1.GetCharacterResponse](w, brams, &partyv1.GetCharacterRequest{Name: ada}).GetCharacter()
	if diff := cmp.Diff([]*partyv1.Lease{{Facet: vitals, Holder: trek1}}, shown.GetLeases(), protocmp.Transform()); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	back := give(ada, vitals, trek1)
	hurt := &partyv1.Vitals{Hp: 0, HpMax: 4, Str: 6, StrMax: 10, Capacity: proto.Int32(8), Gear: 2, Fatigue: 1}
	back.Result = &partyv1.ReturnLeaseRequest_Vitals{Vitals: hurt}
	do[*partyv1.ReturnLeaseResponse](w, service, back)
	// A holder that never held brings nothing.
	stray := give(ada, vitals, trek2)
	stray.Result = &partyv1.ReturnLeaseRequest_Vitals{Vitals: &partyv1.Vitals{Hp: 1, HpMax: 1, Str: 1, StrMax: 1}}
	do[*partyv1.ReturnLeaseResponse](w, service, stray)
	shown = do[*partyv1.GetCharacterResponse](w, brams, &partyv1.GetCharacterRequest{Name: ada}).GetCharacter()
	if diff := cmp.Diff(hurt, shown.GetVitals(), protocmp.Transform()); diff != "" || len(shown.GetLeases()) != 0 {
		t.Errorf("vitals (-want +got):\n%s\nleases %v", diff, shown.GetLeases())
	}
}

func TestAPackComesBackChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().gather()
	do[*partyv1.TakeLeaseResponse](w, service, take(band, pack, trek1))
	if got := do[*partyv1.GetCompanyResponse](w, brams, &partyv1.GetCompanyRequest{Name: band}).GetCompany().GetLease(); got.GetHolder() != trek1 || got.GetFacet() != pack {
		t.Errorf("lease %v", got)
	}
	back := give(band, pack, trek1)
	facet := &partyv1.PackFacet{
		Travelers: []*partyv1.Traveler{{Label: "ada", Character: ada, Oil: 1}}, // the others did not come back
		Pack:      &partyv1.Pack{Gold: 7},
	}
	back.Result = &partyv1.ReturnLeaseRequest_Pack{Pack: facet}
	do[*partyv1.ReturnLeaseResponse](w, service, back)
	got := do[*partyv1.GetCompanyResponse](w, brams, &partyv1.GetCompanyRequest{Name: band}).GetCompany()
	if diff := cmp.Diff(facet, &partyv1.PackFacet{Travelers: got.GetTravelers(), Pack: got.GetPack()}, protocmp.Transform()); diff != "" || got.GetLease() != nil {
		t.Errorf("company (-want +got):\n%s\nlease %v", diff, got.GetLease())
	}
}

func TestARosterComesBack(t *testing.T) {
	t.Parallel()
	give := func(change func(*partyv1.RosterResult)) *partyv1.ReturnLeaseRequest {
		res := &partyv1.RosterResult{}
		change(res)
		return &partyv1.ReturnLeaseRequest{Lender: team, Facet: roster, Holder: run1, Result: &partyv1.ReturnLeaseRequest_Roster{Roster: res}}
	}
	w := newWorld(t).begin().enlist()
	w.doParty(cleos, &partyv1.JoinPartyRequest{Name: team, Character: cleo})
	do[*partyv1.TakeLeaseResponse](w, service, take(team, roster, run1))
	get := func() *partyv1.Party {
		return do[*partyv1.GetPartyResponse](w, spectator, &partyv1.GetPartyRequest{Name: team}).GetParty()
	}
	if p := get(); p.GetState() != partyv1.Party_STATE_IN_RUN || p.GetRun() != run1 {
		t.Errorf("while lent: %v", p)
	}
	_, err := w.call(service, take(team, roster, run2))
	refusal{codes.FailedPrecondition, "RUN_BEGUN", "", nil}.check(t, err)

	// Cleo leaves the run early; she is free at once, the others are not.
	seat := give(func(r *partyv1.RosterResult) { r.Character, r.Leader = cleo, bram })
	do[*partyv1.ReturnLeaseResponse](w, service, seat)
	do[*partyv1.ReturnLeaseResponse](w, service, give(func(r *partyv1.RosterResult) { r.Character, r.Leader = cleo, bram }))
	p := get()
	if p.GetLeader() != bram || p.GetState() != partyv1.Party_STATE_IN_RUN {
		t.Errorf("after a seat came back: %v", p)
	}
	want := []*partyv1.PartyMember{{Character: ada, Owner: adas}, {Character: bram, Owner: brams}}
	if diff := cmp.Diff(want, p.GetMembers(), protocmp.Transform()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	w.doParty(cleos, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "next", Character: cleo})
	_, err = w.call(adas, &partyv1.ResetPartyRequest{Parent: camp, Character: ada})
	refusal{codes.FailedPrecondition, "LEASED", "", map[string]string{"holder": run1}}.check(t, err)

	do[*partyv1.ReturnLeaseResponse](w, service, give(func(r *partyv1.RosterResult) { r.Ended = true }))
	if p := get(); p.GetState() != partyv1.Party_STATE_ENDED || len(p.GetMembers()) != 2 {
		t.Errorf("after the run: %v", p)
	}
	// The ended party binds nobody, the leader neither (DIG-FLOW-02).
	w.doParty(brams, &partyv1.JoinPartyRequest{Name: camp + "/parties/next", Character: bram})
	w.doParty(adas, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "third", Character: ada})
}

func TestAnUndoneStartLeavesThePartyForming(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().enlist()
	do[*partyv1.TakeLeaseResponse](w, service, take(team, roster, run1))
	do[*partyv1.ReturnLeaseResponse](w, service, give(team, roster, run1))
	p := w.doParty(cleos, &partyv1.JoinPartyRequest{Name: team, Character: cleo})
	if p.GetState() != partyv1.Party_STATE_FORMING || p.GetRun() != "" || len(p.GetMembers()) != 3 {
		t.Errorf("party: %v", p)
	}
}

func TestGivingBackToALenderThatDoesNotExistSucceeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin()
	for _, req := range []*partyv1.ReturnLeaseRequest{
		give(camp+"/characters/none", vitals, trek1), give(camp+"/companies/none", pack, trek1),
		give(camp+"/parties/none", roster, run1), give("campaigns/none/parties/none", roster, "campaigns/none/runs/r"),
	} {
		do[*partyv1.ReturnLeaseResponse](w, service, req)
	}
}

func TestLeaseRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).begin().gather().enlist()
	w.doParty(cleos, &partyv1.CreatePartyRequest{Parent: camp, PartyId: "lonely", Character: cleo})
	do[*partyv1.AddFormResponse](w, cleos, &partyv1.AddFormRequest{Name: cleo, Form: "avatar", NoStatblock: true})
	do[*partyv1.SwitchFormResponse](w, cleos, &partyv1.SwitchFormRequest{Name: cleo, Form: "avatar"})
	for sentence, c := range map[string]struct {
		who  string
		req  proto.Message
		want refusal
	}{
		"too few members to enter": {
			service, take(camp+"/parties/lonely", roster, run1),
			refusal{codes.FailedPrecondition, "TOO_FEW_MEMBERS", "", nil},
		},
		"the current form has no statblock": {
			service, take(cleo, loadout, run1),
			refusal{codes.FailedPrecondition, "NO_STATBLOCK", "", nil},
		},
		"a party that does not exist": {
			service, take(camp+"/parties/none", roster, run1),
			refusal{codes.NotFound, "NOT_FOUND", "", nil},
		},
		"a character that does not exist": {
			service, take(camp+"/characters/none", vitals, trek1),
			refusal{codes.NotFound, "NOT_FOUND", "", nil},
		},
		"a holder of another campaign": {
			service, take(ada, loadout, other+"/runs/r1"),
			refusal{codes.NotFound, "NOT_FOUND", "holder", nil},
		},
		"a company has no roster": {
			service, take(band, roster, run1),
			refusal{codes.InvalidArgument, "INVALID", "facet", nil},
		},
		"a journey wants a loadout": {
			service, take(ada, loadout, trek1),
			refusal{codes.InvalidArgument, "INVALID", "holder", nil},
		},
		"a pack comes back as vitals": {
			service, &partyv1.ReturnLeaseRequest{Lender: ada, Facet: vitals, Holder: trek1, Result: &partyv1.ReturnLeaseRequest_Pack{Pack: &partyv1.PackFacet{}}},
			refusal{codes.InvalidArgument, "INVALID", "pack", nil},
		},
		"vitals that cannot be": {
			service, &partyv1.ReturnLeaseRequest{Lender: ada, Facet: vitals, Holder: trek1, Result: &partyv1.ReturnLeaseRequest_Vitals{Vitals: &partyv1.Vitals{Hp: 2, HpMax: 1, StrMax: 1}}},
			refusal{codes.InvalidArgument, "INVALID", "vitals.hp", nil},
		},
		"no facet": {
			service, take(ada, partyv1.Facet_FACET_UNSPECIFIED, run1),
			refusal{codes.InvalidArgument, "INVALID", "facet", nil},
		},
		"a user borrows": {
			owner, take(ada, loadout, run1),
			refusal{codes.PermissionDenied, "NOT_A_SERVICE", "", nil},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			before := w.seqs()
			_, err := w.call(c.who, c.req)
			c.want.check(t, err)
			if diff := cmp.Diff(before, w.seqs()); diff != "" {
				t.Errorf("the journal has changed (-before +after):\n%s", diff)
			}
		})
	}
}
