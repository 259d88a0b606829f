package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// Reasons of what the edge itself refuses.
const (
	reasonBodyTooLarge       = "BODY_TOO_LARGE"
	reasonMalformedJSON      = "MALFORMED_JSON"
	reasonMalformedBody      = "MALFORMED_BODY"
	reasonMalformedParameter = "MALFORMED_PARAMETER"
	reasonUnknownParameter   = "UNKNOWN_PARAMETER"
	reasonMalformedHeader    = "MALFORMED_HEADER"
	reasonUnreachable        = "UNREACHABLE"
	reasonNoSuchPath         = "NO_SUCH_PATH"
	reasonNoSuchMethod       = "METHOD_NOT_ALLOWED"
	reasonMalformedRequest   = "MALFORMED_REQUEST"
)

const domain = "wayfarer"

// The generated code keeps only the text of an error of a decoder or query parser. So ours mark their text with reason
// and field, and the error handler reads them again.
const separator = "\x1f"

func mark(reason, field, text string) error {
	return fmt.Errorf("%s%s%s%s%s%s", separator, reason, separator, field, separator, text) //nolint:err113 // made for one reader
}

func unmark(message string) (reason, field, text string, ok bool) {
	parts := strings.SplitN(message, separator, 4)
	if len(parts) != 4 || parts[0] != "" {
		return "", "", "", false
	}
	return parts[1], parts[2], parts[3], true
}

// marked reads an error of our own decoder or query parser. What a service says has details.
func marked(st *status.Status) (reason, field, text string, ok bool) {
	if st.Code() != codes.InvalidArgument || len(st.Proto().GetDetails()) > 0 {
		return "", "", "", false
	}
	return unmark(st.Message())
}

// problem makes a status with the details that every error of the edge has.
func problem(code codes.Code, reason, field, text string) *status.Status {
	st := status.New(code, text)
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason, Domain: domain}}
	if field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: field, Description: text, Reason: reason},
		}})
	}
	if with, err := st.WithDetails(details...); err == nil {
		return with
	}
	return st
}

// explained gives a reason to an error that has none, since no service made it: grpc-gateway could not read the request,
// or gRPC could not reach the service, whose address is nobody's business.
func explained(st *status.Status) *status.Status {
	if len(st.Proto().GetDetails()) > 0 {
		return st
	}
	switch st.Code() {
	case codes.InvalidArgument:
		return problem(st.Code(), reasonMalformedRequest, "", st.Message())
	case codes.Unavailable:
		return retryable(problem(st.Code(), reasonUnreachable, "", "the service cannot be reached"), time.Second)
	case codes.Internal, codes.Unknown:
		return problem(codes.Internal, code.Code_INTERNAL.String(), "", "internal error")
	default:
		return problem(st.Code(), code.Code(st.Code()).String(), "", st.Message()) //nolint:gosec // gRPC's codes are these
	}
}

func tooLarge(limit int64) *status.Status {
	return problem(codes.ResourceExhausted, reasonBodyTooLarge, "body", fmt.Sprintf("the body is larger than %d bytes", limit))
}

// writeError is the error handler of the mux: JSON always, also where the caller would take events.
func writeError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	st := status.Convert(err)
	httpCode := runtime.HTTPStatusFromCode(st.Code())
	if reason, field, text, ok := marked(st); ok {
		switch reason {
		case reasonBodyTooLarge:
			st, httpCode = problem(codes.ResourceExhausted, reason, field, text), http.StatusRequestEntityTooLarge
		default:
			st = problem(codes.InvalidArgument, reason, field, text)
		}
	} else {
		st = explained(st)
		httpCode = httpStatus(st)
	}
	writeStatus(w, httpCode, st)
}

// httpStatus is the code of a status. What is too large for a service is no more worth a repetition than what is for the edge.
func httpStatus(st *status.Status) int {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == serve.MessageTooLarge {
			return http.StatusRequestEntityTooLarge
		}
	}
	return runtime.HTTPStatusFromCode(st.Code())
}

// routingError answers paths and methods that do not exist.
func routingError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, httpCode int) {
	switch httpCode {
	case http.StatusNotFound:
		writeStatus(w, httpCode, problem(codes.NotFound, reasonNoSuchPath, "", "there is nothing at "+r.URL.Path))
	case http.StatusMethodNotAllowed:
		writeStatus(w, httpCode, problem(codes.Unimplemented, reasonNoSuchMethod, "", r.Method+" is not for "+r.URL.Path))
	default:
		writeStatus(w, http.StatusBadRequest, problem(codes.InvalidArgument, reasonMalformedRequest, "", "the request could not be read"))
	}
}

// streamError notes the error that ends a stream, for [plainErrors].
func streamError(ctx context.Context, err error) *status.Status {
	st := explained(status.Convert(err))
	if errors.Is(context.Cause(ctx), errStopping) {
		st, _ = fault.ToStatus(fault.Stopping())
	}
	if failed, ok := ctx.Value(failureKey{}).(*failure); ok {
		failed.st = st
	}
	return st
}

type failureKey struct{}

// failure is the error that ended a stream, if one did. Only the handler's own goroutine touches it.
type failure struct {
	st *status.Status
	// events tells that the stream is one of server-sent events.
	events bool
}

// plainErrors makes the error of a stream that has sent nothing yet look like any other error: its code, headers and a
// google.rpc.Status. grpc-gateway would wrap it as the last chunk of the stream.
func plainErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isStream(r) {
			next.ServeHTTP(w, r)
			return
		}
		failed := &failure{events: r.Header.Get("Accept") == eventStream}
		next.ServeHTTP(&plainWriter{ResponseWriter: w, failed: failed}, r.WithContext(context.WithValue(r.Context(), failureKey{}, failed)))
	})
}

type plainWriter struct {
	http.ResponseWriter
	failed  *failure
	told    bool // the error is written; its chunk is not
	written bool
}

// Unwrap lets http.ResponseController reach the connection.
func (p *plainWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *plainWriter) WriteHeader(code int) {
	if p.written {
		return // the stream has begun, its error comes as the last chunk
	}
	if p.failed.st != nil {
		if begun(p.ResponseWriter) {
			return // too late for a code; the error goes out as the last event
		}
		p.told = true
		p.Header().Del("Transfer-Encoding")
		writeStatus(p.ResponseWriter, httpStatus(p.failed.st), p.failed.st)
		return
	}
	p.written = true
	p.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (p *plainWriter) Write(b []byte) (int, error) {
	if p.told {
		return len(b), nil
	}
	p.written = true
	return p.ResponseWriter.Write(b)
}

// writeStatus writes a google.rpc.Status with its details.
func writeStatus(w http.ResponseWriter, httpCode int, st *status.Status) {
	for _, d := range st.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok {
			wait := retry.GetRetryDelay().AsDuration()
			w.Header().Set("Retry-After", strconv.Itoa(int(max(1, wait.Seconds()+0.999))))
		}
	}
	if st.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", `Bearer realm="wayfarer"`)
	}
	body, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(st.Proto())
	if err != nil { // a detail of a type that this program does not know
		body = fmt.Appendf(nil, `{"code":%d,"message":%q,"details":[]}`, st.Code(), st.Message())
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(httpCode)
	_, _ = w.Write(body) // the caller may be gone
}
