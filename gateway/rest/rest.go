package rest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/rs/cors"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// Backend is one gRPC server with the services that it registers at the edge.
type Backend struct {
	// Name is shown by /readyz.
	Name string
	// Conn reaches it.
	Conn *grpc.ClientConn
	// Register binds its services to the mux: the Register…Handler functions of the generated code.
	Register []Registration
}

// Registration binds one service to the mux.
type Registration = func(context.Context, *runtime.ServeMux, *grpc.ClientConn) error

// Config says what the edge serves.
type Config struct {
	// Backends are called over gRPC.
	Backends []Backend
	// MaxBody is the largest request body in bytes; 0 means 1 MiB.
	MaxBody int64
	// AllowedOrigins are the origins that browsers may call from; "*" is any. None: same origin only.
	AllowedOrigins []string
	// KeepAlive is how often an idle event stream gets a comment, so that proxies keep it open; 0 means 15 s.
	KeepAlive time.Duration
	// Limits are what callers may ask for.
	Limits Limits
}

const (
	defaultMaxBody   = 1 << 20
	defaultKeepAlive = 15 * time.Second
)

// forwarded are the headers that reach the services as gRPC metadata under their own names, beside Authorization, which
// grpc-gateway passes by itself. The actor header is among them so that the services refuse it from outsiders, rather
// than this edge quietly dropping it.
var forwarded = []string{"idempotency-key", "x-wayfarer-actor", "traceparent", "tracestate"}

// refuseUnknownParameters sets the parser of all muxes of the process: grpc-gateway keeps it in a global, although the
// option looks like one mux's own, so it is set once and before any request.
var refuseUnknownParameters = sync.OnceFunc(func() { runtime.SetQueryParameterParser(strictQuery{})(nil) })

// New returns the handler of /v1. Its streams end with ctx, as those of a service that stops do: watchers resume elsewhere,
// and hold up no end. It fails when a backend cannot be registered.
func New(ctx context.Context, cfg Config) (http.Handler, error) {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultMaxBody
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = defaultKeepAlive
	}
	refuseUnknownParameters()
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, newJSON()),
		runtime.WithMarshalerOption(eventStream, sse{newJSON()}),
		runtime.WithIncomingHeaderMatcher(incoming),
		runtime.WithMetadata(nameSpan),
		runtime.WithOutgoingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithErrorHandler(writeError),
		runtime.WithRoutingErrorHandler(routingError),
		runtime.WithStreamErrorHandler(streamError),
		runtime.WithForwardResponseOption(beginStream),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
	for _, b := range cfg.Backends {
		for _, register := range b.Register {
			if err := register(ctx, mux, b.Conn); err != nil {
				return nil, fmt.Errorf("register %s at the edge: %w", b.Name, err)
			}
		}
	}
	var h http.Handler = mux
	h = plainErrors(h)
	h = resume(h)
	h = keepAlive(h, cfg.KeepAlive)
	h = noQueryWithBody(h)
	h = limitBody(h, cfg.MaxBody)
	h = guard(h, cfg.Limits, func(end func()) (forget func() bool) { return context.AfterFunc(ctx, end) })
	h = otelhttp.NewHandler(h, "rest", otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return r.Method }))
	h = unnamed(h)
	if len(cfg.AllowedOrigins) > 0 {
		h = cors.New(cors.Options{
			AllowedOrigins: cfg.AllowedOrigins,
			AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "Accept", "Idempotency-Key", "Last-Event-ID", "Traceparent"},
			ExposedHeaders: []string{"Retry-After"},
			MaxAge:         600,
		}).Handler(h)
	}
	return h, nil
}

// unnamed takes from a request what figures would be kept by beside its route: the host, which callers invent, so that they
// could make so many series that no more are kept, and the pattern of the mux around this handler, which is everybody's.
func unnamed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context()) // a copy
		r.Host, r.Pattern = "", ""
		next.ServeHTTP(w, r)
	})
}

// nameSpan names the span of a request by its route, which is known only once it is found.
func nameSpan(ctx context.Context, r *http.Request) metadata.MD {
	if pattern, ok := runtime.HTTPPathPattern(ctx); ok {
		s := trace.SpanFromContext(ctx)
		s.SetName(r.Method + " " + pattern)
		route := attribute.String("http.route", pattern)
		s.SetAttributes(route)
		// The figures of a request go by its route as well, and by the method that answers it.
		if labels, ok := otelhttp.LabelerFromContext(ctx); ok {
			labels.Add(route)
			if method, ok := runtime.RPCMethod(ctx); ok {
				labels.Add(attribute.String("rpc.method", strings.TrimPrefix(method, "/")))
			}
		}
	}
	return nil
}

func incoming(header string) (string, bool) {
	name := strings.ToLower(header)
	return name, slices.Contains(forwarded, name)
}

// limitBody refuses bodies above limit bytes: by their stated length at once, else when they are read.
func limitBody(next http.Handler, limit int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > limit {
			writeStatus(w, http.StatusRequestEntityTooLarge, tooLarge(limit))
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		next.ServeHTTP(w, r)
	})
}

// noQueryWithBody refuses query parameters where the request comes as a body: they would be ignored.
func noQueryWithBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.RawQuery != "" {
			name := ""
			if names := slices.Sorted(maps.Keys(r.URL.Query())); len(names) > 0 {
				name = names[0]
			}
			writeStatus(w, http.StatusBadRequest, problem(codes.InvalidArgument, reasonUnknownParameter, name, "this call takes no query parameters"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
