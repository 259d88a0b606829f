package expedition

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// What is refused by the rules is no warning to those who watch over the worker; what fails is.
func TestRefusalsAreBenign(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err          error
		last, benign bool
	}{
		"a refusal":                 {fault.New(fault.FailedPrecondition, "NOT_LEADER", "ada leads"), true, true},
		"bad input":                 {fault.New(fault.InvalidArgument, "INVALID", "no"), true, true},
		"a store that is away":      {fault.New(fault.Unavailable, "STORE_UNAVAILABLE", "away"), false, false},
		"a failure, tried too much": {errors.New("broken"), true, false},
		"a refusal of a timer":      {fault.New(fault.FailedPrecondition, "WRONG_PHASE", "no"), false, false},
	} {
		var app *temporal.ApplicationError
		if err := packed(tt.err, tt.last); !errors.As(err, &app) || app.NonRetryable() != tt.last || (app.Category() == temporal.ApplicationErrorCategoryBenign) != tt.benign {
			t.Errorf("%s: %#v", name, app)
		}
	}
}
