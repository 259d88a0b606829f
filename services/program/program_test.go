package program_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/services/program"
)

// build builds the programs as they are delivered and returns their directory.
func build(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	args := []string{"build", "-buildvcs=false", "-ldflags", "-X main.version=v1.2.3", "-o", dir + "/"}
	for _, n := range names {
		args = append(args, "../cmd/"+n)
	}
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// house is where the programs run: an issuer, and a directory for each program's files.
type house struct {
	t      *testing.T
	bin    string
	data   string
	issuer *devissuer.Issuer
	url    string
}

func newHouse(t *testing.T, bin string) *house {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	h := &house{t: t, bin: bin, data: t.TempDir(), url: "http://" + srv.Listener.Addr().String()}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	h.issuer = devissuer.New(devissuer.Config{
		Issuer: h.url, Audience: "wayfarer", Users: []string{"gm"}, Password: "p", Services: map[string]string{"dice": "secret-of-dice", "party": "secret-of-party"},
	}, key)
	srv.Config.Handler = h.issuer.Handler()
	srv.Start()
	t.Cleanup(srv.Close)
	return h
}

func (h *house) env(name string, more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "WAYFARER_LISTEN=127.0.0.1:0", "WAYFARER_DATA_DIR=" + h.data, "WAYFARER_GRACE=1m",
		"WAYFARER_ISSUER=" + h.url, "WAYFARER_JWKS_URL=" + h.url + "/jwks.json", "WAYFARER_TOKEN_URL=" + h.url + "/token",
		"WAYFARER_CLIENT_ID=" + name, "WAYFARER_CLIENT_SECRET=secret-of-" + name,
	}, more...)
}

// running is a program that serves.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	conn *grpc.ClientConn
	read chan struct{} // closed when its log has ended
}

// start starts a program and waits until it says where it serves.
func (h *house) start(name string, more ...string) *running {
	h.t.Helper()
	r := &running{t: h.t, cmd: exec.Command(filepath.Join(h.bin, name)), read: make(chan struct{})} //nolint:noctx // ended below
	r.cmd.Env = h.env(name, more...)
	log, err := r.cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(r.kill)
	at := make(chan string, 1)
	go func() {
		defer close(r.read)
		defer close(at)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			var line struct{ Msg, Address, Version, Program string }
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				h.t.Errorf("%s logs what is no JSON: %s", name, lines.Bytes())
			}
			if strings.Contains(lines.Text(), "secret-of-") {
				h.t.Errorf("%s logs its secret: %s", name, lines.Bytes())
			}
			if line.Msg == "serving" && line.Program == name && line.Version == "v1.2.3" {
				at <- line.Address
			}
		}
	}()
	if r.addr = await.Value(h.t, at, name+" to serve"); r.addr == "" {
		h.t.Fatalf("%s does not start: %v", name, r.end())
	}
	if r.conn, err = grpc.NewClient(r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true))); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = r.conn.Close() })
	return r
}

// end waits for the program's own end.
func (r *running) end() error {
	r.t.Helper()
	await.Value(r.t, r.read, "the end of "+r.cmd.Path)
	err := r.cmd.Wait()
	r.cmd.Process = nil
	return err
}

// kill ends it as a power cut would.
func (r *running) kill() {
	if r.cmd.Process != nil {
		_ = r.cmd.Process.Kill()
		_ = r.end() // it was killed
	}
}

// as is a context in which a user calls.
func (h *house) as(user string) context.Context {
	h.t.Helper()
	token, err := h.issuer.Token(user)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), await.Limit)
	h.t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func (r *running) reflects(t *testing.T) bool {
	t.Helper()
	stream, err := reflectionv1.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	if err != nil && status.Code(err) != codes.Unimplemented {
		t.Fatal(err)
	}
	return err == nil
}

