// Package program is what the programs of services/cmd share: configuration by environment, store, token checks,
// telemetry, and the way from start to a drained end. What a program serves it is told by its main.
package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// settings are a program's environment.
type settings struct {
	Server    config.Server
	Auth      config.Auth
	Identity  config.Identity
	Store     config.Store
	Telemetry config.Telemetry
	// PartyAddr and DiceAddr are the services that others call, host:port or a gRPC target.
	PartyAddr string `env:"WAYFARER_PARTY_ADDR" envDefault:"127.0.0.1:9092"`
	DiceAddr  string `env:"WAYFARER_DICE_ADDR" envDefault:"127.0.0.1:9091"`
	// Database is the name of the MongoDB database; empty: wayfarer_ and the program's name.
	Database string `env:"WAYFARER_MONGODB_DATABASE"`
}

const (
	// membershipTTL is how long a role may outlive its end in other services than party.
	membershipTTL = 3 * time.Second
	sweepEvery    = 30 * time.Second
)

// Deps is what a service is made of.
type Deps struct {
	Store  journal.Store
	Logger *slog.Logger
	// Members tells roles, as the party service knows them.
	Members adapter.Members
	// Rulesets tells by which rules a campaign plays, as the party service knows it.
	Rulesets adapter.Rulesets
	// Party and Dice reach these services with this service's own identity.
	Party, Dice *grpc.ClientConn
}

// Service is a service as a program runs it.
type Service interface {
	Register(r grpc.ServiceRegistrar)
	Close() error
}

// sweeper is a service that sees obligations through.
type sweeper interface {
	Sweep(ctx context.Context, tick <-chan time.Time)
}

// Main runs a service until SIGTERM or SIGINT, then drains it. With --version it says its version instead. It ends the
// process, with status 1 when anything failed.
func Main(name, version string, open func(Deps) (Service, error)) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(name, version)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, name, version, os.Getenv, open)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Run is Main with everything from outside given. It ends with ctx.
func Run(ctx context.Context, name, version string, getenv func(string) string, open func(Deps) (Service, error)) (err error) {
	s, err := config.Load[settings](getenv)
	if err != nil {
		return err
	}
	log := serve.NewLogger(os.Stderr, name, s.Server.LogLevel)
	telemetry, err := serve.NewTelemetry(ctx, serve.TelemetryConfig{Program: name, Version: version, Endpoint: s.Telemetry.Endpoint, Ratio: s.Telemetry.Ratio})
	if err != nil {
		return err
	}
	telemetry.Install()
	var closers []func() error
	defer func() {
		for i := len(closers) - 1; i >= 0; i-- {
			err = errors.Join(err, closers[i]())
		}
	}()
	store, err := openStore(ctx, name, s)
	if err != nil {
		return err
	}
	closers = append(closers, store.Close)
	deps := Deps{Store: store, Logger: log}
	source := &auth.TokenSource{
		URL: s.Identity.TokenURL, ClientID: s.Identity.ClientID, ClientSecret: string(s.Identity.ClientSecret), Audience: s.Auth.Audience, Logger: log,
	}
	for _, other := range []struct {
		conn **grpc.ClientConn
		addr string
	}{{&deps.Party, s.PartyAddr}, {&deps.Dice, s.DiceAddr}} {
		conn, err := serve.Dial(other.addr, source, nil)
		if err != nil {
			return err
		}
		*other.conn = conn
		closers = append(closers, conn.Close)
	}
	campaigns := adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(deps.Party), membershipTTL, time.Now)
	deps.Members, deps.Rulesets = campaigns, campaigns
	service, err := open(deps)
	if err != nil {
		return err
	}
	closers = append(closers, service.Close)
	verifier, err := auth.NewVerifier(ctx, auth.Config{
		Issuer: s.Auth.Issuer, Audience: s.Auth.Audience, JWKS: s.Auth.JWKS, Leeway: s.Auth.Leeway, Logger: log,
	})
	if err != nil {
		return err
	}
	server, err := serve.NewServer(serve.Config{ //nolint:contextcheck // streams bring their own
		Name: name, Verifier: verifier, Logger: log, MaxRecv: s.Server.MaxReceive, Reflection: s.Server.Reflection,
		Grace: s.Server.Grace, Deadline: s.Server.Deadline,
	})
	if err != nil {
		return err
	}
	service.Register(server)
	server.Ping("store", store.Ping)
	server.OnStop("telemetry", telemetry.Stop)
	lis, err := net.Listen("tcp", s.Server.Listen)
	if err != nil {
		return fmt.Errorf("WAYFARER_LISTEN: %w", err)
	}
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.Server.MetricsListen != "" {
		metrics, err := net.Listen("tcp", s.Server.MetricsListen)
		if err != nil {
			return errors.Join(fmt.Errorf("WAYFARER_METRICS_LISTEN: %w", err), lis.Close())
		}
		done := make(chan error, 1)
		go func() { done <- serve.HTTP(beside, metrics, server.Probes(telemetry.Metrics()), time.Second) }()
		closers = append(closers, func() error { cancel(); return <-done })
	}
	if sw, ok := service.(sweeper); ok {
		tick := time.NewTicker(sweepEvery)
		done := make(chan struct{})
		go func() {
			defer close(done)
			sw.Sweep(auth.NewContext(beside, auth.Principal{Subject: name, Service: true}), tick.C)
		}()
		closers = append(closers, func() error { cancel(); tick.Stop(); <-done; return nil })
	}
	log.InfoContext(ctx, "serving", "address", lis.Addr().String(), "version", version)
	return server.Serve(ctx, lis)
}

func openStore(ctx context.Context, name string, s settings) (journal.Store, error) {
	if s.Store.Kind == config.MongoDB {
		database := s.Database
		if database == "" {
			database = "wayfarer_" + name
		}
		return mongo.Open(ctx, string(s.Store.MongoURI), database)
	}
	if err := os.MkdirAll(s.Store.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("WAYFARER_DATA_DIR: %w", err)
	}
	return sqlite.Open(ctx, filepath.Join(s.Store.DataDir, name+".db"))
}
