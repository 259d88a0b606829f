package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wayfarer-rpg/wayfarer/demo"
	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
	"github.com/wayfarer-rpg/wayfarer/internal/dirlock"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest/ferret"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
)

// operator gives admin commands about stores.
type operator struct {
	t   *testing.T
	env map[string]string
}

func onDirectory(t *testing.T, dir string) operator {
	return operator{t, map[string]string{"WAYFARER_DATA_DIR": dir}}
}

func (o operator) admin(args ...string) (string, error) {
	o.t.Helper()
	if !slices.Contains(args, "--service") { // the suites here have no Temporal, and so no expeditions
		args = append(slices.Clone(args), "--service", "dice,party,dungeon,travel")
	}
	var out bytes.Buffer
	c := adminCommandIn(func(name string) string { return o.env[name] })
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(o.t.Context())
	return out.String(), err
}

func (o operator) must(args ...string) string {
	o.t.Helper()
	out, err := o.admin(args...)
	if err != nil {
		o.t.Fatalf("admin %q: %v\n%s", args, err, out)
	}
	return out
}

// table is a suite on a directory, at which dice are rolled.
type gaming struct {
	t   *testing.T
	s   *suite.Suite
	dir string
}

func game(t *testing.T, dir string, cfg suite.Config) *gaming {
	t.Helper()
	cfg.HTTP, cfg.Data, cfg.Grace, cfg.Logger = "127.0.0.1:0", dir, time.Second, slog.New(slog.DiscardHandler)
	s, err := suite.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := &gaming{t: t, s: s, dir: dir}
	t.Cleanup(g.end)
	return g
}

func (g *gaming) end() {
	if g.s == nil {
		return
	}
	if err := g.s.Close(); err != nil {
		g.t.Error(err)
	}
	g.s = nil
}

// call sends a request as somebody and returns the answer as it came.
func (g *gaming) call(user, method, path, body string) string {
	g.t.Helper()
	token, err := g.s.Token(user)
	if err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.s.URL+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		g.t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, raw, err)
	}
	return string(raw)
}

func field(t *testing.T, text, name string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	s, _ := m[name].(string)
	if s == "" {
		t.Fatalf("no %s in %s", name, text)
	}
	return s
}

// play plays what fills every journal but the expeditions': the example campaign, rolls of all sorts, a rotated log, and a
// run whose cards are drawn from a stream.
func (g *gaming) play() {
	g.t.Helper()
	if err := demo.Example(g.t.Context(), demo.Config{URL: g.s.URL, Password: suite.Password, Out: io.Discard}); err != nil {
		g.t.Fatal(err)
	}
	for i, roll := range []string{`"notation":"4d6kh3"`, `"notation":"10d10!"`} {
		g.call("ada", "POST", "/v1/campaigns/example/rolls", fmt.Sprintf(`{%s,"purpose":"arms","requestId":"roll-%d"}`, roll, i))
	}
	g.call("gm", "POST", "/v1/campaigns/example/rolls", `{"notation":"2d6","requestId":"reported","reportedDice":[3,4]}`)
	log := g.call("ada", "GET", "/v1/campaigns/example/rollLogs/me", "")
	stream := field(g.t, log, "stream")
	g.call("ada", "POST", "/v1/campaigns/example/rollLogs/me:rotate", `{"requestId":"rotate"}`)
	g.call("ada", "POST", "/v1/campaigns/example/rolls", `{"notation":"d7","requestId":"after"}`)
	second := field(g.t, g.call("ada", "GET", "/v1/campaigns/example/rollLogs/me", ""), "stream")
	if second == stream {
		g.t.Fatal("the log was not rotated")
	}
	g.call("gm", "POST", "/v1/campaigns", `{"campaignId":"other","title":"Another","requestId":"other"}`)
	g.call("gm", "POST", "/v1/campaigns/other/rolls", `{"notation":"d20","requestId":"other"}`)
}

// resealed writes the last line of an export anew, as somebody does who changes it on purpose.
func resealed(t *testing.T, text string) string {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	body := strings.Join(lines[:len(lines)-1], "")
	sum := sha256.Sum256([]byte(body))
	return body + regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(lines[len(lines)-1], hex.EncodeToString(sum[:])) + "\n"
}

func contains(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in\n%s", what, w, text)
		}
	}
}

