package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const asProgram = "TEMPORALDEV_AS_PROGRAM"

// The test binary is the program as well, so that a test can kill it.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type program struct {
	*exec.Cmd
	stdin    io.Closer
	Frontend string
	UI       string
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), os.Args[0], append([]string{"-port=0"}, args...)...)}
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stderr = os.Stderr
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("no line when ready: %v", err)
	}
	if err := json.Unmarshal(line, p); err != nil {
		t.Fatalf("the line is %q: %v", line, err)
	}
	return p
}

func (p *program) dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: p.Frontend})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestKilledServerGoesOnWithItsFile(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "state", "temporal.db")
	first := start(t, "-ui-port=-1", "-db="+db, "-search-attributes=Campaign=Keyword")
	campaign := temporal.NewSearchAttributeKeyKeyword("Campaign")
	_, err := first.dial(t).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "expedition", TaskQueue: "none", TypedSearchAttributes: temporal.NewSearchAttributes(campaign.ValueSet("green")),
	}, "Expedition")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()

	// The file lacks the second attribute, which a later version of the house asks for.
	second := start(t, "-ui-port=-1", "-db="+db, "-search-attributes=Campaign=Keyword,Day=Int")
	c := second.dial(t)
	found, err := c.DescribeWorkflowExecution(t.Context(), "expedition", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := found.GetWorkflowExecutionInfo().GetStatus(); got != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("after the kill the workflow is %s, want running", got)
	}
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "later", TaskQueue: "none",
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyInt64("Day").ValueSet(3)),
	}, "Expedition")
	if err != nil {
		t.Errorf("with an attribute that is new to the file: %v", err)
	}
}

func TestEndsWhenTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		end  func(*program) error
	}{
		"the parent's pipe closes": {[]string{"-with-parent"}, func(p *program) error { return p.stdin.Close() }},
		"SIGTERM":                  {nil, func(p *program) error { return p.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append(tt.args, "-ui-port=0")...)
			answer, err := http.Get(p.UI)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				t.Errorf("the UI answers %s", answer.Status)
			}
			if err := tt.end(p); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- p.Wait() }()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(patience):
				t.Error("it goes on")
			}
		})
	}
}

func TestAServerOnAFileInUseWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	first := start(t, "-ui-port=-1", "-db="+db, "-with-parent")
	if err := lock(t.Context(), db, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", first.Process.Pid)) {
		t.Errorf("a file in use is locked with %v", err)
	}
	second := make(chan *program)
	go func() {
		defer close(second)
		second <- start(t, "-ui-port=-1", "-db="+db, "-with-parent")
	}()
	select {
	case <-second:
		t.Error("two servers are ready on one file")
	default:
	}
	if err := first.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if p := <-second; p == nil {
		t.Error("the second server did not start")
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first server ended with %v", err)
	}
}

// What is chosen stays chosen until the server listens there, however many others look for a port meanwhile.
func TestAChosenPortIsKept(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere ports are not kept")
	}
	// As many as make it likely that one of those taken is among them, if they are not kept.
	chosen := map[int]bool{}
	for range 300 {
		port, err := choose("port", 0)
		if err != nil {
			t.Fatal(err)
		}
		if chosen[port] {
			t.Errorf("port %d is chosen twice", port)
		}
		chosen[port] = true
	}
	for range 1000 {
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			t.Fatal(err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; chosen[port] {
			t.Errorf("port %d is given to somebody else", port)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for port := range chosen {
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			t.Fatalf("the server cannot have its port: %v", err)
		}
		if again, err := choose("port", port); err == nil {
			t.Errorf("port %d, on which somebody listens, is chosen: %d", port, again)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefusesBadFlags(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arg, want string }{
		"no shards":                   {"-shards=0", "-shards is 0"},
		"no updates":                  {"-in-flight-updates=0", "-in-flight-updates is 0"},
		"an attribute without a type": {"-search-attributes=Campaign", `"Campaign" is not Name=Type`},
		"an unknown type":             {"-search-attributes=Campaign=Colour", `"Campaign=Colour" is not Name=Type`},
		"a nameless namespace":        {"-namespaces=default,", "want names"},
		"an argument":                 {"file.db", `unexpected argument "file.db"`},
		"a port out of range":         {"-port=70000", "-port: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(context.Background(), []string{tt.arg}, strings.NewReader(""), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}
