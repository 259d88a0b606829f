// Package transcript holds what the replayers of the rule systems share: reading a transcript file strictly, telling the
// first difference between states played and states expected, and writing a file with the states filled in.
//
// A transcript file is a JSON object with a list "transcripts", each with an "id" and a list "expected" of one JSON value
// per step; everything else is the system's own. Each system exports its file as Go types, read by [Decode], and a
//
//	func Replay(document []byte, …) ([]transcript.Played, error)
//
// which plays every transcript on the rules. The error tells that the document cannot be read; a transcript that cannot
// be played to its end says so in Played.Err and the others are played all the same.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Played is what came of one transcript.
type Played struct {
	ID string
	// Got holds what each step led to, in the file's own format, up to the step that could not be played.
	Got []json.RawMessage
	// Want holds what the file expects, nil when it expects nothing.
	Want []json.RawMessage
	// Free names fields that need not match, by their path in a step with [] for any place in a list: "rolls[].for".
	Free []string
	// Err tells why step len(Got)+1 could not be played, or with no step played at all, why the transcript could not begin.
	Err error
}

// Add notes what the next step led to. The value must be fit for JSON.
func (p *Played) Add(got any) {
	raw, err := json.Marshal(got)
	if err != nil {
		panic(fmt.Sprintf("transcript: a state that is no JSON: %v", err))
	}
	p.Got = append(p.Got, raw)
}

// Difference is one place in which a step did not lead to what the file expects.
type Difference struct {
	// Transcript is an id; Step counts from 1, and is 0 for a difference of the whole transcript.
	Transcript string
	Step       int
	// Path is the place in the expected value, for example "state.members[2].hp"; "" for the whole of it.
	Path string
	// Got and Want are JSON, or "nothing" for a value that is not there.
	Got, Want string
}

// Error names transcript, step and place: "transcript DIG-T2 step 5: exploration: got 30, want 28".
func (d *Difference) Error() string {
	at := ""
	if d.Path != "" {
		at = d.Path + ": "
	}
	return fmt.Sprintf("%s: %sgot %s, want %s", place(d.Transcript, d.Step), at, d.Got, d.Want)
}

// Fault tells that a transcript could not be played on, for example because the rules refuse a step that the format cannot
// say is refused, or because its dice do not fit.
type Fault struct {
	Transcript string
	// Step counts from 1; 0 is the beginning, before the first step.
	Step int
	Err  error
}

// Error names transcript and step.
func (f *Fault) Error() string { return place(f.Transcript, f.Step) + ": " + f.Err.Error() }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

func place(id string, step int) string {
	if step == 0 {
		return "transcript " + id
	}
	return fmt.Sprintf("transcript %s step %d", id, step)
}

// Check returns the first thing in file order that differs from what the file expects or could not be played: a
// *Difference, a *Fault, or nil.
func Check(played []Played) error {
	for _, p := range played {
		if d := p.Difference(); d != nil {
			return d
		}
		if err := p.Fault(); err != nil {
			return err
		}
	}
	return nil
}

// Faults returns the first transcript that could not be played to its end, whatever the file expects: a *Fault, or nil.
func Faults(played []Played) error {
	for _, p := range played {
		if err := p.Fault(); err != nil {
			return err
		}
	}
	return nil
}

// Fault returns Err with its place.
func (p *Played) Fault() error {
	switch {
	case p.Err == nil:
		return nil
	case errors.As(p.Err, new(*Fault)):
		return p.Err
	}
	return &Fault{Transcript: p.ID, Step: len(p.Got) + 1, Err: p.Err}
}

// Difference returns the first difference between the steps played and those expected, nil when there is none. A
// transcript that stopped early differs only in the steps that were played.
func (p *Played) Difference() *Difference {
	for i, raw := range p.Got {
		if i >= len(p.Want) {
			break
		}
		got, err := value(raw)
		if err != nil {
			panic(fmt.Sprintf("transcript: a state that is no JSON: %v", err))
		}
		want, err := value(p.Want[i])
		if err != nil {
			return &Difference{Transcript: p.ID, Step: i + 1, Got: short(got), Want: "no JSON: " + err.Error()}
		}
		if d := p.compare("", "", got, want); d != nil {
			d.Transcript, d.Step = p.ID, i+1
			return d
		}
	}
	if p.Err == nil && len(p.Got) != len(p.Want) {
		return &Difference{Transcript: p.ID, Path: "expected", Got: states(len(p.Got)), Want: states(len(p.Want))}
	}
	return nil
}

func states(n int) string {
	if n == 1 {
		return "1 state"
	}
	return fmt.Sprintf("%d states", n)
}

// compare walks two values; keys in order of the alphabet, so that the first difference is always the same one.
func (p *Played) compare(path, form string, got, want any) *Difference {
	if slices.Contains(p.Free, form) {
		return nil
	}
	differ := &Difference{Path: path, Got: short(got), Want: short(want)}
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return differ
		}
		keys := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(got))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			if d := p.compare(under(path, key), under(form, key), member(got, key), member(want, key)); d != nil {
				return d
			}
		}
		return nil
	case []any:
		got, ok := got.([]any)
		if !ok {
			return differ
		}
		for i := range max(len(got), len(want)) {
			if d := p.compare(fmt.Sprintf("%s[%d]", path, i), form+"[]", element(got, i), element(want, i)); d != nil {
				return d
			}
		}
		return nil
	}
	if _, ok := got.(map[string]any); ok {
		return differ
	}
	if _, ok := got.([]any); ok {
		return differ
	}
	if got != want {
		return differ
	}
	return nil
}

func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// absent stands for a value that is not there, which null is.
type absent struct{}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// short is canonical JSON, cut where it would fill the screen.
func short(v any) string {
	if v == (any)(absent{}) {
		return "nothing"
	}
	s := string(marshal(v))
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// Canonical returns a JSON value in the one form that equal values share: keys in order of the alphabet, no white space,
// numbers as short as they go. It fails on text that is not one JSON value.
func Canonical(document []byte) ([]byte, error) {
	v, err := value(document)
	if err != nil {
		return nil, err
	}
	return marshal(v), nil
}

func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("transcript: %v", err)) // made of what JSON is made of
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// value reads one JSON value; its numbers are made equal when their values are.
func value(document []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if err := atEnd(dec); err != nil {
		return nil, err
	}
	return normal(v), nil
}

func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = normal(x)
		}
	case []any:
		for i, x := range v {
			v[i] = normal(x)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return json.Number(strconv.FormatInt(n, 10))
		}
		if f, err := v.Float64(); err == nil {
			if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				return json.Number(strconv.FormatInt(int64(f), 10))
			}
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return v
}
