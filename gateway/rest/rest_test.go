package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

const (
	rolls = "/v1/campaigns/c/rolls"
	mine  = "/v1/campaigns/c/rollLogs/me"
)

// keys of google.rpc.Code that the tables below name.
const (
	invalid, notFound, denied, exhausted, precondition, aborted, unimplemented, unavailable, unauthenticated = 3, 5, 7, 8, 9, 10, 12, 14, 16
)

func TestZeroValuesArePresent(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{})
	roll := e.ok("gerd", "POST", rolls, `{"notation": "d6-d6", "reported_dice": [3, 3], "request_id": "zero"}`)
	for field, want := range map[string]any{
		"total": float64(0), "purpose": "", "stream": "", "index": float64(0), "offset": float64(0), "notation": "1d6-1d6",
	} {
		if got, ok := roll[field]; !ok || got != want {
			t.Errorf("%s is %v (there: %t), want %v", field, got, ok, want)
		}
	}
	die, _ := json.Marshal(roll["record"].(map[string]any)["dice"].([]any)[0])
	if want := `{"face":3,"purpose":"roll","reported":true,"secret":false,"sides":6}`; string(die) != want {
		t.Errorf("die %s, want %s", die, want)
	}
	log := e.ok("gerd", "GET", mine, "")
	if past, ok := log["pastStreams"].([]any); !ok || len(past) != 0 {
		t.Errorf("pastStreams is %v, want an empty list", log["pastStreams"])
	}
	stream := e.ok("gerd", "GET", "/v1/"+log["stream"].(string), "")
	if _, there := stream["clientSeed"]; there || stream["drawn"] != false || stream["seed"] != "" {
		t.Errorf("a stream without a client seed: %v", stream)
	}
	usage := e.ok("gerd", "POST", rolls+":usageDie", `{"sides": 4, "reportedDice": [1], "requestId": "usage"}`)
	if _, there := usage["nextSides"]; there || usage["steppedDown"] != true {
		t.Errorf("a die that is used up: %v", usage)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{MaxBody: 100_000})
	e.ok("alice", "POST", rolls, `{"notation": "d6", "request_id": "first"}`)
	body := func(s string) io.Reader { return strings.NewReader(s) }
	good := func() string { return fmt.Sprintf(`{"notation": "d6", "request_id": %q}`, fresh()) }
	ten := bytes.Repeat([]byte("x"), 10<<20)
	before := e.ok("alice", "GET", mine, "")["seq"]
	for name, tc := range map[string]struct {
		who, method, path string
		body              io.Reader
		headers           []string
		want              refusal
	}{
		"no token":                             {"", "GET", mine, nil, nil, refusal{401, unauthenticated, "TOKEN_MISSING", ""}},
		"a bad token":                          {"bad", "GET", mine, nil, nil, refusal{401, unauthenticated, "TOKEN_INVALID", ""}},
		"two tokens":                           {"alice", "GET", mine, nil, []string{"Authorization: Bearer gerd"}, refusal{401, unauthenticated, "TOKEN_MISSING", ""}},
		"an actor from outside":                {"alice", "GET", mine, nil, []string{"X-Wayfarer-Actor: gerd"}, refusal{403, denied, "ACTOR_NOT_ALLOWED", ""}},
		"an actor by the metadata prefix":      {"sven", "POST", rolls, body(good()), []string{"Grpc-Metadata-X-Wayfarer-Actor: alice"}, refusal{403, denied, "SPECTATOR", ""}},
		"somebody else's campaign":             {"zoe", "GET", mine, nil, nil, refusal{404, notFound, "NOT_FOUND", ""}},
		"a field of the body that is unknown":  {"alice", "POST", rolls, body(`{"notation": "d6", "request_id": "q", "luck": 1}`), nil, refusal{400, invalid, "MALFORMED_BODY", "luck"}},
		"a field twice":                        {"alice", "POST", rolls, body(`{"notation": "d6", "notation": "d8", "request_id": "q"}`), nil, refusal{400, invalid, "MALFORMED_BODY", "notation"}},
		"a number for a text":                  {"alice", "POST", rolls, body(`{"notation": 6, "request_id": "q"}`), nil, refusal{400, invalid, "MALFORMED_BODY", "notation"}},
		"a number beyond 32 bits":              {"alice", "POST", rolls + ":usageDie", body(`{"sides": 4294967302, "request_id": "q"}`), nil, refusal{400, invalid, "MALFORMED_BODY", "sides"}},
		"text that is no UTF-8":                {"alice", "POST", rolls, body("{\"notation\": \"d6\", \"purpose\": \"\xff\", \"request_id\": \"q\"}"), nil, refusal{400, invalid, "MALFORMED_BODY", "body"}},
		"JSON that breaks off":                 {"alice", "POST", rolls, body(`{"notation": "d6", `), nil, refusal{400, invalid, "MALFORMED_JSON", "body"}},
		"no JSON":                              {"alice", "POST", rolls, body(`notation=d6`), []string{"Content-Type: application/x-www-form-urlencoded"}, refusal{400, invalid, "MALFORMED_JSON", "body"}},
		"two objects":                          {"alice", "POST", rolls, body(good() + good()), nil, refusal{400, invalid, "MALFORMED_JSON", "body"}},
		"a list":                               {"alice", "POST", rolls, body(`[]`), nil, refusal{400, invalid, "MALFORMED_BODY", "body"}},
		"null":                                 {"alice", "POST", rolls, body(`null`), nil, refusal{400, invalid, "MALFORMED_BODY", "body"}},
		"no body":                              {"alice", "POST", rolls, nil, []string{"Idempotency-Key: q"}, refusal{400, invalid, "INVALID", "notation"}},
		"10 MB":                                {"alice", "POST", rolls, bytes.NewReader(ten), nil, refusal{413, exhausted, "BODY_TOO_LARGE", "body"}},
		"10 MB of unknown length":              {"alice", "POST", rolls, io.MultiReader(bytes.NewReader(ten)), nil, refusal{413, exhausted, "BODY_TOO_LARGE", "body"}},
		"a bad notation":                       {"alice", "POST", rolls, body(`{"notation": "dd", "request_id": "q"}`), nil, refusal{400, invalid, "BAD_NOTATION", "notation"}},
		"a notation with the edge's own marks": {"alice", "POST", rolls, body(`{"notation": "\u001fA\u001fB\u001fC", "request_id": "q"}`), nil, refusal{400, invalid, "BAD_NOTATION", "notation"}},
		"too many dice":                        {"alice", "POST", rolls, body(`{"notation": "1001d6", "request_id": "q"}`), nil, refusal{429, exhausted, "TOO_MUCH_WORK", "notation"}},
		"dice that a player reports":           {"alice", "POST", rolls, body(`{"notation": "d6", "reported_dice": [6], "request_id": "q"}`), nil, refusal{403, denied, "NOT_GM", "reported_dice"}},
		"a face of 0":                          {"gerd", "POST", rolls, body(`{"notation": "d6", "reported_dice": [0], "request_id": "q"}`), nil, refusal{400, invalid, "BAD_DICE", "reported_dice"}},
		"a request_id with a blank":            {"alice", "POST", rolls, body(`{"notation": "d6"}`), []string{"Idempotency-Key: a b"}, refusal{400, invalid, "INVALID", "request_id"}},
		"two Idempotency-Keys":                 {"alice", "POST", rolls, body(`{"notation": "d6"}`), []string{"Idempotency-Key: a", "Idempotency-Key: b"}, refusal{400, invalid, "INVALID", "request_id"}},
		"a reused request_id":                  {"alice", "POST", rolls, body(`{"notation": "d8", "request_id": "first"}`), nil, refusal{400, invalid, "REQUEST_ID_REUSED", "request_id"}},
		"an unknown query parameter":           {"alice", "GET", mine + "/rolls?page=2", nil, nil, refusal{400, invalid, "UNKNOWN_PARAMETER", "page"}},
		"several, of which the first is named": {"alice", "GET", mine + "/rolls?zoo=1&page_size=1&ape=2&bee=3", nil, nil, refusal{400, invalid, "UNKNOWN_PARAMETER", "ape"}},
		"a parameter of the path":              {"alice", "GET", mine + "/rolls?parent=campaigns/d", nil, nil, refusal{400, invalid, "UNKNOWN_PARAMETER", "parent"}},
		"a parameter beside a body":            {"alice", "POST", rolls + "?request_id=q", body(good()), nil, refusal{400, invalid, "UNKNOWN_PARAMETER", "request_id"}},
		"a parameter that is no parameter":     {"alice", "GET", mine + "/rolls?page_size=%zz", nil, nil, refusal{400, invalid, "MALFORMED_REQUEST", ""}},
		"page_size -1":                         {"alice", "GET", mine + "/rolls?page_size=-1", nil, nil, refusal{400, invalid, "INVALID", "page_size"}},
		"page_size abc":                        {"alice", "GET", mine + "/rolls?page_size=abc", nil, nil, refusal{400, invalid, "MALFORMED_PARAMETER", "page_size"}},
		"page_size twice":                      {"alice", "GET", mine + "/rolls?page_size=1&page_size=2", nil, nil, refusal{400, invalid, "MALFORMED_PARAMETER", "page_size"}},
		"a bad page token":                     {"alice", "GET", mine + "/rolls?page_token=x", nil, nil, refusal{400, invalid, "PAGE_TOKEN", "page_token"}},
		"an unknown path":                      {"alice", "GET", "/v1/campaigns/c/dragons", nil, nil, refusal{404, notFound, "NO_SUCH_PATH", ""}},
		"the wrong method":                     {"alice", "DELETE", mine, nil, nil, refusal{405, unimplemented, "METHOD_NOT_ALLOWED", ""}},
		"a method behind another":              {"alice", "POST", mine, body(""), []string{"X-HTTP-Method-Override: GET"}, refusal{405, unimplemented, "METHOD_NOT_ALLOWED", ""}},
		"an RPC of services":                   {"alice", "POST", "/v1/campaigns/c/streams", body("{}"), nil, refusal{405, unimplemented, "METHOD_NOT_ALLOWED", ""}},
		"a campaign that is no id":             {"alice", "GET", "/v1/campaigns/C%20C/rollLogs/me", nil, nil, refusal{400, invalid, "INVALID", "name"}},
		"an error where events were asked for": {"alice", "POST", rolls, body(`{"notation": "dd", "request_id": "q"}`), []string{"Accept: text/event-stream"}, refusal{400, invalid, "BAD_NOTATION", "notation"}},
	} {
		t.Run(name, func(t *testing.T) { tc.want.check(t, e.do(tc.who, tc.method, tc.path, tc.body, tc.headers...)) })
	}
	if after := e.ok("alice", "GET", mine, "")["seq"]; after != before {
		t.Errorf("the log had %v records and has %v", before, after)
	}
	if a := e.do("", "GET", mine, nil); a.header.Get("WWW-Authenticate") != `Bearer realm="wayfarer"` || a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", a.header)
	}
}

