package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// TelemetryConfig says what leaves a program.
type TelemetryConfig struct {
	// Program and Version name what is observed.
	Program, Version string
	// Endpoint is the URL of an OTLP collector, gRPC: http without TLS, https with. It gets traces, and metrics every minute;
	// empty: traces stay here, with ids all the same, so that logs can be followed across programs. The
	// OTEL_EXPORTER_OTLP_ and OTEL_METRIC_EXPORT_ variables set the rest.
	Endpoint string
	// Ratio of traces kept of those that begin here, 0 to 1; those that come from elsewhere are kept if they were there.
	Ratio float64
	// LastWords is how long the last traces and metrics may take to be sent at the end; 0 means 10 s.
	LastWords time.Duration
}

// Telemetry is a program's traces and metrics.
type Telemetry struct {
	traces   *sdktrace.TracerProvider
	metrics  *sdkmetric.MeterProvider
	registry *prometheus.Registry

	lastWords time.Duration
}

// NewTelemetry sets up traces and metrics. An unreachable collector is no error: spans are dropped until it is there.
func NewTelemetry(ctx context.Context, cfg TelemetryConfig) (*Telemetry, error) {
	about := resource.NewSchemaless(
		attribute.String("service.namespace", "wayfarer"), attribute.String("service.name", cfg.Program),
		attribute.String("service.version", cfg.Version),
	)
	sampler := sdktrace.NeverSample()
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}
	readers := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if cfg.Endpoint != "" {
		exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(cfg.Endpoint))
		if err != nil {
			return nil, fmt.Errorf("telemetry: %w", err)
		}
		sampler = sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.Ratio))
		opts = append(opts, sdktrace.WithBatcher(exporter))
		metrics, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(cfg.Endpoint))
		if err != nil {
			return nil, fmt.Errorf("telemetry: %w", err)
		}
		readers = append(readers, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	}
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Telemetry{
		traces:   sdktrace.NewTracerProvider(append(opts, sdktrace.WithSampler(sampler))...),
		metrics:  sdkmetric.NewMeterProvider(append(readers, sdkmetric.WithReader(exporter))...),
		registry: registry, lastWords: orDefault(cfg.LastWords, 10*time.Second),
	}, nil
}

// Install makes it the telemetry of the process, which servers, connections and libraries use from then on. Trace contexts
// travel by the W3C header; baggage does not, since strangers could put anything into it.
func (t *Telemetry) Install() {
	otel.SetTracerProvider(t.traces)
	otel.SetMeterProvider(t.metrics)
	otel.SetTextMapPropagator(propagation.TraceContext{})
}

// Metrics serves the metrics as Prometheus reads them.
func (t *Telemetry) Metrics() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry, EnableOpenMetrics: true})
}

// Stop sends what is still here and ends, as [Server.OnStop] wants it. That a collector is away holds no end up for long, nor
// does it make it a bad one.
func (t *Telemetry) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.lastWords)
	defer cancel()
	var traces, metrics error
	var both sync.WaitGroup
	both.Go(func() { traces = t.traces.Shutdown(ctx) })
	both.Go(func() { metrics = t.metrics.Shutdown(ctx) })
	both.Wait()
	if err := errors.Join(traces, metrics); err != nil {
		slog.WarnContext(ctx, "the last traces and metrics are lost", "err", err)
	}
	return nil
}
