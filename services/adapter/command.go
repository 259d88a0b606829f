package adapter

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Command is a mutation as it came in, ready for an [Aggregate].
type Command struct {
	// Caller gave it.
	Caller Caller
	// Stream is the aggregate's resource name.
	Stream string
	// Mode says whether the aggregate has to exist.
	Mode journal.Mode
	// Parent is kept for lists when the aggregate begins.
	Parent string
	// RequestID and RequestHash are those of DESIGN's journal: same id and hash, same answer.
	RequestID   string
	RequestHash string
	// Etag, when not empty, must be that of the present state.
	Etag string
	// OverrideReason is a GM's, for standing in for somebody.
	OverrideReason string
	// Reported are faces that a GM rolled by hand; nil: dice come from the stream.
	Reported []int
	// Refusal, when not nil, is why the caller may not give this command, or may no longer: a repetition still gets its
	// first answer.
	Refusal error
}

// CommandOf reads a mutating request: its request_id, etag, override_reason and reported_dice, where it has them.
// An override and reported dice of anybody but a GM make its Refusal. It fails on reported dice without an etag where the
// request takes one, and on a request that JSON cannot hold.
func CommandOf(ctx context.Context, req proto.Message, caller Caller, stream string) (Command, error) {
	m := req.ProtoReflect()
	cmd := Command{
		Caller: caller, Stream: stream,
		RequestID: text(m, "request_id"), Etag: text(m, "etag"), OverrideReason: text(m, "override_reason"),
	}
	if fd := m.Descriptor().Fields().ByName("reported_dice"); fd != nil {
		for i, l := 0, m.Get(fd).List(); i < l.Len(); i++ {
			cmd.Reported = append(cmd.Reported, int(l.Get(i).Int()))
		}
	}
	if !caller.GM() {
		if cmd.OverrideReason != "" {
			cmd.Refusal = fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may override").At("override_reason", "is for game masters")
		}
		if cmd.Reported != nil {
			cmd.Refusal = fault.New(fault.PermissionDenied, "NOT_GM", "only a game master may report dice").At("reported_dice", "is for game masters")
		}
	}
	if cmd.Refusal == nil && cmd.Reported != nil && cmd.Etag == "" && m.Descriptor().Fields().ByName("etag") != nil {
		return cmd, fault.Invalid("etag", "reported dice need the etag of the state they were rolled for").Because("ETAG_REQUIRED")
	}
	method, _ := grpc.Method(ctx)
	var err error
	if cmd.RequestHash, err = requestid.Hash(method, caller.Subject, req); err != nil {
		// Only over gRPC: numbers that JSON does not know.
		return cmd, fault.New(fault.InvalidArgument, "INVALID", "the request cannot be written as JSON").Wrap(err)
	}
	return cmd, nil
}

func text(m protoreflect.Message, field protoreflect.Name) string {
	fd := m.Descriptor().Fields().ByName(field)
	if fd == nil || fd.Kind() != protoreflect.StringKind || fd.IsList() {
		return ""
	}
	return m.Get(fd).String()
}

// Fault turns refusals of the rules into faults. Others stay as they are: errors of the journal are faults already.
func Fault(err error) error {
	var refusal *play.Refusal
	if errors.As(err, &refusal) {
		return refused(refusal)
	}
	return err
}

func refused(r *play.Refusal) error {
	field := r.Field
	if r.Code == play.BadDice && field == "" {
		field = "reported_dice"
	}
	f := fault.New(fault.FailedPrecondition, r.Code, "%s", r.Message)
	switch {
	case field == "":
		return f
	case r.Standing:
		return f.At(field, r.Message)
	}
	return fault.Invalid(field, "%s", r.Message).Because(r.Code)
}
