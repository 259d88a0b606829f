package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	// headerTime is how long a client may take for the header of a request: whoever is slower on purpose, on many
	// connections, holds each no longer.
	headerTime = 5 * time.Second
	idleTime   = 2 * time.Minute
	// strictFor is how long a browser that came by TLS comes by nothing else.
	strictFor = "max-age=31536000"
)

// HTTP serves a handler until ctx ends, then lets requests go on for at most grace and cuts off what is left. It returns nil
// after that, else what failed. It closes the listener.
func HTTP(ctx context.Context, lis net.Listener, handler http.Handler, grace time.Duration) error {
	return HTTPS(ctx, lis, handler, grace, nil)
}

// HTTPS is [HTTP] by TLS, with the certificate as of each connection, HTTP/2 for clients that speak it, and the order to
// browsers to come by TLS from now on. Nil, or without a certificate: plain HTTP.
func HTTPS(ctx context.Context, lis net.Listener, handler http.Handler, grace time.Duration, certs *TLS) error {
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
	run := func() error { return srv.Serve(lis) }
	if cfg := certs.HTTP(); cfg != nil {
		srv.TLSConfig, srv.Handler = cfg, strict(handler)
		run = func() error { return srv.ServeTLS(lis, "", "") }
	}
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if ended := <-done; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

func strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Strict-Transport-Security", strictFor)
		next.ServeHTTP(w, r)
	})
}
