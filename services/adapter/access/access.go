// Package access says who may call what: one row for each RPC of the suite, in one table.
//
// Servers ask [Check] before they read a request: a method without a row is closed to everybody, one that is between services
// is closed to everybody else. Roles in a campaign are checked by the service that owns what the request is about, inside
// the decision, since a repeated request is owed its first answer whatever has become of the caller's role; that each
// service does as its rows say is tested by calling every method as every kind of caller, and docs/access.md is written from
// the table. What the edge loses: what the rules of the game refuse beyond it, such as a member who does not lead.
package access

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// Who is a kind of callers. A service that acts for itself may call everything; one that acts for a user, what that user may.
type Who int

// The kinds of callers, from the widest to the narrowest.
const (
	// Signed is everybody with a good token.
	Signed Who = iota + 1
	// Member is whoever has a role in the campaign, spectators included.
	Member
	// Play is a member who is no spectator.
	Play
	// Player is who plays characters of their own, and GMs.
	Player
	// Acting is who may act for the character that the request names: its player, a bot that lists it, and GMs.
	Acting
	// Own is whose it is, or who began it, and GMs.
	Own
	// GM is the game masters and owners of the campaign.
	GM
	// Service is service identities alone.
	Service
)

// String names the kind as the documentation does.
func (w Who) String() string {
	return [...]string{"", "signed in", "member", "member, no spectator", "player", "for the character", "owner of it", "GM", "service"}[w]
}

// Row says who may call a method.
type Row struct {
	Who Who
	// Then is what a service or the rules ask besides.
	Then string
}

// MethodClosed is the reason of the PERMISSION_DENIED fault of a method that has no row.
const MethodClosed = "METHOD_CLOSED"

// Of returns the row of a method, as in "/wayfarer.dice.v1.DiceService/Roll".
func Of(method string) (Row, bool) {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	row, ok := table[service][name]
	return row, ok
}

// Check refuses a call of a method that the caller may not make whatever the request is about.
func Check(ctx context.Context, method string) error {
	row, ok := Of(method)
	switch {
	case !ok:
		return fault.New(fault.PermissionDenied, MethodClosed, "%s is open to nobody", method)
	case row.Who == Service:
		return adapter.RequireService(ctx)
	}
	if _, ok := auth.FromContext(ctx); !ok {
		return fault.New(fault.Unauthenticated, auth.TokenMissing, "a bearer token is needed")
	}
	return nil
}

// Methods returns all methods that have a row, in order.
func Methods() []string {
	var all []string
	for service, rows := range table {
		for name := range rows {
			all = append(all, "/"+service+"/"+name)
		}
	}
	slices.Sort(all)
	return all
}

// Markdown is the table as documentation.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Who may call what

Written from the table in ` + "`services/adapter/access`" + ` by ` + "`go test ./services/adapter/access -update`" + `; a test calls every method as every kind of caller and
compares. Health and reflection need no token. A service that acts for itself may call everything; one that acts for a user, what
that user may. Who has no role in a campaign is told NOT_FOUND of everything in it.

| may call | who that is |
|---|---|
`)
	for _, row := range [...]struct {
		who  Who
		text string
	}{
		{Signed, "everybody with a good token"}, {Member, "whoever has a role in the campaign, spectators included"},
		{Play, "a member who is no spectator"}, {Player, "who plays characters of their own; GMs"},
		{Acting, "who may act for the character that the request names: its player, a bot that lists it; GMs"},
		{Own, "whose it is, or who began it; GMs"}, {GM, "game masters and owners of the campaign"}, {Service, "service identities alone"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", row.who, row.text)
	}
	for _, service := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&b, "\n## %s\n\n| method | may call | besides |\n|---|---|---|\n", service)
		for _, name := range slices.Sorted(maps.Keys(table[service])) {
			row := table[service][name]
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, row.Who, row.Then)
		}
	}
	return b.String()
}
