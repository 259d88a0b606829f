package digger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// TranscriptFile is a file of transcripts. The format is described in docs/rules/digger.md.
type TranscriptFile struct {
	Transcripts []Transcript `json:"transcripts"`
}

// Transcript is one run, its cards and dice given, with the state that each round is expected to lead to.
type Transcript struct {
	ID      string             `json:"id"`
	Title   string             `json:"title"`
	Dungeon Dungeon            `json:"dungeon"`
	Party   []TranscriptMember `json:"party"`
	Rounds  []TranscriptRound  `json:"rounds"`
	// Expected holds a [RoundState] for each round, as the file has it; empty in a file that is only to be played.
	Expected []json.RawMessage `json:"expected"`
}

// TranscriptMember is a member of the party. Their tools are all loaded, whatever they would cost.
type TranscriptMember struct {
	Name      string           `json:"name"`
	Abilities Abilities        `json:"abilities"`
	Tools     []TranscriptTool `json:"tools"`
}

// TranscriptTool is a loaded tool; Drawback is nil when it has none.
type TranscriptTool struct {
	ID        string   `json:"id"`
	Ability   string   `json:"ability"`
	Rating    string   `json:"rating"`
	Qualities []string `json:"qualities"`
	Drawback  *string  `json:"drawback"`
}

// TranscriptRound is one challenge: the card drawn, who drew it and completes it, and what the others do, in order of
// acting. The first round's drawer leads the party.
type TranscriptRound struct {
	Card    string             `json:"card"`
	Drawer  string             `json:"drawer"`
	Actions []TranscriptAction `json:"actions"`
	// Dice holds the dice of each member who acts, by name.
	Dice map[string]TranscriptDice `json:"dice"`
}

// TranscriptAction is one act: Use is an ability, a basic action or the id of a tool.
type TranscriptAction struct {
	Member string `json:"member"`
	Use    string `json:"use"`
	Risk   bool   `json:"risk"`
}

// TranscriptDice are one member's dice; D100 is there exactly when step C6 takes one.
type TranscriptDice struct {
	D10  int  `json:"d10"`
	D100 *int `json:"d100"`
}

// RoundState is what a round led to, in the words of the format.
type RoundState struct {
	Round    int    `json:"round"`
	Card     string `json:"card"`
	Kind     string `json:"kind"`
	Ability  string `json:"ability"`
	Level    int    `json:"level"`
	TN       int    `json:"tn"`
	Modifier int    `json:"modifier"`
	// ConditionsAtDraw are those after D6, ConditionsInForce those after the last act; EffectsInForce, with their users, are
	// those before C11.
	ConditionsAtDraw  []Mark        `json:"conditions_at_draw"`
	ConditionsInForce []Mark        `json:"conditions_in_force"`
	EffectsInForce    []Mark        `json:"effects_in_force"`
	PartyScore        int           `json:"party_score"`
	PartyTarget       int           `json:"party_target"`
	PartySuccess      bool          `json:"party_success"`
	ExplorationGain   int           `json:"exploration_gain"`
	Exploration       int           `json:"exploration"`
	Members           []MemberState `json:"members"`
	EffectsAfter      []Mark        `json:"effects_after"`
	// NextDraw is the kind that D3 would give, nil once the run is over.
	NextDraw *string `json:"next_draw"`
	Outcome  string  `json:"outcome"`
}

// MemberState is a member after a round; of one that did not act the fields about the roll are absent.
type MemberState struct {
	Name           string         `json:"name"`
	Acted          bool           `json:"acted"`
	Roll           *int           `json:"roll,omitempty"`
	Effective      *int           `json:"effective,omitempty"`
	ToolBonus      *int           `json:"tool_bonus,omitempty"`
	RiskBonus      *int           `json:"risk_bonus,omitempty"`
	Total          *int           `json:"total,omitempty"`
	Success        *bool          `json:"success,omitempty"`
	ExhaustionGain int            `json:"exhaustion_gain"`
	Exhaustion     int            `json:"exhaustion"`
	Exhausted      bool           `json:"exhausted"`
	ToolUsesLeft   map[string]int `json:"tool_uses_left"`
}

// ParseTranscripts reads a file strictly, as [transcript.Decode] does, the expected states included.
func ParseTranscripts(document []byte) (*TranscriptFile, error) {
	file := &TranscriptFile{}
	if err := transcript.Decode(document, file); err != nil {
		return nil, err
	}
	for i, t := range file.Transcripts {
		for j, raw := range t.Expected {
			if err := transcript.Decode(raw, &RoundState{}); err != nil {
				return nil, fmt.Errorf("transcripts[%d].expected[%d]: %w", i, j, err)
			}
		}
	}
	return file, nil
}

// Replay plays every transcript of a file by the shipped ruleset. The error tells that the file cannot be read.
func Replay(document []byte) ([]transcript.Played, error) {
	file, err := ParseTranscripts(document)
	if err != nil {
		return nil, err
	}
	played := make([]transcript.Played, len(file.Transcripts))
	for i, t := range file.Transcripts {
		played[i] = t.play(Default())
	}
	return played, nil
}

