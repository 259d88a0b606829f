// Command licences lists what the project depends on and under which licences, and refuses what it may not ship.
//
// What is shipped may come under permissive licences and the MPL only, whose text has to be found in the module itself; a
// text that is not recognised is refused like one that is forbidden. Tools are run and not shipped, so they may come under
// any licence that is recognised. Versions are left to go.mod, package-lock.json and the images' bills of materials: a new
// version under the same licence changes nothing here.
//
// Usage: licences ROOT >docs/licences.md
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// allowed are the licences of what is shipped.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "Python-2.0", "Unlicense", "Zlib"}

// stated are licences of modules without a text that could be recognised: what is known of them, and whence.
var stated = map[string]string{
	"github.com/cactus/go-statsd-client/statsd":    "MIT (the text lies in the repository, outside of the module)",
	"github.com/nexus-rpc/nexus-proto-annotations": "none stated (annotations of the contract of Temporal's API, which is under MIT)",
}

// shipped are what people get: Go programs, by module folder and packages.
var shipped = []struct {
	title    string
	dir      string
	packages []string
}{
	{"In the programs and images", ".", []string{"./services/cmd/...", "./workflows/cmd/...", "./gateway/cmd/...", "./deploy/local"}},
	{"In the local Temporal server", "deploy/local/temporaldev", []string{"."}},
	{"In the stand-in for MongoDB of the tests", "deploy/local/ferretdev", []string{"."}},
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: licences ROOT >docs/licences.md")
	}
	root := args[0]
	var b bytes.Buffer
	var problems []error
	b.WriteString("# Licences of dependencies\n\nWritten by `make licences`; `make test` fails when it is out of date, or when something that is shipped comes under another\n" +
		"licence than " + strings.Join(allowed, ", ") + ".\nVersions are in go.mod and package-lock.json, and in the bill of materials of each image.\n")
	for _, s := range shipped {
		modules, err := linked(filepath.Join(root, s.dir), s.dir != ".", s.packages)
		if err != nil {
			return err
		}
		problems = append(problems, table(&b, s.title, modules, allowed)...)
	}
	shippedNPM, developed, err := npm(filepath.Join(root, "package-lock.json"))
	if err != nil {
		return err
	}
	b.WriteString("\n## In the TypeScript client\n\n")
	if len(shippedNPM) == 0 {
		b.WriteString("Nothing: it has no dependencies.\n")
	} else {
		problems = append(problems, rows(&b, shippedNPM, allowed)...)
	}
	problems = append(problems, table(&b, "npm packages that make and test it", developed, nil)...)
	tools, err := toolModules(filepath.Join(root, "tools"))
	if err != nil {
		return err
	}
	problems = append(problems, table(&b, "Tools, run and not shipped", tools, nil)...)
	if err := errors.Join(problems...); err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// table writes a section. It returns what comes under none of the licences; nil allows all that are recognised.
func table(b *bytes.Buffer, title string, licences map[string]string, allowed []string) []error {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	return rows(b, licences, allowed)
}

func rows(b *bytes.Buffer, licences map[string]string, allowed []string) []error {
	var problems []error
	b.WriteString("| | licence |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(licences)) {
		licence := licences[name]
		fmt.Fprintf(b, "| %s | %s |\n", name, licence)
		switch {
		case licence == "":
			problems = append(problems, fmt.Errorf("%s: no licence was recognised", name))
		case allowed != nil && licence != stated[name] && !permitted(licence, allowed):
			problems = append(problems, fmt.Errorf("%s comes under %s, which may not be shipped", name, licence))
		}
	}
	return problems
}

// permitted reads an expression of alternatives and of licences that hold together.
func permitted(expression string, allowed []string) bool {
	for alternative := range strings.SplitSeq(strings.Trim(expression, "()"), " OR ") {
		if !slices.ContainsFunc(strings.Split(alternative, " AND "), func(l string) bool { return !slices.Contains(allowed, strings.Trim(l, "() ")) }) {
			return true
		}
	}
	return false
}

type module struct {
	Path    string
	Dir     string
	Main    bool
	Replace *module
}

// linked returns the licences of the modules whose packages the given ones are built of.
func linked(dir string, outside bool, packages []string) (map[string]string, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Module,Standard"}, packages...)...)
	cmd.Dir = dir
	// The images' platform, so that every machine finds the same.
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	if outside {
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	found := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p struct {
			Module   *module
			Standard bool
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list in %s: %w", dir, err)
		}
		m := p.Module
		if p.Standard || m == nil || m.Main || own(m.Path) {
			continue
		}
		if m.Replace != nil {
			m.Dir = cmp.Or(m.Replace.Dir, m.Dir)
		}
		if _, done := found[m.Path]; done {
			continue
		}
		if found[m.Path], err = goLicence(m.Path, m.Dir); err != nil {
			return nil, err
		}
	}
}

func own(path string) bool { return strings.HasPrefix(path, "github.com/wayfarer-rpg/wayfarer") }

// licenceOf reads the licence of the module in a folder; empty if none is recognised.
func licenceOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !(strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "UNLICENSE")) || filepath.Ext(name) == ".GO" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		found = append(found, recognise(string(text))...)
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " AND "), nil
}

// goLicence is that of a module, or what is stated of it if it has no text.
func goLicence(path, dir string) (string, error) {
	licence, err := licenceOf(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return cmp.Or(licence, stated[path]), nil
}

// npm returns the licences of the packages that the lock names: those that packages of ours need when they run, and those
// that only make and test them.
func npm(lock string) (needed, developed map[string]string, err error) {
	raw, err := os.ReadFile(lock)
	if err != nil {
		return nil, nil, err
	}
	var file struct {
		Packages map[string]struct {
			License string `json:"license"`
			Dev     bool   `json:"dev"`
			Link    bool   `json:"link"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", lock, err)
	}
	needed, developed = map[string]string{}, map[string]string{}
	for path, p := range file.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at < 0 || p.Link {
			continue // a package of ours
		}
		name := path[at+len("node_modules/"):]
		if p.Dev {
			developed[name] = p.License
		} else {
			needed[name] = p.License
		}
	}
	return needed, developed, nil
}

// toolModules returns the licences of the modules of every tool that a go.mod below the folder names.
func toolModules(folder string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		cmd := exec.Command("go", "list", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}", "tool")
		cmd.Dir = filepath.Dir(path)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		cmd.Stderr = os.Stderr
		raw, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("go list tool in %s: %w", cmd.Dir, err)
		}
		for line := range strings.Lines(string(raw)) {
			name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name == "" || own(name) {
				continue
			}
			if found[name], err = goLicence(name, dir); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}
