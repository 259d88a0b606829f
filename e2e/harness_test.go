package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/jsonobject"
	telemetry "github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// timeout is for a whole test; a machine that runs other things at the same time needs a good part of it. Some tests take long
// anyway, or wait for others to end.
const (
	timeout = 20 * time.Minute
	long    = 2 * timeout
)

// house is the suite that the tests of the package share; they keep apart by campaigns of their own.
var house *suite.Suite

// houseDir is where it keeps stores and keys.
var houseDir string

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveVariable); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(withHouse(m.Run))
}

func withHouse(tests func() int) (code int) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	dir, err := os.MkdirTemp("", "wayfarer-e2e-")
	if err != nil {
		fail(err)
		return code
	}
	houseDir = dir
	// Calls have traces, which go nowhere.
	traces, err := telemetry.NewTelemetry(context.Background(), telemetry.TelemetryConfig{Program: "e2e"})
	if err != nil {
		fail(err)
		return code
	}
	traces.Install()
	defer func() { _ = os.RemoveAll(dir) }()
	temporal, err := temporaldev()
	if err != nil {
		fail(err)
		return code
	}
	house, err = suite.Start(context.Background(), suite.Config{
		HTTP: "127.0.0.1:0", Data: dir, Grace: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Temporal: &suite.Temporal{Program: temporal, UIPort: -1},
	})
	if err != nil {
		fail(err)
		return code
	}
	code = tests()
	if err := house.Close(); err != nil {
		fail(fmt.Errorf("close the suite: %w", err))
	}
	return code
}

// temporaldev is the path of the Temporal server that is built beside the other programs.
func temporaldev() (string, error) {
	path, err := filepath.Abs(filepath.Join("..", "bin", "temporaldev"))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("no Temporal server, which `make temporaldev` builds: %w", err)
	}
	return path, nil
}

// object is a JSON object, as REST takes and answers it.
type object = jsonobject.Object

// failure is an answer that is none, as a caller can tell failures apart.
type failure struct {
	// http is 0 over gRPC.
	http   int
	code   codes.Code
	reason string
	field  string
	text   string
}

func (f *failure) Error() string {
	return fmt.Sprintf("HTTP %d, %s %s at %q: %s", f.http, f.code, f.reason, f.field, f.text)
}

func failureOf(httpCode int, st *spb.Status) *failure {
	f := &failure{http: httpCode, code: codes.Code(st.GetCode()), text: st.GetMessage()} //nolint:gosec // a code
	for _, d := range st.GetDetails() {
		m, err := d.UnmarshalNew()
		if err != nil {
			f.text += fmt.Sprintf(" (a detail is unreadable: %v)", err)
			continue
		}
		switch x := m.(type) {
		case *errdetails.ErrorInfo:
			f.reason = x.GetReason()
		case *errdetails.BadRequest:
			if len(x.GetFieldViolations()) > 0 {
				f.field = x.GetFieldViolations()[0].GetField()
			}
		}
	}
	return f
}

// A transport gives one and the same request by REST or by gRPC. Methods are named as in
// "wayfarer.dungeon.v1.RunService/Draw" without "wayfarer."; requests and answers are as REST has them.
type transport interface {
	// call fails with a *failure when the request was refused.
	call(ctx context.Context, token, method string, req object) (object, error)
	// watch reads records until enough says so or the stream ends.
	watch(ctx context.Context, token, method string, req object, enough func(object) bool) ([]object, error)
}

// overREST and overGRPC are the transports to the shared suite.
func overREST() transport { return rest{base: house.URL} }

func overGRPC(tb testing.TB) transport {
	tb.Helper()
	g := direct{}
	for name, addr := range house.GRPC {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = conn.Close() })
		g[name] = conn
	}
	return g
}

// both are the transports by name.
func both(tb testing.TB) map[string]transport {
	tb.Helper()
	return map[string]transport{"REST": overREST(), "gRPC": overGRPC(tb)}
}

