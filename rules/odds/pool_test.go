package odds

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func same(t *testing.T, what string, got *big.Rat, want string) {
	t.Helper()
	if w, ok := new(big.Rat).SetString(want); !ok || got.Cmp(w) != 0 {
		t.Errorf("%s: got %s, want %s", what, got.RatString(), want)
	}
}

// near compares with a value that is printed with six places.
func near(t *testing.T, what string, got *big.Rat, want string) {
	t.Helper()
	if s := got.FloatString(6); s != want {
		t.Errorf("%s: got %s, want %s", what, s, want)
	}
}

func poolOdds(t *testing.T, n, difficulty, penalty int, change ...func(*PoolRules)) PoolOdds {
	t.Helper()
	p := Pool{Normal: n, Difficulty: difficulty, Penalty: penalty, Rules: DefaultPoolRules()}
	for _, c := range change {
		c(&p.Rules)
	}
	o, err := p.Odds()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func free(r *PoolRules)  { r.FreeLocks = true }
func stay(r *PoolRules)  { r.OnesStay = true }
func final(r *PoolRules) { r.FinalBotches = true }

func TestDangerWorldCatalogue(t *testing.T) {
	t.Parallel()
	for id, check := range map[string]func(t *testing.T){
		"DW-ODDS-01": func(t *testing.T) {
			same(t, "n=1, d=2", poolOdds(t, 1, 2, 0).Success, "0")
			same(t, "n=2, d=2", poolOdds(t, 2, 2, 0).Success, "8281/46656")
			for d := 2; d <= 6; d++ {
				for n := range d {
					same(t, fmt.Sprintf("n=%d, d=%d", n, d), poolOdds(t, n, d, 0).Success, "0")
				}
			}
			// Each of two dice shows the face asked for with 91/216.
			same(t, "n=6, d=6", poolOdds(t, 6, 6, 0).Success, new(big.Rat).SetFrac(
				new(big.Int).Exp(big.NewInt(91), big.NewInt(6), nil), new(big.Int).Exp(big.NewInt(216), big.NewInt(6), nil)).RatString())
		},
		"DW-ODDS-02": func(t *testing.T) { same(t, "n=3, d=2", poolOdds(t, 3, 2, 0).Success, "1000805/2519424") },
		"DW-ODDS-03": func(t *testing.T) { same(t, "n=3, d=3", poolOdds(t, 3, 3, 0).Success, "753571/10077696") },
		"DW-ODDS-04": func(t *testing.T) { same(t, "n=4, d=2", poolOdds(t, 4, 2, 0).Success, "437260267/725594112") },
		"DW-ODDS-05": func(t *testing.T) { same(t, "n=4, d=4", poolOdds(t, 4, 4, 0).Success, "68574961/2176782336") },
		"DW-ODDS-06": func(t *testing.T) { same(t, "n=5, d=3", poolOdds(t, 5, 3, 0).Success, "19709661631/52242776064") },
		"DW-ODDS-07": func(t *testing.T) {
			same(t, "n=6, d=6", poolOdds(t, 6, 6, 0).Success, "567869252041/101559956668416")
		},
		"DW-ODDS-08": func(t *testing.T) {
			o := poolOdds(t, 10, 6, 0)
			near(t, "n=10, d=6", o.Success, "0.204033")
			near(t, "botches", o.Botches.Mean(), "4.179314")
			f := poolOdds(t, 10, 6, 0, final)
			near(t, "FINAL", f.Botches.Mean(), "1.131540")
			same(t, "FINAL", f.Success, o.Success.RatString())
		},
		"DW-ODDS-09": func(t *testing.T) { same(t, "one penalty die", poolOdds(t, 2, 2, 1).Success, "41405/279936") },
		"DW-ODDS-10": func(t *testing.T) { same(t, "one penalty die", poolOdds(t, 3, 2, 1).Success, "10533289/30233088") },
		"DW-ODDS-11": func(t *testing.T) {
			o := poolOdds(t, 2, 2, 0)
			for n, want := range []string{"1225/2916", "1085/2916", "1871/11664", "473/11664", "293/46656", "13/23328", "1/46656"} {
				same(t, fmt.Sprint(n, " botches"), o.Botches.Chance(int64(n)), want)
			}
			same(t, "mean", o.Botches.Mean(), "91/108")
			f := poolOdds(t, 2, 2, 0, final)
			for n, want := range []string{"36481/46656", "4775/23328", "625/46656"} {
				same(t, fmt.Sprint("FINAL: ", n, " botches"), f.Botches.Chance(int64(n)), want)
			}
			same(t, "FINAL: mean", f.Botches.Mean(), "25/108")
		},
		"DW-ODDS-12": func(t *testing.T) {
			same(t, "FREE", poolOdds(t, 3, 2, 0, free).Success, "1004045/2519424")
			same(t, "FORBIDDEN", poolOdds(t, 3, 2, 0, stay).Success, "3049/10368")
			f := poolOdds(t, 3, 2, 0, final)
			same(t, "FINAL", f.Success, "1000805/2519424")
			same(t, "FINAL: botches", f.Botches.Mean(), "6815/23328")
			same(t, "botches", poolOdds(t, 3, 2, 0).Botches.Mean(), "27331/23328")
		},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			check(t)
		})
	}
}

