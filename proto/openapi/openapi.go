// Package openapi holds the OpenAPI 3.1 document of the REST edge, generated from the protos.
package openapi

import _ "embed"

// Document is the document as JSON. Callers must not change it.
//
//go:embed wayfarer.json
var Document []byte