// descriptor finds a method and how REST maps it.
func descriptor(method string) (protoreflect.MethodDescriptor, *annotations.HttpRule, error) {
	service, name, ok := strings.Cut("wayfarer."+method, "/")
	if !ok {
		return nil, nil, fmt.Errorf("%q names no method", method)
	}
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", method, err)
	}
	s, ok := d.(protoreflect.ServiceDescriptor)
	if !ok || s.Methods().ByName(protoreflect.Name(name)) == nil {
		return nil, nil, fmt.Errorf("%s does not exist", method)
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	rule, ok := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return nil, nil, fmt.Errorf("%s is not mapped to REST", method)
	}
	return m, rule, nil
}

// rest calls the edge.
type rest struct{ base string }

var variable = regexp.MustCompile(`\{(\w+)(=[^}]*)?\}`)

// request builds what the annotations say. The body of a POST is raw if it is given.
func (c rest) request(ctx context.Context, token, method string, req object, raw []byte) (*http.Request, error) {
	_, rule, err := descriptor(method)
	if err != nil {
		return nil, err
	}
	verb, template := http.MethodPost, rule.GetPost()
	if rule.GetGet() != "" {
		verb, template = http.MethodGet, rule.GetGet()
	}
	left := object{}
	for k, v := range req {
		left[k] = v
	}
	path := variable.ReplaceAllStringFunc(template, func(v string) string {
		key := variable.FindStringSubmatch(v)[1] // one word in every path
		delete(left, key)
		return req.Text(key)
	})
	var body io.Reader
	if verb == http.MethodGet {
		query := url.Values{}
		for k, v := range left {
			query.Set(k, fmt.Sprint(v))
		}
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
	} else {
		if raw == nil {
			if raw, err = json.Marshal(left); err != nil {
				return nil, err
			}
		}
		body = bytes.NewReader(raw)
	}
	out, err := http.NewRequestWithContext(ctx, verb, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if token != "" {
		out.Header.Set("Authorization", "Bearer "+token)
	}
	out.Header.Set("Content-Type", "application/json")
	return out, nil
}

func (c rest) call(ctx context.Context, token, method string, req object) (object, error) {
	r, err := c.request(ctx, token, method, req, nil)
	if err != nil {
		return nil, err
	}
	return c.do(r)
}

func (c rest) do(r *http.Request) (object, error) {
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, answered(r, res)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var answer object
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	return answer, nil
}

// answered reads the answer to a request that was not accepted.
func answered(r *http.Request, res *http.Response) error {
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	st := &spb.Status{}
	if err := protojson.Unmarshal(raw, st); err != nil {
		return fmt.Errorf("%s %s: HTTP %d without a google.rpc.Status: %.300s", r.Method, r.URL.Path, res.StatusCode, raw)
	}
	return failureOf(res.StatusCode, st)
}

func (c rest) watch(ctx context.Context, token, method string, req object, enough func(object) bool) ([]object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := c.request(ctx, token, method, req, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, answered(r, res)
	}
	defer func() { _ = res.Body.Close() }()
	var out []object
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line object
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, err
		}
		if line["error"] != nil {
			return nil, fmt.Errorf("the stream ends with %s", lines.Bytes())
		}
		out = append(out, line)
		if enough(line) {
			return out, nil
		}
	}
	return out, lines.Err()
}

// direct calls the services by gRPC; the connections are by the services' names.
type direct map[string]*grpc.ClientConn

// prepare finds the connection and makes the messages of a call.
func (c direct) prepare(ctx context.Context, token, method string, req object) (_ context.Context, conn *grpc.ClientConn, in, out proto.Message, responseBody string, err error) {
	m, rule, err := descriptor(method)
	if err != nil {
		return nil, nil, nil, nil, "", err
	}
	name, _, _ := strings.Cut(method, ".")
	if conn = c[name]; conn == nil {
		return nil, nil, nil, nil, "", fmt.Errorf("the suite has no service %q", name)
	}
	if in, err = message(m.Input()); err != nil {
		return nil, nil, nil, nil, "", err
	}
	if out, err = message(m.Output()); err != nil {
		return nil, nil, nil, nil, "", err
	}
	raw, err := json.Marshal(req)
	if err != nil {
		return nil, nil, nil, nil, "", err
	}
	if err := protojson.Unmarshal(raw, in); err != nil {
		return nil, nil, nil, nil, "", fmt.Errorf("%s: %w", method, err)
	}
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	return ctx, conn, in, out, rule.GetResponseBody(), nil
}

