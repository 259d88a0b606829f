package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	settings "github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

const (
	gm       = "gm"
	audience = "wayfarer"
	secret   = "bench" //nolint:gosec // of an issuer that lives as long as the measurement
	// membershipTTL is how long services keep a role, as they do elsewhere.
	membershipTTL = 3 * time.Second
	// drain is how long calls may go on at the end; none do.
	drain = time.Second
)

// The services of a house, in the order in which they start.
const (
	parties  = "party"
	rolling  = "dice"
	delving  = "dungeon"
	marching = "travel"
	questing = "expedition"
	// edging is the edge, which is no service.
	edging = "gateway"
)

// house is the services with an issuer, each on a listener of its own. The stores stay at hand for the baselines.
type house struct {
	stores map[string]journal.Store
	conns  map[string]*grpc.ClientConn // a user's, see as

	open     opener
	issuer   *devissuer.Issuer
	url      string
	verifier auth.Verifier
	addrs    map[string]string
	log      *slog.Logger
	ids      atomic.Int64

	running context.Context //nolint:containedctx // ends when the house closes
	stop    context.CancelFunc
	wg      sync.WaitGroup
	mu      sync.Mutex
	errs    []error
	closers []func() error // called last to first
}

// register makes a service on its store, with connections that carry its identity.
type register func(store journal.Store, members *adapter.RemoteMembers, conn func(service string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error)

// newHouse starts party, dice, dungeon and travel. Close it.
func newHouse(ctx context.Context, dir string, open opener) (*house, error) {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &house{
		stores: map[string]journal.Store{}, conns: map[string]*grpc.ClientConn{}, addrs: map[string]string{}, open: open,
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), running: running, stop: stop,
	}
	if err := h.start(ctx, dir); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *house) start(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := devissuer.LoadKey(filepath.Join(dir, "issuer.pem"))
	if err != nil {
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.url = "http://" + lis.Addr().String()
	h.issuer = devissuer.New(devissuer.Config{Issuer: h.url, Audience: audience, Services: map[string]string{
		parties: secret, rolling: secret, delving: secret, marching: secret, questing: secret, edging: secret,
	}}, key)
	web := &http.Server{Handler: h.issuer.Handler(), ReadHeaderTimeout: 10 * time.Second}
	h.wg.Go(func() {
		if err := web.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
			h.failed(err)
		}
	})
	h.onClose(web.Close)
	keys := auth.Config{Issuer: h.url, Audience: audience, JWKS: h.url + "/jwks.json"}
	if h.verifier, err = auth.NewVerifier(h.running, keys); err != nil { //nolint:contextcheck // it outlives the start
		return err
	}
	return firstError(
		func() error {
			return h.add(ctx, parties, func(store journal.Store, _ *adapter.RemoteMembers, _ func(string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error) {
				s, err := party.New(party.Config{Store: store})
				if err != nil {
					return nil, nil, err
				}
				return s.Register, s.Close, nil
			})
		},
		func() error {
			return h.add(ctx, rolling, func(store journal.Store, members *adapter.RemoteMembers, _ func(string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error) {
				s := dice.New(dice.Config{Store: store, Members: members, Logger: h.log})
				return s.Register, s.Close, nil
			})
		},
		func() error {
			return h.add(ctx, delving, func(store journal.Store, members *adapter.RemoteMembers, conn func(string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error) {
				s, err := dungeon.New(dungeon.Config{
					Store: store, Members: members, Rulesets: members, Logger: h.log, Parties: partyv1.NewCampaignServiceClient(conn(parties)),
					Characters: partyv1.NewCharacterServiceClient(conn(parties)),
					Leases:     partyv1.NewLeaseServiceClient(conn(parties)), Dice: dicev1.NewDiceServiceClient(conn(rolling)),
				})
				if err != nil {
					return nil, nil, err
				}
				return s.Register, s.Close, nil
			})
		},
		func() error {
			return h.add(ctx, marching, func(store journal.Store, members *adapter.RemoteMembers, conn func(string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error) {
				s, err := travel.New(travel.Config{
					Store: store, Members: members, Rulesets: members, Logger: h.log,
					Companies: partyv1.NewCompanyServiceClient(conn(parties)), Characters: partyv1.NewCharacterServiceClient(conn(parties)),
					Leases: partyv1.NewLeaseServiceClient(conn(parties)), Dice: dicev1.NewDiceServiceClient(conn(rolling)),
				})
				if err != nil {
					return nil, nil, err
				}
				return s.Register, s.Close, nil
			})
		},
	)
}

// add starts a service. It may call those that were added before.
func (h *house) add(ctx context.Context, name string, open register) error {
	store, err := h.open(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	h.stores[name] = store
	h.onClose(store.Close)
	tokens := &auth.TokenSource{URL: h.url + "/token", ClientID: name, ClientSecret: secret}
	mine := map[string]*grpc.ClientConn{}
	for other, addr := range h.addrs {
		conn, err := serve.Dial(addr, tokens, nil)
		if err != nil {
			return err
		}
		h.onClose(conn.Close)
		mine[other] = conn
	}
	var members *adapter.RemoteMembers
	if conn := mine[parties]; conn != nil {
		members = adapter.NewRemoteMembers(partyv1.NewMembershipServiceClient(conn), membershipTTL, time.Now)
	}
	registerAt, end, err := open(store, members, func(other string) *grpc.ClientConn { return mine[other] })
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	h.onClose(end)
	limits, err := programLimits()
	if err != nil {
		return err
	}
	cfg := serve.Config{
		Name: name, Verifier: h.verifier, Logger: h.log, Grace: drain, Ready: store.Ping, Limits: limits, Allow: access.Check, Reflection: true,
	}
	server, err := serve.NewServer(cfg) //nolint:contextcheck // each call brings its own
	if err != nil {
		return err
	}
	registerAt(server)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.addrs[name] = lis.Addr().String()
	h.wg.Go(func() { h.failed(server.Serve(h.running, lis)) })
	h.conns[name], err = plain(h.addrs[name])
	if err != nil {
		return err
	}
	h.onClose(h.conns[name].Close)
	return nil
}

// programLimits are what programs allow their callers unless they are told otherwise.
func programLimits() (serve.Limits, error) {
	limits, err := settings.Load[settings.Limits](func(string) string { return "" })
	if err != nil {
		return serve.Limits{}, err
	}
	return serve.LimitsOf(limits), nil
}

// plain is a client as anybody may have one; also the one of baselines.
func plain(addr string) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func (h *house) onClose(f func() error) { h.closers = append(h.closers, f) }

func (h *house) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
}

// Close ends everything and tells what failed meanwhile.
func (h *house) Close() error {
	h.stop()
	var errs []error
	for i := len(h.closers) - 1; i >= 0; i-- {
		errs = append(errs, h.closers[i]())
	}
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(append(errs, h.errs...)...)
}

// as returns a context in which a user calls.
func (h *house) as(ctx context.Context, subject string) (context.Context, error) {
	token, err := h.issuer.Token(subject)
	if err != nil {
		return nil, err
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token), nil
}

// id is a fresh request_id.
func (h *house) id() string { return fmt.Sprintf("bench-%d", h.ids.Add(1)) }

// program is a server that runs as a child. It ends with its standard input, thus at the latest with this process.
type program struct {
	cmd *exec.Cmd
	in  io.Closer
}

// start starts a program and returns the line in which it says where it is.
func start(ctx context.Context, path string, args ...string) (*program, string, error) {
	cmd := exec.Command(path, args...) //nolint:gosec,noctx // the caller's own program; it ends with its standard input
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	p := &program{cmd: cmd, in: in}
	// Nobody waits for a server that does not come up.
	up := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer up()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("%s did not start: %w", path, err), p.Close())
	}
	return p, strings.TrimSpace(line), nil
}

// Close ends the program, by force when it takes too long.
func (p *program) Close() error {
	_ = p.in.Close() // may be closed already
	late := time.AfterFunc(15*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	return p.cmd.Wait()
}
