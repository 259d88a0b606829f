// Package suite runs the whole of Wayfarer in one process: services, edge, development issuer, on one data directory.
//
// Services talk to each other as they do in production, over gRPC with tokens; only the machine is the same. It owns the
// order in which things start and stop. Nothing in it knows a rule.
package suite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/gateway/web"
	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/dirlock"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
)

const (
	audience = "wayfarer"
	edgeName = "gateway"
	// Password is that of every demo user.
	Password = "wayfarer" //nolint:gosec // known to everybody
	// membershipTTL is how long a role may outlive its end in other services than party.
	membershipTTL = 3 * time.Second
	sweepEvery    = 30 * time.Second
	// readyWithin is how long everything may take to be ready: a busy machine is slow, and not broken.
	readyWithin = 4 * time.Minute
)

// Users are the demo users of the development issuer.
var Users = []string{"gm", "ada", "bram", "cleo", "dov", "eve"}

// Config says where everything runs. Addresses are "host:port"; port 0 takes a free one.
type Config struct {
	// HTTP is the address of REST, pages and issuer.
	HTTP string
	// GRPC are the addresses of the services by name; a missing one takes a free port on the loopback.
	GRPC map[string]string
	// Data is the directory for stores and keys.
	Data string
	// MongoURI, when it is set, keeps the journals in MongoDB instead of SQLite; MongoPrefix begins the databases' names.
	MongoURI    string
	MongoPrefix string
	// Temporal says where expeditions run; nil: the suite has none.
	Temporal *Temporal
	// Grace is how long calls may go on after the end was asked for.
	Grace time.Duration
	// AllowedOrigins are the origins that browsers may call from.
	AllowedOrigins []string
	// Limits are what callers may ask for; a zero says no limit.
	Limits config.Limits
	Logger *slog.Logger
}

// Suite is a running Wayfarer.
type Suite struct {
	// URL is where REST is, without a slash at the end.
	URL string
	// GRPC are the services' addresses by name.
	GRPC map[string]string

	// TemporalUI is the address of Temporal's web UI, empty when there is none.
	TemporalUI string

	cfg      Config
	services []service
	issuer   *devissuer.Issuer
	// own is the edge's identity.
	own  *auth.TokenSource
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	err  error
	// closers are called last to first.
	closers []func() error
}

// service is one gRPC program of the suite.
type service struct {
	name string
	// open makes the service on its store.
	open func(deps) (instance, error)
	// bind registers it at the edge.
	bind []binding
	// stateless services have no store.
	stateless bool
}

type binding = func(context.Context, *muxType, *grpc.ClientConn) error

// instance is a service that is ready to be registered.
type instance struct {
	register func(grpc.ServiceRegistrar)
	sweep    func(ctx context.Context, tick <-chan time.Time)
	close    func() error
	// ready tells whether what the service needs besides its store is there; nil: always.
	ready func(context.Context) error
}

func (i instance) ping(ctx context.Context) error {
	if i.ready == nil {
		return nil
	}
	return i.ready(ctx)
}

// deps are what a service may use.
type deps struct {
	store   journal.Store
	log     *slog.Logger
	members adapter.Members
	// rulesets tells by which rules a campaign plays.
	rulesets adapter.Rulesets
	// conn reaches another service with this service's own token.
	conn func(name string) *grpc.ClientConn
	// plain reaches another service without any token; nil when there is no such service.
	plain func(name string) (*grpc.ClientConn, error)
	// temporal waits for Temporal and returns the address of its frontend.
	temporal func() (string, error)
	data     string
	grace    time.Duration
}

