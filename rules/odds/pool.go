package odds

import (
	"cmp"
	"math/big"
	"slices"
)

const (
	// MaxPoolDice is how many normal and danger dice a pool may have together.
	MaxPoolDice = 12
	// MaxPenaltyDice is how many penalty dice a pool may have.
	MaxPenaltyDice = 12
	// MaxRerolls is how many re-rolls the rules of a pool may allow.
	MaxRerolls = 3
	// maxPoolWork limits the steps of the best play, summed over what the penalty dice can show.
	maxPoolWork = 100_000_000
)

// PoolRules are the parameters of Danger World's checks that matter for the odds.
type PoolRules struct {
	// Rerolls after the first roll, 0 to MaxRerolls; max_rerolls.
	Rerolls int
	// FreeLocks allows locked dice to be taken back; lock_policy=FREE.
	FreeLocks bool
	// OnesStay locks every 1 as soon as it shows; ones_reroll=FORBIDDEN.
	OnesStay bool
	// FinalBotches counts only the ones that show at the end; botch_count=FINAL.
	FinalBotches bool
}

// DefaultPoolRules are two re-rolls, without variants.
func DefaultPoolRules() PoolRules { return PoolRules{Rerolls: 2} }

// Pool is a Danger World check before its first roll.
type Pool struct {
	// Normal and Danger dice, together at most MaxPoolDice. Danger dice lock, roll again and make sets like normal dice
	// (DW-DDIE-02), so that the odds depend on the sum alone.
	Normal, Danger int
	// Penalty dice, 0 to MaxPenaltyDice.
	Penalty int
	// Difficulty is the least height of a set that succeeds, 2 to 6.
	Difficulty int
	Rules      PoolRules
}

// PoolOdds are the odds of a pool under best play.
type PoolOdds struct {
	// Success is the chance of a set of the difficulty's height or more.
	Success *big.Rat
	// Botches is how many ones count.
	Botches Dist
	// Heights is the height of the highest set that succeeds; 0 when none does.
	Heights Dist
}

// Odds computes a pool. It fails with BAD_ODDS or TOO_MUCH_WORK.
func (p Pool) Odds() (PoolOdds, error) {
	if err := p.check(); err != nil {
		return PoolOdds{}, err
	}
	n := p.Normal + p.Danger
	if n == 0 { // fails unrolled, without a botch (DW-POOL-04)
		return PoolOdds{new(big.Rat), Const(0), Const(0)}, nil
	}
	shown := p.penalties(n)
	work := 0
	for _, s := range shown {
		if work += effort(n, p.Difficulty, s.need, p.Rules); work > maxPoolWork {
			return PoolOdds{}, tooMuch("a pool of %d dice against %d penalty dice", n, p.Penalty)
		}
	}
	ones := make([]*big.Int, n*(p.Rules.Rerolls+1)+p.Penalty+1)
	for i := range ones {
		ones[i] = new(big.Int)
	}
	heights := make([]*big.Int, 7)
	for i := range heights {
		heights[i] = new(big.Int)
	}
	t := new(big.Int)
	for _, s := range shown {
		all := newSolver(n, p.Difficulty, s.need, p.Rules, p.Rules.Rerolls).play()
		weight := new(big.Int)
		for _, w := range s.ones {
			weight.Add(weight, w)
		}
		for h, row := range all {
			for o, ways := range row {
				heights[h].Add(heights[h], t.Mul(ways, weight))
				for extra, w := range s.ones {
					ones[o+extra].Add(ones[o+extra], t.Mul(ways, w))
				}
			}
		}
	}
	total := new(big.Int).Exp(big.NewInt(6), big.NewInt(int64(n*(p.Rules.Rerolls+1)+p.Penalty)), nil)
	count := func(ways []*big.Int) Dist {
		vals := make([]int64, len(ways))
		for i := range vals {
			vals[i] = int64(i)
		}
		return newDist(vals, ways, total)
	}
	out := PoolOdds{Heights: count(heights), Botches: count(ones)}
	out.Success = new(big.Rat).Sub(big.NewRat(1, 1), out.Heights.Chance(0))
	return out, nil
}

func (p Pool) check() error {
	switch {
	case p.Normal < 0:
		return bad("dice", "dice must be 0 or more")
	case p.Danger < 0:
		return bad("danger", "danger must be 0 or more")
	case p.Normal > MaxPoolDice || p.Danger > MaxPoolDice || p.Normal+p.Danger > MaxPoolDice:
		return bad("dice", "a pool has at most %d dice, danger dice included", MaxPoolDice)
	case p.Penalty < 0 || p.Penalty > MaxPenaltyDice:
		return bad("penalty", "penalty must be 0 to %d", MaxPenaltyDice)
	}
	return checkRules(p.Difficulty, p.Rules)
}

