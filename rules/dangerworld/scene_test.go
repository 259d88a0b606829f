package dangerworld

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, s Scene) Scene { return do(t, s, attempt()) }
	roll := func(t *testing.T, s Scene) Scene { return rolled(t, s, attempt(), faces(2, 2, 1)) }
	claim := func(t *testing.T, s Scene) Scene { return played(t, s, attempt(), faces(2, 2, 1)) }
	fail := func(t *testing.T, s Scene) Scene { return played(t, s, attempt(), faces(2, 3, 1)) }
	closed := func(t *testing.T, s Scene) Scene { return do(t, claim(t, s), CloseCheck{Check: 1}) }
	hurt := func(steps int) func(t *testing.T, s Scene) Scene {
		return func(t *testing.T, s Scene) Scene {
			return do(t, do(t, s, SetDanger{Character: "ada", Points: 49}), RaiseDanger{Character: "ada", Steps: steps})
		}
	}
	then := func(a, b func(t *testing.T, s Scene) Scene) func(t *testing.T, s Scene) Scene {
		return func(t *testing.T, s Scene) Scene { return b(t, a(t, s)) }
	}
	for name, tt := range map[string]struct {
		before      func(t *testing.T, s Scene) Scene
		command     Command
		code, field string
	}{
		"beginning twice":                      {nil, Begin{Ruleset: Default()}, AlreadyBegun, ""},
		"somebody who is there":                {nil, AddSheet{Sheet{Character: "ada"}}, AlreadyPresent, ""},
		"a sheet of nobody":                    {nil, AddSheet{}, Invalid, "character"},
		"a sheet with an unknown stat":         {nil, AddSheet{Sheet{Character: "bo", Stats: map[string]int{"Luck": 1}}}, UnknownStat, "stats"},
		"a sheet with less than nothing":       {nil, AddSheet{Sheet{Character: "bo", Stats: map[string]int{"Cool": -1}}}, Invalid, "stats"},
		"a sheet with too much FP":             {nil, AddSheet{Sheet{Character: "bo", FP: 1_000_001}}, Invalid, "fp"},
		"a sheet with negative bonus dice":     {nil, AddSheet{Sheet{Character: "bo", Bonus: []int{-1}}}, Invalid, "bonus_dice"},
		"a sheet past the end of the track":    {nil, AddSheet{Sheet{Character: "bo", Points: 56}}, Invalid, "danger_points"},
		"a sheet reduced below nothing":        {nil, SetSheet{Sheet{Character: "ada", Reductions: map[string]int{"Cool": 1}}}, Invalid, "stat_reductions"},
		"a sheet with an unknown reduction":    {nil, SetSheet{Sheet{Character: "ada", Reductions: map[string]int{"Luck": 1}}}, UnknownStat, "stat_reductions"},
		"a sheet with too many effects":        {nil, SetSheet{Sheet{Character: "ada", Stunned: 12}}, Invalid, "stunned"},
		"a sheet of somebody who is not there": {nil, SetSheet{Sheet{Character: "bo"}}, NotPresent, "character"},
		"taking nobody out":                    {nil, RemoveSheet{Character: "bo"}, NotPresent, "character"},
		"a challenge without a name":           {nil, CreateChallenge{Difficulty: 2}, Invalid, "challenge"},
		"a challenge with a line feed":         {nil, CreateChallenge{Name: "a\nb", Difficulty: 2}, Invalid, "challenge"},
		"a challenge with a long name":         {nil, CreateChallenge{Name: strings.Repeat("é", 101), Difficulty: 2}, Invalid, "challenge"},
		"a challenge twice":                    {nil, CreateChallenge{Name: "gate", Difficulty: 2}, NameTaken, "challenge"},
		"a challenge with too many dice":       {nil, CreateChallenge{Name: "x", Difficulty: 2, Penalty: 101}, Invalid, "penalty"},
		"a challenge with a negative cap":      {nil, CreateChallenge{Name: "x", Difficulty: 2, AspectCap: ptr(-1)}, Invalid, "aspect_cap"},
		"editing nothing":                      {nil, EditChallenge{Name: "x"}, NoSuchChallenge, "challenge"},
		"an unknown status":                    {nil, EditChallenge{Name: "gate", Status: "LOST"}, Invalid, "status"},
		"editing to a wrong difficulty":        {nil, EditChallenge{Name: "gate", Difficulty: ptr(1)}, BadDifficulty, "difficulty"},
		"editing to negative dice":             {nil, EditChallenge{Name: "gate", Penalty: ptr(-1)}, Invalid, "penalty"},
		"a check by nobody":                    {nil, attempt(by("bo")), NotPresent, "character"},
		"a check of nothing":                   {nil, attempt(against("x")), NoSuchChallenge, "challenge"},
		"a check with an unknown stat":         {nil, attempt(stat("Luck")), UnknownStat, "stat"},
		"a check with negative dice":           {nil, attempt(danger(-1)), Invalid, "danger_dice"},
		"a check with far too many dice":       {nil, attempt(danger(101)), Invalid, "danger_dice"},
		"a check with negative FP":             {nil, attempt(aspect(-1)), Invalid, "aspect_fp"},
		"a check with a negative payment":      {nil, attempt(negative(-1)), Invalid, "negative_fp"},
		"a check without the bonus dice":       {nil, attempt(bonus(1)), NotEnoughBonus, ""},
		"a check of what is done":              {claim, attempt(), ChallengeNotOpen, ""},
		"a check by the knocked out":           {hurt(1), attempt(), KnockedOut, ""},
		"a check by the dead":                  {hurt(6), attempt(), IsDead, ""},
		"a second check at once":               {open, attempt(), CheckUnderWay, ""},
		"a check while another is rolled":      {roll, attempt(), CheckUnderWay, ""},
		"a check that lets botches lapse":      {fail, attempt(func(o *OpenCheck) { o.KeepBotches = true }), BotchesUnspent, ""},
		"paying for no check":                  {nil, PayNegative{Check: 1, FP: 1}, NoSuchCheck, ""},
		"paying nothing":                       {open, PayNegative{Check: 1}, Invalid, "fp"},
		"paying too late":                      {roll, PayNegative{Check: 1, FP: 1}, AlreadyRolled, ""},
		"paying after the end":                 {claim, PayNegative{Check: 1, FP: 1}, CheckOver, ""},
		"declining what was not paid":          {open, DeclineNegative{Check: 1}, NotAllowed, ""},
		"declining too late":                   {roll, DeclineNegative{Check: 1}, AlreadyRolled, ""},
		"rolling no check":                     {nil, RollCheck{Check: 1}, NoSuchCheck, ""},
		"rolling twice":                        {roll, RollCheck{Check: 1}, AlreadyRolled, ""},
		"rolling what is over":                 {claim, RollCheck{Check: 1}, CheckOver, ""},
		"rolling while knocked out":            {then(open, hurt(1)), RollCheck{Check: 1}, KnockedOut, ""},
		"re-rolling no check":                  {nil, Reroll{Check: 1}, NoSuchCheck, ""},
		"re-rolling before the first roll":     {open, Reroll{Check: 1}, NotRolled, ""},
		"re-rolling what is over":              {claim, Reroll{Check: 1}, CheckOver, ""},
		"re-rolling while dead":                {then(roll, hurt(6)), Reroll{Check: 1}, IsDead, ""},
		"locking a die that is not there":      {roll, Reroll{Check: 1, Lock: names("N1", "N4")}, NoSuchDie, "lock[1]"},
		"locking a name that is none":          {roll, Reroll{Check: 1, Lock: names("")}, NoSuchDie, "lock[0]"},
		"locking everything":                   {roll, Reroll{Check: 1, Lock: names("N1", "N2", "N3", "N3")}, NoDieLeft, ""},
		"joining negative dice":                {roll, Reroll{Check: 1, DangerDice: -1}, Invalid, "danger_dice"},
		"claiming no check":                    {nil, Claim{Check: 1}, NoSuchCheck, ""},
		"claiming before the first roll":       {open, Claim{Check: 1}, NotRolled, ""},
		"claiming twice":                       {claim, Claim{Check: 1}, CheckOver, ""},
		"claiming what does not trigger":       {roll, Claim{Check: 1, Height: 3}, NoSuchSet, "height"},
		"claiming a set and nothing":           {roll, Claim{Check: 1, Height: 2, None: true}, Invalid, "height"},
		"giving up dice for nothing":           {roll, Claim{Check: 1, Cancel: map[int][]string{2: names("N1")}}, BadCancel, "cancel"},
		"spending on no check":                 {nil, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger}}}, NoSuchCheck, ""},
		"spending before the claim":            {roll, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger}}}, NotResolved, ""},
		"spending before the first roll":       {open, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger}}}, NotResolved, ""},
		"spending after the close":             {closed, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger}}}, CheckOver, ""},
		"buying nothing":                       {claim, SpendBotches{Check: 1}, Invalid, "items"},
		"buying what is not sold":              {claim, SpendBotches{Check: 1, Items: []Item{{Buy: "PEACE"}}}, NoSuchPurchase, "items[0].buy"},
		"buying too much":                      {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger}, {Buy: BuyDanger}}}, NotEnoughBotches, ""},
		"a penalty die for nothing":            {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyPenaltyDie}}}, Invalid, "items[0].challenge"},
		"a penalty die for no challenge":       {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyPenaltyDie, Challenge: "x"}}}, NoSuchChallenge, "items[0].challenge"},
		"danger with a challenge":              {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger, Challenge: "gate"}}}, Invalid, "items[0].challenge"},
		"danger with a difficulty":             {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger, Difficulty: ptr(2)}}}, Invalid, "items[0].difficulty"},
		"danger with a target":                 {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyDanger, Target: "ada"}}}, Invalid, "items[0].target"},
		"hitting nobody":                       {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuyHitFull, Target: "bo"}}}, NotPresent, "items[0].target"},
		"a setback without a name":             {claim, SpendBotches{Check: 1, Items: []Item{{Buy: BuySetbackMinor}}}, Invalid, "items[0].challenge"},
		"a benefit of no check":                {nil, NoteBenefit{Check: 1, Text: "x"}, NoSuchCheck, ""},
		"a benefit without words":              {claim, NoteBenefit{Check: 1}, Invalid, "text"},
		"a benefit of an open check":           {roll, NoteBenefit{Check: 1, Text: "x"}, NoBenefit, ""},
		"closing no check":                     {nil, CloseCheck{Check: 1}, NoSuchCheck, ""},
		"closing twice":                        {closed, CloseCheck{Check: 1}, CheckOver, ""},
		"closing over the GM's botches":        {claim, CloseCheck{Check: 1, KeepBotches: true}, BotchesUnspent, ""},
		"danger for nobody":                    {nil, RaiseDanger{Character: "bo", Steps: 1}, NotPresent, "character"},
		"negative danger":                      {nil, RaiseDanger{Character: "ada", Steps: -1}, Invalid, "steps"},
		"points for nobody":                    {nil, SetDanger{Character: "bo"}, NotPresent, "character"},
		"points past the end":                  {nil, SetDanger{Character: "ada", Points: 56}, Invalid, "points"},
		"points for the dead":                  {hurt(6), SetDanger{Character: "ada", Points: 1}, IsDead, ""},
		"a rest of nobody":                     {nil, LongTermRest{Characters: names("bo")}, NotPresent, "characters[0]"},
		"a rest twice at once":                 {nil, LongTermRest{Characters: names("ada", "ada")}, Invalid, "characters[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := table{stat: 3}.begin(t)
			if tt.before != nil {
				s = tt.before(t, s)
			}
			refuse(t, s, tt.code, tt.field, tt.command)
		})
	}
	refuse(t, Scene{}, NotBegun, "", EndEncounter{})
	refuse(t, Scene{}, Invalid, "ruleset", Begin{})
	s := withBotches(t, 2, table{})
	refuse(t, s, NameTaken, "items[0].challenge", buy(s, Item{Buy: BuySetbackMinor, Challenge: "gate"}))
	s = withBotches(t, 4, table{})
	refuse(t, s, NameTaken, "items[1].challenge", buy(s, Item{Buy: BuySetbackMinor, Challenge: "a"}, Item{Buy: BuySetbackMinor, Challenge: "a"}))
}

