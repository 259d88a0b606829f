package serve

import (
	"context"
	"encoding/json"
	"net/http"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Probes serves what stands beside the gRPC port, for who looks after the process: /healthz, which answers 200 as long as the
// process answers at all, /readyz, 200 while health is SERVING and else 503, and /metrics, which is the given handler.
// The probes of Kubernetes cannot speak gRPC over TLS, so these are plain HTTP on a port that nobody else reaches.
func (s *Server) Probes(metrics http.Handler) http.Handler {
	return probes(metrics, func(ctx context.Context) bool {
		res, err := s.health.Check(ctx, &healthv1.HealthCheckRequest{})
		return err == nil && res.GetStatus() == healthv1.HealthCheckResponse_SERVING
	})
}

// Waiting is [Server.Probes] of a program that has no server yet, since it waits for something.
func Waiting(metrics http.Handler) http.Handler {
	return probes(metrics, func(context.Context) bool { return false })
}

func probes(metrics http.Handler, ready func(context.Context) bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, healthv1.HealthCheckResponse_SERVING)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !ready(r.Context()) {
			say(w, http.StatusServiceUnavailable, healthv1.HealthCheckResponse_NOT_SERVING)
			return
		}
		say(w, http.StatusOK, healthv1.HealthCheckResponse_SERVING)
	})
	return mux
}

func say(w http.ResponseWriter, code int, status healthv1.HealthCheckResponse_ServingStatus) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": status.String()}) // a prober that left needs no answer
}
