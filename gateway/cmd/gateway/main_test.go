package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/certtest"
	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/port"
)

// The edge by TLS: REST, pages and the console's gRPC show one certificate, metrics and probes are plain and beside. None of
// the services is there, which the edge says, and goes on.
func TestTheEdgeByTLS(t *testing.T) {
	web := httptest.NewUnstartedServer(nil)
	issuerURL := "http://" + web.Listener.Addr().String()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	issuer := devissuer.New(devissuer.Config{Issuer: issuerURL, Audience: "wayfarer", Services: map[string]string{"gateway": "s"}}, key)
	web.Config.Handler = issuer.Handler()
	web.Start()
	t.Cleanup(web.Close)
	token, err := issuer.Token("ada")
	if err != nil {
		t.Fatal(err)
	}
	at, release, err := port.Hold(4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	files := certtest.New(t).Write(t.TempDir())
	env := map[string]string{
		"WAYFARER_LISTEN": at[0], "WAYFARER_GRPC_LISTEN": at[1], "WAYFARER_METRICS_LISTEN": at[2], "WAYFARER_LOG_LEVEL": "ERROR",
		"WAYFARER_EDGE_TLS_CERT": files.Cert, "WAYFARER_EDGE_TLS_KEY": files.Key, "WAYFARER_GRACE": "1m",
		"WAYFARER_ISSUER": issuerURL, "WAYFARER_JWKS_URL": issuerURL + "/jwks.json",
		"WAYFARER_TOKEN_URL": issuerURL + "/token", "WAYFARER_CLIENT_ID": "gateway", "WAYFARER_CLIENT_SECRET": "s",
	}
	for _, service := range []string{"DICE", "PARTY", "DUNGEON", "TRAVEL", "EXPEDITION"} {
		env["WAYFARER_"+service+"_ADDR"] = at[3] // nobody is there
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, func(k string) string { return env[k] }) }()

	pem, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	trusting := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusting, DisableKeepAlives: true}, Timeout: await.Limit}
	ask := func(method, url string) (code int, header http.Header, body string, err error) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"line": "+party", "request_id": "r"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(req)
		if err != nil {
			return 0, nil, "", err
		}
		defer func() { _ = res.Body.Close() }()
		raw, err := io.ReadAll(res.Body)
		return res.StatusCode, res.Header, string(raw), err
	}
	for deadline := time.Now().Add(await.Limit); ; { // until it listens
		code, header, _, err := ask(http.MethodGet, "https://"+at[0]+"/healthz")
		if err == nil {
			if code != http.StatusOK || !strings.HasPrefix(header.Get("Strict-Transport-Security"), "max-age=") {
				t.Errorf("health: %d, %v", code, header)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("it ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	// It looks whether it can check tokens once it serves.
	await.Until(t, "the console is ready", func() (bool, any) {
		_, _, body, err := ask(http.MethodGet, "http://"+at[2]+"/readyz")
		return err == nil && strings.Contains(body, `"console":"SERVING"`), fmt.Sprint(body, err)
	})
	for _, tt := range []struct {
		name, method, url string
		code              int
		want              string
	}{
		{"a page", http.MethodGet, "https://" + at[0] + "/", 200, "<html"},
		{"a service that is away", http.MethodGet, "https://" + at[0] + "/v1/campaigns/c", 503, "UNREACHABLE"},
		// The line gets through the gateway's own TLS to the console, which misses the party.
		{"the console", http.MethodPost, "https://" + at[0] + "/v1/campaigns/c/console:execute", 503, "SERVICE_UNAVAILABLE"},
		{"REST without TLS", http.MethodGet, "http://" + at[0] + "/healthz", 400, "HTTPS"},
		{"probes, by which it lives", http.MethodGet, "http://" + at[2] + "/healthz", 200, "SERVING"},
		{"and is not ready", http.MethodGet, "http://" + at[2] + "/readyz", 503, `"console":"SERVING"`},
		{"metrics, by route and method", http.MethodGet, "http://" + at[2] + "/metrics", 200, `rpc_method="wayfarer.party.v1.CampaignService/GetCampaign"`},
	} {
		code, _, body, err := ask(tt.method, tt.url)
		if strings.HasPrefix(tt.name, "metrics") { // a request is measured after it is answered
			await.Until(t, tt.name, func() (bool, any) {
				code, _, body, err = ask(tt.method, tt.url)
				return strings.Contains(body, tt.want), body
			})
		}
		if err != nil || code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d, %v: %.2000s", tt.name, code, err, body)
		}
	}
	execute := func(creds credentials.TransportCredentials) codes.Code {
		conn, err := grpc.NewClient(at[1], grpc.WithTransportCredentials(creds))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = consolev1.NewConsoleServiceClient(conn).Execute(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer nonsense"), &consolev1.ExecuteRequest{})
		return status.Code(err)
	}
	if got := execute(credentials.NewTLS(trusting)); got != codes.Unauthenticated {
		t.Errorf("the console's port by TLS: %s", got)
	}
	if got := execute(insecure.NewCredentials()); got != codes.Unavailable {
		t.Errorf("the console's port without: %s", got)
	}
	// While a request is under way the edge takes no more, and whoever watches it sees it to the end.
	slow, err := tls.Dial("tcp", at[0], trusting)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := fmt.Fprintf(slow, "POST /v1/campaigns HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", token); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "100") { // its body is waited for
		t.Fatalf("%q, %v", line, err)
	}
	stop()
	await.Until(t, "nobody new is let in", func() (bool, any) {
		conn, err := tls.Dial("tcp", at[0], trusting)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil, nil
	})
	if code, _, body, err := ask(http.MethodGet, "http://"+at[2]+"/metrics"); err != nil || code != http.StatusOK {
		t.Errorf("metrics while the edge drains: %d %v %.200s", code, err, body)
	}
	_ = slow.Close()
	if err := await.Value(t, done, "the end"); err != nil {
		t.Error(err)
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"a certificate without its key": {map[string]string{"WAYFARER_EDGE_TLS_CERT": "c"}, []string{"WAYFARER_EDGE_TLS_CERT"}},
		"half an identity":              {map[string]string{"WAYFARER_CLIENT_ID": "gateway"}, []string{"WAYFARER_TOKEN_URL", "WAYFARER_CLIENT_SECRET"}},
		"a grace that is over":          {map[string]string{"WAYFARER_GRACE": "-1s"}, []string{"WAYFARER_GRACE"}},
		"no address to listen on":       {map[string]string{"WAYFARER_LISTEN": "8080", "WAYFARER_METRICS_LISTEN": "x"}, []string{"WAYFARER_LISTEN", "WAYFARER_METRICS_LISTEN"}},
		"no time at all":                {map[string]string{"WAYFARER_DEADLINE": "0s"}, []string{"WAYFARER_DEADLINE"}},
		"a body of nothing":             {map[string]string{"WAYFARER_MAX_BODY_BYTES": "0"}, []string{"WAYFARER_MAX_BODY_BYTES"}},
		"a rate that runs backwards":    {map[string]string{"WAYFARER_LIMIT_ADDRESS_RATE": "-1"}, []string{"WAYFARER_LIMIT_ADDRESS_RATE"}},
		"an issuer without keys":        {map[string]string{"WAYFARER_ISSUER": "https://id.example"}, []string{"WAYFARER_JWKS_URL"}},
	} {
		err := run(t.Context(), func(k string) string { return tt.env[k] })
		var bad *config.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(fmt.Sprint(err), want+": ") {
				t.Errorf("%s: %v names no %s", name, err, want)
			}
		}
	}
}
