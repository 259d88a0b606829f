// Command gateway serves REST and the pages, and the console over gRPC, and calls the services over gRPC. Its environment
// is described in docs/operating.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/console"
	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/gateway/web"
	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
)

var version = "dev"

// settings are the program's environment.
type settings struct {
	// Issuer, Audience, JWKS and Leeway are whose tokens the console takes, as for the services; REST leaves that to them.
	// Without an issuer there is no console.
	Issuer     string        `env:"WAYFARER_ISSUER"`
	Audience   string        `env:"WAYFARER_AUDIENCE" envDefault:"wayfarer"`
	JWKS       string        `env:"WAYFARER_JWKS_URL"`
	Leeway     time.Duration `env:"WAYFARER_TOKEN_LEEWAY" envDefault:"30s"`
	Listen     string        `env:"WAYFARER_LISTEN" envDefault:":8080"`
	GRPCListen string        `env:"WAYFARER_GRPC_LISTEN" envDefault:":9096"`
	// MetricsListen is where metrics and probes are served beside, without TLS; empty: only the probes, on Listen.
	MetricsListen string `env:"WAYFARER_METRICS_LISTEN"`
	// TokenURL, ClientID and ClientSecret are the gateway's own identity, with which it tells the services the addresses of
	// its clients; all or none.
	TokenURL     string        `env:"WAYFARER_TOKEN_URL"`
	ClientID     string        `env:"WAYFARER_CLIENT_ID"`
	ClientSecret config.Secret `env:"WAYFARER_CLIENT_SECRET"`
	// EdgeCert and EdgeKey are files of the certificate that clients see, of REST and of the console; both or none.
	EdgeCert       string        `env:"WAYFARER_EDGE_TLS_CERT"`
	EdgeKey        string        `env:"WAYFARER_EDGE_TLS_KEY"`
	Deadline       time.Duration `env:"WAYFARER_DEADLINE" envDefault:"30s"`
	Reflection     bool          `env:"WAYFARER_REFLECTION" envDefault:"false"`
	Grace          time.Duration `env:"WAYFARER_GRACE" envDefault:"10s"`
	LogLevel       slog.Level    `env:"WAYFARER_LOG_LEVEL" envDefault:"INFO"`
	MaxBody        int64         `env:"WAYFARER_MAX_BODY_BYTES" envDefault:"1048576"`
	Origins        []string      `env:"WAYFARER_ALLOWED_ORIGINS"`
	DiceAddr       string        `env:"WAYFARER_DICE_ADDR" envDefault:"127.0.0.1:9091"`
	PartyAddr      string        `env:"WAYFARER_PARTY_ADDR" envDefault:"127.0.0.1:9092"`
	DungeonAddr    string        `env:"WAYFARER_DUNGEON_ADDR" envDefault:"127.0.0.1:9093"`
	TravelAddr     string        `env:"WAYFARER_TRAVEL_ADDR" envDefault:"127.0.0.1:9094"`
	ExpeditionAddr string        `env:"WAYFARER_EXPEDITION_ADDR" envDefault:"127.0.0.1:9095"`
	Telemetry      config.Telemetry
	TLS            config.TLS
	Limits         config.Limits
}

// Check implements config.Checker.
func (s *settings) Check() error {
	var errs []error
	if s.MaxBody < 1 {
		errs = append(errs, config.Bad("WAYFARER_MAX_BODY_BYTES", "is %d, below 1", s.MaxBody))
	}
	// What it has in common with the services has their bounds.
	common := config.Server{Listen: s.Listen, MetricsListen: s.MetricsListen, MaxReceive: 1 << 20, Grace: s.Grace, Deadline: s.Deadline}
	errs = append(errs, common.Check())
	if (s.EdgeCert == "") != (s.EdgeKey == "") {
		errs = append(errs, config.Bad("WAYFARER_EDGE_TLS_CERT", "and WAYFARER_EDGE_TLS_KEY go together"))
	}
	if s.identified() {
		errs = append(errs, (&config.Identity{TokenURL: s.TokenURL}).Check())
		for name, value := range map[string]string{"WAYFARER_CLIENT_ID": s.ClientID, "WAYFARER_CLIENT_SECRET": string(s.ClientSecret)} {
			if value == "" {
				errs = append(errs, config.Bad(name, "is needed: the gateway has an identity or none"))
			}
		}
	}
	if s.Issuer != "" {
		errs = append(errs, (&config.Auth{JWKS: s.JWKS, Leeway: s.Leeway}).Check())
	}
	return errors.Join(errs...)
}

