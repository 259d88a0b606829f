package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/gateway/web"
)

func get(t *testing.T, url string) (*http.Response, []byte) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

var (
	linked = regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
	inline = regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style|\son[a-z]+="|\sstyle="|javascript:`)
)

func TestPages(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(web.Handler())
	t.Cleanup(srv.Close)
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/docs": "text/html; charset=utf-8",
		"/docs.js": "text/javascript; charset=utf-8", "/style.css": "text/css; charset=utf-8",
		"/console": "text/html; charset=utf-8", "/console.css": "text/css; charset=utf-8", "/console.js": "text/javascript; charset=utf-8",
		"/api.js": "text/javascript; charset=utf-8", "/format.js": "text/javascript; charset=utf-8", "/index.js": "text/javascript; charset=utf-8",
	} {
		res, body := get(t, srv.URL+path)
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != contentType || len(body) == 0 {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", path, res.Header)
		}
		if !strings.HasPrefix(contentType, "text/html") {
			continue
		}
		if found := inline.Find(body); found != nil {
			t.Errorf("%s has %q, which its policy forbids", path, found)
		}
		for _, m := range linked.FindAllSubmatch(body, -1) {
			link := string(m[1])
			if link == "data:," {
				continue // no icon
			}
			if !strings.HasPrefix(link, "/") || strings.HasPrefix(link, "//") {
				t.Errorf("%s leads to %s, away from here", path, link)
				continue
			}
			if link == "/healthz" || link == "/readyz" {
				continue // of the REST edge
			}
			if res, _ := get(t, srv.URL+link); res.StatusCode != 200 {
				t.Errorf("%s leads to %s: %d", path, link, res.StatusCode)
			}
		}
	}
}

// TestScriptsShowTexts: what a table wrote cannot become markup where no script can write any.
func TestScriptsShowTexts(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("*.js")
	if err != nil || len(scripts) < 4 {
		t.Fatalf("%q, %v", scripts, err)
	}
	markup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc|\beval\(|new Function|setAttribute`)
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := markup.Find(text); found != nil {
			t.Errorf("%s uses %s", name, found)
		}
	}
}

func TestTheDocumentForPrograms(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(web.Handler())
	t.Cleanup(srv.Close)
	res, body := get(t, srv.URL+"/openapi.json")
	var doc struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Paths["/v1/campaigns"]["post"] == nil {
		t.Errorf("version %q, %d paths", doc.OpenAPI, len(doc.Paths))
	}
	if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("headers %v", res.Header)
	}
}

func TestNothingElse(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(web.Handler())
	t.Cleanup(srv.Close)
	for _, path := range []string{"/web.go", "/index.html", "/console.html", "/console/", "/testdata/browser.test.mjs", "/docs/", "/.env", "/%2e%2e/web.go"} {
		if res, _ := get(t, srv.URL+path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	res, err := http.Post(srv.URL+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %d", res.StatusCode)
	}
}
