package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// isWatch tells whether a call asks for a stream.
func isWatch(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ":watch")
}

// resume lets a browser go on where it left off: Last-Event-ID becomes from_seq.
func resume(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Last-Event-ID"); id != "" && isWatch(r) {
			if seq, err := strconv.ParseInt(id, 10, 32); err != nil || seq < 0 {
				writeStatus(w, http.StatusBadRequest, problem(codes.InvalidArgument, reasonMalformedHeader, "Last-Event-ID", "Last-Event-ID is not the id of an event"))
				return
			}
			q := r.URL.Query()
			q.Del("fromSeq")
			q.Set("from_seq", id)
			r = r.Clone(r.Context())
			r.URL.RawQuery = q.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

// beginStream sends the header of a stream as soon as the service has sent its own, with which it says that the caller may
// watch: the first record may be long in coming. Every forwarded message passes here, the begin of a stream as none.
func beginStream(ctx context.Context, w http.ResponseWriter, msg proto.Message) error {
	stream, ok := ctx.Value(failureKey{}).(*failure)
	if !ok || msg != nil {
		return nil
	}
	if md, _ := runtime.ServerMetadataFromContext(ctx); len(md.HeaderMD) == 0 {
		return nil // refused, or over already
	}
	w.Header().Set("Content-Type", ndjson)
	if stream.events {
		w.Header().Set("Content-Type", eventStream)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w).Flush()
}

// keepAlive sends a comment into an event stream that has been idle for a while. The first one also sends the header, so
// that a caller who waits for news knows soon that it is connected.
func keepAlive(next http.Handler, every time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") != eventStream || !isWatch(r) {
			next.ServeHTTP(w, r)
			return
		}
		e := &eventWriter{ResponseWriter: w, header: http.Header{}, every: every}
		e.mu.Lock() // the timer may fire before it is here
		e.timer = time.AfterFunc(min(every, time.Second), e.comment)
		e.mu.Unlock()
		defer e.stop()
		next.ServeHTTP(e, r)
	})
}

// eventWriter serialises the events of the gateway and the comments of the timer. The handler has a header of its own,
// which it may set while a comment is under way.
type eventWriter struct {
	http.ResponseWriter
	header http.Header
	every  time.Duration
	timer  *time.Timer

	mu      sync.Mutex
	begun   bool // the header is sent
	late    bool // what is written is an error that came after the header
	stopped bool
}

// Unwrap lets http.ResponseController reach the connection.
func (e *eventWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Header implements http.ResponseWriter.
func (e *eventWriter) Header() http.Header { return e.header }

// begun tells whether the header of a response is sent already, by a comment.
func begun(w http.ResponseWriter) bool {
	e, ok := w.(*eventWriter)
	if !ok {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.begun {
		e.stopped = true // no comment between this answer and what is written because of it
	}
	return e.begun
}

// begin sends the header once. After a comment it is sent already, and what the handler sets comes too late.
func (e *eventWriter) begin(code int, header http.Header) {
	if e.begun {
		return
	}
	e.begun = true
	for name, values := range header {
		e.ResponseWriter.Header()[name] = values
	}
	e.ResponseWriter.WriteHeader(code)
}

// WriteHeader implements http.ResponseWriter.
func (e *eventWriter) WriteHeader(code int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if code >= http.StatusBadRequest {
		e.late, e.stopped = e.begun, true
	}
	e.begin(code, e.header)
}

// Write implements http.ResponseWriter.
func (e *eventWriter) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.begin(http.StatusOK, e.header)
	if !e.stopped {
		e.timer.Reset(e.every)
	}
	if e.late {
		_, err := fmt.Fprintf(e.ResponseWriter, "event: error\ndata: {\"error\":%s}\n\n", b)
		return len(b), err
	}
	return e.ResponseWriter.Write(b)
}

// FlushError flushes under the lock; http.ResponseController prefers it to Unwrap.
func (e *eventWriter) FlushError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return http.NewResponseController(e.ResponseWriter).Flush()
}

func (e *eventWriter) comment() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopped {
		return
	}
	e.begin(http.StatusOK, http.Header{"Content-Type": {eventStream}, "Cache-Control": {"no-store"}})
	if _, err := e.ResponseWriter.Write([]byte(": \n\n")); err != nil {
		e.stopped = true
		return
	}
	if err := http.NewResponseController(e.ResponseWriter).Flush(); err != nil {
		e.stopped = true
		return
	}
	e.timer.Reset(e.every)
}

func (e *eventWriter) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stopped = true
	e.timer.Stop()
}
