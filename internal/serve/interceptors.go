package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

func recoverUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		defer func() { err = recovered(ctx, log, info.FullMethod, recover(), err) }()
		return next(ctx, req)
	}
}

func recoverStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer func() { err = recovered(ss.Context(), log, info.FullMethod, recover(), err) }()
		return next(srv, ss)
	}
}

func recovered(ctx context.Context, log *slog.Logger, method string, p any, err error) error {
	if p == nil {
		return err
	}
	log.ErrorContext(ctx, "panic", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	st, _ := fault.ToStatus(fault.New(fault.Internal, "PANIC", "%v", p)) // without the text
	return st.Err()
}

// logUnary notes every call: those that are answered well and probes at DEBUG, others at INFO. What went wrong inside was
// logged where it was hidden; the line here tells the code.
func logUnary(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (res any, err error) {
		defer note(ctx, log, info.FullMethod, time.Now(), &err)()
		return next(ctx, req)
	}
}

func logStream(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		defer note(ss.Context(), log, info.FullMethod, time.Now(), &err)()
		return next(srv, ss)
	}
}

// note returns what to defer. Until the call has returned err is errPanic, so that a panic passing by is logged as one.
func note(ctx context.Context, log *slog.Logger, method string, start time.Time, err *error) func() {
	*err = errPanic
	return func() {
		code := status.Code(*err)
		if errors.Is(*err, errPanic) {
			code = codes.Internal
		}
		level := slog.LevelInfo
		if code == codes.OK || strings.HasPrefix(method, "/grpc.health.v1.Health/") {
			level = slog.LevelDebug
		}
		if !log.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{
			slog.String("method", method), slog.String("code", code.String()),
			slog.Float64("ms", float64(time.Since(start).Microseconds())/1000),
		}
		if reason := fault.ReasonOf(fault.FromStatus(*err)); reason != "" {
			attrs = append(attrs, slog.String("reason", reason))
		}
		log.LogAttrs(ctx, level, "rpc", attrs...)
	}
}

var errPanic = errors.New("panic")

var errStopping = errors.New("the server stops")

// untilStopping ends streams when the server stops, with an answer that tells their callers to come again: a watch would
// otherwise hold the drain up for the whole grace period.
func untilStopping(stopping context.Context) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		ctx, cancel := context.WithCancelCause(ss.Context())
		defer cancel(nil)
		defer context.AfterFunc(stopping, func() { cancel(errStopping) })()
		err := next(srv, streamWith{ss, ctx})
		if err == nil || !errors.Is(context.Cause(ctx), errStopping) { //nolint:contextcheck // the stream's context made above
			return err
		}
		st, _ := fault.ToStatus(fault.Stopping())
		return st.Err()
	}
}

type streamWith struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has one
}

func (s streamWith) Context() context.Context { return s.ctx }

// mostDeadline is how long a call may take that has a deadline of its own.
const mostDeadline = 10 * time.Minute

// deadline gives calls without a deadline one, and bounds the others, so that nothing waits for ever: it is asked when the headers
// of a call have come, since gRPC reads the whole request before any interceptor, however slowly that comes. Streams, which
// services tells, have no deadline: a request of theirs is read once it is known who calls.
func deadline(d time.Duration, services func() map[string]grpc.ServiceInfo) tap.ServerInHandle {
	unary := sync.OnceValue(func() map[string]bool { // all are registered before the first call
		found := map[string]bool{}
		for service, info := range services() {
			for _, m := range info.Methods {
				found["/"+service+"/"+m.Name] = !m.IsClientStream && !m.IsServerStream
			}
		}
		return found
	})
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if !unary()[info.FullMethodName] {
			return ctx, nil
		}
		within := d
		if _, ok := ctx.Deadline(); ok {
			within = mostDeadline
		}
		ctx, cancel := context.WithTimeout(ctx, within)
		_ = cancel // the context of the call, of which this is part, is canceled at its end
		return ctx, nil
	}
}
