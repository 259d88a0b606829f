package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/wayfarer-rpg/wayfarer/internal/port"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

const (
	// ready is how long a program may take until it serves, settled how long it is left alone after.
	ready   = 30 * time.Second
	settled = 5 * time.Second
)

// programs measures the memory of each program while nobody calls it.
func (c config) programs(ctx context.Context, dir string) (rows []row, err error) {
	h, err := newHouse(ctx, filepath.Join(dir, "house"), inMemory) // for its issuer
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	pids := map[string]int{}
	names := []string{parties, rolling, delving, marching, edging}
	env := []string{
		"WAYFARER_GRACE=1s", "WAYFARER_LOG_LEVEL=ERROR", "WAYFARER_ISSUER=" + h.url, "WAYFARER_JWKS_URL=" + h.url + "/jwks.json",
		"WAYFARER_TOKEN_URL=" + h.url + "/token", "WAYFARER_CLIENT_SECRET=" + secret,
		"WAYFARER_PAYLOAD_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, expedition.KeySize)),
	}
	if c.temporal != "" {
		server, line, err := start(ctx, c.temporal, "-with-parent", "-log", "fatal", "-port", "0", "-ui-port", "-1", "-db", filepath.Join(dir, "temporal.db"))
		if err != nil {
			return nil, err
		}
		h.onClose(server.Close)
		var said struct{ Frontend string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			return nil, err
		}
		env = append(env, "WAYFARER_TEMPORAL_ADDR="+said.Frontend)
		pids["temporaldev"] = server.cmd.Process.Pid
		names = append(names, questing)
	}
	held, release, err := port.Hold(len(names))
	if err != nil {
		return nil, err
	}
	h.onClose(func() error { release(); return nil })
	addrs := map[string]string{}
	for i, name := range names {
		addrs[name] = held[i]
	}
	for name, addr := range addrs {
		env = append(env, "WAYFARER_"+strings.ToUpper(name)+"_ADDR="+addr)
	}
	for _, name := range names {
		path := filepath.Join(c.bin, name)
		if _, err := os.Stat(path); err != nil {
			return []row{{name: "idle programs", missing: "no " + path}}, nil
		}
		cmd := exec.Command(path) //nolint:gosec,noctx // our own program; ended below
		cmd.Env = append(append([]string{}, env...), "PATH="+os.Getenv("PATH"), "WAYFARER_LISTEN="+addrs[name], "WAYFARER_CLIENT_ID="+name, "WAYFARER_DATA_DIR="+filepath.Join(dir, name))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		h.onClose(func() error { _ = cmd.Process.Kill(); _ = cmd.Wait(); return nil })
		pids[name] = cmd.Process.Pid
	}
	for _, name := range names {
		if err := awaitServing(ctx, name, addrs[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	select {
	case <-time.After(settled):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if c.temporal != "" {
		names = append(names, "temporaldev")
	}
	for _, name := range names {
		memory, err := resident(pids[name])
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{name: "memory of an idle " + name, unit: size, measured: float64(memory)})
	}
	return rows, nil
}

// awaitServing asks for a program's health until it serves.
func awaitServing(ctx context.Context, name, addr string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ready, fmt.Errorf("not serving within %s", ready))
	defer cancel()
	ask := func() bool {
		res, err := http.Get("http://" + addr + "/readyz") //nolint:gosec,noctx // our own program
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	if name != edging {
		conn, err := plain(addr)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		ask = func() bool {
			res, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
			return err == nil && res.GetStatus() == healthv1.HealthCheckResponse_SERVING
		}
	}
	for !ask() {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
