// Command gateway serves REST and the pages, and calls the services over gRPC. Its environment is described in
// docs/operating.md.
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

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/gateway/web"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

var version = "dev"

// settings are the program's environment.
type settings struct {
	Listen         string        `env:"WAYFARER_LISTEN" envDefault:":8080"`
	Grace          time.Duration `env:"WAYFARER_GRACE" envDefault:"10s"`
	LogLevel       slog.Level    `env:"WAYFARER_LOG_LEVEL" envDefault:"INFO"`
	MaxBody        int64         `env:"WAYFARER_MAX_BODY_BYTES" envDefault:"1048576"`
	Origins        []string      `env:"WAYFARER_ALLOWED_ORIGINS"`
	DiceAddr       string        `env:"WAYFARER_DICE_ADDR" envDefault:"127.0.0.1:9091"`
	PartyAddr      string        `env:"WAYFARER_PARTY_ADDR" envDefault:"127.0.0.1:9092"`
	DungeonAddr    string        `env:"WAYFARER_DUNGEON_ADDR" envDefault:"127.0.0.1:9093"`
	TravelAddr     string        `env:"WAYFARER_TRAVEL_ADDR" envDefault:"127.0.0.1:9094"`
	ExpeditionAddr string        `env:"WAYFARER_EXPEDITION_ADDR" envDefault:"127.0.0.1:9095"`
}

// Check implements config.Checker.
func (s *settings) Check() error {
	if s.MaxBody < 1 {
		return config.Bad("WAYFARER_MAX_BODY_BYTES", "is %d, below 1", s.MaxBody)
	}
	return nil
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
	backends := []rest.Backend{
		{Name: "dice", Register: []rest.Registration{dicev1.RegisterDiceServiceHandler}},
		{Name: "party", Register: []rest.Registration{
			partyv1.RegisterCampaignServiceHandler, partyv1.RegisterCharacterServiceHandler, partyv1.RegisterCompanyServiceHandler,
		}},
		{Name: "dungeon", Register: []rest.Registration{dungeonv1.RegisterDungeonServiceHandler, dungeonv1.RegisterRunServiceHandler}},
		{Name: "travel", Register: []rest.Registration{travelv1.RegisterRegionServiceHandler, travelv1.RegisterJourneyServiceHandler}},
		{Name: "expedition", Register: []rest.Registration{expeditionv1.RegisterExpeditionServiceHandler}},
	}
	for i, addr := range []string{s.DiceAddr, s.PartyAddr, s.DungeonAddr, s.TravelAddr, s.ExpeditionAddr} {
		conn, err := serve.Dial(addr, nil, nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, conn.Close()) }()
		backends[i].Conn = conn
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
	return serve.HTTP(ctx, lis, mux, s.Grace)
}
