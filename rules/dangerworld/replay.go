package dangerworld

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// The format of transcript files is described in docs/rules/danger-world.md: one character plays through challenges.

// TranscriptFile is a file of transcripts.
type TranscriptFile struct {
	About       string       `json:"about,omitempty"`
	Transcripts []Transcript `json:"transcripts"`
}

// Transcript is one series of operations with what each is expected to lead to.
type Transcript struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Setup Setup  `json:"setup"`
	// Params are overrides of the ruleset.
	Params map[string]any `json:"params,omitempty"`
	Steps  []Operation    `json:"steps"`
	// Expected holds a result and a state for each step; empty in a file to be played only.
	Expected []json.RawMessage `json:"expected,omitempty"`
}

// Setup is how a transcript begins. What is absent is 0.
type Setup struct {
	Stats        map[string]int            `json:"stats,omitempty"`
	FP           int                       `json:"fp,omitempty"`
	BonusDice    int                       `json:"bonus_dice,omitempty"`
	DangerPoints int                       `json:"danger_points,omitempty"`
	Challenges   map[string]SetupChallenge `json:"challenges,omitempty"`
}

// SetupChallenge is a challenge at the beginning.
type SetupChallenge struct {
	Difficulty int `json:"difficulty"`
	Penalty    int `json:"penalty,omitempty"`
}

// Player is the character of a transcript.
const Player = "player"

// Sheet returns the sheet that the transcript begins with.
func (s Setup) Sheet() Sheet {
	out := Sheet{Character: Player, Stats: s.Stats, FP: s.FP, Points: s.DangerPoints}
	if s.BonusDice != 0 {
		out.Bonus = []int{s.BonusDice}
	}
	return out
}

// The operations of a transcript.
const (
	OpCheck        = "CHECK"
	OpSpendBotches = "SPEND_BOTCHES"
	OpCloseCheck   = "CLOSE_CHECK"
	OpRaiseDanger  = "RAISE_DANGER"
	OpEndEncounter = "END_ENCOUNTER"
	OpLongTermRest = "LONG_TERM_REST"
)

// Operation is one step of a transcript. Fields that are another operation's are errors.
type Operation struct {
	Op string `json:"op"`
	// Challenge to Cancel are a CHECK's.
	Challenge  string           `json:"challenge,omitempty"`
	Stat       *StatOrNumber    `json:"stat,omitempty"`
	AspectFP   int              `json:"aspect_fp,omitempty"`
	NegativeFP int              `json:"negative_fp,omitempty"`
	BonusDice  int              `json:"bonus_dice,omitempty"`
	DangerDice int              `json:"danger_dice,omitempty"`
	Rolls      []FileRoll       `json:"rolls,omitempty"`
	Claim      *FileClaim       `json:"claim,omitempty"`
	Cancel     map[int][]string `json:"cancel,omitempty"`
	// Items are what SPEND_BOTCHES buys.
	Items []FileItem `json:"items,omitempty"`
	// Amount is RAISE_DANGER's, in steps.
	Amount *int `json:"amount,omitempty"`
	// InjuryD12 are the faces of injury dice in order, of all operations that may injure.
	InjuryD12 []int `json:"injury_d12,omitempty"`
}

// FileRoll is one roll: the dice newly locked before it, and the faces of those rolled, in pool order.
type FileRoll struct {
	Lock  []string `json:"lock,omitempty"`
	Faces []int    `json:"faces"`
}

// FileItem is one entry of the botch table.
type FileItem struct {
	Buy        string `json:"buy"`
	Challenge  string `json:"challenge,omitempty"`
	Difficulty *int   `json:"difficulty,omitempty"`
}

// StatOrNumber is the name of a stat, or under pool_source CALLER the number that stands for it.
type StatOrNumber struct {
	Name   string
	Number *int
}

// UnmarshalJSON reads a text or a whole number.
func (s *StatOrNumber) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &s.Name); err == nil {
		return nil
	}
	n := 0
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("stat: %s is neither a name nor a whole number", raw)
	}
	s.Number = &n
	return nil
}

// MarshalJSON writes it as it was read.
func (s StatOrNumber) MarshalJSON() ([]byte, error) {
	if s.Number != nil {
		return json.Marshal(*s.Number)
	}
	return json.Marshal(s.Name)
}

// FileClaim is a height, AUTO or NONE.
type FileClaim struct {
	Height int
	None   bool
}

// UnmarshalJSON reads a claim.
func (c *FileClaim) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case `"AUTO"`:
		return nil
	case `"NONE"`:
		c.None = true
		return nil
	}
	if err := json.Unmarshal(raw, &c.Height); err != nil || c.Height < 1 {
		return fmt.Errorf("claim: %s is neither a height nor AUTO nor NONE", raw)
	}
	return nil
}

