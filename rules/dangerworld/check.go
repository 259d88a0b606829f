package dangerworld

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// MaxBenefit is the longest note of a benefit, in characters.
const MaxBenefit = 1000

// able refuses checks of the knocked out and the dead (DW-TRACK-06, -07).
func able(s Sheet) error {
	switch {
	case s.Dead:
		return play.Refuse(IsDead, "%s is dead", s.Character)
	case s.KO:
		return play.Refuse(KnockedOut, "%s is knocked out until the encounter ends", s.Character)
	}
	return nil
}

// effects returns how often Bashed and Stunned count in a pool (O-22).
func (rs *Ruleset) effects(s Sheet) (bashed, stunned int) {
	if rs.is("harm_stacking", "WORST_ONLY") {
		return min(1, s.Bashed), min(1, s.Stunned)
	}
	return s.Bashed, s.Stunned
}

// spendFP takes FP for an aspect off a sheet (DW-ASP-01, -03). Spent is what this check spent before.
func (t *turn) spendFP(s Sheet, c Challenge, fp, spent int) (Sheet, error) {
	if most := t.Ruleset.int("aspect_spend_cap"); most > 0 && fp > most {
		return s, play.Refuse(AspectCap, "%d FP are too many: an aspect takes at most %d", fp, most)
	}
	if c.AspectCap != nil && fp+spent > *c.AspectCap {
		return s, play.Refuse(AspectCap, "%d FP are too many: the GM allows %d on %s", fp+spent, *c.AspectCap, c.Name)
	}
	if fp > s.FP {
		return s, play.Refuse(NotEnoughFP, "%d FP are needed, %d at hand", fp, s.FP)
	}
	s.FP -= fp
	return s, nil
}

// spendBonus takes bonus dice off a sheet, the oldest first; whole bundles where they go together (O-09).
func (t *turn) spendBonus(s Sheet, n int) (Sheet, error) {
	if n > s.BonusDice() {
		return s, play.Refuse(NotEnoughBonus, "%d bonus dice are needed, %d at hand", n, s.BonusDice())
	}
	left := []int{}
	if t.Ruleset.is("bonus_dice_spending", "BUNDLE") {
		// reach[i][k]: bundles i and later can make k dice.
		reach := make([][]bool, len(s.Bonus)+1)
		for i := len(s.Bonus); i >= 0; i-- {
			reach[i] = make([]bool, n+1)
			for k := range reach[i] {
				reach[i][k] = k == 0 || i < len(s.Bonus) && (reach[i+1][k] || k >= s.Bonus[i] && reach[i+1][k-s.Bonus[i]])
			}
		}
		if !reach[0][n] {
			return s, play.Refuse(BundledBonus, "bonus dice gained together are spent together: %v make no %d", s.Bonus, n)
		}
		for i, b := range s.Bonus {
			if b <= n && reach[i+1][n-b] {
				n -= b
				continue
			}
			left = append(left, b)
		}
		s.Bonus = left
		return s, nil
	}
	for _, b := range s.Bonus {
		used := min(b, n)
		n -= used
		if b > used {
			left = append(left, b-used)
		}
	}
	s.Bonus = left
	return s, nil
}

// checkDangerDice refuses more danger dice than the ruleset lets a player add to a check (O-13).
func (t *turn) checkDangerDice(n int) error {
	if most := t.Ruleset.int("max_danger_dice"); most > 0 && n > most {
		return play.Refuse(TooManyDangerDice, "%d danger dice are too many: a check takes at most %d", n, most)
	}
	return nil
}

