package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/demo"
	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// give runs the command as a shell does, with lines on its standard input.
func give(t *testing.T, input string, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	c := root()
	c.SetArgs(append([]string{"console"}, args...))
	c.SetIn(strings.NewReader(input))
	c.SetOut(&o)
	c.SetErr(&e)
	err = c.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestConsolePlaysOnAServer(t *testing.T) {
	t.Parallel()
	s, err := suite.Start(t.Context(), suite.Config{HTTP: "127.0.0.1:0", Data: t.TempDir(), Grace: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := demo.Example(t.Context(), demo.Config{URL: s.URL, Password: suite.Password, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	as := func(character string, more ...string) []string {
		return append([]string{"--server", s.URL, "--campaign", "example", "--character", character}, more...)
	}

	out, errOut, err := give(t, "", as("ada", "+dungeon/list")...)
	if err != nil || errOut != "" || !strings.HasPrefix(out, "Dungeons:\n  1  ") {
		t.Errorf("one line: %v, %q\n%s", err, errOut, out)
	}
	// The words of a line need no quotation marks.
	if out, _, err := give(t, "", as("ada", "+help", "tools/load")...); err != nil || !strings.HasPrefix(out, "+tools/load <number>\n") {
		t.Errorf("words: %v\n%s", err, out)
	}
	// A refused line does not end the rest, but the status tells.
	out, errOut, err = give(t, "# Ada looks around\n+camp\n\n+cmap\n  +tools  \nquit\n+dungeons\n", as("ada")...)
	if err == nil || !strings.Contains(err.Error(), "1 lines were refused") {
		t.Errorf("the status: %v", err)
	}
	if !strings.HasPrefix(out, "Camp, led by Bram (*)\n") || !strings.Contains(out, "\nTools of Ada, form base") || strings.Contains(out, "Dungeons:") || strings.Contains(out, "> ") {
		t.Errorf("the texts:\n%s", out)
	}
	if errOut != "column 2: there is no command +cmap; expected a command; +help lists them. Did you mean \"+camp\"?\n" {
		t.Errorf("the refusal: %q", errOut)
	}
	// One line that is refused is the command's own error.
	if _, _, err := give(t, "", as("bram", "+act force")...); err == nil || !strings.Contains(err.Error(), "the party is in no dungeon yet") {
		t.Errorf("a refusal: %v", err)
	}
	// By token, for a game master, with dice.
	token, err := s.Token("gm")
	if err != nil {
		t.Fatal(err)
	}
	out, _, err = give(t, "", "--server", s.URL+"/", "--campaign", "campaigns/example", "--token", token, "--dice", "3,4", "--json", "+roll 2d6")
	var answer struct {
		Text    string
		Command string
		Result  struct {
			Type string `json:"@type"`
			Roll struct{ Total int }
		}
	}
	if json.Unmarshal([]byte(out), &answer) != nil || err != nil || strings.Count(out, "\n") != 1 || answer.Command != "+roll" ||
		answer.Result.Type != "type.googleapis.com/wayfarer.dice.v1.RollResponse" || answer.Result.Roll.Total != 7 {
		t.Errorf("JSON: %v, %s", err, out)
	}

	for why, c := range map[string]struct {
		args []string
		want string
	}{
		"no campaign":         {[]string{"--server", s.URL, "+help"}, "--campaign"},
		"nobody":              {[]string{"--server", s.URL, "--campaign", "example", "+help"}, "--user"},
		"a wrong password":    {as("ada", "--password", "guess", "+help"), "gives ada no token"},
		"an unknown player":   {as("zed", "+help"), "gives zed no token"},
		"a bad token":         {as("ada", "--token", "guess", "+help"), "HTTP 401"},
		"no such campaign":    {[]string{"--server", s.URL, "--campaign", "nowhere", "--character", "ada", "+help"}, "does not exist"},
		"dice for no line":    {as("ada", "--dice", "3"), "for one LINE"},
		"an etag for no line": {as("ada", "--etag", "1-x"), "for one LINE"},
		"a bad address":       {[]string{"--server", "http://[", "--campaign", "example", "--token", "x", "+help"}, "--server"},
	} {
		if _, _, err := give(t, "", c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestConsoleComesAgain: a server that is away for a moment gets the same line under the same id.
func TestConsoleComesAgain(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	ids := make(chan string, 2)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ RequestID string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		ids <- body.RequestID
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"message": "this server stops"}`)
			return
		}
		_, _ = io.WriteString(w, `{"text": "done"}`)
	}))
	defer srv.Close()
	out, _, err := give(t, "", "--server", srv.URL, "--campaign", "c", "--token", "x", "+roll d6")
	if err != nil || out != "done\n" {
		t.Errorf("%v, %q", err, out)
	}
	if first, second := await.Value(t, ids, "a call"), await.Value(t, ids, "another call"); first != second || len(first) != 32 {
		t.Errorf("ids %q and %q", first, second)
	}
}
