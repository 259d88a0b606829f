package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"
)

// Reasons of what the edge itself refuses.
const (
	reasonBodyTooLarge       = "BODY_TOO_LARGE"
	reasonMalformedJSON      = "MALFORMED_JSON"
	reasonMalformedBody      = "MALFORMED_BODY"
	reasonMalformedParameter = "MALFORMED_PARAMETER"
	reasonUnknownParameter   = "UNKNOWN_PARAMETER"
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
	if len(parts) != 4 {
		return "", "", "", false
	}
	return parts[1], parts[2], parts[3], true
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

func tooLarge(limit int64) *status.Status {
	return problem(codes.ResourceExhausted, reasonBodyTooLarge, "body", fmt.Sprintf("the body is larger than %d bytes", limit))
}

// writeError is the error handler of the mux: JSON always, also where the caller would take events.
func writeError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, _ *http.Request, err error) {
	st := status.Convert(err)
	httpCode := runtime.HTTPStatusFromCode(st.Code())
	if reason, field, text, ok := unmark(st.Message()); ok {
		switch reason {
		case reasonBodyTooLarge:
			st, httpCode = problem(codes.ResourceExhausted, reason, field, text), http.StatusRequestEntityTooLarge
		default:
			st = problem(codes.InvalidArgument, reason, field, text)
		}
	} else if st.Code() == codes.InvalidArgument && len(st.Proto().GetDetails()) == 0 {
		st = problem(codes.InvalidArgument, reasonMalformedRequest, "", st.Message())
	}
	writeStatus(w, httpCode, st)
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

// streamError is for errors after a stream has begun.
func streamError(_ context.Context, err error) *status.Status {
	st := status.Convert(err)
	if reason, field, text, ok := unmark(st.Message()); ok {
		return problem(codes.InvalidArgument, reason, field, text)
	}
	return st
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
