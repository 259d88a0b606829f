package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Config says how a server serves.
type Config struct {
	// Name of the program, for logs.
	Name string
	// Verifier checks tokens.
	Verifier auth.Verifier
	// Logger takes what goes wrong.
	Logger *slog.Logger
	// MaxRecv is the largest message received, in bytes; 0 means 1 MiB. A larger one is refused as [MessageTooLarge], one of
	// more than four times that by gRPC itself, without a reason.
	MaxRecv int
	// ConnectionCalls is how many calls, streams among them, one connection may have under way; 0 means 10,000. An edge has
	// those of all its callers in a few connections: what one caller may have, Limits say.
	ConnectionCalls uint32
	// ConnectionAge is how long a connection takes new calls; what is under way on it goes on. Clients look who serves when
	// they connect anew, so this is how they find servers that were added since; 0 means 10 min.
	ConnectionAge time.Duration
	// Reflection switches server reflection on.
	Reflection bool
	// Grace is how long calls may go on after the end was asked for; 0 means 10 s.
	Grace time.Duration
	// Ready tells whether the server can do its work, for the health service; nil: always. See also [Server.Ping].
	Ready func(context.Context) error
	// ReadyEvery is how often Ready and pings are asked, and how long they may take; 0 means 5 s.
	ReadyEvery time.Duration
	// Deadline is given to calls that come without one, the time for their request included; 0 means 30 s. One of their own may
	// be 10 min. Streams have none.
	Deadline time.Duration
	// Limits are what callers may ask for.
	Limits Limits
	// Allow is asked of every call with a token, by its method as in "/package.Service/Method", before anything is read of the
	// request; its error is the answer. Nil: every method is let through.
	Allow func(ctx context.Context, method string) error
	// Creds are how the server shows who it is and learns who calls, see [TLS]; nil: no TLS.
	Creds credentials.TransportCredentials
}

const (
	connectionCalls = 10_000
	connectionAge   = 10 * time.Minute
	// maxHeader is the greatest size of a call's metadata in bytes, a token in it.
	maxHeader = 64 << 10
	// handshake is how long a new connection may take until it speaks HTTP/2.
	handshake = 10 * time.Second
)

// Server is a gRPC server with health and the suite's interceptors.
type Server struct {
	*grpc.Server
	cfg      Config
	health   *health.Server
	ready    metric.Int64Gauge
	pings    []named
	closers  []named
	stopping context.Context //nolint:containedctx // its end tells streams that the server stops
	stop     context.CancelFunc
}

type named struct {
	name string
	call func(context.Context) error
}

// NewServer returns a server on which services are registered before [Server.Serve].
func NewServer(cfg Config) (*Server, error) {
	if cfg.Verifier == nil || cfg.Logger == nil {
		return nil, errors.New("serve: a server needs a verifier and a logger")
	}
	cfg.MaxRecv = orDefault(cfg.MaxRecv, 1<<20)
	cfg.ConnectionCalls = orDefault(cfg.ConnectionCalls, connectionCalls)
	cfg.ConnectionAge = orDefault(cfg.ConnectionAge, connectionAge)
	cfg.Grace = orDefault(cfg.Grace, 10*time.Second)
	cfg.ReadyEvery = orDefault(cfg.ReadyEvery, 5*time.Second)
	cfg.Deadline = orDefault(cfg.Deadline, 30*time.Second)
	validator, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("serve: validation: %w", err)
	}
	s := &Server{cfg: cfg, health: health.NewServer()}
	if s.ready, err = otel.Meter("github.com/wayfarer-rpg/wayfarer/internal/serve").Int64Gauge("wayfarer.ready",
		metric.WithDescription("Whether the server serves: 1, or 0 while what it needs is away and at its end.")); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	door, size := newDoor(cfg.Verifier, cfg.Limits, cfg.Allow), newSized(cfg.MaxRecv)
	s.stopping, s.stop = context.WithCancel(context.Background())
	if cfg.Creds == nil {
		cfg.Creds = insecure.NewCredentials()
	}
	s.Server = grpc.NewServer(
		grpc.Creds(cfg.Creds),
		grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())))),
		grpc.MaxRecvMsgSize(readMost(cfg.MaxRecv)),
		grpc.ForceServerCodecV2(size),
		grpc.MaxConcurrentStreams(cfg.ConnectionCalls),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(handshake),
		grpc.InTapHandle(deadline(cfg.Deadline, func() map[string]grpc.ServiceInfo { return s.Server.GetServiceInfo() })),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second, MaxConnectionAge: cfg.ConnectionAge}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		// The first is the outermost: whatever panics is caught, whatever is answered is logged as it is answered, and
		// nobody learns from the checks of a request what they may not know without a token.
		grpc.ChainUnaryInterceptor(
			recoverUnary(cfg.Logger),
			logUnary(cfg.Logger),
			fault.UnaryServer(cfg.Logger),
			door.unary,
			size.unary,
			fillUnary,
			checkUnary(validator),
		),
		grpc.ChainStreamInterceptor(
			recoverStream(cfg.Logger),
			logStream(cfg.Logger),
			untilStopping(s.stopping),
			fault.StreamServer(cfg.Logger),
			door.stream,
			size.stream,
			checkStream(validator),
		),
	)
	healthv1.RegisterHealthServer(s.Server, s.health)
	if v, ok := cfg.Verifier.(interface {
		Ready(ctx context.Context) error
	}); ok {
		s.Ping("keys", v.Ready) // a server that can check no token must not take the place of one that can
	}
	return s, nil
}