func withBo(t *testing.T, x table) Scene {
	t.Helper()
	return do(t, x.begin(t), AddSheet{Sheet{Character: "bo", Stats: map[string]int{"Agility": 4}}})
}

func TestSeveralChecksAreOpenAtOnce(t *testing.T) {
	t.Parallel()
	s := withBo(t, table{stat: 3, more: []CreateChallenge{{Name: "guard", Difficulty: 3}}})
	s = do(t, s, attempt())
	s = do(t, s, attempt(by("bo"), against("guard")))
	s = do(t, s, RollCheck{Check: 2}, 3, 3, 3, 1)
	s = do(t, s, RollCheck{Check: 1}, 2, 2, 1)
	s = do(t, s, Claim{Check: 2})
	s = do(t, s, Claim{Check: 1})
	eq(t, "done", names(statusOf(s, "gate"), statusOf(s, "guard")), names(Done, Done))

	// Botches and challenges outlive the encounter; a new check of one replaces the botches of that one alone.
	s = do(t, s, EndEncounter{})
	s = do(t, s, CreateChallenge{Name: "stairs", Difficulty: 2})
	s = do(t, s, attempt(against("stairs")))
	ones, _ := s.Check(1)
	twos, _ := s.Check(2)
	eq(t, "unspent", []int{ones.Unspent, twos.Unspent}, []int{0, 1})
	eq(t, "phases", names(ones.Phase, twos.Phase), names(CheckClosed, CheckResolved))
	// A hit goes against anybody who is there.
	s = do(t, do(t, s, RollCheck{Check: 3}, 1, 1, 3), Claim{Check: 3})
	s = do(t, s, buy(s, Item{Buy: BuyHitReduced, Target: "bo"}))
	bo, _ := s.Sheet("bo")
	eq(t, "points", []int{ada(s).Points, bo.Points}, []int{0, 2})
}

