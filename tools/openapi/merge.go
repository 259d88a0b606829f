package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// object is a piece of JSON that is passed on without being understood.
type object = map[string]any

// part is what the plugin wrote for one proto file.
type part struct {
	source     string
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]object `json:"schemas"`
	} `json:"components"`
	Tags []tag `json:"tags"`
}

// document is the merged one. Its fields are in the order in which people read them.
type document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       object                           `json:"info"`
	Servers    []object                         `json:"servers"`
	Security   []object                         `json:"security"`
	Tags       []tag                            `json:"tags"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components components                       `json:"components"`
}

type components struct {
	SecuritySchemes object            `json:"securitySchemes"`
	Parameters      object            `json:"parameters"`
	Responses       object            `json:"responses"`
	Schemas         map[string]object `json:"schemas"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type operation struct {
	Tags        []string          `json:"tags"`
	Summary     string            `json:"summary"`
	Description string            `json:"description,omitempty"`
	OperationID string            `json:"operationId"`
	Parameters  []object          `json:"parameters,omitempty"`
	RequestBody object            `json:"requestBody,omitempty"`
	Responses   map[string]object `json:"responses"`
}

const (
	errorSchema    = "google.rpc.Status"
	errorResponse  = "#/components/responses/Error"
	idempotencyKey = "#/components/parameters/IdempotencyKey"
	lastEventID    = "#/components/parameters/LastEventId"
	schemaPrefix   = "#/components/schemas/"
	streamMark     = " (streaming responses)"
)

// merge makes one document of the parts. It fails when two parts disagree on a schema or claim the same path and verb.
func merge(parts []part) (*document, error) {
	doc := &document{
		OpenAPI: "3.1.0",
		Info: object{
			"title":   "Wayfarer",
			"version": "v1",
			"description": "Tabletop expeditions as a service: campaigns, characters, dice that can be checked, dungeons, journeys.\n\n" +
				"Every call needs a bearer token. Errors are google.rpc.Status; an ErrorInfo among the details names the reason.",
		},
		Servers:  []object{{"url": "/"}},
		Security: []object{{"bearer": []string{}}},
		Tags:     []tag{},
		Paths:    map[string]map[string]*operation{},
		Components: components{
			SecuritySchemes: object{"bearer": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
			Parameters: object{
				"IdempotencyKey": object{
					"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "pattern": "^[!-~]{1,128}$"},
					"description": "The request id of a change, in place of requestId. The same id always gets the first answer.",
				},
				"LastEventId": object{
					"name": "Last-Event-ID", "in": "header", "schema": object{"type": "integer", "format": "int32", "minimum": 0},
					"description": "Resumes a stream after this record, in place of fromSeq.",
				},
			},
			Responses: object{"Error": object{
				"description": "Anything but success; details hold ErrorInfo, BadRequest, PreconditionFailure or RetryInfo.",
				"content":     object{"application/json": object{"schema": object{"$ref": schemaPrefix + errorSchema}}},
			}},
			Schemas: map[string]object{},
		},
	}
	shapes := map[string]string{} // path with its parameters blanked -> path
	for _, p := range parts {
		for _, name := range slices.Sorted(maps.Keys(p.Components.Schemas)) {
			schema := p.Components.Schemas[name]
			if had, ok := doc.Components.Schemas[name]; ok && !reflect.DeepEqual(had, schema) {
				return nil, fmt.Errorf("%s: schema %s differs from an earlier one", p.source, name)
			}
			doc.Components.Schemas[name] = schema
		}
		for _, t := range p.Tags {
			t.Description = unwrap(t.Description)
			doc.Tags = append(doc.Tags, t)
		}
		for _, raw := range slices.Sorted(maps.Keys(p.Paths)) {
			path, renamed, err := readable(raw)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.source, err)
			}
			shape := variable.ReplaceAllString(path, "{}")
			if had, ok := shapes[shape]; ok && had != path {
				return nil, fmt.Errorf("%s: paths %s and %s cannot be told apart", p.source, had, path)
			}
			shapes[shape] = path
			if doc.Paths[path] == nil {
				doc.Paths[path] = map[string]*operation{}
			}
			for _, verb := range slices.Sorted(maps.Keys(p.Paths[raw])) {
				if _, ok := doc.Paths[path][verb]; ok {
					return nil, fmt.Errorf("%s: %s %s is there twice", p.source, verb, path)
				}
				op := p.Paths[raw][verb]
				if err := op.finish(path, renamed); err != nil {
					return nil, fmt.Errorf("%s: %s %s: %w", p.source, verb, path, err)
				}
				doc.Paths[path][verb] = op
			}
		}
	}
	slices.SortFunc(doc.Tags, func(a, b tag) int { return cmp.Compare(a.Name, b.Name) })
	used := map[string]bool{}
	for _, path := range doc.Paths {
		for _, op := range path {
			for _, name := range op.Tags {
				used[name] = true
			}
		}
	}
	doc.Tags = slices.DeleteFunc(doc.Tags, func(t tag) bool { return !used[t.Name] })
	for _, schema := range doc.Components.Schemas {
		unwrapAll(schema)
	}
	return doc, doc.prune()
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// readable names each variable of the path after the collection before it: campaigns/{name}/runs/{name_1} becomes
// campaigns/{campaign}/runs/{run}. It also returns old name -> new name.
func readable(path string) (string, map[string]string, error) {
	renamed := map[string]string{}
	seen := map[string]bool{}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		v := variable.FindString(segment)
		if v == "" {
			continue
		}
		if i == 0 || variable.MatchString(segments[i-1]) {
			return "", nil, fmt.Errorf("path %s: no collection before %s", path, v)
		}
		name := singular(segments[i-1])
		if seen[name] {
			return "", nil, fmt.Errorf("path %s: two variables would be {%s}", path, name)
		}
		seen[name] = true
		renamed[strings.Trim(v, "{}")] = name
		segments[i] = strings.Replace(segment, v, "{"+name+"}", 1)
	}
	return strings.Join(segments, "/"), renamed, nil
}

