// Command vulns judges what govulncheck found in a program: it fails on a vulnerable function of a dependency that is
// linked in, and tells those of Go's own library, which a newer Go mends and no change here.
//
// Usage: govulncheck -format json -mode binary PROGRAM | vulns
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := judge(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vulns:", err)
		os.Exit(1)
	}
}

// message is the part of govulncheck's output that counts.
type message struct {
	Config *struct {
		Version string `json:"scanner_version"`
	} `json:"config"`
	Finding *struct {
		OSV   string `json:"osv"`
		Fixed string `json:"fixed_version"`
		Trace []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

func judge(in io.Reader, out io.Writer) error {
	ours, library := map[string]bool{}, map[string]bool{}
	scanned := false
	for dec := json.NewDecoder(in); ; {
		var m message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("govulncheck's output: %w", err)
		}
		scanned = scanned || m.Config != nil
		if m.Finding == nil || len(m.Finding.Trace) == 0 || m.Finding.Trace[0].Function == "" {
			continue // only required, or only imported
		}
		at := m.Finding.Trace[0]
		fixed := m.Finding.Fixed
		if fixed == "" {
			fixed = "nothing yet"
		}
		found := fmt.Sprintf("%s in %s %s, mended by %s", m.Finding.OSV, at.Module, at.Version, fixed)
		if at.Module == "stdlib" {
			library[found] = true
		} else {
			ours[found] = true
		}
	}
	if !scanned {
		return errors.New("govulncheck did not say that it scanned anything")
	}
	for _, f := range slices.Sorted(maps.Keys(library)) {
		fmt.Fprintln(out, "a newer Go is needed:", f)
	}
	if len(ours) > 0 {
		return errors.New(strings.Join(slices.Sorted(maps.Keys(ours)), "\n"))
	}
	return nil
}