func TestTwoAtOneChallenge(t *testing.T) {
	t.Parallel()
	both := func(t *testing.T) Scene {
		t.Helper()
		s := withBo(t, table{stat: 3})
		s = do(t, s, attempt())
		return do(t, s, attempt(by("bo")))
	}
	t.Run("one fails into a setback before the other succeeds", func(t *testing.T) {
		t.Parallel()
		s := do(t, do(t, both(t), RollCheck{Check: 1}, 1, 1, 3), Claim{Check: 1})
		s = do(t, s, SpendBotches{Check: 1, Items: []Item{{Buy: BuySetbackMinor, Challenge: "dog"}}})
		s = do(t, do(t, s, RollCheck{Check: 2}, 2, 2, 3, 4), Claim{Check: 2})
		eq(t, "gate", statusOf(s, "gate"), Pending)
		s = played(t, s, attempt(against("dog")), faces(2, 2, 3))
		eq(t, "gate", statusOf(s, "gate"), Done)
	})
	t.Run("one succeeds before the other fails", func(t *testing.T) {
		t.Parallel()
		s := do(t, do(t, both(t), RollCheck{Check: 1}, 2, 2, 3), Claim{Check: 1})
		s = do(t, do(t, s, RollCheck{Check: 2}, 5, 2, 3, 4), Claim{Check: 2})
		eq(t, "gate", statusOf(s, "gate"), Done)
	})
}

