package dangerworld

import (
	"fmt"
	"maps"
	"slices"
)

// Bounds of what may come in, so that no sum overflows and no command rolls for ever.
const (
	// MaxDice bounds the dice of one kind that one command adds to a check or a challenge.
	MaxDice = 100
	// MaxChallenges, MaxSheets and MaxOpenChecks bound a scene.
	MaxChallenges = 500
	MaxSheets     = 50
	// MaxName is the longest name of a challenge, in characters.
	MaxName   = 100
	maxStat   = 100
	maxNumber = 1_000_000
	// keptChecks is how many closed checks a scene still shows.
	keptChecks = 50
)

// Scene is the state of Danger World play with those present. It is the fold of its events; treat it as a value.
type Scene struct {
	// Ruleset is the one frozen when the scene began. It is shared and never changed.
	Ruleset *Ruleset `json:"ruleset"`
	// Sheets in order of joining.
	Sheets []Sheet `json:"sheets"`
	// Challenges in order of creation, the done ones included.
	Challenges []Challenge `json:"challenges"`
	// Checks in order of opening: all that are open, and the latest that are closed.
	Checks []Check `json:"checks"`
	// Opened counts the checks ever opened.
	Opened int `json:"opened"`
	// Bank holds botches that the GM keeps from closed checks; always 0 unless the ruleset lets them be kept (O-10).
	Bank int `json:"bank"`
}

// Begun reports whether the scene has begun.
func (s Scene) Begun() bool { return s.Ruleset != nil }

// Sheet is what the rules know of a character.
type Sheet struct {
	// Character is an opaque reference, unique in the scene.
	Character string `json:"character"`
	// Stats by name; one that is absent is 0.
	Stats map[string]int `json:"stats"`
	// Reductions are what injuries have taken off stats, by name, without zeros.
	Reductions map[string]int `json:"stat_reductions,omitempty"`
	FP         int            `json:"fp"`
	// Bonus lists bonus dice by what was gained together, the oldest first, without zeros.
	Bonus []int `json:"bonus,omitempty"`
	// Points are danger points.
	Points int `json:"danger_points"`
	// Bashed and Stunned count the levels whose effect runs.
	Bashed  int  `json:"bashed"`
	Stunned int  `json:"stunned"`
	KO      bool `json:"ko"`
	Dead    bool `json:"dead"`
}

// BonusDice is how many bonus dice are at hand.
func (s Sheet) BonusDice() int {
	n := 0
	for _, b := range s.Bonus {
		n += b
	}
	return n
}

// Stat returns a stat as it is now, reductions taken off.
func (s Sheet) Stat(name string) int { return s.Stats[name] - s.Reductions[name] }

// The states of a challenge.
const (
	// Open can be tried, Blocked waits for a setback to be overcome, Pending is done but for a setback, Done is done.
	Open    = "OPEN"
	Blocked = "BLOCKED"
	Pending = "PENDING"
	Done    = "DONE"
)

// Challenge is whatever stands in the way (DW-DIFF-02).
type Challenge struct {
	// Name is unique in the scene.
	Name       string `json:"name"`
	Difficulty int    `json:"difficulty"`
	// Penalty is how many penalty dice burden it.
	Penalty int    `json:"penalty"`
	Status  string `json:"status"`
	// Parent is the challenge that it is a setback of, "" for none.
	Parent string `json:"parent,omitempty"`
	// AspectCap is the most FP that one check may spend on it, by the GM's word; nil for none (DW-ASP-03).
	AspectCap *int `json:"aspect_cap,omitempty"`
}

// The phases of a check.
const (
	// CheckOpened waits for the first roll, CheckRolled for a re-roll or the claim, CheckResolved for botches to be spent.
	CheckOpened   = "OPENED"
	CheckRolled   = "ROLLED"
	CheckResolved = "RESOLVED"
	CheckClosed   = "CLOSED"
)

// Pool is how many dice of each kind a check rolls.
type Pool struct {
	Normal  int `json:"normal"`
	Danger  int `json:"danger"`
	Penalty int `json:"penalty"`
}

// Names lists the dice in the order in which they are rolled: N1, N2, …, D1, …, P1, … (DW-POOL-03).
func (p Pool) Names() []string {
	out := make([]string, 0, p.Normal+p.Danger+p.Penalty)
	for _, k := range []struct {
		prefix string
		n      int
	}{{"N", p.Normal}, {"D", p.Danger}, {"P", p.Penalty}} {
		for i := range k.n {
			out = append(out, fmt.Sprintf("%s%d", k.prefix, i+1))
		}
	}
	return out
}

// Face is what one die of a pool shows.
type Face struct {
	Die  string `json:"die"`
	Face int    `json:"face"`
}

func (f Face) isPenalty() bool { return f.Die[0] == 'P' }
func (f Face) isDanger() bool  { return f.Die[0] == 'D' }

// Roll is one roll of a check.
type Roll struct {
	// Rolled and Locked name the dice that were rolled and those that were not, in pool order; penalty dice that may not be
	// rolled again are in neither.
	Rolled []string `json:"rolled"`
	Locked []string `json:"locked"`
	// Faces is what all dice show after it, in pool order.
	Faces []Face `json:"faces"`
}

