package console

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of the line with the column where it begins, in characters from 1.
type span struct {
	text   string
	column int
}

func (s span) end() int { return s.column + utf8.RuneCountInString(s.text) }

// cut splits a line into the path of its command, without the +, and the rest.
func cut(line string) (path, rest span, err error) {
	for i, r := range []rune(line) {
		if unicode.IsControl(r) && r != '\t' {
			return path, rest, refuse(reasonBadLine, i+1, "one line of text", "there is a control character")
		}
	}
	trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
	at := 1 + utf8.RuneCountInString(line) - utf8.RuneCountInString(trimmed)
	trimmed = strings.TrimRightFunc(trimmed, unicode.IsSpace)
	body, ok := strings.CutPrefix(trimmed, "+")
	switch {
	case trimmed == "":
		return path, rest, refuse(reasonBadLine, 1, "a command such as +help", "the line is empty")
	case !ok:
		e := refuse(reasonBadLine, at, "+", "a command begins with +")
		word, _, _ := strings.Cut(strings.ToLower(trimmed), " ")
		if known(word) {
			return path, rest, e.suggest("+" + trimmed)
		}
		return path, rest, e
	}
	end := strings.IndexFunc(body, unicode.IsSpace)
	if end < 0 {
		end = len(body)
	}
	path = span{strings.ToLower(body[:end]), at + 1}
	after := strings.TrimLeftFunc(body[end:], unicode.IsSpace)
	rest = span{after, path.end() + utf8.RuneCountInString(body[end:]) - utf8.RuneCountInString(after)}
	if path.text == "" {
		return path, rest, refuse(reasonBadLine, path.column, "the name of a command", "a + alone is no command")
	}
	return path, rest, nil
}

// item is one argument. A pair has a key.
type item struct {
	raw   span
	key   span
	value span
	pair  bool
}

// items splits arguments at blanks outside quotation marks.
func items(rest span) ([]item, error) {
	l := lexer{text: []rune(rest.text), column: rest.column}
	var out []item
	for l.blanks(); l.at < len(l.text); l.blanks() {
		begin := l.at
		value, err := l.value(true)
		if err != nil {
			return nil, err
		}
		it := item{value: value}
		if l.at < len(l.text) && l.text[l.at] == '=' && value.text != "" {
			l.at++
			it.key, it.pair = value, true
			if it.value, err = l.value(false); err != nil {
				return nil, err
			}
		} else if l.at < len(l.text) && !unicode.IsSpace(l.text[l.at]) { // "=x", or a quotation with something behind
			for l.at < len(l.text) && !unicode.IsSpace(l.text[l.at]) {
				l.at++
			}
			it.value.text = string(l.text[begin:l.at])
		}
		it.raw = span{string(l.text[begin:l.at]), rest.column + begin}
		out = append(out, it)
	}
	return out, nil
}

type lexer struct {
	text   []rune
	at     int
	column int
}

func (l *lexer) blanks() {
	for l.at < len(l.text) && unicode.IsSpace(l.text[l.at]) {
		l.at++
	}
}

// value reads a word, up to a blank or, for a key, an =; or a quotation.
func (l *lexer) value(key bool) (span, error) {
	out := span{column: l.column + l.at}
	if l.at < len(l.text) && l.text[l.at] == '"' {
		text, err := l.quotation()
		out.text = text
		return out, err
	}
	begin := l.at
	for l.at < len(l.text) && !unicode.IsSpace(l.text[l.at]) && (!key || l.text[l.at] != '=') {
		l.at++
	}
	out.text = string(l.text[begin:l.at])
	return out, nil
}

func (l *lexer) quotation() (string, error) {
	open := l.column + l.at
	var b strings.Builder
	for l.at++; l.at < len(l.text); l.at++ {
		switch r := l.text[l.at]; {
		case r == '"':
			l.at++
			return b.String(), nil
		case r == '\\' && l.at+1 < len(l.text) && (l.text[l.at+1] == '"' || l.text[l.at+1] == '\\'):
			l.at++
			b.WriteRune(l.text[l.at])
		default:
			b.WriteRune(r)
		}
	}
	return "", refuse(reasonBadLine, open, `"`, "a quotation mark is never closed")
}