// An edge that lets in more than the services take says as much as if it had been its own limit.
func TestWhatIsTooLargeForAService(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{MaxBody: 4 << 20})
	body := fmt.Sprintf(`{"notation": "d6", "purpose": %q, "request_id": "q"}`, strings.Repeat("x", 2<<20))
	refusal{413, exhausted, "MESSAGE_TOO_LARGE", ""}.check(t, e.do("alice", "POST", rolls, strings.NewReader(body)))
}

func TestTheIdempotencyKeyIsTheRequestID(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{})
	const key = "Idempotency-Key: 9d2b-!~"
	first := e.do("alice", "POST", rolls, strings.NewReader(`{"notation": "10d1000"}`), key)
	again := e.do("alice", "POST", rolls, strings.NewReader(` {"notation":"10d1000"}`), key)
	if first.code != http.StatusOK || !bytes.Equal(first.body, again.body) && !sameJSON(t, first.body, again.body) {
		t.Errorf("first %d %s, then %s", first.code, first.body, again.body)
	}
	if id := e.object(first.body)["record"].(map[string]any)["requestId"]; id != "9d2b-!~" {
		t.Errorf("request_id %v", id)
	}
	// The body wins over the header.
	other := e.ok("alice", "POST", rolls, `{"notation": "d6", "request_id": "body"}`, key)
	if id := other["record"].(map[string]any)["requestId"]; id != "body" {
		t.Errorf("request_id %v", id)
	}
	refusal{400, invalid, "REQUEST_ID_REUSED", "request_id"}.check(t, e.do("alice", "POST", rolls, strings.NewReader(`{"notation": "d6"}`), key))
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

