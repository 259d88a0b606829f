package dangerpool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// TranscriptFile is a file of transcripts, in the format at the end of the algorithms of docs/rules/danger-pool.md.
type TranscriptFile struct {
	About       string       `json:"about,omitempty"`
	Transcripts []Transcript `json:"transcripts"`
}

// Transcript is one delve, step by step.
type Transcript struct {
	ID    string          `json:"id"`
	Title string          `json:"title,omitempty"`
	Setup TranscriptSetup `json:"setup"`
	// Params override parameters of the shipped ruleset.
	Params map[string]any `json:"params"`
	Steps  []Step         `json:"steps"`
	// Expected holds a [Stepped] for each step; none: the file expects nothing.
	Expected []json.RawMessage `json:"expected,omitempty"`
}

// TranscriptSetup is what is recorded before the first area is described.
type TranscriptSetup struct {
	Members    []TranscriptMember `json:"members"`
	Provisions string             `json:"provisions,omitempty"`
	Lights     []TranscriptLight  `json:"lights"`
	Spells     []TranscriptSpell  `json:"spells"`
}

// TranscriptMember is a member of a transcript.
type TranscriptMember struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Rank string `json:"rank"`
}

// TranscriptLight is a light source that is carried in, lit unless it says otherwise.
type TranscriptLight struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	Active *bool  `json:"active"`
	// Remaining is what is left of it in dice, where an earlier delve used some.
	Remaining *int `json:"remaining"`
}

// TranscriptSpell is a spell that runs already: its minutes or its seconds.
type TranscriptSpell struct {
	ID      string `json:"id"`
	Minutes *int   `json:"minutes"`
	Seconds *int   `json:"seconds"`
}

// Step is one trigger with its arguments and the dice of its spills.
type Step struct {
	Trigger string  `json:"trigger"`
	Minutes *int    `json:"minutes"`
	Seconds *int    `json:"seconds"`
	Rounds  *int    `json:"rounds"`
	ID      *string `json:"id"`
	Source  *string `json:"source"`
	// UseFreeAction false declines the free action after a fight.
	UseFreeAction *bool   `json:"use_free_action"`
	Target        *string `json:"target"`
	// Spills are exactly those that happen, in order.
	Spills []StepSpill `json:"spills"`
}

// StepSpill is the dice of one spill.
type StepSpill struct {
	// Pool holds the faces.
	Pool []int `json:"pool"`
	// D12 holds the event dice: none without a 1, one with any, or one for each 1 under events_per_spill PER_ONE.
	D12 EventDice `json:"d12"`
	// Override is the number of the event that the GM chose instead.
	Override *int `json:"override"`
}

// EventDice are the faces of event dice: in a file one number, or a list.
type EventDice []int

// UnmarshalJSON reads a number or a list of numbers.
func (d *EventDice) UnmarshalJSON(raw []byte) error {
	var one *int
	if err := transcript.Decode(raw, &one); err == nil {
		if *d = nil; one != nil {
			*d = EventDice{*one}
		}
		return nil
	}
	var list []int
	if err := transcript.Decode(raw, &list); err != nil {
		return fmt.Errorf("d12: neither a face nor a list of faces: %w", err)
	}
	*d = list
	return nil
}

// stepFields are the arguments of each trigger: "!" follows what it must have. A cast needs minutes or seconds.
var stepFields = map[string][]string{
	TriggerRealTime: {"minutes!"}, TriggerWait: {"minutes!"}, TriggerRisk: {}, TriggerMove: {"use_free_action"}, TriggerInteract: {"use_free_action"},
	TriggerHunkerDown: {"use_free_action"}, TriggerLeaveHunker: {}, TriggerShortRest: {}, TriggerLongRest: {}, TriggerCombatStart: {},
	TriggerCombatRounds: {"rounds!"}, TriggerCombatEnd: {}, TriggerLightAdd: {"id!", "source!"}, TriggerLightOn: {"id!"}, TriggerLightOff: {"id!"},
	TriggerRefuel: {"id!"}, TriggerCast: {"id!", "minutes", "seconds"}, TriggerSpellEnd: {"id!"}, TriggerLeave: {"target!"},
}