func TestPoolAgreesWithTheFiguresOfOpenPoints(t *testing.T) {
	t.Parallel()
	places := func(what string, r *big.Rat, n int, want string) {
		t.Helper()
		if got := r.FloatString(n); got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	percent := func(r *big.Rat) *big.Rat { return new(big.Rat).Mul(r, big.NewRat(100, 1)) }
	places("n=5, d=3", poolOdds(t, 5, 3, 0).Botches.Mean(), 3, "1.942")
	places("n=5, d=3, FINAL", poolOdds(t, 5, 3, 0, final).Botches.Mean(), 3, "0.480")
	places("n=5, d=3, FORBIDDEN", poolOdds(t, 5, 3, 0, stay).Botches.Mean(), 3, "1.617")
	for name, tc := range map[string]struct {
		change      func(*PoolRules)
		three, four string
		fourPlaces  int
	}{
		"default":   {func(*PoolRules) {}, "43.0", "21.9", 1},
		"FINAL":     {final, "1.8", "0.14", 2},
		"FORBIDDEN": {stay, "33.8", "5.3", 1},
	} {
		o := poolOdds(t, 6, 4, 0, tc.change)
		places(name+": three or more", percent(o.Botches.ChanceAtLeast(3)), 1, tc.three)
		places(name+": four or more", percent(o.Botches.ChanceAtLeast(4)), tc.fourPlaces, tc.four)
	}
}

// brute plays best die by die, without any of the solver's ideas: every order of faces, every set of dice to keep. It
// counts ways of n dice in every roll.
type brute struct {
	n, d  int
	rules PoolRules
	need  [7]int
	memo  map[int]bruteValue
}

type bruteValue struct {
	success, sixths int64 // sixths: botches, unit a sixth of a way
	// by height and botches still to come
	dist [7][14]int64
}

func pow6(n int) int64 {
	p := int64(1)
	for range n {
		p *= 6
	}
	return p
}

func (b *brute) height(faces []int) int {
	for h := 6; h >= b.d; h-- {
		count := 0
		for _, f := range faces {
			if f == h {
				count++
			}
		}
		if count >= b.need[h] {
			return h
		}
	}
	return 0
}

// at is worth of a roll on the table with r re-rolls left; what lies locked stays.
func (b *brute) at(faces []int, locked []bool, r int) bruteValue {
	order := make([]int, b.n)
	for i := range order {
		order[i] = 2 * faces[i]
		if locked[i] && !b.rules.FreeLocks {
			order[i]++
		}
	}
	slices.Sort(order)
	key := r
	for _, o := range order {
		key = key*14 + o
	}
	if v, ok := b.memo[key]; ok {
		return v
	}
	var stop bruteValue
	all := pow6(b.n * r)
	h, ones := b.height(faces), 0
	if b.rules.FinalBotches && !b.rules.OnesStay {
		for _, f := range faces {
			if f == 1 {
				ones++
			}
		}
	}
	if h > 0 {
		stop.success = all
	}
	stop.sixths = 6 * all * int64(ones)
	stop.dist[h][ones] = all
	best, bestMask := stop, 1<<b.n-1
	for mask := range 1<<b.n - 1 {
		if r == 0 {
			break
		}
		ok := true
		for i := range b.n {
			kept := mask>>i&1 == 1
			if !kept && (locked[i] && !b.rules.FreeLocks || faces[i] == 1 && b.rules.OnesStay) {
				ok = false
			}
		}
		if !ok {
			continue
		}
		v := b.roll(faces, mask, r-1)
		better := v.success > best.success
		if v.success == best.success {
			better = v.sixths < best.sixths || v.sixths == best.sixths && slices.Compare(b.move(faces, mask), b.move(faces, bestMask)) > 0
		}
		if better {
			best, bestMask = v, mask
		}
	}
	b.memo[key] = best
	return best
}

// move is what ties are broken by: dice kept, then 6s, 5s, …
func (b *brute) move(faces []int, mask int) []int {
	m := make([]int, 7)
	for i, f := range faces {
		if mask>>i&1 == 1 {
			m[0]++
			if f >= b.d {
				m[7-f]++
			}
		}
	}
	return m
}

// roll rolls the dice outside the mask; r re-rolls are left afterwards.
func (b *brute) roll(faces []int, mask, r int) bruteValue {
	var out bruteValue
	next, locked := slices.Clone(faces), make([]bool, b.n)
	var rolled []int
	for i := range b.n {
		if locked[i] = mask>>i&1 == 1; !locked[i] {
			rolled = append(rolled, i)
		}
	}
	scale := pow6(b.n - len(rolled))
	for w := range int(pow6(len(rolled))) {
		ones := 0
		for _, i := range rolled {
			next[i] = w%6 + 1
			w /= 6
			if next[i] == 1 && !(b.rules.FinalBotches && !b.rules.OnesStay) {
				ones++
			}
		}
		v := b.at(next, locked, r)
		out.success += scale * v.success
		out.sixths += scale * (v.sixths + 6*int64(ones)*pow6(b.n*r))
		for h, row := range v.dist {
			for c, ways := range row {
				if ways > 0 {
					out.dist[h][c+ones] += scale * ways
				}
			}
		}
	}
	return out
}

func TestPoolEqualsBruteForce(t *testing.T) {
	t.Parallel()
	type variant struct {
		name string
		PoolRules
	}
	variants := []variant{
		{"default", PoolRules{Rerolls: 2}}, {"one re-roll", PoolRules{Rerolls: 1}}, {"none", PoolRules{}},
		{"three", PoolRules{Rerolls: 3}}, {"free", PoolRules{Rerolls: 2, FreeLocks: true}},
		{"ones stay", PoolRules{Rerolls: 2, OnesStay: true}}, {"final", PoolRules{Rerolls: 2, FinalBotches: true}},
		{"three, final", PoolRules{Rerolls: 3, FinalBotches: true}},
		{"free, ones stay", PoolRules{Rerolls: 2, FreeLocks: true, OnesStay: true}},
		{"free, final", PoolRules{Rerolls: 2, FreeLocks: true, FinalBotches: true}},
		{"ones stay, final", PoolRules{Rerolls: 2, OnesStay: true, FinalBotches: true}},
	}
	for _, v := range variants {
		for n := 1; n <= 3; n++ {
			for d := 2; d <= 6; d++ {
				if n == 3 && (v.Rerolls == 3 || d > 4 || d == 3 && v.name != "default") {
					continue // the brute force takes too long
				}
				t.Run(fmt.Sprintf("%s, n=%d, d=%d", v.name, n, d), func(t *testing.T) {
					t.Parallel()
					most := 2
					switch {
					case n == 3 && v.name == "default":
						most = 1
					case n == 3:
						most = 0
					}
					for penalty := range most + 1 {
						againstBrute(t, Pool{Normal: n, Penalty: penalty, Difficulty: d, Rules: v.PoolRules})
					}
				})
			}
		}
	}
}

func againstBrute(t *testing.T, p Pool) {
	t.Helper()
	got, err := p.Odds()
	if err != nil {
		t.Fatal(err)
	}
	heights, botches := map[int64]int64{}, map[int64]int64{}
	success := int64(0)
	memo := map[[7]int]bruteValue{}
	for w := range int(pow6(p.Penalty)) {
		b := brute{n: p.Normal, d: p.Difficulty, rules: p.Rules, memo: map[int]bruteValue{}}
		for h := range b.need {
			b.need[h] = h
		}
		ones := 0
		for range p.Penalty {
			if face := w%6 + 1; face > 1 {
				b.need[face]++
			} else {
				ones++
			}
			w /= 6
		}
		v, known := memo[b.need]
		if !known {
			v = b.roll(slices.Repeat([]int{1}, p.Normal), 0, p.Rules.Rerolls)
			memo[b.need] = v
		}
		success += v.success
		for h, row := range v.dist {
			for c, ways := range row {
				heights[int64(h)] += ways
				botches[int64(c+ones)] += ways
			}
		}
	}
	all := pow6(p.Normal*(p.Rules.Rerolls+1) + p.Penalty)
	same(t, "success", got.Success, big.NewRat(success, all).RatString())
	for what, pair := range map[string]struct {
		got  Dist
		want map[int64]int64
	}{"height": {got.Heights, heights}, "botches": {got.Botches, botches}} {
		for v := int64(0); v <= 40; v++ {
			if c := pair.got.Chance(v); c.Cmp(big.NewRat(pair.want[v], all)) != 0 {
				t.Errorf("%+v: %s %d: got %s, want %d/%d", p, what, v, c, pair.want[v], all)
			}
		}
		same(t, "lost", pair.got.Lost(), "0")
	}
}

func TestBestMove(t *testing.T) {
	t.Parallel()
	two := DefaultPoolRules()
	for name, tc := range map[string]struct {
		Position
		stop             bool
		keep             []int
		success, botches string
	}{
		"a set is secured": {Position{Normal: []int{2, 2, 1}, Difficulty: 2, RerollsLeft: 2, Rules: two}, true, nil, "1", "0"},
		"with FINAL a 1 beside it rolls on": {
			Position{Normal: []int{2, 2, 1}, Difficulty: 2, RerollsLeft: 2, Rules: PoolRules{Rerolls: 2, FinalBotches: true}},
			false, []int{0, 1}, "1", "1/36",
		},
		"too few dice":           {Position{Normal: []int{6, 1}, Difficulty: 3, RerollsLeft: 2, Rules: two}, true, nil, "0", "0"},
		"the last roll is made":  {Position{Normal: []int{2, 3, 1}, Difficulty: 2, Rules: two}, true, nil, "0", "0"},
		"one more 2 of two dice": {Position{Normal: []int{5, 2, 1}, Difficulty: 2, RerollsLeft: 1, Rules: two}, false, []int{1}, "11/36", "1/3"},
		"a locked die stays": {
			Position{Normal: []int{5, 2, 1}, Locked: []int{0}, Difficulty: 2, RerollsLeft: 1, Rules: two},
			false, []int{0, 1}, "1/6", "1/6",
		},
		"a 1 that must stay": {
			Position{Normal: []int{5, 2, 1}, Difficulty: 2, RerollsLeft: 1, Rules: PoolRules{Rerolls: 2, OnesStay: true}},
			false, []int{1, 2}, "1/6", "1/6",
		},
		"a lock that is free": {
			Position{Normal: []int{5, 2, 1}, Locked: []int{0}, Difficulty: 2, RerollsLeft: 1, Rules: PoolRules{Rerolls: 2, FreeLocks: true}},
			false, []int{1}, "11/36", "1/3",
		},
		"a locked 1 with FINAL is a botch": {
			Position{Normal: []int{1, 2, 5}, Locked: []int{0}, Difficulty: 2, RerollsLeft: 1, Rules: PoolRules{Rerolls: 2, FinalBotches: true}},
			false, []int{0, 1}, "1/6", "7/6",
		},
		"a penalty die takes one away": {
			Position{Normal: []int{2, 2}, Penalty: []int{2, 1}, Difficulty: 2, RerollsLeft: 2, Rules: two}, true, nil, "0", "0",
		},
		"normal dice before danger dice": {
			Position{Normal: []int{3, 1}, Danger: []int{3, 3, 3, 1}, Penalty: []int{3, 3}, Difficulty: 3, RerollsLeft: 1, Rules: two},
			false, []int{0, 2, 3, 4}, "11/36", "1/3",
		},
		"only dice that are locked, and ones": {
			Position{Normal: []int{1, 1}, Locked: []int{0, 1}, Difficulty: 2, RerollsLeft: 1, Rules: PoolRules{Rerolls: 2, FinalBotches: true}},
			true, nil, "0", "2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := tc.BestMove()
			if err != nil {
				t.Fatal(err)
			}
			if m.Stop != tc.stop || !slices.Equal(m.Keep, tc.keep) {
				t.Errorf("got stop %v, keep %v", m.Stop, m.Keep)
			}
			same(t, "success", m.Success, tc.success)
			same(t, "botches", m.Botches, tc.botches)
		})
	}
}