func TestBrowsersOfOtherOrigins(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{AllowedOrigins: []string{"https://table.example"}})
	preflight := func(origin, header string) answer {
		return e.do("", "OPTIONS", rolls, nil, "Origin: "+origin, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: "+header)
	}
	good := preflight("https://table.example", "authorization,content-type,idempotency-key")
	if good.code != http.StatusNoContent || good.header.Get("Access-Control-Allow-Origin") != "https://table.example" || good.header.Get("Access-Control-Allow-Methods") != "POST" {
		t.Errorf("preflight: %d %v", good.code, good.header)
	}
	for name, a := range map[string]answer{
		"another origin":      preflight("https://evil.example", "authorization"),
		"a header of service": preflight("https://table.example", "x-wayfarer-actor"),
	} {
		if got := a.header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s: allowed for %q", name, got)
		}
	}
	// Errors too are for the page to read, those of the edge included.
	for _, path := range []string{mine, mine + "?x=1", "/v1/none"} {
		a := e.do("", "GET", path, nil, "Origin: https://table.example")
		if a.code < 400 || a.header.Get("Access-Control-Allow-Origin") != "https://table.example" || !strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "Retry-After") {
			t.Errorf("%s: %d %v", path, a.code, a.header)
		}
	}
	w := e.watch("alice", "/v1/campaigns/c:watch", "Accept: text/event-stream", "Origin: https://table.example")
	if w.head.Get("Access-Control-Allow-Origin") != "https://table.example" {
		t.Errorf("events: %v", w.head)
	}
	same := newGame(t, rest.Config{})
	if a := same.do("alice", "GET", "/v1/campaigns/c", nil, "Origin: https://table.example"); a.code != 200 || a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without origins: %d %v", a.code, a.header)
	}
}

