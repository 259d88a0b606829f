package play

import "fmt"

// BadDice refuses reported dice that do not fit: too few, too many, or a face that the die does not have.
const BadDice = "BAD_DICE"

// Refusal says that the rules do not allow a command. Nothing has changed. Programs tell refusals apart by Code, the
// catalogue's own word in upper case; Message is for people; Field, when set, names the request field at fault: one that would
// be wrong in any state, or with Standing one that the present state does not allow.
type Refusal struct {
	Code     string
	Message  string
	Field    string
	Standing bool
}

// Refuse makes a refusal.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// At returns the refusal with the request field that is wrong, whatever the state.
func (r *Refusal) At(field string) *Refusal {
	c := *r
	c.Field, c.Standing = field, false
	return &c
}

// On returns the refusal with the request field that the present state does not allow.
func (r *Refusal) On(field string) *Refusal {
	c := *r
	c.Field, c.Standing = field, true
	return &c
}

// Error returns the code and the message.
func (r *Refusal) Error() string { return r.Code + ": " + r.Message }
