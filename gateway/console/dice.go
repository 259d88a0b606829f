package console

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
)

// diceCommands roll.
func diceCommands() []command {
	return []command{{
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
