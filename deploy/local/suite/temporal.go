package suite

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"google.golang.org/protobuf/proto"

	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// Temporal says where expeditions run: on a cluster that is there, or on a server that the suite starts as a child.
type Temporal struct {
	// Address of a cluster's frontend; when it is set, nothing is started.
	Address string
	// Program is the path of temporaldev. Its ports: 0 takes a free one; a UI port of -1 means no UI.
	Program      string
	Port, UIPort int
}

const taskQueue = "wayfarer-expedition"

// startTemporal starts the child, if one is wanted, and returns a function that waits for the frontend's address.
func (s *Suite) startTemporal(running context.Context) (func(context.Context) (string, error), error) {
	t := s.cfg.Temporal
	if t == nil || t.Address != "" {
		return func(context.Context) (string, error) {
			if t == nil {
				return "", errors.New("no Temporal is configured")
			}
			return t.Address, nil
		}, nil
	}
	child := exec.Command(t.Program, //nolint:gosec,noctx // the operator's own program; it ends with its standard input
		"-with-parent", "-port", strconv.Itoa(t.Port), "-ui-port", strconv.Itoa(t.UIPort), "-db", filepath.Join(s.cfg.Data, "temporal.db"))
	child.Stderr = os.Stderr
	// A group of its own: Ctrl-C is for this process, which stops its own work before Temporal's.
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("start Temporal: %w", err)
	}
	type ready struct {
		Frontend string `json:"frontend"`
		UI       string `json:"ui"`
	}
	said := make(chan ready, 1)
	gone := make(chan struct{})
	var stopping bool // read and written by closers and the waiter in turn: Close waits for gone
	go func() {
		defer close(gone)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var r ready
			if json.Unmarshal(lines.Bytes(), &r) == nil && r.Frontend != "" {
				select {
				case said <- r:
				default:
				}
			}
		}
		err := child.Wait()
		if running.Err() == nil {
			s.failed(fmt.Errorf("Temporal ended: %w", errors.Join(errors.New("unexpectedly"), err)))
		}
	}()
	s.onClose(func() error {
		if stopping {
			return nil
		}
		stopping = true
		// The end of its input would be the end of its parent to it: then it does not tidy up.
		_ = child.Process.Signal(syscall.SIGTERM)
		defer func() { _ = in.Close() }()
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			_ = child.Process.Kill()
			<-gone
		}
		return nil
	})
	var known ready
	return func(ctx context.Context) (string, error) {
		if known.Frontend != "" {
			return known.Frontend, nil
		}
		select {
		case known = <-said:
			s.TemporalUI = known.UI
			return known.Frontend, nil
		case <-gone:
			return "", errors.New("Temporal ended before it was ready")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}, nil
}

// withoutRefusals drops what the worker logs about refused commands: the caller is told, and nothing is wrong.
type withoutRefusals struct{ slog.Handler }

// Handle implements slog.Handler.
func (h withoutRefusals) Handle(ctx context.Context, r slog.Record) error {
	refusal := false
	if r.Message == "Activity error." {
		r.Attrs(func(a slog.Attr) bool {
			refusal = a.Key == "Error" && strings.HasSuffix(a.Value.String(), "retryable: false)")
			return !refusal
		})
	}
	if refusal {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h withoutRefusals) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withoutRefusals{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h withoutRefusals) WithGroup(name string) slog.Handler {
	return withoutRefusals{h.Handler.WithGroup(name)}
}

// members tells the expedition service roles.
type members struct{ adapter.Members }

func (m members) Role(ctx context.Context, campaign, subject string) (typev1.Role, error) {
	found, err := m.Membership(ctx, campaign, subject)
	return found.Role, err
}

func openExpedition(d deps) (instance, error) {
	key, err := payloadKey(filepath.Join(d.data, "payload.key"))
	if err != nil {
		return instance{}, fmt.Errorf("payload key: %w", err)
	}
	address, err := d.temporal()
	if err != nil {
		return instance{}, err
	}
	opts := client.Options{HostPort: address, Logger: tlog.NewStructuredLogger(slog.New(withoutRefusals{d.log.Handler()}))}
	if err := expedition.Encrypt(&opts, key); err != nil {
		return instance{}, err
	}
	if err := expedition.Trace(&opts); err != nil {
		return instance{}, err
	}
	c, err := client.Dial(opts)
	if err != nil {
		return instance{}, fmt.Errorf("dial Temporal: %w", err)
	}
	player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
	s, err := expedition.New(expedition.Config{
		Store: d.store, Temporal: c, TaskQueue: taskQueue, Members: members{d.members}, Travel: d.conn("travel"), Dungeon: d.conn("dungeon"), Party: d.conn("party"),
		Redact: func(m proto.Message) proto.Message { return adapter.Redact(player, m) }, Logger: d.log, Grace: d.grace,
	})
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		c.Close()
		return instance{}, err
	}
	return instance{
		register: s.Register,
		close: func() error {
			err := s.Stop()
			c.Close()
			return err
		},
		ready: func(ctx context.Context) error {
			_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
	}, nil
}

// payloadKey reads the key that encrypts what passes through Temporal, or makes one for its owner only.
func payloadKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, expedition.KeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return key, os.WriteFile(path, key, 0o600)
}