func (s Step) check() error {
	known, ok := stepFields[s.Trigger]
	if !ok {
		return fmt.Errorf("trigger: there is no trigger %q", s.Trigger)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"minutes", s.Minutes != nil}, {"seconds", s.Seconds != nil}, {"rounds", s.Rounds != nil}, {"id", s.ID != nil}, {"source", s.Source != nil},
		{"use_free_action", s.UseFreeAction != nil}, {"target", s.Target != nil},
	} {
		needed := slices.Contains(known, f.name+"!")
		switch {
		case f.set && !needed && !slices.Contains(known, f.name):
			return fmt.Errorf("%s: is no argument of %s", f.name, s.Trigger)
		case !f.set && needed:
			return fmt.Errorf("%s: is missing", f.name)
		}
	}
	if s.Trigger == TriggerCast && (s.Minutes == nil) == (s.Seconds == nil) {
		return errors.New("minutes: a spell has minutes or seconds")
	}
	return nil
}

// Command returns the command that a step gives, with the GM's calls for its spills.
func (s Step) Command() Command {
	calls := make([]Call, len(s.Spills))
	for i, sp := range s.Spills {
		calls[i].Override = value(sp.Override)
	}
	keep := s.UseFreeAction != nil && !*s.UseFreeAction
	switch s.Trigger {
	case TriggerRealTime:
		return PassTime{Minutes: value(s.Minutes), Calls: calls}
	case TriggerWait:
		return LetTimePass{Minutes: value(s.Minutes), Calls: calls}
	case TriggerRisk:
		return DrawAttention{Calls: calls}
	case TriggerMove, TriggerInteract, TriggerHunkerDown:
		return Act{Action: s.Trigger, KeepFreeAction: keep, Calls: calls}
	case TriggerLeaveHunker:
		return LeaveHunker{}
	case TriggerShortRest, TriggerLongRest:
		return Rest{Long: s.Trigger == TriggerLongRest, Calls: calls}
	case TriggerCombatStart:
		return StartCombat{}
	case TriggerCombatRounds:
		return FightRounds{Rounds: value(s.Rounds)}
	case TriggerCombatEnd:
		return EndCombat{Calls: calls}
	case TriggerLightAdd:
		return AddLight{ID: value(s.ID), Source: value(s.Source)}
	case TriggerLightOn, TriggerLightOff:
		return SwitchLight{ID: value(s.ID), On: s.Trigger == TriggerLightOn}
	case TriggerRefuel:
		return RefuelLight{ID: value(s.ID)}
	case TriggerCast:
		return CastSpell{ID: value(s.ID), Seconds: secondsOf(s.Minutes, s.Seconds)}
	case TriggerSpellEnd:
		return EndSpell{ID: value(s.ID)}
	case TriggerLeave:
		return Leave{Target: value(s.Target)}
	}
	return nil
}

// Faces returns the dice of the step's spills in the order in which the rules ask for them.
func (s Step) Faces() []int {
	var faces []int
	for _, sp := range s.Spills {
		faces = append(append(faces, sp.Pool...), sp.D12...)
	}
	return faces
}

func value[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}

func secondsOf(minutes, seconds *int) int {
	if minutes != nil {
		// A number too large for a spell stays too large.
		return min(*minutes, MaxSpellSeconds) * 60
	}
	return value(seconds)
}

// Stepped is what a step led to, as the files have it.
type Stepped struct {
	Result Result `json:"result"`
	State  View   `json:"state"`
}

// Result is what a trigger did.
type Result struct {
	Trigger     string      `json:"trigger"`
	DiceAdded   int         `json:"dice_added"`
	Note        string      `json:"note"`
	LightsOut   []string    `json:"lights_out"`
	SpellsEnded []string    `json:"spells_ended"`
	Spills      []SpillView `json:"spills"`
	// Interrupted tells that a combat event broke off a rest (algorithm P-1).
	Interrupted bool `json:"interrupted"`
}

// SpillView is a spill as transcripts show it.
type SpillView struct {
	Number   int         `json:"number"`
	AtDie    int         `json:"at_die"`
	Faces    []int       `json:"faces"`
	Ones     int         `json:"ones"`
	Events   []EventView `json:"events"`
	Severity string      `json:"severity"`
}

// EventView is an event as transcripts show it.
type EventView struct {
	D12        int    `json:"d12"`
	Total      int    `json:"total"`
	Rolled     int    `json:"rolled"`
	Final      int    `json:"final"`
	Event      string `json:"event"`
	Overridden bool   `json:"overridden"`
}

