// Package clients_test plays with the real server through the clients, each as somebody else's program would use it.
package clients_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
)

// house is the suite that the tests of the package share; they keep apart by campaigns of their own.
var house *suite.Suite

func TestMain(m *testing.M) {
	code, err := withHouse(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		code = 1
	}
	os.Exit(code)
}

func withHouse(tests func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "wayfarer-clients-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	temporal, err := filepath.Abs(filepath.Join("..", "bin", "temporaldev"))
	if err != nil {
		return 1, err
	}
	if _, err := os.Stat(temporal); err != nil {
		return 1, fmt.Errorf("no Temporal server, which `make temporaldev` builds: %w", err)
	}
	house, err = suite.Start(context.Background(), suite.Config{
		HTTP: "127.0.0.1:0", Data: dir, Grace: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Temporal: &suite.Temporal{Program: temporal, UIPort: -1},
	})
	if err != nil {
		return 1, err
	}
	code = tests()
	return code, house.Close()
}

// program finds a program that the clients need.
func program(t *testing.T, name, why string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: %s", name, why)
	}
	return path
}

// run runs a command to its end and returns what it printed.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	// What the program started itself may keep its output open.
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// TestTypeScript compiles the TypeScript client with its tests and lets them play.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	npm := program(t, "npm", "the TypeScript client is compiled and tested with Node 20 or newer")
	if _, err := os.Stat(filepath.Join("..", "node_modules")); err != nil {
		t.Fatalf("the packages of the TypeScript client are not there, which `make node` installs: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), npm, "test", "--silent")
	cmd.Dir = "ts"
	cmd.Env = append(os.Environ(), "WAYFARER_URL="+house.URL, "NO_PROXY=127.0.0.1", "FORCE_COLOR=0")
	out := run(t, cmd)
	if !strings.Contains(out, "a run is played and watched") || !strings.Contains(out, "# skipped 0\n") {
		t.Errorf("the tests did not all run:\n%s", out)
	}
}

// TestGo builds a program of another module, which sees the contract and nothing inside, and lets it play over gRPC. Started
// again it goes on where it was: its changes have ids, and get their first answers.
func TestGo(t *testing.T) {
	t.Parallel()
	golang := program(t, "go", "the example is compiled")
	bot := filepath.Join(t.TempDir(), "tablebot")
	outside := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), golang, args...)
		cmd.Dir = "go-bot"
		cmd.Env = append(os.Environ(), "GOWORK=off")
		return cmd
	}
	for _, pkg := range strings.Fields(run(t, outside("list", "-deps", "."))) {
		if inner, ours := strings.CutPrefix(pkg, "github.com/wayfarer-rpg/wayfarer/"); ours && !strings.HasPrefix(inner, "proto/") {
			t.Errorf("it needs %s, which is not for clients", pkg)
		}
	}
	run(t, outside("build", "-o", bot, "."))
	const want = `under way: campaigns/tablebot/journeys/out
refused: FailedPrecondition NOT_ADJACENT
stepped to 1,0 in record 3, and sent again in record 3
record 1: 1 events, 0 dice
record 2: 2 events, 0 dice
record 3: `
	var first string
	for range 2 {
		got := run(t, exec.CommandContext(t.Context(), bot, "-party", house.GRPC["party"], "-travel", house.GRPC["travel"], "-issuer", house.URL+"/dev"))
		if !strings.HasPrefix(got, want) {
			t.Errorf("it says\n%s", got)
		}
		if first == "" {
			first = got
		} else if got != first {
			t.Errorf("started again it says\n%s\nin place of\n%s", got, first)
		}
	}
}
