package dangerworld

import "slices"

// Event is one fact of a scene.
type Event interface{ applyTo(s *Scene) }

// Apply folds one event. It changes nothing that the old state refers to.
func Apply(s Scene, e Event) Scene {
	s = s.clone()
	e.applyTo(&s)
	return s
}

// The events. Sheets, challenges and checks are as they are after the event.
type (
	// SceneBegun opens a scene.
	SceneBegun struct {
		Ruleset *Ruleset `json:"ruleset"`
	}
	// SheetAdded brings a character in.
	SheetAdded struct {
		Sheet Sheet `json:"sheet"`
	}
	// SheetRemoved takes a character out.
	SheetRemoved struct {
		Character string `json:"character"`
	}
	// SheetChanged gives a sheet as it is now, with the levels of harm reached on the way, in order.
	SheetChanged struct {
		Sheet Sheet  `json:"sheet"`
		Harm  []Harm `json:"harm,omitempty"`
	}
	// ChallengeSet makes a challenge or gives one as it is now.
	ChallengeSet struct {
		Challenge Challenge `json:"challenge"`
	}
	// CheckBegun opens a check.
	CheckBegun struct {
		Check Check `json:"check"`
	}
	// NegativePaid tells that FP for a negative aspect were paid, or given back (DW-NEG-01): all of the check, and its pool.
	NegativePaid struct {
		Check int  `json:"check"`
		FP    int  `json:"fp"`
		Pool  Pool `json:"pool"`
	}
	// DiceRolled tells a roll of a check; the pool is larger than before when dice joined, AspectFP and DangerDice are all of
	// the check.
	DiceRolled struct {
		Check      int  `json:"check"`
		Roll       Roll `json:"roll"`
		Pool       Pool `json:"pool"`
		AspectFP   int  `json:"aspect_fp,omitempty"`
		DangerDice int  `json:"danger_dice,omitempty"`
	}
	// CheckDecided tells how a check came out.
	CheckDecided struct {
		Check   int     `json:"check"`
		Outcome Outcome `json:"outcome"`
	}
	// BotchesSpent tells what the GM bought; sheets and challenges follow.
	BotchesSpent struct {
		Check  int      `json:"check"`
		Spent  int      `json:"spent"`
		Bought []string `json:"bought"`
		// Hits names who was hit, for each HIT bought in order.
		Hits []string `json:"hits,omitempty"`
		// Unspent and Bank are what is left.
		Unspent int `json:"unspent"`
		Bank    int `json:"bank"`
	}
	// BenefitNoted keeps what player and GM worked out.
	BenefitNoted struct {
		Check int    `json:"check"`
		Text  string `json:"text"`
	}
	// CheckEnded closes a check; its botches lapse or go to the bank.
	CheckEnded struct {
		Check  int `json:"check"`
		Lapsed int `json:"lapsed"`
		Bank   int `json:"bank"`
	}
	// EncounterEnded tells of the end of an encounter; sheets follow.
	EncounterEnded struct{}
	// Rested tells of a long-term rest; sheets follow.
	Rested struct {
		Characters []string `json:"characters"`
	}
)

func (e SceneBegun) applyTo(s *Scene) { s.Ruleset = e.Ruleset }

func (e SheetAdded) applyTo(s *Scene) { s.Sheets = append(s.Sheets, e.Sheet) }

func (e SheetRemoved) applyTo(s *Scene) {
	s.Sheets = slices.DeleteFunc(s.Sheets, func(x Sheet) bool { return x.Character == e.Character })
}

func (e SheetChanged) applyTo(s *Scene) {
	if i := s.sheet(e.Sheet.Character); i >= 0 {
		s.Sheets[i] = e.Sheet
	}
}

func (e ChallengeSet) applyTo(s *Scene) {
	if i := s.challenge(e.Challenge.Name); i >= 0 {
		s.Challenges[i] = e.Challenge
		return
	}
	s.Challenges = append(s.Challenges, e.Challenge)
}

func (e CheckBegun) applyTo(s *Scene) {
	s.Opened = e.Check.Number
	s.Checks = append(s.Checks, e.Check)
}

// edit changes a check that is there.
func (s *Scene) edit(number int, change func(c *Check)) {
	if i := s.check(number); i >= 0 {
		change(&s.Checks[i])
	}
}

func (e NegativePaid) applyTo(s *Scene) {
	s.edit(e.Check, func(c *Check) { c.NegativeFP, c.Pool = e.FP, e.Pool })
}

func (e DiceRolled) applyTo(s *Scene) {
	s.edit(e.Check, func(c *Check) {
		c.Phase, c.Pool, c.AspectFP, c.DangerDice = CheckRolled, e.Pool, e.AspectFP, e.DangerDice
		c.Rolls = append(slices.Clone(c.Rolls), e.Roll)
	})
}

func (e CheckDecided) applyTo(s *Scene) {
	s.edit(e.Check, func(c *Check) { c.Phase, c.Outcome, c.Unspent = CheckResolved, &e.Outcome, e.Outcome.Botches })
}

func (e BotchesSpent) applyTo(s *Scene) {
	s.edit(e.Check, func(c *Check) { c.Unspent = e.Unspent })
	s.Bank = e.Bank
}

func (e BenefitNoted) applyTo(s *Scene) { s.edit(e.Check, func(c *Check) { c.Benefit = e.Text }) }

func (e CheckEnded) applyTo(s *Scene) {
	s.edit(e.Check, func(c *Check) { c.Phase, c.Unspent = CheckClosed, 0 })
	s.Bank = e.Bank
	closed := 0
	for _, c := range s.Checks {
		if c.Phase == CheckClosed {
			closed++
		}
	}
	s.Checks = slices.DeleteFunc(s.Checks, func(c Check) bool {
		old := c.Phase == CheckClosed && closed > keptChecks && c.Number != e.Check
		if old {
			closed--
		}
		return old
	})
}

func (EncounterEnded) applyTo(*Scene) {}

func (Rested) applyTo(*Scene) {}
