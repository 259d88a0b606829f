package adapter

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"
)

// Redact returns the message as the caller may see it: for everybody but GMs a copy without the fields that the
// contract marks secret and without the faces of secret dice. It is the only place that decides this.
func Redact[M proto.Message](c Caller, m M) M {
	if c.GM() || !secretive(m.ProtoReflect().Descriptor()) {
		return m
	}
	out := proto.Clone(m).(M) //nolint:forcetypeassert // Clone keeps the type
	clearSecrets(out.ProtoReflect())
	return out
}

// secretMessages remembers which message types have anything to hide, however deep.
var secretMessages sync.Map // protoreflect.FullName -> bool

var dieName = (&typev1.Die{}).ProtoReflect().Descriptor().FullName()

func secretive(d protoreflect.MessageDescriptor) bool {
	if known, ok := secretMessages.Load(d.FullName()); ok {
		return known.(bool) //nolint:forcetypeassert // only bools are stored
	}
	found := hides(d, map[protoreflect.FullName]bool{})
	secretMessages.Store(d.FullName(), found)
	return found
}

func hides(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if d.FullName() == dieName {
		return true
	}
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		if isSecret(fd) || messageOf(fd) != nil && hides(messageOf(fd), seen) {
			return true
		}
	}
	return false
}

func isSecret(fd protoreflect.FieldDescriptor) bool {
	return proto.HasExtension(fd.Options(), typev1.E_Secret) && proto.GetExtension(fd.Options(), typev1.E_Secret).(bool) //nolint:forcetypeassert // a bool option
}

func messageOf(fd protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if fd.IsMap() {
		return fd.MapValue().Message()
	}
	return fd.Message()
}

func clearSecrets(m protoreflect.Message) {
	if m.Descriptor().FullName() == dieName {
		if fields := m.Descriptor().Fields(); m.Get(fields.ByName("secret")).Bool() {
			m.Clear(fields.ByName("face"))
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isSecret(fd):
			m.Clear(fd)
		case messageOf(fd) == nil || !secretive(messageOf(fd)):
		case fd.IsList():
			for i := range v.List().Len() {
				clearSecrets(v.List().Get(i).Message())
			}
		case fd.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				clearSecrets(v.Message())
				return true
			})
		default:
			clearSecrets(v.Message())
		}
		return true
	})
}
