package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/wayfarer-rpg/wayfarer/internal/limit"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// Limits say what callers may ask of the edge, which knows them by their addresses: who they are the services find out, and
// have limits of their own. A zero says no limit, but of Headers and Deadline.
type Limits struct {
	// Address is how many requests may come from one address.
	Address limit.Rate
	// Streams is how many streams one address may have open.
	Streams int
	// InFlight is how many requests may be under way at once; what is beyond is turned away at once. Streams do not count.
	InFlight int
	// Headers is how many header lines a request may have; 0 means 100.
	Headers int
	// Deadline is how long a request may take, its body included; 0 means 30 s. Streams have none, but each of their writes.
	Deadline time.Duration
	// Proxies are the addresses whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
	// Now is the clock of the buckets; nil: time.Now.
	Now func() time.Time
}

const (
	defaultHeaders  = 100
	defaultDeadline = 30 * time.Second
	// reserve is what an answer may take to be written beyond the deadline of its request.
	reserve = 5 * time.Second
	// slowReader is how long a stream waits for a reader who does not read.
	slowReader = 30 * time.Second

	reasonTooManyHeaders = "TOO_MANY_HEADERS"
)

// errStopping is why a stream ends with the edge.
var errStopping = errors.New("the edge stops")

// guard turns away what is too much, and bounds how long the rest may take. What it lets in knows its client. Streams end with
// the edge, of which atEnd tells them.
func guard(next http.Handler, l Limits, atEnd func(end func()) (forget func() bool)) http.Handler {
	if l.Headers == 0 {
		l.Headers = defaultHeaders
	}
	if l.Deadline == 0 {
		l.Deadline = defaultDeadline
	}
	addresses, streams, requests := limit.NewBuckets(l.Address, l.Now), limit.NewCounts(l.Streams, 0), limit.NewCounts(0, l.InFlight)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines := 0
		for _, values := range r.Header {
			lines += len(values)
		}
		if lines > l.Headers {
			limit.Refused(r.Context(), "headers")
			writeStatus(w, http.StatusRequestHeaderFieldsTooLarge, problem(codes.ResourceExhausted, reasonTooManyHeaders, "", fmt.Sprintf("more than %d header lines", l.Headers)))
			return
		}
		client := serve.ClientAddress(r.RemoteAddr, r.Header.Values("X-Forwarded-For"), l.Proxies)
		if wait, ok := addresses.Take(client); !ok {
			refuse(w, r, "address", serve.RateLimited, "too many requests of this address", wait)
			return
		}
		ctx := serve.WithClient(r.Context(), client)
		if isStream(r) {
			leave := streams.Enter(client)
			if leave == nil {
				refuse(w, r, "streams", serve.TooManyStreams, "too many streams of this address are open", 10*time.Second)
				return
			}
			defer leave()
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer atEnd(func() { cancel(errStopping) })()
			next.ServeHTTP(&patient{ResponseWriter: w}, r.WithContext(ctx))
			return
		}
		leave := requests.Enter("")
		if leave == nil {
			refuse(w, r, "in_flight", serve.Overloaded, "too much is asked of this server at the moment", time.Second)
			return
		}
		defer leave()
		ctx, cancel := context.WithTimeout(ctx, l.Deadline)
		defer cancel()
		// Neither who sends a body by the drop nor who does not read holds a request for ever. Not every writer of a test can.
		control, end := http.NewResponseController(w), time.Now().Add(l.Deadline)
		_ = control.SetWriteDeadline(end.Add(reserve))
		if r.Body != nil && r.Body != http.NoBody {
			_ = control.SetReadDeadline(end)
			r.Body = &punctual{ReadCloser: r.Body, control: control}
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// isStream tells whether a request is answered with a stream.
func isStream(r *http.Request) bool { return isWatch(r) || strings.HasSuffix(r.URL.Path, ":simulate") }

func refuse(w http.ResponseWriter, r *http.Request, name, reason, text string, wait time.Duration) {
	limit.Refused(r.Context(), name)
	writeStatus(w, http.StatusTooManyRequests, retryable(problem(codes.ResourceExhausted, reason, "", text), wait))
}

// retryable adds how long to wait.
func retryable(st *status.Status, wait time.Duration) *status.Status {
	if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		return with
	}
	return st
}

// punctual is a body that has to be there in time. Once it is, the connection is read without a deadline: the server goes on
// reading to notice that a client leaves, and would take a deadline that passes for that.
type punctual struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (p *punctual) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// patient writes a stream to a reader who may be slow, not to one who is gone or never reads.
type patient struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController reach the connection.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements http.ResponseWriter.
func (p *patient) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(slowReader))
	return p.ResponseWriter.Write(b)
}

// FlushError flushes with as much patience.
func (p *patient) FlushError() error {
	control := http.NewResponseController(p.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(slowReader))
	return control.Flush()
}
