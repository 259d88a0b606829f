package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
)

// example is a block of commands of the guide, with the answer that it shows for the last of them.
type example struct {
	line     int
	commands string
	shown    string
}

// examples reads the blocks of a document that are to be run: those fenced as sh and nothing more.
func examples(document string) []example {
	var found []example
	fence, from := "", 0
	var block []string
	for i, line := range strings.Split(document, "\n") {
		rest, is := strings.CutPrefix(line, "```")
		switch {
		case is && fence == "":
			fence, from, block = "```"+rest, i+2, nil
		case is:
			text := strings.Join(block, "\n")
			if fence == "```sh" {
				found = append(found, example{line: from, commands: text})
			} else if last := len(found) - 1; fence == "```" && last >= 0 && found[last].shown == "" {
				found[last].shown = text
			} else if fence != "```" && last >= 0 && found[last].shown == "" {
				found[last].shown = "…" // what follows belongs to another block
			}
			fence = ""
		case fence != "":
			block = append(block, line)
		}
	}
	return found
}

// TestTheExamplesOfTheGuide runs every example of docs/api.md in its order, as a reader would, and compares what is
// answered with what is shown: the same keys and kinds, the same names, phases and reasons. Dice, times and ids are others
// each time. An example that cannot be run is fenced otherwise, as "sh later".
func TestTheExamplesOfTheGuide(t *testing.T) {
	t.Parallel()
	bash := program(t, "bash", "the examples are those of a shell")
	program(t, "curl", "the examples call REST with it")
	raw, err := os.ReadFile(filepath.Join("..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, guide, ok := strings.Cut(string(raw), "\n## Examples\n")
	if !ok {
		t.Fatal("the guide has no examples")
	}
	before := strings.Count(string(raw[:len(raw)-len(guide)]), "\n")
	all := examples(guide)
	edge := record(t)

	// What is written of the programs of this repository is tested where they are.
	var script strings.Builder
	var ran []example
	for _, e := range all {
		if strings.Contains(e.commands, "bin/wayfarer ") || strings.Contains(e.commands, "wayfarer console ") {
			continue
		}
		e.line += before
		fmt.Fprintf(&script, "printf '\\036%d\\036'\n%s\n", len(ran), strings.ReplaceAll(e.commands, "http://localhost:8080", edge.url))
		ran = append(ran, e)
	}
	if len(ran) < 40 {
		t.Fatalf("only %d examples were found", len(ran))
	}
	cmd := exec.CommandContext(t.Context(), bash, "-u")
	cmd.Stdin = strings.NewReader(script.String())
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	answers := strings.Split(string(out), "\x1e")[1:]
	for i, e := range ran {
		if n, err := strconv.Atoi(answers[2*i]); err != nil || n != i {
			t.Fatalf("docs/api.md:%d: the answers are out of step", e.line)
		}
		for _, problem := range e.differs(answers[2*i+1]) {
			t.Errorf("docs/api.md:%d: %s", e.line, problem)
		}
	}
	for _, service := range publicServices() {
		if !edge.called(service) {
			t.Errorf("no example calls %s", service.FullName())
		}
	}
}

// differs says where the answers of an example are not as shown.
func (e example) differs(output string) []string {
	var problems []string
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var last any
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "id: ") || strings.HasPrefix(line, ":") {
			continue
		}
		line = strings.TrimPrefix(line, "data: ")
		var answer any
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			problems = append(problems, fmt.Sprintf("no JSON is answered: %.200s", line))
			continue
		}
		last = answer
		expected := i == len(lines)-1 && strings.Contains(e.shown, `"code"`)
		if o, ok := answer.(map[string]any); ok && o["details"] != nil && !expected {
			problems = append(problems, fmt.Sprintf("it is refused: %s", line))
		}
	}
	if e.shown == "" || strings.HasPrefix(e.shown, "…") || strings.HasPrefix(e.shown, "id: ") || strings.Contains(e.shown, "\n…\n") {
		return problems // a stream, or nothing is shown
	}
	shown, err := parse(e.shown)
	if err != nil {
		return append(problems, fmt.Sprintf("what is shown cannot be read: %v", err))
	}
	return append(problems, differences("", shown, last)...)
}

// exact are the texts that do not depend on dice, times and request ids.
var exact = []string{"code", "reason", "name", "phase", "state", "leader", "domain", "facet", "field", "@type", "notation", "role"}

