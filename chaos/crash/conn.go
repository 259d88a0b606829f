package crash

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

var errLost = status.Error(codes.Unavailable, "down, or cut off")

// conn is the way from a program to all others, with its own identity.
type conn struct{ from *life }

// Invoke implements [grpc.ClientConnInterface].
func (c conn) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	call := func() error { return c.from.call(c.own(ctx), method, args, reply) }
	facet, borrows := args.(interface{ GetFacet() partyv1.Facet })
	if !borrows || !strings.Contains(method, "LeaseService") {
		if c.from.gone() != nil {
			return errLost
		}
		return c.unlessGone(call())
	}
	// Lending and giving back are steps of their own.
	what := method[strings.LastIndex(method, "/")+1:] + " " + strings.TrimPrefix(facet.GetFacet().String(), "FACET_")
	for _, when := range []When{Before, After} {
		if when == After {
			if err := call(); err != nil {
				return c.unlessGone(err)
			}
		}
		if cut, err := c.from.pass(Lease, what, when); cut || err != nil {
			return errLost
		}
	}
	return nil
}

func (c conn) own(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(auth.Outgoing(ctx), "authorization", "Bearer service:"+c.from.name)
}

// unlessGone is what a dead program makes of an answer.
func (c conn) unlessGone(err error) error {
	if c.from.gone() != nil {
		return errLost
	}
	return err
}

// NewStream implements [grpc.ClientConnInterface].
func (c conn) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if c.from.gone() != nil {
		return nil, errLost
	}
	return c.from.stream(c.own(ctx), method), nil
}

// owner finds the program that serves a method.
func (h *house) owner(method string) *program {
	name, _, _ := strings.Cut(strings.TrimPrefix(method, "/wayfarer."), ".")
	return h.programs[name]
}

// serverContext is a call's context as it comes out on the other side: metadata and end, nothing else.
type serverContext struct{ context.Context }

// Value implements [context.Context].
func (serverContext) Value(any) any { return nil }

// arrive makes the context of a call for the program that takes it.
func arrive(ctx context.Context, l *life, method string) (context.Context, context.CancelFunc) {
	md, _ := metadata.FromOutgoingContext(ctx)
	in := metadata.NewIncomingContext(serverContext{ctx}, md.Copy())
	in = grpc.NewContextWithServerTransportStream(in, headers(method))
	in, cancel := context.WithCancel(context.WithValue(in, lifeKey{}, l))
	stop := context.AfterFunc(l.ctx, cancel)
	return in, func() { stop(); cancel() }
}

type lifeKey struct{}

// headers takes what a server sends beside its answer, which nobody reads here.
type headers string

func (h headers) Method() string             { return string(h) }
func (headers) SetHeader(metadata.MD) error  { return nil }
func (headers) SendHeader(metadata.MD) error { return nil }
func (headers) SetTrailer(metadata.MD) error { return nil }

// tokens is a verifier that takes a subject for its own token; those that begin with "service:" are services.
type tokens struct{}

// Verify implements [auth.Verifier].
func (tokens) Verify(_ context.Context, token string) (auth.Principal, error) {
	return auth.Principal{Subject: token, Service: strings.HasPrefix(token, "service:")}, nil
}

// short is how a method is called among the points.
func short(method string) string { return method[strings.LastIndex(method, "/")+1:] }

// call is a unary call from anybody.
func (h *house) call(ctx context.Context, method string, args, reply any) error {
	req, ok := args.(proto.Message)
	res, fits := reply.(proto.Message)
	owner := h.owner(method)
	if !ok || !fits || owner == nil {
		return status.Errorf(codes.Unimplemented, "%s", method)
	}
	if h.flaw.Call != nil && h.flaw.Call(method, req) {
		return nil
	}
	l, err := owner.alive()
	if err != nil {
		return errLost
	}
	// Reading leaves nothing behind: only calls that change something have points.
	changes := req.ProtoReflect().Descriptor().Fields().ByName("request_id") != nil || method == dicev1.DiceService_Draw_FullMethodName
	if changes {
		if cut, err := l.pass(Answer, short(method), Before); cut || err != nil {
			return errLost
		}
	}
	ctx, cancel := arrive(ctx, l, method)
	defer cancel()
	got, err := l.handle(ctx, method, req)
	if l.gone() != nil {
		return errLost
	}
	if err != nil {
		return status.Convert(err).Err()
	}
	if changes {
		if cut, err := l.pass(Answer, short(method), After); cut || err != nil {
			return errLost
		}
	}
	if h.flaw.Answer != nil {
		h.flaw.Answer(method, req, got)
	}
	proto.Reset(res)
	proto.Merge(res, got)
	return nil
}

