package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// IdempotencyHeader is the metadata key whose value stands in for an empty request_id.
const IdempotencyHeader = "idempotency-key"

// Config says how a server serves.
type Config struct {
	// Name of the program, for logs.
	Name string
	// Verifier checks tokens.
	Verifier auth.Verifier
	// Logger takes what goes wrong.
	Logger *slog.Logger
	// MaxRecv is the largest message received, in bytes; 0 means 1 MiB.
	MaxRecv int
	// Reflection switches server reflection on.
	Reflection bool
	// Grace is how long calls may go on after the end was asked for; 0 means 10 s.
	Grace time.Duration
	// Ready tells whether the server can do its work, for the health service; nil: always.
	Ready func(context.Context) error
	// ReadyEvery is how often Ready is asked; 0 means 5 s.
	ReadyEvery time.Duration
	// Deadline is given to calls that come without one; 0 means 30 s. Streams have none.
	Deadline time.Duration
}

// Server is a gRPC server with health and the suite's interceptors.
type Server struct {
	*grpc.Server
	cfg    Config
	health *health.Server
}

// NewServer returns a server on which services are registered before [Server.Serve].
func NewServer(cfg Config) (*Server, error) {
	if cfg.Verifier == nil || cfg.Logger == nil {
		return nil, errors.New("serve: a server needs a verifier and a logger")
	}
	cfg.MaxRecv = orDefault(cfg.MaxRecv, 1<<20)
	cfg.Grace = orDefault(cfg.Grace, 10*time.Second)
	cfg.ReadyEvery = orDefault(cfg.ReadyEvery, 5*time.Second)
	cfg.Deadline = orDefault(cfg.Deadline, 30*time.Second)
	validator, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("serve: validation: %w", err)
	}
	s := &Server{cfg: cfg, health: health.NewServer()}
	s.Server = grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler()),
		grpc.MaxRecvMsgSize(cfg.MaxRecv),
		grpc.MaxConcurrentStreams(1000),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(
			fault.UnaryServer(cfg.Logger), // outermost: it maps what all others return
			recoverUnary(cfg.Logger),
			deadline(cfg.Deadline),
			auth.UnaryServer(cfg.Verifier),
			checkUnary(validator),
		),
		grpc.ChainStreamInterceptor(
			fault.StreamServer(cfg.Logger),
			recoverStream(cfg.Logger),
			auth.StreamServer(cfg.Verifier),
			checkStream(validator),
		),
	)
	healthv1.RegisterHealthServer(s.Server, s.health)
	return s, nil
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Serve answers calls until ctx ends, then drains: health turns to NOT_SERVING, calls may go on for the grace period, and
// what is left then is cut off. It returns nil after a drain.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	if s.cfg.Reflection {
		reflection.Register(s.Server)
	}
	s.setHealth(healthv1.HealthCheckResponse_NOT_SERVING)
	watching, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.watchReady(watching) })
	done := make(chan error, 1)
	go func() { done <- s.Server.Serve(lis) }()
	var err error
	select {
	case err = <-done:
		stop()
	case <-ctx.Done():
		stop()
		s.drain()
		err = <-done
	}
	wg.Wait()
	if errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

func (s *Server) drain() {
	s.health.Shutdown()
	drained := make(chan struct{})
	go func() {
		s.Server.GracefulStop()
		close(drained)
	}()
	select {
	case <-drained:
	case <-time.After(s.cfg.Grace):
		s.Server.Stop()
		<-drained
	}
}

// watchReady keeps health in step with Ready.
func (s *Server) watchReady(ctx context.Context) {
	tick := time.NewTicker(s.cfg.ReadyEvery)
	defer tick.Stop()
	last := healthv1.HealthCheckResponse_NOT_SERVING
	for {
		now := healthv1.HealthCheckResponse_SERVING
		if s.cfg.Ready != nil {
			check, cancel := context.WithTimeout(ctx, s.cfg.ReadyEvery)
			if err := s.cfg.Ready(check); err != nil && ctx.Err() == nil {
				now = healthv1.HealthCheckResponse_NOT_SERVING
				s.cfg.Logger.WarnContext(ctx, "not ready", "server", s.cfg.Name, "err", err)
			}
			cancel()
		}
		if ctx.Err() != nil {
			return
		}
		if now != last {
			s.setHealth(now)
			last = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Server) setHealth(st healthv1.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", st)
	for name := range s.Server.GetServiceInfo() {
		s.health.SetServingStatus(name, st)
	}
}

func recoverUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		defer func() { err = recovered(ctx, log, info.FullMethod, recover(), err) }()
		return next(ctx, req)
	}
}

func recoverStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer func() { err = recovered(ss.Context(), log, info.FullMethod, recover(), err) }()
		return next(srv, ss)
	}
}

func recovered(ctx context.Context, log *slog.Logger, method string, p any, err error) error {
	if p == nil {
		return err
	}
	log.ErrorContext(ctx, "panic", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "internal error")
}

// deadline gives calls without a deadline one, so that nothing waits for ever.
func deadline(d time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		}
		return next(ctx, req)
	}
}

func checkUnary(v protovalidate.Validator) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if msg, ok := req.(proto.Message); ok {
			fillRequestID(ctx, msg.ProtoReflect())
			if err := Check(v, msg); err != nil {
				return nil, err
			}
		}
		return next(ctx, req)
	}
}

func checkStream(v protovalidate.Validator) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, checkedStream{ss, v})
	}
}

type checkedStream struct {
	grpc.ServerStream
	v protovalidate.Validator
}

func (c checkedStream) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if msg, ok := m.(proto.Message); ok {
		return Check(c.v, msg)
	}
	return nil
}

// fillRequestID takes the request_id from the Idempotency-Key header when the request has an empty one.
func fillRequestID(ctx context.Context, m protoreflect.Message) {
	fd := m.Descriptor().Fields().ByName("request_id")
	if fd == nil || fd.Kind() != protoreflect.StringKind || m.Get(fd).String() != "" {
		return
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if keys := md.Get(IdempotencyHeader); len(keys) > 0 {
			m.Set(fd, protoreflect.ValueOfString(keys[0]))
		}
	}
}

// Check validates a message by the rules of the contract. Every violation is named with the path of its field.
func Check(v protovalidate.Validator, msg proto.Message) error {
	err := v.Validate(msg)
	var bad *protovalidate.ValidationError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &bad):
		return fmt.Errorf("validate %s: %w", msg.ProtoReflect().Descriptor().FullName(), err)
	}
	fields := make([]fault.Violation, len(bad.Violations))
	text := ""
	for i, violation := range bad.Violations {
		field := protovalidate.FieldPathString(violation.Proto.GetField())
		fields[i] = fault.Violation{Field: field, Reason: violation.Proto.GetRuleId(), Description: violation.Proto.GetMessage()}
		if text != "" {
			text += "; "
		}
		text += field + ": " + violation.Proto.GetMessage()
	}
	return fault.Violations("INVALID", fields, "%s", text)
}