func checkRules(difficulty int, rules PoolRules) error {
	switch {
	case difficulty < 2 || difficulty > 6:
		return bad("difficulty", "difficulty must be 2 to 6")
	case rules.Rerolls < 0 || rules.Rerolls > MaxRerolls:
		return bad("rerolls", "rerolls must be 0 to %d", MaxRerolls)
	}
	return nil
}

// penalty is what the penalty dice ask for: need is the width with which each height from 6 down to the difficulty
// triggers; ones counts the ways in which they show that, by their number of ones.
type penalty struct {
	need []int
	ones []*big.Int
}

// penalties sums up what the penalty dice can show; what no pool of n dice can tell apart is one.
func (p Pool) penalties(n int) []penalty {
	heights := 7 - p.Difficulty
	var out []penalty
	on := make([]int, heights)
	index := map[[5]int]int{}
	var place func(i, left int, ways *big.Int)
	place = func(i, left int, ways *big.Int) {
		if i < heights {
			for k := 0; k <= left; k++ {
				on[i] = k
				place(i+1, left-k, new(big.Int).Mul(ways, new(big.Int).Binomial(int64(left), int64(k))))
			}
			return
		}
		need := needs(p.Difficulty, n, on)
		var key [5]int
		copy(key[:], need)
		at, known := index[key]
		if !known {
			s := penalty{need: need, ones: make([]*big.Int, p.Penalty+1)}
			for o := range s.ones {
				s.ones[o] = new(big.Int)
			}
			at, out = len(out), append(out, s)
			index[key] = at
		}
		for o := 0; o <= left; o++ { // the rest shows lower faces
			w := new(big.Int).Exp(big.NewInt(int64(p.Difficulty-2)), big.NewInt(int64(left-o)), nil)
			w.Mul(w, new(big.Int).Binomial(int64(left), int64(o)))
			out[at].ones[o].Add(out[at].ones[o], w.Mul(w, ways))
		}
	}
	place(0, p.Penalty, big.NewInt(1))
	return out
}

// needs are the widths that trigger, from height 6 down: a penalty die takes one die away (DW-PEN-04). What n dice never
// reach is n+1.
func needs(difficulty, n int, penalties []int) []int {
	need := make([]int, 7-difficulty)
	for i := range need {
		need[i] = min(6-i+penalties[i], n+1)
	}
	return need
}

// effort estimates the steps of a solver: the pairs of what is locked and what shows.
func effort(n, difficulty int, need []int, rules PoolRules) int {
	pairs := 1
	for _, t := range need {
		pairs *= t * (t + 1) / 2
	}
	pairs *= (n + 1) * (n + 2) / 2
	if difficulty > 2 && (rules.OnesStay || rules.FinalBotches) {
		pairs *= n + 1
	}
	return max(1, rules.Rerolls) * pairs / 8 // the sum of the dice is bounded, which leaves a part of them
}

// A solver plays one pool best, for penalty dice that lie on the table.
//
// Dice with the same face are alike, so a state is how many dice show what: the heights from 6 down to the difficulty,
// then the lower faces together, then, when a rule treats them apart, the ones. With ones apart, they are either kept
// always (OnesStay) or never (FinalBotches; a 1 that stays is a botch, one that rolls again may not be). States in which
// a set triggers need no list: then the play is over, but for ones that roll again.
type solver struct {
	n       int
	rules   PoolRules
	heights int      // how many heights succeed
	need    []int    // width that triggers, for each of them
	faces   []uint64 // how many faces each dimension has, the heights first
	base    []int    // digits of each dimension in a key
	stride  []int
	low     int // dimension of the lower faces, ones among them unless apart; -1 without any
	one     int // dimension of the ones when apart, else -1
	stays   bool
	drops   bool
	sum     []int8 // dice of a key
	ones    []int8 // ones of a key, when apart
	// For each number of re-rolls left after the next roll: what it is worth to keep the dice of a key and roll the rest.
	layers []layer
	best   []int32 // scratch of visit
	pow    []u128  // powers of 6
}

// layer holds the worth of keeping dice. Chances count ways of all n dice in each roll, botches sixths of ways.
type layer struct {
	success, botches []u128
	rank             []int32 // -1: cannot be kept
	byRank           []int
}

