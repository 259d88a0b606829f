package e2e

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	door "github.com/wayfarer-rpg/wayfarer/internal/serve"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
)

var update = flag.Bool("update", false, "write the table of attacks in docs/security.md anew")

// attack is something that somebody outside sends, and what they must be told.
type attack struct {
	name string
	// token is sent as the bearer token; headers besides, as metadata by gRPC and as HTTP headers by REST.
	token   string
	headers map[string]string
	// rest alone, where gRPC has no such thing.
	rest bool
	code codes.Code
	// http is REST's, reason ErrorInfo's.
	http   int
	reason string
}

// forger makes tokens with the house's own key, or others.
type forger struct {
	t   *testing.T
	key ed25519.PrivateKey
	kid string
}

func newForger(t *testing.T) *forger {
	t.Helper()
	res, err := http.Get(house.URL + "/dev/jwks.json") //nolint:noctx // the test's own house
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var set struct{ Keys []struct{ Kid string } }
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("keys %v, %v", set, err)
	}
	return &forger{t, houseKey(t), set.Keys[0].Kid}
}

func (f *forger) sign(m jwt.SigningMethod, kid string, key any, change func(jwt.MapClaims)) string {
	f.t.Helper()
	c := jwt.MapClaims{
		"iss": house.URL + "/dev", "aud": "wayfarer", "sub": "gm", "exp": time.Now().Add(time.Hour).Unix(), "nbf": time.Now().Add(-time.Hour).Unix(),
	}
	if change != nil {
		change(c)
	}
	tok := jwt.NewWithClaims(m, c)
	tok.Header["kid"] = kid
	s, err := tok.SignedString(key)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *forger) with(claim string, value any) string {
	f.t.Helper()
	return f.sign(jwt.SigningMethodEdDSA, f.kid, f.key, func(c jwt.MapClaims) {
		if value == nil {
			delete(c, claim)
			return
		}
		c[claim] = value
	})
}