// differences compares what is shown with what is answered.
func differences(path string, shown, answered any) []string {
	switch s := shown.(type) {
	case rest:
		return nil
	case map[string]any:
		a, ok := answered.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, not an object", path, answered)}
		}
		var problems []string
		for key, value := range s {
			got, ok := a[key]
			if !ok {
				problems = append(problems, fmt.Sprintf("%s.%s is not answered", path, key))
				continue
			}
			problems = append(problems, differences(path+"."+key, value, got)...)
		}
		return problems
	case []any:
		a, ok := answered.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, not a list", path, answered)}
		}
		var problems []string
		if strings.HasSuffix(path, ".events") {
			for i := range s {
				problems = append(problems, eventDiffers(fmt.Sprintf("%s[%d]", path, i), s[i], a)...)
			}
			return problems
		}
		if len(a) != len(s) {
			return nil // as many as the dice would have
		}
		for i := range s {
			problems = append(problems, differences(fmt.Sprintf("%s[%d]", path, i), s[i], a[i])...)
		}
		return problems
	default:
		if fmt.Sprintf("%T", shown) != fmt.Sprintf("%T", answered) {
			return []string{fmt.Sprintf("%s is %v (%T), shown is %v", path, answered, answered, shown)}
		}
		key := path[strings.LastIndex(path, ".")+1:]
		_, number := shown.(float64)
		text, _ := shown.(string)
		drawn := number && key != "code" || key == "name" && !strings.Contains(text, "/") // the name of a condition depends on the card
		if slices.Contains(exact, key) && shown != answered && !drawn {
			return []string{fmt.Sprintf("%s is %v, shown is %v", path, answered, shown)}
		}
		return nil
	}
}

// eventDiffers compares an event that is shown with one of its kind, wherever that is among those that are answered: which come, and
// in which order, depends on dice. One whose kind did not come is compared with the contract.
func eventDiffers(path string, shown any, answered []any) []string {
	s, ok := shown.(map[string]any)
	if !ok || len(s) != 1 {
		return nil // elided, or several things
	}
	for kind, value := range s {
		for _, other := range answered {
			if a, ok := other.(map[string]any); ok && a[kind] != nil {
				return differences(path+"."+kind, value, a[kind])
			}
		}
		var found []string
		for _, event := range eventsOf(kind) {
			if found = unknown(path+"."+kind, value, event); found == nil {
				return nil
			}
		}
		if found == nil {
			found = []string{fmt.Sprintf("%s.%s is no event", path, kind)}
		}
		return found
	}
	return nil
}

// eventsOf are the messages of the contract that are an event of this name.
func eventsOf(kind string) []protoreflect.MessageDescriptor {
	var found []protoreflect.MessageDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			if event := f.Messages().Get(i).Oneofs().ByName("event"); event != nil {
				if of := event.Parent().(protoreflect.MessageDescriptor).Fields().ByJSONName(kind); of != nil && of.Message() != nil { //nolint:forcetypeassert // a oneof is in a message
					found = append(found, of.Message())
				}
			}
		}
		return true
	})
	return found
}

// unknown says which fields of something that is shown the contract does not have.
func unknown(path string, shown any, message protoreflect.MessageDescriptor) []string {
	var problems []string
	switch s := shown.(type) {
	case map[string]any:
		for key, value := range s {
			field := message.Fields().ByJSONName(key)
			if field == nil {
				problems = append(problems, fmt.Sprintf("%s.%s is not in %s", path, key, message.FullName()))
			} else if field.Message() != nil && !field.IsMap() {
				problems = append(problems, unknown(path+"."+key, value, field.Message())...)
			}
		}
	case []any:
		for _, value := range s {
			problems = append(problems, unknown(path, value, message)...)
		}
	}
	return problems
}

