package expedition

import (
	"bytes"
	"errors"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

var testKey = bytes.Repeat([]byte{7}, KeySize)

func TestPayloadsAreEncrypted(t *testing.T) {
	t.Parallel()
	var opts client.Options
	if err := Encrypt(&opts, testKey); err != nil {
		t.Fatal(err)
	}
	in := command{RequestID: "r1", Execute: []byte("swordfish")}
	first, err := opts.DataConverter.ToPayload(in)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := opts.DataConverter.ToPayload(in)
	if raw, _ := proto.Marshal(first); bytes.Contains(raw, []byte("r1")) || bytes.Contains(raw, []byte("request_id")) {
		t.Error("the payload shows its content")
	}
	if bytes.Equal(first.GetData(), second.GetData()) {
		t.Error("equal content is seen to be equal")
	}
	var out command
	if err := opts.DataConverter.FromPayload(first, &out); err != nil || out.RequestID != "r1" || string(out.Execute) != "swordfish" {
		t.Errorf("came back as %+v, %v", out, err)
	}
	failure := opts.FailureConverter.ErrorToFailure(pack(fault.New(fault.FailedPrecondition, "LEASED", "swordfish")))
	if raw, _ := proto.Marshal(failure); bytes.Contains(raw, []byte("swordfish")) || bytes.Contains(raw, []byte("LEASED")) {
		t.Error("a failure shows its text")
	}
	back := unpack(opts.FailureConverter.FailureToError(failure))
	if fault.ReasonOf(fault.FromStatus(back.Err())) != "LEASED" {
		t.Errorf("the failure came back as %v", back)
	}
}

func TestPayloadsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 16, 31, 33} {
		if _, err := newCodec(make([]byte, size)); err == nil {
			t.Errorf("a key of %d bytes was taken", size)
		}
	}
	c, err := newCodec(testKey)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := newCodec(bytes.Repeat([]byte{8}, KeySize))
	plain := &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain")}, Data: []byte("1")}
	sealed, err := c.Encode([]*commonpb.Payload{plain})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Decode(sealed); err == nil {
		t.Error("another key opened it")
	}
	sealed[0].Data[len(sealed[0].Data)-1] ^= 1
	if _, err := c.Decode(sealed); err == nil {
		t.Error("a changed payload was taken")
	}
	sealed[0].Data = sealed[0].Data[:4]
	if _, err := c.Decode(sealed); err == nil {
		t.Error("a payload of 4 bytes was taken")
	}
	if got, err := c.Decode([]*commonpb.Payload{plain}); err != nil || !proto.Equal(got[0], plain) {
		t.Errorf("what is not encrypted came back as %v, %v", got, err)
	}
}

func TestStatusesPassThroughUnchanged(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err   *fault.Error
		final bool
	}{
		"a bad field":         {fault.Invalid("to", "is off the map").Because("OFF_MAP"), true},
		"unknown":             {fault.New(fault.NotFound, "NOT_FOUND", "gone").With("resource", "x"), true},
		"exists":              {fault.New(fault.AlreadyExists, "ALREADY_EXISTS", "there"), true},
		"a refusal":           {fault.New(fault.FailedPrecondition, "LEASED", "held").With("holder", "x"), true},
		"forbidden":           {fault.New(fault.PermissionDenied, "NOT_GM", "for game masters"), true},
		"a stale etag":        {fault.New(fault.Aborted, "ETAG_MISMATCH", "changed"), true},
		"a busy stream":       {fault.New(fault.Aborted, "STREAM_BUSY", "busy").After(time.Second), false},
		"away":                {fault.New(fault.Unavailable, "AWAY", "later").After(2 * time.Second), false},
		"too much":            {fault.New(fault.ResourceExhausted, "RATE", "slower"), false},
		"the deadline passed": {fault.New(fault.DeadlineExceeded, "LATE", "late"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, _ := fault.ToStatus(row.err)
			if got := final(want.Err()); got != row.final {
				t.Errorf("final is %v", got)
			}
			st := unpack(pack(want.Err()))
			if st == nil || !proto.Equal(st.Proto(), want.Proto()) {
				t.Errorf("got %v, want %v", st, want)
			}
		})
	}
	if st := unpack(pack(errors.New("swordfish"))); st.Message() != "internal error" {
		t.Errorf("an internal error shows as %v", st)
	}
	if unpack(errors.New("plain")) != nil {
		t.Error("a plain error was unpacked")
	}
	if pack(nil) != nil {
		t.Error("no error was packed")
	}
}
