package expedition

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// Every command of the contract in every phase.
func TestPhasesAllow(t *testing.T) {
	t.Parallel()
	phases := []Phase{Assembling, Traveling, AtLocation, Delving, Concluded}
	const (
		ok    = ""
		wrong = reasonWrongPhase
	)
	rows := map[string][5]string{
		"start_journey": {ok, wrong, wrong, wrong, reasonEnded},
		"end_journey":   {wrong, ok, ok, reasonRunOpen, reasonEnded},
		"start_run":     {wrong, wrong, ok, wrong, reasonEnded},
		"start_delve":   {wrong, wrong, ok, wrong, reasonEnded},
	}
	travel := [5]string{wrong, ok, ok, wrong, reasonEnded}
	run := [5]string{wrong, wrong, wrong, ok, reasonEnded}
	fields := commands.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		name := string(fd.Name())
		of := newCall(name, (&expeditionv1.ExecuteRequest{}).ProtoReflect().NewField(fd).Message().Interface()).of
		want, special := rows[name]
		if !special {
			want = travel
			if of != journeyTarget {
				want = run
			}
		}
		for j, phase := range phases {
			err := allowed(phase, name, of, of)
			if got := fault.ReasonOf(err); got != want[j] {
				t.Errorf("%s while %s: %q, want %q", name, phaseName(phase), got, want[j])
			}
			if got := metadataOf(err)["phase"]; want[j] == wrong && got != phaseName(phase) {
				t.Errorf("%s while %s tells of the phase %q", name, phaseName(phase), got)
			}
		}
	}
	for _, in := range [][2]target{{runTarget, delveTarget}, {delveTarget, runTarget}} {
		if err := allowed(Delving, "x", in[0], in[1]); fault.ReasonOf(err) != wrong {
			t.Errorf("a command of a run in a delve, or the other way round: %v", err)
		}
	}
}

// Whatever changes a journey, a run or a delve can be done in an expedition, but for what begins or ends it otherwise.
func TestEveryCommandIsThere(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"AbandonJourneyRequest": "AbandonExpedition gives up everything at once",
		"StageRunRequest":       "a run that begins in the middle belongs to no journey",
	}
	have := map[string]bool{}
	answers := executeFields
	for i := range commands.Fields().Len() {
		fd := commands.Fields().Get(i)
		have[string(fd.Message().FullName())] = true
		if res := answers.ByName(fd.Name()); res == nil || res.Number() != fd.Number() ||
			strings.TrimSuffix(string(res.Message().FullName()), "Response") != strings.TrimSuffix(string(fd.Message().FullName()), "Request") {
			t.Errorf("%s has no answer of its own", fd.Name())
		}
	}
	for name := range owners {
		short := string(name.Name())
		if strings.HasPrefix(short, "Get") || strings.HasPrefix(short, "List") || strings.HasPrefix(short, "Watch") || strings.HasPrefix(short, "Simulate") || elsewhere[short] != "" {
			continue
		}
		if !have[string(name)] {
			t.Errorf("%s cannot be given in an expedition", name)
		}
	}
}

func metadataOf(err error) map[string]string {
	f, _ := err.(*fault.Error) //nolint:errorlint // as made
	if f == nil {
		return nil
	}
	return f.Metadata
}

func TestWhatFollows(t *testing.T) {
	t.Parallel()
	const j, r, d = "campaigns/c/journeys/j", "campaigns/c/runs/r", "campaigns/c/delves/d"
	for name, row := range map[string]struct {
		st   state
		snap snapshot
		want *expeditionv1.PhaseChanged
	}{
		"a journey outside begins":             {state{Phase: Assembling}, snapshot{name: j}, &expeditionv1.PhaseChanged{Phase: Traveling}},
		"a crawl begins inside":                {state{Phase: Assembling}, snapshot{name: j, inside: true}, &expeditionv1.PhaseChanged{Phase: AtLocation}},
		"a place is entered":                   {state{Phase: Traveling}, snapshot{name: j, inside: true}, &expeditionv1.PhaseChanged{Phase: AtLocation}},
		"a place is left":                      {state{Phase: AtLocation}, snapshot{name: j}, &expeditionv1.PhaseChanged{Phase: Traveling}},
		"a move changes nothing":               {state{Phase: Traveling}, snapshot{name: j}, nil},
		"a run begins":                         {state{Phase: AtLocation}, snapshot{name: r, of: runTarget}, &expeditionv1.PhaseChanged{Phase: Delving, Run: r}},
		"a draw changes nothing":               {state{Phase: Delving, Run: r}, snapshot{name: r, of: runTarget}, nil},
		"a run ends":                           {state{Phase: Delving, Run: r}, snapshot{name: r, of: runTarget, over: true, settled: true}, &expeditionv1.PhaseChanged{Phase: AtLocation}},
		"a run ends and still gives back":      {state{Phase: Delving, Run: r}, snapshot{name: r, of: runTarget, over: true}, &expeditionv1.PhaseChanged{Phase: AtLocation, Settling: []string{r}}},
		"a run has given back":                 {state{Phase: AtLocation, Settling: []string{r}}, snapshot{name: r, of: runTarget, over: true, settled: true}, &expeditionv1.PhaseChanged{Phase: AtLocation}},
		"the journey's news during a run":      {state{Phase: Delving, Run: r}, snapshot{name: j}, nil},
		"a delve begins":                       {state{Phase: AtLocation}, snapshot{name: d, of: delveTarget}, &expeditionv1.PhaseChanged{Phase: Delving, Delve: d}},
		"a step in a delve changes nothing":    {state{Phase: Delving, Delve: d}, snapshot{name: d, of: delveTarget}, nil},
		"a delve is left":                      {state{Phase: Delving, Delve: d}, snapshot{name: d, of: delveTarget, over: true, settled: true}, &expeditionv1.PhaseChanged{Phase: AtLocation}},
		"the journey's news during a delve":    {state{Phase: Delving, Delve: d}, snapshot{name: j}, nil},
		"an old run settles during a new one":  {state{Phase: Delving, Run: r + "2", Settling: []string{r}}, snapshot{name: r, of: runTarget, over: true, settled: true}, &expeditionv1.PhaseChanged{Phase: Delving, Run: r + "2"}},
		"an old run settles while they travel": {state{Phase: Traveling, Settling: []string{r}}, snapshot{name: r, of: runTarget, over: true, settled: true}, &expeditionv1.PhaseChanged{Phase: Traveling}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *expeditionv1.PhaseChanged
			for _, e := range follows(row.st, row.snap) {
				got = e.GetPhaseChanged()
			}
			if !proto.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
	if ev := follows(state{Phase: AtLocation}, snapshot{name: j, over: true, settled: true}); len(ev) != 1 || ev[0].GetConcluded() == nil {
		t.Errorf("a journey's end brings %v", ev)
	}
}

func TestRunsAreOverInEveryPhaseButThree(t *testing.T) {
	t.Parallel()
	open := map[dungeonv1.Run_Phase]bool{dungeonv1.Run_PHASE_DRAW: true, dungeonv1.Run_PHASE_ACT: true, dungeonv1.Run_PHASE_PREPARING: true}
	for n := range dungeonv1.Run_Phase_name {
		p := dungeonv1.Run_Phase(n)
		if snap := ofRun(&dungeonv1.Run{Phase: p, Settled: true}); snap.over == open[p] || snap.settled != snap.over {
			t.Errorf("%v: %+v", p, snap)
		}
	}
}
