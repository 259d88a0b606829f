package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Fill returns the document with what was played in place of what each transcript expects; the rest, the order of the
// fields included, stays as it is. The result is indented by two spaces and ends in a line feed. Played must be the
// document's own, in its order.
func Fill(document []byte, played []Played) ([]byte, error) {
	file, err := fieldsIn(document)
	if err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	found := 0
	for i, f := range file {
		if f.name != "transcripts" {
			continue
		}
		var all []json.RawMessage
		if err := json.Unmarshal(f.value, &all); err != nil {
			return nil, fmt.Errorf("transcripts: %w", err)
		}
		if found = len(all); found != len(played) {
			break
		}
		for j, raw := range all {
			if all[j], err = filled(raw, played[j].Got); err != nil {
				return nil, fmt.Errorf("transcripts[%d]: %w", j, err)
			}
		}
		if len(all) > 0 {
			file[i].value = joined('[', all, ']')
		}
	}
	if found != len(played) {
		return nil, fmt.Errorf("transcripts: %d in the document, %d played", found, len(played))
	}
	var out bytes.Buffer
	if err := json.Indent(&out, file.raw(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func filled(transcript json.RawMessage, got []json.RawMessage) (json.RawMessage, error) {
	t, err := fieldsIn(transcript)
	if err != nil {
		return nil, err
	}
	expected := field{"expected", joined('[', got, ']')}
	for i := range t {
		if t[i].name == expected.name {
			t[i] = expected
			return t.raw(), nil
		}
	}
	return append(t, expected).raw(), nil
}

// fields is a JSON object with its fields in the order of the text.
type fields []field

type field struct {
	name  string
	value json.RawMessage
}

func fieldsIn(document []byte) (fields, error) {
	dec := json.NewDecoder(bytes.NewReader(document))
	switch token, err := dec.Token(); {
	case err != nil:
		return nil, err
	case token != json.Delim('{'):
		return nil, errors.New("no object")
	}
	var out fields
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		f := field{name: token.(string)}
		if err := dec.Decode(&f.value); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	return out, atEnd(dec)
}

func (f fields) raw() json.RawMessage {
	parts := make([]json.RawMessage, len(f))
	for i, x := range f {
		parts[i] = append(append(marshal(x.name), ':'), x.value...)
	}
	return joined('{', parts, '}')
}

func joined(open byte, parts []json.RawMessage, end byte) json.RawMessage {
	out := []byte{open}
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, p...)
	}
	return append(out, end)
}
