package expedition

import (
	"fmt"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// Trace lets the trace of a command go through Temporal: from the call to the worker, the activity, and the services that
// it calls. It changes no history. Call it once the program's telemetry is installed.
func Trace(opts *client.Options) error {
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{DisableSignalTracing: true, DisableQueryTracing: true})
	if err != nil {
		return fmt.Errorf("trace workflows: %w", err)
	}
	opts.Interceptors = append(opts.Interceptors, tracing)
	return nil
}