func (s *settings) identified() bool {
	return s.TokenURL != "" || s.ClientID != "" || s.ClientSecret != ""
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("gateway", version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) (err error) {
	s, err := config.Load[settings](getenv)
	if err != nil {
		return err
	}
	log := serve.NewLogger(os.Stderr, "gateway", s.LogLevel)
	slog.SetDefault(log) // what libraries say comes as JSON, too
	telemetry, err := serve.NewTelemetry(ctx, serve.TelemetryConfig{
		Program: "gateway", Version: version, Endpoint: s.Telemetry.Endpoint, Ratio: s.Telemetry.Ratio,
	})
	if err != nil {
		return err
	}
	telemetry.Install()
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
		defer cancel()
		err = errors.Join(err, telemetry.Stop(within))
	}()
	certs, err := serve.NewTLS(serve.TLSConfig{Cert: s.TLS.Cert, Key: s.TLS.Key, ClientCA: s.TLS.ClientCA, CA: s.TLS.CA, Logger: log})
	if err != nil {
		return err
	}
	shown, err := serve.NewTLS(serve.TLSConfig{Cert: s.EdgeCert, Key: s.EdgeKey, Logger: log})
	if err != nil {
		return err
	}
	own := s.own(ctx, log)
	backends := []rest.Backend{
		{Name: "dice", Register: []rest.Registration{dicev1.RegisterDiceServiceHandler}},
		{Name: "party", Register: []rest.Registration{
			partyv1.RegisterCampaignServiceHandler, partyv1.RegisterCharacterServiceHandler, partyv1.RegisterCompanyServiceHandler,
			partyv1.RegisterSceneServiceHandler,
		}},
		{Name: "dungeon", Register: []rest.Registration{dungeonv1.RegisterDungeonServiceHandler, dungeonv1.RegisterRunServiceHandler, dungeonv1.RegisterDelveServiceHandler}},
		{Name: "travel", Register: []rest.Registration{travelv1.RegisterRegionServiceHandler, travelv1.RegisterJourneyServiceHandler, travelv1.RegisterMissionServiceHandler}},
		{Name: "expedition", Register: []rest.Registration{expeditionv1.RegisterExpeditionServiceHandler}},
	}
	for i, addr := range []string{s.DiceAddr, s.PartyAddr, s.DungeonAddr, s.TravelAddr, s.ExpeditionAddr} {
		conn, err := serve.DialEdge(addr, own, certs.Client())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		backends[i].Conn = conn
	}
	served := func(ctx context.Context) error { <-ctx.Done(); return nil }
	if s.Issuer == "" {
		log.WarnContext(ctx, "no console is served: WAYFARER_ISSUER is not set")
	} else {
		with, serveConsole, err := s.console(ctx, log, backends, own, shown)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, with.Conn.Close()) }()
		backends, served = append(backends, with), serveConsole
	}
	limits := serve.LimitsOf(s.Limits)
	api, err := rest.New(ctx, rest.Config{Backends: backends, MaxBody: s.MaxBody, AllowedOrigins: s.Origins, Limits: rest.Limits{
		Address: limits.Address, Streams: limits.Streams, InFlight: limits.InFlight, Deadline: s.Deadline, Proxies: limits.Proxies,
	}})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", api)
	mux.Handle("/", web.Handler())
	rest.Health(mux, backends)
	lis, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("WAYFARER_LISTEN: %w", err)
	}
	lis = serve.Bounded(lis, limits)
	all := []func(context.Context) error{
		served, func(ctx context.Context) error { return serve.HTTPS(ctx, lis, mux, s.Grace, shown) },
	}
	if s.MetricsListen != "" {
		beside, lerr := net.Listen("tcp", s.MetricsListen)
		if lerr != nil {
			return errors.Join(fmt.Errorf("WAYFARER_METRICS_LISTEN: %w", lerr), lis.Close())
		}
		probes := http.NewServeMux()
		probes.Handle("GET /metrics", telemetry.Metrics())
		rest.Health(probes, backends)
		watched, unwatched := context.WithCancel(context.WithoutCancel(ctx)) // they are there to the end of the drain
		ended := make(chan error, 1)
		go func() { ended <- serve.HTTP(watched, beside, probes, time.Second) }()
		defer func() { unwatched(); err = errors.Join(err, <-ended) }()
	}
	log.InfoContext(ctx, "serving", "address", lis.Addr().String(), "version", version)
	return together(ctx, all)
}