const watched = "/v1/campaigns/c:watch"

func (e *edge) chapter(n int) {
	e.t.Helper()
	e.ok("gerd", "POST", "/v1/campaigns/c:setChapter", fmt.Sprintf(`{"chapter": %d, "request_id": %q}`, n, fresh()))
}

func seq(e *edge, line string) float64 {
	e.t.Helper()
	m := e.object([]byte(line))
	if _, wrapped := m["result"]; wrapped {
		e.t.Errorf("wrapped: %s", line)
	}
	return m["record"].(map[string]any)["seq"].(float64)
}

func TestAWatchInLines(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{})
	w := e.watch("alice", watched)
	if w.code != 200 || w.head.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %v", w.code, w.head)
	}
	if got := seq(e, w.line()); got != 1 {
		t.Errorf("record %v", got)
	}
	e.chapter(2)
	if got := seq(e, w.line()); got != 2 {
		t.Errorf("record %v", got)
	}
	if got := seq(e, e.watch("alice", watched+"?from_seq=1").line()); got != 2 {
		t.Errorf("after 1 comes %v", got)
	}
	// Whoever is up to date is connected before anything happens.
	for accept, want := range map[string]string{"*/*": "application/x-ndjson", "text/event-stream": "text/event-stream"} {
		calm := newGame(t, rest.Config{KeepAlive: time.Hour})
		idle := calm.watch("alice", watched+"?from_seq=1", "Accept: "+accept)
		if idle.code != 200 || idle.head.Get("Content-Type") != want || idle.head.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", accept, idle.code, idle.head)
		}
		calm.chapter(2)
		var data string
		if want == "text/event-stream" {
			data = idle.event()["data"]
		} else {
			data = idle.line()
		}
		if got := seq(calm, data); got != 2 {
			t.Errorf("%s: record %v", accept, got)
		}
	}
	e.stop() // the server stops: the last line says so
	var last struct{ Error json.RawMessage }
	if err := json.Unmarshal([]byte(w.line()), &last); err != nil {
		t.Fatal(err)
	}
	if got := read(t, 200, last.Error); got != (refusal{200, unavailable, "STOPPING", ""}) {
		t.Errorf("got %+v", got)
	}
	w.end()
}