// View is a delve as transcripts show it.
type View struct {
	Pool          int         `json:"pool"`
	Ever          int         `json:"dice_ever"`
	Elapsed       int         `json:"elapsed_minutes"`
	Unpriced      int         `json:"unpriced_hunker_minutes"`
	RealClock     int         `json:"real_clock"`
	WaitClock     int         `json:"wait_clock"`
	InCombat      bool        `json:"in_combat"`
	CombatMinutes int         `json:"combat_minutes"`
	Hunkered      bool        `json:"hunkered"`
	FreeAction    bool        `json:"free_action"`
	Lights        []Light     `json:"lights"`
	Darkness      bool        `json:"darkness"`
	Spells        []SpellView `json:"spells"`
	SpillsTotal   int         `json:"spills_total"`
}

// SpellView is a spell as transcripts show it.
type SpellView struct {
	ID      string `json:"id"`
	Seconds int    `json:"remaining_seconds"`
	Dice    int    `json:"dice_left"`
}

// View returns the delve as transcripts show it.
func (d Delve) View() View {
	v := View{
		Pool: d.Pool, Ever: d.Ever, Elapsed: d.Elapsed(), Unpriced: d.Unpriced, RealClock: d.RealClock, WaitClock: d.WaitClock, InCombat: d.InCombat,
		CombatMinutes: d.CombatMinutes, Hunkered: d.Hunkered, FreeAction: d.FreeAction, Lights: orEmpty(d.Lights), Darkness: d.Darkness(),
		Spells: []SpellView{}, SpillsTotal: d.SpillsTotal,
	}
	for _, s := range d.Spells {
		v.Spells = append(v.Spells, SpellView{ID: s.ID, Seconds: s.Seconds, Dice: d.Ruleset.SpellDice(s.Seconds)})
	}
	return v
}

// ResultOf derives what a trigger did from its events alone: a reader of the log knows as much.
func ResultOf(trigger string, events []Event) Result {
	r := Result{Trigger: trigger, LightsOut: []string{}, SpellsEnded: []string{}, Spills: []SpillView{}}
	for _, e := range events {
		switch e := e.(type) {
		case Triggered:
			r.Note = e.Note
		case DiceAdded:
			r.DiceAdded += e.Count
			r.LightsOut = append(r.LightsOut, e.LightsOut...)
			r.SpellsEnded = append(r.SpellsEnded, e.SpellsEnded...)
		case RoundsFought:
			r.SpellsEnded = append(r.SpellsEnded, e.SpellsEnded...)
		case SpellEnded:
			r.SpellsEnded = append(r.SpellsEnded, e.ID)
		case RestInterrupted:
			r.Interrupted = true
		case Spilled:
			s := SpillView{Number: e.Number, AtDie: e.AtDie, Faces: e.Faces, Ones: e.Ones, Events: []EventView{}, Severity: e.Severity}
			for _, x := range e.Events {
				s.Events = append(s.Events, EventView{D12: x.D12, Total: x.Total, Rolled: x.Rolled, Final: x.Final, Event: x.Event, Overridden: x.Overridden})
			}
			r.Spills = append(r.Spills, s)
		}
	}
	return r
}

func orEmpty[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// ParseTranscripts reads a file of transcripts. An unknown field, an unknown trigger, an argument that a trigger does not
// take or lacks, and a parameter that the ruleset does not have are errors that name the place.
func ParseTranscripts(document []byte) (*TranscriptFile, error) {
	f := &TranscriptFile{}
	if err := transcript.Decode(document, f); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, t := range f.Transcripts {
		at := fmt.Sprintf("transcripts[%d]", i)
		if t.ID == "" || seen[t.ID] {
			return nil, fmt.Errorf("%s.id: %q is empty or there already", at, t.ID)
		}
		seen[t.ID] = true
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("%s (%s).%w", at, t.ID, err)
		}
	}
	return f, nil
}

func (t Transcript) check() error {
	if _, err := Default().With(t.Params); err != nil {
		return fmt.Errorf("params.%w", err)
	}
	for i, s := range t.Setup.Spells {
		if (s.Minutes == nil) == (s.Seconds == nil) {
			return fmt.Errorf("setup.spells[%d].minutes: a spell has minutes or seconds", i)
		}
	}
	for i, s := range t.Steps {
		if err := s.check(); err != nil {
			return fmt.Errorf("steps[%d].%w", i, err)
		}
	}
	if len(t.Expected) > 0 && len(t.Expected) != len(t.Steps) {
		return fmt.Errorf("expected: %d states for %d steps", len(t.Expected), len(t.Steps))
	}
	for i, raw := range t.Expected {
		if err := transcript.Decode(raw, new(Stepped)); err != nil {
			return fmt.Errorf("expected[%d].%w", i, err)
		}
	}
	return nil
}