// together runs all until ctx ends or one of them does: none goes on without the others.
func together(ctx context.Context, all []func(context.Context) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	errs := make(chan error, len(all))
	for _, run := range all {
		go func() {
			defer stop()
			errs <- run(running)
		}()
	}
	var err error
	for range all {
		err = errors.Join(err, <-errs)
	}
	return err
}

// own is the gateway's identity, nil without one.
func (s *settings) own(ctx context.Context, log *slog.Logger) *auth.TokenSource {
	if !s.identified() {
		log.WarnContext(ctx, "WAYFARER_CLIENT_ID is not set: to the services all clients have the address of this gateway")
		return nil
	}
	return &auth.TokenSource{URL: s.TokenURL, ClientID: s.ClientID, ClientSecret: string(s.ClientSecret), Audience: s.Audience, Logger: log}
}

// console makes the gateway's own gRPC server and how REST reaches it.
func (s *settings) console(ctx context.Context, log *slog.Logger, backends []rest.Backend, tokens *auth.TokenSource, shown *serve.TLS) (own rest.Backend, run func(context.Context) error, err error) {
	own = rest.Backend{Name: "console", Register: []rest.Registration{consolev1.RegisterConsoleServiceHandler}}
	conns := map[string]*grpc.ClientConn{}
	for _, b := range backends {
		conns[b.Name] = b.Conn
	}
	service, err := console.New(console.Config{
		Party: conns["party"], Dice: conns["dice"], Dungeon: conns["dungeon"], Travel: conns["travel"], Expedition: conns["expedition"],
	})
	if err != nil {
		return own, nil, err
	}
	verifier, err := auth.NewVerifier(ctx, auth.Config{
		Issuer: s.Issuer, Audience: s.Audience, JWKS: s.JWKS, Leeway: s.Leeway, Logger: log,
	})
	if err != nil {
		return own, nil, err
	}
	server, err := serve.NewServer(serve.Config{ //nolint:contextcheck // streams bring their own
		Name: "console", Verifier: verifier, Logger: log, Reflection: s.Reflection, Grace: s.Grace, Deadline: s.Deadline,
		Limits: serve.LimitsOf(s.Limits), Allow: access.Check, Creds: shown.Server(),
	})
	if err != nil {
		return own, nil, err
	}
	service.Register(server)
	lis, err := net.Listen("tcp", s.GRPCListen)
	if err != nil {
		return own, nil, fmt.Errorf("WAYFARER_GRPC_LISTEN: %w", err)
	}
	host, port, err := net.SplitHostPort(lis.Addr().String())
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	if err == nil {
		own.Conn, err = serve.DialEdge(net.JoinHostPort(host, port), tokens, shown.Self())
	}
	if err != nil {
		return own, nil, errors.Join(err, lis.Close())
	}
	return own, func(ctx context.Context) error { return server.Serve(ctx, lis) }, nil
}
