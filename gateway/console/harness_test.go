package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// house is the suite that the tests of the package share; they keep apart by campaigns of their own.
var (
	house *suite.Suite
	conns = map[string]*grpc.ClientConn{}
	ids   atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(withHouse(m.Run)) }

func withHouse(tests func() int) (code int) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "console:", err)
		code = 1
	}
	dir, err := os.MkdirTemp("", "wayfarer-console-")
	if err != nil {
		fail(err)
		return code
	}
	defer func() { _ = os.RemoveAll(dir) }()
	house, err = suite.Start(context.Background(), suite.Config{
		HTTP: "127.0.0.1:0", Data: dir, Grace: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fail(err)
		return code
	}
	for name, addr := range house.GRPC {
		if conns[name], err = grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
			fail(err)
		}
	}
	code = max(code, tests())
	for _, c := range conns {
		_ = c.Close()
	}
	if err := house.Close(); err != nil {
		fail(fmt.Errorf("close the suite: %w", err))
	}
	return code
}

// table is a campaign with those who play in it.
type table struct {
	t        *testing.T
	campaign string
	tokens   map[string]string
	requests int
}

// newTable opens a campaign in chapter 3: players, who own the characters of their names, a bot for Ada and Bram, and eve
// who watches. The shipped dungeons and a small region are there.
func newTable(t *testing.T, players ...string) *table {
	t.Helper()
	tb := &table{t: t, campaign: fmt.Sprintf("campaigns/c%d", ids.Add(1)), tokens: map[string]string{}}
	members := []*partyv1.CampaignMember{{Subject: "eve", Role: typev1.Role_ROLE_SPECTATOR}}
	for _, p := range players {
		members = append(members, &partyv1.CampaignMember{Subject: p, Role: typev1.Role_ROLE_PLAYER})
	}
	tb.do("gm", &partyv1.CreateCampaignRequest{CampaignId: strings.TrimPrefix(tb.campaign, "campaigns/"), Title: "A table", Chapter: 3, Members: members})
	for _, p := range players {
		tb.player(p)
	}
	tb.do("gm", &partyv1.SetMemberRequest{Name: tb.campaign, Member: &partyv1.CampaignMember{
		Subject: "robot", Role: typev1.Role_ROLE_BOT, Characters: []string{tb.character(players[0])},
	}})
	var file struct {
		Dungeons []json.RawMessage `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &file); err != nil {
		t.Fatal(err)
	}
	for _, raw := range file.Dungeons {
		d := &dungeonv1.DungeonDefinition{}
		if err := protojson.Unmarshal(raw, d); err != nil {
			t.Fatal(err)
		}
		tb.do("gm", &dungeonv1.ImportDungeonRequest{Parent: tb.campaign, Dungeon: d})
	}
	tb.do("gm", &travelv1.ImportRegionRequest{Parent: tb.campaign, RegionId: "vale", Region: vale()})
	return tb
}

// vale is a small region: a village, a road, a river, and a cave in a wood that a search has to find.
func vale() *travelv1.RegionDraft {
	hex := func(q, r int32) *travelv1.Hex { return &travelv1.Hex{Q: q, R: r} }
	return &travelv1.RegionDraft{
		Title: "The small vale",
		Hexes: []*travelv1.MapHex{
			{Q: 0, R: 0, Terrain: "plains", Name: "Millfield"}, {Q: 1, R: 0, Terrain: "plains", Name: "Owl Wood"}, {Q: 2, R: 0, Terrain: "forest"},
			{Q: 0, R: 1, Terrain: "hills", Name: "Old Hill"}, {Q: 1, R: 1, Terrain: "plains", Name: "Old Ford"},
		},
		Roads:  []*travelv1.Path{{Id: "lane", Name: "The lane", Path: []*travelv1.Hex{hex(0, 0), hex(1, 0)}}},
		Rivers: []*travelv1.Path{{Id: "beck", Name: "The beck", Path: []*travelv1.Hex{hex(0, 1), hex(1, 1)}}},
		Locations: []*travelv1.Location{
			{Id: "hamlet", Name: "The Hamlet", Kind: "settlement", Hex: hex(0, 0), Visible: true},
			{Id: "pit", Name: "The Old Pit", Kind: "site", Hex: hex(0, 0), Visible: true, Table: 4, Entrance: "mouth", Rooms: []*travelv1.Room{
				{Id: "mouth", Ways: []string{"gallery", "shaft"}}, {Id: "gallery", Ways: []string{"mouth"}}, {Id: "shaft", Ways: []string{"mouth"}},
			}},
			{Id: "whisper-cave", Name: "Whisper Cave", Kind: "poi", Hex: hex(1, 0)},
		},
	}
}

func (tb *table) character(id string) string { return tb.campaign + "/characters/" + id }

// player makes a character that can enter a dungeon: ratings, and three tools, none of them loaded.
func (tb *table) player(id string) {
	tb.t.Helper()
	name := tb.character(id)
	tb.do(id, &partyv1.CreateCharacterRequest{Parent: tb.campaign, CharacterId: id, Title: strings.ToUpper(id[:1]) + id[1:]})
	tb.do("gm", &partyv1.GrantPointsRequest{Name: name, Cp: 100})
	tb.do(id, &partyv1.SetAbilitiesRequest{Name: name, Abilities: &partyv1.Abilities{Brute: 5, Agility: 4, Wits: 4, Combat: 4}})
	tb.do(id, &partyv1.BuyToolsRequest{Name: name, Tools: []*partyv1.Tool{
		{Id: "rope", Title: "Hemp Rope", Ability: "agility", Rating: "minor", Qualities: []string{"improved"}},
		{Id: "gauntlets", Title: "Iron Gauntlets", Ability: "brute", Rating: "major", Qualities: []string{"improved"}},
		{Id: "lamp", Title: "Iron Lamp", Ability: "wits", Rating: "minor", Qualities: []string{"embolden"}},
	}})
}

func (tb *table) token(user string) string {
	tb.t.Helper()
	if tb.tokens[user] == "" {
		token, err := house.Token(user)
		if err != nil {
			tb.t.Fatal(err)
		}
		tb.tokens[user] = token
	}
	return tb.tokens[user]
}

func (tb *table) as(user string) context.Context {
	return metadata.AppendToOutgoingContext(tb.t.Context(), "authorization", "Bearer "+tb.token(user))
}

// do calls the method that takes the request, which has to succeed.
func (tb *table) do(user string, req proto.Message) proto.Message {
	tb.t.Helper()
	d := req.ProtoReflect().Descriptor()
	name := strings.TrimSuffix(string(d.Name()), "Request")
	for i := range d.ParentFile().Services().Len() {
		m := d.ParentFile().Services().Get(i).Methods().ByName(d.Name()[:len(name)])
		if m == nil {
			continue
		}
		if fd := d.Fields().ByName("request_id"); fd != nil {
			tb.requests++
			req.ProtoReflect().Set(fd, protoString(fmt.Sprintf("table-%d", tb.requests)))
		}
		res := newMessage(tb.t, m.Output().FullName())
		conn := conns[strings.Split(string(d.FullName()), ".")[1]]
		if err := conn.Invoke(tb.as(user), fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), req, res); err != nil {
			tb.t.Fatalf("%s: %T %v: %v", user, req, req, err)
		}
		return res
	}
	tb.t.Fatalf("no method takes %T", req)
	return nil
}

// failure is a refused line, as a caller can tell failures apart.
type failure struct {
	code        codes.Code
	reason      string
	field       string
	message     string
	column      string
	expected    string
	suggestions []string
}

func failureOf(st *spb.Status) *failure {
	f := &failure{code: codes.Code(st.GetCode()), message: st.GetMessage()} //nolint:gosec // a code
	for _, d := range st.GetDetails() {
		m, err := d.UnmarshalNew()
		if err != nil {
			f.message += err.Error()
			continue
		}
		switch x := m.(type) {
		case *errdetails.ErrorInfo:
			f.reason, f.column, f.expected = x.GetReason(), x.GetMetadata()["column"], x.GetMetadata()["expected"]
			if s := x.GetMetadata()["suggestions"]; s != "" {
				f.suggestions = strings.Split(s, "; ")
			}
		case *errdetails.BadRequest:
			f.field = x.GetFieldViolations()[0].GetField()
		}
	}
	return f
}

// line makes a request of a line, with an id of its own.
func (tb *table) line(character, line string) *consolev1.ExecuteRequest {
	tb.requests++
	req := &consolev1.ExecuteRequest{Campaign: tb.campaign, Line: line, RequestId: fmt.Sprintf("line-%d", tb.requests)}
	if character != "" {
		req.Character = tb.character(character)
	}
	return req
}

// send gives a line over gRPC.
func (tb *table) send(user string, req *consolev1.ExecuteRequest) (*consolev1.ExecuteResponse, *failure) {
	res, err := consolev1.NewConsoleServiceClient(conns["console"]).Execute(tb.as(user), req)
	if err != nil {
		return nil, failureOf(status.Convert(err).Proto())
	}
	return res, nil
}

// post gives a line over REST; the answer is read as the same message.
func (tb *table) post(user string, req *consolev1.ExecuteRequest) (*consolev1.ExecuteResponse, *failure) {
	tb.t.Helper()
	body, err := protojson.Marshal(&consolev1.ExecuteRequest{
		Character: req.GetCharacter(), Line: req.GetLine(), RequestId: req.GetRequestId(), ReportedDice: req.GetReportedDice(), Etag: req.GetEtag(),
		OverrideReason: req.GetOverrideReason(),
	})
	if err != nil {
		tb.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(tb.t.Context(), http.MethodPost, house.URL+"/v1/"+req.GetCampaign()+"/console:execute", bytes.NewReader(body))
	if err != nil {
		tb.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tb.token(user))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		tb.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		st := &spb.Status{}
		if err := protojson.Unmarshal(raw, st); err != nil {
			tb.t.Fatalf("HTTP %d %s: %v", res.StatusCode, raw, err)
		}
		return nil, failureOf(st)
	}
	out := &consolev1.ExecuteResponse{}
	if err := protojson.Unmarshal(raw, out); err != nil {
		tb.t.Fatalf("%s: %v", raw, err)
	}
	return out, nil
}

// say gives a line for the player's own character, which has to be played, and returns the text.
func (tb *table) say(who, line string) string {
	tb.t.Helper()
	res, refused := tb.send(who, tb.line(who, line))
	if refused != nil {
		tb.t.Fatalf("%s: %s: %+v", who, line, refused)
	}
	return res.GetText()
}

// result gives a line that has to be played and returns the structured answer.
func result[M proto.Message](tb *table, who, line string) M {
	tb.t.Helper()
	res, refused := tb.send(who, tb.line(who, line))
	if refused != nil {
		tb.t.Fatalf("%s: %s: %+v", who, line, refused)
	}
	m, err := res.GetResult().UnmarshalNew()
	if err != nil {
		tb.t.Fatal(err)
	}
	out, ok := m.(M)
	if !ok {
		tb.t.Fatalf("%s: %s answers a %T", who, line, m)
	}
	return out
}

// refused gives a line that must be refused for a reason and returns how.
func (tb *table) refused(who, line, reason string) *failure {
	tb.t.Helper()
	res, f := tb.send(who, tb.line(who, line))
	if f == nil {
		tb.t.Errorf("%s: %s is played: %s", who, line, res.GetText())
		return &failure{}
	}
	if f.reason != reason {
		tb.t.Errorf("%s: %s: refused with %s, not %s: %s", who, line, f.reason, reason, f.message)
	}
	return f
}

// has checks that a text has all the pieces, in this order.
func (tb *table) has(text string, pieces ...string) {
	tb.t.Helper()
	rest := text
	for _, p := range pieces {
		i := strings.Index(rest, p)
		if i < 0 {
			tb.t.Errorf("there is no %q, in this order, in:\n%s", p, text)
			return
		}
		rest = rest[i+len(p):]
	}
	if slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimRight(l, " ") != l }) {
		tb.t.Errorf("a line ends with blanks:\n%s", text)
	}
}
