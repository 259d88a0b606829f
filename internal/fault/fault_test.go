package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*Error{
		"a refusal":              New(FailedPrecondition, "LEASED", "somebody has it").With("holder", "campaigns/c/runs/r"),
		"one field":              Invalid("page_size", "page_size is below 0"),
		"several fields":         Violations("INVALID_DUNGEON", []Violation{{"a[1].b", "BAD", "is bad"}, {"c", "", "is missing"}}, "2 problems"),
		"a wait":                 New(Aborted, "STREAM_BUSY", "keeps changing").After(500 * time.Millisecond),
		"not found":              New(NotFound, "NOT_FOUND", "no such thing").With("resource", "x"),
		"a field of a refusal":   New(PermissionDenied, "NOT_GM", "for game masters").At("reported_dice", "is for game masters"),
		"another reason":         Invalid("etag", "needed").Because("ETAG_REQUIRED"),
		"unavailable with facts": New(Unavailable, "STORE_AWAY", "later").After(time.Second).With("store", "mongo"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, known := ToStatus(fmt.Errorf("while testing: %w", f))
			if !known || st.Code() != codes.Code(f.Kind) {
				t.Fatalf("status %v, known %v", st, known)
			}
			var got *Error
			if !errors.As(FromStatus(st.Err()), &got) {
				t.Fatal("no fault came back")
			}
			got.cause = nil
			if !reflect.DeepEqual(got, f) {
				t.Errorf("got %#v\nwant %#v", got, f)
			}
		})
	}
}

func TestDetailsAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	f := New(FailedPrecondition, "LEASED", "somebody has it").With("resource", "campaigns/c/characters/a").At("character", "is leased").After(2 * time.Second)
	st, _ := ToStatus(f)
	want := []proto.Message{
		&errdetails.ErrorInfo{Reason: "LEASED", Domain: "wayfarer", Metadata: map[string]string{"resource": "campaigns/c/characters/a"}},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "character", Description: "is leased"}}},
		&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
			{Type: "LEASED", Subject: "campaigns/c/characters/a", Description: "somebody has it"},
		}},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(2 * time.Second)},
	}
	if len(st.Details()) != len(want) {
		t.Fatalf("%d details: %v", len(st.Details()), st.Details())
	}
	for i, d := range st.Details() {
		if !proto.Equal(d.(proto.Message), want[i]) {
			t.Errorf("detail %d is %v, want %v", i, d, want[i])
		}
	}
	st, _ = ToStatus(New(NotFound, "NOT_FOUND", "gone"))
	if len(st.Details()) != 1 {
		t.Errorf("a plain fault has details %v", st.Details())
	}
}

// Every code that a fault can carry, so that a failed call never looks like a good one and nothing internal shows.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	hidden := map[codes.Code]bool{codes.OK: true, codes.Unknown: true, codes.Internal: true, codes.DataLoss: true, 99: true}
	for c := codes.OK; c <= 99; c++ {
		if c > codes.Unauthenticated && c < 99 {
			continue
		}
		err := New(Kind(c), "WHY", "swordfish")
		st, known := ToStatus(err)
		direct := status.Convert(err)
		if hidden[c] {
			if known || st.Code() != codes.Internal || strings.Contains(st.Message(), "swordfish") {
				t.Errorf("%v: %v, known %v", c, st, known)
			}
			if direct.Code() != codes.Internal || strings.Contains(direct.Message(), "swordfish") {
				t.Errorf("%v without an interceptor: %v", c, direct)
			}
			continue
		}
		if !known || st.Code() != c || st.Message() != "swordfish" || direct.Code() != c {
			t.Errorf("%v: %v, known %v, without an interceptor %v", c, st, known, direct)
		}
	}
}

func TestBadBytesDoNotCostTheDetails(t *testing.T) {
	t.Parallel()
	st, _ := ToStatus(New(InvalidArgument, "BAD", "a \xff byte").With("k\xff", "v\xff").At("f\xff", "d\xff"))
	got := FromStatus(st.Err())
	var f *Error
	if !errors.As(got, &f) || f.Reason != "BAD" || len(f.Fields) != 1 || f.Fields[0].Description != "d\uFFFD" || f.Metadata["k\uFFFD"] != "v\uFFFD" {
		t.Errorf("got %#v", f)
	}
}

