package house_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/wayfarer-rpg/wayfarer/internal/house"
)

const root = "../.."

func none(t *testing.T, problems []string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// exactly expects one problem for each wanted piece of text, in any order.
func exactly(t *testing.T, problems []string, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	left := slices.Clone(problems)
	for _, w := range want {
		i := slices.IndexFunc(left, func(p string) bool { return strings.Contains(p, w) })
		if i < 0 {
			t.Errorf("no problem names %q; problems are %q", w, problems)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		t.Errorf("unexpected: %q", left)
	}
}

func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestImportsGoOneWay(t *testing.T) {
	t.Parallel()
	problems, err := house.Imports(os.DirFS(root))
	none(t, problems, err)
}

func TestImportsFindsWhatGoesAgainstTheDirection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		file   string
		target string
		want   string // empty: allowed
	}{
		"rules may use each other":                   {"rules/digger/a.go", house.Module + "/rules/play", ""},
		"rules may use the standard library":         {"rules/digger/a.go", "encoding/json", ""},
		"rules may not use the contract":             {"rules/digger/a.go", house.Module + "/proto/wayfarer/type/v1", "standard library and each other"},
		"rules may not use internal":                 {"rules/digger/a.go", house.Module + "/internal/fault", "standard library and each other"},
		"rules may not use other modules":            {"rules/digger/a.go", "google.golang.org/grpc", "standard library and each other"},
		"rules may not use math/rand":                {"rules/digger/a.go", "math/rand/v2", "dice come from"},
		"rules may not use crypto/rand":              {"rules/digger/a.go", "crypto/rand", "dice come from"},
		"rules may not use os":                       {"rules/digger/a.go", "os", "pure"},
		"rules may not use net":                      {"rules/digger/a.go", "net/http", "pure"},
		"rules' tests may read files":                {"rules/digger/a_test.go", "os", ""},
		"rules' tests may compare with go-cmp":       {"rules/digger/a_test.go", "github.com/google/go-cmp/cmp", ""},
		"rules' tests may not use chance":            {"rules/digger/a_test.go", "math/rand/v2", "dice come from"},
		"rules' tests may not use other modules":     {"rules/digger/a_test.go", "google.golang.org/grpc", "standard library and each other"},
		"clients may use the contract":               {"clients/go-bot/a.go", house.Module + "/proto/wayfarer/type/v1", ""},
		"clients may not use internal":               {"clients/go-bot/a.go", house.Module + "/internal/fault", "the contract alone"},
		"internal may use itself":                    {"internal/serve/a.go", house.Module + "/internal/fault", ""},
		"internal may use the shared types":          {"internal/serve/a.go", house.Module + "/proto/wayfarer/type/v1", ""},
		"internal may not use a service's contract":  {"internal/serve/a.go", house.Module + "/proto/wayfarer/dice/v1", "type/v1 alone"},
		"internal's tests may use any contract":      {"internal/serve/a_test.go", house.Module + "/proto/wayfarer/dice/v1", ""},
		"internal may not use rules":                 {"internal/serve/a.go", house.Module + "/rules/play", "nothing of the game"},
		"internal's tests may not use rules either":  {"internal/serve/a_test.go", house.Module + "/rules/play", "nothing of the game"},
		"internal may not use services":              {"internal/serve/a.go", house.Module + "/services/dice", "nothing of the game"},
		"internal may not use workflows":             {"internal/serve/a.go", house.Module + "/workflows/expedition", "nothing of the game"},
		"internal may not use the gateway":           {"internal/serve/a.go", house.Module + "/gateway/rest", "nothing of the game"},
		"the contract may not use the house":         {"proto/wayfarer/dice/v1/a.go", house.Module + "/internal/fault", "knows nothing of the house"},
		"the contract may use itself":                {"proto/wayfarer/dice/v1/a.go", house.Module + "/proto/wayfarer/type/v1", ""},
		"a service may use rules":                    {"services/travel/a.go", house.Module + "/rules/diedrop", ""},
		"a service may use the adapter":              {"services/travel/a.go", house.Module + "/services/adapter", ""},
		"a service may use its own packages":         {"services/travel/a.go", house.Module + "/services/travel/inner", ""},
		"a service may not use another":              {"services/travel/a.go", house.Module + "/services/party", "meet over gRPC"},
		"the adapter may not use a service":          {"services/adapter/a.go", house.Module + "/services/party", "meet over gRPC"},
		"a service may not use the gateway":          {"services/travel/a.go", house.Module + "/gateway/rest", "below"},
		"a service may not use workflows":            {"services/travel/a.go", house.Module + "/workflows/expedition", "below"},
		"a command wires a service":                  {"services/cmd/travel/main.go", house.Module + "/services/travel", ""},
		"a workflow may not use rules":               {"workflows/expedition/a.go", house.Module + "/rules/play", "orders and waits"},
		"a workflow may not use services":            {"workflows/expedition/a.go", house.Module + "/services/party", "orders and waits"},
		"a workflow's test may start services":       {"workflows/expedition/a_test.go", house.Module + "/services/party", ""},
		"the gateway may not use services":           {"gateway/rest/a.go", house.Module + "/services/party", "contract alone"},
		"the gateway may not use rules":              {"gateway/rest/a.go", house.Module + "/rules/play", "contract alone"},
		"everything in one process wires all":        {"deploy/local/main.go", house.Module + "/services/party", ""},
		"nothing may use deploy":                     {"gateway/cmd/wayfarer/main.go", house.Module + "/deploy/local", "nothing imports deploy"},
		"nothing may use a command, tests included":  {"services/dice/a_test.go", house.Module + "/services/cmd/dice", "nothing imports a command"},
		"a folder that only begins like one is none": {"gateway/rest/a.go", house.Module + "/servicesx", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, err := house.Imports(tree(map[string]string{tt.file: "package a\n\nimport _ \"" + tt.target + "\"\n"}))
			if tt.want == "" {
				none(t, problems, err)
				return
			}
			exactly(t, problems, err, tt.want)
		})
	}
}

