package serve

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/limit"
)

// Limits say what one caller, and all together, may ask of a server. A zero says no limit. Service identities have none but
// twice InFlight: what they ask for is part of something that was let in elsewhere.
type Limits struct {
	// Principal is how many calls one principal may make.
	Principal limit.Rate
	// Address is how many calls may come from one address, whoever makes them, those with a bad token among them.
	Address limit.Rate
	// Streams is how many streams one principal may have open; one address without a token, for health and reflection.
	Streams int
	// InFlight is how many calls may be under way at once; what is beyond is turned away at once. Streams do not count.
	InFlight int
	// AddressConnections is how many connections one address may have open, see [Bounded]; trusted proxies may have more.
	AddressConnections int
	// Connections is how many may be open in all.
	Connections int
	// Proxies are the addresses whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// LimitsOf returns limits as the environment sets them.
func LimitsOf(c config.Limits) Limits {
	return Limits{
		Principal: limit.Rate{PerSecond: c.PrincipalRate, Burst: c.PrincipalBurst},
		Address:   limit.Rate{PerSecond: c.AddressRate, Burst: c.AddressBurst},
		Streams:   c.Streams, InFlight: c.InFlight, Proxies: c.Proxies,
		AddressConnections: c.AddressConnections, Connections: c.Connections,
	}
}

// Reasons of RESOURCE_EXHAUSTED faults of limits, and of the refusal of an address that anybody but a service tells.
const (
	RateLimited       = "RATE_LIMITED"
	TooManyStreams    = "TOO_MANY_STREAMS"
	Overloaded        = "OVERLOADED"
	ClientNotAllowed  = "CLIENT_NOT_ALLOWED"
	overloadedRetry   = time.Second
	streamsRetry      = 10 * time.Second
	forwardedMetadata = "x-forwarded-for"
)

// Metadata by which an edge names the address that it serves, with its own service token as the proof.
const (
	ClientHeader = "x-wayfarer-client"
	EdgeHeader   = "x-wayfarer-edge"
)

type clientKey struct{}

// WithClient returns a context in which the call is made for a client at an address.
func WithClient(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, clientKey{}, address)
}

// Client returns the address of the client for whom a call is made, "" where nobody knows it.
func Client(ctx context.Context) string {
	address, _ := ctx.Value(clientKey{}).(string)
	return address
}

