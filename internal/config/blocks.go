package config

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Secret is text that no log and no error shows; string(s) is the text.
type Secret string

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Server is how a program listens and what it lets in.
type Server struct {
	// Listen is the address of the gRPC server, host:port; port 0 takes a free one.
	Listen string `env:"WAYFARER_LISTEN" envDefault:":9090"`
	// MetricsListen is the address of the HTTP server for /metrics, host:port; empty: none.
	MetricsListen string `env:"WAYFARER_METRICS_LISTEN"`
	// MaxReceive is the largest message taken, in bytes, 1 KiB to 64 MiB.
	MaxReceive int `env:"WAYFARER_MAX_RECEIVE_BYTES" envDefault:"1048576"`
	// Reflection switches gRPC server reflection on.
	Reflection bool `env:"WAYFARER_REFLECTION" envDefault:"false"`
	// Grace is how long calls under way may go on after the program was told to stop, 1 ms to 10 min.
	Grace time.Duration `env:"WAYFARER_GRACE" envDefault:"10s"`
	// Deadline is given to calls that come without one, 1 ms to 10 min.
	Deadline time.Duration `env:"WAYFARER_DEADLINE" envDefault:"30s"`
	// LogLevel is DEBUG, INFO, WARN or ERROR.
	LogLevel slog.Level `env:"WAYFARER_LOG_LEVEL" envDefault:"INFO"`
}

// Check implements [Checker].
func (s *Server) Check() error {
	return errors.Join(
		address("WAYFARER_LISTEN", s.Listen, true),
		address("WAYFARER_METRICS_LISTEN", s.MetricsListen, false),
		within("WAYFARER_MAX_RECEIVE_BYTES", s.MaxReceive, 1<<10, 64<<20),
		within("WAYFARER_GRACE", s.Grace, time.Millisecond, 10*time.Minute),
		within("WAYFARER_DEADLINE", s.Deadline, time.Millisecond, 10*time.Minute),
	)
}

// Limits are what callers may ask of a program. 0 says no limit; rates are calls a second, and bursts how many at once. The
// defaults are beyond what one machine does, so that nobody meets them by accident.
type Limits struct {
	// PrincipalRate and PrincipalBurst are of one principal; of services that call for others there is none.
	PrincipalRate  float64 `env:"WAYFARER_LIMIT_PRINCIPAL_RATE" envDefault:"10000"`
	PrincipalBurst int     `env:"WAYFARER_LIMIT_PRINCIPAL_BURST" envDefault:"20000"`
	// AddressRate and AddressBurst are of one address, whoever calls from there.
	AddressRate  float64 `env:"WAYFARER_LIMIT_ADDRESS_RATE" envDefault:"20000"`
	AddressBurst int     `env:"WAYFARER_LIMIT_ADDRESS_BURST" envDefault:"40000"`
	// Streams is how many one principal may have open, at the edge one address.
	Streams int `env:"WAYFARER_LIMIT_STREAMS" envDefault:"2000"`
	// InFlight is how many calls may be under way at once, streams aside; what is beyond is turned away.
	InFlight int `env:"WAYFARER_LIMIT_IN_FLIGHT" envDefault:"4000"`
	// AddressConnections is how many connections one address may have open, unless it is one of Proxies; Connections how many
	// all together. What is beyond is closed at once.
	AddressConnections int `env:"WAYFARER_LIMIT_ADDRESS_CONNECTIONS" envDefault:"5000"`
	Connections        int `env:"WAYFARER_LIMIT_CONNECTIONS" envDefault:"20000"`
	// Proxies are nets whose X-Forwarded-For is believed, as in 10.0.0.0/8.
	Proxies []netip.Prefix `env:"WAYFARER_TRUSTED_PROXIES"`
}

// Check implements [Checker].
func (l *Limits) Check() error {
	const most = 1_000_000_000
	return errors.Join(
		within("WAYFARER_LIMIT_PRINCIPAL_RATE", l.PrincipalRate, 0, most), within("WAYFARER_LIMIT_PRINCIPAL_BURST", l.PrincipalBurst, 0, most),
		within("WAYFARER_LIMIT_ADDRESS_RATE", l.AddressRate, 0, most), within("WAYFARER_LIMIT_ADDRESS_BURST", l.AddressBurst, 0, most),
		within("WAYFARER_LIMIT_STREAMS", l.Streams, 0, most), within("WAYFARER_LIMIT_IN_FLIGHT", l.InFlight, 0, most),
		within("WAYFARER_LIMIT_ADDRESS_CONNECTIONS", l.AddressConnections, 0, most), within("WAYFARER_LIMIT_CONNECTIONS", l.Connections, 0, most),
	)
}

// Auth is whose tokens are good.
type Auth struct {
	// Issuer and Audience stand in every good token.
	Issuer   string `env:"WAYFARER_ISSUER,required"`
	Audience string `env:"WAYFARER_AUDIENCE" envDefault:"wayfarer"`
	// JWKS is the http or https URL of the issuer's keys.
	JWKS string `env:"WAYFARER_JWKS_URL,required"`
	// Leeway is how far the issuer's clock and ours may differ, 1 ms to 5 min.
	Leeway time.Duration `env:"WAYFARER_TOKEN_LEEWAY" envDefault:"30s"`
}