// Commands returns what comes before the first step: the delve opened, the setup and the first area. A file knows neither
// map nor entry point, nor has to note provisions.
func (t Transcript) Commands() ([]Command, error) {
	rs, err := Default().With(t.Params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	members := RecordMembers{}
	for _, m := range t.Setup.Members {
		members.Members = append(members.Members, Member{Name: m.Name, Kind: m.Kind, Rank: m.Rank})
	}
	lights := RecordLights{}
	for _, l := range t.Setup.Lights {
		active := l.Active == nil || *l.Active
		lights.Lights = append(lights.Lights, Carried{ID: l.ID, Source: l.Source, Active: active, Remaining: l.Remaining})
	}
	for _, s := range t.Setup.Spells {
		lights.Spells = append(lights.Spells, Spell{ID: s.ID, Seconds: secondsOf(s.Minutes, s.Seconds)})
	}
	provisions := t.Setup.Provisions
	if provisions == "" {
		provisions = "as carried"
	}
	return []Command{
		Open{Ruleset: rs, Map: &Map{Title: "transcript " + t.ID}, Entry: "entrance", InvokedBy: ByJudgment},
		members, RecordProvisions{Note: provisions}, lights, Begin{},
	}, nil
}

// Replay plays every transcript of a file on the rules; see package transcript. A step that is refused, and one whose
// dice are not exactly those that the rules ask for, cannot be played.
func Replay(document []byte) ([]transcript.Played, error) {
	f, err := ParseTranscripts(document)
	if err != nil {
		return nil, err
	}
	out := make([]transcript.Played, len(f.Transcripts))
	for i, t := range f.Transcripts {
		out[i] = t.Replay()
	}
	return out, nil
}

// Replay plays the transcript on the rules.
func (t Transcript) Replay() transcript.Played {
	p := transcript.Played{ID: t.ID, Want: t.Expected}
	begin, err := t.Commands()
	if err != nil {
		p.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return p
	}
	d := Delve{}
	for _, c := range begin {
		events, err := Decide(d, c, play.ReportedDice())
		if err != nil {
			p.Err = &transcript.Fault{Transcript: t.ID, Err: fmt.Errorf("setup: %w", err)}
			return p
		}
		d = fold(d, events)
	}
	for _, s := range t.Steps {
		next, got, err := s.Play(d)
		if err != nil {
			p.Err = err
			return p
		}
		d = next
		p.Add(got)
	}
	return p
}

func fold(d Delve, events []Event) Delve {
	for _, e := range events {
		d = Apply(d, e)
	}
	return d
}

// Play plays the step with its own dice. It fails when the rules refuse it, and when its spills are not those that happen.
func (s Step) Play(d Delve) (Delve, Stepped, error) {
	c := s.Command()
	if c == nil {
		return d, Stepped{}, fmt.Errorf("there is no trigger %q", s.Trigger)
	}
	dice := play.ReportedDice(s.Faces()...)
	events, err := Decide(d, c, dice)
	if err != nil {
		return d, Stepped{}, fmt.Errorf("%s: %w", s.Trigger, err)
	}
	got := Stepped{Result: ResultOf(s.Trigger, events)}
	if err := errors.Join(s.Fits(got.Result.Spills), dice.Close()); err != nil {
		return d, Stepped{}, fmt.Errorf("%s: %w", s.Trigger, err)
	}
	d = fold(d, events)
	got.State = d.View()
	return d, got, nil
}

// Fits tells whether the dice given are, spill by spill, those that were used.
func (s Step) Fits(spills []SpillView) error {
	if len(s.Spills) != len(spills) {
		return fmt.Errorf("spills: %d given, %d happen", len(s.Spills), len(spills))
	}
	for i, sp := range spills {
		given := s.Spills[i]
		if len(given.Pool) != len(sp.Faces) {
			return fmt.Errorf("spills[%d].pool: %d dice given, %d in the pool", i, len(given.Pool), len(sp.Faces))
		}
		if len(given.D12) != len(sp.Events) {
			return fmt.Errorf("spills[%d].d12: %d given, %d needed for %d ones", i, len(given.D12), len(sp.Events), sp.Ones)
		}
	}
	return nil
}

// String names the step for people, for example "WAIT 25".
func (s Step) String() string {
	words := []string{s.Trigger}
	for _, n := range []*int{s.Minutes, s.Seconds, s.Rounds} {
		if n != nil {
			words = append(words, fmt.Sprint(*n))
		}
	}
	for _, n := range []*string{s.ID, s.Source, s.Target} {
		if n != nil {
			words = append(words, *n)
		}
	}
	return strings.Join(words, " ")
}
