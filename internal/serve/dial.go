package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
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

// maxAnswer is the largest answer taken of a server of the suite, in bytes: a page of 500 dungeons is beyond gRPC's 4 MiB.
const maxAnswer = 64 << 20

// Dial returns a connection to a server of the suite. With a token source the calls carry the service's token and name
// the user they are made for; without, the caller's metadata passes as it is. Nil creds: no TLS.
func Dial(target string, tokens *auth.TokenSource, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	var own []grpc.DialOption
	if tokens != nil {
		own = []grpc.DialOption{
			grpc.WithPerRPCCredentials(auth.Bearer(tokens, creds == nil)),
			grpc.WithChainUnaryInterceptor(auth.UnaryClient(), tokens.UnaryClient()),
			grpc.WithChainStreamInterceptor(auth.StreamClient(), tokens.StreamClient()),
		}
	}
	return dial(target, creds, own)
}

// DialEdge returns a connection on which an edge passes its callers' metadata on as it is, and names their address, see
// [WithClient], with its own token as the proof. Nil tokens, an issuer that gives none at the moment, and servers that do not
// take it: the servers then take the edge's address for everybody's.
func DialEdge(target string, tokens *auth.TokenSource, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	if tokens == nil {
		return dial(target, creds, nil)
	}
	e := &edge{tokens: tokens, now: time.Now}
	return dial(target, creds, []grpc.DialOption{grpc.WithChainUnaryInterceptor(e.unary), grpc.WithChainStreamInterceptor(e.stream)})
}

const (
	// edgeTokenWait is how long a call waits for the edge's own token, and edgeTokenPause how long none is asked for when it
	// waited in vain, or none is shown when it was refused: the proof is not worth more.
	edgeTokenWait  = 500 * time.Millisecond
	edgeTokenPause = 5 * time.Second
)

// edge proves to servers that it may tell them addresses.
type edge struct {
	tokens *auth.TokenSource
	now    func() time.Time

	mu    sync.Mutex
	until time.Time
}

// unary goes without a proof that is refused: that is nothing which the caller did.
func (e *edge) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	with, proved := e.prove(ctx)
	err := invoke(with, method, req, reply, cc, opts...)
	if proved && e.refused(ctx, err) {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	return err
}

// stream cannot begin again, which is told to its caller as it is: the next one goes without the proof.
func (e *edge) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	with, proved := e.prove(ctx)
	s, err := open(with, desc, cc, method, opts...)
	if err != nil || !proved {
		return s, err
	}
	return edgeStream{s, e}, nil
}

type edgeStream struct {
	grpc.ClientStream
	e *edge
}

// RecvMsg implements grpc.ClientStream.
func (s edgeStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil && s.e.refused(s.Context(), err) {
		return fault.New(fault.Unavailable, auth.TokenRefused, "the edge has to prove who it is anew").After(time.Second).Wrap(err)
	}
	return err
}

func (e *edge) prove(ctx context.Context) (with context.Context, proved bool) {
	client := Client(ctx)
	if client == "" {
		return ctx, false
	}
	e.mu.Lock()
	pause := e.now().Before(e.until)
	e.mu.Unlock()
	if pause {
		return ctx, false
	}
	within, cancel := context.WithTimeout(ctx, edgeTokenWait)
	defer cancel()
	token, err := e.tokens.Token(within)
	if err != nil {
		if ctx.Err() == nil { // who leaves has not waited in vain
			e.pause()
		}
		return ctx, false
	}
	return metadata.AppendToOutgoingContext(ctx, ClientHeader, client, EdgeHeader, token), true
}

func (e *edge) pause() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until = e.now().Add(edgeTokenPause)
}

// refused tells whether a server does not take the proof. The token is renewed then.
func (e *edge) refused(ctx context.Context, err error) bool {
	if fault.ReasonOf(fault.FromStatus(err)) != ClientNotAllowed {
		return false
	}
	if e.tokens.Logger != nil {
		e.tokens.Logger.WarnContext(ctx, "a service does not take the edge's token, and its address for everybody's", "scope", auth.ServiceScope)
	}
	e.tokens.Refused()
	e.pause()
	return true
}

func dial(target string, creds credentials.TransportCredentials, more []grpc.DialOption) (*grpc.ClientConn, error) {
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(retryPolicy),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
	}
	conn, err := grpc.NewClient(target, append(opts, more...)...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", target, err)
	}
	return conn, nil
}