// Playable returns the dungeon in a form that [Check] can accept whatever its ids look like, for ids in a transcript are
// mere labels: card i has the id CardID(i), the dungeon the id given. What people read may be missing.
func (t Transcript) Playable(id string) *Dungeon {
	d := t.Dungeon
	d.ID, d.Name, d.Cards = id, cmp.Or(d.Name, d.ID, id), slices.Clone(d.Cards)
	for i := range d.Cards {
		c := &d.Cards[i]
		c.Text = cmp.Or(c.Text, c.Title, c.ID, "-")
		c.ID = CardID(i)
	}
	return &d
}

// CardID is the id of a transcript's card in its playable form, by its place in the deck from 0.
func CardID(i int) string { return fmt.Sprintf("card-%d", i+1) }

// CardAt returns the place of a card in the deck from 0, by its label.
func (t Transcript) CardAt(label string) (int, error) {
	i := slices.IndexFunc(t.Dungeon.Cards, func(c Card) bool { return c.ID == label })
	if i < 0 {
		return 0, fmt.Errorf("card: the dungeon has no card %q", label)
	}
	return i, nil
}

// Label returns the label of a card by its id in the playable form.
func (t Transcript) Label(id string) string {
	for i, c := range t.Dungeon.Cards {
		if CardID(i) == id {
			return c.ID
		}
	}
	return id
}

// NotDrawable is the error of a round whose card is not among those that can be drawn; a card of the kind given is due.
func NotDrawable(card, due string) error {
	return fmt.Errorf("card: %q cannot be drawn here, the next card is of kind %s", card, due)
}

// CheckLabels tells what the rules would not notice since they never see it: two cards, members or tools of one label.
func (t Transcript) CheckLabels() error {
	seen := map[string]bool{}
	for i, c := range t.Dungeon.Cards {
		if seen[c.ID] {
			return fmt.Errorf("dungeon.cards[%d].id: %q is there already", i, c.ID)
		}
		seen[c.ID] = true
	}
	seen = map[string]bool{}
	for i, m := range t.Party {
		if m.Name == "" || seen[m.Name] {
			return fmt.Errorf("party[%d].name: %q is empty or there already", i, m.Name)
		}
		seen[m.Name] = true
		tools := map[string]bool{}
		for j, x := range m.Tools {
			if tools[x.ID] {
				return fmt.Errorf("party[%d].tools[%d].id: %q is there already", i, j, x.ID)
			}
			tools[x.ID] = true
		}
	}
	return nil
}

// ToolNumber returns which tool of a member a use names, from 1; 0 for an ability or a basic action, whose names win over
// those of tools (DIG-ABIL-06).
func (m TranscriptMember) ToolNumber(use string) (int, error) {
	if AbilityOf(use) != "" {
		return 0, nil
	}
	i := slices.IndexFunc(m.Tools, func(t TranscriptTool) bool { return t.ID == use })
	if i < 0 {
		return 0, play.Refuse(NoSuchTool, "%s has no tool %q", m.Name, use)
	}
	return i + 1, nil
}

// Faces returns the dice of a round in the order in which the rules take them (steps C3 and C6). It fails unless exactly
// those who act have dice.
func (r TranscriptRound) Faces() ([]int, error) {
	var faces, risks []int
	acted := map[string]bool{}
	for _, a := range r.Actions {
		d, ok := r.Dice[a.Member]
		if !ok {
			return nil, fmt.Errorf("dice: %s acts and has none", a.Member)
		}
		acted[a.Member] = true
		faces = append(faces, d.D10)
		if d.D100 != nil {
			risks = append(risks, *d.D100)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Dice)) {
		if !acted[name] {
			return nil, fmt.Errorf("dice: %s does not act and has some", name)
		}
	}
	return append(faces, risks...), nil
}

// CheckRisk fails unless the member had the d100 of the file: rolled is the face that the rules took, 0 for none.
func (r TranscriptRound) CheckRisk(member string, rolled int) error {
	given := 0
	if d := r.Dice[member].D100; d != nil {
		given = *d
	}
	if given != rolled {
		return fmt.Errorf("dice: the d100 of %s is %s, but %s was taken", member, faceName(given), faceName(rolled))
	}
	return nil
}

func faceName(face int) string {
	if face == 0 {
		return "none"
	}
	return fmt.Sprint(face)
}

func (t Transcript) entrants() []Entrant {
	var out []Entrant
	for _, m := range t.Party {
		e := Entrant{ID: m.Name, Statblock: &m.Abilities}
		for i, x := range m.Tools {
			tool := Tool{ID: x.ID, Ability: x.Ability, Rating: x.Rating, Qualities: x.Qualities, Loaded: true}
			if x.Drawback != nil {
				tool.Drawback = *x.Drawback
			}
			e.Tools = append(e.Tools, NumberedTool{tool, i + 1})
		}
		out = append(out, e)
	}
	return out
}

// player plays a transcript on the rules.
type player struct {
	Transcript
	run Run
}

