package party

import (
	"slices"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// The reasons of a lender's refusals.
const (
	reasonLeased      = "LEASED"
	reasonLeaseClosed = "LEASE_CLOSED"
)

// lent is a facet with who holds it or has held it.
type lent struct {
	Facet  partyv1.Facet `json:"facet"`
	Holder string        `json:"holder"`
}

// leases are what an aggregate has lent: at most one holder for each facet, and the holders that have given back, who
// may never borrow again. It is a value: its methods change nothing.
type leases struct {
	Held   []lent `json:"held,omitempty"`
	Closed []lent `json:"closed,omitempty"`
}

// holder returns who holds the facet, "" for nobody.
func (l leases) holder(f partyv1.Facet) string {
	for _, h := range l.Held {
		if h.Facet == f {
			return h.Holder
		}
	}
	return ""
}

func (l leases) closed(x lent) bool { return slices.Contains(l.Closed, x) }

// atRest refuses a change to a facet that is lent.
func (l leases) atRest(f partyv1.Facet) error {
	if h := l.holder(f); h != "" {
		return leased(f, h)
	}
	return nil
}

// take decides a borrowing: whether it is news. A holder that has the facet already may ask again.
func (l leases) take(x lent) (news bool, err error) {
	if l.closed(x) {
		return false, leaseClosed(x.Facet, x.Holder)
	}
	switch h := l.holder(x.Facet); h {
	case "":
		return true, nil
	case x.Holder:
		return false, nil
	default:
		return false, leased(x.Facet, h)
	}
}

// give decides a giving back: whether the holder is to be closed, which it is even when it held nothing, and whether it
// held the facet, so that what it brings back counts.
func (l leases) give(x lent) (news, held bool) { return !l.closed(x), l.holder(x.Facet) == x.Holder }

func (l leases) taken(x lent) leases {
	l.Held = append(slices.Clone(l.Held), x)
	return l
}

func (l leases) given(x lent) leases {
	l.Held = slices.DeleteFunc(slices.Clone(l.Held), func(h lent) bool { return h == x })
	l.Closed = append(slices.Clone(l.Closed), x)
	return l
}

// toProto lists what is lent.
func (l leases) toProto() []*partyv1.Lease {
	var out []*partyv1.Lease
	for _, h := range l.Held {
		out = append(out, h.toProto())
	}
	return out
}

func (x lent) toProto() *partyv1.Lease { return &partyv1.Lease{Facet: x.Facet, Holder: x.Holder} }

func lentFrom(l *partyv1.Lease) lent { return lent{Facet: l.GetFacet(), Holder: l.GetHolder()} }

// leased refuses because somebody else holds the facet.
func leased(f partyv1.Facet, holder string) error {
	return fault.New(fault.FailedPrecondition, reasonLeased, "%s is held by %s", f, holder).
		With("facet", f.String()).With("holder", holder)
}

// leaseClosed refuses because the holder has given the facet back.
func leaseClosed(f partyv1.Facet, holder string) error {
	return fault.New(fault.FailedPrecondition, reasonLeaseClosed, "%s has given %s back", holder, f).
		With("facet", f.String()).With("holder", holder)
}