// ClientAddress returns the address of a client: of the peer, host:port, or, if that is a trusted proxy, the last one in
// the values of X-Forwarded-For that is none. What stands before that in the header, its sender may have invented. Clients
// of IPv6 are known by their /64 net, since one host has all of it.
func ClientAddress(peer string, forwarded []string, proxies []netip.Prefix) string {
	at := parseAddress(peer)
	if !at.IsValid() {
		return peer // a pipe of a test
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && trusted(at, proxies); i-- {
		next := parseAddress(strings.TrimSpace(hops[i]))
		if !next.IsValid() {
			break
		}
		at = next
	}
	if at.Is6() {
		if net, err := at.WithZone("").Prefix(64); err == nil {
			return net.String()
		}
	}
	return at.String()
}

func parseAddress(s string) netip.Addr {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	at, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return at.Unmap()
}

func trusted(at netip.Addr, proxies []netip.Prefix) bool {
	for _, p := range proxies {
		if p.Contains(at) {
			return true
		}
	}
	return false
}

// door lets calls in: it finds out who calls and from where, and whether that is too much.
type door struct {
	verifier   auth.Verifier
	allow      func(ctx context.Context, method string) error
	proxies    []netip.Prefix
	principals *limit.Buckets
	addresses  *limit.Buckets
	streams    *limit.Counts
	calls      *limit.Counts
}

func newDoor(v auth.Verifier, l Limits, allow func(context.Context, string) error) *door {
	return &door{
		verifier: v, allow: allow, proxies: l.Proxies,
		principals: limit.NewBuckets(l.Principal, l.Now), addresses: limit.NewBuckets(l.Address, l.Now),
		streams: limit.NewCounts(l.Streams, 0), calls: limit.NewCounts(0, l.InFlight),
	}
}

// enter returns the context of a call that is let in, with who calls, and what to do when it is over.
func (d *door) enter(ctx context.Context, method string, stream bool) (in context.Context, leave func(), err error) {
	address, err := d.address(ctx)
	if err != nil {
		return ctx, nil, err
	}
	ctx = WithClient(ctx, address)
	if auth.Public(method) {
		if stream { // a single check of health is never refused
			leave, err = d.open(ctx, "address "+address)
			return ctx, leave, err
		}
		return ctx, func() {}, nil
	}
	in, err = auth.Authenticate(ctx, d.verifier)
	p, _ := auth.FromContext(in)
	if !p.Service || err != nil { // bad tokens cost as well
		if refusal := take(ctx, "address", d.addresses, address); refusal != nil {
			return ctx, nil, refusal
		}
	}
	if err == nil && d.allow != nil {
		err = d.allow(in, method)
	}
	if err != nil {
		return ctx, nil, err
	}
	enter := d.calls.EnterBeyond
	if !p.Service {
		enter = d.calls.Enter
		if refusal := take(ctx, "principal", d.principals, p.Subject); refusal != nil {
			return ctx, nil, refusal
		}
		if stream {
			leave, err = d.open(ctx, "principal "+p.Subject)
			return in, leave, err
		}
	}
	if stream {
		return in, func() {}, nil
	}
	if leave = enter(""); leave == nil {
		limit.Refused(ctx, "in_flight")
		return ctx, nil, fault.New(fault.ResourceExhausted, Overloaded, "too much is asked of this server at the moment").After(overloadedRetry)
	}
	return in, leave, nil
}

func (d *door) open(ctx context.Context, key string) (leave func(), err error) {
	if leave = d.streams.Enter(key); leave == nil {
		limit.Refused(ctx, "streams")
		return nil, fault.New(fault.ResourceExhausted, TooManyStreams, "too many streams of this caller are open").After(streamsRetry)
	}
	return leave, nil
}

func take(ctx context.Context, name string, from *limit.Buckets, key string) error {
	wait, ok := from.Take(key)
	if ok {
		return nil
	}
	limit.Refused(ctx, name)
	return fault.New(fault.ResourceExhausted, RateLimited, "too many calls of this %s", name).With("limit", name).After(wait)
}

// address tells where a call comes from: the peer, what a trusted proxy says, or what an edge says that shows a service's
// token. Anybody else who tells an address is refused, not ignored.
func (d *door) address(ctx context.Context) (string, error) {
	from := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		from = p.Addr.String()
	}
	md, _ := metadata.FromIncomingContext(ctx)
	client, edge := md.Get(ClientHeader), md.Get(EdgeHeader)
	if len(client) == 0 && len(edge) == 0 {
		return ClientAddress(from, md.Get(forwardedMetadata), d.proxies), nil
	}
	if len(client) != 1 || len(edge) != 1 || len(client[0]) > 64 {
		return "", clientNotAllowed()
	}
	switch p, err := d.verifier.Verify(ctx, edge[0]); {
	case err != nil && fault.KindOf(err) != fault.Unauthenticated:
		return "", err // nothing is known against the token
	case err != nil || !p.Service:
		return "", clientNotAllowed()
	}
	return client[0], nil
}

func clientNotAllowed() error {
	return fault.New(fault.PermissionDenied, ClientNotAllowed, "only services may tell the address of a client")
}

func (d *door) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, leave, err := d.enter(ctx, info.FullMethod, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	return next(ctx, req)
}

func (d *door) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, leave, err := d.enter(ss.Context(), info.FullMethod, true)
	if err != nil {
		return err
	}
	defer leave()
	return next(srv, streamWith{ss, ctx})
}
