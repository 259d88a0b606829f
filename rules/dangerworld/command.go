package dangerworld

// Command is something that a player or the GM wants done in a scene.
type Command interface{ decide(t *turn) error }

// What the GM buys with botches.
const (
	BuyDanger             = "DANGER"
	BuyPenaltyDie         = "PENALTY_DIE"
	BuySetbackMinor       = "SETBACK_MINOR"
	BuyHitReduced         = "HIT_REDUCED"
	BuySetbackMeaningful  = "SETBACK_MEANINGFUL"
	BuySetbackSignificant = "SETBACK_SIGNIFICANT"
	BuyHitFull            = "HIT_FULL"
	BuySetbackMajor       = "SETBACK_MAJOR"
	BuySetbackHuge        = "SETBACK_HUGE"
	BuyHitOverload        = "HIT_OVERLOAD"
)

var purchases = []string{
	BuyDanger, BuyPenaltyDie, BuySetbackMinor, BuyHitReduced, BuySetbackMeaningful, BuySetbackSignificant, BuyHitFull, BuySetbackMajor,
	BuySetbackHuge, BuyHitOverload,
}

// IsSetback tells whether it is a setback.
func (p Purchase) IsSetback() bool {
	switch p.ID {
	case BuySetbackMinor, BuySetbackMeaningful, BuySetbackSignificant, BuySetbackMajor, BuySetbackHuge:
		return true
	}
	return false
}

// IsHit tells whether it is a hit against a character.
func (p Purchase) IsHit() bool {
	switch p.ID {
	case BuyHitReduced, BuyHitFull, BuyHitOverload:
		return true
	}
	return false
}

// Item is one entry of the botch table that is bought.
type Item struct {
	Buy string
	// Challenge names the challenge that gets a penalty die, or the new one of a setback.
	Challenge string
	// Difficulty is the GM's number for a setback; nil for the usual one (DW-SPEND-11).
	Difficulty *int
	// Target is who is hit, "" for the character of the check.
	Target string
}