// Start starts everything and returns once every service is ready. Stop it with Close.
func Start(ctx context.Context, cfg Config) (*Suite, error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Suite{cfg: cfg, stop: stop, GRPC: map[string]string{}, services: services(cfg.Temporal != nil)}
	if err := s.start(ctx, running); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Suite) start(ctx, running context.Context) error {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return err
	}
	// First, and so given back last: two processes on one directory would overwrite each other's keys and share Temporal.
	unlock, err := dirlock.Lock(ctx, s.cfg.Data)
	if err != nil {
		return err
	}
	s.onClose(unlock)
	// Temporal takes longest, so it starts beside everything else.
	temporal, err := s.startTemporal(running)
	if err != nil {
		return err
	}
	web, err := s.listen(s.cfg.HTTP)
	if err != nil {
		return fmt.Errorf("HTTP: %w", err)
	}
	s.URL = "http://" + local(web.Addr().String())
	secrets := map[string]string{}
	for _, svc := range s.services {
		if secrets[svc.name], err = secret(); err != nil {
			return err
		}
	}
	if secrets[edgeName], err = secret(); err != nil {
		return err
	}
	s.own = &auth.TokenSource{URL: s.URL + "/dev/token", ClientID: edgeName, ClientSecret: secrets[edgeName]}
	key, err := devissuer.LoadKey(filepath.Join(s.cfg.Data, "issuer.pem"))
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	s.issuer = devissuer.New(devissuer.Config{
		Issuer: s.URL + "/dev", Audience: audience, Users: Users, Password: Password, Services: secrets,
	}, key)

	listeners := map[string]net.Listener{}
	for _, svc := range s.services {
		addr := s.cfg.GRPC[svc.name]
		if addr == "" {
			addr = "127.0.0.1:0"
		}
		lis, err := s.listen(addr)
		if err != nil {
			return fmt.Errorf("%s: %w", svc.name, err)
		}
		listeners[svc.name] = lis
		s.GRPC[svc.name] = local(lis.Addr().String())
	}
	edge, err := s.edge(running)
	if err != nil {
		return err
	}
	// First the edge: every service fetches the issuer's keys from it.
	s.serveHTTP(running, serve.Bounded(web, serve.LimitsOf(s.cfg.Limits)), edge)
	verifier, err := auth.NewVerifier(running, auth.Config{Issuer: s.URL + "/dev", Audience: audience, JWKS: s.URL + "/dev/jwks.json"})
	if err != nil {
		return err
	}
	for _, svc := range s.services {
		if err := s.run(ctx, running, svc, listeners[svc.name], verifier, secrets, temporal); err != nil {
			return fmt.Errorf("%s: %w", svc.name, err)
		}
	}
	return s.waitReady(ctx)
}

func secret() (string, error) {
	b := make([]byte, 24)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	return hex.EncodeToString(b), nil
}

// local names an address that listens everywhere by the loopback.
func local(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// run opens a service and serves it until the suite stops.
func (s *Suite) run(ctx, running context.Context, svc service, lis net.Listener, v auth.Verifier, secrets map[string]string, temporal func(context.Context) (string, error)) error {
	ping := func(context.Context) error { return nil }
	var store journal.Store
	if !svc.stateless {
		var err error
		if store, err = s.store(ctx, svc.name); err != nil {
			return err
		}
		s.onClose(store.Close)
		ping = store.Ping
	}
	tokens := &auth.TokenSource{URL: s.URL + "/dev/token", ClientID: svc.name, ClientSecret: secrets[svc.name]}
	conns := map[string]*grpc.ClientConn{}
	for _, other := range s.services {
		conn, err := serve.Dial(s.GRPC[other.name], tokens, nil)
		if err != nil {
			return err
		}
		s.onClose(conn.Close)
		conns[other.name] = conn
	}
	log := s.cfg.Logger.With("service", svc.name)
	conn := func(name string) *grpc.ClientConn { return conns[name] }
	campaigns := adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(conn("party")), membershipTTL, time.Now)
	inst, err := svc.open(deps{
		store: store, log: log, conn: conn, data: s.cfg.Data, grace: s.cfg.Grace,
		plain:    s.plain,
		temporal: func() (string, error) { return temporal(ctx) },
		members:  campaigns, rulesets: campaigns,
	})
	if err != nil {
		return err
	}
	s.onClose(inst.close)
	server, err := serve.NewServer(serve.Config{ //nolint:contextcheck // streams bring their own
		Name: svc.name, Verifier: v, Logger: log, Reflection: true, Grace: s.cfg.Grace, Limits: serve.LimitsOf(s.cfg.Limits), Allow: access.Check,
		Ready: func(ctx context.Context) error { return errors.Join(ping(ctx), inst.ping(ctx)) },
	})
	if err != nil {
		return err
	}
	inst.register(server)
	s.wg.Go(func() { s.failed(server.Serve(running, lis)) })
	if inst.sweep != nil {
		tick := time.NewTicker(sweepEvery)
		s.wg.Go(func() {
			defer tick.Stop()
			inst.sweep(auth.NewContext(running, auth.Principal{Subject: svc.name, Service: true}), tick.C)
		})
	}
	return nil
}

