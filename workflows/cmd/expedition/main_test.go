package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

// serveVariable makes the test's own program the expedition program.
const serveVariable = "WAYFARER_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// trusting takes everybody for a service, which may act for anybody.
type trusting struct{}

func (trusting) Verify(context.Context, string) (auth.Principal, error) {
	return auth.Principal{Subject: "service:test", Service: true}, nil
}

// authenticated is a stream whose caller is known.
type authenticated struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

func (a authenticated) Context() context.Context { return a.ctx }

// neighbours are the services that an expedition needs, and a move that waits.
type neighbours struct {
	addr string
	conn *grpc.ClientConn
	// began is told of each move, which then waits for go.
	began, goOn chan struct{}
	// release lets it go, however often it is called.
	release func()
	mu      sync.Mutex
	moves   int
}

func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	n := &neighbours{began: make(chan struct{}, 1), goOn: make(chan struct{})}
	n.release = sync.OnceFunc(func() { close(n.goOn) })
	quiet := slog.New(slog.DiscardHandler)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.addr = lis.Addr().String()
	n.conn, err = grpc.NewClient(n.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer test"), method, req, reply, cc, opts...)
		}, auth.UnaryClient()))
	if err != nil {
		t.Fatal(err)
	}
	parties, err := party.New(party.Config{Store: memory.New(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	rolls := dice.New(dice.Config{Store: memory.New(), Members: parties, Logger: quiet})
	journeys, err := travel.New(travel.Config{
		Store: memory.New(), Members: parties, Rulesets: parties, Logger: quiet, Companies: partyv1.NewCompanyServiceClient(n.conn),
		Characters: partyv1.NewCharacterServiceClient(n.conn), Leases: partyv1.NewLeaseServiceClient(n.conn), Dice: dicev1.NewDiceServiceClient(n.conn),
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(
		grpc.ChainUnaryInterceptor(fault.UnaryServer(quiet), auth.UnaryServer(trusting{}), n.hold),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			ctx, err := auth.Authenticate(s.Context(), trusting{})
			if err != nil {
				return err
			}
			return handle(srv, authenticated{s, ctx})
		}),
	)
	parties.Register(srv)
	rolls.Register(srv)
	journeys.Register(srv)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		n.release()
		_, _, _, _ = n.conn.Close(), journeys.Close(), rolls.Close(), parties.Close()
		srv.Stop()
		if err := await.Value(t, done, "the neighbours to stop"); err != nil {
			t.Error(err)
		}
	})
	return n
}

func (n *neighbours) hold(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if info.FullMethod == travelv1.JourneyService_Move_FullMethodName {
		n.mu.Lock()
		n.moves++
		first := n.moves == 1
		n.mu.Unlock()
		if first {
			n.began <- struct{}{}
			<-n.goOn
		}
	}
	return handle(ctx, req)
}

// campaign makes a company that can set out.
func (n *neighbours) campaign(t *testing.T) {
	t.Helper()
	const camp = "campaigns/c"
	ctx := auth.WithActor(t.Context(), "gm")
	campaigns, characters := partyv1.NewCampaignServiceClient(n.conn), partyv1.NewCharacterServiceClient(n.conn)
	for _, do := range []func() error{
		func() error {
			_, err := campaigns.CreateCampaign(ctx, &partyv1.CreateCampaignRequest{CampaignId: "c", Title: "The Long Road", RequestId: "c"})
			return err
		},
		func() error {
			_, err := characters.CreateCharacter(ctx, &partyv1.CreateCharacterRequest{Parent: camp, CharacterId: "ada", Title: "Ada", RequestId: "a"})
			return err
		},
		func() error {
			_, err := partyv1.NewCompanyServiceClient(n.conn).CreateCompany(ctx, &partyv1.CreateCompanyRequest{
				Parent: camp, CompanyId: "k", Title: "The Band", Travelers: []*partyv1.Traveler{{Character: camp + "/characters/ada"}},
				Pack: &partyv1.Pack{Food: []int32{20}, Gold: 40}, RequestId: "k",
			})
			return err
		},
		func() error {
			_, err := travelv1.NewRegionServiceClient(n.conn).ImportRegion(ctx, &travelv1.ImportRegionRequest{Parent: camp, RegionId: "vale", RequestId: "r", Region: &travelv1.RegionDraft{
				Title: "Vale", Hexes: []*travelv1.MapHex{{Terrain: "plains"}, {Q: 1, Terrain: "plains"}},
			}})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}

// process is the expedition program, running.
type process struct {
	cmd  *exec.Cmd
	conn *grpc.ClientConn
	read chan struct{}
	// waits is closed when it says that it waits for Temporal.
	waits chan struct{}
}

func start(t *testing.T, env []string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), read: make(chan struct{}), waits: make(chan struct{})} //nolint:noctx // ended below
	p.cmd.Env = slices.Concat(env, []string{serveVariable + "=1"})
	log, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			await.Value(t, p.read, "a program that was killed to end")
			_ = p.cmd.Wait() // it was killed
		}
	})
	at := make(chan string, 1)
	go func() {
		defer close(p.read)
		defer close(at)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct{ Msg, Address, Program string }
			if json.Unmarshal(lines.Bytes(), &line) != nil {
				t.Log(lines.Text())
			}
			switch {
			case line.Program != "expedition":
			case line.Msg == "serving":
				at <- line.Address
			case line.Msg == "waiting for Temporal":
				close(p.waits) // it says so once
			}
		}
	}()
	addr := await.Value(t, at, "the program to serve")
	if addr == "" {
		t.Fatal("it does not start")
	}
	if p.conn, err = grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.conn.Close() })
	return p
}

