// Package web is what a browser is shown: the page at / and the page that browses the API.
//
// It owns no data: the pages are files, and what they show they fetch from the REST edge of the same origin.
package web

import (
	"embed"
	"net/http"

	"github.com/wayfarer-rpg/wayfarer/proto/openapi"
)

//go:embed index.html docs.html docs.js style.css
var files embed.FS

// Handler serves the pages at / and /docs, and the OpenAPI document at /openapi.json.
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
			h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'")
			h.Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write(body) // the caller may be gone
		}
	}
	mux.HandleFunc("GET /{$}", page("index.html", "text/html; charset=utf-8"))
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
