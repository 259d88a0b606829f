//go:build unix

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/cut"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest/ferret"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
)

// toldWithin is how long a caller may wait to learn that something is away: on a machine with nothing else to do some eight
// seconds, and in any case less than what a call has without a deadline of its own.
const toldWithin = 25 * time.Second

// What a whole installation says while its database, or Temporal, is cut off or does not answer: calls fail soon, with a time
// to wait; readiness tells; nothing that was answered is lost; and everything goes on by itself, each request once.
func TestAnInstallationWhoseStoreOrTemporalIsAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	program, err := temporaldev()
	if err != nil {
		t.Fatal(err)
	}
	server, said := run(t, program, nil, "-port=0", "-ui-port=-1", "-with-parent", "-db="+filepath.Join(t.TempDir(), "temporal.db"))
	frontend := server.frontend(said)
	store, err := url.Parse(ferret.URI(t))
	if err != nil {
		t.Fatal(err)
	}
	if store.Scheme != "mongodb" || store.Port() == "" {
		t.Skip("a wire leads to one server only")
	}
	database, temporal := cut.New(t, store.Host), cut.New(t, frontend)
	prefix := ferret.Database()
	through := *store
	through.Host = database.Addr()
	q := through.Query()
	q.Set("directConnection", "true")
	through.RawQuery = q.Encode()
	s, err := suite.Start(ctx, suite.Config{
		HTTP: "127.0.0.1:0", Data: t.TempDir(), Grace: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		MongoURI: through.String(), MongoPrefix: prefix, Temporal: &suite.Temporal{Address: temporal.Addr(), UIPort: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"party", "dice", "dungeon", "travel", "expedition"} {
			if db, err := mongo.Open(context.Background(), store.String(), prefix+"_"+name); err == nil {
				_ = errors.Join(db.Drop(context.Background()), db.Close())
			}
		}
	})

	tb := &table{tb: t, ctx: ctx, via: rest{base: s.URL}, campaign: "campaigns/away", tokens: map[string]string{}}
	for _, user := range []string{"gm", "ada", "bram"} {
		if tb.tokens[user], err = s.Token(user); err != nil {
			t.Fatal(err)
		}
	}
	tb.open("ada", "bram")
	tb.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		tb.player(p, p)
	}
	expedition, journey := tb.expedition("there", "ada", tb.setOut("walkers", object{"gold": 60, "food": []int{20, 20}}, "ada", "bram"))
	in := &installation{table: tb, url: s.URL}
	in.awaitReady(http.StatusOK)

	for round, outage := range []struct {
		name     string
		begin    func()
		end      func()
		roll     bool   // rolls fail, too
		reason   string // of a move
		unready  string // what readiness says is not well
		reasonOf string // of a roll
	}{
		{"a database that is cut off", database.Cut, func() { database.Mend(t) }, true, "STORE_UNAVAILABLE", "dice", "STORE_UNAVAILABLE"},
		{"a database that does not answer", database.Mute, func() { database.Mend(t) }, true, "STORE_UNAVAILABLE", "dice", "STORE_UNAVAILABLE"},
		{"Temporal that is cut off", temporal.Cut, func() { temporal.Mend(t) }, false, "TEMPORAL_UNAVAILABLE", "expedition", ""},
		{"Temporal that does not answer", temporal.Mute, func() { temporal.Mend(t) }, false, "TEMPORAL_UNAVAILABLE", "expedition", ""},
	} {
		before := tb.do("ada", "dice.v1.DiceService/Roll", object{"parent": tb.campaign, "notation": "4d6", "requestId": fmt.Sprintf("before-%d", round)})
		at, was := tb.read("gm", journey), tb.read("gm", expedition)
		roll := object{"parent": tb.campaign, "notation": "2d6", "requestId": fmt.Sprintf("roll-%d", round)}
		move := object{
			"name": expedition, "requestId": fmt.Sprintf("move-%d", round),
			"move": object{"character": tb.character("bram"), "to": object{"q": 1 - at.Number("hex.q"), "r": 0}},
		}

		outage.begin()
		in.refused(outage.name, outage.reason, "bram", expeditions+"Execute", move)
		if outage.roll {
			in.refused(outage.name, outage.reasonOf, "ada", "dice.v1.DiceService/Roll", roll)
			in.refused(outage.name, outage.reason, "ada", getters["journeys"], object{"name": journey})
		} else {
			tb.do("ada", "dice.v1.DiceService/Roll", roll)
			tb.read("ada", expedition)
		}
		if services := in.awaitReady(http.StatusServiceUnavailable); services[outage.unready] == "SERVING" {
			t.Errorf("%s: readiness says %v", outage.name, services)
		}
		if code, _ := in.look("/healthz"); code != http.StatusOK {
			t.Errorf("%s: it is told to be dead: %d", outage.name, code)
		}

		outage.end()
		in.awaitReady(http.StatusOK)
		moved := in.comesBack("bram", expeditions+"Execute", move)
		rolled := in.comesBack("ada", "dice.v1.DiceService/Roll", roll)
		for what, again := range map[string]object{"move": in.comesBack("bram", expeditions+"Execute", move), "roll": in.comesBack("ada", "dice.v1.DiceService/Roll", roll)} {
			if first := map[string]object{"move": moved, "roll": rolled}[what]; !reflect.DeepEqual(first, again) {
				t.Errorf("%s: the answer to the %s was\n%v\nand is\n%v", outage.name, what, first, again)
			}
		}
		if again := in.comesBack("ada", "dice.v1.DiceService/Roll", object{"parent": tb.campaign, "notation": "4d6", "requestId": fmt.Sprintf("before-%d", round)}); !reflect.DeepEqual(again, before) {
			t.Errorf("%s: what was rolled before was\n%v\nand is\n%v", outage.name, before, again)
		}
		if n := tb.read("gm", journey).Number("seq"); n != at.Number("seq")+1 {
			t.Errorf("%s: the journey went from %d to %d by one move", outage.name, at.Number("seq"), n)
		}
		if n := tb.read("gm", expedition).Number("seq"); n != was.Number("seq")+1 {
			t.Errorf("%s: the expedition went from %d to %d by one move", outage.name, was.Number("seq"), n)
		}
	}
}