// ones counts the dice rolled that came up 1.
func (r Roll) ones() int {
	n := 0
	for _, f := range r.Faces {
		if f.Face == 1 && slices.Contains(r.Rolled, f.Die) {
			n++
		}
	}
	return n
}

// Check is one attempt at a challenge.
type Check struct {
	// Number counts from 1 in the scene.
	Number    int    `json:"number"`
	Character string `json:"character"`
	Challenge string `json:"challenge"`
	// Stat is the stat checked, "" when the caller named the number (O-01).
	Stat  string `json:"stat,omitempty"`
	Phase string `json:"phase"`
	Pool  Pool   `json:"pool"`
	// AspectFP were spent, NegativeFP paid by the GM, BonusDice spent, DangerDice added by the player.
	AspectFP   int `json:"aspect_fp,omitempty"`
	NegativeFP int `json:"negative_fp,omitempty"`
	BonusDice  int `json:"bonus_dice,omitempty"`
	DangerDice int `json:"danger_dice,omitempty"`
	// Rolls made so far.
	Rolls []Roll `json:"rolls,omitempty"`
	// Outcome is nil until a set is claimed or the check fails.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Unspent botches, 0 before the outcome.
	Unspent int `json:"unspent,omitempty"`
	// Benefit is what player and GM worked out (DW-BONUS-01).
	Benefit string `json:"benefit,omitempty"`
}

// Faces returns what the dice show, nil before the first roll.
func (c Check) Faces() []Face {
	if len(c.Rolls) == 0 {
		return nil
	}
	return c.Rolls[len(c.Rolls)-1].Faces
}

// locked returns the dice that were locked in the last roll.
func (c Check) locked() []string {
	if len(c.Rolls) == 0 {
		return nil
	}
	return c.Rolls[len(c.Rolls)-1].Locked
}

// Set is all usable dice of one face.
type Set struct {
	Height int `json:"height"`
	// Width is how many usable dice there are: Normal and Danger ones.
	Width  int `json:"width"`
	Normal int `json:"normal"`
	Danger int `json:"danger"`
	// Cancelled names dice that penalty dice keep out, in pool order.
	Cancelled []string `json:"cancelled"`
	Triggers  bool     `json:"triggers"`
	// DangerCost is how many danger dice it uses when it is claimed; 0 when it does not trigger.
	DangerCost int `json:"danger_cost"`
}

// Outcome is how a check came out.
type Outcome struct {
	// Unrolled tells that there was no die to roll (DW-POOL-04).
	Unrolled bool `json:"unrolled,omitempty"`
	// Sets by rising height.
	Sets    []Set `json:"sets"`
	Botches int   `json:"botches"`
	// Claimed is the height claimed, 0 for none; Heights are all that give their accomplishment, from the highest down.
	Claimed int   `json:"claimed"`
	Heights []int `json:"heights,omitempty"`
	Success bool  `json:"success"`
	// BonusGained are bonus dice gained (DW-BONUS-02); with any of them a benefit is due (DW-BONUS-01).
	BonusGained int `json:"bonus_gained"`
	// DangerSteps are those that the claimed set cost.
	DangerSteps int    `json:"danger_steps"`
	Harm        []Harm `json:"harm,omitempty"`
}

// Harm is a level of the track that was reached.
type Harm struct {
	Level int    `json:"level"`
	Kind  string `json:"harm"`
	// Stat is the one that an injury hit, lowered or not.
	Stat string `json:"stat,omitempty"`
}

// Sheet returns the sheet of a character.
func (s Scene) Sheet(character string) (Sheet, bool) {
	if i := s.sheet(character); i >= 0 {
		return s.Sheets[i], true
	}
	return Sheet{}, false
}

func (s Scene) sheet(character string) int {
	return slices.IndexFunc(s.Sheets, func(x Sheet) bool { return x.Character == character })
}

// Challenge returns a challenge by its name.
func (s Scene) Challenge(name string) (Challenge, bool) {
	if i := s.challenge(name); i >= 0 {
		return s.Challenges[i], true
	}
	return Challenge{}, false
}

func (s Scene) challenge(name string) int {
	return slices.IndexFunc(s.Challenges, func(x Challenge) bool { return x.Name == name })
}

// Check returns a check by its number. Long closed ones are not there any more.
func (s Scene) Check(number int) (Check, bool) {
	if i := s.check(number); i >= 0 {
		return s.Checks[i], true
	}
	return Check{}, false
}

func (s Scene) check(number int) int {
	return slices.IndexFunc(s.Checks, func(x Check) bool { return x.Number == number })
}

// current returns the character's check that is not closed: there is one at most.
func (s Scene) current(character string) (Check, bool) {
	for _, c := range s.Checks {
		if c.Character == character && c.Phase != CheckClosed {
			return c, true
		}
	}
	return Check{}, false
}

// Unspent returns how many botches the GM may spend on a check: its own and, where botches are kept, the bank's.
func (s Scene) Unspent(c Check) int { return c.Unspent + s.Bank }

func (s Scene) clone() Scene {
	s.Sheets, s.Challenges, s.Checks = slices.Clone(s.Sheets), slices.Clone(s.Challenges), slices.Clone(s.Checks)
	return s
}

// plus returns a copy of a map with a number added at a key.
func plus(m map[string]int, key string, n int) map[string]int {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]int{}
	}
	out[key] += n
	return out
}