func singular(collection string) string {
	if stem, ok := strings.CutSuffix(collection, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(collection, "s")
}

// finish turns what the plugin wrote into an operation of the edge.
func (op *operation) finish(path string, renamed map[string]string) error {
	op.Summary, op.Description = split(unwrap(op.Summary), unwrap(op.Description))
	var mutation bool
	bound := 0
	for _, p := range op.Parameters {
		name, _ := p["name"].(string)
		switch p["in"] {
		case "path":
			to, ok := renamed[name]
			if !ok {
				return fmt.Errorf("parameter %s is not in the path", name)
			}
			bound++
			p["name"] = to
			p["description"] = "Id of the " + to + ", as in the resource name."
			p["schema"] = object{"type": "string", "pattern": "^[a-z0-9-]{1,63}$"}
		case "query":
			if name == "requestId" {
				mutation = true
				delete(p, "required")
			}
			unwrapAll(p)
		}
	}
	if bound != len(renamed) {
		return fmt.Errorf("%d parameters for %d variables in the path", bound, len(renamed))
	}
	if body, ok := at(op.RequestBody, "content", "application/json", "schema").(object); ok {
		unwrapAll(body)
		if properties, _ := body["properties"].(object); properties["requestId"] != nil {
			mutation = true
			required, _ := body["required"].([]any)
			required = slices.DeleteFunc(required, func(name any) bool { return name == "requestId" })
			op.RequestBody["required"] = len(required) > 0
			if body["required"] = required; len(required) == 0 {
				delete(body, "required")
			}
		}
	}
	if mutation {
		op.Parameters = append(op.Parameters, object{"$ref": idempotencyKey})
	}
	return op.answers()
}

// answers rewrites the responses: one shared error, and for streams the two forms that the edge writes.
func (op *operation) answers() error {
	op.Responses["default"] = object{"$ref": errorResponse}
	ok := op.Responses["200"]
	if ok == nil {
		return fmt.Errorf("no success among the responses")
	}
	text, _ := ok["description"].(string)
	text, stream := strings.CutSuffix(text, streamMark)
	ok["description"] = unwrap(text)
	if !stream {
		return nil
	}
	record := at(ok, "content", "application/json", "schema", "properties", "result")
	if record == nil {
		return fmt.Errorf("a stream without a result")
	}
	ok["content"] = object{
		"application/x-ndjson": object{"schema": record},
		"text/event-stream": object{"schema": object{
			"type":        "string",
			"description": "Server-sent events: id is the number of the record, data is the JSON that a line of application/x-ndjson holds.",
		}},
	}
	op.Parameters = append(op.Parameters, object{"$ref": lastEventID})
	return nil
}

// prune drops schemas that nothing published refers to, and fails on a reference to nothing.
func (doc *document) prune() error {
	all := doc.Components.Schemas
	keep := map[string]object{}
	var visit func(v any) error
	visit = func(v any) error {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				name, isSchema := strings.CutPrefix(ref, schemaPrefix)
				if !isSchema || keep[name] != nil {
					return nil
				}
				if all[name] == nil {
					return fmt.Errorf("nothing defines %s", ref)
				}
				keep[name] = all[name]
				return visit(all[name])
			}
			for _, child := range v {
				if err := visit(child); err != nil {
					return err
				}
			}
		case []any:
			for _, child := range v {
				if err := visit(child); err != nil {
					return err
				}
			}
		}
		return nil
	}
	// Through JSON, so that typed and untyped pieces look alike.
	text, err := json.Marshal([]any{doc.Paths, doc.Components.Responses})
	if err != nil {
		return err
	}
	var roots any
	if err := json.Unmarshal(text, &roots); err != nil {
		return err
	}
	if err := visit(roots); err != nil {
		return err
	}
	doc.Components.Schemas = keep
	return nil
}

// at walks down objects; nil when a step is missing.
func at(v any, steps ...string) any {
	for _, step := range steps {
		o, _ := v.(object)
		v = o[step]
	}
	return v
}

// split makes the first sentence the summary, and the whole the description when there is more than that sentence.
func split(summary, description string) (string, string) {
	whole := strings.TrimSpace(summary + "\n\n" + description)
	first, _, _ := strings.Cut(whole, "\n")
	if end := strings.Index(first, ". "); end >= 0 {
		first = first[:end+1]
	}
	if first == whole {
		return first, ""
	}
	return first, whole
}

var softBreak = regexp.MustCompile(`([^\n])\n([^\n\-*])`)

// unwrap joins the lines of a paragraph: where a proto comment wraps means nothing to a reader of the document.
func unwrap(s string) string { return softBreak.ReplaceAllString(s, "$1 $2") }

func unwrapAll(v any) {
	switch v := v.(type) {
	case object:
		for key, child := range v {
			if text, ok := child.(string); ok && key == "description" {
				v[key] = unwrap(text)
				continue
			}
			unwrapAll(child)
		}
	case []any:
		for _, child := range v {
			unwrapAll(child)
		}
	}
}
