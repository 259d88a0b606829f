package suite_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/port"
)

// table is a suite with those who play on it.
type table struct {
	t *testing.T
	*suite.Suite
	tokens map[string]string
}

func start(t *testing.T, dir string) *table {
	t.Helper()
	s, err := suite.Start(t.Context(), suite.Config{
		HTTP: "127.0.0.1:0", Data: dir, Grace: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &table{t, s, map[string]string{}}
}

// token logs a user in, once.
func (tb *table) token(user string) string {
	tb.t.Helper()
	if tb.tokens[user] == "" {
		res := tb.login(user, suite.Password)
		if res.code != http.StatusOK {
			tb.t.Fatalf("log %s in: %s", user, res.body)
		}
		tb.tokens[user], _ = res.object(tb.t)["access_token"].(string)
	}
	return tb.tokens[user]
}

func (tb *table) login(user, password string) answer {
	tb.t.Helper()
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}
	return tb.send("POST", "/dev/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

type answer struct {
	code int
	body []byte
}

func (a answer) object(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return m
}

func (tb *table) send(method, path, body, header, value string) answer {
	tb.t.Helper()
	res := tb.open(method, path, body, header, value)
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		tb.t.Fatal(err)
	}
	return answer{res.StatusCode, raw}
}

func (tb *table) open(method, path, body, header, value string) *http.Response {
	tb.t.Helper()
	req, err := http.NewRequestWithContext(tb.t.Context(), method, tb.URL+path, strings.NewReader(body))
	if err != nil {
		tb.t.Fatal(err)
	}
	req.Header.Set(header, value)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.t.Fatal(err)
	}
	return res
}

// ok makes a call that must succeed.
func (tb *table) ok(user, method, path, body string) map[string]any {
	tb.t.Helper()
	a := tb.send(method, path, body, "Authorization", "Bearer "+tb.token(user))
	if a.code != http.StatusOK {
		tb.t.Fatalf("%s %s: %d %s", method, path, a.code, a.body)
	}
	return a.object(tb.t)
}

const (
	rolls  = "/v1/campaigns/road/rolls"
	myLog  = "/v1/campaigns/road/rollLogs/me"
	myRoll = `{"notation": "10d1000", "purpose": "to remember", "request_id": "roll-1"}`
)

// begin makes a campaign of the GM's in which Ada plays.
func (tb *table) begin() {
	tb.t.Helper()
	tb.ok("gm", "POST", "/v1/campaigns", `{"campaign_id": "road", "title": "The Long Road", "request_id": "begin",
		"members": [{"subject": "ada", "role": "ROLE_PLAYER"}]}`)
}

func TestWhatWasPlayedIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "state")
	first := start(t, dir)
	first.begin()
	roll := first.ok("ada", "POST", rolls, myRoll)
	first.ok("ada", "POST", "/v1/campaigns/road/characters", `{"character_id": "ada", "title": "Ada", "request_id": "character"}`)
	seen := []string{"/v1/campaigns/road", "/v1/campaigns", "/v1/campaigns/road/characters/ada", myLog, myLog + "/rolls", "/v1/campaigns/road/streams"}
	before := map[string]map[string]any{}
	for _, path := range seen {
		before[path] = first.ok("ada", "GET", path, "")
	}
	old := first.token("ada")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := start(t, dir)
	for _, path := range seen {
		if got := second.ok("ada", "GET", path, ""); !reflect.DeepEqual(got, before[path]) {
			t.Errorf("%s was %v and is %v", path, before[path], got)
		}
	}
	if again := second.ok("ada", "POST", rolls, myRoll); !reflect.DeepEqual(again, roll) {
		t.Errorf("rolled %v, and again %v", roll, again)
	}
	if next := second.ok("ada", "POST", rolls, `{"notation": "d6", "request_id": "roll-2"}`); next["index"].(float64) != roll["index"].(float64)+1 {
		t.Errorf("the next roll: %v", next)
	}
	// The key outlives the restart, but a token is for one issuer, and this one has another address.
	if a := second.send("GET", myLog, "", "Authorization", "Bearer "+old); first.URL != second.URL && a.code != http.StatusUnauthorized {
		t.Errorf("an old token: %d %s", a.code, a.body)
	}
}

