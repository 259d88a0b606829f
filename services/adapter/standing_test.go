package adapter_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// A refusal names its field; whether another state would have taken it decides the kind.
func TestFieldsOfRefusals(t *testing.T) {
	t.Parallel()
	refusal := play.Refuse("NO_GOLD", "15 gold is too much")
	for name, tc := range map[string]struct {
		err    error
		kind   fault.Kind
		fields []string
	}{
		"no field is at fault":              {refusal, fault.FailedPrecondition, nil},
		"a field that is wrong anyway":      {refusal.At("steps"), fault.InvalidArgument, []string{"steps"}},
		"a field that the state is against": {refusal.On("steps"), fault.FailedPrecondition, []string{"steps"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f *fault.Error
			if !errors.As(adapter.Fault(tc.err), &f) {
				t.Fatal("no fault")
			}
			var fields []string
			for _, v := range f.Fields {
				fields = append(fields, v.Field)
				if v.Description != refusal.Message {
					t.Errorf("described as %q", v.Description)
				}
			}
			if f.Kind != tc.kind || f.Reason != "NO_GOLD" || f.Message != refusal.Message || !cmp.Equal(fields, tc.fields) {
				t.Errorf("got %v %q at %v", f.Kind, f, fields)
			}
		})
	}
}
