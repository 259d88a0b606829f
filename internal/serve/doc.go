// Package serve is how every program of the suite listens, watches itself and stops.
//
// It owns the order of the interceptors, health, logs, telemetry, dialing between services, and the shutdown: health turns
// to NOT_SERVING, streams end, calls under way are given a grace period, what is left is cut off, then stores and the like
// are closed in order. It knows no service. What the edge loses: panics become internal errors, logged with their stack.
package serve
