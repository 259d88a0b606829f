package adapter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

var (
	player = adapter.Caller{Campaign: "campaigns/c", Subject: "ada", Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
	master = adapter.Caller{Campaign: "campaigns/c", Subject: "gerd", Membership: adapter.Membership{Role: typev1.Role_ROLE_GM}}
)

const deep = 5 // how far down messages are filled

// fill sets every field of a message. Of each oneof it sets the alternative that pick names.
func fill(m protoreflect.Message, pick, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Fields().Get(pick%o.Fields().Len()) != fd {
			continue
		}
		value := func(fd protoreflect.FieldDescriptor, inner func() protoreflect.Value) (protoreflect.Value, bool) {
			if fd.Message() == nil {
				return scalar(fd), true
			}
			if depth == 0 {
				return protoreflect.Value{}, false
			}
			v := inner()
			fill(v.Message(), pick, depth-1)
			return v, true
		}
		switch {
		case fd.IsMap():
			entries := m.Mutable(fd).Map()
			if v, ok := value(fd.MapValue(), entries.NewValue); ok {
				entries.Set(scalar(fd.MapKey()).MapKey(), v)
			}
		case fd.IsList():
			l := m.Mutable(fd).List()
			for range 2 {
				if v, ok := value(fd, l.NewElement); ok {
					l.Append(v)
				}
			}
		default:
			if v, ok := value(fd, func() protoreflect.Value { return m.NewField(fd) }); ok {
				m.Set(fd, v)
			}
		}
	}
}

func scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(fd.Enum().Values().Get(fd.Enum().Values().Len() - 1).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(4)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(4)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(4)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(4)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(4)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(4)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("x")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("x"))
	case protoreflect.MessageKind, protoreflect.GroupKind:
	}
	panic("no value for " + fd.FullName())
}

// walk calls see for every populated field with the path to it, however deep.
func walk(path string, m protoreflect.Message, see func(path string, m protoreflect.Message, fd protoreflect.FieldDescriptor)) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		here := path + "." + string(fd.Name())
		see(here, m, fd)
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
					walk(here+"["+k.String()+"]", v.Message(), see)
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				walk(fmt.Sprintf("%s[%d]", here, i), v.List().Get(i).Message(), see)
			}
		default:
			walk(here, v.Message(), see)
		}
		return true
	})
}

func marked(fd protoreflect.FieldDescriptor) bool {
	secret, _ := proto.GetExtension(fd.Options(), typev1.E_Secret).(bool)
	return secret
}

// secrets lists where a message shows what only game masters may see, and paths lists everything.
func secrets(m proto.Message) (hidden, paths []string) {
	walk("", m.ProtoReflect(), func(path string, m protoreflect.Message, fd protoreflect.FieldDescriptor) {
		if marked(fd) || m.Descriptor().FullName() == "wayfarer.type.v1.Die" && fd.Name() == "face" && m.Get(m.Descriptor().Fields().ByName("secret")).Bool() {
			hidden = append(hidden, path)
		}
		paths = append(paths, path)
	})
	return hidden, paths
}

// below tells whether a path is one of those, or leads through one.
func below(path string, those []string) bool {
	return slices.ContainsFunc(those, func(s string) bool {
		return path == s || strings.HasPrefix(path, s+".") || strings.HasPrefix(path, s+"[")
	})
}

// contract is every message type of the contract.
func contract(t *testing.T) []protoreflect.MessageType {
	t.Helper()
	var types []protoreflect.MessageType
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		if d := mt.Descriptor(); strings.HasPrefix(string(d.FullName()), "wayfarer.") && !d.IsMapEntry() {
			types = append(types, mt)
		}
		return true
	})
	if len(types) < 300 {
		t.Fatalf("only %d messages: is a package of the contract missing?", len(types))
	}
	return types
}

func TestRedactHidesEverySecretOfTheContract(t *testing.T) {
	t.Parallel()
	var fields, covered []string
	for _, mt := range contract(t) {
		for i := range mt.Descriptor().Fields().Len() {
			fd := mt.Descriptor().Fields().Get(i)
			if marked(fd) {
				fields = append(fields, string(fd.FullName()))
			}
			if fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Any" {
				t.Errorf("%s could hide a secret that no one finds", fd.FullName())
			}
		}
		picks := 1
		for i := range mt.Descriptor().Oneofs().Len() {
			picks = max(picks, mt.Descriptor().Oneofs().Get(i).Fields().Len())
		}
		for pick := range picks {
			m := mt.New().Interface()
			fill(m.ProtoReflect(), pick, deep)
			hidden, all := secrets(m)
			before := proto.Clone(m)
			got := adapter.Redact(player, m)
			if !proto.Equal(m, before) {
				t.Errorf("%s: the message itself was changed", mt.Descriptor().FullName())
			}
			left, paths := secrets(got)
			if len(left) > 0 {
				t.Errorf("%s shows %v", mt.Descriptor().FullName(), left)
			}
			var want []string
			for _, p := range all {
				if !below(p, hidden) {
					want = append(want, p)
				}
			}
			slices.Sort(want)
			if slices.Sort(paths); !slices.Equal(want, paths) {
				t.Errorf("%s: of what is no secret this differs: %s", mt.Descriptor().FullName(), cmp.Diff(want, paths))
			}
			if !proto.Equal(adapter.Redact(master, m), before) {
				t.Errorf("%s: a game master does not see all", mt.Descriptor().FullName())
			}
			if len(hidden) > 0 {
				covered = append(covered, string(mt.Descriptor().FullName()))
			}
		}
	}
	if len(fields) < 5 || len(covered) < 20 {
		t.Errorf("%d secret fields in %d messages: is the option still read?", len(fields), len(covered))
	}
}

