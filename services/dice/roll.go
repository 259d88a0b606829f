package dice

import (
	"errors"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

func parse(field, text string) (notation.Notation, error) {
	n, err := notation.Parse(text)
	if err != nil {
		return n, refusedAt(field, err)
	}
	return n, nil
}

// refusedAt names the field of a refusal that has none, and tells too much work from bad input.
func refusedAt(field string, err error) error {
	var r *play.Refusal
	if !errors.As(err, &r) {
		return err
	}
	if r.Field == "" {
		r = r.At(field)
	}
	if r.Code == notation.TooMuchWork {
		return tooMuch(r.Field, r.Message)
	}
	return adapter.Fault(r)
}

func tooMuch(field, message string) error {
	return fault.New(fault.ResourceExhausted, notation.TooMuchWork, "%s", message).At(field, message)
}

// roll rolls a notation. It fails with what the field's notation does wrong.
func roll(field string, n notation.Notation, purpose, stream string, index int, dice *play.Dice) (*dicev1.Roll, error) {
	before := len(dice.Rolled())
	result, err := n.Roll(purposeOr(purpose, "roll"), dice)
	switch {
	case dice.Failed():
		return nil, adapter.Fault(dice.Close())
	case err != nil:
		return nil, refusedAt(field, err)
	}
	out := &dicev1.Roll{
		Notation: n.String(), Total: int32(result.Total()), Value: result.Value.String(), Comment: n.Comment, Purpose: purpose, //nolint:gosec // checked by Roll
		Stream: stream, Index: int32(index), Offset: int32(before), Tree: node(result), //nolint:gosec // record numbers and counts
	}
	addTerms(out, result, false)
	return out, nil
}

// addTerms parts a result into what is added and subtracted.
func addTerms(out *dicev1.Roll, r *notation.Result, negative bool) {
	e := r.Expr
	switch {
	case e.Label != "":
	case e.Kind == notation.Negate:
		addTerms(out, r.Parts[0], !negative)
		return
	case e.Kind == notation.Binary && (e.Op == "+" || e.Op == "-"):
		addTerms(out, r.Parts[0], negative)
		addTerms(out, r.Parts[1], negative != (e.Op == "-"))
		return
	}
	t := &dicev1.Term{Text: e.String(), Negative: negative, Value: clamped(r.Value.Floor())}
	addFaces(t, r)
	out.Terms = append(out.Terms, t)
}

// clamped keeps the value of a term within 32 bits; the total of all always is.
func clamped(v int64) int32 { return int32(max(-1<<31, min(v, 1<<31-1))) }

// addFaces lists all faces of a result. Parameters were rolled before the dice that they are of.
func addFaces(t *dicev1.Term, r *notation.Result) {
	for _, p := range r.Parts {
		addFaces(t, p)
	}
	for i := range r.Dice {
		for s := range r.Steps(&r.Dice[i]) {
			t.Faces = append(t.Faces, s.Face)
		}
	}
}

var nodeKinds = map[notation.Kind]dicev1.RollNodeKind{
	notation.Number: dicev1.RollNodeKind_ROLL_NODE_KIND_NUMBER, notation.Negate: dicev1.RollNodeKind_ROLL_NODE_KIND_NEGATE,
	notation.Binary: dicev1.RollNodeKind_ROLL_NODE_KIND_OPERATION, notation.Call: dicev1.RollNodeKind_ROLL_NODE_KIND_CALL,
	notation.Dice: dicev1.RollNodeKind_ROLL_NODE_KIND_DICE, notation.Group: dicev1.RollNodeKind_ROLL_NODE_KIND_GROUP,
}

var stepKinds = map[notation.StepKind]dicev1.DieStepKind{
	notation.First: dicev1.DieStepKind_DIE_STEP_KIND_ROLLED, notation.Rerolled: dicev1.DieStepKind_DIE_STEP_KIND_REROLLED,
	notation.Distinct: dicev1.DieStepKind_DIE_STEP_KIND_UNIQUE, notation.Added: dicev1.DieStepKind_DIE_STEP_KIND_ADDED,
}

func node(r *notation.Result) *dicev1.RollNode {
	out := &dicev1.RollNode{
		Kind: nodeKinds[r.Expr.Kind], Value: r.Value.String(), Label: r.Expr.Label,
		Dropped: r.Dropped, DroppedBy: r.Why(), Success: int32(r.Success), Usage: usageStep(r),
	}
	if r.Expr.Kind == notation.Binary {
		out.Parts = operation(r)
		return out
	}
	out.Text = r.Expr.String()
	for _, p := range r.Parts {
		out.Parts = append(out.Parts, node(p))
	}
	for i := range r.Dice {
		d := &r.Dice[i]
		die := &dicev1.RolledDie{
			Sides: r.Sides, Value: d.Value, Exploded: d.Exploded, Dropped: d.Dropped, DroppedBy: r.DroppedBy(d),
			Success: int32(d.Success), Critical: int32(d.Critical),
		}
		for s := range r.Steps(d) {
			die.Steps = append(die.Steps, &dicev1.DieStep{Kind: stepKinds[s.Kind], Face: s.Face, Value: s.Value})
		}
		out.Dice = append(out.Dice, die)
	}
	return out
}

// operation lists what operators of one rank join, so that a long sum is no deep tree.
func operation(r *notation.Result) []*dicev1.RollNode {
	left := r.Parts[0]
	var parts []*dicev1.RollNode
	if left.Expr.Kind == notation.Binary && left.Expr.Label == "" && rank(left.Expr.Op) == rank(r.Expr.Op) && rank(r.Expr.Op) > 0 {
		parts = operation(left)
	} else {
		parts = []*dicev1.RollNode{node(left)}
	}
	last := node(r.Parts[1])
	last.Op = r.Expr.Op
	return append(parts, last)
}

// rank is that of operators that are worked out from the left, 0 for others.
func rank(op string) int {
	switch op {
	case "+", "-":
		return 1
	case "*", "/", "//", "%":
		return 2
	}
	return 0
}

// usageStep tells what usage dice are afterwards when one of them counts.
func usageStep(r *notation.Result) *dicev1.UsageStep {
	if r.Expr.Kind != notation.Dice || r.Expr.Sort != notation.Usage {
		return nil
	}
	var kept []notation.Die
	for _, d := range r.Dice {
		if !d.Dropped {
			kept = append(kept, d)
		}
	}
	if len(kept) != 1 {
		return nil
	}
	stepped, next := diedrop.Default().UsageAfter(int(r.Sides), int(kept[0].Value))
	out := &dicev1.UsageStep{SteppedDown: stepped}
	if next > 0 {
		out.NextSides = proto.Int32(int32(next)) //nolint:gosec // dice are small
	}
	return out
}