// What a setback holds is released by the last of its setbacks, through any number of levels (DW-SPEND-12, -13).
func TestSetbacksOfSetbacks(t *testing.T) {
	t.Parallel()
	x := table{stat: 6, gate: 2}
	s := played(t, x.begin(t), attempt(), faces(2, 2, 1, 1, 1, 1))
	s = do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "a"}, Item{Buy: BuySetbackMinor, Challenge: "b"}))
	s = played(t, s, attempt(against("a")), faces(2, 2, 1, 1, 3, 3))
	eq(t, "one of two", names(statusOf(s, "a"), statusOf(s, "gate")), names(Done, Pending))
	s = do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "a1"}))
	s = played(t, s, attempt(against("b")), faces(2, 2, 3, 4, 5, 6))
	eq(t, "the other", names(statusOf(s, "a"), statusOf(s, "b"), statusOf(s, "gate")), names(Pending, Done, Pending))
	s = played(t, s, attempt(against("a1")), faces(2, 2, 1, 1, 3, 4))
	eq(t, "all", names(statusOf(s, "a1"), statusOf(s, "a"), statusOf(s, "gate")), names(Done, Done, Done))
	s = do(t, s, buy(s, Item{Buy: BuySetbackMinor, Challenge: "a2"}))
	eq(t, "all the way up again", names(statusOf(s, "a1"), statusOf(s, "a"), statusOf(s, "gate")), names(Pending, Pending, Pending))

	// By hand the GM changes one challenge and nothing else (O-12).
	s = do(t, s, EditChallenge{Name: "gate", Status: Open, Difficulty: ptr(5), Penalty: ptr(2), AspectCap: ptr(1)})
	c, _ := s.Challenge("gate")
	eq(t, "gate", c, Challenge{Name: "gate", Difficulty: 5, Penalty: 2, Status: Open, AspectCap: ptr(1)})
	eq(t, "a", statusOf(s, "a"), Pending)
	s = do(t, s, EditChallenge{Name: "gate", AspectCap: ptr(-1)})
	c, _ = s.Challenge("gate")
	eq(t, "no cap", c.AspectCap, (*int)(nil))
}

