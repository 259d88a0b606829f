// Command expedition serves the ExpeditionService and works on its workflows. It is configured by its environment, see
// settings, and ends on SIGTERM and SIGINT: calls are drained, then the worker finishes what it has begun.
//
// `expedition make-current` gives the tasks of all expeditions to the workers of its own build, and ends.
package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/program"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// settings are the program's environment.
type settings struct {
	program.Common
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
	// Deployment names what all builds of an installation have in common, BuildID this one. Without a deployment Temporal is
	// told of no builds: any worker of the task queue gets any workflow.
	Deployment string `env:"WAYFARER_DEPLOYMENT"`
	BuildID    string `env:"WAYFARER_BUILD_ID"`
}

// Check implements [config.Checker].
func (s *settings) Check() error {
	if _, err := s.key(); err != nil {
		return config.Bad("WAYFARER_PAYLOAD_KEY", "is not %d bytes in base64", expedition.KeySize)
	}
	switch {
	case s.Deployment == "" && s.BuildID != "":
		return config.Bad("WAYFARER_BUILD_ID", "needs WAYFARER_DEPLOYMENT")
	case strings.Contains(s.Deployment, "."):
		return config.Bad("WAYFARER_DEPLOYMENT", "has a dot, which Temporal writes between a deployment and a build")
	}
	return nil
}

// build is what Temporal is told of: the program's version where the settings name nothing else.
func (s *settings) build() expedition.Build {
	if s.Deployment == "" {
		return expedition.Build{}
	}
	return expedition.Build{Deployment: s.Deployment, ID: cmp.Or(s.BuildID, version)}
}

func (s *settings) key() ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(string(s.PayloadKey))
	if err == nil && len(key) != expedition.KeySize {
		err = errors.New("wrong length")
	}
	return key, err
}

var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("expedition", version)
		return
	}
	do := run
	switch {
	case len(os.Args) == 2 && os.Args[1] == "make-current":
		do = makeCurrent
	case len(os.Args) > 1:
		fmt.Fprintln(os.Stderr, "expedition: it takes no arguments but make-current and --version")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := do(ctx, os.Getenv)
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
	p, err := program.Open(ctx, "expedition", version, s.Common)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	conns := make([]*grpc.ClientConn, 3)
	for i, addr := range []string{s.PartyAddr, s.DungeonAddr, s.TravelAddr} {
		if conns[i], err = p.Dial(addr); err != nil {
			return err
		}
	}
	party, dungeon, travel := conns[0], conns[1], conns[2]
	temporal, err := dialTemporal(s, p.Logger)
	if err != nil {
		return err
	}
	p.OnClose(func() error { temporal.Close(); return nil })
	server, err := p.NewServer(ctx)
	if err != nil {
		return err
	}
	player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
	service, err := expedition.New(expedition.Config{
		Store: p.Store, Temporal: temporal, TaskQueue: s.TaskQueue, Travel: travel, Dungeon: dungeon, Party: party,
		Members: members{adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(party), 5*time.Second, time.Now)},
		Redact:  func(m proto.Message) proto.Message { return adapter.Redact(player, m) },
		Logger:  p.Logger, Grace: s.Server.Grace, Build: s.build(),
	})
	if err != nil {
		return err
	}
	service.Register(server)
	server.Ping("store and Temporal", service.Ping)
	there := func(ctx context.Context) error { return namespaceThere(ctx, temporal, s.Namespace) }
	server.Ping("namespace", there)
	// It serves what needs no Temporal while that is not there yet, as it does when that goes away later.
	serving, cease := context.WithCancelCause(ctx)
	defer cease(nil)
	started := make(chan struct{})
	go func() {
		defer close(started)
		if err := begin(serving, there, service, p.Logger); err != nil {
			cease(err)
		}
	}()
	// Also where it cannot listen. The drain comes first: the worker may be what calls under way wait for.
	stop := sync.OnceValue(func() error {
		cease(nil)
		<-started
		return service.Stop()
	})
	p.OnClose(stop)
	server.OnStop("worker", func(context.Context) error { return stop() })
	err = p.Serve(serving, server)
	if cause := context.Cause(serving); ctx.Err() == nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// lookTime is how long a look for Temporal may take.
const lookTime = 5 * time.Second

// namespaceThere fails while Temporal is away, and while it lacks the namespace, which may be made after it has come.
func namespaceThere(ctx context.Context, temporal client.Client, name string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime) // the client tries again and again
	defer cancel()
	_, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if err != nil {
		return fmt.Errorf("namespace %s of Temporal: %w", name, err)
	}
	return nil
}

// begin starts the worker as soon as Temporal and its namespace are there. It fails when they are and do not want it.
func begin(ctx context.Context, there func(context.Context) error, service *expedition.Server, log *slog.Logger) error {
	for told := false; ; told = true {
		err := there(ctx)
		if err == nil {
			return service.Start()
		}
		if !told {
			log.WarnContext(ctx, "waiting for Temporal", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// makeCurrent makes this build the one whose workers carry expeditions on.
func makeCurrent(ctx context.Context, getenv func(string) string) error {
	s, err := config.Load[settings](getenv)
	if err != nil {
		return err
	}
	if s.Deployment == "" {
		return config.Bad("WAYFARER_DEPLOYMENT", "is needed to make a build the current one")
	}
	temporal, err := dialTemporal(s, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer temporal.Close()
	ctx, cancel := context.WithTimeout(ctx, currentWait)
	defer cancel()
	if err := expedition.MakeCurrent(ctx, temporal, s.build()); err != nil {
		return err
	}
	fmt.Printf("build %s of %s is current\n", s.build().ID, s.build().Deployment)
	return nil
}

// currentWait is how long a worker of the build may take to come.
const currentWait = 2 * time.Minute

// dialTemporal makes a client that connects when it is used.
func dialTemporal(s settings, log *slog.Logger) (client.Client, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	opts := client.Options{HostPort: s.TemporalAddr, Namespace: s.Namespace, Logger: tlog.NewStructuredLogger(log)}
	if err := expedition.Encrypt(&opts, key); err != nil {
		return nil, err
	}
	if err := expedition.Trace(&opts); err != nil {
		return nil, err
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, fmt.Errorf("WAYFARER_TEMPORAL_ADDR: %s: %w", s.TemporalAddr, err)
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
