package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Processes with Temporal are killed in the midst of commands, at moments that a seed chooses, and started again at once.
// Each command, sent again, has one effect, and the answer that somebody may have had.
func TestAKilledMachineFinishesTheCommandsOfAnExpedition(t *testing.T) {
	t.Parallel()
	const rounds = 6
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	m := &machine{
		table: &table{tb: t, ctx: ctx, campaign: "campaigns/crash-expedition", tokens: map[string]string{}}, dir: t.TempDir(), expeditions: true,
	}
	t.Cleanup(m.kill)
	rng := rand.New(rand.NewPCG(5, 17)) //nolint:gosec // chooses moments, the same in every run

	m.start()
	m.open("ada", "bram", "dov") // dov reads
	m.importDefinitions()
	for _, p := range []string{"ada", "bram"} {
		m.player(p, p)
	}
	expedition, journey := m.expedition("there", "ada", m.setOut("walkers", object{"gold": 60, "food": []int{20, 20}}, "ada", "bram"))
	steps := m.read("gm", journey).Number("seq")
	for round := range rounds {
		// Once the service's record is there, or the expedition's, or some time after the command was sent: before its
		// turn, between the two records, or after both.
		when, watched := moment(round%int(moments)), []string{journey, expedition}[rng.IntN(2)]
		delay := time.Duration(0)
		if when == afterSent {
			delay = time.Duration(1+rng.IntN(80)) * time.Millisecond
		}
		seq, watchedSeq := m.read("gm", expedition).Number("seq"), m.read("gm", watched).Number("seq")
		req := object{
			"name": expedition, "requestId": fmt.Sprintf("step-%d", round),
			"move": object{"character": m.character("bram"), "to": object{"q": 1 - m.read("gm", journey).Number("hex.q"), "r": 0}},
		}
		first, watcher := m.strike(when, delay, "bram", expeditions+"Execute", req, watched, watchedSeq)
		m.start()
		answer := m.repeat("bram", expeditions+"Execute", req)
		if first.err == nil && !reflect.DeepEqual(first.answer, answer) {
			t.Fatalf("%s: the answer was\n%v\nand is, after the crash,\n%v", when, first.answer, answer)
		}
		if watcher != nil {
			if watcher.err != nil {
				t.Fatalf("watch %s: %v", watched, watcher.err)
			}
			got := answer.Get("record")
			if watched == journey {
				got = answer.Get("move.record")
			}
			if want := watcher.answer["record"]; !reflect.DeepEqual(got, want) {
				t.Fatalf("a watcher saw\n%v\nand the answer after the crash says\n%v", want, got)
			}
		}
		if again := m.repeat("bram", expeditions+"Execute", req); !reflect.DeepEqual(again, answer) {
			t.Fatalf("the answer to the repetition was\n%v\nand is\n%v", answer, again)
		}
		steps++
		if got := m.read("gm", journey).Number("seq"); got != steps || answer.Number("move.record.seq") != steps {
			t.Fatalf("the journey is at %d after %d commands, and the answer says %d", got, steps, answer.Number("move.record.seq"))
		}
		if got := m.read("gm", expedition).Number("seq"); got != seq+1 || answer.Number("record.seq") != seq+1 {
			t.Fatalf("the expedition went from %d to %d, and the answer says %d", seq, got, answer.Number("record.seq"))
		}
	}
	m.repeat("bram", expeditions+"Execute", object{"name": expedition, "requestId": "home", "endJourney": object{"character": m.character("bram")}})
	if phase := m.read("gm", expedition).Text("phase"); phase != "PHASE_CONCLUDED" {
		t.Errorf("the expedition is %s", phase)
	}
	m.verified(journey)
	m.logged(expedition, journey)
}

// logged checks that an expedition's log holds every record of an aggregate, once and in order.
func (m *machine) logged(expedition, aggregate string) {
	m.tb.Helper()
	all := func(object) bool { return false }
	own, err := m.via.watch(m.ctx, m.tokens["gm"], watchers[kindOf(aggregate)], object{"name": aggregate}, all)
	if err != nil {
		m.tb.Fatal(err)
	}
	log, err := m.via.watch(m.ctx, m.tokens["gm"], watchers["expeditions"], object{"name": expedition}, all)
	if err != nil {
		m.tb.Fatal(err)
	}
	n := 0
	for _, rec := range log {
		for _, e := range rec.List("events") {
			if e.Text("logged.aggregate") != aggregate {
				continue
			}
			if n >= len(own) || !reflect.DeepEqual(e.Get("logged.record"), own[n]["record"]) {
				m.tb.Fatalf("record %d of %s is logged as %v", n+1, aggregate, e.Get("logged.record"))
			}
			n++
		}
	}
	if n != len(own) {
		m.tb.Errorf("%d of the %d records of %s are logged", n, len(own), aggregate)
	}
}

func TestADirectoryBelongsToOneMachine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	m := &machine{table: &table{tb: t, ctx: ctx, tokens: map[string]string{}}, dir: t.TempDir(), expeditions: true}
	t.Cleanup(m.kill)
	m.start()
	second := m.command()
	var said bytes.Buffer
	second.Stdout, second.Stderr = &said, &said
	err := second.Run()
	if err == nil || !strings.Contains(said.String(), fmt.Sprintf("process %d serves from %s already", m.cmd.Process.Pid, m.dir)) {
		t.Errorf("a second one ended with %v and said %q", err, said.String())
	}
	// Killed and started again at once: the old Temporal is in nobody's way.
	owner := m.temporalOwner()
	for range 2 {
		m.kill()
		m.start()
		if now := m.temporalOwner(); now == owner {
			t.Errorf("the Temporal of process %s serves on", now)
		} else {
			owner = now
		}
	}
	// An orphan lets go by itself.
	m.kill()
	f, err := os.OpenFile(filepath.Join(m.dir, "temporal.db.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || ctx.Err() != nil {
			t.Fatalf("Temporal goes on without its parent: %v", err)
		}
	}
}

// temporalOwner is the id of the process that holds Temporal's file.
func (m *machine) temporalOwner() string {
	m.tb.Helper()
	raw, err := os.ReadFile(filepath.Join(m.dir, "temporal.db.lock"))
	if err != nil {
		m.tb.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}