func message(d protoreflect.MessageDescriptor) (proto.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.FullName(), err)
	}
	return t.New().Interface(), nil
}

func (c direct) call(ctx context.Context, token, method string, req object) (object, error) {
	ctx, conn, in, out, responseBody, err := c.prepare(ctx, token, method, req)
	if err != nil {
		return nil, err
	}
	if err := conn.Invoke(ctx, "/wayfarer."+method, in, out); err != nil {
		return nil, failureOf(0, status.Convert(err).Proto())
	}
	answer, err := asJSON(out)
	if err != nil || responseBody == "" {
		return answer, err
	}
	unwrapped, ok := answer[responseBody].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s answers no %s", method, responseBody)
	}
	return unwrapped, nil
}

func asJSON(m proto.Message) (object, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var o object
	return o, json.Unmarshal(raw, &o)
}

func (c direct) watch(ctx context.Context, token, method string, req object, enough func(object) bool) ([]object, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, conn, in, out, _, err := c.prepare(ctx, token, method, req)
	if err != nil {
		return nil, err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/wayfarer."+method)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(stream.SendMsg(in), stream.CloseSend()); err != nil {
		return nil, err
	}
	var got []object
	for {
		proto.Reset(out)
		if err := stream.RecvMsg(out); err != nil {
			if errors.Is(err, io.EOF) {
				return got, nil
			}
			return got, failureOf(0, status.Convert(err).Proto())
		}
		line, err := asJSON(out)
		if err != nil {
			return got, err
		}
		got = append(got, line)
		if enough(line) {
			return got, nil
		}
	}
}

// table is a campaign with those who play in it.
type table struct {
	tb  testing.TB
	ctx context.Context //nolint:containedctx // that of the test
	via transport
	// campaign is its resource name; tokens are by user.
	campaign string
	tokens   map[string]string
	requests int
}

func deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	tb.Cleanup(cancel)
	return ctx
}

// unique makes an id that no other test of the process has, also when a test is run several times.
func unique(id string) string { return fmt.Sprintf("%s-%d", id, ids.Add(1)) }

var ids atomic.Int64

// newTable opens a campaign of the GM's with players.
func newTable(tb testing.TB, id string, players ...string) *table {
	tb.Helper()
	t := &table{tb: tb, ctx: deadline(tb), via: overREST(), campaign: "campaigns/" + unique(id), tokens: map[string]string{}}
	for _, user := range append([]string{"gm"}, players...) {
		token, err := house.Token(user)
		if err != nil {
			tb.Fatal(err)
		}
		t.tokens[user] = token
	}
	t.open(players...)
	return t
}

func (t *table) open(players ...string) {
	t.tb.Helper()
	members := []object{}
	for _, p := range players {
		members = append(members, object{"subject": p, "role": "ROLE_PLAYER"})
	}
	t.do("gm", "party.v1.CampaignService/CreateCampaign", object{
		"campaignId": strings.TrimPrefix(t.campaign, "campaigns/"), "title": "A table", "chapter": 3, "members": members,
	})
}

// do gives a command that has to be accepted. A request id is made up where none is given.
func (t *table) do(user, method string, req object) object {
	t.tb.Helper()
	if req["requestId"] == nil {
		t.requests++
		req = req.With("requestId", fmt.Sprintf("table-%d", t.requests))
	}
	answer, err := t.steady(t.via, user, method, req)
	if err != nil {
		t.tb.Fatalf("%s: %s %v: %v", user, method, req, err)
	}
	return answer
}

// steady makes a call. Who is told that something is away, as happens on a busy machine, comes again with the same one.
func (t *table) steady(via transport, user, method string, req object) (object, error) {
	return t.steadyBy(via, t.tokens[user], user, method, req)
}