// TestAnEventThatIsShown is compared with the answer's where that has one of its kind, else with the contract.
func TestAnEventThatIsShown(t *testing.T) {
	t.Parallel()
	answered := `{"events": [{"roundBegun": {"activity": "forage", "round": 2}}, {"usageChecked": {"usage": {"dice": 3}}}]}`
	for name, tc := range map[string]struct{ shown, want string }{
		"of another place":             {`{"events": [{"usageChecked": {"usage": {"dice": 1}}}]}`, ""},
		"that the dice did not bring":  {`{"events": [{"foraged": {"result": "raised"}}]}`, ""},
		"that is none":                 {`{"events": [{"forraged": {"result": "raised"}}]}`, ".events[0].forraged is no event"},
		"with another field":           {`{"events": [{"foraged": {"outcome": "raised"}}]}`, ".events[0].foraged.outcome is not in wayfarer.travel.v1.Foraged"},
		"with a field that came not":   {`{"events": [{"roundBegun": {"activity": "forage", "rounds": 2}}]}`, ".events[0].roundBegun.rounds is not answered"},
		"with another kind of a value": {`{"events": [{"roundBegun": {"activity": 1}}]}`, ".events[0].roundBegun.activity is forage (string), shown is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join((example{shown: tc.shown}).differs(answered), "; "); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// rest is the … of an answer that is shown in part.
type rest struct{}

var (
	elided = regexp.MustCompile(`…`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// parse reads JSON in which … stands for what was left out.
func parse(text string) (any, error) {
	// Inside of texts it is a letter like any other; outside it becomes a member that JSON can hold.
	const mark = `"\u0000rest"`
	var b strings.Builder
	at := 0
	outside := func(s string) string { return elided.ReplaceAllString(s, mark) }
	for _, m := range quoted.FindAllStringIndex(text, -1) {
		b.WriteString(outside(text[at:m[0]]) + text[m[0]:m[1]])
		at = m[1]
	}
	b.WriteString(outside(text[at:]))
	// In an object it needs a value.
	whole := regexp.MustCompile(`([{,]\s*)"\\u0000rest"(\s*\})`).ReplaceAllString(b.String(), `$1"\u0000rest": null$2`)
	var v any
	if err := json.Unmarshal([]byte(whole), &v); err != nil {
		return nil, err
	}
	return strip(v), nil
}

func strip(v any) any {
	switch x := v.(type) {
	case map[string]any:
		delete(x, "\x00rest")
		for key, value := range x {
			x[key] = strip(value)
		}
	case []any:
		if slices.Contains(x, any("\x00rest")) {
			return rest{}
		}
		for i := range x {
			x[i] = strip(x[i])
		}
	case string:
		if x == "\x00rest" {
			return rest{}
		}
	}
	return v
}

// recorder passes calls on to the edge and keeps what was called.
type recorder struct {
	url   string
	mu    sync.Mutex
	calls []string
}

func record(t *testing.T) *recorder {
	t.Helper()
	to, err := url.Parse(house.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	pass := httputil.NewSingleHostReverseProxy(to)
	pass.FlushInterval = -1
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.calls = append(r.calls, req.Method+" "+req.URL.Path)
		r.mu.Unlock()
		pass.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	return r
}

// called tells whether a method of the service was.
func (r *recorder) called(service protoreflect.ServiceDescriptor) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range service.Methods().Len() {
		verb, path := binding(service.Methods().Get(i))
		if verb == "" {
			continue
		}
		pattern := regexp.MustCompile("^" + verb + " " + path + "$")
		if slices.ContainsFunc(r.calls, pattern.MatchString) {
			return true
		}
	}
	return false
}

var variable = regexp.MustCompile(`\\\{[a-z_.]+=([^}]+)\\\}|\\\{[a-z_.]+\\\}`)

// binding returns the verb of a method at the edge and a pattern of its path; nothing for a method that is not there.
func binding(m protoreflect.MethodDescriptor) (verb, path string) {
	rule, _ := proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	verb, path = http.MethodGet, rule.GetGet()
	if path == "" {
		verb, path = http.MethodPost, rule.GetPost()
	}
	if path == "" {
		return "", ""
	}
	path = variable.ReplaceAllString(regexp.QuoteMeta(path), "$1")
	return verb, strings.ReplaceAll(path, `\*`, "[^/:]+")
}

// publicServices are those of the contract that have a method at the edge.
func publicServices() []protoreflect.ServiceDescriptor {
	var found []protoreflect.ServiceDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			if !strings.HasPrefix(string(s.FullName()), "wayfarer.") {
				continue
			}
			for j := range s.Methods().Len() {
				if verb, _ := binding(s.Methods().Get(j)); verb != "" {
					found = append(found, s)
					break
				}
			}
		}
		return true
	})
	return found
}

func TestWhatIsShownInPart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		shown, answered string
		want            int
	}{
		"the whole":                              {`{"name": "a", "n": 1}`, `{"name":"a","n":1}`, 0},
		"more is answered than is shown":         {`{"name": "a", …}`, `{"name":"a","n":1}`, 0},
		"dice are others":                        {`{"face": 4, "title": "x"}`, `{"face":5,"title":"y"}`, 0},
		"a name is another":                      {`{"name": "campaigns/a"}`, `{"name":"campaigns/b"}`, 1},
		"a key is missing":                       {`{"name": "a", "old": 1}`, `{"name":"a"}`, 1},
		"a kind is another":                      {`{"n": 1}`, `{"n":"1"}`, 1},
		"inside what is left out nothing counts": {`{"run": {…}, "events": […], "x": …}`, `{"run":{"a":1},"events":[1,2],"x":null}`, 0},
		"… in a text is a letter":                {`{"text": "Two …", "id": "…"}`, `{"text":"x","id":"y"}`, 0},
		"deep inside":                            {`{"a": [{"phase": "X", …}, {"phase": "Y"}]}`, `{"a":[{"phase":"X","b":1},{"phase":"Z"}]}`, 1},
		"as many as there are":                   {`{"dice": [{"face": 1}]}`, `{"dice":[]}`, 0},
		"a refusal of another kind":              {`{"code": 9}`, `{"code":3}`, 1},
	} {
		shown, err := parse(tt.shown)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var answered any
		if err := json.Unmarshal([]byte(tt.answered), &answered); err != nil {
			t.Fatal(err)
		}
		if got := differences("", shown, answered); len(got) != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