// installation is a suite over REST while parts of it are away.
type installation struct {
	*table
	url string
}

// refused gives a request that has to fail soon, as UNAVAILABLE, with a time to wait. On a busy machine something else may be taken
// for away first, as what does not answer for moments is; who comes again learns the reason.
func (in *installation) refused(outage, reason, user, method string, req object) {
	in.tb.Helper()
	for first := time.Now(); ; {
		r, err := rest{base: in.url}.request(in.ctx, in.tokens[user], method, req, nil)
		if err != nil {
			in.tb.Fatal(err)
		}
		begin := time.Now()
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			in.tb.Fatalf("%s: %s: %v", outage, method, err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		took := time.Since(begin)
		wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != http.StatusServiceUnavailable || err != nil || wait < 1 || took > toldWithin {
			in.tb.Errorf("%s: %s: %d after %s, Retry-After %q: %s, want %s", outage, method, res.StatusCode, took.Round(time.Millisecond), res.Header.Get("Retry-After"), body, reason)
			return
		}
		in.tb.Logf("%s: %s is told after %s: %s", outage, method, took.Round(10*time.Millisecond), body)
		if bytes.Contains(body, []byte(`"`+reason+`"`)) {
			return
		}
		if time.Since(first) > await.Limit {
			in.tb.Errorf("%s: %s: %s, want %s", outage, method, body, reason)
			return
		}
	}
}

// comesBack repeats a request until it goes well.
func (in *installation) comesBack(user, method string, req object) object {
	in.tb.Helper()
	for {
		answer, err := in.via.call(in.ctx, in.tokens[user], method, req)
		var f *failure
		switch {
		case err == nil:
			return answer
		case in.ctx.Err() == nil && errors.As(err, &f) && f.code == codes.Unavailable:
		default:
			in.tb.Fatalf("it is back, but %s: %v", method, err)
		}
	}
}

// awaitReady waits until readiness is answered by the status, and returns what it says of the services.
func (in *installation) awaitReady(status int) map[string]string {
	in.tb.Helper()
	for {
		code, body := in.look("/readyz")
		if code == status {
			services := map[string]string{}
			var flat map[string]any
			if err := json.Unmarshal(body, &flat); err != nil {
				in.tb.Fatalf("readiness: %v: %s", err, body)
			}
			for name, state := range flat {
				services[name] = fmt.Sprint(state)
			}
			return services
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-in.ctx.Done():
			in.tb.Fatalf("readiness is %d: %s", code, body)
		}
	}
}

// look asks for what stands beside the API.
func (in *installation) look(path string) (code int, body []byte) {
	in.tb.Helper()
	req, err := http.NewRequestWithContext(in.ctx, http.MethodGet, in.url+path, nil)
	if err != nil {
		in.tb.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.tb.Fatalf("%s: %v", path, err)
	}
	body, err = io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		in.tb.Fatalf("%s: %v", path, err)
	}
	return res.StatusCode, body
}