func (l *life) handle(ctx context.Context, method string, req proto.Message) (proto.Message, error) {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	r := l.services[service]
	if r.desc == nil {
		return nil, status.Errorf(codes.Unimplemented, "%s", method)
	}
	for _, m := range r.desc.Methods {
		if m.MethodName != name {
			continue
		}
		got, err := m.Handler(r.impl, ctx, into(req), l.interceptor())
		if err != nil {
			return nil, err
		}
		return got.(proto.Message), nil //nolint:forcetypeassert // what gRPC sends
	}
	return nil, status.Errorf(codes.Unimplemented, "%s", method)
}

// into decodes a request as the wire would: the handler has one of its own.
func into(req proto.Message) func(any) error {
	return func(v any) error {
		proto.Merge(v.(proto.Message), req) //nolint:forcetypeassert // what gRPC receives
		return nil
	}
}

// interceptor is what servers do around every call: errors, tokens, checks of the request.
func (l *life) interceptor() grpc.UnaryServerInterceptor {
	faults, who := fault.UnaryServer(l.log), auth.UnaryServer(tokens{})
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return faults(ctx, req, info, func(ctx context.Context, req any) (any, error) {
			return who(ctx, req, info, func(ctx context.Context, req any) (any, error) {
				if err := serve.Check(validator(), req.(proto.Message)); err != nil { //nolint:forcetypeassert // what gRPC receives
					return nil, err
				}
				return next(ctx, req)
			})
		})
	}
}

// stream is a call whose answer is a stream.
func (h *house) stream(ctx context.Context, method string) *stream {
	ctx, cancel := context.WithCancel(ctx)
	return &stream{house: h, method: method, ctx: ctx, cancel: cancel, sent: make(chan proto.Message), over: make(chan struct{})}
}

// stream is both ends of it.
type stream struct {
	*house
	method string
	ctx    context.Context //nolint:containedctx // a stream has one
	cancel context.CancelFunc
	req    proto.Message
	sent   chan proto.Message
	over   chan struct{}
	err    error
	// server is the server's context.
	server context.Context //nolint:containedctx // see ctx
}

// The client's end.

func (s *stream) Header() (metadata.MD, error) { return nil, nil }
func (s *stream) Trailer() metadata.MD         { return nil }
func (s *stream) Context() context.Context     { return s.ctx }
func (s *stream) SendMsg(m any) error {
	s.req = m.(proto.Message) //nolint:forcetypeassert // what gRPC sends
	return nil
}

// CloseSend begins the call: the request is there.
func (s *stream) CloseSend() error {
	l, err := s.owner(s.method).alive()
	if err != nil {
		s.err = errLost
		close(s.over)
		return nil //nolint:nilerr // the call fails, not its request: who receives is told
	}
	go func() {
		defer close(s.over)
		ctx, cancel := arrive(s.ctx, l, s.method)
		defer cancel()
		s.server = ctx
		err := l.serveStream(s)
		if l.gone() != nil {
			err = errLost
		}
		if s.err = io.EOF; err != nil {
			s.err = status.Convert(err).Err()
		}
	}()
	return nil
}

// RecvMsg takes the next message.
func (s *stream) RecvMsg(m any) error {
	select {
	case got := <-s.sent:
		proto.Reset(m.(proto.Message))      //nolint:forcetypeassert // what gRPC receives
		proto.Merge(m.(proto.Message), got) //nolint:forcetypeassert // see above
		return nil
	case <-s.over:
		return s.err
	}
}

// server is the server's end.
type server struct{ *stream }

