package adapter

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Membership is what somebody may do in a campaign.
type Membership struct {
	// Role is their role, never unspecified.
	Role typev1.Role
	// Characters are those that a bot acts for, as resource names.
	Characters []string
	// Chapter is the campaign's chapter, CampaignSeq the campaign record that all of this comes from.
	Chapter     int
	CampaignSeq int
}

// Members looks memberships up. Who has none gets a NOT_FOUND fault for the campaign.
type Members interface {
	Membership(ctx context.Context, campaign, subject string) (Membership, error)
}

// Caller is who gave a command, with what they may do in the campaign it is about.
type Caller struct {
	// Campaign is the resource name of the campaign.
	Campaign string
	// Subject is the user, also when a service acts for one; a service's own subject when it acts for itself.
	Subject string
	// Service is true when a service identity made the call, for itself or for a user.
	Service bool
	// Itself is true when a service acts for itself: it may do everything.
	Itself bool
	Membership
}

// GM tells whether the caller is a game master, an owner or a service acting for itself.
func (c Caller) GM() bool {
	return c.Itself || c.Role == typev1.Role_ROLE_GM || c.Role == typev1.Role_ROLE_OWNER
}

// MayActFor tells whether the caller may give commands for a character: its owner if they play, a bot that lists it,
// and whoever is a GM.
func (c Caller) MayActFor(owner, character string) bool {
	switch {
	case c.GM():
		return true
	case c.Role == typev1.Role_ROLE_PLAYER:
		return owner == c.Subject
	case c.Role == typev1.Role_ROLE_BOT:
		return slices.Contains(c.Characters, character)
	}
	return false
}

// RequireActFor refuses a caller who may not act for the character.
func (c Caller) RequireActFor(owner, character string) error {
	if c.MayActFor(owner, character) {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_YOUR_CHARACTER", "%s may not act for %s", c.Subject, character)
}

// RequireGM refuses everybody but game masters.
func (c Caller) RequireGM() error {
	if c.GM() {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may do this")
}

// RequirePlay refuses spectators.
func (c Caller) RequirePlay() error {
	if c.Itself || c.Role != typev1.Role_ROLE_SPECTATOR {
		return nil
	}
	return fault.New(fault.PermissionDenied, "SPECTATOR", "spectators change nothing")
}

// Access finds out who calls.
type Access struct{ members Members }

// NewAccess returns an Access that asks members.
func NewAccess(members Members) *Access { return &Access{members: members} }

// Caller returns who calls about the named resource, which lives in a campaign. It fails with UNAUTHENTICATED without a
// principal in the context and with NOT_FOUND when the caller has no role in the campaign.
func (a *Access) Caller(ctx context.Context, name string) (Caller, error) {
	p, ok := auth.FromContext(ctx)
	if !ok {
		return Caller{}, fault.New(fault.Unauthenticated, "TOKEN_MISSING", "a bearer token is needed")
	}
	campaign, err := CampaignOf(name)
	if err != nil {
		return Caller{}, err
	}
	c := Caller{Campaign: campaign, Subject: p.Effective(), Service: p.Service}
	if p.Service && p.Actor == "" {
		c.Itself = true
		return c, nil
	}
	c.Membership, err = a.members.Membership(ctx, campaign, c.Subject)
	return c, err
}

// RequireService refuses everybody but service identities.
func RequireService(ctx context.Context) error {
	if p, ok := auth.FromContext(ctx); ok && p.Service {
		return nil
	}
	return fault.New(fault.PermissionDenied, "NOT_A_SERVICE", "only services may do this")
}

// CampaignOf returns the resource name of the campaign that a resource lives in.
func CampaignOf(name string) (string, error) {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 2 || parts[0] != "campaigns" || parts[1] == "" {
		return "", fault.Invalid("name", "%q is not the name of a resource in a campaign", name)
	}
	return parts[0] + "/" + parts[1], nil
}

// IDOf returns the last part of a resource name.
func IDOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// SameCampaign refuses a resource of another campaign than the caller's, as if it did not exist.
func SameCampaign(campaign, field, name string) error {
	if name == "" || strings.HasPrefix(name, campaign+"/") {
		return nil
	}
	return fault.New(fault.NotFound, "NOT_FOUND", "%s does not exist in %s", name, campaign).At(field, "is not in this campaign")
}

// RemoteMembers asks the party service and keeps positive answers for a short while.
type RemoteMembers struct {
	client partyv1.MembershipServiceClient
	ttl    time.Duration
	now    func() time.Time

	mu    sync.Mutex
	known map[[2]string]known
}

type known struct {
	m     Membership
	until time.Time
}

// maxKnown bounds the memory for memberships; beyond it the oldest answers are not searched for, all are dropped.
const maxKnown = 10_000

// NewRemoteMembers returns memberships as the party service tells them, each kept for ttl by the clock now.
func NewRemoteMembers(client partyv1.MembershipServiceClient, ttl time.Duration, now func() time.Time) *RemoteMembers {
	return &RemoteMembers{client: client, ttl: ttl, now: now, known: map[[2]string]known{}}
}

// Membership implements [Members].
func (r *RemoteMembers) Membership(ctx context.Context, campaign, subject string) (Membership, error) {
	key := [2]string{campaign, subject}
	r.mu.Lock()
	k, ok := r.known[key]
	r.mu.Unlock()
	if ok && r.now().Before(k.until) {
		return k.m, nil
	}
	// The service asks for itself: whether the user has a role is not for the user's rights to decide.
	res, err := r.client.GetMembership(auth.WithoutActor(ctx), &partyv1.GetMembershipRequest{Campaign: campaign, Subject: subject})
	if err != nil {
		return Membership{}, fault.FromStatus(err)
	}
	m := Membership{Role: res.GetRole(), Characters: res.GetCharacters(), Chapter: int(res.GetChapter()), CampaignSeq: int(res.GetCampaignSeq())}
	r.mu.Lock()
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[key] = known{m, r.now().Add(r.ttl)}
	r.mu.Unlock()
	return m, nil
}
