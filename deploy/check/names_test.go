package check_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// grep returns the first groups of all matches in files of a suffix below the roots.
func grep(t *testing.T, suffix, pattern string, roots ...string) map[string]bool {
	t.Helper()
	re, found := regexp.MustCompile(pattern), map[string]bool{}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join("..", "..", filepath.FromSlash(root)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, suffix) || strings.HasSuffix(path, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(path)
			for _, m := range re.FindAllStringSubmatch(string(raw), -1) {
				found[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// A variable that no program reads would be set in vain and nobody would be told.
func TestEveryVariableIsRead(t *testing.T) {
	t.Parallel()
	read := grep(t, ".go", "env:\"([A-Z_]+)", "internal/config", "services/program", "services/cmd", "workflows/cmd", "gateway/cmd")
	if !read["WAYFARER_LISTEN"] {
		t.Fatal("no variables found")
	}
	check := func(where, name string) {
		if (strings.HasPrefix(name, "WAYFARER_") || name == "STORE" || name == "MONGODB_URI") && !read[name] {
			t.Errorf("%s sets %s, which no program reads", where, name)
		}
	}
	for _, d := range of[*appsv1.Deployment](rendered(t, valuesFile(t, "production"))) {
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			check("the chart", e.Name)
		}
	}
	for _, name := range programs {
		for key := range composed(t).Services[name].Environment {
			check("compose: "+name, key)
		}
	}
}

// Every service that is open to clients has its route, and no other has.
func TestEveryServiceIsRouted(t *testing.T) {
	t.Parallel()
	published := grep(t, ".proto", `(?m)^package (wayfarer\.[a-z]+\.v1);`, "proto/wayfarer")
	services := map[string]bool{}
	for pkg := range published {
		folder := "proto/" + strings.ReplaceAll(pkg, ".", "/")
		for name := range grep(t, ".proto", `(?m)^service ([A-Za-z]+) `, folder) {
			services[pkg+"."+name] = true
		}
	}
	// Those between the programs.
	for _, inner := range []string{"wayfarer.party.v1.LeaseService", "wayfarer.party.v1.MembershipService", "wayfarer.party.v1.IntentService"} {
		delete(services, inner)
	}
	var routed []string
	for _, o := range of[*unstructured.Unstructured](rendered(t, valuesFile(t, "production"))) {
		if o.GetKind() != "GRPCRoute" {
			continue
		}
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		for _, r := range rules {
			for _, m := range r.(map[string]any)["matches"].([]any) {
				name, _, _ := unstructured.NestedString(m.(map[string]any), "method", "service")
				routed = append(routed, name)
				if !services[name] {
					t.Errorf("%s is routed, but there is no such service for clients", name)
				}
			}
		}
	}
	for name := range services {
		if !slices.Contains(routed, name) {
			t.Errorf("%s has no route", name)
		}
	}
}

// What the documents say was seen, a test shows: each that they name is there.
func TestEveryTestThatDocumentsNameIsThere(t *testing.T) {
	t.Parallel()
	there, named := map[string]bool{}, 0
	read := func(suffix, pattern string, found func(path, name string)) {
		re := regexp.MustCompile(pattern)
		root := filepath.Join("..", "..")
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch name := d.Name(); {
			case err != nil:
				return err
			case d.IsDir() && (name == "node_modules" || name == "bin" || strings.HasPrefix(name, ".") && path != root):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, suffix):
				return nil
			}
			raw, err := os.ReadFile(path)
			for _, m := range re.FindAllStringSubmatch(string(raw), -1) {
				found(path, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	read("_test.go", `(?m)^func (Test\w+)\(`, func(_, name string) { there[name] = true })
	read(".md", "`(Test[A-Z]\\w+)`", func(path, name string) {
		if named++; !there[name] {
			t.Errorf("%s names %s, which there is not", path, name)
		}
	})
	if named < 40 {
		t.Errorf("only %d tests are named", named)
	}
}
