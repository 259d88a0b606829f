package auth_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/metadata"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

const audience = "wayfarer"

type world struct {
	url    string
	issuer *devissuer.Issuer
	rsa    *rsa.PrivateKey
	v      auth.Verifier
	now    *atomic.Int64
}

func (w *world) clock() time.Time { return time.Unix(w.now.Load(), 0) }

// newWorld starts an issuer that also publishes an RSA key, as production issuers have.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{now: &atomic.Int64{}}
	w.now.Store(1_800_000_000)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if w.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	w.url = srv.URL
	w.issuer = devissuer.New(devissuer.Config{
		Issuer: srv.URL, Audience: audience, Users: []string{"gm", "ada"}, Password: "wayfarer",
		Services: map[string]string{"travel": "s3cret & more"}, Now: w.clock,
	}, key)
	mux.Handle("/", w.issuer.Handler())
	mux.HandleFunc("GET /all.json", func(rw http.ResponseWriter, _ *http.Request) {
		var set struct {
			Keys []map[string]string `json:"keys"`
		}
		if err := json.Unmarshal(w.issuer.JWKS(), &set); err != nil {
			t.Error(err)
		}
		set.Keys = append(set.Keys, map[string]string{
			"kty": "RSA", "kid": "rsa", "alg": "RS256", "use": "sig",
			"n": base64.RawURLEncoding.EncodeToString(w.rsa.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(w.rsa.E)).Bytes()),
		})
		_ = json.NewEncoder(rw).Encode(set)
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	if w.v, err = auth.NewVerifier(ctx, auth.Config{Issuer: srv.URL, Audience: audience, JWKS: srv.URL + "/all.json", Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) claims(change func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{"iss": w.url, "aud": audience, "sub": "ada", "exp": w.now.Load() + 3600, "iat": w.now.Load()}
	if change != nil {
		change(c)
	}
	return c
}

func sign(t *testing.T, m jwt.SigningMethod, kid string, key any, c jwt.MapClaims) string {
	t.Helper()
	tok := jwt.NewWithClaims(m, c)
	if kid != "" {
		tok.Header["kid"] = kid
	}
	s, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoodTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dev, err := w.issuer.Token("gm")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ token, subject string }{
		"of the development issuer":    {dev, "gm"},
		"signed with RS256":            {sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, w.claims(nil)), "ada"},
		"with several audiences":       {sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, w.claims(func(c jwt.MapClaims) { c["aud"] = []string{"x", audience} })), "ada"},
		"expired within the leeway":    {sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, w.claims(func(c jwt.MapClaims) { c["exp"] = w.now.Load() - 20 })), "ada"},
		"not yet valid, in the leeway": {sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, w.claims(func(c jwt.MapClaims) { c["nbf"] = w.now.Load() + 20 })), "ada"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := w.v.Verify(t.Context(), tc.token)
			if err != nil || p.Subject != tc.subject || p.Service {
				t.Errorf("Verify = %+v, %v", p, err)
			}
		})
	}
}

func TestAttacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	der, err := x509.MarshalPKIXPublicKey(&w.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rs := func(change func(jwt.MapClaims)) string {
		return sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, w.claims(change))
	}
	good := rs(nil)
	for name, tc := range map[string]struct{ token, reason string }{
		"algorithm none":                  {sign(t, jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType, w.claims(nil)), auth.TokenInvalid},
		"HS256 keyed with the public key": {sign(t, jwt.SigningMethodHS256, "rsa", public, w.claims(nil)), auth.TokenInvalid},
		"an algorithm that is not pinned": {sign(t, jwt.SigningMethodRS384, "rsa", w.rsa, w.claims(nil)), auth.TokenInvalid},
		"another audience":                {rs(func(c jwt.MapClaims) { c["aud"] = "elsewhere" }), auth.TokenInvalid},
		"other audiences":                 {rs(func(c jwt.MapClaims) { c["aud"] = []string{"elsewhere", "wayfarer2"} }), auth.TokenInvalid},
		"no audience":                     {rs(func(c jwt.MapClaims) { delete(c, "aud") }), auth.TokenInvalid},
		"another issuer":                  {rs(func(c jwt.MapClaims) { c["iss"] = "https://elsewhere" }), auth.TokenInvalid},
		"expired":                         {rs(func(c jwt.MapClaims) { c["exp"] = w.now.Load() - 31 }), auth.TokenExpired},
		"no expiry":                       {rs(func(c jwt.MapClaims) { delete(c, "exp") }), auth.TokenInvalid},
		"not yet valid":                   {rs(func(c jwt.MapClaims) { c["nbf"] = w.now.Load() + 31 }), auth.TokenInvalid},
		"no key id, somebody else's key":  {sign(t, jwt.SigningMethodRS256, "", stranger, w.claims(nil)), auth.TokenInvalid},
		"the key id of another algorithm": {sign(t, jwt.SigningMethodRS256, devKid(t, w), w.rsa, w.claims(nil)), auth.TokenInvalid},
		"a subject that no header takes":  {rs(func(c jwt.MapClaims) { c["sub"] = "ada\n" }), auth.TokenInvalid},
		"a subject beyond ASCII":          {rs(func(c jwt.MapClaims) { c["sub"] = "adä" }), auth.TokenInvalid},
		"a scope that is a number":        {rs(func(c jwt.MapClaims) { c["scope"] = 7 }), auth.TokenInvalid},
		"an expiry that is a word":        {rs(func(c jwt.MapClaims) { c["exp"] = "never" }), auth.TokenInvalid},
		"an unknown key id":               {sign(t, jwt.SigningMethodRS256, "other", w.rsa, w.claims(nil)), auth.TokenInvalid},
		"somebody else's key":             {sign(t, jwt.SigningMethodRS256, "rsa", stranger, w.claims(nil)), auth.TokenInvalid},
		"expired and somebody else's key": {sign(t, jwt.SigningMethodRS256, "rsa", stranger, w.claims(func(c jwt.MapClaims) { c["exp"] = 1 })), auth.TokenInvalid},
		"no subject":                      {rs(func(c jwt.MapClaims) { delete(c, "sub") }), auth.TokenInvalid},
		"an endless subject":              {rs(func(c jwt.MapClaims) { c["sub"] = strings.Repeat("x", 129) }), auth.TokenInvalid},
		"a changed payload":               {changed(good, strings.IndexByte(good, '.')+10), auth.TokenInvalid},
		"a changed signature":             {changed(good, strings.LastIndexByte(good, '.')+10), auth.TokenInvalid},
		"a cut signature":                 {good[:strings.LastIndexByte(good, '.')+1], auth.TokenInvalid},
		"no token at all":                 {"hello", auth.TokenInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := w.v.Verify(t.Context(), tc.token)
			if fault.KindOf(err) != fault.Unauthenticated || fault.ReasonOf(err) != tc.reason {
				t.Errorf("Verify = %+v, %v, want UNAUTHENTICATED %s", p, err, tc.reason)
			}
		})
	}
}

// changed returns a text with another character at one place.
func changed(text string, at int) string {
	other := "A"
	if text[at] == 'A' {
		other = "B"
	}
	return text[:at] + other + text[at+1:]
}

func devKid(t *testing.T, w *world) string {
	t.Helper()
	var set struct {
		Keys []struct{ Kid string }
	}
	if err := json.Unmarshal(w.issuer.JWKS(), &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%+v, %v", set, err)
	}
	return set.Keys[0].Kid
}

func TestScopesTellServices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		claim   string
		value   any
		scopes  []string
		service bool
	}{
		"none":               {"other", "x", nil, false},
		"one of several":     {"scope", "openid wayfarer.service", []string{"openid", "wayfarer.service"}, true},
		"a list":             {"scope", []string{"openid", "wayfarer.service"}, []string{"openid", "wayfarer.service"}, true},
		"by its other name":  {"scp", []string{"wayfarer.service"}, []string{"wayfarer.service"}, true},
		"a longer word":      {"scope", "wayfarer.services xwayfarer.service", []string{"wayfarer.services", "xwayfarer.service"}, false},
		"in capital letters": {"scope", "WAYFARER.SERVICE", []string{"WAYFARER.SERVICE"}, false},
		"two in one entry":   {"scope", []string{"openid wayfarer.service"}, []string{"openid wayfarer.service"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := w.v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, w.claims(func(c jwt.MapClaims) { c[tc.claim] = tc.value })))
			if err != nil || p.Service != tc.service || !slices.Equal(p.Scopes, tc.scopes) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestES256(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(rw).Encode(map[string]any{"keys": []map[string]string{{
			"kty": "EC", "crv": "P-256", "kid": "ec", "alg": "ES256", "use": "sig",
			"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
		}}})
	}))
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	v, err := auth.NewVerifier(ctx, auth.Config{Issuer: "i", Audience: audience, JWKS: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{"iss": "i", "aud": audience, "sub": "ada", "exp": time.Now().Add(time.Hour).Unix()}
	if p, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodES256, "ec", key, claims)); err != nil || p.Subject != "ada" {
		t.Errorf("%+v, %v", p, err)
	}
}