// MarshalJSON writes it as it was read.
func (c FileClaim) MarshalJSON() ([]byte, error) {
	switch {
	case c.None:
		return []byte(`"NONE"`), nil
	case c.Height == 0:
		return []byte(`"AUTO"`), nil
	}
	return []byte(strconv.Itoa(c.Height)), nil
}

// ParseTranscripts reads a transcript file strictly: unknown, misplaced and repeated fields, values of another kind,
// transcripts without an id or with the id of another, operations that do not exist and a number of expectations other than
// that of the steps are errors that name the place.
func ParseTranscripts(document []byte) (*TranscriptFile, error) {
	var file TranscriptFile
	if err := transcript.Decode(document, &file); err != nil {
		return nil, err
	}
	if file.Transcripts == nil {
		return nil, errors.New("transcripts: are missing")
	}
	ids := map[string]bool{}
	for i, t := range file.Transcripts {
		at := fmt.Sprintf("transcripts[%d]", i)
		switch {
		case t.ID == "":
			return nil, fmt.Errorf("%s.id: is missing", at)
		case ids[t.ID]:
			return nil, fmt.Errorf("%s.id: %s is there twice", at, t.ID)
		case len(t.Expected) > 0 && len(t.Expected) != len(t.Steps):
			return nil, fmt.Errorf("%s.expected: %d for %d steps", at, len(t.Expected), len(t.Steps))
		}
		ids[t.ID] = true
		for j, op := range t.Steps {
			if err := op.check(); err != nil {
				return nil, fmt.Errorf("%s.steps[%d].%w", at, j, err)
			}
		}
	}
	return &file, nil
}

// check refuses operations that do not exist and fields that are another's.
func (o Operation) check() error {
	fields := []struct {
		name  string
		there bool
		of    string
	}{
		{"challenge", o.Challenge != "", OpCheck}, {"stat", o.Stat != nil, OpCheck}, {"aspect_fp", o.AspectFP != 0, OpCheck},
		{"negative_fp", o.NegativeFP != 0, OpCheck}, {"bonus_dice", o.BonusDice != 0, OpCheck}, {"danger_dice", o.DangerDice != 0, OpCheck},
		{"rolls", o.Rolls != nil, OpCheck}, {"claim", o.Claim != nil, OpCheck}, {"cancel", o.Cancel != nil, OpCheck},
		{"items", o.Items != nil, OpSpendBotches}, {"amount", o.Amount != nil, OpRaiseDanger},
	}
	switch o.Op {
	case OpCheck:
		if o.Challenge == "" || o.Stat == nil {
			return errors.New("op: CHECK names challenge and stat")
		}
	case OpRaiseDanger:
		if o.Amount == nil {
			return errors.New("amount: is missing")
		}
	case OpSpendBotches, OpCloseCheck, OpEndEncounter, OpLongTermRest:
	default:
		return fmt.Errorf("op: there is no operation %q", o.Op)
	}
	for _, f := range fields {
		if f.there && f.of != o.Op {
			return fmt.Errorf("%s: is no field of %s", f.name, o.Op)
		}
	}
	if o.InjuryD12 != nil && o.Op != OpCheck && o.Op != OpSpendBotches && o.Op != OpRaiseDanger {
		return fmt.Errorf("injury_d12: is no field of %s", o.Op)
	}
	for i, r := range o.Rolls {
		if i == 0 && len(r.Lock) > 0 {
			return errors.New("rolls[0].lock: nothing is locked before the first roll")
		}
	}
	return nil
}

// Commands returns what a transcript does before its first step: the scene, the player and the challenges.
func (t Transcript) Commands(rs *Ruleset) []Command {
	out := []Command{Begin{Ruleset: rs}, AddSheet{Sheet: t.Setup.Sheet()}}
	for _, name := range slices.Sorted(maps.Keys(t.Setup.Challenges)) {
		c := t.Setup.Challenges[name]
		out = append(out, CreateChallenge{Name: name, Difficulty: c.Difficulty, Penalty: c.Penalty})
	}
	return out
}

// Replay plays every transcript of a file on the rules. A nil ruleset is the shipped one; each transcript's params override
// it.
func Replay(base *Ruleset, document []byte) ([]transcript.Played, error) {
	file, err := ParseTranscripts(document)
	if err != nil {
		return nil, err
	}
	if base == nil {
		base = Default()
	}
	out := make([]transcript.Played, len(file.Transcripts))
	for i, t := range file.Transcripts {
		out[i] = t.replay(base)
	}
	return out, nil
}

