package devissuer_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

func TestTheKeyIsWrittenOnceForItsOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "issuer.pem")
	first, err := devissuer.LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, dir: 0o700} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has the mode %o, want %o", p, got, want)
		}
	}
	again, err := devissuer.LoadKey(path)
	if err != nil || !first.Equal(again) {
		t.Errorf("another key the second time: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

func TestAFileThatIsNoKeyIsLeftAlone(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"an empty file":    {},
		"text":             []byte("hello"),
		"PEM of no key":    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"another key type": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key.pem")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := devissuer.LoadKey(path); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v does not name the file", err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(content) {
				t.Errorf("the file is now %q, %v", now, err)
			}
		})
	}
}

// server starts an issuer as a program that restarts does: with the key in path.
func server(t *testing.T, path string, change func(*devissuer.Config)) (*httptest.Server, *devissuer.Issuer) {
	t.Helper()
	key, err := devissuer.LoadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	cfg := devissuer.Config{
		Issuer: srv.URL, Audience: "wayfarer", Users: []string{"gm", "ada"}, Password: "open sesame",
		Services: map[string]string{"travel": "swordfish"},
	}
	if change != nil {
		change(&cfg)
	}
	issuer := devissuer.New(cfg, key)
	mux.Handle("/", issuer.Handler())
	return srv, issuer
}

func get(t *testing.T, address string) map[string]any {
	t.Helper()
	res, err := http.Get(address) //nolint:gosec,noctx // a test server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, res.Status, err)
	}
	return body
}

func TestDiscoveryLeadsToATokenThatIsGood(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key.pem")
	srv, _ := server(t, path, nil)
	found := get(t, srv.URL+"/.well-known/openid-configuration")
	if found["issuer"] != srv.URL {
		t.Errorf("issuer %v", found["issuer"])
	}
	keys, ok := get(t, found["jwks_uri"].(string))["keys"].([]any)
	if !ok || len(keys) != 1 {
		t.Fatalf("keys %v", keys)
	}
	if key := keys[0].(map[string]any); key["d"] != nil || key["kty"] != "OKP" || key["alg"] != "EdDSA" {
		t.Errorf("key %v", key)
	}
	v, err := auth.NewVerifier(t.Context(), auth.Config{Issuer: srv.URL, Audience: "wayfarer", JWKS: found["jwks_uri"].(string)})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.PostForm(found["token_endpoint"].(string), url.Values{"grant_type": {"password"}, "username": {"ada"}, "password": {"open sesame"}}) //nolint:noctx // a test server
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.TokenType != "Bearer" || answer.ExpiresIn != 24*60*60 || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("answer %+v, %v", answer, res.Header)
	}
	if p, err := v.Verify(t.Context(), answer.AccessToken); err != nil || p.Subject != "ada" || p.Service {
		t.Errorf("%+v, %v", p, err)
	}
	c := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(answer.AccessToken, c); err != nil {
		t.Fatal(err)
	}
	if life := c["exp"].(float64) - c["iat"].(float64); time.Duration(life)*time.Second != 24*time.Hour {
		t.Errorf("the token lives %v s", life)
	}

	// After a restart under the same address the token is still good, with keys fetched anew.
	restarted, _ := server(t, path, func(c *devissuer.Config) { c.Issuer = srv.URL })
	v, err = auth.NewVerifier(t.Context(), auth.Config{Issuer: srv.URL, Audience: "wayfarer", JWKS: restarted.URL + "/jwks.json"})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := v.Verify(t.Context(), answer.AccessToken); err != nil || p.Subject != "ada" {
		t.Errorf("after a restart: %+v, %v", p, err)
	}
}

