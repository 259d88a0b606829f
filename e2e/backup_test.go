package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
)

// script runs deploy/backup.sh on a data directory and returns its standard output.
func script(t *testing.T, wayfarer, data string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "../deploy/backup.sh", args...)
	cmd.Env = append(os.Environ(), "WAYFARER="+wayfarer, "WAYFARER_DATA_DIR="+data, "STORE=sqlite")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, errOut.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func buildWayfarer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wayfarer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", path, "../gateway/cmd/wayfarer").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// An expedition is backed up in the midst of its moves, its machine is lost with all it had, Temporal included, and the
// backup is played on.
func TestABackupIsRestoredAndPlayedOn(t *testing.T) {
	t.Parallel()
	wayfarer := buildWayfarer(t)
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	m := &machine{
		table: &table{tb: t, ctx: ctx, campaign: "campaigns/backup", tokens: map[string]string{}}, dir: t.TempDir(), expeditions: true,
	}
	t.Cleanup(m.kill)
	m.start()
	m.open("ada", "bram", "dov")
	m.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		m.player(p, p)
	}
	expedition, journey := m.expedition("there", "ada", m.setOut("walkers", object{"gold": 60, "food": []int{20, 20}}, "ada", "bram"))
	move := func(n int) object {
		return object{
			"name": expedition, "requestId": fmt.Sprintf("move-%d", n),
			"move": object{"character": m.character("bram"), "to": object{"q": (n + 1) % 2, "r": 0}},
		}
	}
	before := m.do("bram", expeditions+"Execute", move(0))

	// Moves go on while the backup is taken.
	stop, stopped := make(chan struct{}), make(chan error, 1)
	moving := make(chan struct{})
	go func() {
		via := m.via
		for n := 1; ; n++ {
			_, err := m.steady(via, "bram", expeditions+"Execute", move(n))
			var refused *failure
			if errors.As(err, &refused) && refused.code == codes.FailedPrecondition { // they are out of food, or the like
				err = nil
			}
			if n == 1 {
				close(moving)
			}
			select {
			case <-stop:
				stopped <- err
				return
			default:
			}
			if err != nil {
				stopped <- err
				return
			}
		}
	}()
	await.Value(t, moving, "the first move")
	backups := t.TempDir()
	backup, err := script(t, wayfarer, m.dir, "backup", backups)
	close(stop)
	if err := errors.Join(err, await.Value(t, stopped, "the last move")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the backup: %v, %v", info, err)
	}
	if said, err := script(t, wayfarer, m.dir, "rehearse", backup); err != nil || !strings.Contains(said, "records, each as in the backup") {
		t.Errorf("rehearsal: %v\n%s", err, said)
	}
	if _, err := script(t, wayfarer, m.dir, "restore", backup); err == nil || !strings.Contains(err.Error(), "serves from") {
		t.Errorf("restored over a machine that serves: %v", err)
	}
	entries := func() []object {
		log, err := m.via.watch(ctx, m.tokens["gm"], watchers["journeys"], object{"name": journey}, func(o object) bool {
			return o.Number("record.seq") == m.read("gm", journey).Number("seq")
		})
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	lived := entries()
	m.kill()

	m.dir = filepath.Join(t.TempDir(), "restored")
	if _, err := script(t, wayfarer, m.dir, "restore", backup); err != nil {
		t.Fatal(err)
	}
	m.start()
	// All that was known then is there, and a prefix of what came to be.
	restored := entries()
	if len(restored) < 3 || len(restored) > len(lived) || !reflect.DeepEqual(restored, lived[:len(restored)]) {
		t.Errorf("%d of %d records were restored, or others", len(restored), len(lived))
	}
	if again := m.repeat("bram", expeditions+"Execute", move(0)); !reflect.DeepEqual(again, before) {
		t.Errorf("the answer to the first move was\n%v\nand is\n%v", before, again)
	}
	// A workflow begins again from the journal with the next command.
	at := m.read("gm", journey)
	onward := object{"name": expedition, "requestId": "onward", "move": object{"character": m.character("bram"), "to": object{"q": 1 - at.Number("hex.q"), "r": 0}}}
	answer := m.repeat("bram", expeditions+"Execute", onward)
	if got := answer.Number("move.record.seq"); got != at.Number("seq")+1 {
		t.Errorf("the move after the restore is record %d of the journey, which was at %d", got, at.Number("seq"))
	}
	m.repeat("bram", expeditions+"Execute", object{"name": expedition, "requestId": "home", "endJourney": object{"character": m.character("bram")}})
	if phase := m.read("gm", expedition).Text("phase"); phase != "PHASE_CONCLUDED" {
		t.Errorf("the expedition is %s", phase)
	}
	if m.verified(journey) == 0 {
		t.Error("no faces were rolled")
	}
	m.logged(expedition, journey)

	if _, err := script(t, wayfarer, m.dir, "backup", backups); err != nil {
		t.Errorf("a backup of what was restored and played on: %v", err)
	}
}

// Whoever keeps backups says how many.
func TestOldBackupsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// In place of the program: it writes what it is told to.
	fake := filepath.Join(t.TempDir(), "wayfarer")
	if err := os.WriteFile(fake, []byte("#!/usr/bin/env bash\nif [[ $2 == export ]]; then echo x > \"$4\"; fi\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, old := range []string{"wayfarer-20250101T000000Z.ndjson.gz", "wayfarer-20260101T000000Z.ndjson.gz", "other.gz"} {
		if err := os.WriteFile(filepath.Join(dir, old), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(n string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "../deploy/backup.sh", "backup", dir)
		cmd.Env = append(os.Environ(), "WAYFARER="+fake, "KEEP="+n)
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if said, err := keep("none"); err == nil || !strings.Contains(said, "KEEP: 'none' is not a number above 0") {
		t.Errorf("a bad number: %v, %s", err, said)
	}
	made, err := filepath.Glob(filepath.Join(dir, "wayfarer-*"))
	if err != nil || len(made) != 3 {
		t.Fatalf("after a bad number: %v, %v", made, err)
	}
	if err := os.Remove(made[2]); err != nil {
		t.Fatal(err)
	}
	last, err := keep("2")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	list, err := os.ReadDir(dir)
	for _, e := range list {
		left = append(left, e.Name())
	}
	if want := []string{"other.gz", "wayfarer-20260101T000000Z.ndjson.gz", filepath.Base(last)}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v, %v, want %v", left, err, want)
	}
}
