package console_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func protoString(s string) protoreflect.Value { return protoreflect.ValueOfString(s) }

func newMessage(t *testing.T, name protoreflect.FullName) proto.Message {
	t.Helper()
	typ, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return typ.New().Interface()
}
