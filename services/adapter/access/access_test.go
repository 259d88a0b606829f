package access_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	_ "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/services/adapter/access"
)

var update = flag.Bool("update", false, "write docs/access.md anew")

// Every method of the contract has a row, and every row a method.
func TestEveryMethodHasARow(t *testing.T) {
	t.Parallel()
	methods := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(f.Package()), "wayfarer.") {
			return true
		}
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				name := "/" + string(s.FullName()) + "/" + string(s.Methods().Get(j).Name())
				methods[name] = true
				if row, ok := access.Of(name); !ok || row.Who == 0 {
					t.Errorf("%s has no row in services/adapter/access/table.go: nobody may call it", name)
				}
			}
		}
		return true
	})
	for _, name := range access.Methods() {
		if !methods[name] {
			t.Errorf("there is a row for %s, which is no method", name)
		}
	}
	if len(methods) < 180 {
		t.Errorf("only %d methods were found", len(methods))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const draw, roll, unknown = "/wayfarer.dice.v1.DiceService/Draw", "/wayfarer.dice.v1.DiceService/Roll", "/wayfarer.dice.v1.DiceService/Cheat"
	user, service := auth.NewContext(t.Context(), auth.Principal{Subject: "ada"}), auth.NewContext(t.Context(), auth.Principal{Subject: "travel", Service: true})
	for name, err := range map[string]struct {
		got    error
		reason string
	}{
		"a user calls what is for users":               {access.Check(user, roll), ""},
		"a service does":                               {access.Check(service, roll), ""},
		"nobody does":                                  {access.Check(t.Context(), roll), auth.TokenMissing},
		"a service calls what is between services":     {access.Check(service, draw), ""},
		"a user does":                                  {access.Check(user, draw), "NOT_A_SERVICE"},
		"a service calls what has no row":              {access.Check(service, unknown), access.MethodClosed},
		"anybody calls what is not even a method name": {access.Check(user, "Draw"), access.MethodClosed},
	} {
		if fault.ReasonOf(err.got) != err.reason || (err.got == nil) != (err.reason == "") {
			t.Errorf("%s: %v, want %q", name, err.got, err.reason)
		}
	}
}

func TestTheDocumentationIsTheTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "access.md")
	if *update {
		if err := os.WriteFile(path, []byte(access.Markdown()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != access.Markdown() {
		t.Error("docs/access.md is not the table: run go test ./services/adapter/access -update")
	}
}