func TestBestMoveEqualsBruteForce(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string]PoolRules{
		"default": {Rerolls: 2}, "final": {Rerolls: 2, FinalBotches: true}, "ones stay": {Rerolls: 2, OnesStay: true},
		"free": {Rerolls: 2, FreeLocks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := brute{n: 3, d: 2, rules: rules, memo: map[int]bruteValue{}}
			for h := range b.need {
				b.need[h] = h
			}
			for w := 0; w < 216*8; w += 31 {
				faces := []int{w%6 + 1, w/6%6 + 1, w/36%6 + 1}
				locked := []bool{w/216%2 == 1, w/432%2 == 1, w/864 == 1}
				p := Position{Normal: faces, Difficulty: 2, RerollsLeft: 2, Rules: rules}
				for i, l := range locked {
					if l {
						p.Locked = append(p.Locked, i)
					}
				}
				m, err := p.BestMove()
				if err != nil {
					t.Fatal(err)
				}
				v := b.at(faces, locked, 2)
				if m.Success.Cmp(big.NewRat(v.success, pow6(6))) != 0 || m.Botches.Cmp(big.NewRat(v.sixths, 6*pow6(6))) != 0 {
					t.Errorf("%+v: got %s and %s, want %d/%d and %d sixths", p, m.Success, m.Botches, v.success, pow6(6), v.sixths)
				}
			}
		})
	}
}