// normalFrom returns the number that stands for the stat in a pool (O-01).
func (c OpenCheck) normalFrom(t *turn, s Sheet) (int, error) {
	caller := t.Ruleset.is("pool_source", "CALLER")
	switch {
	case caller && c.Number == nil:
		return 0, invalid("number", "the caller names how many dice to roll")
	case caller:
		return *c.Number, within("number", *c.Number, 0, MaxDice)
	case c.Number != nil:
		return 0, invalid("number", "dice come from a stat")
	case !t.Ruleset.hasStat(c.Stat):
		return 0, play.Refuse(UnknownStat, "there is no stat %q", c.Stat).At("stat")
	}
	return s.Stat(c.Stat), nil
}

func (c OpenCheck) decide(t *turn) error {
	rs := t.Ruleset
	if err := first(
		within("aspect_fp", c.AspectFP, 0, MaxDice), within("negative_fp", c.NegativeFP, 0, MaxDice),
		within("bonus_dice", c.BonusDice, 0, MaxDice), within("danger_dice", c.DangerDice, 0, MaxDice),
	); err != nil {
		return err
	}
	sheet, err := t.present(c.Character, "character")
	if err != nil {
		return err
	}
	challenge, err := t.named("challenge", c.Challenge)
	if err != nil {
		return err
	}
	number, err := c.normalFrom(t, sheet)
	if err != nil {
		return err
	}
	if challenge.Status != Open { // A-1 (1)
		return play.Refuse(ChallengeNotOpen, "%s is %s", challenge.Name, challenge.Status)
	}
	if err := able(sheet); err != nil {
		return err
	}
	if before, ok := t.current(c.Character); ok {
		if before.Phase != CheckResolved {
			return play.Refuse(CheckUnderWay, "check %d of %s is not over", before.Number, c.Character)
		}
		if err := t.keeps(before, c.KeepBotches); err != nil {
			return err
		}
		t.end(before)
	}
	if sheet, err = t.spendFP(sheet, challenge, c.AspectFP, 0); err != nil { // A-1 (2)
		return err
	}
	if sheet, err = t.spendBonus(sheet, c.BonusDice); err != nil {
		return err
	}
	if err := t.checkDangerDice(c.DangerDice); err != nil {
		return err
	}
	sheet.FP += c.NegativeFP
	bashed, stunned := rs.effects(sheet)
	pool := Pool{
		Normal:  max(0, number+c.AspectFP*rs.int("aspect_dice_per_fp")+c.BonusDice-stunned),
		Danger:  c.DangerDice,
		Penalty: challenge.Penalty + c.NegativeFP*rs.int("negative_aspect_penalty_per_fp"),
	}
	if rs.is("threat_die", "DANGER") {
		pool.Danger += bashed
	} else {
		pool.Penalty += bashed
	}
	empty := pool.Normal+pool.Danger == 0
	if empty && rs.is("empty_pool", "REFUSE") {
		return play.Refuse(EmptyPool, "there is no die to roll")
	}
	if c.AspectFP+c.NegativeFP+c.BonusDice > 0 {
		t.emit(SheetChanged{Sheet: sheet})
	}
	if rs.is("challenge_penalty_duration", "NEXT_ROLL") && challenge.Penalty > 0 { // A-1 (6)
		challenge.Penalty = 0
		t.emit(ChallengeSet{Challenge: challenge})
	}
	check := Check{
		Number: t.Opened + 1, Character: c.Character, Challenge: c.Challenge, Phase: CheckOpened, Pool: pool,
		AspectFP: c.AspectFP, NegativeFP: c.NegativeFP, BonusDice: c.BonusDice, DangerDice: c.DangerDice,
	}
	if c.Number == nil {
		check.Stat = c.Stat
	}
	t.emit(CheckBegun{Check: check})
	if empty { // A-1 (7), DW-POOL-04
		t.emit(CheckDecided{Check: check.Number, Outcome: Outcome{Unrolled: true}})
	}
	return nil
}

// keeps refuses to let botches lapse that the GM could spend, when the command asks for that.
func (t *turn) keeps(c Check, keep bool) error {
	if keep && c.Unspent > 0 && !t.Ruleset.is("botch_carry", "BANK") {
		return play.Refuse(BotchesUnspent, "check %d has %d botches for the GM to spend", c.Number, c.Unspent)
	}
	return nil
}