func TestTheOtherServicesKnowTheRoles(t *testing.T) {
	t.Parallel()
	tb := start(t, t.TempDir())
	tb.begin()
	for user, want := range map[string]int{"ada": 200, "gm": 200, "bram": 404} {
		if a := tb.send("POST", rolls, `{"notation": "d6", "request_id": "q"}`, "Authorization", "Bearer "+tb.token(user)); a.code != want {
			t.Errorf("%s rolls: %d %s", user, a.code, a.body)
		}
	}
	for name, a := range map[string]answer{
		"a wrong password": tb.login("gm", "guess"), "nobody": tb.login("mallory", suite.Password), "a service as a user": tb.login("dice", suite.Password),
	} {
		if a.code != http.StatusBadRequest || a.object(t)["error"] != "invalid_grant" {
			t.Errorf("%s: %d %s", name, a.code, a.body)
		}
	}
	ready := tb.send("GET", "/readyz", "", "Accept", "*/*")
	for _, name := range []string{"party", "dice", "dungeon", "travel"} {
		if got := ready.object(t)[name]; got != "SERVING" {
			t.Errorf("%s is %v", name, got)
		}
		if !strings.Contains(tb.Addresses(), tb.GRPC[name]) || tb.GRPC[name] == "" {
			t.Errorf("%s is not among the addresses: %s", name, tb.Addresses())
		}
	}
	for _, page := range []string{"/", "/console", "/docs"} {
		if a := tb.send("GET", page, "", "Accept", "*/*"); a.code != http.StatusOK || !strings.Contains(tb.Addresses(), tb.URL+page+"\n") {
			t.Errorf("%s: %d, among the addresses %s", page, a.code, tb.Addresses())
		}
	}
	for _, path := range []string{"/openapi.json", "/healthz", "/dev/.well-known/openid-configuration"} {
		if a := tb.send("GET", path, "", "Accept", "*/*"); a.code != http.StatusOK {
			t.Errorf("%s: %d", path, a.code)
		}
	}
	token, err := tb.Token("mira")
	if err != nil {
		t.Fatal(err)
	}
	if a := tb.send("GET", "/v1/campaigns", "", "Authorization", "Bearer "+token); a.code != http.StatusOK {
		t.Errorf("a signed token: %d %s", a.code, a.body)
	}
}

func TestThoseWhoWatchAreToldOfTheEnd(t *testing.T) {
	t.Parallel()
	tb := start(t, t.TempDir())
	tb.begin()
	res := tb.open("GET", "/v1/campaigns/road:watch", "", "Authorization", "Bearer "+tb.token("ada"))
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !bytes.Contains(lines.Bytes(), []byte(`"record"`)) {
		t.Fatalf("no record: %v %s", lines.Err(), lines.Bytes())
	}
	tb.Stop()
	if !lines.Scan() || !bytes.Contains(lines.Bytes(), []byte(`"STOPPING"`)) {
		t.Errorf("the last line: %v %s", lines.Err(), lines.Bytes())
	}
	if err := tb.Wait(); err != nil {
		t.Error(err)
	}
}

func TestADirectoryIsServedFromOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := suite.Config{HTTP: "127.0.0.1:0", Data: dir, Grace: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	first, err := suite.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	second, err := suite.Start(t.Context(), cfg)
	if want := fmt.Sprintf("process %d serves from %s already", os.Getpid(), dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second one is told %v, want %q", err, want)
	}
	if second != nil {
		_ = second.Close()
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, dir)
}

func TestAStartThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	held, release, err := port.Hold(1) // nobody else takes it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	address, dir := held[0], t.TempDir()
	cfg := suite.Config{
		HTTP: address, Data: dir, GRPC: map[string]string{"travel": taken.Addr().String()},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if s, err := suite.Start(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "travel: ") {
		t.Fatalf("started %v: %v", s, err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the port is not given back: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	// A directory that is none, and a caller that has gone.
	cfg.GRPC, cfg.HTTP, cfg.Data = nil, "127.0.0.1:0", filepath.Join(dir, "issuer.pem")
	if s, err := suite.Start(t.Context(), cfg); err == nil {
		t.Errorf("started %v in a file", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cfg.Data = dir
	if s, err := suite.Start(ctx, cfg); err == nil {
		t.Errorf("started %v for nobody", s)
	}
}