func TestJournalsAreExportedWhileTheyArePlayedAndImportedElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := game(t, dir, suite.Config{})
	g.play()
	served := onDirectory(t, dir)

	out := filepath.Join(t.TempDir(), "all.ndjson")
	contains(t, "export", served.must("export", "--out", out), "service", "faces derived", "dungeon")
	info, err := os.Stat(out)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if _, err := served.admin("export", "--out", out); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("over a file: %v", err)
	}
	contains(t, "verify", served.must("verify"), "party")
	contains(t, "verify the file", served.must("verify", out), "party")
	if _, err := served.admin("import", out); err == nil || !strings.Contains(err.Error(), "serves from "+dir+" already") {
		t.Errorf("into a directory that is served from: %v", err)
	}
	contains(t, "rebuild heads beside the programs", served.must("rebuild-heads"), "right")

	// Compressed, of one campaign.
	one := filepath.Join(t.TempDir(), "one.ndjson.gz")
	served.must("export", "--campaign", "example", "--out", one)
	raw, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil || !strings.Contains(string(text), "campaigns/example/") || strings.Contains(string(text), "campaigns/other") {
		t.Errorf("one campaign: %v", err)
	}
	elsewhere := onDirectory(t, filepath.Join(t.TempDir(), "new"))
	contains(t, "import", elsewhere.must("import", one), "new records")
	if again := elsewhere.must("import", one); !regexp.MustCompile(`dice +0 +[1-9]`).MatchString(again) {
		t.Errorf("imported again:\n%s", again)
	}
	elsewhere.must("import", out) // the other campaign comes on top
	contains(t, "verify elsewhere", elsewhere.must("verify"), "party")
	twin := filepath.Join(t.TempDir(), "twin.ndjson")
	elsewhere.must("export", "--out", twin)
	if a, b := lines(t, out), lines(t, twin); !slices.Equal(a, b) {
		t.Errorf("%d records were exported, %d came back, or others", len(a), len(b))
	}

	// It is played on there.
	there := game(t, elsewhere.env["WAYFARER_DATA_DIR"], suite.Config{})
	roll := there.call("ada", "POST", "/v1/campaigns/example/rolls", `{"notation":"4d6kh3","purpose":"arms","requestId":"roll-0"}`)
	if first := g.call("ada", "POST", "/v1/campaigns/example/rolls", `{"notation":"4d6kh3","purpose":"arms","requestId":"roll-0"}`); roll != first {
		t.Errorf("a repeated request is answered by\n%s\nand was by\n%s", roll, first)
	}
	there.call("ada", "POST", "/v1/campaigns/example/rolls", `{"notation":"4d6kh3","requestId":"new"}`)
	there.end()
	elsewhere.must("verify")
	elsewhere.must("import", out) // grown meanwhile, not different
	g.call("ada", "POST", "/v1/campaigns/example/rolls", `{"notation":"1d20","requestId":"here"}`)
	later := filepath.Join(t.TempDir(), "later.ndjson")
	served.must("export", "--out", later)
	if said, err := elsewhere.admin("import", later); err == nil || !strings.Contains(err.Error(), "1 streams are there already and differ: nothing was imported") || !strings.Contains(said, "is another one in the store") {
		t.Errorf("what went another way: %v\n%s", err, said)
	}
}

// lines are the records of an export in an order of their own.
func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(raw)), "\n")
	all = all[1 : len(all)-1]
	slices.Sort(all)
	return all
}

func TestAdminCommandsNameWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := game(t, dir, suite.Config{})
	g.play()
	g.end()
	op := onDirectory(t, dir)
	out := filepath.Join(t.TempDir(), "all.ndjson")
	op.must("export", "--out", out)
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	face := regexp.MustCompile(`"purpose":"roll","sides":7,"face":(\d)`).FindStringSubmatch(text)
	if face == nil {
		t.Fatal("no d7 in the export")
	}
	forged := file(t, "forged.ndjson", resealed(t, strings.Replace(text, face[0], strings.TrimSuffix(face[0], face[1])+fmt.Sprint(1+int(face[1][0]-'0')%7), 1)))
	cut := file(t, "cut.ndjson", text[:len(text)/2])
	changed := file(t, "changed.ndjson", strings.Replace(text, `"purpose":"arms"`, `"purpose":"legs"`, 1))
	future := file(t, "future.ndjson", strings.Replace(text, `{"wayfarer_journal":1`, `{"wayfarer_journal":2`, 1))
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no campaign":             {[]string{"export", "--campaign", "nowhere"}, "there is no campaign campaigns/nowhere"},
		"a name that is none":     {[]string{"export", "--campaign", "campaigns/a/runs/b"}, "names no campaign"},
		"an unknown service":      {[]string{"verify", "--service", "bank"}, `there is no service "bank"`},
		"a file that is cut off":  {[]string{"import", cut}, "the file is cut off within a line: nothing was imported"},
		"a changed file":          {[]string{"import", changed}, "the checksum is not that of the file"},
		"a forged face":           {[]string{"import", forged}, "1 problems: nothing was imported"},
		"a forged face, verified": {[]string{"verify", forged}, "1 problems"},
		"a later format":          {[]string{"verify", future}, "the format has version 2, this program reads 1"},
		"no export":               {[]string{"verify", "admin_test.go"}, "this is no export of journals"},
		"no file":                 {[]string{"import", "nowhere"}, "nowhere"},
		"left out services":       {[]string{"import", out, "--service", "dice"}, "holds journals of party, which are not among the services"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			empty := onDirectory(t, filepath.Join(t.TempDir(), "new"))
			who := op
			if tc.args[0] == "import" {
				who = empty
			}
			who.t = t
			if said, err := who.admin(tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s\n%s", err, tc.want, said)
			}
			if _, err := os.Stat(empty.env["WAYFARER_DATA_DIR"]); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("something was made: %v", err)
			}
		})
	}
	for name, args := range map[string][]string{"export": {"export"}, "verify": {"verify"}, "rebuild": {"rebuild-heads"}} {
		nobody := onDirectory(t, t.TempDir())
		if _, err := nobody.admin(args...); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s of a directory without journals: %v", name, err)
		}
		if left, err := os.ReadDir(nobody.env["WAYFARER_DATA_DIR"]); err != nil || len(left) > 0 {
			t.Errorf("%s made %v", name, left)
		}
	}
	if _, err := (operator{t, map[string]string{"STORE": "mongodb"}}).admin("verify"); err == nil || !strings.Contains(err.Error(), "MONGODB_URI: is needed") {
		t.Errorf("bad settings: %v", err)
	}
}

// What a disk or a hand did to a store is found.
func TestVerifyFindsWhatHappenedToAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := game(t, dir, suite.Config{})
	g.play()
	g.end()
	op := onDirectory(t, dir)
	op.must("verify")
	unlock, err := dirlock.Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	op.must("verify") // it reads beside whoever has the directory
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "dice.db"))
	if err != nil {
		t.Fatal(err)
	}
	gap := journal.Record{Stream: "campaigns/example/rollLogs/x", Seq: 1, Campaign: "campaigns/example", Kind: "rollLog", RequestID: "a", Events: []json.RawMessage{json.RawMessage(`{"begun":{}}`)}, Time: time.Now()}
	late := gap
	late.Seq, late.RequestID, late.Events = 3, "b", []json.RawMessage{json.RawMessage(`{"conjured":{}}`)}
	if err := errors.Join(s.Insert(t.Context(), gap), s.Insert(t.Context(), late), s.Close()); err != nil {
		t.Fatal(err)
	}
	said, err := op.admin("verify")
	if err == nil || err.Error() != "1 problems" || !strings.Contains(said, "record 2 of campaigns/example/rollLogs/x: is missing: record 3 is in its place") {
		t.Errorf("a gap: %v\n%s", err, said)
	}
	// It is exported nevertheless, and told.
	out := filepath.Join(t.TempDir(), "all.ndjson")
	if said, err := op.admin("export", "--out", out); err == nil || !strings.Contains(said, "is missing") {
		t.Errorf("its export: %v\n%s", err, said)
	}
	if _, err := os.Stat(out); err != nil {
		t.Error(err)
	}
}