func TestAWatchAsEvents(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{KeepAlive: 5 * time.Millisecond})
	const events = "Accept: text/event-stream"
	next := func(w *stream, want string) {
		t.Helper()
		ev := w.event()
		for ev["data"] == "" { // a comment
			ev = w.event()
		}
		if got := fmt.Sprint(seq(e, ev["data"])); ev["id"] != want || got != want || ev["event"] != "" {
			t.Errorf("got %v, want record %s", ev, want)
		}
	}
	w := e.watch("alice", watched, events)
	if w.code != 200 || w.head.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", w.code, w.head)
	}
	next(w, "1")
	e.chapter(2)
	e.chapter(3)
	next(w, "2")
	next(w, "3")
	for range 3 {
		if l := w.line(); l != ": " && l != ":" {
			t.Errorf("no comment but %q", l)
		}
		if l := w.line(); l != "" {
			t.Errorf("a comment goes on: %q", l)
		}
	}
	for name, w := range map[string]*stream{
		"by the header":            e.watch("alice", watched, events, "Last-Event-ID: 2"),
		"by the parameter":         e.watch("alice", watched+"?from_seq=2", events),
		"the header, as it is new": e.watch("alice", watched+"?fromSeq=0&from_seq=0", events, "Last-Event-ID: 2"),
	} {
		t.Log(name)
		next(w, "3")
	}
	// A caller that is up to date is connected before anything happens, and hears of what does.
	idle := e.watch("alice", watched, events, "Last-Event-ID: 3")
	if l := idle.line(); idle.code != 200 || idle.head.Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(l, ":") {
		t.Errorf("%d %v %q", idle.code, idle.head, l)
	}
	e.chapter(4)
	next(idle, "4")

	// Without a comment before it, an error is like any other.
	calm := newGame(t, rest.Config{KeepAlive: time.Hour})
	for name, tc := range map[string]struct {
		who, path string
		headers   []string
		want      refusal
	}{
		"an id that is none":    {"alice", watched, []string{events, "Last-Event-ID: x"}, refusal{400, invalid, "MALFORMED_HEADER", "Last-Event-ID"}},
		"an id below 0":         {"alice", watched, []string{events, "Last-Event-ID: -1"}, refusal{400, invalid, "MALFORMED_HEADER", "Last-Event-ID"}},
		"from_seq -1":           {"alice", watched + "?from_seq=-1", []string{events}, refusal{400, invalid, "INVALID", "from_seq"}},
		"from_seq x":            {"alice", watched + "?from_seq=x", []string{events}, refusal{400, invalid, "MALFORMED_PARAMETER", "from_seq"}},
		"an unknown parameter":  {"alice", watched + "?after=1", []string{events}, refusal{400, invalid, "UNKNOWN_PARAMETER", "after"}},
		"no token":              {"", watched, []string{events}, refusal{401, unauthenticated, "TOKEN_MISSING", ""}},
		"a stranger":            {"zoe", watched, []string{events}, refusal{404, notFound, "NOT_FOUND", ""}},
		"a stranger, in lines":  {"zoe", watched, nil, refusal{404, notFound, "NOT_FOUND", ""}},
		"an actor from outside": {"alice", watched, []string{events, "X-Wayfarer-Actor: gerd"}, refusal{403, denied, "ACTOR_NOT_ALLOWED", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			a := calm.do(tc.who, "GET", tc.path, nil, tc.headers...)
			tc.want.check(t, a)
			if (a.code == 401) != (a.header.Get("WWW-Authenticate") != "") {
				t.Errorf("headers %v", a.header)
			}
		})
	}
	// Where nothing is watched the header means nothing.
	e.ok("alice", "GET", "/v1/campaigns/c", "", "Last-Event-ID: x")

	e.stop()
	ev := idle.event()
	for ev["data"] == "" {
		ev = idle.event()
	}
	var last struct{ Error json.RawMessage }
	if err := json.Unmarshal([]byte(ev["data"]), &last); err != nil {
		t.Fatal(err)
	}
	if got := read(t, 200, last.Error); ev["event"] != "error" || got != (refusal{200, unavailable, "STOPPING", ""}) {
		t.Errorf("got %v %+v", ev, got)
	}
}

func TestErrorsThatNoServiceExplained(t *testing.T) {
	t.Parallel()
	s := &script{}
	e := newEdge(t, rest.Config{}, s.register) // the batch of its dice service is not implemented
	refusal{501, unimplemented, "UNIMPLEMENTED", ""}.check(t, e.do("alice", "POST", rolls+":batch", strings.NewReader(`{"notations": ["d6"], "request_id": "q"}`)))
	s.roll = fault.New(fault.Internal, "DISK", "/var/lib is full")
	a := e.do("alice", "POST", rolls, strings.NewReader(`{"notation": "d6", "request_id": "q"}`))
	if refusal.check(refusal{500, 13, "DISK", ""}, t, a); strings.Contains(string(a.body), "/var/lib") {
		t.Errorf("shown: %s", a.body)
	}
	// The answer to a request whose time is up before it could be sent.
	refusal{504, 4, "DEADLINE_EXCEEDED", ""}.check(t, e.do("alice", "POST", rolls, strings.NewReader(`{"notation": "d6", "request_id": "q"}`), "Grpc-Timeout: 1n"))
}