// end closes a check; its botches lapse or go to the bank (DW-BOTCH-05).
func (t *turn) end(c Check) {
	e := CheckEnded{Check: c.Number, Lapsed: c.Unspent, Bank: t.Bank}
	if t.Ruleset.is("botch_carry", "BANK") {
		e.Lapsed, e.Bank = 0, t.Bank+c.Unspent
	}
	t.emit(e)
}

// in returns a check in one of the phases, or the refusal that it is not.
func (t *turn) in(number int, phases ...string) (Check, error) {
	c, ok := t.Check(number)
	if !ok {
		return c, play.Refuse(NoSuchCheck, "there is no check %d", number)
	}
	if slices.Contains(phases, c.Phase) {
		return c, nil
	}
	switch {
	case c.Phase == CheckClosed, c.Phase == CheckResolved && !slices.Contains(phases, CheckClosed):
		return c, play.Refuse(CheckOver, "check %d is over", number)
	case c.Phase == CheckRolled && slices.Contains(phases, CheckOpened):
		return c, play.Refuse(AlreadyRolled, "check %d has been rolled", number)
	case slices.Contains(phases, CheckRolled):
		return c, play.Refuse(NotRolled, "check %d has not been rolled", number)
	}
	return c, play.Refuse(NotResolved, "check %d is not resolved", number)
}

func (c PayNegative) decide(t *turn) error {
	if err := within("fp", c.FP, 1, MaxDice); err != nil {
		return err
	}
	check, err := t.in(c.Check, CheckOpened)
	if err != nil {
		return err
	}
	sheet, err := t.present(check.Character, "check")
	if err != nil {
		return err
	}
	if err := within("fp", check.NegativeFP+c.FP, 0, MaxDice); err != nil {
		return err
	}
	sheet.FP += c.FP
	check.Pool.Penalty += c.FP * t.Ruleset.int("negative_aspect_penalty_per_fp")
	t.emit(SheetChanged{Sheet: sheet})
	t.emit(NegativePaid{Check: check.Number, FP: check.NegativeFP + c.FP, Pool: check.Pool})
	return nil
}

func (c DeclineNegative) decide(t *turn) error {
	check, err := t.in(c.Check, CheckOpened)
	if err != nil {
		return err
	}
	if !t.Ruleset.is("negative_aspect_refusal", "ALLOWED") || check.NegativeFP == 0 {
		return play.Refuse(NotAllowed, "there is no FP that may be turned down")
	}
	sheet, err := t.present(check.Character, "check")
	if err != nil {
		return err
	}
	if sheet.FP < check.NegativeFP {
		return play.Refuse(NotEnoughFP, "%d FP would have to be given back, %d at hand", check.NegativeFP, sheet.FP)
	}
	sheet.FP -= check.NegativeFP
	check.Pool.Penalty -= check.NegativeFP * t.Ruleset.int("negative_aspect_penalty_per_fp")
	t.emit(SheetChanged{Sheet: sheet})
	t.emit(NegativePaid{Check: check.Number, FP: 0, Pool: check.Pool})
	return nil
}

// roll rolls the named dice of a pool; the others keep what they show. Dice are asked for in pool order.
func (t *turn) roll(c Check, pool Pool, which func(die string) bool, locked []string) Roll {
	out := Roll{Locked: locked}
	shown := map[string]int{}
	for _, f := range c.Faces() {
		shown[f.Die] = f.Face
	}
	for _, die := range pool.Names() {
		face := shown[die]
		if which(die) {
			face = t.dice.Roll(fmt.Sprintf("check %d/%s", c.Number, die), t.Ruleset.DieSides)
			out.Rolled = append(out.Rolled, die)
		}
		out.Faces = append(out.Faces, Face{Die: die, Face: face})
	}
	return out
}