func TestJournalsMoveToMongoDB(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := game(t, dir, suite.Config{})
	g.play()
	g.end()
	out := filepath.Join(t.TempDir(), "all.ndjson")
	onDirectory(t, dir).must("export", "--out", out)

	uri, prefix := ferret.URI(t), ferret.Database()
	for _, s := range journals() {
		t.Cleanup(func() {
			if db, err := mongo.Open(context.Background(), uri, prefix+"_"+s.Name); err == nil {
				_ = errors.Join(db.Drop(context.Background()), db.Close())
			}
		})
	}
	op := operator{t, map[string]string{"STORE": "mongodb", "MONGODB_URI": uri, "WAYFARER_MONGODB_PREFIX": prefix}}
	op.must("import", out)
	op.must("verify")
	back := filepath.Join(t.TempDir(), "back.ndjson")
	there := game(t, t.TempDir(), suite.Config{MongoURI: uri, MongoPrefix: prefix})
	op.must("export", "--out", back) // beside programs that nobody uses just now
	if a, b := lines(t, out), lines(t, back); !slices.Equal(a, b) {
		t.Errorf("%d records were exported from SQLite, %d from MongoDB, or others", len(a), len(b))
	}
	there.call("ada", "POST", "/v1/campaigns/example/rolls", `{"notation":"4d6kh3","requestId":"new"}`)
	contains(t, "heads", op.must("rebuild-heads"), "right")
	op.must("verify")
}

