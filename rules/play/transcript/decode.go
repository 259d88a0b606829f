package transcript

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Decode reads a document into a pointer to a Go value, more strictly than encoding/json: a field that the type does not
// have (its case counts), a field given twice, a number that is not whole where a whole one belongs, a value of another
// kind, and anything after the document are errors that name the path, for example
//
//	transcripts[0].rounds[2].dice.Ada: there is no field "d12"
//
// Fields may be absent, and null stands for absent. Values of type any, json.RawMessage and those that unmarshal
// themselves are taken as they are.
func Decode(document []byte, into any) error {
	target := reflect.TypeOf(into)
	if target == nil || target.Kind() != reflect.Pointer {
		panic("transcript: Decode into a value that is no pointer")
	}
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	if err := strict(dec, "", target.Elem()); err != nil {
		return err
	}
	if err := atEnd(dec); err != nil {
		return err
	}
	dec = json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	return dec.Decode(into)
}

func atEnd(dec *json.Decoder) error {
	switch _, err := dec.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("there is something after the end of the document")
}

func fault(path, format string, args ...any) error {
	if path == "" {
		path = "document"
	}
	return fmt.Errorf("%s: "+format, append([]any{path}, args...)...)
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// strict reads the decoder's next value and holds it against a type.
func strict(dec *json.Decoder, path string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		if t.Implements(unmarshaler) || t.Implements(textUnmarshaler) {
			return itself(dec, path, t)
		}
		t = t.Elem()
	}
	if p := reflect.PointerTo(t); t.Kind() == reflect.Interface || p.Implements(unmarshaler) || p.Implements(textUnmarshaler) {
		return itself(dec, path, t)
	}
	token, err := dec.Token()
	if err != nil {
		return broken(path, err)
	}
	if token == nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		return object(dec, path, t)
	case json.Delim('['):
		return list(dec, path, t)
	}
	return scalar(token, path, t)
}

// itself takes a value as its type takes it, whose errors do not know the path.
func itself(dec *json.Decoder, path string, t reflect.Type) error {
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return broken(path, err)
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		return fault(path, "%w", err)
	}
	return nil
}

func broken(path string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fault(path, "no JSON: %v", err)
}

func object(dec *json.Decoder, path string, t reflect.Type) error {
	var fields map[string]reflect.Type
	switch t.Kind() {
	case reflect.Struct:
		fields = map[string]reflect.Type{}
		fieldsOf(t, fields)
	case reflect.Map:
	default:
		return fault(path, "an object where %s belongs", kind(t))
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return broken(path, err)
		}
		key, _ := token.(string)
		if seen[key] {
			return fault(path, "the field %q is there twice", key)
		}
		seen[key] = true
		of, ok := fields[key]
		switch {
		case t.Kind() == reflect.Map:
			of = t.Elem()
			if err := keyFits(key, path, t.Key()); err != nil {
				return err
			}
		case !ok:
			return fault(path, "there is no field %q", key)
		}
		if err := strict(dec, under(path, key), of); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return broken(path, err)
	}
	return nil
}

func keyFits(key, path string, t reflect.Type) error {
	if t.Kind() == reflect.String || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return nil
	}
	if n, err := strconv.ParseInt(key, 10, 64); err == nil && strconv.FormatInt(n, 10) == key && fitsInt(n, t) {
		return nil
	}
	return fault(path, "%q is no whole number", key)
}

// fieldsOf collects the JSON names of a struct, those of embedded structs included.
func fieldsOf(t reflect.Type, into map[string]reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			fieldsOf(f.Type, into)
		case !f.IsExported():
		case name == "":
			into[f.Name] = f.Type
		default:
			into[name] = f.Type
		}
	}
}

func list(dec *json.Decoder, path string, t reflect.Type) error {
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
		return fault(path, "a list where %s belongs", kind(t))
	}
	n := 0
	for ; dec.More(); n++ {
		if err := strict(dec, fmt.Sprintf("%s[%d]", path, n), t.Elem()); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return broken(path, err)
	}
	if t.Kind() == reflect.Array && n != t.Len() {
		return fault(path, "a list of %d where one of %d belongs", n, t.Len())
	}
	return nil
}

func scalar(token json.Token, path string, t reflect.Type) error {
	switch v := token.(type) {
	case bool:
		if t.Kind() == reflect.Bool {
			return nil
		}
		return fault(path, "%t where %s belongs", v, kind(t))
	case string:
		if t.Kind() == reflect.String {
			return nil
		}
		return fault(path, "a text where %s belongs", kind(t))
	case json.Number:
		return number(v, path, t)
	}
	return fault(path, "%v where %s belongs", token, kind(t))
}

func number(v json.Number, path string, t reflect.Type) error {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := v.Int64()
		if err != nil || !fitsInt(n, t) {
			return fault(path, "%s where %s belongs", v, kind(t))
		}
		return nil
	case reflect.Float32, reflect.Float64:
		if f, err := v.Float64(); err != nil || math.IsInf(f, 0) {
			return fault(path, "%s is too large a number", v)
		}
		return nil
	}
	return fault(path, "a number where %s belongs", kind(t))
}

func fitsInt(n int64, t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return !reflect.Zero(t).OverflowInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return n >= 0 && !reflect.Zero(t).OverflowUint(uint64(n))
	}
	return false
}

func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
