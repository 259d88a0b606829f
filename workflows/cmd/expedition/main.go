// Command expedition serves the ExpeditionService and works on its workflows. It is configured by its environment, see
// settings, and ends on SIGTERM and SIGINT: calls are drained, then the worker finishes what it has begun.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// settings are the program's environment.
type settings struct {
	Server   config.Server
	Auth     config.Auth
	Identity config.Identity
	Store    config.Store
	// Addresses of the services that it calls, host:port or a gRPC target.
	PartyAddr   string `env:"WAYFARER_PARTY_ADDR" envDefault:"127.0.0.1:9092"`
	DungeonAddr string `env:"WAYFARER_DUNGEON_ADDR" envDefault:"127.0.0.1:9093"`
	TravelAddr  string `env:"WAYFARER_TRAVEL_ADDR" envDefault:"127.0.0.1:9094"`
	// TemporalAddr, Namespace and TaskQueue say where the workflows run.
	TemporalAddr string `env:"WAYFARER_TEMPORAL_ADDR" envDefault:"127.0.0.1:7233"`
	Namespace    string `env:"WAYFARER_TEMPORAL_NAMESPACE" envDefault:"default"`
	TaskQueue    string `env:"WAYFARER_TASK_QUEUE" envDefault:"wayfarer-expedition"`
	// PayloadKey encrypts what passes through Temporal: 32 bytes in base64, the same for all programs of a task queue.
	PayloadKey config.Secret `env:"WAYFARER_PAYLOAD_KEY,required"`
	// Database is the name of the MongoDB database.
	Database string `env:"WAYFARER_MONGODB_DATABASE" envDefault:"wayfarer_expedition"`
}

// Check implements [config.Checker].
func (s *settings) Check() error {
	if _, err := s.key(); err != nil {
		return config.Bad("WAYFARER_PAYLOAD_KEY", "is not %d bytes in base64", expedition.KeySize)
	}
	return nil
}

func (s *settings) key() ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(string(s.PayloadKey))
	if err == nil && len(key) != expedition.KeySize {
		err = errors.New("wrong length")
	}
	return key, err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "expedition:", err)
		os.Exit(1)
	}
}

// run opens, serves, drains and closes. It ends with ctx or when something fails.
func run(ctx context.Context, getenv func(string) string) (err error) {
	s, err := config.Load[settings](getenv)
	if err != nil {
		return err
	}
	log := serve.NewLogger(os.Stderr, "expedition", s.Server.LogLevel)
	var closers []func() error
	defer func() {
		for i := len(closers) - 1; i >= 0; i-- {
			err = errors.Join(err, closers[i]())
		}
	}()
	store, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	closers = append(closers, store.Close)
	source := &auth.TokenSource{
		URL: s.Identity.TokenURL, ClientID: s.Identity.ClientID, ClientSecret: string(s.Identity.ClientSecret),
		Audience: s.Auth.Audience, Logger: log,
	}
	party, err := serve.Dial(s.PartyAddr, source, nil)
	if err != nil {
		return err
	}
	closers = append(closers, party.Close)
	dungeon, err := serve.Dial(s.DungeonAddr, source, nil)
	if err != nil {
		return err
	}
	closers = append(closers, dungeon.Close)
	travel, err := serve.Dial(s.TravelAddr, source, nil)
	if err != nil {
		return err
	}
	closers = append(closers, travel.Close)
	temporal, err := dialTemporal(ctx, s, log)
	if err != nil {
		return err
	}
	closers = append(closers, func() error { temporal.Close(); return nil })
	verifier, err := auth.NewVerifier(ctx, auth.Config{
		Issuer: s.Auth.Issuer, Audience: s.Auth.Audience, JWKS: s.Auth.JWKS, Leeway: s.Auth.Leeway, Logger: log,
	})
	if err != nil {
		return err
	}
	server, err := serve.NewServer(serve.Config{ //nolint:contextcheck // every call brings its own
		Name: "expedition", Verifier: verifier, Logger: log, MaxRecv: s.Server.MaxReceive, Reflection: s.Server.Reflection,
		Grace: s.Server.Grace, Deadline: s.Server.Deadline,
	})
	if err != nil {
		return err
	}
	player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
	service, err := expedition.New(expedition.Config{
		Store: store, Temporal: temporal, TaskQueue: s.TaskQueue, Travel: travel, Dungeon: dungeon,
		Members: members{adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(party), 5*time.Second, time.Now)},
		Redact:  func(m proto.Message) proto.Message { return adapter.Redact(player, m) },
		Logger:  log, Grace: s.Server.Grace,
	})
	if err != nil {
		return err
	}
	service.Register(server)
	server.Ping("store and Temporal", service.Ping)
	lis, err := net.Listen("tcp", s.Server.Listen)
	if err != nil {
		return err
	}
	if err := service.Start(); err != nil {
		return errors.Join(err, lis.Close())
	}
	server.OnStop("worker", func(context.Context) error { return service.Stop() })
	log.InfoContext(ctx, "serving", "address", lis.Addr().String(), "task_queue", s.TaskQueue)
	return server.Serve(ctx, lis)
}

func openStore(ctx context.Context, s settings) (journal.Store, error) {
	if s.Store.Kind == config.MongoDB {
		return mongo.Open(ctx, string(s.Store.MongoURI), s.Database)
	}
	return sqlite.Open(ctx, filepath.Join(s.Store.DataDir, "expedition.db"))
}

func dialTemporal(ctx context.Context, s settings, log *slog.Logger) (client.Client, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	opts := client.Options{HostPort: s.TemporalAddr, Namespace: s.Namespace, Logger: tlog.NewStructuredLogger(log)}
	if err := expedition.Encrypt(&opts, key); err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("dial Temporal at %s: %w", s.TemporalAddr, err)
	}
	return c, nil
}

// members tells the service roles.
type members struct{ adapter.Members }

// Role implements [expedition.Members].
func (m members) Role(ctx context.Context, campaign, subject string) (typev1.Role, error) {
	found, err := m.Membership(ctx, campaign, subject)
	return found.Role, err
}