// script is a party and a dice service that do as a test says.
type script struct {
	partyv1.UnimplementedCampaignServiceServer
	dicev1.UnimplementedDiceServiceServer
	watch func(grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error
	roll  error
}

func (s *script) WatchCampaign(_ *partyv1.WatchCampaignRequest, out grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
	return s.watch(out)
}

func (s *script) Roll(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
	return nil, s.roll
}

func (s *script) register(r grpc.ServiceRegistrar) {
	partyv1.RegisterCampaignServiceServer(r, s)
	dicev1.RegisterDiceServiceServer(r, s)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1", 1500 * time.Millisecond: "2", time.Minute: "60"} {
		s := &script{}
		s.roll = fault.New(fault.Aborted, "STREAM_BUSY", "busy").After(wait)
		s.watch = func(grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error { return s.roll }
		e := newEdge(t, rest.Config{}, s.register)
		for _, a := range []answer{
			e.do("alice", "POST", rolls, strings.NewReader(`{"notation": "d6", "request_id": "q"}`)),
			e.do("alice", "GET", watched, nil),
			e.do("alice", "GET", watched, nil, "Accept: text/event-stream"),
		} {
			refusal{409, aborted, "STREAM_BUSY", ""}.check(t, a)
			if got := a.header.Get("Retry-After"); got != want {
				t.Errorf("after %s: Retry-After %q, want %q", wait, got, want)
			}
		}
	}
}

func TestAnErrorThatComesLate(t *testing.T) {
	t.Parallel()
	fail := fault.New(fault.FailedPrecondition, "CAMPAIGN_OVER", "over")
	record := func(out grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		return out.Send(&partyv1.WatchCampaignResponse{Record: &typev1.Record{Seq: 7}})
	}
	release := make(chan struct{})
	s := &script{watch: func(out grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		if err := record(out); err != nil {
			return err
		}
		return fail
	}}
	check := func(t *testing.T, data string) {
		t.Helper()
		var last struct{ Error json.RawMessage }
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			t.Fatal(err)
		}
		if got := read(t, 200, last.Error); got != (refusal{200, precondition, "CAMPAIGN_OVER", ""}) {
			t.Errorf("got %+v", got)
		}
	}
	e := newEdge(t, rest.Config{}, s.register)
	w := e.watch("alice", watched)
	if got := seq(e, w.line()); w.code != 200 || got != 7 {
		t.Errorf("%d, record %v", w.code, got)
	}
	check(t, w.line())
	w.end()
	w = e.watch("alice", watched, "Accept: text/event-stream")
	if ev := w.event(); w.code != 200 || ev["id"] != "7" {
		t.Errorf("%d %v", w.code, ev)
	}
	ev := w.event()
	if check(t, ev["data"]); ev["event"] != "error" || ev["id"] != "" {
		t.Errorf("got %v", ev)
	}
	w.end()

	// Before the first record, but after the service has taken the watch on.
	begun := &script{watch: func(out grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		if err := out.SendHeader(nil); err != nil {
			return err
		}
		return fail
	}}
	e = newEdge(t, rest.Config{}, begun.register)
	w = e.watch("alice", watched)
	if w.code != 200 {
		t.Errorf("%d", w.code)
	}
	check(t, w.line())
	w.end()

	// Before the first event, but after a comment has sent the header.
	slow := &script{watch: func(grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
		<-release
		return fail
	}}
	e = newEdge(t, rest.Config{KeepAlive: time.Millisecond}, slow.register)
	w = e.watch("alice", watched, "Accept: text/event-stream")
	if l := w.line(); w.code != 200 || !strings.HasPrefix(l, ":") {
		t.Errorf("%d %q", w.code, l)
	}
	close(release)
	for ev = w.event(); ev["data"] == ""; ev = w.event() {
	}
	if check(t, ev["data"]); ev["event"] != "error" {
		t.Errorf("got %v", ev)
	}
	w.end()
}