var binomials = func() (b [MaxPoolDice + 1][MaxPoolDice + 1]uint64) {
	for n := range b {
		b[n][0] = 1
		for k := 1; k <= n; k++ {
			b[n][k] = b[n-1][k-1] + b[n-1][k]
		}
	}
	return b
}()

// newSolver prepares decisions with up to rerolls re-rolls left.
func newSolver(n, difficulty int, need []int, rules PoolRules, rerolls int) *solver {
	s := &solver{n: n, rules: rules, heights: 7 - difficulty, need: need, low: -1, one: -1}
	s.stays = rules.OnesStay
	s.drops = rules.FinalBotches && !rules.OnesStay
	for _, t := range need {
		s.faces, s.base = append(s.faces, 1), append(s.base, t)
	}
	lower := difficulty - 1
	if s.stays || s.drops {
		lower--
	}
	if lower > 0 {
		s.low = len(s.base)
		s.faces, s.base = append(s.faces, uint64(lower)), append(s.base, n+1) //nolint:gosec // 1 to 5
	}
	if s.stays || s.drops {
		s.one = len(s.base)
		s.faces, s.base = append(s.faces, 1), append(s.base, n+1)
	}
	s.stride = make([]int, len(s.base))
	size := 1
	for i := len(s.base) - 1; i >= 0; i-- {
		s.stride[i] = size
		size *= s.base[i]
	}
	s.sum, s.ones, s.best = make([]int8, size), make([]int8, size), make([]int32, size)
	for key := range size {
		sum := 0
		for i := range s.base {
			sum += s.digit(key, i)
		}
		s.sum[key] = int8(min(sum, 127)) //nolint:gosec // small
		if s.one >= 0 {
			s.ones[key] = int8(s.digit(key, s.one)) //nolint:gosec // small
		}
	}
	s.pow = make([]u128, 49)
	for i := range s.pow {
		s.pow[i] = pow128(6, i)
	}
	for r := range rerolls {
		s.addLayer(r)
	}
	return s
}

func (s *solver) digit(key, i int) int { return key / s.stride[i] % s.base[i] }

func (s *solver) keepable(key int) bool {
	return int(s.sum[key]) < s.n && (!s.drops || s.ones[key] == 0)
}

func (s *solver) addLayer(r int) {
	l := layer{
		success: make([]u128, len(s.sum)), botches: make([]u128, len(s.sum)), rank: make([]int32, len(s.sum)),
	}
	if r > 0 && s.rules.FreeLocks {
		s.reach(r - 1)
	}
	for key := range s.sum {
		l.rank[key] = -1
		if !s.keepable(key) {
			continue
		}
		l.success[key], l.botches[key] = s.worth(key, r)
		l.byRank = append(l.byRank, key)
	}
	// success, then few botches, then many dice kept, then the higher faces, which a key's order is.
	slices.SortFunc(l.byRank, func(a, b int) int {
		return cmp.Or(l.success[a].cmp(l.success[b]), l.botches[b].cmp(l.botches[a]), cmp.Compare(s.sum[a], s.sum[b]), cmp.Compare(a, b))
	})
	for rank, key := range l.byRank {
		l.rank[key] = int32(rank) //nolint:gosec // at most the number of keys
	}
	s.layers = append(s.layers, l)
}

// worth rolls the dice not in the key, with r re-rolls left afterwards, and plays best. Botches are sixths of ways.
func (s *solver) worth(key, r int) (success, botches u128) {
	rolled := s.n - int(s.sum[key])
	every := s.pow[rolled]
	scale := s.pow[s.n-rolled]
	if r == 0 {
		missed := s.missed(key)
		// Each die rolled is a 1 in a sixth of the ways.
		return every.sub(missed).mul(scale), every.times(uint64(rolled)).mul(scale) //nolint:gosec // a count
	}
	before := &s.layers[r-1]
	rest := s.pow[s.n*r]
	var missed, missedOnes uint64
	s.visit(key, r-1, !s.rules.FreeLocks, func(shown int, ways uint64) {
		missed += ways
		missedOnes += ways * uint64(s.ones[shown]) //nolint:gosec // a count
		if keep, roll := s.decide(shown, r-1); roll {
			success = success.add(before.success[keep].times(ways))
			botches = botches.add(before.botches[keep].times(ways))
		}
	})
	secured := every.sub(u128{0, missed})
	success = success.add(secured.mul(rest))
	if s.drops { // ones beside a set roll on, and a sixth of them shows 1 each time
		shown := s.pow[rolled-1].times(uint64(rolled)).sub(u128{0, missedOnes}) //nolint:gosec // a count
		botches = botches.add(shown.times(6).mul(s.pow[s.n*r-r]))
	} else {
		botches = botches.add(every.times(uint64(rolled)).mul(rest)) //nolint:gosec // a count
	}
	return success.mul(scale), botches.mul(scale)
}

