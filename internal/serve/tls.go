package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
)

// TLSConfig names the files by which programs know each other. All of them are PEM, and read anew when they change.
type TLSConfig struct {
	// Cert and Key are the program's own: as a server, and as a client of servers that ask for one. Both or none.
	Cert, Key string
	// ClientCA signs the clients that a server takes; empty: it asks for no certificate.
	ClientCA string
	// CA signs the servers that are called; empty: calls are made without TLS.
	CA string
	// Logger is told of files that cannot be read any more, while what was read before stays in use; nil: slog.Default.
	Logger *slog.Logger
	// Every is how often the files are looked at, at most; 0 means 10 s. Looks are made when a connection begins.
	Every time.Duration
}

// TLS are credentials that follow their files. A renewed certificate needs no restart; connections that are there go on.
type TLS struct {
	cfg TLSConfig

	mu     sync.Mutex
	looked time.Time
	stamps [4]stamp
	// The configurations are replaced as a whole, never changed.
	server, client *tls.Config
}

// stamp tells whether a file has changed.
type stamp struct {
	at   time.Time
	size int64
}

// NewTLS reads the files. It fails when one of them is missing or bad.
func NewTLS(cfg TLSConfig) (*TLS, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	cfg.Every = orDefault(cfg.Every, 10*time.Second)
	switch {
	case (cfg.Cert == "") != (cfg.Key == ""):
		return nil, errors.New("tls: a certificate and its key go together")
	case cfg.ClientCA != "" && cfg.Cert == "":
		return nil, errors.New("tls: who asks clients for certificates needs one too")
	}
	t := &TLS{cfg: cfg}
	t.stamps = t.stat()
	var err error
	t.server, t.client, err = cfg.load()
	t.looked = time.Now()
	return t, err
}

// Server returns the credentials of a server, nil without a certificate: then it serves without TLS.
func (t *TLS) Server() credentials.TransportCredentials {
	if t.cfg.Cert == "" {
		return nil
	}
	return following{t}
}

// HTTP returns the configuration of an HTTPS server, nil without a certificate. Browsers are not asked for one of their own.
func (t *TLS) HTTP() *tls.Config {
	if t == nil || t.cfg.Cert == "" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, // browsers and their proxies, which are not of the suite
		NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			server, _ := t.current()
			return &server.Certificates[0], nil
		},
	}
}

// Client returns the credentials of a client, nil without a CA: then it calls without TLS.
func (t *TLS) Client() credentials.TransportCredentials {
	if t.cfg.CA == "" {
		return nil
	}
	return following{t}
}

// Self returns credentials for a program's calls of its own server, whose certificate names it as others see it: exactly that
// certificate is taken. Nil without one.
func (t *TLS) Self() credentials.TransportCredentials {
	if t.cfg.Cert == "" {
		return nil
	}
	return self{following{t}}
}

type self struct{ following }

// ClientHandshake implements credentials.TransportCredentials.
func (s self) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	server, _ := s.t.current()
	return credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: server.Certificates,
		InsecureSkipVerify: true, //nolint:gosec // what is verified instead stands below
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) > 0 && bytes.Equal(cs.PeerCertificates[0].Raw, server.Certificates[0].Certificate[0]) {
				return nil
			}
			return errors.New("tls: this is not our own server")
		},
	}).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (s self) Clone() credentials.TransportCredentials { return s }

func (c TLSConfig) load() (server, client *tls.Config, err error) {
	var own []tls.Certificate
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("tls: certificate %s with key %s: %w", c.Cert, c.Key, err)
		}
		own = []tls.Certificate{pair}
	}
	server = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: own}
	if c.ClientCA != "" {
		if server.ClientCAs, err = pool(c.ClientCA); err != nil {
			return nil, nil, err
		}
		server.ClientAuth = tls.RequireAndVerifyClientCert
	}
	client = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: own}
	if c.CA != "" {
		if client.RootCAs, err = pool(c.CA); err != nil {
			return nil, nil, err
		}
	}
	return server, client, nil
}

func pool(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path) //nolint:gosec // the operator's own file
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("tls: %s holds no certificate", path)
	}
	return p, nil
}

func (t *TLS) stat() (stamps [4]stamp) {
	for i, path := range []string{t.cfg.Cert, t.cfg.Key, t.cfg.ClientCA, t.cfg.CA} {
		if info, err := os.Stat(path); err == nil { // a file that is gone has changed
			stamps[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return stamps
}

// current returns the configurations as of the files, or the last good ones.
func (t *TLS) current() (server, client *tls.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.looked) < t.cfg.Every {
		return t.server, t.client
	}
	t.looked = time.Now()
	now := t.stat()
	if now == t.stamps {
		return t.server, t.client
	}
	server, client, err := t.cfg.load()
	if err != nil { // perhaps half of them are written: they are looked at again
		t.cfg.Logger.Warn("TLS files cannot be read; the ones read before stay in use", "err", err)
		return t.server, t.client
	}
	t.server, t.client, t.stamps = server, client, now
	t.cfg.Logger.Info("TLS files read anew")
	return server, client
}

// following are transport credentials as of the moment of each handshake.
type following struct{ t *TLS }

// ClientHandshake implements credentials.TransportCredentials.
func (f following) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	_, client := f.t.current()
	return credentials.NewTLS(client).ClientHandshake(ctx, authority, conn)
}

// ServerHandshake implements credentials.TransportCredentials.
func (f following) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	server, _ := f.t.current()
	return credentials.NewTLS(server).ServerHandshake(conn)
}

// Info implements credentials.TransportCredentials.
func (f following) Info() credentials.ProtocolInfo { return credentials.NewTLS(nil).Info() }

// Clone implements credentials.TransportCredentials.
func (f following) Clone() credentials.TransportCredentials { return f }

// OverrideServerName implements credentials.TransportCredentials, which no longer wants it.
func (f following) OverrideServerName(string) error { return errors.ErrUnsupported }
