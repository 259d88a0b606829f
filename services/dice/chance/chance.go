// Package chance answers questions of the contract about odds: it maps them to the rules and back. It needs no server, so
// the command line answers offline with the very same numbers. Errors are a *play.Refusal.
package chance

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/odds"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

const (
	// MaxOutcomes is how many outcomes an answer may have.
	MaxOutcomes = 10_000
	// maxExact is how many characters all exact numbers of the outcomes may have before they are left out.
	maxExact = 1_000_000
)

// Percents are those of the quantiles.
var Percents = []int32{1, 5, 10, 25, 50, 75, 90, 95, 99}

// Answer answers one question, which has been validated. It fails with what the rules refuse; the fields are those of the
// request.
func Answer(req *dicev1.OddsRequest) (*dicev1.OddsResponse, error) {
	switch q := req.GetQuestion().(type) {
	case *dicev1.OddsRequest_Notation:
		return aNotation(q.Notation)
	case *dicev1.OddsRequest_Comparison:
		return aComparison(q.Comparison)
	case *dicev1.OddsRequest_Pool:
		return aPool(q.Pool)
	case *dicev1.OddsRequest_Move:
		return aMove(q.Move)
	case *dicev1.OddsRequest_Usage:
		return aUsage(q.Usage)
	case *dicev1.OddsRequest_Spill:
		return aSpill(q.Spill)
	}
	return nil, play.Refuse(odds.BadOdds, "no question").At("question")
}

// at puts the name of a question before the field of a refusal.
func at(question string, err error) error {
	if r, ok := err.(*play.Refusal); ok && r.Field != "" { //nolint:errorlint // the rules do not wrap
		return r.At(question + "." + r.Field)
	}
	return err
}

func exact(r *big.Rat) (string, float64) {
	f, _ := r.Float64()
	return r.RatString(), f
}

func share(name string, r *big.Rat) *dicev1.OddsShare {
	s := &dicev1.OddsShare{Name: name}
	s.Chance, s.ChanceFloat = exact(r)
	return s
}

// answer begins an answer with all that a distribution tells. Above tells that what is lost is greater than all outcomes, as the
// later checks of a usage die are; long explosions may be anywhere, 10-1d6! for one has them below, and are in no outcome's sum.
func answer(d odds.Dist, above bool) (*dicev1.OddsResponse, error) {
	if d.Len() > MaxOutcomes {
		return nil, play.Refuse(odds.TooMuchWork, "%d outcomes; an answer has at most %d", d.Len(), MaxOutcomes)
	}
	if d.Min() < math.MinInt32 || d.Max() > math.MaxInt32 {
		return nil, play.Refuse(odds.BadOdds, "outcomes from %d to %d do not fit 32 bits", d.Min(), d.Max())
	}
	a := &dicev1.OddsResponse{}
	a.Mean, a.MeanFloat = exact(d.Mean())
	a.Variance, a.VarianceFloat = exact(d.Variance())
	a.DeviationFloat = math.Sqrt(a.GetVarianceFloat())
	a.Lost, a.LostFloat = exact(d.Lost())
	atLeast := d.AtLeast()
	if lost := d.Lost(); above && lost.Sign() > 0 {
		for _, r := range atLeast {
			r.Add(r, lost)
		}
	}
	size := 0
	for i := range d.Len() {
		v, p := d.At(i)
		o := &dicev1.OddsOutcome{Value: int32(v)} //nolint:gosec // checked above
		a.Outcomes = append(a.Outcomes, o)
		o.ChanceFloat, _ = p.Float64()
		o.AtLeastFloat, _ = atLeast[i].Float64()
		if size <= maxExact {
			o.Chance, o.AtLeast = p.RatString(), atLeast[i].RatString()
			size += len(o.GetChance()) + len(o.GetAtLeast())
		}
	}
	if a.Rounded = size > maxExact; a.GetRounded() {
		for _, o := range a.GetOutcomes() {
			o.Chance, o.AtLeast = "", ""
		}
	}
	for _, p := range Percents {
		a.Quantiles = append(a.Quantiles, &dicev1.OddsQuantile{
			Percent: p, Value: int32(d.Quantile(big.NewRat(int64(p), 100))), //nolint:gosec // checked above
		})
	}
	return a, nil
}

func succeed(a *dicev1.OddsResponse, r *big.Rat) {
	s, f := exact(r)
	a.Success, a.SuccessFloat = &s, &f
}

// of parses a notation and computes its odds.
func of(field, text string) (odds.Dist, string, error) {
	n, err := notation.Parse(text)
	if err == nil {
		var d odds.Dist
		if d, err = odds.Of(n); err == nil {
			return d, n.String(), nil
		}
	}
	if r, ok := err.(*play.Refusal); ok { //nolint:errorlint // the rules do not wrap
		err = r.At(field)
	}
	return odds.Dist{}, "", err
}

