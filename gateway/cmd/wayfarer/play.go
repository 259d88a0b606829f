package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/demo"
)

func demoCommand() *cobra.Command {
	var server, password string
	c := &cobra.Command{
		Use: "demo", Short: "Plays the main job through REST and prints it as a story", Args: cobra.NoArgs,
		Long: "Plays the main job through REST and prints it as a story.\n\n" +
			"It plays on the server at --server or WAYFARER_URL, else on the one at localhost:8080 if it answers, else on one that\n" +
			"it starts itself on free ports and stops afterwards. It ends with status 1 at the first surprise.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			url := strings.TrimSuffix(server, "/")
			if url == "" && answers(ctx, "http://127.0.0.1:8080") {
				url = "http://127.0.0.1:8080"
			}
			if url == "" {
				own, stop, err := startServer(ctx)
				if err != nil {
					return err
				}
				defer stop()
				url = own
			}
			id := make([]byte, 4)
			if _, err := rand.Read(id); err != nil {
				return err
			}
			return demo.Play(ctx, demo.Config{URL: url, Password: password, ID: hex.EncodeToString(id), Out: cmd.OutOrStdout()})
		},
	}
	c.Flags().StringVar(&server, "server", os.Getenv("WAYFARER_URL"), "where REST is")
	c.Flags().StringVar(&password, "password", "wayfarer", "of the demo users")
	return c
}

// answers tells whether a Wayfarer with a development issuer listens.
func answers(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, path := range []string{"/readyz", "/dev/jwks.json"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			return false
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return false
		}
	}
	return true
}

// address is what a server says of where it is.
var address = regexp.MustCompile(`http://[0-9.:]+`)

// startServer runs wayfarer-local, which is built beside this program, on free ports and a directory of its own.
func startServer(ctx context.Context) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	program := filepath.Join(filepath.Dir(self), "wayfarer-local")
	if _, err := os.Stat(program); err != nil {
		return "", nil, fmt.Errorf("no server answers at localhost:8080, and %s is not built: %w", program, err)
	}
	dir, err := os.MkdirTemp("", "wayfarer-demo-")
	if err != nil {
		return "", nil, err
	}
	child := exec.CommandContext(ctx, program) //nolint:gosec // the program beside this one
	child.Env = append(os.Environ(), "WAYFARER_DATA_DIR="+dir, "STORE=sqlite")
	for _, name := range []string{"HTTP", "DICE", "PARTY", "DUNGEON", "TRAVEL", "EXPEDITION", "CONSOLE", "TEMPORAL", "TEMPORAL_UI"} {
		child.Env = append(child.Env, "WAYFARER_"+name+"_PORT=0")
	}
	child.Stderr = os.Stderr
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = 20 * time.Second
	out, err := child.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := child.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = child.Process.Signal(syscall.SIGTERM)
		_ = child.Wait()
		_ = os.RemoveAll(dir)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := address.FindString(lines.Text()); url == "" && at != "" { // REST comes first
			url = at
		}
		if lines.Text() == "ready" && url != "" {
			go func() {
				for lines.Scan() { // so that the server never blocks on its output
				}
			}()
			return url, stop, nil
		}
	}
	stop()
	return "", nil, errors.New("the server ended before it was ready")
}
