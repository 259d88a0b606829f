package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryModuleIsUpdated: a module that no update is configured for would grow old unnoticed.
func TestEveryModuleIsUpdated(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var configured []string
	for _, m := range regexp.MustCompile(`(?m)^      - (/\S*)$`).FindAllStringSubmatch(string(text), -1) {
		configured = append(configured, m[1])
	}
	var modules []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return fs.SkipDir
		}
		if err == nil && d.Name() == "go.mod" {
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			modules = append(modules, "/"+strings.TrimPrefix(filepath.ToSlash(dir), "."))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(configured)
	slices.Sort(modules)
	if !slices.Equal(configured, modules) {
		t.Errorf("updates are configured for %q, modules are %q", configured, modules)
	}
}