func TestWhatComesFromElsewhere(t *testing.T) {
	t.Parallel()
	foreign, err := status.New(codes.Unavailable, "down").WithDetails(&errdetails.ErrorInfo{Reason: "QUOTA", Domain: "googleapis.com"})
	if err != nil {
		t.Fatal(err)
	}
	if got := FromStatus(foreign.Err()); KindOf(got) != Unavailable || ReasonOf(got) != "UNSPECIFIED" {
		t.Errorf("a reason of another domain: %v", got)
	}
	plain := errors.New("no status")
	if got := FromStatus(plain); got != plain { //nolint:errorlint // the same error is meant
		t.Errorf("an error without a status: %v", got)
	}
	var wrapped *Error
	if !errors.As(FromStatus(fmt.Errorf("ask the oracle: %w", status.Error(codes.NotFound, "no oracle"))), &wrapped) || wrapped.Message != "no oracle" {
		t.Errorf("a status that is wrapped: %#v", wrapped)
	}
	if got := FromStatus(nil); got != nil {
		t.Errorf("no error: %v", got)
	}
	if KindOf(plain) != Internal || ReasonOf(plain) != "" {
		t.Errorf("a plain error: %v, %q", KindOf(plain), ReasonOf(plain))
	}
	cause := errors.New("cause")
	f := New(Aborted, "BUSY", "busy").Wrap(cause)
	if !errors.Is(f, cause) || f.Error() != "BUSY: busy: cause" || f.Wrap(nil) != f {
		t.Errorf("a cause: %v", f)
	}
	// What another service answered goes on to the caller as a fault of ours, its internal errors without their text.
	if st, known := ToStatus(fmt.Errorf("call: %w", FromStatus(status.Error(codes.Internal, "secret")))); known || strings.Contains(st.Message(), "secret") {
		t.Errorf("an internal error of another service: %v, known %v", st, known)
	}
}

type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }

func TestStreamsAreMappedToo(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	mapped := StreamServer(slog.New(slog.NewTextHandler(&buf, nil)))
	call := func(ctx context.Context, err error) *status.Status {
		return status.Convert(mapped(nil, stream{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/x/Watch"}, func(any, grpc.ServerStream) error { return err }))
	}
	if st := call(t.Context(), nil); st.Code() != codes.OK {
		t.Errorf("a good end: %v", st)
	}
	if st := call(t.Context(), New(NotFound, "NOT_FOUND", "gone")); st.Code() != codes.NotFound || buf.Len() > 0 {
		t.Errorf("a fault: %v, log %q", st, buf.String())
	}
	if st := call(t.Context(), errors.New("swordfish")); st.Code() != codes.Internal || strings.Count(buf.String(), "swordfish") != 1 || !strings.Contains(buf.String(), "/x/Watch") {
		t.Errorf("an internal error: %v, log %q", st, buf.String())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	buf.Reset()
	if st := call(gone, errors.New("broken pipe")); st.Code() != codes.Canceled || buf.Len() > 0 {
		t.Errorf("after the caller left: %v, log %q", st, buf.String())
	}
}

func TestCopiesDoNotShare(t *testing.T) {
	t.Parallel()
	base := New(FailedPrecondition, "X", "x").With("a", "1").At("f", "f")
	_ = base.With("b", "2").At("g", "g")
	if len(base.Metadata) != 1 || len(base.Fields) != 1 {
		t.Errorf("base changed: %+v", base)
	}
}

func TestInternalErrorsAreLoggedOnceAndHidden(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	log := slog.New(slog.NewTextHandler(&buf, nil))
	call := func(ctx context.Context, err error) *status.Status {
		_, got := UnaryServer(log)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/x/Y"}, func(context.Context, any) (any, error) { return nil, err })
		return status.Convert(got)
	}
	st := call(t.Context(), errors.New("the password is swordfish"))
	if st.Code() != codes.Internal || strings.Contains(st.Message(), "swordfish") {
		t.Errorf("status %v", st)
	}
	if n := strings.Count(buf.String(), "swordfish"); n != 1 {
		t.Errorf("logged %d times: %s", n, buf.String())
	}
	if st := call(t.Context(), New(Internal, "JOURNAL_UNREADABLE", "secret text")); strings.Contains(st.Message(), "secret") || st.Code() != codes.Internal {
		t.Errorf("an internal fault shows %v", st)
	}
	buf.Reset()
	if st := call(t.Context(), New(NotFound, "NOT_FOUND", "gone")); st.Code() != codes.NotFound || buf.Len() > 0 {
		t.Errorf("a fault: %v, log %q", st, buf.String())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if st := call(gone, errors.New("broken pipe")); st.Code() != codes.Canceled {
		t.Errorf("after the caller left: %v", st)
	}
	if st := call(t.Context(), fmt.Errorf("x: %w", context.DeadlineExceeded)); st.Code() != codes.DeadlineExceeded {
		t.Errorf("deadline: %v", st)
	}
	if st := call(t.Context(), status.Error(codes.Unavailable, "down")); st.Code() != codes.Unavailable {
		t.Errorf("a status of another service: %v", st)
	}
}
