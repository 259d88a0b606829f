package diedrop

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Every rule of the catalogue is cited by a test, and nothing in the package cites a rule that is not there.
func TestEveryRuleIsCited(t *testing.T) {
	t.Parallel()
	rule := catalogue(t)
	if len(rule) < 100 {
		t.Fatalf("the catalogue has %d rules", len(rule))
	}
	files, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	cited := map[string]bool{}
	for _, file := range files {
		kind := filepath.Ext(file)
		if kind != ".go" && kind != ".json" {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range regexp.MustCompile(`DDW-[A-Z]+-\d+`).FindAllString(string(raw), -1) {
			if _, ok := rule[id]; !ok {
				t.Errorf("%s cites %s, which the catalogue does not have", file, id)
			}
			if matched, _ := filepath.Match("*_test.go", file); matched {
				cited[id] = true
			}
		}
	}
	for id := range rule {
		if !cited[id] {
			t.Errorf("no test cites %s", id)
		}
	}
}