func (s server) SetHeader(metadata.MD) error  { return nil }
func (s server) SendHeader(metadata.MD) error { return nil }
func (s server) SetTrailer(metadata.MD)       {}
func (s server) Context() context.Context     { return s.server }
func (s server) RecvMsg(m any) error          { return into(s.req)(m) }
func (s server) SendMsg(m any) error {
	select {
	case s.sent <- proto.Clone(m.(proto.Message)): //nolint:forcetypeassert // what gRPC sends
		return nil
	case <-s.server.Done():
		return s.server.Err()
	}
}

func (l *life) serveStream(s *stream) error {
	service, name, _ := strings.Cut(strings.TrimPrefix(s.method, "/"), "/")
	r := l.services[service]
	if r.desc == nil {
		return status.Errorf(codes.Unimplemented, "%s", s.method)
	}
	for _, m := range r.desc.Streams {
		if m.StreamName != name {
			continue
		}
		info := &grpc.StreamServerInfo{FullMethod: s.method, IsServerStream: true}
		return fault.StreamServer(l.log)(r.impl, server{s}, info, func(impl any, ss grpc.ServerStream) error {
			ctx, err := auth.Authenticate(ss.Context(), tokens{})
			if err != nil {
				return err
			}
			s.server = ctx
			return m.Handler(impl, ss)
		})
	}
	return status.Errorf(codes.Unimplemented, "%s", s.method)
}

// edge is the REST edge, which has nothing to lose and so does not die.
func (h *house) edge() (http.RoundTripper, func(), error) {
	cc, err := grpc.NewClient("passthrough:///house", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
			return h.call(ctx, method, req, reply)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, method string, _ grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			return h.stream(ctx, method), nil
		}))
	if err != nil {
		return nil, nil, err
	}
	handler, err := rest.New(context.Background(), rest.Config{Backends: []rest.Backend{
		{Name: "house", Conn: cc, Register: []rest.Registration{
			dicev1.RegisterDiceServiceHandler, partyv1.RegisterCampaignServiceHandler, partyv1.RegisterCharacterServiceHandler, partyv1.RegisterCompanyServiceHandler,
			dungeonv1.RegisterDungeonServiceHandler, dungeonv1.RegisterRunServiceHandler, dungeonv1.RegisterDelveServiceHandler,
			travelv1.RegisterRegionServiceHandler, travelv1.RegisterJourneyServiceHandler, expeditionv1.RegisterExpeditionServiceHandler,
			consolev1.RegisterConsoleServiceHandler,
		}},
	}})
	if err != nil {
		_ = cc.Close()
		return nil, nil, err
	}
	return direct{handler}, func() { _ = cc.Close() }, nil
}

// direct hands requests to a handler without a network between.
type direct struct{ http.Handler }

// RoundTrip implements [http.RoundTripper].
func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	res := &response{header: http.Header{}, begun: make(chan struct{}), body: w}
	go func() {
		d.ServeHTTP(res, req)
		res.WriteHeader(http.StatusOK)
		_ = w.Close()
	}()
	select {
	case <-res.begun:
	case <-req.Context().Done():
		_ = body.CloseWithError(req.Context().Err())
		return nil, req.Context().Err()
	}
	stop := context.AfterFunc(req.Context(), func() { _ = body.CloseWithError(req.Context().Err()) })
	return &http.Response{StatusCode: res.code, Header: res.header, Body: closer{body, stop}, Request: req, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type closer struct {
	*io.PipeReader
	stop func() bool
}

// Close implements [io.Closer].
func (c closer) Close() error {
	c.stop()
	return c.PipeReader.Close()
}

// response is a [http.ResponseWriter] whose body is read while it is written.
type response struct {
	header http.Header
	code   int
	once   sync.Once
	begun  chan struct{}
	body   *io.PipeWriter
}

func (r *response) Header() http.Header { return r.header }
func (r *response) WriteHeader(code int) {
	r.once.Do(func() { r.code = code; close(r.begun) })
}

func (r *response) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

func (r *response) Flush()                           { r.WriteHeader(http.StatusOK) }
func (r *response) SetWriteDeadline(time.Time) error { return nil }
