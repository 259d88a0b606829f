package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRecognise(t *testing.T) {
	t.Parallel()
	const bsd = "Redistribution and use in source and binary forms, with or without modification, are permitted. "
	const mit = "Permission is hereby granted, free of charge, to any person. The above copyright notice and\nthis permission notice shall be included."
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                                {"All rights reserved.", nil},
		"lines break anywhere":                   {mit, []string{"MIT"}},
		"two clauses":                            {bsd, []string{"BSD-2-Clause"}},
		"three clauses are not two as well":      {bsd + "Names may not be used to endorse or promote products.", []string{"BSD-3-Clause"}},
		"two licences in one text":               {bsd + mit, []string{"BSD-2-Clause", "MIT"}},
		"a text that names GNU's is not of them": {"Mozilla Public License 2.0. Secondary License means the GNU Affero General Public License.", []string{"MPL-2.0"}},
		"Affero is not the plain one":            {"GNU AFFERO GENERAL PUBLIC LICENSE \n Version 3, 19 November 2007. It is like the GNU General Public License.", []string{"AGPL-3.0"}},
		"the plain one":                          {"GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007. Use with the GNU Affero General Public License, or the GNU Lesser one.", []string{"GPL-3.0"}},
		"the source of businesses":               {"Business Source License 1.1", []string{"BUSL-1.1"}},
	} {
		if got := recognise(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestPermitted(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]bool{
		"MIT": true, "MIT AND Apache-2.0": true, "MIT AND GPL-3.0": false, "(MIT OR GPL-3.0)": true, "GPL-2.0 OR AGPL-3.0": false, "BUSL-1.1": false,
	} {
		if got := permitted(expression, allowed); got != want {
			t.Errorf("%s: %t", expression, got)
		}
	}
}

func TestRowsTellWhatMayNotBeShipped(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	problems := rows(&b, map[string]string{"a": "MIT", "b": "GPL-3.0", "c": ""}, allowed)
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), "b comes under GPL-3.0") || !strings.Contains(problems[1].Error(), "c: no licence") {
		t.Errorf("%v", problems)
	}
	if problems := rows(&b, map[string]string{"b": "GPL-3.0"}, nil); problems != nil {
		t.Errorf("a tool: %v", problems)
	}
}

func TestPackagesOfTheLock(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "package-lock.json")
	if err := os.WriteFile(lock, []byte(`{"packages": {
		"": {"license": "X"}, "clients/ts": {"license": "X"}, "node_modules/@us/client": {"link": true},
		"node_modules/needed": {"license": "MIT"}, "tools/node/node_modules/@a/dev": {"license": "ISC", "dev": true}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	needed, developed, err := npm(lock)
	if err != nil || len(needed) != 1 || needed["needed"] != "MIT" || len(developed) != 1 || developed["@a/dev"] != "ISC" {
		t.Errorf("%v, %v, %v", needed, developed, err)
	}
}
