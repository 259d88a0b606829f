package play

import "fmt"

// Die is one rolled die.
type Die struct {
	// Purpose says what the die was rolled for, for example "roll/ada" or "encounter check".
	Purpose string `json:"purpose"`
	// Sides is the number of sides, at least 1.
	Sides int `json:"sides"`
	// Face is the face shown, 1 to Sides.
	Face int `json:"face"`
}

// Dice hands out faces to the rules and records what was asked, in order. The zero value has no faces: every roll
// fails. A Dice belongs to one decision; it is not safe for concurrent use.
//
// Rules ask with Roll and need not look at failures except in a loop that rolls until something happens, which stops
// at Failed. Whoever called the rules asks Close once, after them: a decision whose dice failed is void.
type Dice struct {
	next     func(sides int) (int, error)
	reported []int
	byHand   bool
	rolled   []Die
	// plain is the source of dice that keep no record.
	plain func(sides int) int
	err   error
}

// NewDice makes dice from a source of faces. An error of the source voids the decision.
func NewDice(next func(sides int) (int, error)) *Dice { return &Dice{next: next} }

// ForgetfulDice makes dice from a source of faces that keep no record of what was rolled, for simulations. They serve one
// decision after the other.
func ForgetfulDice(next func(sides int) int) *Dice { return &Dice{plain: next} }

// ReportedDice makes dice from faces that were rolled by hand, used in the order given. Too few, too many and faces
// that the die asked for does not have are refused by Close as BAD_DICE.
func ReportedDice(faces ...int) *Dice { return &Dice{reported: faces, byHand: true} }

// Roll returns the next face of a die with the given number of sides, 1 to sides. Once the dice have failed it
// returns 1.
func (d *Dice) Roll(purpose string, sides int) int { return d.RollFor(purpose, "", sides) }

// RollFor is Roll with a purpose in two parts, which are put together only for a record.
func (d *Dice) RollFor(purpose, who string, sides int) int {
	if d.err != nil {
		return 1
	}
	if d.plain == nil {
		face, err := d.face(sides)
		return d.keep(purpose, who, sides, face, err)
	}
	face := d.plain(sides)
	if face < 1 || face > sides {
		return d.keep(purpose, who, sides, face, nil)
	}
	return face
}

// keep records a face, or why there is none.
func (d *Dice) keep(purpose, who string, sides, face int, err error) int {
	if err == nil && (face < 1 || face > sides) {
		err = fmt.Errorf("face %d of a d%d for %s", face, sides, purpose+who)
		if d.byHand {
			err = Refuse(BadDice, "reported die %d is %d, which a d%d (%s) does not have", len(d.rolled)+1, face, sides, purpose+who)
		}
	}
	if err != nil {
		d.err = err
		return 1
	}
	d.rolled = append(d.rolled, Die{Purpose: purpose + who, Sides: sides, Face: face})
	return face
}

func (d *Dice) face(sides int) (int, error) {
	switch {
	case d.byHand && len(d.rolled) < len(d.reported):
		return d.reported[len(d.rolled)], nil
	case d.byHand:
		return 0, Refuse(BadDice, "too few dice: %d reported, a d%d is needed next", len(d.reported), sides)
	case d.next == nil:
		return 0, Refuse(BadDice, "no dice at hand, a d%d is needed", sides)
	}
	return d.next(sides)
}

// Failed reports whether a roll has failed.
func (d *Dice) Failed() bool { return d.err != nil }

// Rolled returns every die handed out so far, in order; none of forgetful ones.
func (d *Dice) Rolled() []Die { return d.rolled }

// Reported reports whether the faces were rolled by hand.
func (d *Dice) Reported() bool { return d.byHand }

// Close returns why the dice are void: a failed source, or reported dice that do not fit what the rules asked for.
func (d *Dice) Close() error {
	if d.err == nil && d.byHand && len(d.reported) > len(d.rolled) {
		return Refuse(BadDice, "too many dice: %d reported, %d needed", len(d.reported), len(d.rolled))
	}
	return d.err
}