// temporal starts a Temporal server until the test ends.
func temporal(t *testing.T) string {
	t.Helper()
	// It ends with its standard input, so also when the tests are killed.
	cmd := exec.Command(filepath.Join("..", "..", "..", "bin", "temporaldev"), "-port=0", "-ui-port=-1", "-with-parent", "-log=fatal") //nolint:noctx // ended below
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("no Temporal server, which `make temporaldev` builds: %v", err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	slow := time.AfterFunc(await.Limit, func() { _ = cmd.Process.Kill() })
	defer slow.Stop()
	var ready struct{ Frontend string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		t.Fatalf("Temporal says %q, %v", line, err)
	}
	return ready.Frontend
}

// environment is the least that the program has to be told, with an issuer of the test's own and a token of a game master.
func environment(t *testing.T, n *neighbours, temporal string) (env []string, token string) {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	issuer := devissuer.New(devissuer.Config{
		Issuer: url, Audience: "wayfarer", Users: []string{"gm"}, Password: "p", Services: map[string]string{"expedition": "secret"},
	}, key)
	web.Config.Handler = issuer.Handler()
	web.Start()
	t.Cleanup(web.Close)
	env = []string{
		"WAYFARER_LISTEN=127.0.0.1:0", "WAYFARER_DATA_DIR=" + t.TempDir(), "WAYFARER_GRACE=60s", "WAYFARER_DEADLINE=4m",
		"WAYFARER_ISSUER=" + url, "WAYFARER_JWKS_URL=" + url + "/jwks.json", "WAYFARER_TOKEN_URL=" + url + "/token",
		"WAYFARER_CLIENT_ID=expedition", "WAYFARER_CLIENT_SECRET=secret",
		"WAYFARER_PARTY_ADDR=" + n.addr, "WAYFARER_DUNGEON_ADDR=" + n.addr, "WAYFARER_TRAVEL_ADDR=" + n.addr, "WAYFARER_TEMPORAL_ADDR=" + temporal,
		"WAYFARER_PAYLOAD_KEY=" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
	}
	if token, err = issuer.Token("gm"); err != nil {
		t.Fatal(err)
	}
	return env, token
}

// Temporal may be there before its namespace, as where that is made by hand: the program waits, alive and not ready.
func TestANamespaceMayComeLater(t *testing.T) {
	t.Parallel()
	at := temporal(t)
	env, _ := environment(t, newNeighbours(t), at)
	p := start(t, append(env, "WAYFARER_TEMPORAL_NAMESPACE=later"))
	await.Value(t, p.waits, "the program to say that it waits")
	status := func() healthv1.HealthCheckResponse_ServingStatus {
		res, err := healthv1.NewHealthClient(p.conn).Check(await.Context(t, t.Context()), &healthv1.HealthCheckRequest{})
		if err != nil {
			t.Fatalf("it does not live on: %v", err)
		}
		return res.GetStatus()
	}
	if got := status(); got != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("without its namespace it is %v", got)
	}
	c, err := client.NewNamespaceClient(client.Options{HostPort: at})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Register(await.Context(t, t.Context()), &workflowservice.RegisterNamespaceRequest{
		Namespace: "later", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it serves", func() (bool, any) { got := status(); return got == healthv1.HealthCheckResponse_SERVING, got })
}

// A process that is told to end by SIGTERM finishes the command that is under way and answers it; a command that waited behind
// it is answered, or turned away to be repeated, and has its effect once.
func TestSIGTERMDrainsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	n := newNeighbours(t)
	n.campaign(t)
	env, token := environment(t, n, temporal(t))
	ctx := await.Context(t, metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token))

	first := start(t, env)
	api := expeditionv1.NewExpeditionServiceClient(first.conn)
	const name, ada = "campaigns/c/expeditions/e", "campaigns/c/characters/ada"
	if _, err := api.CreateExpedition(ctx, &expeditionv1.CreateExpeditionRequest{Parent: "campaigns/c", ExpeditionId: "e", Company: "campaigns/c/companies/k", RequestId: "e"}); err != nil {
		t.Fatal(err)
	}
	// On a busy machine Temporal may be said to be away; who is told so comes again, until the program is told to end.
	var ending atomic.Bool
	execute := func(req *expeditionv1.ExecuteRequest) (*expeditionv1.ExecuteResponse, error) {
		for {
			res, err := api.Execute(ctx, req)
			if status.Code(err) != codes.Unavailable || ending.Load() || ctx.Err() != nil {
				return res, err
			}
		}
	}
	if _, err := execute(&expeditionv1.ExecuteRequest{Name: name, RequestId: "start", Command: &expeditionv1.ExecuteRequest_StartJourney{
		StartJourney: &travelv1.StartJourneyRequest{Character: ada, Region: "campaigns/c/regions/vale", Hex: &travelv1.Hex{}},
	}}); err != nil {
		t.Fatal(err)
	}
	move := func(id string, q int32) *expeditionv1.ExecuteRequest {
		return &expeditionv1.ExecuteRequest{Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_Move{Move: &travelv1.MoveRequest{Character: ada, To: &travelv1.Hex{Q: q}}}}
	}
	type answer struct {
		res *expeditionv1.ExecuteResponse
		err error
	}
	under, behind := make(chan answer, 1), make(chan answer, 1)
	go func() {
		res, err := execute(move("under-way", 1))
		under <- answer{res, err}
	}()
	select {
	case <-n.began:
	case got := <-under:
		t.Fatalf("the move was answered without being made: %v, %v", got.res, got.err)
	}
	go func() {
		res, err := execute(move("behind", 0))
		behind <- answer{res, err}
	}()
	ending.Store(true)
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// It takes no new calls any more, which tells that it drains.
	await.Until(t, "it takes no calls", func() (bool, any) {
		conn, err := net.DialTimeout("tcp", first.conn.Target(), time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil, "that it takes them"
	})
	n.release()
	got := await.Value(t, under, "the answer to the command under way")
	if got.err != nil {
		t.Fatalf("the command under way: %v", got.err)
	}
	await.Value(t, first.read, "the program to end")
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	waited := await.Value(t, behind, "the answer to the command behind it")

	second := start(t, env)
	api = expeditionv1.NewExpeditionServiceClient(second.conn)
	ending.Store(false)
	again, err := execute(move("under-way", 1))
	if err != nil || !proto.Equal(again, got.res) {
		t.Errorf("the answer was\n%v\nand is\n%v, %v", got.res, again, err)
	}
	res, err := execute(move("behind", 0))
	if err != nil || waited.err == nil && !proto.Equal(res, waited.res) {
		t.Errorf("the command behind it: first %v, %v, then %v, %v", waited.res, waited.err, res, err)
	}
	journey, err := travelv1.NewJourneyServiceClient(n.conn).GetJourney(auth.WithActor(t.Context(), "gm"), &travelv1.GetJourneyRequest{Name: res.GetExpedition().GetJourney()})
	if err != nil || journey.GetJourney().GetSeq() != again.GetMove().GetRecord().GetSeq()+1 {
		t.Errorf("the journey is at record %d, %v; the moves were records %s", journey.GetJourney().GetSeq(), err,
			fmt.Sprint(again.GetMove().GetRecord().GetSeq(), res.GetMove().GetRecord().GetSeq()))
	}
	if err := second.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await.Value(t, second.read, "the program to end")
	if err := second.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// What the settings say of a build has to make sense.
func TestSettingsOfABuild(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		deployment, id, want string
		bad                  bool
	}{
		"none":                    {"", "", "", false},
		"a deployment alone":      {"wayfarer", "", "wayfarer " + version, false},
		"both":                    {"wayfarer", "v7", "wayfarer v7", false},
		"a build without one":     {"", "v7", "", true},
		"a deployment with a dot": {"way.farer", "", "way.farer " + version, true},
	} {
		s := settings{Deployment: row.deployment, BuildID: row.id, PayloadKey: "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="}
		err := s.Check()
		if (err != nil) != row.bad {
			t.Errorf("%s: %v", name, err)
		}
		if b := s.build(); strings.TrimSpace(b.Deployment+" "+b.ID) != row.want {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
