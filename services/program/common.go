package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
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
	// probes are what is served beside, from the start on: a program that waits for its store is alive.
	probes atomic.Pointer[http.Handler]
}

// Open installs the telemetry, reads the certificates and opens the store, for which it waits until ctx ends if that is away.
// Metrics and probes are served meanwhile. What is opened is closed by Close.
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
	if err := p.serveProbes(ctx); err != nil {
		return nil, err
	}
	if p.Store, err = p.awaitStore(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.OnClose(p.Store.Close)
	return p, nil
}

// storeRetry is how long after a look for a store that is away the next one comes.
const storeRetry = time.Second

// awaitStore opens the store once it is there. A program that ended instead would be started again later and later.
func (p *Program) awaitStore(ctx context.Context) (journal.Store, error) {
	for told := false; ; told = true {
		store, err := p.openStore(ctx)
		switch {
		case err == nil:
			return store, nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("told to end while waiting for the store: %w", err)
		case fault.KindOf(err) != fault.Unavailable:
			return nil, err
		case !told:
			p.Logger.WarnContext(ctx, "waiting for the store", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(storeRetry):
		}
	}
}

// serveProbes begins to serve metrics and probes, if an address is set for them.
func (p *Program) serveProbes(ctx context.Context) error {
	if p.env.Server.MetricsListen == "" {
		return nil
	}
	lis, err := net.Listen("tcp", p.env.Server.MetricsListen)
	if err != nil {
		return fmt.Errorf("WAYFARER_METRICS_LISTEN: %w", err)
	}
	waiting := serve.Waiting(p.telemetry.Metrics())
	p.probes.Store(&waiting)
	beside, cancel := context.WithCancel(context.WithoutCancel(ctx)) // they are there to the end of the drain
	done := make(chan error, 1)
	go func() {
		done <- serve.HTTP(beside, lis, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*p.probes.Load()).ServeHTTP(w, r)
		}), time.Second)
	}()
	p.OnClose(func() error { cancel(); return <-done })
	return nil
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
	probes := server.Probes(p.telemetry.Metrics())
	p.probes.Store(&probes)
	p.Logger.InfoContext(ctx, "serving", "address", lis.Addr().String(), "version", p.version)
	return server.Serve(ctx, lis)
}
