package main

import (
	"fmt"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// contract is what the plugin does not pass on: the rules that a server checks fields by, and what the values of
// enumerations mean.
type contract struct {
	messages map[string]protoreflect.MessageDescriptor // by full name, as schemas are named
	enums    map[string]protoreflect.EnumDescriptor    // likewise
	inputs   map[string]protoreflect.MessageDescriptor // by Service_Method, as operations are named
}

// parseContract reads a compiled image of the protos.
func parseContract(image []byte) (*contract, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(image, &set); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	c := &contract{
		messages: map[string]protoreflect.MessageDescriptor{}, enums: map[string]protoreflect.EnumDescriptor{},
		inputs: map[string]protoreflect.MessageDescriptor{},
	}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		c.addEnums(file.Enums())
		c.addMessages(file.Messages())
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				id := string(service.Name()) + "_" + string(method.Name())
				if c.inputs[id] != nil {
					err = fmt.Errorf("two methods are %s", id)
				}
				c.inputs[id] = method.Input()
			}
		}
		return err == nil
	})
	return c, err
}

func (c *contract) addMessages(messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		message := messages.Get(i)
		c.messages[string(message.FullName())] = message
		c.addEnums(message.Enums())
		c.addMessages(message.Messages())
	}
}

func (c *contract) addEnums(enums protoreflect.EnumDescriptors) {
	for i := range enums.Len() {
		c.enums[string(enums.Get(i).FullName())] = enums.Get(i)
	}
}

// explain adds the comments of its values to the description of every enumeration: a line for each.
func (c *contract) explain(doc *document) {
	for name, schema := range doc.Components.Schemas {
		enum := c.enums[name]
		if enum == nil {
			continue
		}
		var lines []string
		for i := range enum.Values().Len() {
			value := enum.Values().Get(i)
			comment := enum.ParentFile().SourceLocations().ByDescriptor(value).LeadingComments
			if text := strings.Join(strings.Fields(comment), " "); text != "" {
				lines = append(lines, fmt.Sprintf("- %s: %s", value.Name(), text))
			}
		}
		if len(lines) == 0 {
			continue
		}
		description, _ := schema["description"].(string)
		schema["description"] = strings.TrimPrefix(description+"\n\n"+strings.Join(lines, "\n"), "\n\n")
	}
}

// constrain writes the field rules into the document's schemas, request bodies and query parameters.
func (c *contract) constrain(doc *document) error {
	for name, schema := range doc.Components.Schemas {
		if message := c.messages[name]; message != nil {
			constrainProperties(schema, message)
		}
	}
	for path, verbs := range doc.Paths {
		for verb, op := range verbs {
			input := c.inputs[op.OperationID]
			if input == nil {
				return fmt.Errorf("%s %s: the image has no method %s", verb, path, op.OperationID)
			}
			if body, ok := at(op.RequestBody, "content", "application/json", "schema").(object); ok {
				constrainProperties(body, input)
			}
			for _, p := range op.Parameters {
				schema, _ := p["schema"].(object)
				name, _ := p["name"].(string)
				if field := input.Fields().ByJSONName(name); field != nil && p["in"] == "query" {
					constrain(schema, rulesOf(field))
				}
			}
		}
	}
	return nil
}

func constrainProperties(schema object, message protoreflect.MessageDescriptor) {
	properties, _ := schema["properties"].(object)
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if property, ok := properties[field.JSONName()].(object); ok {
			constrain(property, rulesOf(field))
		}
	}
}

func rulesOf(field protoreflect.FieldDescriptor) *validate.FieldRules {
	rules, _ := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
	return rules
}

// constrain writes what JSON Schema can say of the rules. Byte lengths and expressions it cannot; 64-bit numbers are
// strings in JSON, so their bounds are left out.
func constrain(schema object, rules *validate.FieldRules) {
	if schema == nil || schema["$ref"] != nil || rules.GetIgnore() != validate.Ignore_IGNORE_UNSPECIFIED {
		return
	}
	set := func(key string, has bool, value any) {
		if has {
			schema[key] = value
		}
	}
	if r := rules.GetString(); r != nil {
		set("minLength", r.HasMinLen(), r.GetMinLen())
		set("maxLength", r.HasMaxLen(), r.GetMaxLen())
		set("minLength", r.HasLen(), r.GetLen())
		set("maxLength", r.HasLen(), r.GetLen())
		set("pattern", r.HasPattern(), r.GetPattern())
		set("enum", len(r.GetIn()) > 0, r.GetIn())
	}
	if r := rules.GetInt32(); r != nil {
		set("minimum", r.HasGte(), r.GetGte())
		set("exclusiveMinimum", r.HasGt(), r.GetGt())
		set("maximum", r.HasLte(), r.GetLte())
		set("exclusiveMaximum", r.HasLt(), r.GetLt())
		set("enum", len(r.GetIn()) > 0, r.GetIn())
	}
	if r := rules.GetRepeated(); r != nil {
		set("minItems", r.HasMinItems(), r.GetMinItems())
		set("maxItems", r.HasMaxItems(), r.GetMaxItems())
		set("uniqueItems", r.GetUnique(), true)
		items, _ := schema["items"].(object)
		constrain(items, r.GetItems())
	}
	if r := rules.GetMap(); r != nil {
		set("minProperties", r.HasMinPairs(), r.GetMinPairs())
		set("maxProperties", r.HasMaxPairs(), r.GetMaxPairs())
		values, _ := schema["additionalProperties"].(object)
		constrain(values, r.GetValues())
	}
}
