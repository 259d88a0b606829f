package serve

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/limit"
)

// MessageTooLarge is the reason of the RESOURCE_EXHAUSTED fault of a request that is larger than a server takes.
const MessageTooLarge = "MESSAGE_TOO_LARGE"

// gRPC refuses a message before any interceptor sees the call, with its code alone. So it is told a greater limit, up to
// which a message that is too large is read, not decoded, and refused with a reason.
const (
	readable     = 4
	mostReadable = 64 << 20
)

// readMost is up to which size messages are read that may have maxRecv bytes.
func readMost(maxRecv int) int { return max(maxRecv, min(readable*maxRecv, mostReadable)) }

// sized decodes messages of at most limit bytes. A greater one is left empty but for a mark, which [sized.check] finds: the
// error of a codec would reach the caller as an internal one.
type sized struct {
	encoding.CodecV2
	limit int
}

func newSized(limit int) sized { return sized{encoding.GetCodecV2(encodingproto.Name), limit} }

// sizeMark is the number of an unknown field, the last that there can be, with the size of the message. Who sends it is told that their
// message is too large.
const sizeMark = protowire.MaxValidNumber

// Unmarshal implements encoding.CodecV2.
func (s sized) Unmarshal(data mem.BufferSlice, v any) error {
	msg, ok := v.(proto.Message)
	if !ok || data.Len() <= s.limit {
		return s.CodecV2.Unmarshal(data, v)
	}
	proto.Reset(msg)
	mark := protowire.AppendTag(nil, sizeMark, protowire.VarintType)
	msg.ProtoReflect().SetUnknown(protowire.AppendVarint(mark, uint64(data.Len()))) //nolint:gosec // a length
	return nil
}

// check refuses a message that was too large to be decoded.
func (s sized) check(ctx context.Context, m any) error {
	msg, ok := m.(proto.Message)
	if !ok {
		return nil
	}
	if number, _, n := protowire.ConsumeTag(msg.ProtoReflect().GetUnknown()); n <= 0 || number != sizeMark {
		return nil
	}
	limit.Refused(ctx, "message")
	return fault.New(fault.ResourceExhausted, MessageTooLarge, "the message is larger than %d bytes", s.limit)
}

func (s sized) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := s.check(ctx, req); err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (s sized) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, sizedStream{ss, s})
}

type sizedStream struct {
	grpc.ServerStream
	s sized
}

// RecvMsg implements grpc.ServerStream.
func (s sizedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.s.check(s.Context(), m)
}