func TestThePrograms(t *testing.T) {
	t.Parallel()
	h := newHouse(t, build(t, "dice", "party", "dungeon", "travel"))
	party := h.start("party")
	dice := h.start("dice", "WAYFARER_PARTY_ADDR="+party.addr, "WAYFARER_REFLECTION=true")
	if !dice.reflects(t) || party.reflects(t) {
		t.Error("reflection is where it is not switched on, or not where it is")
	}
	if _, err := partyv1.NewCampaignServiceClient(party.conn).CreateCampaign(h.as("gm"), &partyv1.CreateCampaignRequest{
		CampaignId: "c", Title: "The Long Road", RequestId: "begin", Members: []*partyv1.CampaignMember{{Subject: "ada", Role: typev1.Role_ROLE_PLAYER}},
	}); err != nil {
		t.Fatal(err)
	}
	req := &dicev1.RollRequest{Parent: "campaigns/c", Notation: "10d1000", RequestId: "roll"}
	roll, err := dicev1.NewDiceServiceClient(dice.conn).Roll(h.as("ada"), req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dicev1.NewDiceServiceClient(dice.conn).Roll(h.as("mallory"), req); status.Code(err) != codes.NotFound {
		t.Errorf("a stranger rolls: %v", err)
	}
	dice.kill()

	again := h.start("dice", "WAYFARER_PARTY_ADDR="+party.addr)
	got, err := dicev1.NewDiceServiceClient(again.conn).Roll(h.as("ada"), req)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(roll, got, protocmp.Transform()); d != "" {
		t.Errorf("after a kill: %s", d)
	}
	// The other two start and drain as well.
	for _, name := range []string{"dungeon", "travel"} {
		if err := h.start(name, "WAYFARER_PARTY_ADDR="+party.addr, "WAYFARER_DICE_ADDR="+again.addr).stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Another on the same address does not start, and says why.
	out, err := h.run("party", "WAYFARER_LISTEN="+party.addr)
	if err == nil || !strings.Contains(out, "party: WAYFARER_LISTEN: ") {
		t.Errorf("a second one: %v %s", err, out)
	}
	for _, r := range []*running{again, party} {
		if err := r.stop(); err != nil {
			t.Errorf("%s: %v", r.cmd.Path, err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(h.bin, "dice"), "--version").Output(); err != nil || string(out) != "dice v1.2.3\n" {
		t.Errorf("said %q, %v", out, err)
	}
}

// stop asks a program to end and waits until it has.
func (r *running) stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return r.end()
}

// run runs a program to its own end.
func (h *house) run(name string, more ...string) (string, error) {
	cmd := exec.CommandContext(h.t.Context(), filepath.Join(h.bin, name))
	cmd.Env = h.env(name, more...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"WAYFARER_ISSUER": "http://id.example", "WAYFARER_JWKS_URL": "http://id.example/keys", "WAYFARER_TOKEN_URL": "http://id.example/token",
		"WAYFARER_CLIENT_ID": "dice", "WAYFARER_CLIENT_SECRET": "swordfish",
	}
	for name, tc := range map[string]struct{ key, value, want string }{
		"no issuer":                 {"WAYFARER_ISSUER", "", "WAYFARER_ISSUER"},
		"a listener without a port": {"WAYFARER_LISTEN", "here", "WAYFARER_LISTEN"},
		"a store that is none":      {"STORE", "paper", "STORE"},
		"a MongoDB that is nowhere": {"STORE", "mongodb", "MONGODB_URI"},
		"a switch that is neither":  {"WAYFARER_REFLECTION", "perhaps", "WAYFARER_REFLECTION"},
		"a grace without a unit":    {"WAYFARER_GRACE", "5", "WAYFARER_GRACE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			getenv := func(k string) string {
				if k == tc.key {
					return tc.value
				}
				return good[k]
			}
			err := program.Run(t.Context(), "dice", "v", getenv, func(program.Deps) (program.Service, error) {
				t.Error("the service was opened all the same")
				return nil, errors.New("opened")
			})
			var bad *config.Error
			if !errors.As(err, &bad) || bad.Var != tc.want || strings.Contains(err.Error(), "swordfish") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestADirectoryThatIsNone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, "")
	env := map[string]string{}
	for _, v := range h.env("dice", "WAYFARER_DATA_DIR="+file) {
		k, value, _ := strings.Cut(v, "=")
		env[k] = value
	}
	err := program.Run(t.Context(), "dice", "v", func(k string) string { return env[k] }, func(program.Deps) (program.Service, error) {
		return nil, errors.New("opened")
	})
	if err == nil || !strings.Contains(err.Error(), "WAYFARER_DATA_DIR: ") {
		t.Errorf("got %v", err)
	}
}
