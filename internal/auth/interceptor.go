package auth

import (
	"context"
	"errors"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// public are the services that need no token: probes and, where it is switched on, reflection.
var public = []string{"/grpc.health.v1.Health/", "/grpc.reflection."}

// Public tells whether a method, as in "/package.Service/Method", needs no token.
func Public(method string) bool {
	for _, p := range public {
		if strings.HasPrefix(method, p) {
			return true
		}
	}
	return false
}

// Authenticate returns a context with the principal of the bearer token in the incoming metadata. It fails with
// UNAUTHENTICATED, and with PERMISSION_DENIED ACTOR_NOT_ALLOWED when anybody but a service names an actor.
func Authenticate(ctx context.Context, v Verifier) (context.Context, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	values := md.Get("authorization")
	if len(values) == 0 {
		return ctx, fault.New(fault.Unauthenticated, TokenMissing, "a bearer token is needed")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "bearer") || token == "" {
		return ctx, fault.New(fault.Unauthenticated, TokenMissing, "the authorization header has to be one bearer token")
	}
	p, err := v.Verify(ctx, strings.TrimSpace(token))
	if err != nil {
		return ctx, err
	}
	if actor := md.Get(ActorHeader); len(actor) > 0 {
		if !p.Service || len(actor) > 1 || !usable(actor[0]) {
			return ctx, fault.New(fault.PermissionDenied, ActorNotAllowed, "only services may act for somebody else, for one user at a time")
		}
		p.Actor = actor[0]
	}
	return NewContext(ctx, p), nil
}

// UnaryServer authenticates every call but those to public services.
func UnaryServer(v Verifier) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if !Public(info.FullMethod) {
			var err error
			if ctx, err = Authenticate(ctx, v); err != nil {
				return nil, err
			}
		}
		return next(ctx, req)
	}
}

// Outgoing returns what a service adds to its calls of other services: the user on whose behalf it acts. The user is the
// effective subject of the call being served, or nobody under [WithoutActor].
func Outgoing(ctx context.Context) context.Context {
	p, ok := FromContext(ctx)
	if !ok || p.Service && p.Actor == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, ActorHeader, p.Effective())
}

// UnaryClient adds the actor to calls of other services. That a service's own token is refused is a fault of the service,
// INTERNAL SERVICE_TOKEN_REFUSED: as UNAUTHENTICATED it would tell the user to log in again.
func UnaryClient() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return ours(invoke(Outgoing(ctx), method, req, reply, cc, opts...))
	}
}

// StreamClient is [UnaryClient] for streams.
func StreamClient() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := stream(Outgoing(ctx), desc, cc, method, opts...)
		if err != nil {
			return nil, ours(err)
		}
		return clientStream{s, ours}, nil
	}
}

// UnaryClient stands inside of the function [UnaryClient]: it has a token that another service refuses renewed.
func (s *TokenSource) UnaryClient() grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return s.note(invoke(ctx, method, req, reply, cc, opts...))
	}
}

// StreamClient is [TokenSource.UnaryClient] for streams.
func (s *TokenSource) StreamClient() grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		opened, err := stream(ctx, desc, cc, method, opts...)
		if err != nil {
			return nil, s.note(err)
		}
		return clientStream{opened, s.note}, nil
	}
}

func (s *TokenSource) note(err error) error {
	if refused(err) {
		s.Refused()
	}
	return err
}

type clientStream struct {
	grpc.ClientStream
	see func(error) error
}

func (c clientStream) RecvMsg(m any) error { return c.see(c.ClientStream.RecvMsg(m)) }

// TokenRefused is the reason of the INTERNAL fault of a service whose own token another service does not take.
const TokenRefused = "SERVICE_TOKEN_REFUSED"

func ours(err error) error {
	if refused(err) {
		return fault.New(fault.Internal, TokenRefused, "another service refuses this service's token").Wrap(err)
	}
	return err
}

// refused tells whether an answer is about the token of who called.
func refused(err error) bool {
	if err == nil || errors.Is(err, io.EOF) { // the good end of a call and of a stream
		return false
	}
	f := fault.FromStatus(err)
	return fault.KindOf(f) == fault.Unauthenticated || fault.ReasonOf(f) == ActorNotAllowed
}

// Bearer returns credentials that send the tokens of a source. Insecure allows connections without TLS, as on the
// loopback of one machine.
func Bearer(src *TokenSource, insecure bool) credentials.PerRPCCredentials {
	return bearer{src, !insecure}
}

type bearer struct {
	src    *TokenSource
	secure bool
}

func (b bearer) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	token, err := b.src.Token(ctx)
	if err != nil {
		return nil, err
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }
