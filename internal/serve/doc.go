// Package serve is how every program of the suite listens, watches itself and stops.
//
// It owns the order of the interceptors, health, telemetry, dialing between services, and the shutdown: health turns to
// NOT_SERVING, calls under way are given a grace period, what is left is cut off. It knows no service. What the edge
// loses: panics become internal errors, logged with their stack.
package serve
