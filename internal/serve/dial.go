package serve

import (
	"fmt"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
)

// retryPolicy repeats calls that never reached a server, or one that was not there. Every mutation carries a request_id,
// so a repetition is safe. What a server of the suite itself answers UNAVAILABLE to is not repeated, see
// [fault.UnaryServer].
const retryPolicy = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{}],
    "waitForReady": false,
    "retryPolicy": {
      "maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 3,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// reconnect bounds how long a server may be back before it is found: gRPC by itself waits for up to two minutes.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// Dial returns a connection to a server of the suite. With a token source the calls carry the service's token and name
// the user they are made for; without, the caller's metadata passes as it is. Nil creds: no TLS.
func Dial(target string, tokens *auth.TokenSource, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	plain := creds == nil
	if plain {
		creds = insecure.NewCredentials()
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(retryPolicy),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(reconnect),
	}
	if tokens != nil {
		opts = append(opts,
			grpc.WithPerRPCCredentials(auth.Bearer(tokens, plain)),
			grpc.WithChainUnaryInterceptor(auth.UnaryClient()),
			grpc.WithChainStreamInterceptor(auth.StreamClient()),
		)
	}
	conn, err := grpc.NewClient(target, opts...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	return conn, nil
}