func TestManyWatchers(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{KeepAlive: time.Millisecond})
	var wg sync.WaitGroup
	for i := range 20 {
		w := e.watch("alice", watched, "Accept: text/event-stream")
		wg.Go(func() {
			for n := 1; n <= 4; {
				l, err := w.in.ReadString('\n')
				if err != nil {
					t.Errorf("watcher %d: %v", i, err)
					return
				}
				if id, ok := strings.CutPrefix(l, "id: "); ok {
					if strings.TrimSpace(id) != fmt.Sprint(n) {
						t.Errorf("watcher %d: record %s, want %d", i, id, n)
					}
					n++
				}
			}
			if i%2 == 0 {
				w.stop() // some leave
			}
		})
	}
	for n := 2; n <= 4; n++ {
		e.chapter(n)
	}
	wg.Wait()
}

func TestHealth(t *testing.T) {
	t.Parallel()
	e := newGame(t, rest.Config{})
	if got := e.ok("", "GET", "/healthz", ""); got["status"] != "SERVING" {
		t.Errorf("healthz: %v", got)
	}
	// The states are asked for one by one: a server that comes or goes meanwhile may say both.
	ready := func() (dice, party any) {
		a := e.do("", "GET", "/readyz", nil)
		dice, party = e.object(a.body)["dice"], e.object(a.body)["party"]
		want := http.StatusServiceUnavailable
		if dice == "SERVING" && party == "SERVING" {
			want = http.StatusOK
		}
		if a.code != want {
			t.Fatalf("%d, dice is %v and party %v", a.code, dice, party)
		}
		return dice, party
	}
	until := func(want string) {
		await.Until(t, "all are "+want, func() (bool, any) {
			dice, party := ready()
			return dice == want && party == want, fmt.Sprint(dice, " and ", party)
		})
	}
	until("SERVING")
	e.stop()
	until("UNREACHABLE") // first it drains
	if a := e.do("", "GET", "/healthz", nil); a.code != 200 {
		t.Errorf("healthz: %d", a.code)
	}
	// A backend that is gone.
	for _, path := range []string{"/v1/campaigns/c", watched} {
		a := e.do("alice", "GET", path, nil)
		refusal{503, unavailable, "UNREACHABLE", ""}.check(t, a)
		if a.header.Get("Retry-After") != "1" || strings.Contains(string(a.body), "127.0.0.1") {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
}

// silent are campaigns in which nothing happens.
type silent struct {
	partyv1.UnimplementedCampaignServiceServer
}

func (silent) WatchCampaign(_ *partyv1.WatchCampaignRequest, s grpc.ServerStreamingServer[partyv1.WatchCampaignResponse]) error {
	if err := s.SendHeader(metadata.Pairs("watching", "yes")); err != nil {
		return err
	}
	<-s.Context().Done()
	return s.Context().Err()
}

// An edge that stops lets its watchers go at once, and tells them to come again, while the services behind it go on.
func TestStreamsEndWithTheEdge(t *testing.T) {
	t.Parallel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	partyv1.RegisterCampaignServiceServer(g, silent{})
	served := make(chan error, 1)
	go func() { served <- g.Serve(lis) }()
	t.Cleanup(func() { g.Stop(); _ = await.Value(t, served, "the end of the service") })
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	running, stop := context.WithCancel(t.Context())
	defer stop()
	api, err := rest.New(running, rest.Config{KeepAlive: time.Hour, Backends: []rest.Backend{
		{Name: "party", Conn: conn, Register: []binding{partyv1.RegisterCampaignServiceHandler}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.HTTP(running, web, api, await.Limit) }()
	e := &edge{t: t, url: "http://" + web.Addr().String(), stop: stop}
	events, lines := e.watch("alice", watched, "Accept: text/event-stream"), e.watch("alice", watched)
	stop()
	said := events.event()
	for said["data"] == "" { // a comment
		said = events.event()
	}
	for how, raw := range map[string]string{"events": said["data"], "lines": lines.line()} {
		st, _ := e.object([]byte(raw))["error"].(map[string]any)
		if text := fmt.Sprint(st); st["code"] != float64(codes.Unavailable) || !strings.Contains(text, fault.Stopping().Reason) || !strings.Contains(text, "retryDelay:1s") {
			t.Errorf("%s end with %s", how, raw)
		}
	}
	if err := await.Value(t, ended, "the end of the edge"); err != nil {
		t.Error(err)
	}
}
