package main

import (
	"encoding/json"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestConstrainSaysWhatTheServerChecks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schema string
		rules  *validate.FieldRules
		want   string
	}{
		"a text with a pattern and lengths": {
			`{"type":"string"}`,
			validate.FieldRules_builder{String: validate.StringRules_builder{
				MinLen: proto.Uint64(1), MaxLen: proto.Uint64(9), Pattern: proto.String("^x"),
			}.Build()}.Build(),
			`{"maxLength":9,"minLength":1,"pattern":"^x","type":"string"}`,
		},
		"one of some texts": {
			`{"type":"string"}`,
			validate.FieldRules_builder{String: validate.StringRules_builder{In: []string{"a", "b"}}.Build()}.Build(),
			`{"enum":["a","b"],"type":"string"}`,
		},
		"a number between bounds": {
			`{"type":"integer"}`,
			validate.FieldRules_builder{Int32: validate.Int32Rules_builder{Gte: proto.Int32(0), Lt: proto.Int32(7)}.Build()}.Build(),
			`{"exclusiveMaximum":7,"minimum":0,"type":"integer"}`,
		},
		"a list and its items": {
			`{"type":"array","items":{"type":"string"}}`,
			validate.FieldRules_builder{Repeated: validate.RepeatedRules_builder{
				MinItems: proto.Uint64(1), MaxItems: proto.Uint64(7), Unique: proto.Bool(true),
				Items: validate.FieldRules_builder{String: validate.StringRules_builder{Len: proto.Uint64(3)}.Build()}.Build(),
			}.Build()}.Build(),
			`{"items":{"maxLength":3,"minLength":3,"type":"string"},"maxItems":7,"minItems":1,"type":"array","uniqueItems":true}`,
		},
		"a map and its values": {
			`{"type":"object","additionalProperties":{"type":"integer"}}`,
			validate.FieldRules_builder{Map: validate.MapRules_builder{
				MaxPairs: proto.Uint64(4),
				Values:   validate.FieldRules_builder{Int32: validate.Int32Rules_builder{Gt: proto.Int32(0)}.Build()}.Build(),
			}.Build()}.Build(),
			`{"additionalProperties":{"exclusiveMinimum":0,"type":"integer"},"maxProperties":4,"type":"object"}`,
		},
		"a reference is left alone": {
			`{"$ref":"#/components/schemas/X"}`,
			validate.FieldRules_builder{String: validate.StringRules_builder{MinLen: proto.Uint64(1)}.Build()}.Build(),
			`{"$ref":"#/components/schemas/X"}`,
		},
		"rules that an empty value escapes are left out": {
			`{"type":"string"}`,
			validate.FieldRules_builder{
				Ignore: validate.Ignore_IGNORE_IF_ZERO_VALUE.Enum(),
				String: validate.StringRules_builder{MinLen: proto.Uint64(1)}.Build(),
			}.Build(),
			`{"type":"string"}`,
		},
		"no rules": {`{"type":"string"}`, nil, `{"type":"string"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var schema object
			if err := json.Unmarshal([]byte(tt.schema), &schema); err != nil {
				t.Fatal(err)
			}
			constrain(schema, tt.rules)
			got, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("schema is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestConstrainReachesSchemasBodiesAndQueries(t *testing.T) {
	t.Parallel()
	doc, err := mergeTexts(t, plugin)
	if err != nil {
		t.Fatal(err)
	}
	protos, err := parseContract(image(t, "Join", "Watch"))
	if err != nil {
		t.Fatal(err)
	}
	watch := doc.Paths["/v1/campaigns/{campaign}:watch"]["get"]
	query := object{"name": "character", "in": "query", "schema": object{"type": "string"}}
	watch.Parameters = append(watch.Parameters, query)
	if err := protos.constrain(doc); err != nil {
		t.Fatal(err)
	}
	join := doc.Paths["/v1/campaigns/{campaign}/parties/{party}:join"]["post"]
	for where, v := range map[string]any{
		"body":  at(join.RequestBody, "content", "application/json", "schema", "properties", "character", "maxLength"),
		"query": at(query, "schema", "maxLength"),
	} {
		if v != uint64(9) {
			t.Errorf("%s: maxLength is %v, want 9", where, v)
		}
	}
}

func TestConstrainRefusesAnImageOfOtherProtos(t *testing.T) {
	t.Parallel()
	doc, err := mergeTexts(t, plugin)
	if err != nil {
		t.Fatal(err)
	}
	protos, err := parseContract(image(t, "Join"))
	if err != nil {
		t.Fatal(err)
	}
	if err := protos.constrain(doc); err == nil || !strings.Contains(err.Error(), "no method PartyService_Watch") {
		t.Errorf("error is %v", err)
	}
	if _, err := parseContract([]byte("no image")); err == nil {
		t.Error("something that is no image was accepted")
	}
}

func TestExplainTellsTheValuesOfAnEnumeration(t *testing.T) {
	t.Parallel()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("a.proto"), Package: proto.String("p"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Run"), EnumType: []*descriptorpb.EnumDescriptorProto{{
			Name: proto.String("Phase"),
			Value: []*descriptorpb.EnumValueDescriptorProto{
				{Name: proto.String("PHASE_UNSPECIFIED"), Number: proto.Int32(0)}, {Name: proto.String("PHASE_DRAW"), Number: proto.Int32(1)},
			},
		}}}},
		SourceCodeInfo: &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
			{Path: []int32{4, 0, 4, 0, 2, 1}, Span: []int32{1, 1, 2}, LeadingComments: proto.String(" A challenge is\n drawn.\n")},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	protos, err := parseContract(raw)
	if err != nil {
		t.Fatal(err)
	}
	phase, other := object{"description": "What it waits for."}, object{"description": "Another."}
	protos.explain(&document{Components: components{Schemas: map[string]object{"p.Run.Phase": phase, "p.Run": other}}})
	if got := phase["description"]; got != "What it waits for.\n\n- PHASE_DRAW: A challenge is drawn." {
		t.Errorf("the enumeration says %q", got)
	}
	if other["description"] != "Another." {
		t.Errorf("the message says %q", other["description"])
	}
}

// image compiles a service with the methods, whose request has a field "character" of at most 9 characters.
func image(t *testing.T, methods ...string) []byte {
	t.Helper()
	options := &descriptorpb.FieldOptions{}
	proto.SetExtension(options, validate.E_Field, validate.FieldRules_builder{
		String: validate.StringRules_builder{MaxLen: proto.Uint64(9)}.Build(),
	}.Build())
	service := &descriptorpb.ServiceDescriptorProto{Name: proto.String("PartyService")}
	for _, m := range methods {
		service.Method = append(service.Method, &descriptorpb.MethodDescriptorProto{
			Name: proto.String(m), InputType: proto.String(".Request"), OutputType: proto.String(".Request"),
		})
	}
	text, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("a.proto"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Request"),
			Field: []*descriptorpb.FieldDescriptorProto{{
				Name: proto.String("character"), JsonName: proto.String("character"), Number: proto.Int32(1), Options: options,
				Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			}},
		}},
		Service: []*descriptorpb.ServiceDescriptorProto{service},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
