// Package program is what programs with a store share: configuration by environment, store, certificates, token checks,
// telemetry, and the way from start to a drained end. What a program serves it is told by its main: a service by [Run], any
// other by the parts of [Program].
package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// settings are the environment of a service's program.
type settings struct {
	Common
	// PartyAddr and DiceAddr are the services that others call, host:port or a gRPC target.
	PartyAddr string `env:"WAYFARER_PARTY_ADDR" envDefault:"127.0.0.1:9092"`
	DiceAddr  string `env:"WAYFARER_DICE_ADDR" envDefault:"127.0.0.1:9091"`
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
	p, err := Open(ctx, name, version, s.Common)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	deps := Deps{Store: p.Store, Logger: p.Logger}
	for _, other := range []struct {
		conn **grpc.ClientConn
		addr string
	}{{&deps.Party, s.PartyAddr}, {&deps.Dice, s.DiceAddr}} {
		if *other.conn, err = p.Dial(other.addr); err != nil {
			return err
		}
	}
	campaigns := adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(deps.Party), membershipTTL, time.Now)
	deps.Members, deps.Rulesets = campaigns, campaigns
	service, err := open(deps)
	if err != nil {
		return err
	}
	p.OnClose(service.Close)
	server, err := p.NewServer(ctx)
	if err != nil {
		return err
	}
	service.Register(server)
	server.Ping("store", p.Store.Ping)
	if sw, ok := service.(sweeper); ok {
		beside, cancel := context.WithCancel(ctx)
		tick := time.NewTicker(sweepEvery)
		done := make(chan struct{})
		go func() {
			defer close(done)
			sw.Sweep(auth.NewContext(beside, auth.Principal{Subject: name, Service: true}), tick.C)
		}()
		p.OnClose(func() error { cancel(); tick.Stop(); <-done; return nil })
	}
	return p.Serve(ctx, server)
}
