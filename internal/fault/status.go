package fault

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Domain is the ErrorInfo domain of every reason.
const Domain = "wayfarer"

// ToStatus returns the gRPC status of an error: of a fault with its details, of a context's end as such, of an error
// that is a status already as it is, and of anything else as an internal error without its text, which known tells.
func ToStatus(err error) (st *status.Status, known bool) {
	var f *Error
	switch {
	case err == nil:
		return status.New(codes.OK, ""), true
	case errors.As(err, &f) && f.Kind.shown():
		return f.status(), true
	case errors.Is(err, context.Canceled):
		return status.New(codes.Canceled, "the caller went away"), true
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(codes.DeadlineExceeded, "the deadline has passed"), true
	}
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		st := s.GRPCStatus()
		if nobody(st) {
			return unreachable(err).status(), true
		}
		if Kind(st.Code()).shown() {
			return st, true
		}
	}
	return hidden(f), false
}

// status gives the details. A kind that is none, such as the zero value, is an internal fault: with the code OK a failed
// call would look like a good one.
func (e *Error) status() *status.Status {
	kind := e.Kind
	if !kind.shown() {
		kind = Internal
	}
	st := status.New(codes.Code(kind), utf8(e.Message))
	info := &errdetails.ErrorInfo{Reason: utf8(e.Reason), Domain: Domain}
	for k, v := range e.Metadata {
		if info.Metadata == nil {
			info.Metadata = make(map[string]string, len(e.Metadata))
		}
		info.Metadata[utf8(k)] = utf8(v)
	}
	details := []protoadapt.MessageV1{info}
	if len(e.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{
				Field: utf8(v.Field), Description: utf8(v.Description), Reason: utf8(v.Reason),
			})
		}
		details = append(details, bad)
	}
	if kind == FailedPrecondition {
		details = append(details, &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
			{Type: info.GetReason(), Subject: info.GetMetadata()["resource"], Description: st.Message()},
		}})
	}
	if e.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	with, err := st.WithDetails(details...)
	if err != nil { // cannot happen: all of them are registered messages and the code is not OK
		return st
	}
	return with
}

// utf8 mends text that came in by a header or a file: one bad byte would cost the status all its details.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// GRPCStatus lets grpc-go read a fault that no interceptor has seen.
// It hides an internal fault as [ToStatus] does.
func (e *Error) GRPCStatus() *status.Status {
	if !e.Kind.shown() {
		return hidden(e)
	}
	return e.status()
}

func hidden(f *Error) *status.Status {
	reason := "INTERNAL"
	if f != nil && f.Reason != "" {
		reason = f.Reason
	}
	return New(Internal, reason, "internal error").status()
}

// Unreachable is the reason of the fault that [FromStatus] makes when no server answered.
const Unreachable = "SERVICE_UNAVAILABLE"

// nobody tells whether gRPC made the status itself, since no server could be reached: servers of the suite give details.
func nobody(st *status.Status) bool {
	return st.Code() == codes.Unavailable && len(st.Proto().GetDetails()) == 0
}

// unreachable does not say what could not be reached: addresses are nobody's business.
func unreachable(cause error) *Error {
	return New(Unavailable, Unreachable, "a service that is needed for this cannot be reached: repeat the request, with the same request_id if it has one").
		After(time.Second).Wrap(cause)
}

// FromStatus turns an error of a gRPC client into the fault that the server sent, with kind, reason, fields, metadata and
// waiting time. A reason of another domain becomes UNSPECIFIED. When no server answered it is UNAVAILABLE [Unreachable].
// Errors without a status come back as they are.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	// Not status.FromError, which puts the text of wrapping errors into the message.
	var carrier interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &carrier) {
		return err
	}
	st := carrier.GRPCStatus()
	if nobody(st) {
		return unreachable(err)
	}
	e := &Error{Kind: Kind(st.Code()), Reason: "UNSPECIFIED", Message: st.Message(), cause: err}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == Domain { // the reasons of others are not ours to understand
				e.Reason, e.Metadata = d.GetReason(), d.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, Violation{Field: v.GetField(), Reason: v.GetReason(), Description: v.GetDescription()})
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		}
	}
	return e
}

// UnaryServer maps the errors of handlers to statuses. An internal error is logged here, once, and its text hidden.
//
// Clients of the suite repeat by themselves what reached no server. What a server answers UNAVAILABLE to it has tried for
// as long as makes sense: it tells them not to repeat that, or the waiting times of all servers in a row would multiply.
func UnaryServer(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		res, err := next(ctx, req)
		err = report(ctx, log, info.FullMethod, err)
		if status.Code(err) == codes.Unavailable {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "-1")) // fails without a stream, as in tests
		}
		return res, err
	}
}

// StreamServer is [UnaryServer] for streams.
func StreamServer(log *slog.Logger) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return report(ss.Context(), log, info.FullMethod, next(srv, ss))
	}
}

func report(ctx context.Context, log *slog.Logger, method string, err error) error {
	if err == nil {
		return nil
	}
	st, known := ToStatus(err)
	if !known && ctx.Err() != nil { // what breaks after the caller has left is an echo of that
		st, known = ToStatus(ctx.Err())
	}
	switch {
	case !known:
		log.ErrorContext(ctx, "rpc failed", "method", method, "err", fmt.Sprint(err))
	case st.Code() == codes.Unavailable && errors.Unwrap(err) != nil: // what was away is in the cause only
		log.WarnContext(ctx, "rpc unavailable", "method", method, "err", fmt.Sprint(err))
	}
	return st.Err()
}