// steadyBy is steady by a token of one's own.
func (t *table) steadyBy(via transport, token, user, method string, req object) (object, error) {
	for begin := time.Now(); ; {
		answer, err := via.call(t.ctx, token, method, req)
		var f *failure
		if !errors.As(err, &f) || f.code != codes.Unavailable || time.Since(begin) > await.Limit {
			return answer, err
		}
		t.tb.Logf("%s comes again with %s: %v", user, method, err)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.ctx.Done():
			return nil, err
		}
	}
}

// getters read aggregates by the collection that they are in.
var getters = map[string]string{
	"campaigns":   "party.v1.CampaignService/GetCampaign",
	"parties":     "party.v1.CampaignService/GetParty",
	"characters":  "party.v1.CharacterService/GetCharacter",
	"companies":   "party.v1.CompanyService/GetCompany",
	"dungeons":    "dungeon.v1.DungeonService/GetDungeon",
	"runs":        "dungeon.v1.RunService/GetRun",
	"regions":     "travel.v1.RegionService/GetRegion",
	"journeys":    "travel.v1.JourneyService/GetJourney",
	"streams":     "dice.v1.DiceService/GetStream",
	"expeditions": "expedition.v1.ExpeditionService/GetExpedition",
}

func (t *table) read(user, name string) object {
	t.tb.Helper()
	parts := strings.Split(name, "/")
	answer, err := t.steady(t.via, user, getters[parts[len(parts)-2]], object{"name": name})
	if err != nil {
		t.tb.Fatalf("%s reads %s: %v", user, name, err)
	}
	return answer
}

func (t *table) character(id string) string { return t.campaign + "/characters/" + id }

// player makes a character that can enter a dungeon: ratings, and two tools of different abilities in the belt.
func (t *table) player(owner, id string) {
	t.tb.Helper()
	name := t.character(id)
	t.do(owner, "party.v1.CharacterService/CreateCharacter", object{"parent": t.campaign, "characterId": id, "title": id})
	t.do(owner, "party.v1.CharacterService/SetAbilities", object{"name": name, "abilities": object{"brute": 5, "agility": 4, "wits": 4, "combat": 4}})
	t.do(owner, "party.v1.CharacterService/BuyTools", object{"name": name, "tools": []object{
		{"id": "gauntlets", "ability": "brute", "rating": "major", "qualities": []string{"improved"}},
		{"id": "whistle", "ability": "wits", "rating": "minor", "qualities": []string{"embolden"}},
	}})
	for n := 1; n <= 2; n++ {
		t.do(owner, "party.v1.CharacterService/LoadTool", object{"name": name, "number": n})
	}
}

// vale is a small region: a village, a road, a river, and a cave in a wood that a search has to find.
func vale() object {
	hex := func(q, r int) object { return object{"q": q, "r": r} }
	return object{
		"title": "The small vale",
		"hexes": []object{
			{"q": 0, "r": 0, "terrain": "plains"}, {"q": 1, "r": 0, "terrain": "plains"}, {"q": 2, "r": 0, "terrain": "forest"},
			{"q": 0, "r": 1, "terrain": "hills"}, {"q": 1, "r": 1, "terrain": "plains"},
		},
		"roads":  []object{{"id": "lane", "name": "The lane", "path": []object{hex(0, 0), hex(1, 0)}}},
		"rivers": []object{{"id": "beck", "name": "The beck", "path": []object{hex(0, 1), hex(1, 1)}}},
		"locations": []object{
			{"id": "hamlet", "name": "The hamlet", "kind": "settlement", "hex": hex(0, 0), "visible": true},
			{"id": "whisper-cave", "name": "Whisper Cave", "text": "It whispers.", "kind": "site", "hex": hex(1, 0), "visible": false, "table": 4, "entrance": "crack",
				"rooms": []object{{"id": "crack", "ways": []string{"echo-hall"}}, {"id": "echo-hall", "ways": []string{"crack"}}}},
			{"id": "cold-barrow", "name": "Cold Barrow", "kind": "poi", "hex": hex(2, 0), "visible": false},
		},
		"npcs": []object{{"id": "tamsin", "name": "Tamsin Rook", "hex": hex(0, 0), "text": "Keeps bees."}},
	}
}