// Check implements [Checker].
func (a *Auth) Check() error {
	return errors.Join(webURL("WAYFARER_JWKS_URL", a.JWKS), within("WAYFARER_TOKEN_LEEWAY", a.Leeway, time.Millisecond, 5*time.Minute))
}

// Identity is who the program itself is when it calls other services.
type Identity struct {
	// TokenURL is the http or https URL of the issuer's token endpoint.
	TokenURL string `env:"WAYFARER_TOKEN_URL,required"`
	// ClientID and ClientSecret are the program's own, for client credentials.
	ClientID     string `env:"WAYFARER_CLIENT_ID,required"`
	ClientSecret Secret `env:"WAYFARER_CLIENT_SECRET,required"`
}

// Check implements [Checker].
func (i *Identity) Check() error { return webURL("WAYFARER_TOKEN_URL", i.TokenURL) }

// TLS are the files by which programs know each other, PEM, read anew when they change.
type TLS struct {
	// Cert and Key are the program's own, as a server and as a client; both or none, and without them it serves without TLS.
	Cert string `env:"WAYFARER_TLS_CERT"`
	Key  string `env:"WAYFARER_TLS_KEY"`
	// ClientCA signs the clients that are let in; empty: no client is asked for a certificate.
	ClientCA string `env:"WAYFARER_TLS_CLIENT_CA"`
	// CA signs the servers of the suite that are called; empty: they are called without TLS.
	CA string `env:"WAYFARER_TLS_CA"`
}

// Check implements [Checker].
func (t *TLS) Check() error {
	switch {
	case t.Cert != "" && t.Key == "":
		return Bad("WAYFARER_TLS_KEY", "is needed with WAYFARER_TLS_CERT")
	case t.Cert == "" && t.Key != "":
		return Bad("WAYFARER_TLS_CERT", "is needed with WAYFARER_TLS_KEY")
	case t.ClientCA != "" && t.Cert == "":
		return Bad("WAYFARER_TLS_CERT", "is needed with WAYFARER_TLS_CLIENT_CA")
	}
	return nil
}

// The stores that journals are kept in.
const (
	SQLite  = "sqlite"
	MongoDB = "mongodb"
)

// Store is where journals are kept.
type Store struct {
	// Kind is SQLite or MongoDB.
	Kind string `env:"STORE" envDefault:"sqlite"`
	// MongoURI is the MongoDB connection string, password included; needed for MongoDB.
	MongoURI Secret `env:"MONGODB_URI"`
	// DataDir is the directory of SQLite's files.
	DataDir string `env:"WAYFARER_DATA_DIR" envDefault:".wayfarer"`
}

// Check implements [Checker].
func (s *Store) Check() error {
	switch uri := string(s.MongoURI); {
	case s.Kind != SQLite && s.Kind != MongoDB:
		return Bad("STORE", "%q is neither %q nor %q", s.Kind, SQLite, MongoDB)
	case s.Kind == MongoDB && uri == "":
		return Bad("MONGODB_URI", "is needed for STORE=%s", MongoDB)
	case uri != "" && !strings.HasPrefix(uri, "mongodb://") && !strings.HasPrefix(uri, "mongodb+srv://"):
		return Bad("MONGODB_URI", "does not begin with mongodb:// or mongodb+srv://")
	}
	return nil
}

// Telemetry is where traces go. Metrics are served, see [Server].MetricsListen.
type Telemetry struct {
	// Endpoint is the URL of an OTLP collector (gRPC); empty: no traces leave the program. The other OTEL_EXPORTER_OTLP_
	// variables of OpenTelemetry hold as well.
	Endpoint string `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	// Ratio of traces kept of those that begin here, 0 to 1.
	Ratio float64 `env:"WAYFARER_TRACE_RATIO" envDefault:"1"`
}

// Check implements [Checker].
func (t *Telemetry) Check() error {
	err := within("WAYFARER_TRACE_RATIO", t.Ratio, 0, 1)
	if t.Endpoint != "" {
		err = errors.Join(webURL("OTEL_EXPORTER_OTLP_ENDPOINT", t.Endpoint), err)
	}
	return err
}

func address(name, v string, needed bool) error {
	if v == "" && !needed {
		return nil
	}
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return Bad(name, "%q is not host:port", v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return Bad(name, "%q is not a port from 0 to 65535", port)
	}
	return nil
}

func webURL(name, v string) error {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return Bad(name, "is not an http or https URL")
	case u.User != nil:
		return Bad(name, "has a password or a user in it")
	}
	return nil
}

func within[T int | float64 | time.Duration](name string, v, low, high T) error {
	if v >= low && v <= high { // so that NaN is outside
		return nil
	}
	return Bad(name, "%v is not from %v to %v", v, low, high)
}
