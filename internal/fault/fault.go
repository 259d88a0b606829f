// Package fault is the one error that crosses a service's edge: a kind for programs, a reason in words that never
// change, the fields at fault, and a message for people.
//
// It owns the mapping to and from google.rpc.Status, in [ToStatus] and [FromStatus] and nowhere else. What the edge
// loses: causes stay inside the process, and the text of an internal error is logged and replaced.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
)

// Kind is the class of a fault. Its values are those of the gRPC codes that they become.
type Kind codes.Code

// The kinds of fault.
const (
	Internal           = Kind(codes.Internal)
	InvalidArgument    = Kind(codes.InvalidArgument)
	NotFound           = Kind(codes.NotFound)
	AlreadyExists      = Kind(codes.AlreadyExists)
	FailedPrecondition = Kind(codes.FailedPrecondition)
	Aborted            = Kind(codes.Aborted)
	PermissionDenied   = Kind(codes.PermissionDenied)
	Unauthenticated    = Kind(codes.Unauthenticated)
	ResourceExhausted  = Kind(codes.ResourceExhausted)
	Unavailable        = Kind(codes.Unavailable)
	Unimplemented      = Kind(codes.Unimplemented)
	DeadlineExceeded   = Kind(codes.DeadlineExceeded)
	Canceled           = Kind(codes.Canceled)
	OutOfRange         = Kind(codes.OutOfRange)
)

// shown tells whether faults of the kind cross the edge as they are. Internal ones do not, nor does any number that is
// not a kind.
func (k Kind) shown() bool {
	switch k {
	case InvalidArgument, NotFound, AlreadyExists, FailedPrecondition, Aborted, PermissionDenied, Unauthenticated,
		ResourceExhausted, Unavailable, Unimplemented, DeadlineExceeded, Canceled, OutOfRange:
		return true
	}
	return false
}

// String returns the name of the gRPC code.
func (k Kind) String() string { return codes.Code(k).String() }

// Violation is one field at fault.
type Violation struct {
	// Field is the path of the request field, for example "dungeon.cards[3].level".
	Field string
	// Reason is a word for programs, for example "LEVEL_OUT_OF_RANGE"; may be empty.
	Reason string
	// Description is for people.
	Description string
}

// Error is a fault. The methods that add to it return a copy.
type Error struct {
	Kind Kind
	// Reason names the fault for programs, in upper case, for example "LEASED".
	Reason  string
	Message string
	// Fields are what the request did wrong, where.
	Fields []Violation
	// Metadata are facts for programs, for example the name of the holder of a lease.
	Metadata map[string]string
	// RetryAfter is how long to wait before a repetition; zero says nothing.
	RetryAfter time.Duration
	cause      error
}

// New makes a fault.
func New(kind Kind, reason, format string, args ...any) *Error {
	return &Error{Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes an INVALID_ARGUMENT fault about one field, with the reason INVALID.
func Invalid(field, format string, args ...any) *Error {
	e := New(InvalidArgument, "INVALID", format, args...)
	e.Fields = []Violation{{Field: field, Description: e.Message}}
	return e
}

// Violations makes an INVALID_ARGUMENT fault about several fields.
func Violations(reason string, fields []Violation, format string, args ...any) *Error {
	e := New(InvalidArgument, reason, format, args...)
	e.Fields = fields
	return e
}

// Stopping makes the UNAVAILABLE fault, with the reason STOPPING, with which a stream ends that its server does not go on with.
func Stopping() *Error {
	return New(Unavailable, "STOPPING", "this server stops, another one goes on").After(time.Second)
}

func (e *Error) with(change func(*Error)) *Error {
	c := *e
	c.Fields, c.Metadata = slices.Clone(e.Fields), maps.Clone(e.Metadata)
	change(&c)
	return &c
}

// Because returns the fault with another reason.
func (e *Error) Because(reason string) *Error { return e.with(func(c *Error) { c.Reason = reason }) }

// At returns the fault with one more field.
func (e *Error) At(field, description string) *Error {
	return e.with(func(c *Error) { c.Fields = append(c.Fields, Violation{Field: field, Description: description}) })
}

// With returns the fault with one more fact.
func (e *Error) With(key, value string) *Error {
	return e.with(func(c *Error) {
		if c.Metadata == nil {
			c.Metadata = map[string]string{}
		}
		c.Metadata[key] = value
	})
}

// After returns the fault with a time to wait before a repetition.
func (e *Error) After(d time.Duration) *Error { return e.with(func(c *Error) { c.RetryAfter = d }) }

// Wrap returns the fault with a cause, for logs and errors.Is.
func (e *Error) Wrap(cause error) *Error {
	if cause == nil {
		return e
	}
	return e.with(func(c *Error) { c.cause = cause })
}

// Error returns reason and message, and the cause.
func (e *Error) Error() string {
	s := e.Reason + ": " + e.Message
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// KindOf returns the kind of the fault that err is or wraps, Internal for any other error.
func KindOf(err error) Kind {
	var f *Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return Internal
}

// ReasonOf returns the reason of the fault that err is or wraps, "" for any other error.
func ReasonOf(err error) string {
	var f *Error
	if errors.As(err, &f) {
		return f.Reason
	}
	return ""
}
