package rest

import (
	"context"
	"encoding/json"
	"net/http"
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
		code, states := http.StatusOK, map[string]string{}
		for _, b := range backends {
			res, err := healthv1.NewHealthClient(b.Conn).Check(ctx, &healthv1.HealthCheckRequest{})
			states[b.Name] = res.GetStatus().String()
			if err != nil {
				states[b.Name] = "UNREACHABLE"
			}
			if err != nil || res.GetStatus() != healthv1.HealthCheckResponse_SERVING {
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
