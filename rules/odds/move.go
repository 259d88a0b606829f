package odds

import "math/big"

// Position is a check on the table, after a roll.
type Position struct {
	// Normal and Danger are the faces shown, 1 to 6, together at most MaxPoolDice dice and at least one.
	Normal, Danger []int
	// Locked are dice that are locked already, as numbers from 0 over the normal dice and then the danger dice.
	Locked []int
	// Penalty are the faces of the penalty dice, at most MaxPenaltyDice.
	Penalty []int
	// Difficulty is the least height of a set that succeeds, 2 to 6.
	Difficulty int
	// RerollsLeft is how many re-rolls may still follow, 0 to Rules.Rerolls.
	RerollsLeft int
	Rules       PoolRules
}

// Move is what best play does in a position.
type Move struct {
	// Stop: no die is rolled any more.
	Stop bool
	// Keep are the dice to be locked when the others roll again, the locked ones among them, numbered as in Position.
	// Which of equal dice are kept is open; normal dice come first, since a danger die in a set has its price (DW-DDIE-04).
	Keep []int
	// Success is the chance of a set of the difficulty's height or more.
	Success *big.Rat
	// Botches is how many are to be expected: those still to come, or, when only the last roll counts, those at the end.
	// Penalty dice are left out.
	Botches *big.Rat
}

// BestMove finds the best move of a position. It fails with BAD_ODDS or TOO_MUCH_WORK.
func (p Position) BestMove() (Move, error) {
	locked, err := p.check()
	if err != nil {
		return Move{}, err
	}
	faces := append(append([]int(nil), p.Normal...), p.Danger...)
	drops := p.Rules.FinalBotches && !p.Rules.OnesStay
	if p.Rules.FreeLocks {
		clear(locked)
	}
	// A locked 1 is out of the play when no rule asks for it, but stays a botch.
	var out []int
	live := make([]int, 0, len(faces))
	for i, f := range faces {
		if drops && f == 1 && locked[i] {
			out = append(out, i)
		} else {
			live = append(live, i)
		}
	}
	m := Move{Stop: true, Success: new(big.Rat), Botches: big.NewRat(int64(len(out)), 1)}
	if len(live) == 0 {
		return m, nil
	}
	on := make([]int, 7-p.Difficulty)
	for _, f := range p.Penalty {
		if f >= p.Difficulty {
			on[6-f]++
		}
	}
	n := len(live)
	need := needs(p.Difficulty, n, on)
	if effort(n, p.Difficulty, need, p.Rules) > maxPoolWork {
		return Move{}, tooMuch("a position of %d dice against %d penalty dice", n, len(p.Penalty))
	}
	count := make([]int, 7)
	ones := 0
	for _, i := range live {
		count[faces[i]]++
	}
	if drops {
		ones = count[1]
	}
	for h := 6; h >= p.Difficulty; h-- {
		if count[h] < need[6-h] {
			continue
		}
		m.Success.SetInt64(1)
		if ones > 0 && p.RerollsLeft > 0 { // a set is secured; every die that is no 1 is kept
			m.Stop = false
			for i, f := range faces {
				if f != 1 || locked[i] {
					m.Keep = append(m.Keep, i)
				}
			}
		}
		stay := new(big.Rat).SetFrac(big.NewInt(int64(ones)), pow128(6, p.RerollsLeft).big())
		m.Botches.Add(m.Botches, stay)
		return m, nil
	}
	m.Botches.Add(m.Botches, big.NewRat(int64(ones), 1))
	if p.RerollsLeft == 0 {
		return m, nil
	}
	s := newSolver(n, p.Difficulty, need, p.Rules, p.RerollsLeft)
	shown, held := 0, 0
	for _, i := range live {
		at := s.stride[s.dimension(faces[i])]
		shown += at
		if locked[i] || p.Rules.OnesStay && faces[i] == 1 {
			locked[i] = true
			held += at
		}
	}
	r := p.RerollsLeft - 1
	s.visit(held, r, true, func(int, uint64) {})
	key, roll := s.decide(shown, r)
	if !roll {
		return m, nil
	}
	m.Stop = false
	all := new(big.Int).Exp(big.NewInt(6), big.NewInt(int64(n*(r+1))), nil)
	m.Success.SetFrac(s.layers[r].success[key].big(), all)
	m.Botches.Sub(m.Botches, big.NewRat(int64(ones), 1))
	m.Botches.Add(m.Botches, new(big.Rat).SetFrac(s.layers[r].botches[key].big(), new(big.Int).Mul(all, big.NewInt(6))))
	m.Keep = s.name(key, faces, live, locked, out)
	return m, nil
}

// name finds dice that show what is kept: those that are locked, then the others, higher faces and lower numbers first.
func (s *solver) name(key int, faces, live []int, locked []bool, out []int) []int {
	left := make([]int, len(s.base))
	for i := range left {
		left[i] = s.digit(key, i)
	}
	keep := make([]bool, len(faces))
	for _, i := range out {
		keep[i] = true
	}
	take := func(i int) {
		if d := s.dimension(faces[i]); left[d] > 0 && !keep[i] {
			left[d]--
			keep[i] = true
		}
	}
	for _, i := range live {
		if locked[i] {
			take(i)
		}
	}
	for face := 6; face >= 1; face-- {
		for _, i := range live {
			if faces[i] == face {
				take(i)
			}
		}
	}
	var named []int
	for i, k := range keep {
		if k {
			named = append(named, i)
		}
	}
	return named
}

// dimension of a face in a key.
func (s *solver) dimension(face int) int {
	switch {
	case face > 6-s.heights:
		return 6 - face
	case face == 1 && s.one >= 0:
		return s.one
	}
	return s.low
}

// check returns which dice are locked.
func (p Position) check() ([]bool, error) {
	if err := checkRules(p.Difficulty, p.Rules); err != nil {
		return nil, err
	}
	n := len(p.Normal) + len(p.Danger)
	switch {
	case n < 1 || n > MaxPoolDice:
		return nil, bad("normal", "a position has 1 to %d dice, danger dice included", MaxPoolDice)
	case len(p.Penalty) > MaxPenaltyDice:
		return nil, bad("penalty", "at most %d penalty dice", MaxPenaltyDice)
	case p.RerollsLeft < 0 || p.RerollsLeft > p.Rules.Rerolls:
		return nil, bad("rerolls_left", "rerolls_left must be 0 to %d", p.Rules.Rerolls)
	}
	for _, dice := range []struct {
		field string
		faces []int
	}{{"normal", p.Normal}, {"danger", p.Danger}, {"penalty", p.Penalty}} {
		for _, f := range dice.faces {
			if f < 1 || f > 6 {
				return nil, bad(dice.field, "%s: face %d of a six-sided die", dice.field, f)
			}
		}
	}
	locked := make([]bool, n)
	for _, i := range p.Locked {
		if i < 0 || i >= n {
			return nil, bad("locked", "locked: no die %d", i)
		}
		locked[i] = true
	}
	return locked, nil
}
