package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
)

// start runs the command until its URI is known and returns the address, its standard input and its end.
func start(t *testing.T, ctx context.Context, args ...string) (addr string, stdin io.Closer, done <-chan error) {
	t.Helper()
	in, inEnd := io.Pipe()
	outEnd, out := io.Pipe()
	end := make(chan error, 1)
	go func() {
		err := run(ctx, args, in, out)
		_ = out.CloseWithError(io.EOF)
		end <- err
	}()
	line, err := bufio.NewReader(outEnd).ReadString('\n')
	if err != nil {
		t.Fatalf("no URI: %v, %v", err, <-end)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatalf("the printed address is not listening: %v", err)
	}
	_ = conn.Close()
	return u.Host, inEnd, end
}

func freed(t *testing.T, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatalf("port is not free: %v", err)
	}
	_ = l.Close()
}

func TestEndsWithItsStandardInput(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	addr, stdin, done := start(t, t.Context(), "-with-stdin")
	_ = stdin.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	freed(t, addr)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Fatalf("temporary directory not removed: %v, %v", left, err)
	}
}

func TestEndsWithItsContextAndKeepsItsData(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	addr, _, done := start(t, ctx, "-dir", dir)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	freed(t, addr)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
}

func TestRefusesAnUnknownFlag(t *testing.T) {
	if err := run(t.Context(), []string{"-nonsense"}, strings.NewReader(""), io.Discard); err == nil {
		t.Fatal("no error")
	}
}