// Whoever invents key ids must not make the service hammer the issuer.
func TestUnknownKeyIDsAreBounded(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, signing, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := devissuer.New(devissuer.Config{Issuer: "i", Audience: audience}, signing)
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = rw.Write(issuer.JWKS())
	}))
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	v, err := auth.NewVerifier(ctx, auth.Config{Issuer: "i", Audience: audience, JWKS: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{"iss": "i", "aud": audience, "sub": "ada", "exp": time.Now().Add(time.Hour).Unix()}
	start := time.Now()
	for i := range 100 {
		if _, err := v.Verify(t.Context(), sign(t, jwt.SigningMethodRS256, strconv.Itoa(i), key, claims)); fault.ReasonOf(err) != auth.TokenInvalid {
			t.Fatalf("%v", err)
		}
	}
	// One at the start, three at once, then one every ten seconds.
	if most := 1 + 3 + 1 + int64(time.Since(start)/(10*time.Second)); asked.Load() > most || asked.Load() < 4 {
		t.Errorf("%d requests for keys, at most %d expected", asked.Load(), most)
	}
}

func TestKeysThatCannotBeFetchedAreLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	up := &atomic.Bool{}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := devissuer.New(devissuer.Config{Issuer: "i", Audience: audience}, key)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			http.Error(rw, "closed", http.StatusServiceUnavailable)
			return
		}
		_, _ = rw.Write(issuer.JWKS())
	}))
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	v, err := auth.NewVerifier(ctx, auth.Config{Issuer: "i", Audience: audience, JWKS: srv.URL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Token("ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), token); fault.KindOf(err) != fault.Unavailable || fault.ReasonOf(err) != auth.KeysUnavailable {
		t.Errorf("without keys: %v", err)
	}
	if !strings.Contains(log.String(), srv.URL) || !strings.Contains(log.String(), "503") {
		t.Errorf("log %q", log.String())
	}
	up.Store(true)
	if p, err := v.Verify(t.Context(), token); err != nil || p.Subject != "ada" {
		t.Errorf("once the issuer is there: %+v, %v", p, err)
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	for want, ctx := range map[string]context.Context{
		"":       t.Context(),
		"ada":    auth.NewContext(t.Context(), auth.Principal{Subject: "ada"}),
		"bram":   auth.NewContext(t.Context(), auth.Principal{Subject: "travel", Service: true, Actor: "bram"}),
		"travel": auth.NewContext(t.Context(), auth.Principal{Subject: "travel", Service: true}),
	} {
		if got := auth.Effective(ctx); got != want {
			t.Errorf("Effective = %q, want %q", got, want)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, err := w.issuer.Token("ada")
	if err != nil {
		t.Fatal(err)
	}
	service, err := w.issuer.Token("travel", auth.ServiceScope)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		md      metadata.MD
		kind    fault.Kind
		reason  string
		subject string
	}{
		"a user":                          {metadata.Pairs("authorization", "Bearer "+user), 0, "", "ada"},
		"the scheme in small letters":     {metadata.Pairs("authorization", "bearer "+user), 0, "", "ada"},
		"a service for itself":            {metadata.Pairs("authorization", "Bearer "+service), 0, "", "travel"},
		"a service for a user":            {metadata.Pairs("authorization", "Bearer "+service, auth.ActorHeader, "bram"), 0, "", "bram"},
		"nothing":                         {metadata.MD{}, fault.Unauthenticated, auth.TokenMissing, ""},
		"another scheme":                  {metadata.Pairs("authorization", "Basic "+user), fault.Unauthenticated, auth.TokenMissing, ""},
		"a scheme alone":                  {metadata.Pairs("authorization", "Bearer"), fault.Unauthenticated, auth.TokenMissing, ""},
		"two tokens":                      {metadata.Pairs("authorization", "Bearer "+user, "authorization", "Bearer "+service), fault.Unauthenticated, auth.TokenMissing, ""},
		"a user who names an actor":       {metadata.Pairs("authorization", "Bearer "+user, auth.ActorHeader, "gm"), fault.PermissionDenied, auth.ActorNotAllowed, ""},
		"a user who names themselves":     {metadata.Pairs("authorization", "Bearer "+user, auth.ActorHeader, "ada"), fault.PermissionDenied, auth.ActorNotAllowed, ""},
		"a service with two actors":       {metadata.Pairs("authorization", "Bearer "+service, auth.ActorHeader, "a", auth.ActorHeader, "b"), fault.PermissionDenied, auth.ActorNotAllowed, ""},
		"a service with an empty actor":   {metadata.Pairs("authorization", "Bearer "+service, auth.ActorHeader, ""), fault.PermissionDenied, auth.ActorNotAllowed, ""},
		"a service with a strange actor":  {metadata.Pairs("authorization", "Bearer "+service, auth.ActorHeader, "ada\n"), fault.PermissionDenied, auth.ActorNotAllowed, ""},
		"a service with an endless actor": {metadata.Pairs("authorization", "Bearer "+service, auth.ActorHeader, strings.Repeat("a", 129)), fault.PermissionDenied, auth.ActorNotAllowed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, err := auth.Authenticate(metadata.NewIncomingContext(t.Context(), tc.md), w.v)
			if tc.reason != "" {
				if fault.KindOf(err) != tc.kind || fault.ReasonOf(err) != tc.reason {
					t.Errorf("err = %v, want %v %s", err, tc.kind, tc.reason)
				}
				return
			}
			if p, ok := auth.FromContext(ctx); err != nil || !ok || p.Effective() != tc.subject {
				t.Errorf("principal %+v, %v, want %s", p, err, tc.subject)
			}
		})
	}
}

func TestOutgoingNamesTheUser(t *testing.T) {
	t.Parallel()
	actor := func(p *auth.Principal, without bool) string {
		ctx := t.Context()
		if p != nil {
			ctx = auth.NewContext(ctx, *p)
		}
		if without {
			ctx = auth.WithoutActor(ctx)
		}
		md, _ := metadata.FromOutgoingContext(auth.Outgoing(ctx))
		return strings.Join(md.Get(auth.ActorHeader), ",")
	}
	for name, tc := range map[string]struct {
		p       *auth.Principal
		without bool
		want    string
	}{
		"for a user":                      {&auth.Principal{Subject: "ada"}, false, "ada"},
		"for the user of another service": {&auth.Principal{Subject: "expedition", Service: true, Actor: "ada"}, false, "ada"},
		"for a service itself":            {&auth.Principal{Subject: "expedition", Service: true}, false, ""},
		"for nobody on purpose":           {&auth.Principal{Subject: "ada"}, true, ""},
		"outside any call":                {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := actor(tc.p, tc.without); got != tc.want {
				t.Errorf("actor %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDevelopmentIssuer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	post := func(form url.Values) (int, map[string]any) {
		res, err := http.PostForm(w.url+"/token", form)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		var body map[string]any
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, body
	}
	code, body := post(url.Values{"grant_type": {"password"}, "username": {"ada"}, "password": {"wayfarer"}})
	if code != http.StatusOK {
		t.Fatalf("%d %v", code, body)
	}
	if p, err := w.v.Verify(t.Context(), body["access_token"].(string)); err != nil || p.Subject != "ada" || p.Service {
		t.Errorf("user: %+v, %v", p, err)
	}
	for name, form := range map[string]url.Values{
		"a wrong password":     {"grant_type": {"password"}, "username": {"ada"}, "password": {"x"}},
		"an unknown user":      {"grant_type": {"password"}, "username": {"eve"}, "password": {"wayfarer"}},
		"a service's password": {"grant_type": {"password"}, "username": {"travel"}, "password": {"s3cret & more"}},
		"a wrong secret":       {"grant_type": {"client_credentials"}, "client_id": {"travel"}, "client_secret": {"x"}},
		"no secret":            {"grant_type": {"client_credentials"}, "client_id": {"nobody"}},
		"another grant":        {"grant_type": {"authorization_code"}},
		"nothing":              {},
	} {
		if code, body := post(form); code < 400 || body["access_token"] != nil {
			t.Errorf("%s: %d %v", name, code, body)
		}
	}
	src := &auth.TokenSource{URL: w.url + "/token", ClientID: "travel", ClientSecret: "s3cret & more", Now: w.clock}
	first, err := src.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := w.v.Verify(t.Context(), first); err != nil || !p.Service || p.Subject != "travel" {
		t.Errorf("service: %+v, %v", p, err)
	}
	w.now.Add(int64((24 * time.Hour * 4 / 5).Seconds()) - 1)
	if again, _ := src.Token(t.Context()); again != first {
		t.Error("a good token is not kept")
	}
	w.now.Add(2)
	await.Until(t, "a token near its end is renewed", func() (bool, any) {
		again, err := src.Token(t.Context())
		return err == nil && again != first, err
	})
}

func TestKeysAreKeptAndRotated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "key.pem")
	first, err := devissuer.LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := devissuer.LoadKey(path)
	if err != nil || !first.Equal(again) {
		t.Fatalf("the key is another one after a restart: %v", err)
	}
	var issuer atomic.Pointer[devissuer.Issuer]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { issuer.Load().Handler().ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	cfg := devissuer.Config{Issuer: srv.URL, Audience: audience}
	issuer.Store(devissuer.New(cfg, first))
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	v, err := auth.NewVerifier(ctx, auth.Config{Issuer: srv.URL, Audience: audience, JWKS: srv.URL + "/jwks.json"})
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer.Store(devissuer.New(cfg, second))
	token, err := issuer.Load().Token("ada")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := v.Verify(t.Context(), token); err != nil || p.Subject != "ada" {
		t.Errorf("after rotation: %+v, %v", p, err)
	}
	old, err := devissuer.New(cfg, first).Token("ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Verify(t.Context(), old); fault.ReasonOf(err) != auth.TokenInvalid {
		t.Errorf("a token of a key that is withdrawn: %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, cfg := range []auth.Config{{}, {Issuer: "x"}, {Issuer: "x", Audience: "y"}, {Audience: "y", JWKS: "z"}} {
		if _, err := auth.NewVerifier(t.Context(), cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// TestAGoodTokenIsRemembered shows that what is remembered is the whole token, and for no longer than it is good.
func TestAGoodTokenIsRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.claims(func(c jwt.MapClaims) { c["exp"] = w.now.Load() + 5; c["scope"] = "a b" })
	token := sign(t, jwt.SigningMethodRS256, "rsa", w.rsa, c)
	verify := func(token string) (auth.Principal, string) {
		p, err := w.v.Verify(t.Context(), token)
		if err != nil && fault.ReasonOf(err) == "" {
			t.Fatal(err)
		}
		return p, fault.ReasonOf(err)
	}
	for range 2 {
		p, reason := verify(token)
		if want := (auth.Principal{Subject: "ada", Scopes: []string{"a", "b"}}); reason != "" || !reflect.DeepEqual(p, want) {
			t.Fatalf("principal %+v, reason %q, want %+v", p, reason, want)
		}
		p.Scopes[0] = "changed" // what a caller does with its principal is its own affair
	}
	if _, reason := verify(changed(token, strings.LastIndexByte(token, '.')+10)); reason != auth.TokenInvalid {
		t.Errorf("a forged signature beside a remembered token: %q", reason)
	}
	w.now.Add(34)
	if _, reason := verify(token); reason != "" {
		t.Errorf("within the leeway: %q", reason)
	}
	w.now.Add(2)
	if _, reason := verify(token); reason != auth.TokenExpired {
		t.Errorf("remembered beyond its end: %q, want %s", reason, auth.TokenExpired)
	}
}
