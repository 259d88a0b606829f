package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/config"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestBadValuesAreNamed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ key, value string }{
		"a port that is no number":            {"WAYFARER_HTTP_PORT", "http"},
		"a port beyond the last":              {"WAYFARER_DICE_PORT", "65536"},
		"a port below the first":              {"WAYFARER_PARTY_PORT", "-1"},
		"a web UI that is neither on nor off": {"WAYFARER_TEMPORAL_UI_PORT", "-2"},
		"a store that is none":                {"STORE", "paper"},
		"a MongoDB that is nowhere":           {"STORE", "mongodb"},
		"a MongoDB that is something else":    {"MONGODB_URI", "postgres://ada:swordfish@db/"},
		"a time without a unit":               {"WAYFARER_GRACE", "10"},
		"a time before now":                   {"WAYFARER_GRACE", "-1s"},
		"no time at all":                      {"WAYFARER_GRACE", "0s"},
		"a level that is none":                {"WAYFARER_LOG_LEVEL", "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := run(t.Context(), nil, env(map[string]string{tc.key: tc.value, "WAYFARER_DATA_DIR": t.TempDir()}), &out)
			want := tc.key
			if tc.value == "mongodb" {
				want = "MONGODB_URI"
			}
			var bad *config.Error
			if !errors.As(err, &bad) || bad.Var != want || strings.Contains(err.Error(), "swordfish") || out.Len() > 0 {
				t.Errorf("got %v, said %q", err, out.String())
			}
		})
	}
	err := run(t.Context(), nil, env(map[string]string{"WAYFARER_DICE_PORT": "-1", "WAYFARER_TRAVEL_PORT": "70000", "STORE": "x"}), &bytes.Buffer{})
	for _, want := range []string{"WAYFARER_DICE_PORT", "WAYFARER_TRAVEL_PORT", "STORE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named: %v", want, err)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, env(nil), &out); err != nil || out.String() != "wayfarer-local dev\n" {
		t.Errorf("said %q, %v", out.String(), err)
	}
	if err := run(t.Context(), []string{"--port=1"}, env(nil), &out); err == nil || !strings.Contains(err.Error(), "--port=1") {
		t.Errorf("got %v", err)
	}
}