func (c RollCheck) decide(t *turn) error {
	check, err := t.in(c.Check, CheckOpened)
	if err != nil {
		return err
	}
	sheet, err := t.present(check.Character, "check")
	if err != nil {
		return err
	}
	if err := able(sheet); err != nil {
		return err
	}
	roll := t.roll(check, check.Pool, func(string) bool { return true }, nil)
	t.emit(DiceRolled{Check: check.Number, Roll: roll, Pool: check.Pool, AspectFP: check.AspectFP, DangerDice: check.DangerDice})
	return nil
}

// lock returns the dice locked for a re-roll, in pool order (A-2 (2) (a) to (c)).
func (c Reroll) lock(t *turn, check Check) ([]string, error) {
	locked := map[string]bool{}
	if !t.Ruleset.is("lock_policy", "FREE") {
		for _, die := range check.locked() {
			locked[die] = true
		}
	}
	withPool := t.Ruleset.is("penalty_roll", "WITH_POOL")
	faces := check.Faces()
	for i, die := range c.Lock {
		at := slices.IndexFunc(faces, func(f Face) bool { return f.Die == die })
		field := fmt.Sprintf("lock[%d]", i)
		if at < 0 {
			return nil, play.Refuse(NoSuchDie, "check %d has no die %q", check.Number, die).On(field)
		}
		if faces[at].isPenalty() && !withPool {
			return nil, play.Refuse(NotLockable, "%s is a penalty die, which nobody locks", die).On(field)
		}
		locked[die] = true
	}
	var out []string
	for _, f := range faces {
		lockable := !f.isPenalty() || withPool
		if locked[f.Die] || f.Face == 1 && lockable && t.Ruleset.is("ones_reroll", "FORBIDDEN") {
			out = append(out, f.Die)
		}
	}
	return out, nil
}

func (c Reroll) decide(t *turn) error {
	rs := t.Ruleset
	if err := first(within("aspect_fp", c.AspectFP, 0, MaxDice), within("danger_dice", c.DangerDice, 0, MaxDice)); err != nil {
		return err
	}
	check, err := t.in(c.Check, CheckRolled)
	if err != nil {
		return err
	}
	sheet, err := t.present(check.Character, "check")
	if err != nil {
		return err
	}
	if err := able(sheet); err != nil {
		return err
	}
	if len(check.Rolls) > rs.int("max_rerolls") {
		return play.Refuse(NoRerollLeft, "a check has %d re-rolls", rs.int("max_rerolls"))
	}
	locked, err := c.lock(t, check)
	if err != nil {
		return err
	}
	pool := check.Pool
	if c.AspectFP > 0 {
		if !rs.is("aspect_timing", "ANY_ROLL") {
			return play.Refuse(TooLate, "aspects are invoked before the first roll")
		}
		challenge, _ := t.Challenge(check.Challenge)
		if sheet, err = t.spendFP(sheet, challenge, c.AspectFP, check.AspectFP); err != nil {
			return err
		}
		pool.Normal += c.AspectFP * rs.int("aspect_dice_per_fp")
	}
	if c.DangerDice > 0 {
		if !rs.is("danger_dice_timing", "ANY_ROLL") {
			return play.Refuse(TooLate, "danger dice join before the first roll")
		}
		if err := t.checkDangerDice(check.DangerDice + c.DangerDice); err != nil {
			return err
		}
		pool.Danger += c.DangerDice
	}
	rolls := func(die string) bool {
		return !slices.Contains(locked, die) && (die[0] != 'P' || rs.is("penalty_roll", "WITH_POOL"))
	}
	if !slices.ContainsFunc(pool.Names(), rolls) { // DW-LOCK-05
		return play.Refuse(NoDieLeft, "every die is locked")
	}
	if c.AspectFP > 0 {
		t.emit(SheetChanged{Sheet: sheet})
	}
	t.emit(DiceRolled{
		Check: check.Number, Roll: t.roll(check, pool, rolls, locked), Pool: pool,
		AspectFP: check.AspectFP + c.AspectFP, DangerDice: check.DangerDice + c.DangerDice,
	})
	return nil
}