func aNotation(q *dicev1.NotationQuestion) (*dicev1.OddsResponse, error) {
	d, text, err := of("notation.notation", q.GetNotation())
	if err != nil {
		return nil, err
	}
	a, err := answer(d, false)
	if err != nil {
		return nil, err
	}
	if q.Target != nil {
		succeed(a, d.ChanceAtLeast(int64(q.GetTarget())))
	}
	a.Detail = &dicev1.OddsResponse_Notation{Notation: &dicev1.NotationOdds{Notation: text}}
	return a, nil
}

func aComparison(q *dicev1.ComparisonQuestion) (*dicev1.OddsResponse, error) {
	first, firstText, err := of("comparison.first", q.GetFirst())
	if err != nil {
		return nil, err
	}
	second, secondText, err := of("comparison.second", q.GetSecond())
	if err != nil {
		return nil, err
	}
	difference, err := odds.Sub(first, second)
	if err != nil {
		return nil, err
	}
	a, err := answer(difference, false)
	if err != nil {
		return nil, err
	}
	less, equal, greater := odds.Compare(first, second)
	succeed(a, greater)
	c := &dicev1.ComparisonOdds{First: firstText, Second: secondText}
	c.Less, c.LessFloat = exact(less)
	c.Equal, c.EqualFloat = exact(equal)
	c.Greater, c.GreaterFloat = exact(greater)
	a.Detail = &dicev1.OddsResponse_Comparison{Comparison: c}
	return a, nil
}

func poolRules(r *dicev1.PoolRules) odds.PoolRules {
	out := odds.DefaultPoolRules()
	if r != nil {
		out.FreeLocks, out.OnesStay, out.FinalBotches = r.GetFreeLocks(), r.GetOnesStay(), r.GetFinalBotches()
		if r.MaxRerolls != nil {
			out.Rerolls = int(r.GetMaxRerolls())
		}
	}
	return out
}

func aPool(q *dicev1.PoolQuestion) (*dicev1.OddsResponse, error) {
	o, err := odds.Pool{
		Normal: int(q.GetDice()), Danger: int(q.GetDanger()), Penalty: int(q.GetPenalty()),
		Difficulty: int(q.GetDifficulty()), Rules: poolRules(q.GetRules()),
	}.Odds()
	if err != nil {
		return nil, at("pool", err)
	}
	a, err := answer(o.Botches, false)
	if err != nil {
		return nil, err
	}
	succeed(a, o.Success)
	detail := &dicev1.PoolOdds{Heights: []*dicev1.OddsShare{share("none", o.Heights.Chance(0))}}
	for h := q.GetDifficulty(); h <= 6; h++ {
		detail.Heights = append(detail.Heights, share(strconv.Itoa(int(h)), o.Heights.Chance(int64(h))))
	}
	a.Detail = &dicev1.OddsResponse_Pool{Pool: detail}
	return a, nil
}

func aMove(q *dicev1.MoveQuestion) (*dicev1.OddsResponse, error) {
	p := odds.Position{
		Normal: ints(q.GetNormal()), Danger: ints(q.GetDanger()), Penalty: ints(q.GetPenalty()),
		Difficulty: int(q.GetDifficulty()), RerollsLeft: int(q.GetRerollsLeft()), Rules: poolRules(q.GetRules()),
	}
	name := func(i int) string {
		if i < len(p.Normal) {
			return "N" + strconv.Itoa(i+1)
		}
		return "D" + strconv.Itoa(i-len(p.Normal)+1)
	}
	for i, die := range q.GetLocked() {
		n := 0
		for n < len(p.Normal)+len(p.Danger) && name(n) != die {
			n++
		}
		if n == len(p.Normal)+len(p.Danger) {
			return nil, play.Refuse(odds.BadOdds, "there is no die %s", die).At(fmt.Sprintf("move.locked[%d]", i))
		}
		p.Locked = append(p.Locked, n)
	}
	m, err := p.BestMove()
	if err != nil {
		return nil, at("move", err)
	}
	a := &dicev1.OddsResponse{Lost: "0"}
	a.Mean, a.MeanFloat = exact(m.Botches)
	succeed(a, m.Success)
	detail := &dicev1.MoveOdds{Stop: m.Stop}
	for _, i := range m.Keep {
		detail.Keep = append(detail.Keep, name(i))
	}
	a.Detail = &dicev1.OddsResponse_Move{Move: detail}
	return a, nil
}

