package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
)

// diceCommands roll.
func diceCommands() []command {
	return []command{{
		name: "odds", who: anyone, anyone: true, args: []arg{{name: "dice", kind: text}},
		help: "Tells the odds of a notation, of reaching a total, or of one against another: +odds 4d6kh3, +odds 2d6+1 for 9, +odds d20 vs 2d10.",
		read: (*call).odds,
	}, {
		name: "roll", who: "anyone but spectators", anyone: true, args: []arg{{name: "dice", kind: text}},
		help: "Rolls a notation such as 2d6+1 into your roll log. A # begins what the roll is for: +roll d20 # reaction.", plan: (*call).roll,
	}}
}

func (c *call) roll(a args) (proto.Message, error) {
	notation, purpose, _ := strings.Cut(a.text("dice"), "#")
	at := a.get("dice")
	if notation = strings.TrimSpace(notation); notation == "" {
		return nil, refuse(reasonMissing, at.column, "a notation such as 2d6+1", "there is nothing to roll")
	}
	return &dicev1.RollRequest{Parent: c.req.GetCampaign(), Notation: notation, Purpose: strings.TrimSpace(purpose)}, nil
}

func (c *call) odds(a args) (string, proto.Message, error) {
	req := &dicev1.OddsRequest{}
	all := a.get("dice")
	first, second, compared := strings.Cut(all.text, " vs ")
	notation, goal, aimed := strings.Cut(all.text, " for ")
	switch {
	case compared:
		req.Question = &dicev1.OddsRequest_Comparison{Comparison: &dicev1.ComparisonQuestion{First: strings.TrimSpace(first), Second: strings.TrimSpace(second)}}
	case aimed:
		target, err := strconv.ParseInt(strings.TrimSpace(goal), 10, 32)
		if err != nil {
			at := all.column + len([]rune(notation)) + len(" for ")
			return "", nil, refuse(reasonArgument, at, "a whole number", "%q is no total to reach", goal)
		}
		n := int32(target)
		req.Question = &dicev1.OddsRequest_Notation{Notation: &dicev1.NotationQuestion{Notation: strings.TrimSpace(notation), Target: &n}}
	default:
		req.Question = &dicev1.OddsRequest_Notation{Notation: &dicev1.NotationQuestion{Notation: all.text}}
	}
	res, err := ask[*dicev1.OddsResponse](c, req)
	if err != nil {
		return "", nil, err
	}
	return oddsText(req, res), res, nil
}

// mostBars is how many outcomes are drawn: what a screen of a chat shows.
const mostBars = 25

func oddsText(req *dicev1.OddsRequest, res *dicev1.OddsResponse) string {
	if cmp := res.GetComparison(); cmp != nil {
		return fmt.Sprintf("%s against %s: greater %.2f %%, equal %.2f %%, less %.2f %%.", cmp.GetFirst(), cmp.GetSecond(),
			100*cmp.GetGreaterFloat(), 100*cmp.GetEqualFloat(), 100*cmp.GetLessFloat())
	}
	out := []string{fmt.Sprintf("%s: mean %s, deviation %.2f.", res.GetNotation().GetNotation(), exact(res.GetMean(), res.GetMeanFloat()), res.GetDeviationFloat())}
	if q := req.GetNotation(); q.Target != nil {
		out = append(out, fmt.Sprintf("  %d or more: %s, %.2f %%.", q.GetTarget(), exact(res.GetSuccess(), res.GetSuccessFloat()), 100*res.GetSuccessFloat()))
	}
	if len(res.GetOutcomes()) > mostBars {
		var q []string
		for _, x := range res.GetQuantiles() {
			q = append(q, fmt.Sprintf("%d %%: %d", x.GetPercent(), x.GetValue()))
		}
		return strings.Join(append(out, "  At most, with a chance of "+strings.Join(q, ", ")), "\n")
	}
	most := 0.0
	for _, o := range res.GetOutcomes() {
		most = max(most, o.GetChanceFloat())
	}
	var rows [][]string
	for _, o := range res.GetOutcomes() {
		bar := ""
		if most > 0 {
			bar = strings.Repeat("#", int(math.Round(30*o.GetChanceFloat()/most)))
		}
		rows = append(rows, []string{fmt.Sprint(o.GetValue()), fmt.Sprintf("%5.2f %%", 100*o.GetChanceFloat()), bar})
	}
	return strings.Join(append(out, columns(rows)), "\n")
}

// exact shows a fraction with what it comes to; a long one, or a whole number, by one of both alone.
func exact(fraction string, value float64) string {
	switch {
	case !strings.Contains(fraction, "/") && fraction != "":
		return fraction
	case fraction == "" || len(fraction) > 15:
		return fmt.Sprintf("%.4f", value)
	}
	return fmt.Sprintf("%s = %.4f", fraction, value)
}

func (c *call) rollText(r *dicev1.Roll) string {
	var terms []string
	for i, t := range r.GetTerms() {
		sign := "+"
		if t.GetNegative() {
			sign = "-"
		}
		if i > 0 || t.GetNegative() {
			terms = append(terms, sign)
		}
		if len(t.GetFaces()) > 0 {
			faces := make([]string, len(t.GetFaces()))
			for j, f := range t.GetFaces() {
				faces[j] = fmt.Sprint(f)
			}
			terms = append(terms, "("+strings.Join(faces, " ")+")")
		} else {
			terms = append(terms, t.GetText())
		}
	}
	who := c.subject
	if c.character != nil {
		who = c.character.GetTitle()
	}
	s := fmt.Sprintf("%s rolls %s: %s = %d", who, r.GetNotation(), strings.Join(terms, " "), r.GetTotal())
	if r.GetPurpose() != "" {
		s += " (" + r.GetPurpose() + ")"
	}
	return s
}
