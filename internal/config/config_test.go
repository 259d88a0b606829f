package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/config"
)

type settings struct {
	Server    config.Server
	Auth      config.Auth
	Identity  config.Identity
	Store     config.Store
	Telemetry config.Telemetry
	TLS       config.TLS
	Limits    config.Limits
	Party     string `env:"PARTY_ADDR" envDefault:"127.0.0.1:1"`
	unseen    int
}

func (s *settings) Check() error {
	if s.unseen++; s.Party == "nowhere" {
		return config.Bad("PARTY_ADDR", "is nowhere")
	}
	return nil
}

func least(more map[string]string) func(string) string {
	vars := map[string]string{
		"WAYFARER_ISSUER": "https://id.example", "WAYFARER_JWKS_URL": "https://id.example/keys",
		"WAYFARER_TOKEN_URL": "https://id.example/token", "WAYFARER_CLIENT_ID": "travel", "WAYFARER_CLIENT_SECRET": "swordfish",
	}
	for k, v := range more {
		vars[k] = v
	}
	return func(k string) string { return vars[k] }
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	got, err := config.Load[settings](least(map[string]string{"WAYFARER_GRACE": "", "STORE": ""}))
	if err != nil {
		t.Fatal(err)
	}
	want := settings{
		Server: config.Server{Listen: ":9090", MaxReceive: 1 << 20, Grace: 10 * time.Second, Deadline: 30 * time.Second, LogLevel: slog.LevelInfo},
		Auth:   config.Auth{Issuer: "https://id.example", Audience: "wayfarer", JWKS: "https://id.example/keys", Leeway: 30 * time.Second},
		Identity: config.Identity{
			TokenURL: "https://id.example/token", ClientID: "travel", ClientSecret: "swordfish",
		},
		Store:     config.Store{Kind: config.SQLite, DataDir: ".wayfarer"},
		Telemetry: config.Telemetry{Ratio: 1},
		Limits: config.Limits{
			PrincipalRate: 10_000, PrincipalBurst: 20_000, AddressRate: 20_000, AddressBurst: 40_000, Streams: 2000, InFlight: 4000,
			AddressConnections: 5000, Connections: 20_000,
		},
		Party:  "127.0.0.1:1",
		unseen: 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEveryVariableIsRead(t *testing.T) {
	t.Parallel()
	got, err := config.Load[settings](least(map[string]string{
		"WAYFARER_LISTEN": "127.0.0.1:0", "WAYFARER_METRICS_LISTEN": "[::1]:9464", "WAYFARER_MAX_RECEIVE_BYTES": "2048",
		"WAYFARER_REFLECTION": "true", "WAYFARER_GRACE": "1m", "WAYFARER_DEADLINE": "5s", "WAYFARER_LOG_LEVEL": "debug",
		"WAYFARER_AUDIENCE": "table", "WAYFARER_TOKEN_LEEWAY": "1ms",
		"STORE": "mongodb", "MONGODB_URI": "mongodb://ada:swordfish@db/", "WAYFARER_DATA_DIR": "/data",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4317", "WAYFARER_TRACE_RATIO": "0.25", "PARTY_ADDR": "party:9090",
		"WAYFARER_LIMIT_PRINCIPAL_RATE": "0.5", "WAYFARER_LIMIT_PRINCIPAL_BURST": "1", "WAYFARER_LIMIT_ADDRESS_RATE": "0",
		"WAYFARER_LIMIT_ADDRESS_BURST": "2", "WAYFARER_LIMIT_STREAMS": "3", "WAYFARER_LIMIT_IN_FLIGHT": "4",
		"WAYFARER_LIMIT_ADDRESS_CONNECTIONS": "5", "WAYFARER_LIMIT_CONNECTIONS": "6",
		"WAYFARER_TRUSTED_PROXIES": "10.0.0.0/8,fd00::/8",
		"WAYFARER_TLS_CERT":        "c", "WAYFARER_TLS_KEY": "k", "WAYFARER_TLS_CLIENT_CA": "clients", "WAYFARER_TLS_CA": "servers",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := settings{
		Server: config.Server{
			Listen: "127.0.0.1:0", MetricsListen: "[::1]:9464", MaxReceive: 2048, Reflection: true, Grace: time.Minute,
			Deadline: 5 * time.Second, LogLevel: slog.LevelDebug,
		},
		Auth: config.Auth{Issuer: "https://id.example", Audience: "table", JWKS: "https://id.example/keys", Leeway: time.Millisecond},
		Identity: config.Identity{
			TokenURL: "https://id.example/token", ClientID: "travel", ClientSecret: "swordfish",
		},
		Store:     config.Store{Kind: config.MongoDB, MongoURI: "mongodb://ada:swordfish@db/", DataDir: "/data"},
		Telemetry: config.Telemetry{Endpoint: "http://collector:4317", Ratio: 0.25},
		Limits: config.Limits{
			PrincipalRate: 0.5, PrincipalBurst: 1, AddressBurst: 2, Streams: 3, InFlight: 4, AddressConnections: 5, Connections: 6,
			Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		},
		TLS:    config.TLS{Cert: "c", Key: "k", ClientCA: "clients", CA: "servers"},
		Party:  "party:9090",
		unseen: 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestBadValuesNameTheirVariable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ key, value string }{
		"a listener without a port":        {"WAYFARER_LISTEN", "localhost"},
		"a port that is no number":         {"WAYFARER_LISTEN", ":http"},
		"a port beyond the last":           {"WAYFARER_METRICS_LISTEN", ":65536"},
		"a size that is no number":         {"WAYFARER_MAX_RECEIVE_BYTES", "1MB"},
		"a size of nothing":                {"WAYFARER_MAX_RECEIVE_BYTES", "0"},
		"a size of a gigabyte":             {"WAYFARER_MAX_RECEIVE_BYTES", "1073741824"},
		"a switch that is neither":         {"WAYFARER_REFLECTION", "maybe"},
		"a time without a unit":            {"WAYFARER_GRACE", "10"},
		"a time before now":                {"WAYFARER_GRACE", "-1s"},
		"no time at all":                   {"WAYFARER_GRACE", "0s"},
		"a deadline that has passed":       {"WAYFARER_DEADLINE", "0s"},
		"no leeway at all":                 {"WAYFARER_TOKEN_LEEWAY", "0s"},
		"a level that is none":             {"WAYFARER_LOG_LEVEL", "loud"},
		"keys that are no URL":             {"WAYFARER_JWKS_URL", "id.example/keys"},
		"keys in a file":                   {"WAYFARER_JWKS_URL", "file:///etc/keys"},
		"a leeway of an hour":              {"WAYFARER_TOKEN_LEEWAY", "1h"},
		"no issuer":                        {"WAYFARER_ISSUER", ""},
		"no secret":                        {"WAYFARER_CLIENT_SECRET", ""},
		"a password in a URL":              {"WAYFARER_TOKEN_URL", "https://ada:swordfish@id.example/token"},
		"a store that is none":             {"STORE", "paper"},
		"a MongoDB that is somewhere else": {"MONGODB_URI", "postgres://ada:swordfish@db/"},
		"a collector that is no URL":       {"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"},
		"a rate that runs backwards":       {"WAYFARER_LIMIT_PRINCIPAL_RATE", "-1"},
		"half a stream":                    {"WAYFARER_LIMIT_STREAMS", "0.5"},
		"fewer connections than none":      {"WAYFARER_LIMIT_ADDRESS_CONNECTIONS", "-1"},
		"a proxy that is no net":           {"WAYFARER_TRUSTED_PROXIES", "10.0.0.1"},
		"a ratio above one":                {"WAYFARER_TRACE_RATIO", "1.5"},
		"a ratio that is no number":        {"WAYFARER_TRACE_RATIO", "NaN"},
		"a key without its certificate":    {"WAYFARER_TLS_CERT", ""},
		"a certificate without its key":    {"WAYFARER_TLS_KEY", ""},
		"what the whole does not like":     {"PARTY_ADDR", "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vars := map[string]string{tc.key: tc.value}
			switch tc.key { // the other half is there
			case "WAYFARER_TLS_CERT":
				vars["WAYFARER_TLS_KEY"] = "k"
			case "WAYFARER_TLS_KEY":
				vars["WAYFARER_TLS_CERT"] = "c"
			}
			_, err := config.Load[settings](least(vars))
			var bad *config.Error
			if !errors.As(err, &bad) || bad.Var != tc.key || bad.Problem == "" {
				t.Fatalf("error %v", err)
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 {
				t.Errorf("%d problems: %q", len(lines), lines)
			}
			if strings.Contains(err.Error(), "swordfish") {
				t.Errorf("a secret is shown: %v", err)
			}
		})
	}
}

func TestAllProblemsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load[settings](func(k string) string {
		return map[string]string{"WAYFARER_GRACE": "x", "WAYFARER_TRACE_RATIO": "y", "WAYFARER_ISSUER": "z"}[k]
	})
	for _, want := range []string{
		"WAYFARER_GRACE: ", "WAYFARER_TRACE_RATIO: ", "WAYFARER_JWKS_URL: is needed", "WAYFARER_TOKEN_URL: is needed",
		"WAYFARER_CLIENT_ID: is needed", "WAYFARER_CLIENT_SECRET: is needed",
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("%d problems: %v", n, err)
	}
	_, err = config.Load[settings](least(map[string]string{"STORE": "mongodb", "WAYFARER_GRACE": "-1s"}))
	if s := fmt.Sprint(err); !strings.Contains(s, "MONGODB_URI: is needed") || !strings.Contains(s, "WAYFARER_GRACE") {
		t.Errorf("two parts are wrong: %v", err)
	}
}

func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	s := struct{ Password config.Secret }{"swordfish"}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "password", s.Password, "all", s)
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %q %s", s, s, s.Password, s.Password), log.String(), string(raw)} {
		if strings.Contains(out, "swordfish") || !strings.Contains(out, "[secret]") {
			t.Errorf("shown: %s", out)
		}
	}
	if string(s.Password) != "swordfish" || config.Secret("").String() != "" {
		t.Error("the text is lost")
	}
}

func TestMistakesOfTheProgramPanic(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func(){
		"no struct": func() { _, _ = config.Load[int](func(string) string { return "" }) },
		"a bad default": func() {
			_, _ = config.Load[struct {
				N int `env:"N" envDefault:"x"`
			}](func(string) string { return "" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			load()
		})
	}
}
