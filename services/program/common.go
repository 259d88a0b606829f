package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
)

// Common is the environment of every program with a store. Programs embed it and add their own.
type Common struct {
	Server    config.Server
	Auth      config.Auth
	Identity  config.Identity
	Store     config.Store
	Telemetry config.Telemetry
	TLS       config.TLS
	Limits    config.Limits
	// Database is the name of the MongoDB database; empty: wayfarer_ and the program's name.
	Database string `env:"WAYFARER_MONGODB_DATABASE"`
}

// Program is what a program has from its start to its end.
type Program struct {
	// Logger writes to standard error.
	Logger *slog.Logger
	// Store is the program's own.
	Store journal.Store

	name, version string
	env           Common
	telemetry     *serve.Telemetry
	tls           *serve.TLS
	tokens        *auth.TokenSource
	closers       []func() error
}

// Open installs the telemetry, reads the certificates and opens the store. What is opened is closed by Close.
func Open(ctx context.Context, name, version string, env Common) (_ *Program, err error) {
	p := &Program{name: name, version: version, env: env, Logger: serve.NewLogger(os.Stderr, name, env.Server.LogLevel)}
	slog.SetDefault(p.Logger) // what libraries say comes as JSON, too
	if p.telemetry, err = serve.NewTelemetry(ctx, serve.TelemetryConfig{
		Program: name, Version: version, Endpoint: env.Telemetry.Endpoint, Ratio: env.Telemetry.Ratio,
	}); err != nil {
		return nil, err
	}
	p.telemetry.Install()
	if p.tls, err = serve.NewTLS(serve.TLSConfig{
		Cert: env.TLS.Cert, Key: env.TLS.Key, ClientCA: env.TLS.ClientCA, CA: env.TLS.CA, Logger: p.Logger,
	}); err != nil {
		return nil, err
	}
	p.tokens = &auth.TokenSource{
		URL: env.Identity.TokenURL, ClientID: env.Identity.ClientID, ClientSecret: string(env.Identity.ClientSecret),
		Audience: env.Auth.Audience, Logger: p.Logger,
	}
	if p.Store, err = p.openStore(ctx); err != nil {
		return nil, err
	}
	p.OnClose(p.Store.Close)
	return p, nil
}

func (p *Program) openStore(ctx context.Context) (journal.Store, error) {
	if p.env.Store.Kind == config.MongoDB {
		database := p.env.Database
		if database == "" {
			database = "wayfarer_" + p.name
		}
		return mongo.Open(ctx, string(p.env.Store.MongoURI), database)
	}
	if err := os.MkdirAll(p.env.Store.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("WAYFARER_DATA_DIR: %w", err)
	}
	return sqlite.Open(ctx, filepath.Join(p.env.Store.DataDir, p.name+".db"))
}

// Dial returns a connection to another service, with this program's own identity. It is closed with the program.
func (p *Program) Dial(addr string) (*grpc.ClientConn, error) {
	conn, err := serve.Dial(addr, p.tokens, p.tls.Client())
	if err == nil {
		p.OnClose(conn.Close)
	}
	return conn, err
}

// OnClose adds something to be ended by Close, before everything that was added sooner.
func (p *Program) OnClose(end func() error) { p.closers = append(p.closers, end) }

// Close ends what was opened, last to first.
func (p *Program) Close() error {
	var err error
	for i := len(p.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, p.closers[i]())
	}
	p.closers = nil
	return err
}

// NewServer returns the program's server, which checks tokens.
func (p *Program) NewServer(ctx context.Context) (*serve.Server, error) {
	verifier, err := auth.NewVerifier(ctx, auth.Config{
		Issuer: p.env.Auth.Issuer, Audience: p.env.Auth.Audience, JWKS: p.env.Auth.JWKS, Leeway: p.env.Auth.Leeway, Logger: p.Logger,
	})
	if err != nil {
		return nil, err
	}
	s := p.env.Server
	return serve.NewServer(serve.Config{ //nolint:contextcheck // streams bring their own
		Name: p.name, Verifier: verifier, Logger: p.Logger, MaxRecv: s.MaxReceive, Reflection: s.Reflection,
		Grace: s.Grace, Deadline: s.Deadline, Creds: p.tls.Server(),
		Limits: serve.LimitsOf(p.env.Limits), Allow: access.Check,
	})
}

// Serve serves calls, and metrics and probes beside them, until ctx ends; then it drains.
func (p *Program) Serve(ctx context.Context, server *serve.Server) error {
	server.OnStop("telemetry", p.telemetry.Stop)
	lis, err := net.Listen("tcp", p.env.Server.Listen)
	if err != nil {
		return fmt.Errorf("WAYFARER_LISTEN: %w", err)
	}
	if p.env.Server.MetricsListen != "" {
		metrics, err := net.Listen("tcp", p.env.Server.MetricsListen)
		if err != nil {
			return errors.Join(fmt.Errorf("WAYFARER_METRICS_LISTEN: %w", err), lis.Close())
		}
		beside, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- serve.HTTP(beside, metrics, server.Probes(p.telemetry.Metrics()), time.Second) }()
		p.OnClose(func() error { cancel(); return <-done })
	}
	p.Logger.InfoContext(ctx, "serving", "address", lis.Addr().String(), "version", p.version)
	return server.Serve(ctx, lis)
}