func TestPoolRefuses(t *testing.T) {
	t.Parallel()
	two := DefaultPoolRules()
	for name, tc := range map[string]struct {
		ask         func() error
		code, field string
	}{
		"dice below 0":      {odds(Pool{Normal: -1, Difficulty: 2, Rules: two}), BadOdds, "dice"},
		"danger below 0":    {odds(Pool{Danger: -1, Difficulty: 2, Rules: two}), BadOdds, "danger"},
		"too many dice":     {odds(Pool{Normal: 7, Danger: 6, Difficulty: 2, Rules: two}), BadOdds, "dice"},
		"dice that wrap":    {odds(Pool{Normal: 1 << 62, Danger: 1 << 62, Difficulty: 2, Rules: two}), BadOdds, "dice"},
		"too many penalty":  {odds(Pool{Normal: 1, Penalty: 13, Difficulty: 2, Rules: two}), BadOdds, "penalty"},
		"difficulty 1":      {odds(Pool{Normal: 1, Difficulty: 1, Rules: two}), BadOdds, "difficulty"},
		"difficulty 7":      {odds(Pool{Normal: 1, Difficulty: 7, Rules: two}), BadOdds, "difficulty"},
		"four re-rolls":     {odds(Pool{Normal: 1, Difficulty: 2, Rules: PoolRules{Rerolls: 4}}), BadOdds, "rerolls"},
		"a great deal":      {odds(Pool{Normal: 12, Penalty: 12, Difficulty: 2, Rules: two}), TooMuchWork, ""},
		"no dice on table":  {move(Position{Difficulty: 2, Rules: two}), BadOdds, "normal"},
		"a face 7":          {move(Position{Danger: []int{7}, Difficulty: 2, Rules: two}), BadOdds, "danger"},
		"a penalty face 0":  {move(Position{Normal: []int{1}, Penalty: []int{0}, Difficulty: 2, Rules: two}), BadOdds, "penalty"},
		"a lock on nothing": {move(Position{Normal: []int{1}, Locked: []int{1}, Difficulty: 2, Rules: two}), BadOdds, "locked"},
		"three left of two": {move(Position{Normal: []int{1}, RerollsLeft: 3, Difficulty: 2, Rules: two}), BadOdds, "rerolls_left"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *play.Refusal
			if err := tc.ask(); !errors.As(err, &r) || r.Code != tc.code || r.Field != tc.field {
				t.Errorf("got %v, want %s at %q", err, tc.code, tc.field)
			}
		})
	}
}

func odds(p Pool) func() error     { return func() error { _, err := p.Odds(); return err } }
func move(p Position) func() error { return func() error { _, err := p.BestMove(); return err } }

func TestAnEmptyPoolFailsUnrolled(t *testing.T) {
	t.Parallel()
	o := poolOdds(t, 0, 2, 3)
	same(t, "success", o.Success, "0")
	same(t, "no botch", o.Botches.Chance(0), "1")
}

func BenchmarkPool(b *testing.B) {
	for _, n := range []int{5, 8, 10, 12} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Pool{Normal: n, Difficulty: 2, Rules: DefaultPoolRules()}).Odds(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