func (s *Suite) plain(name string) (*grpc.ClientConn, error) {
	if s.GRPC[name] == "" {
		return nil, nil //nolint:nilnil // not having a service is no error
	}
	conn, err := serve.DialEdge(s.GRPC[name], s.own, nil)
	if err != nil {
		return nil, err
	}
	s.onClose(conn.Close)
	return conn, nil
}

func (s *Suite) store(ctx context.Context, name string) (journal.Store, error) {
	if s.cfg.MongoURI != "" {
		prefix := s.cfg.MongoPrefix
		if prefix == "" {
			prefix = "wayfarer"
		}
		return mongo.Open(ctx, s.cfg.MongoURI, prefix+"_"+name)
	}
	return sqlite.Open(ctx, filepath.Join(s.cfg.Data, name+".db"))
}

// edge is everything on the HTTP port.
func (s *Suite) edge(ctx context.Context) (http.Handler, error) {
	var backends []rest.Backend
	for _, svc := range s.services {
		conn, err := serve.DialEdge(s.GRPC[svc.name], s.own, nil)
		if err != nil {
			return nil, err
		}
		s.onClose(conn.Close)
		backends = append(backends, rest.Backend{Name: svc.name, Conn: conn, Register: svc.bind})
	}
	limits := serve.LimitsOf(s.cfg.Limits)
	api, err := rest.New(ctx, rest.Config{Backends: backends, AllowedOrigins: s.cfg.AllowedOrigins, Limits: rest.Limits{
		Address: limits.Address, Streams: limits.Streams, InFlight: limits.InFlight, Proxies: limits.Proxies,
	}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", api)
	mux.Handle("/dev/", http.StripPrefix("/dev", s.issuer.Handler()))
	mux.Handle("/", web.Handler())
	rest.Health(mux, backends)
	return mux, nil
}

// serveHTTP serves until ctx ends. Calls under way then go on: the services behind end streams and drain the rest.
func (s *Suite) serveHTTP(ctx context.Context, lis net.Listener, h http.Handler) {
	s.wg.Go(func() { s.failed(serve.HTTP(ctx, lis, h, max(s.cfg.Grace, time.Second))) })
}

// listen takes an address. A start that fails before the listener is served gives it back.
func (s *Suite) listen(addr string) (net.Listener, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	s.onClose(func() error {
		if err := lis.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return lis, nil
}

// waitReady returns when every service says that it serves.
func (s *Suite) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for _, svc := range s.services {
		conn, err := serve.Dial(s.GRPC[svc.name], nil, nil)
		if err != nil {
			return err
		}
		err = awaitServing(ctx, healthv1.NewHealthClient(conn))
		_ = conn.Close()
		if err != nil {
			return fmt.Errorf("%s is not ready: %w", svc.name, err)
		}
	}
	return nil
}

func awaitServing(ctx context.Context, client healthv1.HealthClient) error {
	watch, err := client.Watch(ctx, &healthv1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for {
		res, err := watch.Recv()
		if err != nil {
			return err
		}
		if res.GetStatus() == healthv1.HealthCheckResponse_SERVING {
			return nil
		}
	}
}

// Token signs a token for a demo user or any other subject.
func (s *Suite) Token(subject string) (string, error) { return s.issuer.Token(subject) }

// Wait returns the errors of servers that failed, once all have stopped.
func (s *Suite) Wait() error {
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// failed stops everything when one server fails.
func (s *Suite) failed(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	s.err = errors.Join(s.err, err)
	s.mu.Unlock()
	s.stop()
}

func (s *Suite) onClose(f func() error) {
	if f != nil {
		s.closers = append(s.closers, f)
	}
}

// Stop asks everything to end; Wait tells when it has.
func (s *Suite) Stop() { s.stop() }

// Close stops everything, waits for the drain, and closes stores and connections.
func (s *Suite) Close() error {
	s.stop()
	errs := []error{s.Wait()}
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// Addresses lists where things are, for people.
func (s *Suite) Addresses() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  REST and page   %s/\n", s.URL)
	fmt.Fprintf(&b, "  console         %s/console\n", s.URL)
	fmt.Fprintf(&b, "  API docs        %s/docs\n", s.URL)
	for _, svc := range s.services {
		fmt.Fprintf(&b, "  gRPC %-10s %s\n", svc.name, s.GRPC[svc.name])
	}
	if s.TemporalUI != "" {
		fmt.Fprintf(&b, "  Temporal UI     %s\n", s.TemporalUI)
	}
	return b.String()
}
