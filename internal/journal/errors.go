package journal

import (
	"errors"
	"fmt"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Kind is the class of an [Error]. The values carry the names of the gRPC codes they are mapped to.
type Kind string

// The kinds of error that a journal makes.
const (
	InvalidArgument Kind = "INVALID_ARGUMENT"
	NotFound        Kind = "NOT_FOUND"
	AlreadyExists   Kind = "ALREADY_EXISTS"
	Aborted         Kind = "ABORTED"
	Internal        Kind = "INTERNAL"
	Unavailable     Kind = "UNAVAILABLE"
)

// The reasons of the errors that a journal makes.
const (
	ReasonInvalid         = "INVALID"
	ReasonNotFound        = "NOT_FOUND"
	ReasonAlreadyExists   = "ALREADY_EXISTS"
	ReasonRequestIDReused = "REQUEST_ID_REUSED"
	ReasonEtagMismatch    = "ETAG_MISMATCH"
	ReasonEtagRequired    = "ETAG_REQUIRED"
	ReasonStreamBusy      = "STREAM_BUSY"
	ReasonPageToken       = "PAGE_TOKEN"
	ReasonUnreadable      = "JOURNAL_UNREADABLE"
	ReasonStoreAway       = "STORE_UNAVAILABLE"
)

// Error is an error that a caller can act upon. Everything else that comes out of a journal is a failure of the store.
// To errors.As it is a [fault.Error] as well, so that it crosses a service's edge as it is.
type Error struct {
	Kind    Kind
	Reason  string
	Field   string // field of the request at fault, if one is
	Message string
	// RetryAfter is how long to wait before the command is repeated; zero says nothing.
	RetryAfter time.Duration
	Cause      error
}

func (e *Error) Error() string {
	s := e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// As gives the error as a [fault.Error].
func (e *Error) As(target any) bool {
	f, ok := target.(**fault.Error)
	if !ok {
		return false
	}
	*f = fault.New(faultKinds[e.Kind], e.Reason, "%s", e.Message).Wrap(e.Cause)
	if e.Field != "" {
		*f = (*f).At(e.Field, e.Message)
	}
	if e.RetryAfter > 0 {
		*f = (*f).After(e.RetryAfter)
	}
	return true
}

var faultKinds = map[Kind]fault.Kind{
	InvalidArgument: fault.InvalidArgument,
	NotFound:        fault.NotFound,
	AlreadyExists:   fault.AlreadyExists,
	Aborted:         fault.Aborted,
	Internal:        fault.Internal,
	Unavailable:     fault.Unavailable,
}

func errorf(k Kind, reason, field, format string, args ...any) error {
	return &Error{Kind: k, Reason: reason, Field: field, Message: fmt.Sprintf(format, args...)}
}

func errInvalid(field, format string, args ...any) error {
	return errorf(InvalidArgument, ReasonInvalid, field, format, args...)
}

func errNotFound(stream string) error {
	return errorf(NotFound, ReasonNotFound, "", "%s does not exist", stream)
}

func errExists(stream string) error {
	return errorf(AlreadyExists, ReasonAlreadyExists, "", "%s exists already", stream)
}

func errReused(stream, id string) error {
	return errorf(InvalidArgument, ReasonRequestIDReused, "request_id",
		"request id %q was used for another request on %s", id, stream)
}

func errEtag(stream string) error {
	return errorf(Aborted, ReasonEtagMismatch, "etag", "%s has changed since the etag was given", stream)
}

func errBusy(stream string, after time.Duration) error {
	return &Error{Kind: Aborted, Reason: ReasonStreamBusy, RetryAfter: after,
		Message: stream + " keeps changing"}
}

// Away makes the error of a [Store] that cannot do an operation for now: it is not reached, does not answer in time, or is
// busy. Whether the operation was done is not known.
func Away(cause error) error {
	return &Error{Kind: Unavailable, Reason: ReasonStoreAway, RetryAfter: awayRetryAfter, Cause: cause,
		Message: "the store does not answer: repeat the request, with the same request_id if it has one"}
}

const awayRetryAfter = time.Second

func isAway(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Unavailable
}

func errPageToken() error {
	return errorf(InvalidArgument, ReasonPageToken, "page_token", "page_token was not made for this list")
}

func errUnreadable(stream string, seq int, cause error) error {
	return &Error{Kind: Internal, Reason: ReasonUnreadable, Cause: cause,
		Message: fmt.Sprintf("record %d of %s cannot be read", seq, stream)}
}