func TestLeavingTheScene(t *testing.T) {
	t.Parallel()
	s := do(t, withBo(t, table{stat: 2}), attempt())
	s = do(t, s, RemoveSheet{Character: "ada"})
	eq(t, "the check", latest(s).Phase, CheckClosed)
	refuse(t, s, NotPresent, "character", attempt())
	s = do(t, s, AddSheet{Sheet{Character: "ada", Stats: map[string]int{"Agility": 1}}})
	eq(t, "numbers are not used again", latest(do(t, s, attempt())).Number, 2)
}

func TestOldClosedChecksAreForgotten(t *testing.T) {
	t.Parallel()
	s := do(t, withBo(t, table{stat: 2}), attempt(by("bo")))
	for range keptChecks + 5 {
		s = do(t, s, attempt())
		s = do(t, s, CloseCheck{Check: s.Opened})
	}
	eq(t, "kept", len(s.Checks), keptChecks+1)
	eq(t, "the open one is", s.Checks[0].Character, "bo")
	refuse(t, s, NoSuchCheck, "", CloseCheck{Check: 2})
}

func TestDangerAtASetup(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		points int
		dead   bool
	}{{54, false}, {55, true}} {
		s := table{stat: 1, points: v.points}.begin(t)
		x := ada(s)
		eq(t, fmt.Sprint(v.points, " points"), []any{x.Bashed, x.Stunned, x.KO, x.Dead}, []any{0, 0, false, v.dead})
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	s := table{}.begin(t)
	for i := range MaxSheets - 1 {
		s = do(t, s, AddSheet{Sheet{Character: fmt.Sprint("guest ", i)}})
	}
	refuse(t, s, TooMany, "", AddSheet{Sheet{Character: "one more"}})
	x := table{}.begin(t)
	for i := range MaxChallenges - 1 {
		x.Challenges = slices.Clip(append(x.Challenges, Challenge{Name: fmt.Sprint(i), Difficulty: 2, Status: Open}))
	}
	refuse(t, x, TooMany, "", CreateChallenge{Name: "one more", Difficulty: 2})
}
