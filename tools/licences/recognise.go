package main

import "strings"

// marks are phrases by which a licence is known, all of which have to be there; of licences that share phrases the
// narrower one comes first and hides the others in the same text. GNU's are known by their titles, since they name each
// other.
var marks = []struct {
	licence string
	phrases []string
	hides   []string
}{
	{"AGPL-3.0", []string{"gnu affero general public license version 3, 19 november 2007"}, nil},
	{"LGPL-3.0", []string{"gnu lesser general public license version 3, 29 june 2007"}, nil},
	{"LGPL-2.1", []string{"gnu lesser general public license version 2.1, february 1999"}, nil},
	{"GPL-3.0", []string{"gnu general public license version 3, 29 june 2007"}, nil},
	{"GPL-2.0", []string{"gnu general public license version 2, june 1991"}, nil},
	{"SSPL-1.0", []string{"server side public license"}, nil},
	{"BUSL-1.1", []string{"business source license"}, nil},
	{"Elastic-2.0", []string{"elastic license"}, nil},
	{"MPL-2.0", []string{"mozilla public license", "2.0"}, nil},
	{"Apache-2.0", []string{"apache license", "version 2.0", "conditions"}, nil},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "endorse or promote products"}, []string{"BSD-2-Clause"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}, nil},
	{"MIT", []string{"permission is hereby granted, free of charge", "the above copyright notice and this permission notice"}, nil},
	{"ISC", []string{"permission to use, copy, modify, and", "provided that the above copyright notice and this permission notice appear in all copies"}, nil},
	{"0BSD", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted. the software"}, nil},
	{"CC0-1.0", []string{"cc0 1.0 universal"}, nil},
	{"Unlicense", []string{"this is free and unencumbered software released into the public domain"}, nil},
	{"Zlib", []string{"altered source versions must be plainly marked as such"}, nil},
}

// recognise names the licences of a text; none if it knows none of them.
func recognise(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var found []string
	hidden := map[string]bool{}
	for _, m := range marks {
		all := true
		for _, phrase := range m.phrases {
			all = all && strings.Contains(text, phrase)
		}
		if !all || hidden[m.licence] {
			continue
		}
		found = append(found, m.licence)
		for _, h := range m.hides {
			hidden[h] = true
		}
	}
	return found
}
