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
)

var version = "dev"

// settings are the program's environment.
type settings struct {
	// Issuer, Audience, JWKS and Leeway are whose tokens the console takes, as for the services; REST leaves that to them.
	// Without an issuer there is no console.
	Issuer         string        `env:"WAYFARER_ISSUER"`
	Audience       string        `env:"WAYFARER_AUDIENCE" envDefault:"wayfarer"`
	JWKS           string        `env:"WAYFARER_JWKS_URL"`
	Leeway         time.Duration `env:"WAYFARER_TOKEN_LEEWAY" envDefault:"30s"`
	Listen         string        `env:"WAYFARER_LISTEN" envDefault:":8080"`
	GRPCListen     string        `env:"WAYFARER_GRPC_LISTEN" envDefault:":9096"`
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
}

// Check implements config.Checker.
func (s *settings) Check() error {
	if s.MaxBody < 1 {
		return config.Bad("WAYFARER_MAX_BODY_BYTES", "is %d, below 1", s.MaxBody)
	}
	if s.Issuer == "" {
		return nil
	}
	return (&config.Auth{JWKS: s.JWKS, Leeway: s.Leeway}).Check()
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
		conn, err := serve.Dial(addr, nil, certs.Client())
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
		own, serveOwn, err := s.console(ctx, log, backends)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, own.Conn.Close()) }()
		backends, served = append(backends, own), serveOwn
	}
	api, err := rest.New(ctx, rest.Config{Backends: backends, MaxBody: s.MaxBody, AllowedOrigins: s.Origins})
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
	log.InfoContext(ctx, "serving", "address", lis.Addr().String(), "version", version)
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		defer stop() // neither goes on without the other
		done <- served(running)
	}()
	err = serve.HTTP(running, lis, mux, s.Grace)
	stop()
	return errors.Join(err, <-done)
}

// console makes the gateway's own gRPC server and how REST reaches it.
func (s *settings) console(ctx context.Context, log *slog.Logger, backends []rest.Backend) (own rest.Backend, run func(context.Context) error, err error) {
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
		Name: "console", Verifier: verifier, Logger: log, Reflection: s.Reflection, Grace: s.Grace,
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
		own.Conn, err = serve.Dial(net.JoinHostPort(host, port), nil, nil)
	}
	if err != nil {
		return own, nil, errors.Join(err, lis.Close())
	}
	return own, func(ctx context.Context) error { return server.Serve(ctx, lis) }, nil
}
