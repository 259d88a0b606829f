package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// IdempotencyHeader is the metadata key whose value stands in for an empty request_id.
const IdempotencyHeader = "idempotency-key"

// fillUnary takes the request_id from the Idempotency-Key header when the request has an empty one.
func fillUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if msg, ok := req.(proto.Message); ok {
		if err := fillRequestID(ctx, msg.ProtoReflect()); err != nil {
			return nil, err
		}
	}
	return next(ctx, req)
}

func fillRequestID(ctx context.Context, m protoreflect.Message) error {
	fd := m.Descriptor().Fields().ByName("request_id")
	if fd == nil || fd.Kind() != protoreflect.StringKind || fd.IsList() || m.Get(fd).String() != "" {
		return nil
	}
	keys := metadata.ValueFromIncomingContext(ctx, IdempotencyHeader)
	switch len(keys) {
	case 0:
	case 1:
		m.Set(fd, protoreflect.ValueOfString(keys[0]))
	default:
		return fault.Invalid("request_id", "the Idempotency-Key header is given %d times", len(keys))
	}
	return nil
}

func checkUnary(v protovalidate.Validator) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if msg, ok := req.(proto.Message); ok {
			if err := Check(v, msg); err != nil {
				return nil, err
			}
		}
		return next(ctx, req)
	}
}

func checkStream(v protovalidate.Validator) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, checkedStream{ss, v})
	}
}

type checkedStream struct {
	grpc.ServerStream
	v protovalidate.Validator
}

func (c checkedStream) RecvMsg(m any) error {
	if err := c.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	msg, ok := m.(proto.Message)
	if !ok {
		return nil
	}
	if err := fillRequestID(c.Context(), msg.ProtoReflect()); err != nil {
		return err
	}
	return Check(c.v, msg)
}

// Check validates a message by the rules of the contract. Its fault names every violation with the path of its field, for
// example "dungeon.cards[3].level", and the rule, for example "int32.gte_lte".
func Check(v protovalidate.Validator, msg proto.Message) error {
	err := v.Validate(msg)
	var bad *protovalidate.ValidationError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &bad):
		return fmt.Errorf("validate %s: %w", msg.ProtoReflect().Descriptor().FullName(), err)
	}
	fields := make([]fault.Violation, len(bad.Violations))
	texts := make([]string, len(bad.Violations))
	for i, violation := range bad.Violations {
		f := fault.Violation{
			Field:  protovalidate.FieldPathString(violation.Proto.GetField()),
			Reason: violation.Proto.GetRuleId(), Description: violation.Proto.GetMessage(),
		}
		fields[i], texts[i] = f, f.Description
		if f.Field != "" { // a rule of the whole message has none
			texts[i] = f.Field + ": " + f.Description
		}
	}
	return fault.Violations("INVALID", fields, "%s", strings.Join(texts, "; "))
}
