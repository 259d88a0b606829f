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

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