// Sets evaluates what the dice of a check show. Cancel names by height the dice that the player gives up to penalty
// dice; for other heights danger dice go first. It fails with BAD_CANCEL.
func (rs *Ruleset) Sets(faces []Face, cancel map[int][]string) ([]Set, error) {
	for height := range cancel {
		if _, ok := rs.accomplishment(height); !ok && len(cancel[height]) > 0 {
			return nil, play.Refuse(BadCancel, "there is no set of height %d", height).On("cancel")
		}
	}
	var out []Set
	for _, a := range rs.Accomplishments {
		var normal, danger []string
		penalty := 0
		for _, f := range faces {
			switch {
			case f.Face != a.Height:
			case f.isPenalty():
				penalty++
			case f.isDanger():
				danger = append(danger, f.Die)
			default:
				normal = append(normal, f.Die)
			}
		}
		all := slices.Concat(normal, danger)
		k := min(penalty*rs.cancels(), len(all))
		gone := cancel[a.Height]
		if len(gone) > 0 {
			for i, die := range gone {
				if len(gone) != k || !slices.Contains(all, die) || slices.Contains(gone[:i], die) {
					return nil, play.Refuse(BadCancel, "of height %d exactly %d different dice of %v are given up", a.Height, k, all).On("cancel")
				}
			}
		} else {
			// From the end: danger dice, the highest number first, then normal ones (DW-PEN-05).
			order := slices.Concat(normal, danger)
			slices.Reverse(order)
			gone = order[:k]
		}
		set := Set{Height: a.Height, Cancelled: []string{}}
		for _, die := range all {
			switch {
			case slices.Contains(gone, die):
				set.Cancelled = append(set.Cancelled, die)
			case slices.Contains(danger, die):
				set.Danger++
			default:
				set.Normal++
			}
		}
		if set.Width = set.Normal + set.Danger; set.Width+k == 0 {
			continue
		}
		if set.Triggers = set.Width >= a.MinWidth; set.Triggers {
			set.DangerCost = max(0, a.MinWidth-set.Normal)
			if rs.is("danger_die_use", "ALL") {
				set.DangerCost = set.Danger
			}
		}
		out = append(out, set)
	}
	return out, nil
}

// RerollsLeft counts the re-rolls that a check has left.
func (rs *Ruleset) RerollsLeft(c Check) int {
	return rs.int("max_rerolls") - max(0, len(c.Rolls)-1)
}

func (rs *Ruleset) cancels() int     { return rs.DiceKinds[2].Cancels }
func (rs *Ruleset) dangerSteps() int { return rs.DiceKinds[1].DangerSteps }

// Botches counts the botches of a check so far (DW-BOTCH-01, -02).
func (rs *Ruleset) Botches(c Check) int {
	n := 0
	if rs.is("botch_count", "FINAL") {
		for _, f := range c.Faces() {
			if f.Face == 1 {
				n++
			}
		}
		return n
	}
	for _, r := range c.Rolls {
		n += r.ones()
	}
	return n
}

// choose returns the set claimed, false for none (A-4 (2)).
func (c Claim) choose(rs *Ruleset, candidates []Set) (Set, bool, error) {
	switch {
	case c.None:
		return Set{}, false, nil
	case c.Height != 0:
		i := slices.IndexFunc(candidates, func(s Set) bool { return s.Height == c.Height })
		if i < 0 {
			return Set{}, false, play.Refuse(NoSuchSet, "no set of height %d can be claimed", c.Height).On("height")
		}
		return candidates[i], true, nil
	case len(candidates) == 0:
		return Set{}, false, nil
	}
	best := candidates[len(candidates)-1]
	if rs.is("auto_claim", "CHEAPEST_SUCCESS") {
		for _, s := range slices.Backward(candidates) {
			if s.DangerCost < best.DangerCost {
				best = s
			}
		}
	}
	return best, true, nil
}

