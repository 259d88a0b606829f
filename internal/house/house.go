// Package house holds what the repository demands of itself: which way imports go, that packages say what they own, that
// every rule of the catalogues has a test, and that the files speak of the project alone. Its tests run the checks on the
// repository, and on small broken trees, so that a check that can no longer fail is noticed.
package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the root module; the contract is a module below it.
const Module = "github.com/wayfarer-rpg/wayfarer"

// goFile is one parsed file of the tree.
type goFile struct {
	path      string // from the root, with slashes
	ast       *ast.File
	generated bool
}

func (f goFile) dir() string { return path.Dir(f.path) }
func (f goFile) test() bool  { return strings.HasSuffix(f.path, "_test.go") }

// goFiles parses every Go file of the tree, whatever its build tags, but not testdata and hidden folders.
func goFiles(tree fs.FS) ([]goFile, error) {
	var files []goFile
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if base := d.Name(); name != "." && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{path: name, ast: file, generated: ast.IsGenerated(file)})
		return nil
	})
	return files, err
}

// within tells whether the path is the folder or below it.
func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

// Imports names every import that goes against the house's one direction: rules <- adapters <- cmd.
func Imports(tree fs.FS) ([]string, error) {
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, f := range files {
		for _, spec := range f.ast.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
			if reason := refuseImport(f, target); reason != "" {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", f.path, target, reason))
			}
		}
		if within(f.path, "rules") {
			problems = append(problems, clocks(f)...)
		}
	}
	return problems, nil
}

// refuseImport says why the file may not import the target; empty when it may.
func refuseImport(f goFile, target string) string {
	inner, ours := strings.CutPrefix(target, Module+"/")
	if ours {
		switch {
		case within(inner, "deploy") && !within(f.path, "deploy") && !within(f.path, "bench") && !f.test():
			return "nothing imports deploy" // but what starts the whole house to test or measure it
		case slices.Contains(strings.Split(inner, "/"), "cmd"):
			return "nothing imports a command"
		}
	}
	area, _, _ := strings.Cut(f.path, "/")
	into := func(areas ...string) bool {
		return ours && slices.ContainsFunc(areas, func(a string) bool { return within(inner, a) })
	}
	switch {
	case area == "rules":
		return refuseInRules(f, target, ours, inner)
	case area == "clients" && !f.test() && ours && !within(inner, "proto"):
		return "clients are programs of other people and know the contract alone"
	case area == "proto" && ours && !within(inner, "proto"):
		return "the contract is for clients and knows nothing of the house"
	case area == "internal" && into("rules", "services", "workflows", "gateway"):
		return "internal knows nothing of the game"
	case area == "internal" && !f.test() && into("proto") && !within(inner, "proto/wayfarer/type/v1"):
		return "of the contract internal knows type/v1 alone"
	case f.test() || slices.Contains(strings.Split(f.path, "/"), "cmd") || area == "deploy":
		return "" // they wire
	case area == "services" && into("workflows", "gateway"):
		return "services stand below workflows and gateway"
	case area == "services" && into("services"):
		from, to := service(f.path), service(inner)
		if to != from && to != "adapter" {
			return "services meet over gRPC; only services/adapter is shared"
		}
	case area == "workflows" && into("rules", "services", "gateway"):
		return "a workflow orders and waits; rules stay in services, which it calls over gRPC"
	case area == "gateway" && into("rules", "services", "workflows"):
		return "the gateway knows the contract alone"
	}
	return ""
}

// service returns the second part of services/<name>/….
func service(name string) string {
	parts := strings.Split(name, "/")
	return parts[min(1, len(parts)-1)]
}

// impure are parts of the standard library that bring in the world: what a rule sees comes as a value.
var impure = []string{
	"crypto/rand", "database", "log", "math/rand", "net", "os", "plugin", "runtime", "syscall", "testing", "unsafe",
}

// forRuleTests are the modules that tests of rules may use besides the standard library.
var forRuleTests = []string{"github.com/google/go-cmp", "pgregory.net/rapid"}

func refuseInRules(f goFile, target string, ours bool, inner string) string {
	first, _, _ := strings.Cut(target, "/")
	switch {
	case ours && within(inner, "rules"):
		return ""
	case ours || strings.Contains(first, "."):
		if f.test() && slices.ContainsFunc(forRuleTests, func(m string) bool { return within(target, m) }) {
			return ""
		}
		return "rules import the standard library and each other only"
	case within(target, "math/rand") || target == "crypto/rand":
		return "dice come from a play.Dice"
	case !f.test() && slices.ContainsFunc(impure, func(p string) bool { return within(target, p) }):
		return "rules are pure"
	}
	return ""
}

// clocks names each use of the clock in a file.
func clocks(f goFile) []string {
	name := ""
	for _, spec := range f.ast.Imports {
		if spec.Path.Value == `"time"` {
			name = "time"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	if name == "." {
		return []string{f.path + ` imports "time" into its own names: the clock would be hidden`}
	}
	var problems []string
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
			switch sel.Sel.Name {
			case "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker":
				problems = append(problems, fmt.Sprintf("%s uses time.%s: rules have no clock", f.path, sel.Sel.Name))
			}
		}
		return true
	})
	return problems
}

