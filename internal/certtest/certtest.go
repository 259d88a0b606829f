// Package certtest makes certificates for tests: an authority of their own, and what it signs for 127.0.0.1.
package certtest

import (
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
)

// Authority signs certificates.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Files are the paths of PEM files: the authority's certificate, and one that it signed, for servers and clients, with its
// key.
type Files struct {
	CA, Cert, Key string
}

// New returns a new authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// Write signs a new certificate and writes the files into a directory, each replaced at once.
func (a *Authority) Write(dir string) Files {
	a.t.Helper()
	cert, key := a.sign(&x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
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
	return Files{
		CA: file("ca.pem", "CERTIFICATE", a.cert.Raw), Cert: file("cert.pem", "CERTIFICATE", cert.Raw), Key: file("key.pem", "PRIVATE KEY", der),
	}
}

// sign signs a certificate; an authority without one signs its own.
func (a *Authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		a.t.Fatal(err)
	}
	c.Subject = pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
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
