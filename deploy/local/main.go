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

	"github.com/caarlos0/env/v11"

	"github.com/wayfarer-rpg/wayfarer/demo"
	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
)

var version = "dev"

// config is read once from the environment.
type config struct {
	Host           string `env:"WAYFARER_HOST" envDefault:"127.0.0.1"`
	HTTPPort       int    `env:"WAYFARER_HTTP_PORT" envDefault:"8080"`
	DicePort       int    `env:"WAYFARER_DICE_PORT" envDefault:"9101"`
	PartyPort      int    `env:"WAYFARER_PARTY_PORT" envDefault:"9102"`
	DungeonPort    int    `env:"WAYFARER_DUNGEON_PORT" envDefault:"9103"`
	TravelPort     int    `env:"WAYFARER_TRAVEL_PORT" envDefault:"9104"`
	ExpeditionPort int    `env:"WAYFARER_EXPEDITION_PORT" envDefault:"9105"`
	TemporalPort   int    `env:"WAYFARER_TEMPORAL_PORT" envDefault:"7233"`
	TemporalUI     int    `env:"WAYFARER_TEMPORAL_UI_PORT" envDefault:"8233"`
	// Temporal is the frontend of a cluster that is there; empty: one is started.
	Temporal   string        `env:"WAYFARER_TEMPORAL_ADDRESS"`
	DataDir    string        `env:"WAYFARER_DATA_DIR" envDefault:".wayfarer"`
	Store      string        `env:"STORE" envDefault:"sqlite"`
	MongoURI   string        `env:"MONGODB_URI"`
	Grace      time.Duration `env:"WAYFARER_GRACE" envDefault:"10s"`
	Origins    []string      `env:"WAYFARER_ALLOWED_ORIGINS"`
	LogLevel   slog.Level    `env:"WAYFARER_LOG_LEVEL" envDefault:"WARN"`
	MongoNames string        `env:"WAYFARER_MONGODB_PREFIX" envDefault:"wayfarer"`
}

func (c config) check() error {
	for name, port := range map[string]int{
		"WAYFARER_HTTP_PORT": c.HTTPPort, "WAYFARER_DICE_PORT": c.DicePort, "WAYFARER_PARTY_PORT": c.PartyPort,
		"WAYFARER_DUNGEON_PORT": c.DungeonPort, "WAYFARER_TRAVEL_PORT": c.TravelPort,
		"WAYFARER_EXPEDITION_PORT": c.ExpeditionPort, "WAYFARER_TEMPORAL_PORT": c.TemporalPort, "WAYFARER_TEMPORAL_UI_PORT": max(c.TemporalUI, 0),
	} {
		if port < 0 || port > 65535 {
			return fmt.Errorf("%s: %d is no port", name, port)
		}
	}
	switch {
	case c.Store != "sqlite" && c.Store != "mongodb":
		return fmt.Errorf("STORE: %q is neither sqlite nor mongodb", c.Store)
	case c.Store == "mongodb" && c.MongoURI == "":
		return fmt.Errorf("MONGODB_URI: is needed with STORE=mongodb")
	case c.Grace < 0:
		return fmt.Errorf("WAYFARER_GRACE: %s is below 0", c.Grace)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wayfarer-local:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 1 && args[0] == "--version" {
		_, err := fmt.Fprintln(out, "wayfarer-local", version)
		return err
	}
	if len(args) > 0 {
		return fmt.Errorf("unknown argument %q: everything is set by the environment", args[0])
	}
	var c config
	if err := env.Parse(&c); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	data, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("WAYFARER_DATA_DIR: %w", err)
	}
	addr := func(port int) string { return net.JoinHostPort(c.Host, strconv.Itoa(port)) }
	cfg := suite.Config{
		HTTP: addr(c.HTTPPort), Data: data, Grace: c.Grace, AllowedOrigins: c.Origins, MongoPrefix: c.MongoNames,
		GRPC:   map[string]string{"dice": addr(c.DicePort), "party": addr(c.PartyPort), "dungeon": addr(c.DungeonPort), "travel": addr(c.TravelPort), "expedition": addr(c.ExpeditionPort)},
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel})),
	}
	if c.Store == "mongodb" {
		cfg.MongoURI = c.MongoURI
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cfg.Temporal = &suite.Temporal{
		Address: c.Temporal, Program: filepath.Join(filepath.Dir(self), "temporaldev"), Port: c.TemporalPort, UIPort: c.TemporalUI,
	}
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

func where(c config, data string) string {
	if c.Store == "mongodb" {
		return "MongoDB"
	}
	return data
}