// Ping adds a condition for health, for example that a store answers. It is called before [Server.Serve].
func (s *Server) Ping(name string, ping func(context.Context) error) {
	s.pings = append(s.pings, named{name, ping})
}

// OnStop adds something to be ended after the drain. [Server.Serve] ends things one after the other, in the order in which
// they were added, each within the grace period. It is called before Serve.
func (s *Server) OnStop(name string, end func(context.Context) error) {
	s.closers = append(s.closers, named{name, end})
}

func orDefault[T int | uint32 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Serve answers calls on all listeners until ctx ends, then drains: health turns to NOT_SERVING, streams end with
// UNAVAILABLE so that their callers resume elsewhere, calls under way go on for at most the grace period, what is left then
// is cut off, and what [Server.OnStop] was told of is ended. It returns nil after a good drain, else what failed, after the
// same drain. It closes the listeners and is called once.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	if len(listeners) == 0 {
		return errors.Join(errors.New("serve: no listener"), s.close(ctx))
	}
	if s.cfg.Reflection {
		reflection.Register(s.Server)
	}
	s.setHealth(healthv1.HealthCheckResponse_NOT_SERVING)
	watching, stopWatching := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { s.watchReady(watching) })
	done := make(chan error, len(listeners))
	for _, lis := range listeners {
		lis = Bounded(lis, s.cfg.Limits)
		go func() { done <- s.Server.Serve(lis) }()
	}
	var errs []error
	ended := func(err error) {
		if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			errs = append(errs, fmt.Errorf("serve: %w", err))
		}
	}
	running := len(listeners)
	select {
	case err := <-done:
		running--
		ended(err)
	case <-ctx.Done():
	}
	stopWatching()
	watch.Wait() // before the drain, or it could turn health back
	s.drain()
	for range running {
		ended(<-done)
	}
	return errors.Join(append(errs, s.close(ctx))...)
}

// tell tells those who watch the figures whether the server serves: a cluster sends nothing to one that does not, so that it
// has no calls that fail.
func (s *Server) tell(ready bool) {
	value := int64(0)
	if ready {
		value = 1
	}
	s.ready.Record(s.stopping, value, metric.WithAttributes(attribute.String("server", s.cfg.Name)))
}

func (s *Server) drain() {
	s.health.Shutdown()
	s.tell(false)
	s.stop()
	drained := make(chan struct{})
	go func() {
		s.Server.GracefulStop()
		close(drained)
	}()
	grace := time.NewTimer(s.cfg.Grace)
	defer grace.Stop()
	select {
	case <-drained:
	case <-grace.C:
		s.cfg.Logger.Warn("calls cut off after the grace period", "server", s.cfg.Name, "grace", s.cfg.Grace.String())
		s.Server.Stop()
		<-drained
	}
}

func (s *Server) close(ctx context.Context) error {
	var errs []error
	for _, c := range s.closers {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Grace)
		if err := c.call(within); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", c.name, err))
		}
		cancel()
	}
	return errors.Join(errs...)
}

// watchReady keeps health in step with Ready and the pings. It logs when that, or what is away, changes, not at every look.
func (s *Server) watchReady(ctx context.Context) {
	checks := s.pings
	if s.cfg.Ready != nil {
		checks = append([]named{{"ready", s.cfg.Ready}}, checks...)
	}
	tick := time.NewTicker(s.cfg.ReadyEvery)
	defer tick.Stop()
	last := healthv1.HealthCheckResponse_NOT_SERVING
	warned := "" // of which
	for {
		away, err := s.ask(ctx, checks)
		if ctx.Err() != nil {
			return
		}
		now := healthv1.HealthCheckResponse_SERVING
		if err != nil {
			now = healthv1.HealthCheckResponse_NOT_SERVING
		}
		switch {
		case err != nil && warned != away:
			s.cfg.Logger.WarnContext(ctx, "not ready", "server", s.cfg.Name, "err", err)
		case now != last:
			s.cfg.Logger.InfoContext(ctx, "ready", "server", s.cfg.Name)
		}
		warned = away
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

// ask makes all checks at once, so that one that hangs does not hide another. It names those that failed.
func (s *Server) ask(ctx context.Context, checks []named) (away string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadyEvery)
	defer cancel()
	errs := make([]error, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			if err := c.call(ctx); err != nil {
				errs[i] = fmt.Errorf("%s: %w", c.name, err)
			}
		})
	}
	wg.Wait()
	for i, c := range checks {
		if errs[i] != nil {
			away += c.name + ";"
		}
	}
	return away, errors.Join(errs...)
}

func (s *Server) setHealth(st healthv1.HealthCheckResponse_ServingStatus) {
	s.tell(st == healthv1.HealthCheckResponse_SERVING)
	s.health.SetServingStatus("", st)
	for name := range s.Server.GetServiceInfo() {
		s.health.SetServingStatus(name, st)
	}
}