// PackageComments names every package without a comment that says what it owns. Generated packages and packages of tests
// alone need none.
func PackageComments(tree fs.FS) ([]string, error) {
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	packages := map[string]string{} // folder -> package name
	commented := map[string]bool{}
	for _, f := range files {
		if f.generated || f.test() {
			continue
		}
		name := f.ast.Name.Name
		packages[f.dir()] = name
		want := "Package " + name + " "
		if name == "main" {
			want = "Command "
		}
		commented[f.dir()] = commented[f.dir()] || strings.HasPrefix(f.ast.Doc.Text(), want)
	}
	var problems []string
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		if !commented[dir] {
			problems = append(problems, fmt.Sprintf("%s: package %s has no comment that begins with Package or Command", dir, packages[dir]))
		}
	}
	return problems, nil
}

// foreign are words that tie the project to the place where somebody works on it. They are in two pieces, since this file
// is searched as well.
var foreign = []string{
	"../sha" + "red", "/wo" + "rk/", "/ro" + "ot/", "proxy.gol" + "ang.org", "sum.gol" + "ang.org", "registry.npm" + "js.org", "deb.deb" + "ian.org",
}

// ForeignWords names every line of the given files that speaks of a workplace. Files with a NUL byte are passed over.
func ForeignWords(tree fs.FS, names []string) ([]string, error) {
	var problems []string
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, word := range foreign {
				if strings.Contains(line, word) {
					problems = append(problems, fmt.Sprintf("%s:%d: %s", name, i+1, word))
				}
			}
		}
	}
	return problems, nil
}

// Coverage says which ids of the catalogues need no test under rules.
type Coverage struct {
	// Pending maps a system's prefix to its folder under rules, which does not exist yet.
	Pending map[string]string
	// Elsewhere maps an area to the reason why its test may be anywhere in the tree.
	Elsewhere map[string]string
	// Exempt maps an area to the reason why it needs no test.
	Exempt map[string]string
}

var (
	// row begins the row of a rule in a catalogue.
	row = regexp.MustCompile(`(?m)^\| ((?:DIG|DW|POOL|DDW)-[A-Z]+-[0-9]{2}) \|`)
	// citation is an id with the short forms that may follow it: "-02, -04", "-02 and -03", "-01 to -03".
	citation = regexp.MustCompile(`\b((?:DIG|DW|POOL|DDW)-[A-Z]+-)([0-9]{2})\b((?:(?:, | and | to )-[0-9]{2}\b)*)`)
	further  = regexp.MustCompile(`(, | and | to )-([0-9]{2})`)
)

// cited returns every id that the text names, in order.
func cited(text string) []string {
	var ids []string
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		area, last := m[1], m[2]
		ids = append(ids, area+last)
		for _, more := range further.FindAllStringSubmatch(m[3], -1) {
			from, _ := strconv.Atoi(last)
			to, _ := strconv.Atoi(more[2])
			if more[1] == " to " {
				for n := from + 1; n < to; n++ {
					ids = append(ids, fmt.Sprintf("%s%02d", area, n))
				}
			}
			last = more[2]
			ids = append(ids, area+last)
		}
	}
	return ids
}

// RuleIDs names every id that a test cites and no catalogue of docs/rules has, and every id of a catalogue that no test
// cites.
func RuleIDs(tree fs.FS, c Coverage) ([]string, error) {
	catalogued := map[string]bool{}
	catalogues, err := fs.Glob(tree, "docs/rules/*.md")
	if err != nil {
		return nil, err
	}
	for _, name := range catalogues {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		for _, m := range row.FindAllSubmatch(text, -1) {
			catalogued[string(m[1])] = true
		}
	}
	if len(catalogued) == 0 {
		return []string{"docs/rules has no catalogue"}, nil
	}
	files, err := goFiles(tree)
	if err != nil {
		return nil, err
	}
	var problems []string
	inRules, anywhere := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if !f.test() || within(f.path, "internal/house") { // whose tests cite ids as examples
			continue
		}
		text, err := fs.ReadFile(tree, f.path)
		if err != nil {
			return nil, err
		}
		for _, id := range cited(string(text)) {
			if !catalogued[id] {
				problems = append(problems, fmt.Sprintf("%s cites %s, which no catalogue has", f.path, id))
			}
			anywhere[id] = true
			inRules[id] = inRules[id] || within(f.path, "rules")
		}
	}
	for system, folder := range c.Pending {
		if _, err := fs.Stat(tree, folder); err == nil {
			problems = append(problems, fmt.Sprintf("%s exists, so %s is pending no longer", folder, system))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(catalogued)) {
		system, _, _ := strings.Cut(id, "-")
		area := id[:strings.LastIndex(id, "-")]
		_, pending := c.Pending[system]
		_, exempt := c.Exempt[area]
		_, elsewhere := c.Elsewhere[area]
		switch {
		case pending, exempt, inRules[id], elsewhere && anywhere[id]:
		case elsewhere:
			problems = append(problems, fmt.Sprintf("%s is cited by no test", id))
		default:
			problems = append(problems, fmt.Sprintf("%s is cited by no test under rules", id))
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems), nil
}
