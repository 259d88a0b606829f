package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	telemetry "github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// said is what a house has logged.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// However much is logged, it is JSON, the calls in it have their traces, and there is neither token, password nor seed in it, nor
// anything that somebody wrote.
func TestLogsTellNothingThatIsNobodysBusiness(t *testing.T) {
	t.Parallel()
	log := &said{}
	own, err := suite.Start(t.Context(), suite.Config{
		HTTP: "127.0.0.1:0", Data: t.TempDir(), Grace: 2 * time.Second, Logger: telemetry.NewLogger(log, "house", slog.LevelDebug),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	const written = "quetzalcoatl"
	g := &table{tb: t, ctx: deadline(t), via: rest{base: own.URL}, campaign: "campaigns/" + unique("logs"), tokens: map[string]string{}}
	for _, user := range []string{"gm", "ada", "bram", "mallory"} {
		if g.tokens[user], err = own.Token(user); err != nil {
			t.Fatal(err)
		}
	}
	g.open("ada", "bram")
	dungeon := g.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		g.player(p, p)
	}
	g.party("delvers", "ada", "ada", "bram")
	g.do("ada", campaigns+"FileRequest", object{"parent": g.campaign, "character": g.character("ada"), "text": written})
	g.do("ada", runs+"StartRun", object{"parent": g.campaign, "runId": "dive", "party": g.campaign + "/parties/delvers", "dungeon": dungeon, "character": g.character("ada")})
	g.do("ada", "dice.v1.DiceService/Roll", object{"parent": g.campaign, "notation": "2d6", "purpose": written})
	road := g.journey("road", "ada", object{"gold": 60, "food": []int{20}}, "ada", "bram")
	stream := g.read("gm", road).Text("stream")
	g.do("ada", journeys+"Move", object{"name": road, "character": g.character("ada"), "to": object{"q": 1, "r": 0}})
	// What fails is logged as well.
	for _, bad := range []struct {
		user, method string
		req          object
	}{
		{"gm", "dice.v1.DiceService/SetClientSeed", object{"name": stream, "clientSeed": written, "requestId": "r0"}}, // it was drawn from
		{"mallory", runs + "GetRun", object{"name": g.campaign + "/runs/dive"}},
		{"ada", "dice.v1.DiceService/Roll", object{"parent": g.campaign, "notation": written, "requestId": "r1"}},
		{"ada", characters + "CreateCharacter", object{"parent": g.campaign, "title": strings.Repeat(written, 1000), "requestId": "r2"}},
		{"ada", characters + "GrantPoints", object{"name": g.character("ada"), "cp": 1, "requestId": "r3"}},
	} {
		if _, err := g.via.call(g.ctx, g.tokens[bad.user], bad.method, bad.req); err == nil {
			t.Errorf("%s is taken of %s", bad.method, bad.user)
		}
	}
	for _, token := range []string{written, g.tokens["ada"][:len(g.tokens["ada"])-4] + "AAAA"} {
		if _, err := g.via.call(g.ctx, token, runs+"GetRun", object{"name": g.campaign + "/runs/dive"}); err == nil {
			t.Error("a bad token is taken")
		}
	}
	res, err := http.PostForm(own.URL+"/dev/token", url.Values{"grant_type": {"password"}, "username": {"ada"}, "password": {written}}) //nolint:noctx // the test's own house
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	g.do("ada", journeys+"EndJourney", object{"name": road, "character": g.character("ada")})
	seed, err := base64.StdEncoding.DecodeString(g.read("gm", stream).Text("seed"))
	if err != nil || len(seed) != 32 {
		t.Fatalf("the seed is %x, %v", seed, err)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}

	calls, traced := 0, 0
	for line := range strings.Lines(log.b.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("no JSON: %s", line)
		}
		if entry["msg"] == "rpc" {
			calls++
			if id, _ := entry["trace_id"].(string); len(id) == 32 {
				traced++
			} else {
				t.Errorf("a call without a trace: %s", line)
			}
		}
	}
	if calls < 50 || traced != calls {
		t.Fatalf("%d calls are logged, %d with a trace", calls, traced)
	}
	hidden := []string{
		written, "Bearer ", "password=", "client_secret", base64.StdEncoding.EncodeToString(seed), base64.RawURLEncoding.EncodeToString(seed), hex.EncodeToString(seed),
		"Idempotency", "Keeps bees.",
	}
	for _, token := range g.tokens {
		hidden = append(hidden, token, token[strings.LastIndexByte(token, '.')+1:])
	}
	for line := range strings.Lines(log.b.String()) {
		if i := slices.IndexFunc(hidden, func(h string) bool { return strings.Contains(line, h) }); i >= 0 {
			t.Errorf("%.12q… is in the log: %.1000s", hidden[i], line)
		}
		if bearer.MatchString(line) {
			t.Errorf("a token is in the log: %.1000s", line)
		}
	}
}

// bearer is what tokens look like, services' as well.
var bearer = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ`)