func ints(in []int32) []int {
	out := make([]int, len(in))
	for i, n := range in {
		out[i] = int(n)
	}
	return out
}

// Usage is how many dice a check of the mode rolls, and which one counts.
func Usage(mode dicev1.UsageMode) (n int, keep diedrop.Keep) {
	switch mode {
	case dicev1.UsageMode_USAGE_MODE_LOWEST_2:
		return 2, diedrop.KeepLowest
	case dicev1.UsageMode_USAGE_MODE_LOWEST_3:
		return 3, diedrop.KeepLowest
	case dicev1.UsageMode_USAGE_MODE_HIGHEST_2:
		return 2, diedrop.KeepHighest
	case dicev1.UsageMode_USAGE_MODE_UNSPECIFIED, dicev1.UsageMode_USAGE_MODE_SINGLE:
	}
	return 1, diedrop.KeepSingle
}

// defaultChecks is how far the outcomes of a usage die go unasked.
const defaultChecks = 30

func aUsage(q *dicev1.UsageQuestion) (*dicev1.OddsResponse, error) {
	n, keep := Usage(q.GetMode())
	rs := diedrop.Default()
	food := []int{int(q.GetSides())}
	if q.Second != nil {
		food = append(food, int(q.GetSecond()))
	}
	life := rs.Lifetime(food, n, keep)
	checks := int(q.GetChecks())
	if checks == 0 {
		checks = defaultChecks
	}
	d, err := life.Checks(checks)
	if err != nil {
		return nil, at("usage", err)
	}
	if d.Len() == 0 { // more steps than checks asked for
		return nil, play.Refuse(odds.BadOdds, "%d checks are too few to use the die up", checks).At("usage.checks")
	}
	a, err := answer(d, true)
	if err != nil {
		return nil, err
	}
	// Of all checks, not only of those listed.
	a.Mean, a.MeanFloat = exact(life.Mean())
	a.Variance, a.VarianceFloat = exact(life.Variance())
	a.DeviationFloat = math.Sqrt(a.GetVarianceFloat())
	for _, quantile := range a.GetQuantiles() {
		quantile.Value = int32(life.Quantile(float64(quantile.GetPercent()) / 100)) //nolint:gosec // some hundred
	}
	succeed(a, new(big.Rat).Sub(big.NewRat(1, 1), life[0]))
	detail := &dicev1.UsageOdds{}
	sizes := rs.Sizes(food)
	for i, chance := range life {
		detail.StepDown = append(detail.StepDown, share("d"+strconv.Itoa(sizes[i]), chance))
	}
	a.Detail = &dicev1.OddsResponse_Usage{Usage: detail}
	return a, nil
}

func aSpill(q *dicev1.SpillQuestion) (*dicev1.OddsResponse, error) {
	rules := odds.DefaultSpillRules()
	rules.PerOne = q.GetEventPerOne()
	if q.GetDeadlyFrom() != 0 {
		rules.DeadlyFrom = int(q.GetDeadlyFrom())
	}
	dice, spills := 6, max(1, int(q.GetSpills()))
	if q.Dice != nil {
		dice = int(q.GetDice())
	}
	o, err := odds.Spill(dice, rules)
	if err != nil {
		return nil, at("spill", err)
	}
	events, err := o.Count.Times(spills)
	if err != nil {
		return nil, err
	}
	combats, err := o.Last.Times(spills)
	if err != nil {
		return nil, err
	}
	a, err := answer(events, false)
	if err != nil {
		return nil, err
	}
	succeed(a, events.Chance(0))
	detail := &dicev1.SpillOdds{}
	for e := 1; e <= rules.LastEvent; e++ {
		detail.Events = append(detail.Events, share(strconv.Itoa(e), o.Events[e]))
	}
	detail.Events = append(detail.Events, share("none", o.Events[0]))
	for s, name := range []string{"NONE", "MINOR", "MODERATE", "DEADLY"} {
		detail.Severities = append(detail.Severities, share(name, o.Severities[s]))
	}
	detail.DeadlyCombat, detail.DeadlyCombatFloat = exact(o.EventSeverities[rules.LastEvent][odds.Deadly])
	detail.AnyCombat, detail.AnyCombatFloat = exact(combats.ChanceAtLeast(1))
	a.Detail = &dicev1.OddsResponse_Spill{Spill: detail}
	return a, nil
}

// Mode reads a usage mode by its short name: single, lowest2, lowest3 or highest2.
func Mode(name string) (dicev1.UsageMode, bool) {
	for number, long := range dicev1.UsageMode_name {
		short := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(long, "USAGE_MODE_")), "_", "")
		if number != 0 && short == name {
			return dicev1.UsageMode(number), true
		}
	}
	return 0, false
}