func (t Transcript) replay(base *Ruleset) transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected}
	rs, err := base.With(t.Params)
	if err != nil {
		out.Err = fmt.Errorf("params.%w", err)
		return out
	}
	r := replayer{}
	for _, c := range t.Commands(rs) {
		if _, err := r.do(c); err != nil {
			out.Err = fmt.Errorf("setup: %w", err)
			return out
		}
	}
	for _, op := range t.Steps {
		result, err := r.step(op)
		if err != nil {
			out.Err = err
			return out
		}
		out.Add(StepView{Result: result, State: ViewState(r.scene, Player)})
	}
	return out
}

// replayer plays operations.
type replayer struct {
	scene Scene
	check int
}

// do decides a command with the dice given and folds what it comes to.
func (r *replayer) do(c Command, faces ...int) ([]Event, error) {
	dice := play.ReportedDice(faces...)
	events, err := Decide(r.scene, c, dice)
	if err == nil {
		err = dice.Close()
	}
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		r.scene = Apply(r.scene, e)
	}
	return events, nil
}

func (r *replayer) step(op Operation) (any, error) {
	switch op.Op {
	case OpCheck:
		return r.checkStep(op)
	case OpSpendBotches:
		spend := SpendBotches{Check: r.check}
		for _, i := range op.Items {
			spend.Items = append(spend.Items, Item{Buy: i.Buy, Challenge: i.Challenge, Difficulty: i.Difficulty})
		}
		if len(spend.Items) == 0 && len(op.InjuryD12) == 0 {
			return SpendView{Bought: []string{}, Harm: []Harm{}}, nil
		}
		events, err := r.do(spend, op.InjuryD12...)
		if err != nil {
			return nil, err
		}
		return ViewSpend(events), nil
	case OpCloseCheck:
		// The botches of the last check lapse; there may be none any more.
		c, ok := r.scene.Check(r.check)
		if !ok || c.Phase == CheckClosed {
			return CloseView{}, nil
		}
		events, err := r.do(CloseCheck{Check: r.check})
		if err != nil {
			return nil, err
		}
		ended, _ := events[len(events)-1].(CheckEnded)
		return CloseView{Lapsed: ended.Lapsed}, nil
	case OpRaiseDanger:
		events, err := r.do(RaiseDanger{Character: Player, Steps: *op.Amount}, op.InjuryD12...)
		if err != nil {
			return nil, err
		}
		return HarmView{Harm: harmOf(events)}, nil
	case OpEndEncounter:
		_, err := r.do(EndEncounter{})
		return struct{}{}, err
	}
	_, err := r.do(LongTermRest{})
	return struct{}{}, err
}

func (r *replayer) checkStep(op Operation) (any, error) {
	open := OpenCheck{
		Character: Player, Challenge: op.Challenge, Stat: op.Stat.Name, Number: op.Stat.Number, AspectFP: op.AspectFP, NegativeFP: op.NegativeFP,
		BonusDice: op.BonusDice, DangerDice: op.DangerDice,
	}
	if _, err := r.do(open); err != nil {
		return nil, err
	}
	r.check = r.scene.Opened
	check, _ := r.scene.Check(r.check)
	if check.Phase == CheckResolved { // unrolled
		if len(op.Rolls)+len(op.InjuryD12) > 0 {
			return nil, play.Refuse(play.BadDice, "there is no die to roll").At("rolls")
		}
		return r.scene.ViewCheck(check), nil
	}
	for i, roll := range op.Rolls {
		var c Command = RollCheck{Check: r.check}
		if i > 0 {
			c = Reroll{Check: r.check, Lock: roll.Lock}
		}
		if _, err := r.do(c, roll.Faces...); err != nil {
			return nil, fmt.Errorf("rolls[%d]: %w", i, err)
		}
	}
	claim := Claim{Check: r.check, Cancel: op.Cancel}
	if op.Claim != nil {
		claim.Height, claim.None = op.Claim.Height, op.Claim.None
	}
	if _, err := r.do(claim, op.InjuryD12...); err != nil {
		return nil, err
	}
	check, _ = r.scene.Check(r.check)
	return r.scene.ViewCheck(check), nil
}