func (f *forger) attacks(player string) []attack {
	f.t.Helper()
	der, err := x509.MarshalPKIXPublicKey(f.key.Public())
	if err != nil {
		f.t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	_, strange, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	good := f.with("x", "y")
	head, rest, _ := strings.Cut(good, ".")
	now := time.Now()
	invalid := func(name, token string) attack {
		return attack{name: name, token: token, code: codes.Unauthenticated, http: 401, reason: auth.TokenInvalid}
	}
	forged := func(name string, headers map[string]string, reason string) attack {
		return attack{name: name, token: player, headers: headers, code: codes.PermissionDenied, http: 403, reason: reason}
	}
	// What REST does not pass on does not reach the services: the caller stays who they are, a player, who may not do this.
	passed := func(name string, headers map[string]string) attack {
		return attack{name: name, token: player, headers: headers, rest: true, code: codes.PermissionDenied, http: 403, reason: "NOT_GM"}
	}
	return []attack{
		{name: "no token", code: codes.Unauthenticated, http: 401, reason: auth.TokenMissing},
		invalid("no token at all, but a word", "swordfish"),
		invalid("algorithm none", f.sign(jwt.SigningMethodNone, f.kid, jwt.UnsafeAllowNoneSignatureType, nil)),
		invalid("HS256 with the public key as PEM", f.sign(jwt.SigningMethodHS256, f.kid, public, nil)),
		invalid("HS256 with the bytes of the public key", f.sign(jwt.SigningMethodHS256, f.kid, []byte(f.key.Public().(ed25519.PublicKey)), nil)), //nolint:forcetypeassert // it is
		invalid("another audience", f.with("aud", "elsewhere")),
		invalid("other audiences, in a list", f.with("aud", []string{"elsewhere", "wayfarer.example"})),
		invalid("no audience", f.with("aud", nil)),
		invalid("another issuer", f.with("iss", "https://elsewhere.example")),
		invalid("no issuer", f.with("iss", nil)),
		{name: "expired", token: f.with("exp", now.Add(-time.Minute).Unix()), code: codes.Unauthenticated, http: 401, reason: auth.TokenExpired},
		invalid("no expiry", f.with("exp", nil)),
		invalid("not valid yet, beyond the leeway", f.with("nbf", now.Add(time.Minute).Unix())),
		invalid("an unknown key id", f.sign(jwt.SigningMethodEdDSA, "unknown", f.key, nil)),
		invalid("a key id that is a path", f.sign(jwt.SigningMethodEdDSA, "../../issuer.pem", f.key, nil)),
		invalid("somebody else's key under the known id", f.sign(jwt.SigningMethodEdDSA, f.kid, strange, nil)),
		invalid("a changed payload", head+"."+strings.Replace(rest, rest[:8], "eyJhdWQi", 1)+"x"),
		invalid("no signature", good[:strings.LastIndexByte(good, '.')+1]),
		invalid("no subject", f.with("sub", nil)),
		invalid("a subject with a line break", f.with("sub", "gm\r\nx-wayfarer-actor: gm")),
		forged("a player who names a GM as the actor", map[string]string{auth.ActorHeader: "gm"}, auth.ActorNotAllowed),
		forged("a player who tells an address", map[string]string{door.ClientHeader: "192.0.2.1"}, door.ClientNotAllowed),
		forged("a player who tells an address and a token of their own", map[string]string{door.ClientHeader: "192.0.2.1", door.EdgeHeader: player}, door.ClientNotAllowed),
		{
			name: "a player who asks for the service scope in another claim", token: f.sign(jwt.SigningMethodEdDSA, f.kid, f.key, func(c jwt.MapClaims) {
				c["sub"], c["scopes"], c["roles"] = "ada", auth.ServiceScope, []string{auth.ServiceScope}
			}), headers: map[string]string{auth.ActorHeader: "gm"}, code: codes.PermissionDenied, http: 403, reason: auth.ActorNotAllowed,
		},
		passed("an actor as Grpc-Metadata-X-Wayfarer-Actor", map[string]string{"Grpc-Metadata-X-Wayfarer-Actor": "gm"}),
		passed("a token as Grpc-Metadata-Authorization", map[string]string{"Grpc-Metadata-Authorization": "Bearer " + good}),
		passed("an actor as Grpc-Metadata-Grpc-Metadata-X-Wayfarer-Actor", map[string]string{"Grpc-Metadata-Grpc-Metadata-X-Wayfarer-Actor": "gm"}),
		passed("a verb that is not the request's, by X-HTTP-Method-Override", map[string]string{"X-Http-Method-Override": "GET"}),
	}
}

// Each attack is made by gRPC and by REST on a command that only game masters may give; with a good token of one it
// succeeds.
func TestAttacks(t *testing.T) {
	t.Parallel()
	g := newTable(t, "attacks", "ada")
	f, conns := newForger(t), overGRPC(t).(direct) //nolint:forcetypeassert // a test
	const method = campaigns + "SetChapter"
	req := func() object { return object{"name": g.campaign, "chapter": 4, "requestId": unique("attack")} }
	byGRPC := func(a attack) *failure {
		ctx := g.ctx
		if a.token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+a.token)
		}
		for k, v := range a.headers {
			ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(k), v)
		}
		in := &partyv1.SetChapterRequest{Name: g.campaign, Chapter: 4, RequestId: unique("attack")}
		_, err := partyv1.NewCampaignServiceClient(conns["party"]).SetChapter(ctx, in)
		if err == nil {
			return nil
		}
		return failureOf(0, status.Convert(err).Proto())
	}
	byREST := func(a attack) *failure {
		r, err := (rest{base: house.URL}).request(g.ctx, a.token, method, req(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range a.headers {
			r.Header.Set(k, v)
		}
		var told *failure
		if _, err := (rest{}).do(r); err != nil {
			told, _ = err.(*failure) //nolint:errorlint // as it is
			if told == nil {
				t.Fatalf("%s: %v", a.name, err)
			}
		}
		return told
	}
	var seen strings.Builder
	seen.WriteString("| attack | gRPC | REST |\n|---|---|---|\n")
	before := g.read("gm", g.campaign).Text("etag")
	for _, a := range f.attacks(g.tokens["ada"]) {
		fmt.Fprintf(&seen, "| %s | ", a.name)
		if a.rest {
			seen.WriteString("- ")
		} else {
			got := byGRPC(a)
			if got == nil || got.code != a.code || got.reason != a.reason {
				t.Errorf("%s by gRPC: %v, want %s %s", a.name, got, a.code, a.reason)
				continue
			}
			fmt.Fprintf(&seen, "%s %s ", got.code, got.reason)
		}
		got, http, reason := byREST(a), a.http, a.reason
		if strings.HasPrefix(reason, "CLIENT_") { // REST does not even pass it on: to the services it is a player's call
			reason = "NOT_GM"
		}
		if got == nil || got.http != http || got.reason != reason {
			t.Errorf("%s by REST: %v, want %d %s", a.name, got, http, reason)
			continue
		}
		fmt.Fprintf(&seen, "| %d %s |\n", got.http, got.reason)
	}
	if after := g.read("gm", g.campaign).Text("etag"); after != before {
		t.Error("an attack has changed the campaign")
	}
	if got := byGRPC(attack{token: f.with("sub", "gm")}); got != nil {
		t.Errorf("a good token: %v", got)
	}
	documented(t, "attacks", seen.String())
}

// documented compares a table with the one between its marks in docs/security.md, which -update writes.
func documented(t *testing.T, mark, table string) {
	t.Helper()
	path := filepath.Join("..", "docs", "security.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	between := regexp.MustCompile(`(?s)(<!-- begin ` + mark + ` -->\n).*?(<!-- end ` + mark + ` -->)`)
	if !between.Match(raw) {
		t.Fatalf("docs/security.md has no marks for %s", mark)
	}
	want := between.ReplaceAllLiteralString(string(raw), "<!-- begin "+mark+" -->\n"+table+"<!-- end "+mark+" -->")
	if want == string(raw) {
		return
	}
	if !*update {
		t.Errorf("docs/security.md does not show what was seen: run go test ./e2e -run %s -update\n%s", t.Name(), table)
		return
	}
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// namesIn calls f with each field of a request that takes the name of a resource, with a way to set it.
func namesIn(m protoreflect.Message, path string, f func(path, pattern string, set func(string))) {
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		at := path + string(fd.Name())
		pattern := patternOf(fd)
		switch {
		case pattern != "" && fd.IsList():
			f(at+"[0]", pattern, func(v string) {
				l := m.NewField(fd).List()
				l.Append(protoreflect.ValueOfString(v))
				m.Set(fd, protoreflect.ValueOfList(l))
			})
		case pattern != "":
			f(at, pattern, func(v string) { m.Set(fd, protoreflect.ValueOfString(v)) })
		case fd.Message() == nil || fd.IsMap() || !m.Has(fd):
		case fd.IsList():
			namesIn(m.Get(fd).List().Get(0).Message(), at+"[0].", f)
		default:
			namesIn(m.Get(fd).Message(), at+".", f)
		}
	}
}

// Ids of another campaign, in the path or anywhere else in a request, lead nowhere, for game masters of the one campaign as
// for anybody: by every method.
func TestIDsOfAnotherCampaign(t *testing.T) {
	t.Parallel()
	w, other, conns, methods := newWorld(t, "here"), newWorld(t, "there"), overGRPC(t).(direct), every() //nolint:forcetypeassert // a test
	// A game master here, and nothing there.
	token, err := house.Token("keeper")
	if err != nil {
		t.Fatal(err)
	}
	w.tokens["keeper"], other.tokens["keeper"] = token, token
	w.do("gm", campaigns+"SetMember", object{"name": w.campaign, "member": object{"subject": "keeper", "role": "ROLE_GM"}})
	before := other.state()
	paths, fields := 0, 0
	for _, name := range inOrder(methods) {
		row, _ := access.Of(name)
		if row.Who == access.Service || row.Who == access.Signed {
			continue
		}
		// The whole request is about the other campaign.
		req, err := other.request(methods[name])
		if err != nil {
			t.Fatal(err)
		}
		there := w.try(w.ctx, conns, "keeper", methods[name], req)
		// It is answered as if there were no such campaign.
		nowhere := proto.Clone(req)
		namesIn(nowhere.ProtoReflect(), "", func(_, pattern string, set func(string)) {
			if name := other.names[pattern]; name != "" {
				set(strings.Replace(name, other.campaign, other.campaign+"-none", 1))
			}
		})
		none := w.try(w.ctx, conns, "keeper", methods[name], nowhere)
		paths++
		if status.Code(there) != codes.NotFound || strings.ReplaceAll(status.Convert(none).Message(), other.campaign+"-none", other.campaign) != status.Convert(there).Message() {
			t.Errorf("%s: there %v, nowhere %v", name, there, none)
		}
		// One name in a request about this campaign is of the other.
		own, err := w.request(methods[name])
		if err != nil {
			t.Fatal(err)
		}
		namesIn(own.ProtoReflect(), "", func(path, pattern string, _ func(string)) {
			foreign := other.names[pattern]
			if foreign == "" || path == "name" || path == "parent" || path == "campaign" {
				return
			}
			req := proto.Clone(own)
			if fd := req.ProtoReflect().Descriptor().Fields().ByName("request_id"); fd != nil {
				req.ProtoReflect().Set(fd, protoreflect.ValueOfString(unique("r")))
			}
			namesIn(req.ProtoReflect(), "", func(p, _ string, set func(string)) {
				if p == path {
					set(foreign)
				}
			})
			fields++
			err := w.try(w.ctx, conns, "gm", methods[name], req) // who has a role in both
			switch code := status.Code(err); code {
			case codes.NotFound, codes.InvalidArgument, codes.PermissionDenied, codes.FailedPrecondition:
			default:
				t.Errorf("%s takes %s of another campaign: %v", name, path, err)
			}
		})
	}
	if paths < 150 || fields < 50 {
		t.Errorf("only %d methods and %d fields were tried", paths, fields)
	}
	after := other.state()
	for name, was := range before {
		if got := after[name]; got.Text("etag") != was.Text("etag") {
			t.Errorf("%s has changed", name)
		}
	}
	t.Logf("%d methods, %d fields", paths, fields)
}
