// Command wayfarer-local serves the whole of Wayfarer on one machine until it is interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/wayfarer-rpg/wayfarer/demo"
	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

var version = "dev"

// settings are read once from the environment.
type settings struct {
	Host           string `env:"WAYFARER_HOST" envDefault:"127.0.0.1"`
	HTTPPort       int    `env:"WAYFARER_HTTP_PORT" envDefault:"8080"`
	DicePort       int    `env:"WAYFARER_DICE_PORT" envDefault:"9101"`
	PartyPort      int    `env:"WAYFARER_PARTY_PORT" envDefault:"9102"`
	DungeonPort    int    `env:"WAYFARER_DUNGEON_PORT" envDefault:"9103"`
	TravelPort     int    `env:"WAYFARER_TRAVEL_PORT" envDefault:"9104"`
	ExpeditionPort int    `env:"WAYFARER_EXPEDITION_PORT" envDefault:"9105"`
	ConsolePort    int    `env:"WAYFARER_CONSOLE_PORT" envDefault:"9106"`
	TemporalPort   int    `env:"WAYFARER_TEMPORAL_PORT" envDefault:"7233"`
	TemporalUI     int    `env:"WAYFARER_TEMPORAL_UI_PORT" envDefault:"8233"`
	// Temporal is the frontend of a cluster that is there; empty: one is started.
	Temporal   string        `env:"WAYFARER_TEMPORAL_ADDRESS"`
	DataDir    string        `env:"WAYFARER_DATA_DIR" envDefault:".wayfarer"`
	Store      string        `env:"STORE" envDefault:"sqlite"`
	MongoURI   config.Secret `env:"MONGODB_URI"`
	Grace      time.Duration `env:"WAYFARER_GRACE" envDefault:"10s"`
	Origins    []string      `env:"WAYFARER_ALLOWED_ORIGINS"`
	LogLevel   slog.Level    `env:"WAYFARER_LOG_LEVEL" envDefault:"WARN"`
	MongoNames string        `env:"WAYFARER_MONGODB_PREFIX" envDefault:"wayfarer"`
	Telemetry  config.Telemetry
	Limits     config.Limits
}

// Check implements config.Checker.
func (s *settings) Check() error {
	var errs []error
	for _, p := range []struct {
		name        string
		port, least int
	}{
		{"WAYFARER_HTTP_PORT", s.HTTPPort, 0}, {"WAYFARER_DICE_PORT", s.DicePort, 0}, {"WAYFARER_PARTY_PORT", s.PartyPort, 0},
		{"WAYFARER_DUNGEON_PORT", s.DungeonPort, 0}, {"WAYFARER_TRAVEL_PORT", s.TravelPort, 0},
		{"WAYFARER_EXPEDITION_PORT", s.ExpeditionPort, 0}, {"WAYFARER_CONSOLE_PORT", s.ConsolePort, 0}, {"WAYFARER_TEMPORAL_PORT", s.TemporalPort, 0},
		{"WAYFARER_TEMPORAL_UI_PORT", s.TemporalUI, -1}, // -1: no web UI
	} {
		if p.port < p.least || p.port > 65535 {
			errs = append(errs, config.Bad(p.name, "%d is not a port from %d to 65535", p.port, p.least))
		}
	}
	if s.Grace < time.Millisecond || s.Grace > 10*time.Minute {
		errs = append(errs, config.Bad("WAYFARER_GRACE", "%s is not from 1ms to 10m", s.Grace))
	}
	store := config.Store{Kind: s.Store, MongoURI: s.MongoURI}
	return errors.Join(append(errs, store.Check())...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wayfarer-local:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) (err error) {
	if len(args) == 1 && args[0] == "--version" {
		_, err := fmt.Fprintln(out, "wayfarer-local", version)
		return err
	}
	if len(args) > 0 {
		return fmt.Errorf("unknown argument %q: everything is set by the environment", args[0])
	}
	c, err := config.Load[settings](getenv)
	if err != nil {
		return err
	}
	data, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("WAYFARER_DATA_DIR: %w", err)
	}
	addr := func(port int) string { return net.JoinHostPort(c.Host, strconv.Itoa(port)) }
	cfg := suite.Config{
		HTTP: addr(c.HTTPPort), Data: data, Grace: c.Grace, AllowedOrigins: c.Origins, MongoPrefix: c.MongoNames, Limits: c.Limits,
		GRPC:   map[string]string{"dice": addr(c.DicePort), "party": addr(c.PartyPort), "dungeon": addr(c.DungeonPort), "travel": addr(c.TravelPort), "expedition": addr(c.ExpeditionPort), "console": addr(c.ConsolePort)},
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel})),
	}
	if c.Store == config.MongoDB {
		cfg.MongoURI = string(c.MongoURI)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cfg.Temporal = &suite.Temporal{
		Address: c.Temporal, Program: filepath.Join(filepath.Dir(self), "temporaldev"), Port: c.TemporalPort, UIPort: c.TemporalUI,
	}
	telemetry, err := serve.NewTelemetry(ctx, serve.TelemetryConfig{
		Program: "wayfarer-local", Version: version, Endpoint: c.Telemetry.Endpoint, Ratio: c.Telemetry.Ratio,
	})
	if err != nil {
		return err
	}
	telemetry.Install()
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(c.Grace, time.Second))
		defer cancel()
		err = errors.Join(err, telemetry.Stop(within))
	}()
	begin := time.Now()
	s, err := suite.Start(ctx, cfg)
	if err != nil {
		return err
	}
	if err := demo.Example(ctx, demo.Config{URL: s.URL, Password: suite.Password, Out: io.Discard}); err != nil {
		return errors.Join(fmt.Errorf("example campaign: %w", err), s.Close())
	}
	fmt.Fprintf(out, "Wayfarer %s, journals in %s, started in %s\n\n%s\nready\n", version, where(c, data), time.Since(begin).Round(time.Millisecond), s.Addresses())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = s.Wait()
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "stopping")
	case <-stopped:
	}
	return s.Close()
}

func where(c settings, data string) string {
	if c.Store == config.MongoDB {
		return "MongoDB"
	}
	return data
}