// The commands.
type (
	// Begin opens a scene. Refused: ALREADY_BEGUN.
	Begin struct{ Ruleset *Ruleset }
	// AddSheet brings a character in. Points bring no running effect by themselves; effects that the sheet has go on.
	// Refused: ALREADY_PRESENT.
	AddSheet struct{ Sheet Sheet }
	// RemoveSheet takes a character out and closes their check. Refused: NOT_PRESENT.
	RemoveSheet struct{ Character string }
	// SetSheet replaces a sheet as the GM says. Refused: NOT_PRESENT.
	SetSheet struct{ Sheet Sheet }
	// CreateChallenge puts something in the way. Refused: NAME_TAKEN, BAD_DIFFICULTY.
	CreateChallenge struct {
		Name       string
		Difficulty int
		Penalty    int
		AspectCap  *int
	}
	// EditChallenge changes a challenge by the GM's hand, and nothing but that challenge (O-12). What is nil stays; an
	// aspect cap below 0 takes the cap away. Refused: NO_SUCH_CHALLENGE, BAD_DIFFICULTY.
	EditChallenge struct {
		Name       string
		Status     string
		Difficulty *int
		Penalty    *int
		AspectCap  *int
	}
	// OpenCheck builds a pool, and fails the check at once when it is empty. It takes the place of the character's
	// check before, whose botches lapse or are banked.
	// Refused: NOT_PRESENT, NO_SUCH_CHALLENGE, CHALLENGE_NOT_OPEN, KNOCKED_OUT, DEAD, UNKNOWN_STAT, CHECK_UNDER_WAY,
	// BOTCHES_UNSPENT, NOT_ENOUGH_FP, ASPECT_CAP, NOT_ENOUGH_BONUS_DICE, BUNDLED_BONUS_DICE, TOO_MANY_DANGER_DICE, EMPTY_POOL.
	OpenCheck struct {
		Character, Challenge string
		// Stat names the stat; Number stands in for it under pool_source CALLER.
		Stat       string
		Number     *int
		AspectFP   int
		NegativeFP int
		BonusDice  int
		DangerDice int
		// KeepBotches refuses to take the place of a check with unspent botches: they are the GM's, not the player's to lapse.
		KeepBotches bool
	}
	// PayNegative is the GM's: FP for a negative aspect, before the first roll (DW-NEG-01). Refused: NO_SUCH_CHECK,
	// ALREADY_ROLLED, CHECK_OVER.
	PayNegative struct{ Check, FP int }
	// DeclineNegative turns that FP down, where the ruleset allows it (O-19). Refused: NO_SUCH_CHECK, ALREADY_ROLLED,
	// CHECK_OVER, NOT_ALLOWED, NOT_ENOUGH_FP (they are spent).
	DeclineNegative struct{ Check int }
	// RollCheck makes the first roll (DW-LOCK-01). Refused: NO_SUCH_CHECK, ALREADY_ROLLED, CHECK_OVER, KNOCKED_OUT, DEAD.
	RollCheck struct{ Check int }
	// Reroll locks dice and rolls the others again. Refused: NO_SUCH_CHECK, NOT_ROLLED, CHECK_OVER, KNOCKED_OUT, DEAD,
	// NO_REROLL_LEFT, NO_SUCH_DIE, NOT_LOCKABLE, NO_DIE_LEFT, TOO_LATE, NOT_ENOUGH_FP, ASPECT_CAP, TOO_MANY_DANGER_DICE.
	Reroll struct {
		Check int
		Lock  []string
		// AspectFP and DangerDice join dice where the ruleset lets them join before any roll (O-13, O-18).
		AspectFP, DangerDice int
	}
	// Claim ends the rolling and takes a set. Refused: NO_SUCH_CHECK, NOT_ROLLED, CHECK_OVER, BAD_CANCEL,
	// NO_SUCH_SET.
	Claim struct {
		Check int
		// Height names a set; 0 leaves the choice to the ruleset, and with None nothing is claimed.
		Height int
		None   bool
		// Cancel names by height the dice given up to penalty dice.
		Cancel map[int][]string
	}
	// SpendBotches is the GM's: everything or nothing. Refused: NO_SUCH_CHECK, NOT_RESOLVED, CHECK_OVER,
	// NOT_ENOUGH_BOTCHES, NO_SUCH_PURCHASE, NO_SUCH_CHALLENGE, NAME_TAKEN, BAD_DIFFICULTY, NOT_PRESENT.
	SpendBotches struct {
		Check int
		Items []Item
	}
	// NoteBenefit keeps the benefit of a check that beat its difficulty (DW-BONUS-01). Refused: NO_SUCH_CHECK, NO_BENEFIT.
	NoteBenefit struct {
		Check int
		Text  string
	}
	// CloseCheck ends a check in any phase; what was paid stays paid. Refused: NO_SUCH_CHECK, CHECK_OVER, BOTCHES_UNSPENT.
	CloseCheck struct {
		Check int
		// KeepBotches is as in OpenCheck.
		KeepBotches bool
	}
	// RaiseDanger raises somebody's danger level by steps. Refused: NOT_PRESENT.
	RaiseDanger struct {
		Character string
		Steps     int
	}
	// SetDanger sets danger points by the GM's hand (O-24): no effect ends and none begins, but death at the end of the track.
	// Refused: NOT_PRESENT, DEAD.
	SetDanger struct {
		Character string
		Points    int
	}
	// EndEncounter lifts what lasts until then, for everybody (DW-TRACK-10). Challenges and botches outlive it.
	EndEncounter struct{}
	// LongTermRest restores injured stats and by default takes danger points back to 0, for the characters named or for all
	// when none is. Refused: NOT_PRESENT.
	LongTermRest struct{ Characters []string }
)