func TestWhoGetsAToken(t *testing.T) {
	t.Parallel()
	srv, _ := server(t, filepath.Join(t.TempDir(), "key.pem"), func(c *devissuer.Config) { c.Services["forgotten"] = "" })
	open, _ := server(t, filepath.Join(t.TempDir(), "key.pem"), func(c *devissuer.Config) { c.Password = "" })
	v, err := auth.NewVerifier(t.Context(), auth.Config{Issuer: srv.URL, Audience: "wayfarer", JWKS: srv.URL + "/jwks.json"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		url    string
		form   url.Values
		basic  *url.Userinfo
		status int
		word   string // subject, or the error
	}{
		"a user":                               {srv.URL, url.Values{"grant_type": {"password"}, "username": {"gm"}, "password": {"open sesame"}}, nil, 200, "gm"},
		"a service by the form":                {srv.URL, url.Values{"grant_type": {"client_credentials"}, "client_id": {"travel"}, "client_secret": {"swordfish"}}, nil, 200, "travel"},
		"a service by the header":              {srv.URL, url.Values{"grant_type": {"client_credentials"}}, url.UserPassword("travel", "swordfish"), 200, "travel"},
		"a wrong password":                     {srv.URL, url.Values{"grant_type": {"password"}, "username": {"gm"}, "password": {"open"}}, nil, 400, "invalid_grant"},
		"no password":                          {srv.URL, url.Values{"grant_type": {"password"}, "username": {"gm"}}, nil, 400, "invalid_grant"},
		"no password where none was set":       {open.URL, url.Values{"grant_type": {"password"}, "username": {"gm"}}, nil, 400, "invalid_grant"},
		"a stranger":                           {srv.URL, url.Values{"grant_type": {"password"}, "username": {"eve"}, "password": {"open sesame"}}, nil, 400, "invalid_grant"},
		"a service as a user":                  {srv.URL, url.Values{"grant_type": {"password"}, "username": {"travel"}, "password": {"swordfish"}}, nil, 400, "invalid_grant"},
		"a user as a service":                  {srv.URL, url.Values{"grant_type": {"client_credentials"}, "client_id": {"gm"}, "client_secret": {"open sesame"}}, nil, 401, "invalid_client"},
		"a wrong secret":                       {srv.URL, url.Values{"grant_type": {"client_credentials"}}, url.UserPassword("travel", "sword"), 401, "invalid_client"},
		"no secret where none was set":         {srv.URL, url.Values{"grant_type": {"client_credentials"}, "client_id": {"forgotten"}}, nil, 401, "invalid_client"},
		"a user who asks for a service's role": {srv.URL, url.Values{"grant_type": {"password"}, "username": {"gm"}, "password": {"open sesame"}, "scope": {auth.ServiceScope}}, nil, 200, "gm"},
		"another grant":                        {srv.URL, url.Values{"grant_type": {"implicit"}}, nil, 400, "unsupported_grant_type"},
		"a password in the query":              {srv.URL + "/token?grant_type=password&username=gm&password=open+sesame", nil, nil, 400, "unsupported_grant_type"},
		"an endless form":                      {srv.URL, url.Values{"grant_type": {strings.Repeat("x", 1<<15)}}, nil, 400, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := tc.url
			if !strings.Contains(address, "/token") {
				address += "/token"
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(tc.form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if tc.basic != nil {
				secret, _ := tc.basic.Password()
				req.SetBasicAuth(tc.basic.Username(), secret)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			raw, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			var body struct {
				Token string `json:"access_token"`
				Error string `json:"error"`
			}
			if err := json.Unmarshal(raw, &body); err != nil || res.StatusCode != tc.status {
				t.Fatalf("%s %s, %v", res.Status, raw, err)
			}
			if tc.status != http.StatusOK {
				if body.Error != tc.word || body.Token != "" {
					t.Errorf("body %s", raw)
				}
				return
			}
			p, err := v.Verify(t.Context(), body.Token)
			if err != nil || p.Subject != tc.word || p.Service != (tc.word == "travel") {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}

func TestScopesOfAToken(t *testing.T) {
	t.Parallel()
	srv, issuer := server(t, filepath.Join(t.TempDir(), "key.pem"), nil)
	v, err := auth.NewVerifier(t.Context(), auth.Config{Issuer: srv.URL, Audience: "wayfarer", JWKS: srv.URL + "/jwks.json"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := issuer.Token("travel", "openid", auth.ServiceScope)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := v.Verify(t.Context(), token); err != nil || !p.Service || len(p.Scopes) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	other, err := auth.NewVerifier(t.Context(), auth.Config{Issuer: srv.URL, Audience: "elsewhere", JWKS: srv.URL + "/jwks.json"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Verify(t.Context(), token); fault.ReasonOf(err) != auth.TokenInvalid {
		t.Errorf("elsewhere: %v", err)
	}
}
