// Command openapi merges what protoc-gen-openapiv3 writes, one document for each proto file, into the one OpenAPI 3.1
// document of the REST edge.
//
// The plugin names path parameters after proto fields, so a resource name of two parts becomes {name}/{name_1}; here each
// is named after the collection before it. It knows nothing of the edge either: bearer tokens, the Idempotency-Key
// header, streams as server-sent events or lines of JSON are added. Nor does it pass on the rules by which servers check
// fields, and what is said of the values of enumerations; they are read from the compiled protos.
//
// Usage: openapi FOLDER IMAGE >wayfarer.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: openapi FOLDER IMAGE >wayfarer.json")
	}
	parts, err := read(os.DirFS(args[0]))
	if err != nil {
		return err
	}
	doc, err := merge(parts)
	if err != nil {
		return err
	}
	image, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	protos, err := parseContract(image)
	if err != nil {
		return err
	}
	if err := protos.constrain(doc); err != nil {
		return err
	}
	protos.explain(doc)
	text, err := encode(doc)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// read returns the documents in the folder in the order of their paths.
func read(folder fs.FS) ([]part, error) {
	var paths []string
	err := fs.WalkDir(folder, ".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".json" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	parts := make([]part, 0, len(paths))
	for _, path := range paths {
		text, err := fs.ReadFile(folder, path)
		if err != nil {
			return nil, err
		}
		p := part{source: path}
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// encode writes the document with sorted keys below the top level, so that the same protos give the same bytes.
func encode(doc *document) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(doc)
	return b.Bytes(), err
}
