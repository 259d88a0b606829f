// Package requestid makes and checks the ids that make commands safe to repeat.
package requestid

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// MaxLen is the greatest length of a request id.
const MaxLen = 128

// namespace keeps the ids derived here apart from those of other programs.
var namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/wayfarer-rpg/wayfarer"))

// Valid tells whether id has 1 to 128 characters of printable ASCII without blanks.
func Valid(id string) bool {
	if len(id) == 0 || len(id) > MaxLen {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// Derive returns the id of a step under a parent id: a UUID version 5, the same for the same parent and step.
func Derive(parent, step string) string {
	return uuid.NewSHA1(namespace, fmt.Appendf(nil, "%d:%s/%s", len(parent), parent, step)).String()
}

// Hash tells one request from another under the same id: SHA-256, in hexadecimal, over the method, the actor and the
// request's canonical JSON without its request_id. Protobuf's own bytes are not stable, nor are the spaces of its JSON, so
// neither is used. Only the request's own request_id is left out, not those of messages in it. It fails on a message that
// has no JSON, for example one with text that is not UTF-8.
func Hash(method, actor string, req proto.Message) (string, error) {
	raw, err := protojson.Marshal(req)
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", method, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any // an object, but for the well-known types
	if err := dec.Decode(&value); err != nil {
		return "", fmt.Errorf("hash %s: %w", method, err)
	}
	if fd := req.ProtoReflect().Descriptor().Fields().ByName("request_id"); fd != nil {
		if object, ok := value.(map[string]any); ok {
			delete(object, fd.JSONName())
		}
	}
	canonical, err := json.Marshal(value) // sorts keys
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", method, err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", method, actor, canonical))
	return hex.EncodeToString(sum[:]), nil
}