func (c Claim) decide(t *turn) error {
	rs := t.Ruleset
	check, err := t.in(c.Check, CheckRolled)
	if err != nil {
		return err
	}
	sheet, err := t.present(check.Character, "check")
	if err != nil {
		return err
	}
	challenge, err := t.named("check", check.Challenge)
	if err != nil {
		return err
	}
	if c.None && c.Height != 0 {
		return invalid("height", "nothing or a set is claimed, not both")
	}
	out := Outcome{Botches: rs.Botches(check)}
	if out.Sets, err = rs.Sets(check.Faces(), c.Cancel); err != nil {
		return err
	}
	var candidates []Set
	for _, s := range out.Sets {
		if s.Triggers && s.Height >= challenge.Difficulty {
			candidates = append(candidates, s)
		}
	}
	claimed, success, err := c.choose(rs, candidates)
	if err != nil {
		return err
	}
	if success {
		taken := []Set{claimed}
		if rs.is("sets_used", "CLAIM_ALL") {
			taken = slices.Clone(candidates)
			slices.Reverse(taken)
		}
		for _, s := range taken {
			out.Heights = append(out.Heights, s.Height)
			out.DangerSteps += s.DangerCost * rs.dangerSteps()
		}
		out.Success, out.Claimed = true, taken[0].Height
		out.BonusGained = out.Claimed - challenge.Difficulty
	}
	if out.BonusGained > 0 {
		sheet.Bonus = append(slices.Clone(sheet.Bonus), out.BonusGained)
	}
	if out.DangerSteps > 0 {
		sheet, out.Harm = t.harm(sheet, rs.points(out.DangerSteps))
	}
	t.emit(CheckDecided{Check: check.Number, Outcome: out})
	if out.BonusGained > 0 || out.DangerSteps > 0 {
		t.emit(SheetChanged{Sheet: sheet, Harm: out.Harm})
	}
	if success {
		// Somebody else's setback may have blocked it since this check was opened: then the success is held like any other.
		switch challenge.Status {
		case Blocked:
			t.setStatus(challenge.Name, Pending)
		case Open:
			t.overcome(challenge.Name)
		}
	}
	return nil
}

func (c SpendBotches) decide(t *turn) error {
	if len(c.Items) == 0 || len(c.Items) > 1000 {
		return invalid("items", "1 to 1000 entries of the botch table are bought at once")
	}
	check, err := c.check(t)
	if err != nil {
		return err
	}
	e := BotchesSpent{Check: check.Number, Bank: t.Bank}
	for i, item := range c.Items {
		p, ok := t.Ruleset.Purchase(item.Buy)
		if !ok {
			return play.Refuse(NoSuchPurchase, "the botch table has no %q", item.Buy).At(fmt.Sprintf("items[%d].buy", i))
		}
		if err := item.fits(t, i, p); err != nil {
			return err
		}
		e.Spent += p.Cost
		e.Bought = append(e.Bought, p.ID)
		if p.IsHit() {
			e.Hits = append(e.Hits, item.target(check))
		}
	}
	if e.Spent > t.Unspent(check) { // A-6 (1)
		return play.Refuse(NotEnoughBotches, "%d botches are needed, %d at hand", e.Spent, t.Unspent(check))
	}
	own := min(e.Spent, check.Unspent)
	e.Unspent, e.Bank = check.Unspent-own, t.Bank-(e.Spent-own)
	t.emit(e)
	for i, item := range c.Items {
		p, _ := t.Ruleset.Purchase(item.Buy)
		if err := item.apply(t, i, p, check); err != nil {
			return err
		}
	}
	return nil
}

