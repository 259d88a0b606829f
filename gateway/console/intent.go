package console

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
)

// asCaller returns a context whose calls carry the token that came in, and the user that a service speaks for.
func asCaller(ctx context.Context) context.Context {
	out := metadata.MD{}
	for _, key := range []string{"authorization", auth.ActorHeader} {
		if v := metadata.ValueFromIncomingContext(ctx, key); len(v) > 0 {
			out.Set(key, v...)
		}
	}
	return metadata.NewOutgoingContext(ctx, out)
}

func intentOf(req proto.Message) (*partyv1.Intent, error) {
	raw, err := protojson.Marshal(req)
	if err != nil {
		return nil, err
	}
	return &partyv1.Intent{Type: string(req.ProtoReflect().Descriptor().FullName()), Json: string(raw)}, nil
}

func requestOf(intent *partyv1.Intent) (proto.Message, error) {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(intent.GetType()))
	if err != nil {
		return nil, fmt.Errorf("a kept line: %w", err)
	}
	req := typ.New().Interface()
	if err := protojson.Unmarshal([]byte(intent.GetJson()), req); err != nil {
		return nil, fmt.Errorf("a kept line: %w", err)
	}
	return req, nil
}
