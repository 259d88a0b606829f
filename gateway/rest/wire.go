package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	eventStream = "text/event-stream"
	ndjson      = "application/x-ndjson"
)

// jsonWire is the JSON of the edge: zero values present, unknown fields refused, streams one object a line.
type jsonWire struct{ *runtime.JSONPb }

func newJSON() jsonWire {
	return jsonWire{&runtime.JSONPb{
		MarshalOptions:   protojson.MarshalOptions{EmitDefaultValues: true},
		UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: false},
	}}
}

// Marshal writes a message. A chunk of a stream comes wrapped as {"result": …}; its line is the message itself.
func (j jsonWire) Marshal(v any) ([]byte, error) {
	if chunk, ok := v.(map[string]any); ok && len(chunk) == 1 && chunk["result"] != nil {
		v = chunk["result"]
	}
	return j.JSONPb.Marshal(v)
}

// StreamContentType implements runtime.StreamContentType.
func (j jsonWire) StreamContentType(any) string { return ndjson }

// NewDecoder returns a decoder that reads exactly one JSON object. Its errors are marked for [writeError].
func (j jsonWire) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		body, err := io.ReadAll(r)
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			return mark(reasonBodyTooLarge, "body", fmt.Sprintf("the body is larger than %d bytes", large.Limit))
		case err != nil:
			return mark(reasonMalformedBody, "body", "the body could not be read")
		case len(bytes.TrimSpace(body)) == 0:
			return nil
		case !json.Valid(body):
			return mark(reasonMalformedJSON, "body", "the body is not JSON"+whereInvalid(body))
		}
		if err := j.Unmarshal(body, v); err != nil {
			field, text := protoProblem(err)
			return mark(reasonMalformedBody, field, text)
		}
		return nil
	})
}

func whereInvalid(body []byte) string {
	var syntax *json.SyntaxError
	if err := json.Unmarshal(body, new(any)); errors.As(err, &syntax) {
		return fmt.Sprintf(": %s after %d bytes", syntax.Error(), syntax.Offset)
	}
	return ""
}

var (
	protoPosition = regexp.MustCompile(`^proto:\s*(\(line \d+:\d+\):\s*)?`)
	protoField    = regexp.MustCompile(`(?:unknown field|duplicate field|field) "?([A-Za-z0-9_.]+)"?`)
)

// protoProblem finds the field that an error of protojson speaks of, and makes its text stable: protojson varies the
// spaces on purpose.
func protoProblem(err error) (field, text string) {
	text = strings.ReplaceAll(err.Error(), "\u00a0", " ")
	text = protoPosition.ReplaceAllString(text, "")
	field = "body"
	if m := protoField.FindStringSubmatch(text); m != nil {
		field = m[1]
	}
	return field, text
}

// sse writes a stream as server-sent events. The id of an event is the record's number, so that a browser resumes there.
type sse struct{ jsonWire }

// ContentType implements runtime.Marshaler.
func (sse) ContentType(any) string { return eventStream }

// StreamContentType implements runtime.StreamContentType.
func (sse) StreamContentType(any) string { return eventStream }

// Delimiter is empty: an event ends itself.
func (sse) Delimiter() []byte { return nil }

// Marshal writes one event.
func (s sse) Marshal(v any) ([]byte, error) {
	data, err := s.jsonWire.Marshal(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	switch chunk := v.(type) {
	case map[string]any:
		if msg, ok := chunk["result"].(proto.Message); ok {
			if seq, ok := seqOf(msg.ProtoReflect()); ok {
				fmt.Fprintf(&b, "id: %d\n", seq)
			}
		}
	case map[string]proto.Message:
		b.WriteString("event: error\n")
	}
	fmt.Fprintf(&b, "data: %s\n\n", data)
	return b.Bytes(), nil
}

// seqOf reads record.seq of a watch response.
func seqOf(m protoreflect.Message) (int64, bool) {
	rec := m.Descriptor().Fields().ByName("record")
	if rec == nil || rec.Message() == nil || !m.Has(rec) {
		return 0, false
	}
	seq := rec.Message().Fields().ByName("seq")
	if seq == nil {
		return 0, false
	}
	return m.Get(rec).Message().Get(seq).Int(), true
}

// strictQuery refuses query parameters that the request message does not have.
type strictQuery struct{}

// Parse implements runtime.QueryParameterParser.
func (strictQuery) Parse(msg proto.Message, values url.Values, filter *utilities.DoubleArray) error {
	for _, name := range slices.Sorted(maps.Keys(values)) { // the first of several, always the same
		if !isField(msg.ProtoReflect().Descriptor(), strings.Split(name, ".")) || filter.HasCommonPrefix(strings.Split(name, ".")) {
			return mark(reasonUnknownParameter, name, "there is no query parameter of this name")
		}
	}
	if err := (&runtime.DefaultQueryParser{}).Parse(msg, values, filter); err != nil {
		field, text := queryProblem(err, values)
		return mark(reasonMalformedParameter, field, text)
	}
	return nil
}

func isField(d protoreflect.MessageDescriptor, path []string) bool {
	fd := d.Fields().ByName(protoreflect.Name(path[0]))
	if fd == nil {
		fd = d.Fields().ByJSONName(path[0])
	}
	if fd == nil || len(path) == 1 {
		return fd != nil
	}
	return fd.Message() != nil && isField(fd.Message(), path[1:])
}

// queryProblem names the parameter that a parse error speaks of.
func queryProblem(err error, values url.Values) (field, text string) {
	text = strings.ReplaceAll(err.Error(), "\u00a0", " ")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if strings.Contains(text, `"`+name+`"`) || len(values) == 1 {
			return name, text
		}
	}
	return "", text
}