func TestDiceAreVerifiedOffline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := game(t, dir, suite.Config{})
	g.play()
	log := g.call("ada", "GET", "/v1/campaigns/example/rollLogs/me", "")
	var past struct {
		PastStreams []string `json:"pastStreams"`
	}
	if err := json.Unmarshal([]byte(log), &past); err != nil || len(past.PastStreams) != 1 {
		t.Fatalf("the log: %v, %s", err, log)
	}
	stream := g.call("ada", "GET", "/v1/"+past.PastStreams[0], "")
	hidden := g.call("ada", "GET", "/v1/"+field(t, log, "stream"), "")
	rolls := g.call("ada", "GET", "/v1/campaigns/example/rollLogs/me/rolls", "")
	out := filepath.Join(t.TempDir(), "all.ndjson")
	onDirectory(t, dir).must("export", "--out", out)
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	export := string(raw)
	changed := func(text, pattern string, by func([]string) string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in %s", pattern, text)
		}
		return strings.Replace(text, m[0], by(m), 1)
	}
	otherFace := func(m []string) string {
		return strings.TrimSuffix(m[0], m[1]) + fmt.Sprint(1+int(m[1][0]-'0')%6)
	}
	d6, d6spaced := `"purpose":"arms","sides":6,"face":(\d)`, `"sides": *6, *"face": *(\d)`
	first := regexp.MustCompile(`"begun":\{"seed":"(.)`)
	seedOf := func(text string) string { // another seed in every stream
		return first.ReplaceAllStringFunc(text, func(m string) string {
			if strings.HasSuffix(m, "A") {
				return m[:len(m)-1] + "B"
			}
			return m[:len(m)-1] + "A"
		})
	}
	zeros := strings.Repeat("A", 43) + "="
	rolled := file(t, "rolls.json", rolls)
	for name, tc := range map[string]struct {
		args []string
		want string // of the error; "" for none
		says string
	}{
		"an export":                  {[]string{out}, "", "faces of"},
		"an export, quiet":           {[]string{"--quiet", out}, "", "not revealed yet"},
		"the rolls of a player":      {[]string{"--stream", file(t, "s.json", stream), rolled}, "", "for arms: right"},
		"with the commitment noted":  {[]string{"--stream", file(t, "s.json", stream), "--commitment", field(t, stream, "commitment"), rolled}, "", "revealed"},
		"another commitment noted":   {[]string{"--stream", file(t, "s.json", stream), "--commitment", zeros, rolled}, "commitment: is not the SHA-256 of the seed", "WRONG"},
		"a stream of another seed":   {[]string{"--stream", file(t, "s.json", strings.Replace(stream, field(t, stream, "seed"), zeros, 1)), rolled}, "commitment: is not the SHA-256", ""},
		"another client seed":        {[]string{"--stream", file(t, "s.json", strings.Replace(stream, `"seed"`, `"clientSeed":"mine","seed"`, 1)), rolled}, "the stream gives", "WRONG"},
		"a stream not revealed":      {[]string{"--stream", file(t, "s.json", hidden), rolled}, "has no seed: it is not revealed yet", ""},
		"a face told otherwise":      {[]string{"--stream", file(t, "s.json", stream), file(t, "r.json", changed(rolls, d6spaced, otherFace))}, "record 2: die 1 of 6 sides shows", "WRONG, the stream gives"},
		"a number told otherwise":    {[]string{"--stream", file(t, "s.json", stream), file(t, "r.json", changed(rolls, `"seq": *3`, func([]string) string { return `"seq":9` }))}, "record 9: die", "WRONG"},
		"rolls of somebody else":     {[]string{"--stream", file(t, "s.json", strings.Replace(stream, past.PastStreams[0], "campaigns/example/streams/x", 1)), rolled}, "nothing was rolled with campaigns/example/streams/x", ""},
		"no records":                 {[]string{"--stream", file(t, "s.json", stream), file(t, "r.json", `{}`)}, "holds no records", ""},
		"an exported face":           {[]string{file(t, "e.ndjson", resealed(t, changed(export, d6, otherFace)))}, "die 1 of 6 sides shows", "WRONG, the stream gives"},
		"exported seeds":             {[]string{file(t, "e.ndjson", resealed(t, seedOf(export)))}, "die 1 of", "WRONG"},
		"an exported record's place": {[]string{file(t, "e.ndjson", resealed(t, changed(export, `"kind":"rollLog"(.*?)"dice_stream":"`, func(m []string) string { return m[0] + "x" })))}, "which is not in the file", ""},
		"an export that was changed": {[]string{file(t, "e.ndjson", strings.Replace(export, `"purpose":"arms"`, `"purpose":"legs"`, 1))}, "the checksum is not that of the file", ""},
		"an export that was cut off": {[]string{file(t, "e.ndjson", export[:len(export)-9])}, "cut off", ""},
		"no JSON":                    {[]string{file(t, "e.json", "hello")}, "invalid character", ""},
		"a misspelt name":            {[]string{file(t, "e.json", `{"seed": "`+zeros+`", "rolls": []}`)}, `unknown field "rolls"`, ""},
		"no draws":                   {[]string{file(t, "e.json", `{"seed": "`+zeros+`", "draws": []}`)}, "has no dice of the stream", ""},
		"dice by hand only": {
			[]string{file(t, "e.json", `{"seed": "`+zeros+`", "draws": [{"index": 1, "dice": [{"sides": 6, "face": 1, "reported": true}]}]}`)},
			"has no dice of the stream", "",
		},
		"two objects": {[]string{file(t, "e.json", `{"seed": "`+zeros+`", "draws": []} {}`)}, "something follows", ""},
		// The first of the vectors in docs/dice.md has an empty client seed, the third "the table's own words".
		"a client seed as the API takes it too": {
			[]string{file(t, "e.json", `{"seed": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "client_seed": "the table's own words",
				"draws": [{"index": 1, "dice": [{"sides": 4, "face": 4}, {"sides": 6, "face": 6}, {"sides": 8, "face": 2}, {"sides": 10, "face": 5}]}]}`)}, "", "right",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said, err := wayfarer(t, append([]string{"dice", "verify"}, tc.args...)...)
			if tc.want == "" && (err != nil || !strings.Contains(said, "are right")) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) || !strings.Contains(said, tc.says) {
				t.Errorf("got %v, want %q\n%s", err, tc.want, said)
			}
		})
	}
	t.Run("by a stranger's program", func(t *testing.T) {
		t.Parallel()
		node, err := exec.LookPath("node")
		if err != nil {
			t.Skip("node is not installed: docs/verify.mjs is not run")
		}
		run := func(path string) (string, error) {
			said, err := exec.CommandContext(t.Context(), node, "../../../docs/verify.mjs", path).CombinedOutput()
			return string(said), err
		}
		ours, err := wayfarer(t, "dice", "verify", "--quiet", out)
		if err != nil {
			t.Fatal(err)
		}
		n := regexp.MustCompile(`(\d+) faces of`).FindStringSubmatch(ours)[1]
		if said, err := run(out); err != nil || strings.TrimSpace(said) != n+" faces are right" || n == "0" {
			t.Errorf("a real export: %v, %s, ours %s", err, said, n)
		}
		for name, text := range map[string]string{"nothing": "[]", "no draws": `{"seed": "", "draws": []}`, "a die of less than one side": `{"seed": "` + zeros + `",
			"draws": [{"index": 1, "dice": [{"sides": -6, "face": 1}]}]}`} {
			if said, err := run(file(t, "d.json", text)); err == nil {
				t.Errorf("%s: %s", name, said)
			}
		}
		for name, text := range map[string]string{"a face": changed(export, d6, otherFace), "seeds": seedOf(export)} {
			if said, err := run(file(t, "e.ndjson", resealed(t, text))); err == nil || !strings.Contains(said, "it says") {
				t.Errorf("%s changed: %v, %s", name, err, said)
			}
		}
	})
}