// check returns the check that botches are spent on: one that is resolved, or a closed one while a bank is kept.
func (c SpendBotches) check(t *turn) (Check, error) {
	if t.Ruleset.is("botch_carry", "BANK") {
		return t.in(c.Check, CheckResolved, CheckClosed)
	}
	return t.in(c.Check, CheckResolved)
}

func (x Item) target(check Check) string {
	if x.Target != "" {
		return x.Target
	}
	return check.Character
}

// fits refuses an entry with arguments that are another's.
func (x Item) fits(t *turn, i int, p Purchase) error {
	field := func(name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
	switch {
	case x.Challenge == "" && (p.IsSetback() || p.ID == BuyPenaltyDie):
		return invalid(field("challenge"), "%s is bought for a challenge", p.ID)
	case x.Challenge != "" && !p.IsSetback() && p.ID != BuyPenaltyDie:
		return invalid(field("challenge"), "%s has nothing to do with a challenge", p.ID)
	case x.Difficulty != nil && !p.IsSetback():
		return invalid(field("difficulty"), "%s has no difficulty", p.ID)
	case x.Target != "" && !p.IsHit():
		return invalid(field("target"), "%s hits nobody", p.ID)
	}
	if x.Target != "" {
		_, err := t.present(x.Target, field("target"))
		return err
	}
	return nil
}

// apply does what was bought (A-6 (3)).
func (x Item) apply(t *turn, i int, p Purchase, check Check) error {
	field := func(name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
	rs := t.Ruleset
	switch {
	case p.ID == BuyDanger:
		return t.hurt(check.Character, field("buy"), rs.points(p.DangerSteps))
	case p.IsHit():
		return t.hurt(x.target(check), field("target"), rs.hitPoints(p.ID))
	case p.ID == BuyPenaltyDie:
		c, err := t.named(field("challenge"), x.Challenge)
		if err != nil {
			return err
		}
		c.Penalty += p.PenaltyDice
		t.emit(ChallengeSet{Challenge: c})
		return nil
	}
	made := Challenge{Name: x.Challenge, Difficulty: rs.setbackDifficulty(p), Status: Open, Parent: check.Challenge}
	if x.Difficulty != nil {
		if err := t.checkDifficulty(field("difficulty"), *x.Difficulty); err != nil {
			return err
		}
		made.Difficulty = *x.Difficulty
	}
	if err := t.create(field("challenge"), made); err != nil {
		return err
	}
	status := Blocked
	if check.Outcome.Success {
		status = Pending
	}
	t.setStatus(check.Challenge, status)
	t.holdParent(check.Challenge)
	return nil
}

// hurt gives danger points to somebody who has to be there.
func (t *turn) hurt(character, field string, points int) error {
	sheet, err := t.present(character, field)
	if err != nil {
		return err
	}
	sheet, harm := t.harm(sheet, points)
	t.emit(SheetChanged{Sheet: sheet, Harm: harm})
	return nil
}

func (c NoteBenefit) decide(t *turn) error {
	if c.Text == "" || !utf8.ValidString(c.Text) || utf8.RuneCountInString(c.Text) > MaxBenefit {
		return invalid("text", "a benefit is told in 1 to %d characters", MaxBenefit)
	}
	check, ok := t.Check(c.Check)
	if !ok {
		return play.Refuse(NoSuchCheck, "there is no check %d", c.Check)
	}
	if check.Outcome == nil || check.Outcome.BonusGained == 0 {
		return play.Refuse(NoBenefit, "check %d has not beaten its difficulty", c.Check)
	}
	t.emit(BenefitNoted(c))
	return nil
}

func (c CloseCheck) decide(t *turn) error {
	check, err := t.in(c.Check, CheckOpened, CheckRolled, CheckResolved)
	if err != nil {
		return err
	}
	if err := t.keeps(check, c.KeepBotches); err != nil {
		return err
	}
	t.end(check)
	return nil
}
