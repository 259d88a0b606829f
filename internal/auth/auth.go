// Package auth tells who calls: it checks bearer tokens and keeps the principal in the context.
//
// Every service checks every token itself: issuer, audience, expiry, pinned algorithms, keys from the issuer's JWKS. It
// owns no roles: what somebody may do in a campaign is asked elsewhere, by subject. What the edge loses: claims other
// than the subject, the service mark and the scopes.
package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// ActorHeader is the metadata key under which a service names the user it acts for.
const ActorHeader = "x-wayfarer-actor"

// ServiceScope is the scope by which a token is known as a service's. The issuer must grant it to clients by their own
// credentials only, never to users: whoever has it may act for anybody.
const ServiceScope = "wayfarer.service"

// Reasons of UNAUTHENTICATED and PERMISSION_DENIED faults.
const (
	TokenMissing    = "TOKEN_MISSING"
	TokenInvalid    = "TOKEN_INVALID"
	TokenExpired    = "TOKEN_EXPIRED"
	ActorNotAllowed = "ACTOR_NOT_ALLOWED"
)

// Principal is who calls.
type Principal struct {
	// Subject of the token.
	Subject string
	// Service is true for a service identity.
	Service bool
	// Scopes of the token.
	Scopes []string
	// Actor is the user that a service acts for; empty when it acts for itself.
	Actor string
}

// Effective returns on whose behalf the call is made.
func (p Principal) Effective() string {
	if p.Actor != "" {
		return p.Actor
	}
	return p.Subject
}

type principalKey struct{}

// Effective returns on whose behalf the call of a context is made: the actor that a service named, else the subject of
// the token; "" without a principal.
func Effective(ctx context.Context) string {
	p, _ := FromContext(ctx)
	return p.Effective()
}

// NewContext returns a context with a principal.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// FromContext returns the principal of a context.
func FromContext(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// WithoutActor returns a context whose calls to other services are made by this service for itself, not for the user
// whose call it is serving.
func WithoutActor(ctx context.Context) context.Context {
	return NewContext(ctx, Principal{Service: true})
}

// WithActor returns a context whose calls to other services are made for the given user.
func WithActor(ctx context.Context, subject string) context.Context {
	return NewContext(ctx, Principal{Subject: subject})
}

// Verifier checks tokens.
type Verifier interface {
	// Verify returns the principal of a token, or an UNAUTHENTICATED fault; UNAVAILABLE KEYS_UNAVAILABLE when the token cannot
	// be checked.
	Verify(ctx context.Context, token string) (Principal, error)
}

// Config says which tokens are good.
type Config struct {
	// Issuer and Audience must be those of the token.
	Issuer   string
	Audience string
	// JWKS is the URL of the issuer's keys.
	JWKS string
	// Leeway is how far clocks may differ; 0 means 30 s.
	Leeway time.Duration
	// Client fetches the keys; nil: http.DefaultClient.
	Client *http.Client
	// Logger is told when the keys cannot be fetched; nil: nobody is.
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// algorithms are pinned: "none" and the shared-secret algorithms are never taken, whatever a key or token says.
var algorithms = []string{"RS256", "ES256", "EdDSA"}

type verifier struct {
	parser  *jwt.Parser
	keys    *keys
	keyfunc keyfunc.Keyfunc
	leeway  time.Duration
	now     func() time.Time
	known   known
}

// Ready returns once tokens can be checked, since the issuer's keys were fetched, however long ago. It fails with UNAVAILABLE
// KEYS_UNAVAILABLE when ctx ends first.
func (v *verifier) Ready(ctx context.Context) error { return v.keys.Ready(ctx) }

// NewVerifier returns a verifier that fetches keys from the issuer, again every hour and, at most every ten seconds, when
// a token names a key that is not known. The keys need not be there yet when it is made.
func NewVerifier(ctx context.Context, cfg Config) (Verifier, error) {
	if cfg.Issuer == "" || cfg.Audience == "" || cfg.JWKS == "" {
		return nil, errors.New("auth: issuer, audience and JWKS are all needed")
	}
	if cfg.Leeway == 0 {
		cfg.Leeway = 30 * time.Second
	}
	if cfg.Client == nil {
		cfg.Client = http.DefaultClient
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	keys, err := newKeys(ctx, cfg.JWKS, cfg.Client, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("auth: keys of %s: %w", cfg.JWKS, err)
	}
	kf, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: keys})
	if err != nil {
		return nil, fmt.Errorf("auth: keys of %s: %w", cfg.JWKS, err)
	}
	return &verifier{
		keys: keys, keyfunc: kf, leeway: cfg.Leeway, now: cfg.Now,
		parser: jwt.NewParser(
			jwt.WithValidMethods(algorithms), jwt.WithIssuer(cfg.Issuer), jwt.WithAudience(cfg.Audience),
			jwt.WithExpirationRequired(), jwt.WithLeeway(cfg.Leeway), jwt.WithTimeFunc(cfg.Now),
		),
	}, nil
}

type claims struct {
	jwt.RegisteredClaims
	Scope scopes `json:"scope"`
	Scp   scopes `json:"scp"` // what some issuers call it
}

// scopes are a text with blanks between, as RFC 8693 has them, or a list.
type scopes []string

func (s *scopes) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		*s = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

// usable tells whether a subject can travel in a header and be told from others at sight: 1 to 128 characters of printable
// ASCII without blanks.
func usable(subject string) bool { return requestid.Valid(subject) }

// Verify implements [Verifier]. Its faults do not tell an attacker which check failed, apart from expiry.
func (v *verifier) Verify(ctx context.Context, token string) (Principal, error) {
	now := v.now()
	if p, ok := v.known.get(token, now); ok {
		return p, nil
	}
	var c claims
	_, err := v.parser.ParseWithClaims(token, &c, v.keyfunc.KeyfuncCtx(ctx))
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return Principal{}, f
	case err != nil && ctx.Err() != nil:
		return Principal{}, status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return Principal{}, fault.New(fault.Unauthenticated, TokenExpired, "the token has expired").Wrap(err)
	case err != nil:
		return Principal{}, fault.New(fault.Unauthenticated, TokenInvalid, "the token is not valid here").Wrap(err)
	case !usable(c.Subject):
		return Principal{}, fault.New(fault.Unauthenticated, TokenInvalid, "the token has no usable subject")
	}
	all := slices.Concat(c.Scope, c.Scp)
	p := Principal{Subject: c.Subject, Scopes: all, Service: slices.Contains(all, ServiceScope)}
	until := now.Add(trusted)
	if end := c.ExpiresAt.Add(v.leeway); end.Before(until) {
		until = end
	}
	v.known.put(token, p, until)
	return p, nil
}