// The views below are the results and states of transcript files, field by field.
type (
	// StepView is what a step leads to.
	StepView struct {
		Result any       `json:"result"`
		State  StateView `json:"state"`
	}
	// CheckView is the result of a CHECK.
	CheckView struct {
		Pool        Pool       `json:"pool"`
		Rolls       []RollView `json:"rolls"`
		Sets        []SetView  `json:"sets"`
		Botches     int        `json:"botches"`
		Claimed     *int       `json:"claimed"`
		Success     bool       `json:"success"`
		BonusGained int        `json:"bonus_dice_gained"`
		DangerSteps int        `json:"danger_from_set"`
		Harm        []Harm     `json:"harm"`
	}
	// RollView is one roll.
	RollView struct {
		Rolled []string       `json:"rolled"`
		Locked []string       `json:"locked"`
		Faces  map[string]int `json:"faces"`
	}
	// SetView is one set; cost and accomplishment are null when it does not trigger.
	SetView struct {
		Height         int      `json:"height"`
		Width          int      `json:"width"`
		Normal         int      `json:"normal"`
		Danger         int      `json:"danger"`
		Cancelled      []string `json:"cancelled"`
		Triggers       bool     `json:"triggers"`
		DangerCost     *int     `json:"danger_cost"`
		Accomplishment *string  `json:"accomplishment"`
	}
	// SpendView is the result of SPEND_BOTCHES.
	SpendView struct {
		Spent  int      `json:"spent"`
		Bought []string `json:"bought"`
		Harm   []Harm   `json:"harm"`
	}
	// CloseView is the result of CLOSE_CHECK.
	CloseView struct {
		Lapsed int `json:"botches_lapsed"`
	}
	// HarmView is the result of RAISE_DANGER.
	HarmView struct {
		Harm []Harm `json:"harm"`
	}
	// StateView is the state of one character with the challenges.
	StateView struct {
		FP         int                      `json:"fp"`
		BonusDice  int                      `json:"bonus_dice"`
		Points     int                      `json:"danger_points"`
		Level      int                      `json:"danger_level"`
		Harm       string                   `json:"harm"`
		Bashed     int                      `json:"bashed_active"`
		Stunned    int                      `json:"stunned_active"`
		KO         bool                     `json:"ko"`
		Dead       bool                     `json:"dead"`
		Reductions map[string]int           `json:"stat_reductions"`
		Unspent    int                      `json:"botches_unspent"`
		Challenges map[string]ChallengeView `json:"challenges"`
	}
	// ChallengeView is one challenge.
	ChallengeView struct {
		Difficulty int    `json:"difficulty"`
		Penalty    int    `json:"penalty"`
		Status     string `json:"status"`
	}
)

func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

func harmOf(events []Event) []Harm {
	out := []Harm{}
	for _, e := range events {
		if e, ok := e.(SheetChanged); ok {
			out = append(out, e.Harm...)
		}
	}
	return out
}

// ViewSpend shows what spending botches came to.
func ViewSpend(events []Event) SpendView {
	out := SpendView{Bought: []string{}, Harm: harmOf(events)}
	for _, e := range events {
		if e, ok := e.(BotchesSpent); ok {
			out.Spent, out.Bought = e.Spent, e.Bought
		}
	}
	return out
}

// ViewCheck shows a check that is resolved.
func (s Scene) ViewCheck(c Check) CheckView {
	out := CheckView{Pool: c.Pool, Rolls: []RollView{}, Sets: []SetView{}, Harm: []Harm{}}
	for _, r := range c.Rolls {
		roll := RollView{Rolled: list(r.Rolled), Locked: list(r.Locked), Faces: map[string]int{}}
		for _, f := range r.Faces {
			roll.Faces[f.Die] = f.Face
		}
		out.Rolls = append(out.Rolls, roll)
	}
	o := c.Outcome
	if o == nil {
		return out
	}
	for _, x := range o.Sets {
		out.Sets = append(out.Sets, s.Ruleset.viewSet(x))
	}
	out.Botches, out.Success, out.BonusGained, out.DangerSteps, out.Harm = o.Botches, o.Success, o.BonusGained, o.DangerSteps, list(o.Harm)
	if o.Claimed > 0 {
		out.Claimed = &o.Claimed
	}
	return out
}

func (rs *Ruleset) viewSet(s Set) SetView {
	out := SetView{Height: s.Height, Width: s.Width, Normal: s.Normal, Danger: s.Danger, Cancelled: list(s.Cancelled), Triggers: s.Triggers}
	if a, ok := rs.accomplishment(s.Height); ok && s.Triggers {
		out.DangerCost, out.Accomplishment = &s.DangerCost, &a.Name
	}
	return out
}

// ViewState shows a character's state.
func ViewState(s Scene, character string) StateView {
	sheet, _ := s.Sheet(character)
	level := s.Ruleset.Level(sheet.Points)
	out := StateView{
		FP: sheet.FP, BonusDice: sheet.BonusDice(), Points: sheet.Points, Level: level, Harm: s.Ruleset.Harm(level), Bashed: sheet.Bashed,
		Stunned: sheet.Stunned, KO: sheet.KO, Dead: sheet.Dead, Reductions: map[string]int{}, Unspent: s.Bank,
		Challenges: map[string]ChallengeView{},
	}
	maps.Copy(out.Reductions, sheet.Reductions)
	if c, ok := s.current(character); ok {
		out.Unspent += c.Unspent
	}
	for _, c := range s.Challenges {
		out.Challenges[c.Name] = ChallengeView{Difficulty: c.Difficulty, Penalty: c.Penalty, Status: c.Status}
	}
	return out
}
