package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pb33f/libopenapi"
)

const published = "../../proto/openapi/wayfarer.json"

// plugin is what the plugin writes for a method, shortened.
const plugin = `{
  "paths": {"/v1/campaigns/{name}/parties/{name_1}:join": {"post": {
    "tags": ["PartyService"], "operationId": "PartyService_Join",
    "summary": "Join adds a character\nto the party. Refused: PARTY_FULL.",
    "parameters": [
      {"name": "name", "in": "path", "required": true, "schema": {"type": "string"}},
      {"name": "name_1", "in": "path", "required": true, "schema": {"type": "string"}}],
    "requestBody": {"content": {"application/json": {"schema": {"type": "object",
      "properties": {"requestId": {"type": "string"}, "character": {"type": "string", "description": "Who\njoins."}},
      "required": ["character", "requestId"]}}}, "required": true},
    "responses": {
      "default": {"description": "An unexpected error response."},
      "200": {"description": "The party.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Party"}}}}}
  }},
  "/v1/campaigns/{name}:watch": {"get": {
    "tags": ["PartyService"], "operationId": "PartyService_Watch", "summary": "Watch follows.",
    "parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}],
    "responses": {"200": {"description": "One record. (streaming responses)", "content": {"application/json": {"schema": {
      "type": "object", "properties": {"result": {"$ref": "#/components/schemas/Party"}}}}}}}
  }}},
  "tags": [{"name": "PartyService", "description": "Keeps parties."}, {"name": "InnerService"}],
  "components": {"schemas": {
    "Party": {"type": "object", "properties": {"leader": {"$ref": "#/components/schemas/Leader"}}},
    "Leader": {"type": "string"}, "Unpublished": {"type": "object"},
    "google.rpc.Status": {"type": "object"}}}}`

func mergeTexts(t *testing.T, texts ...string) (*document, error) {
	t.Helper()
	folder := fstest.MapFS{}
	for i, text := range texts {
		folder[string(rune('a'+i))+".openapi.json"] = &fstest.MapFile{Data: []byte(text)}
	}
	parts, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return merge(parts)
}

func TestMergeMakesAnOperationOfTheEdge(t *testing.T) {
	t.Parallel()
	doc, err := mergeTexts(t, plugin)
	if err != nil {
		t.Fatal(err)
	}
	op := doc.Paths["/v1/campaigns/{campaign}/parties/{party}:join"]["post"]
	if op == nil {
		t.Fatalf("paths are %v", doc.Paths)
	}
	got, err := json.Marshal(op)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tags":["PartyService"],"summary":"Join adds a character to the party.",` +
		`"description":"Join adds a character to the party. Refused: PARTY_FULL.","operationId":"PartyService_Join","parameters":[` +
		`{"description":"Id of the campaign, as in the resource name.","in":"path","name":"campaign","required":true,"schema":{"pattern":"^[a-z0-9-]{1,63}$","type":"string"}},` +
		`{"description":"Id of the party, as in the resource name.","in":"path","name":"party","required":true,"schema":{"pattern":"^[a-z0-9-]{1,63}$","type":"string"}},` +
		`{"$ref":"#/components/parameters/IdempotencyKey"}],"requestBody":{"content":{"application/json":{"schema":{"properties":{` +
		`"character":{"description":"Who joins.","type":"string"},"requestId":{"type":"string"}},"required":["character"],"type":"object"}}},"required":true},` +
		`"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Party"}}},"description":"The party."},` +
		`"default":{"$ref":"#/components/responses/Error"}}}`
	if string(got) != want {
		t.Errorf("operation is\n%s\nwant\n%s", got, want)
	}
}

func TestMergeWritesStreamsAsTheEdgeSendsThem(t *testing.T) {
	t.Parallel()
	doc, err := mergeTexts(t, plugin)
	if err != nil {
		t.Fatal(err)
	}
	op := doc.Paths["/v1/campaigns/{campaign}:watch"]["get"]
	if ref := at(op.Responses["200"], "content", "application/x-ndjson", "schema", "$ref"); ref != "#/components/schemas/Party" {
		t.Errorf("a line is %v, want the record itself", ref)
	}
	if at(op.Responses["200"], "content", "text/event-stream") == nil {
		t.Error("no server-sent events")
	}
	if last := op.Parameters[len(op.Parameters)-1]["$ref"]; last != lastEventID {
		t.Errorf("last parameter is %v, want %s", last, lastEventID)
	}
}

