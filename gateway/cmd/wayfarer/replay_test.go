package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// replayed runs the command as a shell would.
func replayed(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := root()
	c.SetArgs(append([]string{"replay"}, args...))
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	c.SetErr(&errs)
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// transcripts is where the files of the systems are.
var transcripts = map[string]string{
	"danger-pool":  "../../../rules/dangerpool/testdata/transcripts.json",
	"danger-world": "../../../rules/dangerworld/testdata/transcripts.json",
	"die-drop":     "../../../rules/diedrop/testdata/transcripts.json",
	"digger":       "../../../rules/digger/testdata/transcripts.json",
}

func TestReplayLocally(t *testing.T) {
	t.Parallel()
	for system, file := range transcripts {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			out, errs, err := replayed(t, "", "--system", system, "--file", file, "--check")
			if err != nil || !strings.Contains(errs, "all as expected") {
				t.Fatalf("%v, %s", err, errs)
			}
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := canonical(t, out), canonical(t, string(whole)); system != "die-drop" && got != want {
				t.Errorf("printed\n%s\nwant\n%s", got, want) // the texts of Die Drop's rolls are free
			}
			// What is printed is a file of the format.
			name := filepath.Join(t.TempDir(), "printed.json")
			out = strings.Replace(out, `"../map.json"`, `"die-drop-map.json"`, 1)
			if err := os.WriteFile(name, []byte(out), 0o600); err != nil {
				t.Fatal(err)
			}
			again, _, err := replayed(t, "", "--system", system, "--file", name, "--check", "--local")
			if err != nil || again != out {
				t.Errorf("played again: %v\n%s", err, again)
			}
		})
	}
}

func canonical(t *testing.T, document string) string {
	t.Helper()
	raw, err := transcript.Canonical([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestReplayTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(transcripts["digger"])
	if err != nil {
		t.Fatal(err)
	}
	whole := string(raw)
	edited := func(old, changed string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%s is not in the file", old)
		}
		return strings.Replace(whole, old, changed, 1)
	}
	check := []string{"--system", "digger", "--file", "-", "--check"}
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		want  string // of the error; "" for none
	}{
		"nothing":                           {whole, check, ""},
		"another value is expected":         {edited(`"exploration": 28`, `"exploration": 30`), check, "-: transcript ex1-stacking step 2: exploration: got 28, want 30"},
		"that is not asked for":             {edited(`"exploration": 28`, `"exploration": 30`), check[:4], ""},
		"an unknown field":                  {edited(`"drawer": "Asa"`, `"drawer": "Asa", "mood": 3`), check[:4], `transcripts[0].rounds[0]: there is no field "mood"`},
		"a face that the die does not have": {edited(`"d10": 8`, `"d10": 12`), check[:4], "transcript ex1-stacking step 1: BAD_DICE"},
		"another face":                      {edited(`"d10": 8`, `"d10": 2`), check, "transcript ex1-stacking step 1: "},
		"no transcript":                     {`{}{}`, check, "after the end of the document"},
		"another system's file":             {whole, []string{"--system", "danger-world", "--file", "-"}, "there is no field"},
		"an unknown system":                 {whole, []string{"--system", "gunslinger", "--file", "-"}, `there is no rule system "gunslinger", only [danger-pool danger-world die-drop digger]`},
		"no such file":                      {"", []string{"--system", "digger", "--file", "nowhere.json"}, "nowhere.json"},
		"no system":                         {"", []string{"--file", "-"}, `required flag(s) "system" not set`},
		"both ways at once":                 {whole, append([]string{"--local", "--server", "http://localhost:1"}, check...), "[local server] were all set"},
		"nobody at the server":              {whole, append([]string{"--server", "http://127.0.0.1:1"}, check...), "127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := replayed(t, tc.stdin, tc.args...)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// Through a server as a user of its development issuer, and with a token.
func TestReplayOnAServer(t *testing.T) {
	t.Parallel()
	s, err := suite.Start(t.Context(), suite.Config{
		HTTP: "127.0.0.1:0", Data: t.TempDir(), Grace: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	args := []string{"--system", "digger", "--file", transcripts["digger"], "--check", "--server", s.URL + "/"}
	out, errs, err := replayed(t, "", append(args, "--user", "ada", "--password", suite.Password)...)
	if err != nil || !strings.Contains(errs, "6 transcripts, 26 steps, all as expected") || !strings.Contains(out, `"expected"`) {
		t.Errorf("as ada: %v, %s", err, errs)
	}
	token, err := developmentToken(t.Context(), s.URL, "gm", suite.Password)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, err = replayed(t, "", append(args, "--token", token)...); err != nil {
		t.Errorf("with a token: %v, %s", err, errs)
	}
	if _, _, err = replayed(t, "", append(args, "--user", "ada", "--password", "wrong")...); err == nil || !strings.Contains(err.Error(), "gives ada no token") {
		t.Errorf("with a wrong password: %v", err)
	}
	_, _, err = replayed(t, "", append(args, "--token", "nonsense")...)
	if err == nil || !strings.Contains(err.Error(), "transcript ex1-stacking: TOKEN_INVALID") {
		t.Errorf("with a wrong token: %v", err)
	}
}