func TestImportsFindsAClockInRules(t *testing.T) {
	t.Parallel()
	problems, err := house.Imports(tree(map[string]string{
		"rules/a/plain.go":   "package a\n\nimport \"time\"\n\nvar t = time.Now()\n",
		"rules/a/renamed.go": "package a\n\nimport clock \"time\"\n\nfunc f() { clock.Sleep(clock.Second) }\n",
		"rules/a/hidden.go":  "package a\n\nimport . \"time\"\n",
		"rules/a/pure.go":    "package a\n\nimport \"time\"\n\nvar day = 24 * time.Hour\n",
		"internal/b/b.go":    "package b\n\nimport \"time\"\n\nvar t = time.Now()\n",
	}))
	exactly(t, problems, err, "plain.go uses time.Now", "renamed.go uses time.Sleep", "hidden.go imports")
}

func TestPackagesSayWhatTheyOwn(t *testing.T) {
	t.Parallel()
	problems, err := house.PackageComments(os.DirFS(root))
	none(t, problems, err)
}

func TestPackageCommentsFindsASilentPackage(t *testing.T) {
	t.Parallel()
	problems, err := house.PackageComments(tree(map[string]string{
		"said/doc.go":      "// Package said owns it.\npackage said\n",
		"said/more.go":     "package said\n",
		"cmd/said/main.go": "// Command said does it.\npackage main\n",
		"silent/a.go":      "package silent\n",
		"detached/a.go":    "// Package detached is cut off.\n\npackage detached\n",
		"other/a.go":       "// Here is something else.\npackage other\n",
		"cmd/no/main.go":   "package main\n",
		"made/a.pb.go":     "// Code generated by a plugin. DO NOT EDIT.\n\npackage made\n",
		"tests/a_test.go":  "package tests\n",
		"testdata/x/a.go":  "package x\n",
		".hidden/a.go":     "package hidden\n",
	}))
	exactly(t, problems, err, "silent: ", "detached: ", "other: ", "cmd/no: ")
}

func TestFilesSpeakOfTheProjectAlone(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	names = slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Lstat(root + "/" + name)
		return err != nil || !info.Mode().IsRegular() // deleted and not yet committed, or a link
	})
	problems, err := house.ForeignWords(os.DirFS(root), names)
	none(t, problems, err)
}

func TestForeignWordsFindsThem(t *testing.T) {
	t.Parallel()
	fsys := tree(map[string]string{
		"a.md":     "fine\nsee ../sha" + "red/x\n",
		"b.sh":     "cd /wo" + "rk/main\n",
		"c.env":    "GOPROXY=https://proxy.gol" + "ang.org\n",
		"fine.go":  "// the framework of workflows/ works\n",
		"data.bin": "\x00/wo" + "rk/\n",
	})
	problems, err := house.ForeignWords(fsys, []string{"a.md", "b.sh", "c.env", "fine.go", "data.bin"})
	exactly(t, problems, err, "a.md:2: ", "b.sh:1: ", "c.env:1: ")
}

func TestEveryRuleHasATest(t *testing.T) {
	t.Parallel()
	problems, err := house.RuleIDs(os.DirFS(root), house.Coverage{
		Elsewhere: map[string]string{
			"DIG-CMD": "who may send which command, and what it shows, is the adapters' matter",
		},
		Exempt: map[string]string{
			"DIG-OPEN": "lists decisions; what was decided is a rule elsewhere",
		},
	})
	none(t, problems, err)
}

func TestRuleIDsFindsGapsAndWrongCitations(t *testing.T) {
	t.Parallel()
	fsys := tree(map[string]string{
		"docs/rules/digger.md": "| id | rule |\n|---|---|\n| DIG-DP-01 | a |\n| DIG-DP-02 | b |\n| DIG-DP-03 | c |\n| DIG-DP-04 | d |\n" +
			"| DIG-DP-05 | e |\n| DIG-CMD-01 | f |\n| DIG-CMD-02 | g |\n| DIG-OPEN-01 | h |\n| POOL-ADD-01 | i |\n| DW-ACC-01 | j |\n" +
			"Text that names DIG-DP-" + "77 defines nothing.\n",
		"rules/digger/a_test.go":     "package digger\n\n// DIG-DP-01 to -03 and DIG-DP-9" + "9\n",
		"rules/digger/b.go":          "package digger\n\n// DIG-DP-05: no test\n",
		"services/party/a_test.go":   "package party\n\n// DIG-CMD-01, DIG-DP-04\n",
		"rules/dangerworld/world.go": "package dangerworld\n",
	})
	problems, err := house.RuleIDs(fsys, house.Coverage{
		Pending:   map[string]string{"POOL": "rules/dangerpool", "DW": "rules/dangerworld"},
		Elsewhere: map[string]string{"DIG-CMD": "adapters"},
		Exempt:    map[string]string{"DIG-OPEN": "decisions"},
	})
	exactly(t, problems, err,
		"rules/digger/a_test.go cites DIG-DP-9"+"9",
		"DIG-DP-04 is cited by no test under rules",
		"DIG-DP-05 is cited by no test under rules",
		"DIG-CMD-02 is cited by no test",
		"rules/dangerworld exists, so DW is pending no longer",
	)
	empty, err := house.RuleIDs(tree(nil), house.Coverage{})
	exactly(t, empty, err, "no catalogue")
}