func (t Transcript) play(rs *Ruleset) transcript.Played {
	out := transcript.Played{ID: t.ID, Want: t.Expected}
	p := &player{Transcript: t, run: Run{Ruleset: rs, Dungeon: t.Playable("transcript"), Outcome: Running}}
	if err := p.check(rs); err != nil {
		out.Err = &transcript.Fault{Transcript: t.ID, Err: err}
		return out
	}
	for i, round := range t.Rounds {
		state, err := p.round(i, round)
		if err != nil {
			out.Err = err
			return out
		}
		out.Add(state)
	}
	return out
}

func (p *player) check(rs *Ruleset) error {
	if err := p.CheckLabels(); err != nil {
		return err
	}
	if faults := Check(rs, p.run.Dungeon); len(faults) > 0 {
		return play.Refuse(Invalid, "the dungeon cannot be played: %s: %s", faults[0].Field, faults[0].Message)
	}
	return nil
}

// do decides and folds a command with exactly the dice given.
func (p *player) do(r Run, c RunCommand, faces ...int) ([]RunEvent, error) {
	dice := play.ReportedDice(faces...)
	events, err := DecideRun(r, c, dice)
	if err != nil {
		return nil, err
	}
	if err := dice.Close(); err != nil {
		return nil, err
	}
	for _, e := range events {
		r = ApplyRun(r, e)
	}
	p.run = r
	return events, nil
}

func (p *player) round(i int, round TranscriptRound) (RoundState, error) {
	var none RoundState
	if err := p.draw(i, round); err != nil {
		return none, err
	}
	s := RoundState{ConditionsAtDraw: p.run.conditionMarks()}
	for _, a := range round.Actions {
		c := Contribute{Member: a.Member, Use: a.Use, Risk: a.Risk}
		for _, m := range p.Party {
			if m.Name != a.Member {
				continue
			}
			var err error
			if c.Tool, err = m.ToolNumber(a.Use); err != nil {
				return none, err
			}
		}
		if _, err := p.do(p.run, c); err != nil {
			return none, err
		}
	}
	faces, err := round.Faces()
	if err != nil {
		return none, err
	}
	s.ConditionsInForce, s.EffectsInForce = p.run.conditionMarks(), p.run.effectMarks(true)
	card, _ := p.run.Card()
	s.Card, s.Kind, s.Ability, s.Level = p.Label(card.ID), p.run.Pending.Kind, card.Ability, card.Level
	events, err := p.do(p.run, Complete{Member: round.Drawer}, faces...)
	if err != nil {
		return none, err
	}
	e := events[0].(Completed) //nolint:forcetypeassert // what completing a round begins with
	s.Round, s.TN, s.Modifier, s.PartyScore, s.PartyTarget, s.PartySuccess = e.Round, e.TN, e.Modifier, e.Score, e.Target, e.Passed
	s.ExplorationGain, s.Exploration, s.Outcome = e.ExplorationGain, e.Exploration, p.run.Outcome
	for _, res := range e.Results {
		if err := round.CheckRisk(res.Member, res.RiskRoll); err != nil {
			return none, err
		}
		s.Members = append(s.Members, p.member(res))
	}
	s.EffectsAfter = p.run.effectMarks(false)
	if next := p.run.NextDraw(); next != "" {
		s.NextDraw = &next
	}
	return s, nil
}

// draw draws the card that the file names: the die that decides between several is its place among them.
func (p *player) draw(i int, round TranscriptRound) error {
	n, err := p.CardAt(round.Card)
	if err != nil {
		return err
	}
	var c RunCommand = Draw{Member: round.Drawer}
	now := p.run
	if i == 0 {
		c = Enter{Ruleset: now.Ruleset, Dungeon: now.Dungeon, Leader: round.Drawer, Members: p.entrants()}
		now = Run{}
	}
	faces, there := p.run.drawFaces(CardID(n))
	if _, err := p.do(now, c, faces...); err != nil {
		return err
	}
	if !there {
		return NotDrawable(round.Card, p.run.Pending.Kind)
	}
	return nil
}

// drawFaces returns the reported dice that bring a card with the next draw: none when there is no choice. When the card is
// not among the candidates it returns what brings some card, and false.
func (r Run) drawFaces(card string) ([]int, bool) {
	if r.Over() || r.Pending != nil {
		return nil, false
	}
	ids, _ := r.Candidates()
	at := slices.Index(ids, card)
	if len(ids) < 2 {
		return nil, at == 0
	}
	return []int{max(at, 0) + 1}, at >= 0
}

func (p *player) member(res Result) MemberState {
	m, _ := p.run.Member(res.Member)
	s := MemberState{
		Name: res.Member, Acted: res.Acted, ExhaustionGain: res.Gain, Exhaustion: res.Exhaustion, Exhausted: p.run.Exhausted(m),
		ToolUsesLeft: map[string]int{},
	}
	for _, t := range m.Tools {
		s.ToolUsesLeft[t.ID] = t.UsesLeft
	}
	if res.Acted {
		s.Roll, s.Effective, s.ToolBonus, s.RiskBonus, s.Total, s.Success = &res.Roll, &res.Effective, &res.ToolBonus, &res.RiskBonus, &res.Total, &res.Success
	}
	return s
}
