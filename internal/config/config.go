package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/caarlos0/env/v11"
)

// Error is one variable with a bad value, or a missing one.
type Error struct {
	// Var is the name of the variable.
	Var string
	// Problem says what is wrong with its value.
	Problem string
}

// Error names the variable and the problem.
func (e *Error) Error() string { return e.Var + ": " + e.Problem }

// Bad makes an [Error], for the Check methods of configuration structs.
func Bad(name, format string, args ...any) error {
	return &Error{Var: name, Problem: fmt.Sprintf(format, args...)}
}

// Checker is a struct, or a part of one, that knows which of its values do not go together. [Load] asks every part once
// its fields are set, the whole last.
type Checker interface {
	// Check returns an [Error] made by [Bad], several joined by errors.Join, or nil.
	Check() error
}

// Load fills a struct from the variables that getenv returns, normally os.Getenv. It reports every bad variable at once,
// each as an [Error], joined. T has to be a struct whose defaults are good; anything else is a mistake in the program
// and panics.
func Load[T any](getenv func(string) string) (T, error) {
	var value T
	fields, err := env.GetFieldParams(&value)
	if err != nil {
		panic(fmt.Sprintf("config: %T: %v", value, err))
	}
	vars := map[string]string{}
	for _, f := range fields {
		if v := getenv(f.Key); f.OwnKey != "" && v != "" {
			vars[f.Key] = v
		}
	}
	if err := env.ParseWithOptions(&value, env.Options{Environment: vars}); err != nil {
		return value, errors.Join(problems[T](fields, vars)...)
	}
	return value, check(reflect.ValueOf(&value).Elem())
}

// problems names the variables that cannot be read. The parser names fields, which are unique in their own struct only,
// so each variable is tried alone.
func problems[T any](fields []env.FieldParams, vars map[string]string) []error {
	var found []error
	for _, f := range fields {
		v, set := vars[f.Key]
		if !set {
			if f.Required || f.NotEmpty && !f.HasDefaultValue {
				found = append(found, Bad(f.Key, "is needed"))
			}
			continue
		}
		var alone T
		err := env.ParseWithOptions(&alone, env.Options{Environment: map[string]string{f.Key: v}})
		var all env.AggregateError
		if !errors.As(err, &all) {
			continue
		}
		for _, e := range all.Errors {
			var p env.ParseError
			if errors.As(e, &p) {
				found = append(found, Bad(f.Key, "%v", p.Err))
			}
		}
	}
	if len(found) == 0 {
		var none T
		panic(fmt.Sprintf("config: a default of %T is bad", none))
	}
	// A variable that two parts share is one problem.
	return slices.CompactFunc(found, func(a, b error) bool { return a.Error() == b.Error() })
}

// check asks every part of a struct, depth first.
func check(v reflect.Value) error {
	if v.Kind() != reflect.Struct {
		return nil
	}
	var errs []error
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			errs = append(errs, check(v.Field(i)))
		}
	}
	if c, ok := v.Addr().Interface().(Checker); ok {
		errs = append(errs, c.Check())
	}
	return errors.Join(errs...)
}
