package diedrop

import (
	"math/big"

	"github.com/wayfarer-rpg/wayfarer/rules/odds"
)

// The figures here are exact and read the ruleset, so that they hold for a campaign's own parameters too. Dice are of
// the ruleset's chain, and a check has one die or more.

func whole(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

func share(part, all int) *big.Rat { return big.NewRat(int64(min(part, all)), int64(all)) }

func rest(p *big.Rat) *big.Rat { return new(big.Rat).Sub(whole(1), p) }

func times(factors ...*big.Rat) *big.Rat {
	product := whole(1)
	for _, f := range factors {
		product.Mul(product, f)
	}
	return product
}

func plus(terms ...*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, t := range terms {
		sum.Add(sum, t)
	}
	return sum
}

// StepDownChance is the chance that a check of n dice steps a die down (DDW-USE-08).
func (rs *Ruleset) StepDownChance(sides, n int, keep Keep) *big.Rat {
	return odds.StepDown(sides, rs.int("use.step_down_max"), n, keep == KeepHighest)
}

// Lifetime is how many checks the food lasts, the one that empties it included. Several dice add up, since one is used
// up after the other (DDW-USE-11). With one die it is also how many turns a light lasts.
func (rs *Ruleset) Lifetime(food []int, n int, keep Keep) odds.Lifetime {
	var l odds.Lifetime
	for _, sides := range rs.Sizes(food) {
		l = append(l, rs.StepDownChance(sides, n, keep))
	}
	return l
}

// Sizes lists the sizes that food dice go through until they are used up, one for each chance of Lifetime.
func (rs *Ruleset) Sizes(food []int) []int {
	var sizes []int
	for _, sides := range food {
		for ; sides > 0; sides = rs.stepDown(sides) {
			sizes = append(sizes, sides)
		}
	}
	return sizes
}

// ChecksUntilOut is how many checks the food lasts on average.
func (rs *Ruleset) ChecksUntilOut(food []int, n int, keep Keep) *big.Rat {
	return rs.Lifetime(food, n, keep).Mean()
}

// ForageSteps gives the chances that a forage attempt leaves the food die one step higher, as it was, or one step
// lower, room enough provided (DDW-FORAGE-08). Up from the largest die is a second die; down from the smallest is no
// food. Both follow forage.at_d20, food.max_dice and forage.when_out.
func (rs *Ruleset) ForageSteps(sides, n int, keep Keep) (up, same, down *big.Rat) {
	stepped, success := rs.StepDownChance(sides, n, keep), rs.forageChance()
	up = times(rest(stepped), success)
	down = times(stepped, rest(success))
	if rs.stepUp(sides) == 0 && (rs.text("forage.at_d20") == "no_gain" || rs.int("food.max_dice") < 2) {
		up = new(big.Rat)
	}
	if rs.stepDown(sides) == 0 && rs.text("forage.when_out") == "no_gain" {
		down = stepped
	}
	return up, rest(plus(up, down)), down
}

func (rs *Ruleset) forageChance() *big.Rat { return share(7-rs.int("forage.success_min"), 6) }

// ForageAttempts is how many attempts it takes on average from one food die until a larger one is first reached, if
// there is room and nobody dies. When the food runs out on the way, success begins again with the smallest die; with
// forage.when_out = no_gain it never does, so that the wait has no end and the answer is nil.
func (rs *Ruleset) ForageAttempts(from, to, n int, keep Keep) *big.Rat {
	if from < to && rs.text("forage.when_out") == "no_gain" {
		return nil
	}
	// climb is how many attempts lead from a die to the next larger one; first from no food to the smallest die.
	climb := new(big.Rat).Inv(rs.forageChance())
	sum := new(big.Rat)
	for sides := rs.smallest(); sides > 0 && sides < to; sides = rs.stepUp(sides) {
		up, _, down := rs.ForageSteps(sides, n, keep)
		climb = times(plus(whole(1), times(down, climb)), new(big.Rat).Inv(up))
		if sides >= from {
			sum.Add(sum, climb)
		}
	}
	return sum
}

// EncounterChance is the chance that a round outdoors ends with an encounter (DDW-ENC-07).
func (rs *Ruleset) EncounterChance() *big.Rat { return share(rs.int("enc.check_max"), 6) }

// TurnEncounterChance is the chance of an encounter in a turn inside a site, with light or in the dark (DDW-DARK-07).
func (rs *Ruleset) TurnEncounterChance(dark bool) *big.Rat {
	if dark {
		return share(rs.int("dark.check_max"), 6)
	}
	return share(rs.int("turn.check_max"), 6)
}

// RowChance is the chance of a row of an outdoor table, 2 to 8, once there is an encounter (DDW-ENC-07).
func RowChance(total int) *big.Rat { return twoDice(total, total, 4) }

// ReactionChances gives the chance of each reaction by its id (DDW-NPC-02).
func (rs *Ruleset) ReactionChances() map[string]*big.Rat {
	chances := map[string]*big.Rat{}
	for _, r := range rs.Reactions {
		chances[r.ID] = twoDice(r.Min, r.Max, 6)
	}
	return chances
}

// twoDice is the chance that two dice add up to a total within bounds.
func twoDice(least, most, sides int) *big.Rat {
	ways := 0
	for a := 1; a <= sides; a++ {
		for b := 1; b <= sides; b++ {
			if least <= a+b && a+b <= most {
				ways++
			}
		}
	}
	return share(ways, sides*sides)
}
