package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return a
}

func (a *authority) sign(c *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.Subject = serial, pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := c, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(raw); err != nil {
		a.t.Fatal(err)
	}
	return c, key
}

// write writes the authority's certificate, and one that it signs with its key, into a directory, and returns the paths.
func (a *authority) write(dir string) serve.TLSConfig {
	a.t.Helper()
	cert, key := a.sign(&x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	file := func(name, kind string, raw []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
			a.t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			a.t.Fatal(err)
		}
		return path
	}
	ca := file("ca.pem", "CERTIFICATE", a.cert.Raw)
	return serve.TLSConfig{
		CA: ca, ClientCA: ca, Cert: file("cert.pem", "CERTIFICATE", cert.Raw), Key: file("key.pem", "PRIVATE KEY", der), Every: time.Nanosecond,
	}
}

// roll makes a new connection with the files, as they are now, and rolls.
func roll(t *testing.T, addr string, files serve.TLSConfig) error {
	t.Helper()
	own, err := serve.NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := serve.Dial(addr, nil, own.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll())
	return err
}

func TestServicesKnowEachOtherByCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	dir := t.TempDir()
	files := ours.write(dir)
	own, err := serve.NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *serve.Config) { c.Creds = own.Server() }, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		return &dicev1.RollResponse{}, nil
	}})
	stranger := theirs.write(t.TempDir())
	nobody, impostor := files, files
	nobody.Cert, nobody.Key, nobody.ClientCA = "", "", ""
	impostor.Cert, impostor.Key = stranger.Cert, stranger.Key
	plain := serve.TLSConfig{}
	for name, tt := range map[string]struct {
		files serve.TLSConfig
		ok    bool
	}{
		"one of ours":                     {files, true},
		"a client without a certificate":  {nobody, false},
		"a client that a stranger signed": {impostor, false},
		"a client that trusts strangers":  {stranger, false},
		"a client without TLS":            {plain, false},
	} {
		err := roll(t, r.addr, tt.files)
		if (err == nil) != tt.ok || err != nil && status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	// With a client that has been there all the time the files are renewed, by another authority even.
	conn, err := serve.Dial(r.addr, nil, own.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	before := files
	before.CA = filepath.Join(t.TempDir(), "ca.pem")
	old, err := os.ReadFile(files.CA)
	if err == nil {
		err = os.WriteFile(before.CA, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	theirs.write(dir)
	if err := roll(t, r.addr, files); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
	if err := roll(t, r.addr, before); err == nil {
		t.Error("after the renewal the server shows its old certificate")
	}
	if _, err := dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll()); err != nil {
		t.Errorf("a client that follows its files: %v", err)
	}
	// What cannot be read is not used.
	if err := os.WriteFile(files.Key, []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.NewTLS(files); err == nil {
		t.Error("a broken key is taken at start")
	}
	good := files
	good.Cert, good.Key = stranger.Cert, stranger.Key
	if err := roll(t, r.addr, good); err != nil {
		t.Errorf("with a broken key on the disk the server goes on with the last good one: %v", err)
	}
}

func TestTLSFilesThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	files := newAuthority(t).write(t.TempDir())
	for name, bad := range map[string]serve.TLSConfig{
		"a certificate without its key": {Cert: files.Cert},
		"a client CA without a server":  {ClientCA: files.ClientCA},
		"a CA that is not there":        {CA: files.CA + ".gone"},
		"a CA that is none":             {CA: files.Key},
		"a key of another's":            {Cert: files.Cert, Key: newAuthority(t).write(t.TempDir()).Key},
	} {
		if _, err := serve.NewTLS(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	none, err := serve.NewTLS(serve.TLSConfig{})
	if err != nil || none.Server() != nil || none.Client() != nil {
		t.Errorf("without files: %v", err)
	}
}
