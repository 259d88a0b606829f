//go:build unix

// Package ferret gives tests a server that speaks MongoDB's protocol: the one that MONGODB_URI names, or else the
// stand-in of deploy/local/ferretdev, which it builds once and starts once for each test process.
//
// The stand-in ends with the test process, however that ends: it watches a pipe that only the test process holds.
package ferret

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var start = sync.OnceValues(func() (string, error) {
	if uri := os.Getenv("MONGODB_URI"); uri != "" {
		return uri, nil
	}
	bin, err := build()
	if err != nil {
		return "", fmt.Errorf("build the MongoDB stand-in: %w", err)
	}
	return launch(bin)
})

// lifeline is the end of the stand-in's standard input. We never close it, the kernel does when this process is gone;
// it is kept here because a file that nobody refers to is closed as garbage.
var lifeline io.Closer //nolint:unused // held open on purpose

// URI returns the URI of a running server.
func URI(t testing.TB) string {
	t.Helper()
	uri, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

// StandIn tells whether the server is the stand-in and not a real one.
func StandIn() bool { return os.Getenv("MONGODB_URI") == "" }

// Database returns the name of a database that no other test uses.
func Database() string { return "wayfarer_test_" + strings.ToLower(rand.Text()[:12]) }

// launch starts the stand-in and waits until it has said where it listens.
func launch(bin string) (uri string, err error) {
	cmd := exec.Command(bin, "-with-stdin") //nolint:gosec // built by build
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if lifeline, err = cmd.StdinPipe(); err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", errors.Join(fmt.Errorf("the MongoDB stand-in did not start: %w: %s", err, stderr.Bytes()), cmd.Process.Kill(), cmd.Wait())
	}
	return strings.TrimSpace(line), nil
}

// build returns the stand-in's binary, which is kept in the user's cache under a name that follows its source.
func build() (string, error) {
	src, err := source()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "wayfarer", "ferretdev")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		f, err := os.Open(filepath.Join(src, name)) //nolint:gosec // our own source
		if err != nil {
			return "", err
		}
		_, err = io.Copy(sum, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	bin := filepath.Join(dir, "ferretdev-"+hex.EncodeToString(sum.Sum(nil)[:8]))

	// Several test processes start at once; one builds, the others wait for it.
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in our cache
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // and with it the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", bin+".new", ".")
	cmd.Dir = src
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return bin, os.Rename(bin+".new", bin)
}

// source finds the stand-in's module from the root of ours.
func source() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/wayfarer-rpg/wayfarer").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "deploy", "local", "ferretdev"), nil
}