// tree is a message of no contract, with secrets in every place that a message has.
func tree(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	secret := &descriptorpb.FieldOptions{}
	proto.SetExtension(secret, typev1.E_Secret, true)
	number := int32(0)
	field := func(name string, list bool, message string, opts *descriptorpb.FieldOptions) *descriptorpb.FieldDescriptorProto {
		number++
		f := &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: proto.Int32(number), Options: opts,
			Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if list {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if message != "" {
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), &message
		}
		return f
	}
	entry := func(name, message string) *descriptorpb.DescriptorProto {
		number = 0
		return &descriptorpb.DescriptorProto{
			Name: &name, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
			Field: []*descriptorpb.FieldDescriptorProto{field("key", false, "", nil), field("value", false, message, nil)},
		}
	}
	m := &descriptorpb.DescriptorProto{Name: proto.String("Tree"), NestedType: []*descriptorpb.DescriptorProto{
		entry("TreesEntry", ".t.Tree"), entry("DiceEntry", ".wayfarer.type.v1.Die"), entry("WordsEntry", ""), entry("SecretWordsEntry", ""),
	}}
	number = 0
	m.Field = []*descriptorpb.FieldDescriptorProto{
		field("open", false, "", nil), field("secret_text", false, "", secret), field("secret_list", true, "", secret),
		field("secret_words", true, ".t.Tree.SecretWordsEntry", secret), field("words", true, ".t.Tree.WordsEntry", nil),
		field("secret_tree", false, ".t.Tree", secret), field("child", false, ".t.Tree", nil), field("children", true, ".t.Tree", nil),
		field("trees", true, ".t.Tree.TreesEntry", nil), field("die", false, ".wayfarer.type.v1.Die", nil),
		field("more", true, ".wayfarer.type.v1.Die", nil), field("dice", true, ".t.Tree.DiceEntry", nil),
	}
	f, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m},
		Dependency: []string{"wayfarer/type/v1/record.proto"},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return f.Messages().ByName("Tree")
}

func TestRedactLooksEverywhere(t *testing.T) {
	t.Parallel()
	m := dynamicpb.NewMessage(tree(t))
	fill(m, 0, 3)
	hidden, _ := secrets(m)
	for _, want := range []string{".secret_text", ".child.secret_list", ".children[1].secret_words", ".trees[x].child.secret_tree", ".die.face", ".children[0].more[1].face", ".dice[x].face"} {
		if !slices.Contains(hidden, want) {
			t.Fatalf("%s is not among the secrets %v", want, hidden)
		}
	}
	got := adapter.Redact(player, m)
	if left, _ := secrets(got); len(left) > 0 {
		t.Errorf("shown: %v", left)
	}
	if _, all := secrets(got); !slices.Contains(all, ".trees[x].children[0].open") || !slices.Contains(all, ".die.sides") || !slices.Contains(all, ".words") {
		t.Errorf("of what is open, only this is left: %v", all)
	}
	if left, _ := secrets(adapter.Redact(master, m)); len(left) != len(hidden) {
		t.Errorf("a game master sees %v", left)
	}
}

func TestWhoSeesSecrets(t *testing.T) {
	t.Parallel()
	event := func() *dicev1.StreamEvent {
		return &dicev1.StreamEvent{Event: &dicev1.StreamEvent_Begun{Begun: &dicev1.StreamBegun{Seed: []byte("seed"), Holder: "campaigns/c/runs/r"}}}
	}
	for name, tc := range map[string]struct {
		caller adapter.Caller
		sees   bool
	}{
		"a game master":                       {master, true},
		"an owner":                            {withRole(typev1.Role_ROLE_OWNER), true},
		"a player":                            {player, false},
		"a spectator":                         {withRole(typev1.Role_ROLE_SPECTATOR), false},
		"a bot":                               {withRole(typev1.Role_ROLE_BOT), false},
		"somebody without a role":             {adapter.Caller{}, false},
		"a service that acts for itself":      {adapter.Caller{Service: true, Itself: true}, true},
		"a service that acts for a player":    {adapter.Caller{Service: true, Membership: player.Membership}, false},
		"a service that acts for a spectator": {adapter.Caller{Service: true, Membership: adapter.Membership{Role: typev1.Role_ROLE_SPECTATOR}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := event()
			if !tc.sees {
				want.GetBegun().Seed = nil
			}
			if d := cmp.Diff(want, adapter.Redact(tc.caller, event()), protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
}

func withRole(r typev1.Role) adapter.Caller {
	return adapter.Caller{Campaign: "campaigns/c", Subject: "eve", Membership: adapter.Membership{Role: r}}
}
