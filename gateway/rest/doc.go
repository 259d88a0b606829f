// Package rest is the HTTP edge: it turns REST calls into gRPC calls with grpc-gateway.
//
// It owns the wire form: JSON with zero values present, streams as server-sent events or as one JSON object a line,
// errors as google.rpc.Status with details, and what is refused before a service hears of it: bodies that are too large
// or no JSON, unknown fields, unknown query parameters, paths that do not exist. It decides nothing about the game and
// keeps nothing. What the edge loses: gRPC trailers, and header metadata other than the headers listed in [forwarded].
package rest
