// Package web is what a browser is shown: the page at /, the console, and the page that browses the API.
//
// It owns no data: the pages are files, and what they show they fetch from the REST edge of the same origin.
package web

import (
	"embed"
	"net/http"

	"github.com/wayfarer-rpg/wayfarer/proto/openapi"
)

//go:embed index.html docs.html docs.js style.css console.html console.css console.js api.js format.js index.js
var files embed.FS

// policy lets a page load what lies beside it, call its own origin, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the pages at /, /console and /docs, and the OpenAPI document at /openapi.json.
func Handler() http.Handler {
	mux := http.NewServeMux()
	page := func(name, contentType string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			body, err := files.ReadFile(name)
			if err != nil {
				http.Error(w, "not found", http.StatusNotFound)
				return
			}
			h := w.Header()
			h.Set("Content-Type", contentType)
			h.Set("Content-Security-Policy", policy)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Cache-Control", "no-cache") // pages and scripts of one version belong together
			_, _ = w.Write(body)               // the caller may be gone
		}
	}
	mux.HandleFunc("GET /{$}", page("index.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /console", page("console.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /console.css", page("console.css", "text/css; charset=utf-8"))
	for _, script := range []string{"console.js", "api.js", "format.js", "index.js"} {
		mux.HandleFunc("GET /"+script, page(script, "text/javascript; charset=utf-8"))
	}
	mux.HandleFunc("GET /docs", page("docs.html", "text/html; charset=utf-8"))
	mux.HandleFunc("GET /docs.js", page("docs.js", "text/javascript; charset=utf-8"))
	mux.HandleFunc("GET /style.css", page("style.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // a public document
		_, _ = w.Write(openapi.Document)
	})
	return mux
}
