package web_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
)

// browser is the path of Chromium: CHROMIUM, else what Debian or Google call it.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("Chromium is missing, in which the pages are tested: install it, or name its path by CHROMIUM")
	return ""
}

// TestInABrowser uses the pages as people do: testdata/browser.test.mjs drives Chromium against the real server. SHOTS
// names a folder for pictures.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	chromium := browser(t)
	if _, err := os.Stat(filepath.Join("..", "..", "node_modules", "playwright-core")); err != nil {
		t.Fatalf("what drives the browser is not there, which `make node` installs: %v", err)
	}
	house, err := suite.Start(t.Context(), suite.Config{
		HTTP: "127.0.0.1:0", Data: t.TempDir(), Grace: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := house.Close(); err != nil {
			t.Error(err)
		}
	})
	node(t, "browser.test.mjs", "WAYFARER_URL="+house.URL, "CHROMIUM="+chromium)
}

// TestInWords runs testdata/format.test.mjs on what the console says of events and states.
func TestInWords(t *testing.T) {
	t.Parallel()
	node(t, "format.test.mjs")
}

// node runs a file of tests to its end.
func node(t *testing.T, file string, env ...string) {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is missing: scripts are tested with Node 20 or newer")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--test", filepath.Join("testdata", file))
	cmd.Env = append(os.Environ(), append(env, "NO_PROXY=127.0.0.1", "FORCE_COLOR=0")...)
	cmd.WaitDelay = time.Minute // the browser may take a while to end
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "# skipped 0\n") || strings.Contains(string(out), "# pass 0\n") {
		t.Errorf("the tests did not all run:\n%s", out)
	}
}