// missed counts the ways in which the dice not in the key make no set.
func (s *solver) missed(key int) u128 {
	var ways [MaxPoolDice + 1]uint64
	rolled := s.n - int(s.sum[key])
	ways[0] = 1
	for i := range s.heights {
		short := s.need[i] - s.digit(key, i)
		for u := rolled; u > 0; u-- {
			for x := 1; x < short && x <= u; x++ {
				ways[u] += ways[u-x] * binomials[rolled-u+x][x]
			}
		}
	}
	var sum u128
	lower := uint64(6 - s.heights) //nolint:gosec // 1 to 5
	for u, w := range ways[:rolled+1] {
		sum = sum.add(pow128(lower, rolled-u).times(w))
	}
	return sum
}

// visit calls f for every roll of the dice not in the key that makes no set, with its ways. With fill it finds the best
// dice to keep of each for decide at layer r.
func (s *solver) visit(key, r int, fill bool, f func(shown int, ways uint64)) {
	rank := s.layers[r].rank
	var walk func(dim, at, left int, ways uint64)
	var digits [7]int // dice rolled, of each dimension
	walk = func(dim, at, left int, ways uint64) {
		if dim == len(s.base) {
			if fill {
				s.best[at] = s.bestOf(rank, at, digits[:dim])
			}
			if left == 0 {
				f(at, ways)
			}
			return
		}
		locked := s.digit(key, dim)
		w := ways
		for x := 0; x <= left && locked+x < s.base[dim]; x++ {
			digits[dim] = x
			if dim < len(s.base)-1 || fill || x == left {
				walk(dim+1, at+x*s.stride[dim], left-x, w*binomials[left][x])
			}
			w *= s.faces[dim]
		}
	}
	walk(0, key, s.n-int(s.sum[key]), 1)
}

// bestOf is the greatest rank of what may be kept of the dice at a key, when these many of them are not locked.
func (s *solver) bestOf(rank []int32, at int, free []int) int32 {
	best := rank[at]
	for i, x := range free {
		if x > 0 && !(s.stays && i == s.one) {
			best = max(best, s.best[at-s.stride[i]])
		}
	}
	return best
}

// reach finds the best dice to keep of every roll when none is locked.
func (s *solver) reach(r int) { s.visit(0, r, true, func(int, uint64) {}) }

// decide says what is kept of a roll without a set when r is the layer of the next roll; roll is false to stop.
func (s *solver) decide(shown, r int) (keep int, roll bool) {
	rank := s.best[shown]
	if rank < 0 {
		return 0, false
	}
	keep = s.layers[r].byRank[rank]
	if s.layers[r].success[keep].zero() && (!s.drops || s.ones[shown] == 0) {
		return 0, false // nothing can come any more
	}
	return keep, true
}

// play follows the best play and counts the ways to each height claimed, 0 for none, and number of botches.
func (s *solver) play() [7][]*big.Int {
	rerolls := len(s.layers)
	most := s.n*(rerolls+1) + 1
	var acc [7][]u128
	for h := range acc {
		acc[h] = make([]u128, most)
	}
	now := map[int][]u128{0: {{0, 1}}}
	for r := rerolls; r >= 0; r-- {
		next := map[int][]u128{}
		for key, past := range now {
			s.step(key, r, past, &acc, next)
		}
		now = next
	}
	var out [7][]*big.Int
	for h, row := range acc {
		out[h] = make([]*big.Int, most)
		for o := range out[h] {
			out[h][o] = new(big.Int)
		}
		for c, ways := range row {
			s.spread(out[h], c, ways)
		}
	}
	return out
}

// spread tells the ones among c lower dice, when they were not counted apart.
func (s *solver) spread(out []*big.Int, c int, ways u128) {
	if ways.zero() {
		return
	}
	if s.one >= 0 {
		out[c].Add(out[c], ways.big())
		return
	}
	lower := big.NewInt(int64(6 - s.heights))
	each := ways.big()
	each.Div(each, new(big.Int).Exp(lower, big.NewInt(int64(c)), nil))
	others := new(big.Int).Sub(lower, big.NewInt(1))
	for o := 0; o <= c; o++ {
		w := new(big.Int).Exp(others, big.NewInt(int64(c-o)), nil)
		w.Mul(w, new(big.Int).Binomial(int64(c), int64(o)))
		out[o].Add(out[o], w.Mul(w, each))
	}
}

