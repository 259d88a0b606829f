package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Health adds GET /healthz, which says that this program lives, and GET /readyz, which says whether every backend serves,
// with each one's state; 503 unless all do.
func Health(mux *http.ServeMux, backends []Backend) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeHealth(w, http.StatusOK, map[string]string{"status": "SERVING"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
		defer cancel()
		answers := make([]string, len(backends))
		var wg sync.WaitGroup
		for i, b := range backends { // at once, so that one that hangs hides no other
			wg.Go(func() {
				res, err := healthv1.NewHealthClient(b.Conn).Check(ctx, &healthv1.HealthCheckRequest{})
				if answers[i] = res.GetStatus().String(); err != nil {
					answers[i] = "UNREACHABLE"
				}
			})
		}
		wg.Wait()
		code, states := http.StatusOK, map[string]string{}
		for i, b := range backends {
			if states[b.Name] = answers[i]; answers[i] != healthv1.HealthCheckResponse_SERVING.String() {
				code = http.StatusServiceUnavailable
			}
		}
		writeHealth(w, code, states)
	})
}

func writeHealth(w http.ResponseWriter, code int, v map[string]string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}
