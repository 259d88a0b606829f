// Package devissuer is a token issuer for one machine: demo users with one password, and the services of the suite.
//
// It speaks enough of OAuth 2 and OpenID Connect discovery for the suite to treat it as any other issuer. It is not for
// production: its users are fixed and its password is known.
package devissuer

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
)

// Config says whom the issuer knows.
type Config struct {
	// Issuer is the URL under which it is reached, without a slash at the end; it stands in every token.
	Issuer string
	// Audience stands in every token.
	Audience string
	// Users may get tokens with Password.
	Users    []string
	Password string
	// Services are client ids with their secrets.
	Services map[string]string
	// Lifetime of tokens; 0 means 24 h.
	Lifetime time.Duration
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Issuer signs tokens.
type Issuer struct {
	cfg Config
	key ed25519.PrivateKey
	kid string
}

// New returns an issuer with a signing key.
func New(cfg Config, key ed25519.PrivateKey) *Issuer {
	if cfg.Lifetime == 0 {
		cfg.Lifetime = 24 * time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	sum := sha256.Sum256(key.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // always so
	return &Issuer{cfg: cfg, key: key, kid: base64.RawURLEncoding.EncodeToString(sum[:12])}
}

// LoadKey reads the signing key from a PEM file, or makes one and writes it there for its owner only, so that tokens
// outlive a restart.
func LoadKey(path string) (ed25519.PrivateKey, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, fmt.Errorf("%s is no PEM file", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	ed, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a %T, not an Ed25519 key", path, key)
	}
	return ed, nil
}

func makeKey(path string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return key, writeWhole(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// writeWhole writes a file beside and moves it into place, so that a crash leaves no half of a key behind.
func writeWhole(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // for its owner only
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Token signs a token for a subject, with scopes if there are any.
func (i *Issuer) Token(subject string, scopes ...string) (string, error) {
	now := i.cfg.Now()
	c := jwt.MapClaims{
		"iss": i.cfg.Issuer, "sub": subject, "aud": i.cfg.Audience,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(i.cfg.Lifetime).Unix(),
	}
	if len(scopes) > 0 {
		c["scope"] = strings.Join(scopes, " ")
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	t.Header["kid"] = i.kid
	return t.SignedString(i.key)
}

// JWKS returns the public key as a JSON Web Key Set.
func (i *Issuer) JWKS() []byte {
	raw, _ := json.Marshal(map[string]any{"keys": []map[string]string{{ //nolint:errchkjson // plain strings
		"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": i.kid,
		"x": base64.RawURLEncoding.EncodeToString(i.key.Public().(ed25519.PublicKey)), //nolint:forcetypeassert // always so
	}}})
	return raw
}

// Handler serves /.well-known/openid-configuration, /jwks.json and POST /token below the issuer's URL.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"issuer": i.cfg.Issuer, "jwks_uri": i.cfg.Issuer + "/jwks.json", "token_endpoint": i.cfg.Issuer + "/token",
			"grant_types_supported":                 []string{"password", "client_credentials"},
			"id_token_signing_alg_values_supported": []string{"EdDSA"},
			"response_types_supported":              []string{"token"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET /jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_, _ = w.Write(i.JWKS())
	})
	mux.HandleFunc("POST /token", i.token)
	return mux
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
	if err := r.ParseForm(); err != nil {
		oauthError(w, http.StatusBadRequest, "invalid_request", "the form could not be read")
		return
	}
	var (
		subject string
		scopes  []string
	)
	switch r.PostForm.Get("grant_type") {
	case "password":
		user := r.PostForm.Get("username")
		if !slices.Contains(i.cfg.Users, user) || !same(r.PostForm.Get("password"), i.cfg.Password) {
			oauthError(w, http.StatusBadRequest, "invalid_grant", "unknown user or wrong password")
			return
		}
		subject = user
	case "client_credentials":
		id, secret := client(r)
		want, ok := i.cfg.Services[id]
		if !ok || !same(secret, want) {
			oauthError(w, http.StatusUnauthorized, "invalid_client", "unknown client or wrong secret")
			return
		}
		subject, scopes = id, []string{auth.ServiceScope}
	default:
		oauthError(w, http.StatusBadRequest, "unsupported_grant_type", `grant_type has to be "password" or "client_credentials"`)
		return
	}
	token, err := i.Token(subject, scopes...)
	if err != nil {
		oauthError(w, http.StatusInternalServerError, "server_error", "the token could not be signed")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	answer(w, http.StatusOK, map[string]any{
		"access_token": token, "token_type": "Bearer", "expires_in": int(i.cfg.Lifetime.Seconds()),
	})
}

func client(r *http.Request) (id, secret string) {
	if id, secret, ok := r.BasicAuth(); ok {
		// RFC 6749 has both encoded as form values first.
		if u, err := url.QueryUnescape(id); err == nil {
			id = u
		}
		if u, err := url.QueryUnescape(secret); err == nil {
			secret = u
		}
		return id, secret
	}
	return r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
}

// same compares secrets. An empty one, which somebody forgot to set, lets nobody in.
func same(given, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) == 1
}

func oauthError(w http.ResponseWriter, code int, name, description string) {
	answer(w, code, map[string]any{"error": name, "error_description": description})
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}
