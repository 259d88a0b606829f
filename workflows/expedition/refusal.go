package expedition

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// refusalType marks application errors that carry a google.rpc.Status in their details.
const refusalType = "wayfarer.status"

// final tells whether a repetition can only get the same answer.
func final(err error) bool {
	f := fault.FromStatus(err)
	switch fault.KindOf(f) {
	case fault.InvalidArgument, fault.NotFound, fault.AlreadyExists, fault.FailedPrecondition, fault.PermissionDenied,
		fault.Unimplemented, fault.OutOfRange:
		return true
	case fault.Aborted:
		return fault.ReasonOf(f) == reasonEtag
	}
	return false
}

// pack makes the error under which a status passes through Temporal.
func pack(err error) error { return packed(err, final(err)) }

// packed is pack with the say whether the activity may be repeated.
func packed(err error, last bool) error {
	if err == nil {
		return nil
	}
	st, _ := fault.ToStatus(err)
	raw, merr := proto.Marshal(st.Proto())
	if merr != nil {
		return fmt.Errorf("pack %w: %w", err, merr)
	}
	opts := temporal.ApplicationErrorOptions{NonRetryable: last, Details: []any{raw}}
	if last && final(err) { // an answer like another, of which nobody needs to be warned
		opts.Category = temporal.ApplicationErrorCategoryBenign
	}
	if f := (*fault.Error)(nil); errors.As(fault.FromStatus(err), &f) {
		opts.NextRetryDelay = f.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(st.Message(), refusalType, opts)
}

// unpack returns the status that an error from Temporal carries, as it was packed; nil when it carries none.
func unpack(err error) *status.Status {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != refusalType {
		return nil
	}
	var raw []byte
	st := &statuspb.Status{}
	if app.Details(&raw) != nil || proto.Unmarshal(raw, st) != nil || st.GetCode() == int32(codes.OK) {
		return nil
	}
	return status.FromProto(st)
}
