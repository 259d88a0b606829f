package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const config = `{"config": {"scanner_version": "v1"}}`
	finding := func(module, function string) string {
		return `{"finding": {"osv": "GO-1", "fixed_version": "v2", "trace": [{"module": "` + module + `", "version": "v1", "function": "` + function + `"}]}}`
	}
	for name, tt := range map[string]struct {
		in, out, err string
	}{
		"nothing is found":                {config + `{"osv": {"id": "GO-1"}}`, "", ""},
		"a function of a dependency":      {config + finding("example.com/a", "F") + finding("example.com/a", "G"), "", "GO-1 in example.com/a v1, mended by v2"},
		"a dependency that is not linked": {config + finding("example.com/a", ""), "", ""},
		"a function of Go's library":      {config + finding("stdlib", "F"), "a newer Go is needed: GO-1 in stdlib v1, mended by v2\n", ""},
		"a scan that did not happen":      {"", "", "did not say"},
		"an output that breaks off":       {config + `{"finding": `, "", "govulncheck's output"},
	} {
		var out strings.Builder
		err := judge(strings.NewReader(tt.in), &out)
		if out.String() != tt.out || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}