func TestMergeKeepsWhatIsPublishedOnly(t *testing.T) {
	t.Parallel()
	doc, err := mergeTexts(t, plugin)
	if err != nil {
		t.Fatal(err)
	}
	var schemas []string
	for name := range doc.Components.Schemas {
		schemas = append(schemas, name)
	}
	slices.Sort(schemas)
	if want := []string{"Leader", "Party", "google.rpc.Status"}; !slices.Equal(schemas, want) {
		t.Errorf("schemas are %v, want %v", schemas, want)
	}
	if len(doc.Tags) != 1 || doc.Tags[0].Name != "PartyService" {
		t.Errorf("tags are %v, want PartyService alone", doc.Tags)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		texts []string
		want  string
	}{
		"two parts that claim one path and verb": {[]string{plugin, plugin}, "is there twice"},
		"two parts that disagree on a schema": {[]string{
			plugin, `{"components": {"schemas": {"Party": {"type": "string"}}}}`,
		}, "schema Party differs"},
		"a reference to nothing": {[]string{
			strings.Replace(plugin, `"Leader": {"type": "string"},`, "", 1),
		}, "nothing defines #/components/schemas/Leader"},
		"a variable after no collection": {[]string{
			strings.ReplaceAll(plugin, "{name}/parties/{name_1}", "{name}/{name_1}"),
		}, "no collection before {name_1}"},
		"two variables of one name": {[]string{
			strings.ReplaceAll(plugin, "/parties/{name_1}", "/campaigns/{name_1}"),
		}, "two variables would be {campaign}"},
		"a parameter that the path lacks": {[]string{
			strings.Replace(plugin, `"name": "name_1"`, `"name": "other"`, 1),
		}, "parameter other is not in the path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := mergeTexts(t, tt.texts...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

func TestMergeGivesTheSameBytesEachTime(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 20 {
		doc, err := mergeTexts(t, plugin)
		if err != nil {
			t.Fatal(err)
		}
		text, err := encode(doc)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = text
		}
		if !bytes.Equal(first, text) {
			t.Fatal("two runs differ")
		}
	}
}

// The document in the tree must be OpenAPI 3.1 to a reader that is not ours.
func TestPublishedDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	model, err := doc.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	if doc.GetVersion() != "3.1.0" {
		t.Errorf("version is %s, want 3.1.0", doc.GetVersion())
	}
	ids := map[string]bool{}
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		if strings.Contains(path, "_1}") {
			t.Errorf("%s: a variable has no name of its own", path)
		}
		for verb, op := range item.GetOperations().FromOldest() {
			where := verb + " " + path
			if op.Summary == "" || len(op.Tags) != 1 || ids[op.OperationId] {
				t.Errorf("%s: summary %q, tags %v, id %q", where, op.Summary, op.Tags, op.OperationId)
			}
			ids[op.OperationId] = true
			if op.Responses.Default == nil || op.Responses.Codes.Len() != 1 {
				t.Errorf("%s: want one success and the shared error", where)
			}
			var inPath []string
			for _, p := range op.Parameters {
				if p.In == "path" {
					inPath = append(inPath, "{"+p.Name+"}")
				}
			}
			if want := variable.FindAllString(path, -1); !slices.Equal(inPath, want) {
				t.Errorf("%s: parameters %v, want %v", where, inPath, want)
			}
		}
	}
	if len(ids) == 0 {
		t.Error("no operations")
	}
}

func TestAReaderThatIsNotOursFindsABrokenDocument(t *testing.T) {
	t.Parallel()
	doc, err := mergeTexts(t, plugin)
	if err != nil {
		t.Fatal(err)
	}
	delete(doc.Components.Schemas, "Leader")
	text, err := encode(doc)
	if err != nil {
		t.Fatal(err)
	}
	read, err := libopenapi.NewDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read.BuildV3Model(); err == nil {
		t.Error("a reference to nothing was not noticed")
	}
}