// step rolls the dice not in the key once, with r re-rolls left. past counts the ways that led there, by botches so far
// (or lower dice, when ones are not apart).
func (s *solver) step(key, r int, past []u128, acc *[7][]u128, next map[int][]u128) {
	scale := s.pow[int(s.sum[key])]
	add := func(h, c int, ways u128) {
		for p, w := range past {
			acc[h][p+c] = acc[h][p+c].add(w.mul(ways))
		}
	}
	counted := s.one
	if counted < 0 {
		counted = s.low
	}
	if s.drops {
		s.settle(key, r, scale, add)
	} else {
		joint := s.joint(key, 0)
		rest := scale.mul(s.pow[s.n*r])
		for h, row := range joint {
			if h == 0 && r > 0 {
				continue
			}
			for c, ways := range row {
				add(h, c, ways.mul(rest))
			}
		}
	}
	if r == 0 {
		return
	}
	if s.rules.FreeLocks {
		s.reach(r - 1)
	}
	s.visit(key, r-1, !s.rules.FreeLocks, func(shown int, ways uint64) {
		w := scale.times(ways)
		c := 0
		if s.drops {
			s.unsettle(shown, r, w, add)
		} else {
			c = s.digit(shown, counted) - s.digit(key, counted)
		}
		keep, roll := s.decide(shown, r-1)
		if !roll {
			if s.drops {
				c = int(s.ones[shown])
			}
			add(0, c, w.mul(s.pow[s.n*r]))
			return
		}
		to := next[keep]
		if to == nil {
			to = make([]u128, s.n*(len(s.layers)-r+1)+1)
			next[keep] = to
		}
		for p, q := range past {
			to[p+c] = to[p+c].add(q.mul(w))
		}
	})
}

// settle counts a roll as if only ones were rolled again; right for what makes a set, and taken away again for the rest.
func (s *solver) settle(key, r int, scale u128, add func(h, c int, ways u128)) {
	rest := u128{0, 1}
	for range r + 1 {
		rest = rest.mul(scale)
	}
	for h, row := range s.joint(key, r+1) {
		for c, ways := range row {
			add(h, c, ways.mul(rest))
		}
	}
}

// unsettle takes away again what settle counted for a roll that makes no set.
func (s *solver) unsettle(shown, r int, ways u128, add func(h, c int, ways u128)) {
	ones := int(s.ones[shown])
	ways = ways.mul(s.pow[(s.n-ones)*r])
	for h, row := range s.joint(shown-ones*s.stride[s.one], r) {
		for c, w := range row {
			add(h, c, u128{}.sub(ways.mul(w)))
		}
	}
}

// joint counts the ways of the dice not in the key, each rolled once, by the height of their highest set and by how many
// show a counted face: a 1 when ones are apart, else any lower face. With rolls above 0, ones are rolled again until that
// many rolls were made.
func (s *solver) joint(key, rolls int) (out [7][]u128) {
	rolled := s.n - int(s.sum[key])
	for h := range out {
		out[h] = make([]u128, rolled+1)
	}
	face, one, low := uint64(1), uint64(1), uint64(0)
	for range max(0, rolls-1) {
		face = face*6 + 1 // ways to show a face at last, or before
	}
	if s.low >= 0 {
		low = s.faces[s.low] * face
	}
	if s.one < 0 {
		one, low = low, 0
	}
	finish := func(h int, ways u128, left int, others uint64) {
		for c := 0; c <= left; c++ {
			w := pow128(one, c).mul(pow128(others, left-c)).times(binomials[left][c])
			out[h][c] = out[h][c].add(ways.mul(w))
		}
	}
	ways := make([]u128, rolled+1) // by dice that show higher faces without a set
	ways[0] = u128{0, 1}
	for i := range s.heights {
		short := s.need[i] - s.digit(key, i)
		others := uint64(s.heights-1-i)*face + low //nolint:gosec // a count
		next := make([]u128, rolled+1)
		made := make([]u128, rolled+1)
		for u, w := range ways {
			if w.zero() {
				continue
			}
			p := u128{0, 1}
			for x := 0; u+x <= rolled; x++ {
				to := &next[u+x]
				if x >= short {
					to = &made[u+x]
				}
				*to = to.add(w.mul(p).times(binomials[rolled-u][x]))
				p = p.times(face)
			}
		}
		for u, w := range made {
			if !w.zero() {
				finish(6-i, w, rolled-u, others)
			}
		}
		ways = next
	}
	for u, w := range ways {
		if !w.zero() {
			finish(0, w, rolled-u, low)
		}
	}
	return out
}
