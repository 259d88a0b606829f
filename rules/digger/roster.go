package digger

import (
	"slices"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Refusals of rosters; runs use some of them too.
const (
	AlreadyInParty    = "ALREADY_IN_PARTY"
	NoSuchParty       = "NO_SUCH_PARTY"
	PartyExists       = "PARTY_EXISTS"
	PartyFull         = "PARTY_FULL"
	RunBegun          = "RUN_BEGUN"
	NotLeader         = "NOT_LEADER"
	NotAMember        = "NOT_A_MEMBER"
	NotInParty        = "NOT_IN_PARTY"
	LeaderWithMembers = "LEADER_WITH_MEMBERS"
	TooFewMembers     = "TOO_FEW_MEMBERS"
	// Leased refuses leaving and promoting by the roster while a run holds it: they go to the run.
	Leased = "LEASED"
)

// The states of a party.
const (
	Forming = "forming"
	InRun   = "in_run"
	// Ended is the state after a run: it binds nobody (DIG-FLOW-02).
	Ended = "ended"
)

// Seat is one member of a party with whoever plays it; the rules never read the owner.
type Seat struct {
	Character string `json:"character"`
	Owner     string `json:"owner,omitempty"`
}

// Party is a leader with members.
type Party struct {
	ID      string `json:"id"`
	Leader  string `json:"leader"`
	Members []Seat `json:"members"`
	// Dungeon is the one readied; may be empty.
	Dungeon string `json:"dungeon,omitempty"`
	State   string `json:"state"`
	// Run holds the roster while State is in_run.
	Run string `json:"run,omitempty"`
}

func (p Party) seat(character string) int {
	return slices.IndexFunc(p.Members, func(s Seat) bool { return s.Character == character })
}

// Roster holds a campaign's parties in order of creation. It is the fold of its events; treat it as a value.
type Roster struct {
	Parties []Party `json:"parties"`
	// Closed lists holders that have given their roster back: they cannot borrow again.
	Closed []string `json:"closed,omitempty"`
	// Requests for the GMs, in order of filing (DIG-CMD-19).
	Requests []Request `json:"requests,omitempty"`
}

// Request is a note in which players ask the GMs; Number counts from 1.
type Request struct {
	Number    int    `json:"number"`
	Character string `json:"character"`
	Text      string `json:"text"`
	Open      bool   `json:"open"`
}

// Party returns a party by id.
func (r Roster) Party(id string) (Party, bool) {
	i := r.index(id)
	if i < 0 {
		return Party{}, false
	}
	return r.Parties[i], true
}

func (r Roster) index(id string) int {
	return slices.IndexFunc(r.Parties, func(p Party) bool { return p.ID == id })
}

// PartyOf returns the party that a character is in.
func (r Roster) PartyOf(character string) (Party, bool) {
	for _, p := range r.Parties {
		if p.seat(character) >= 0 {
			return p, true
		}
	}
	return Party{}, false
}

// RosterCommand is something to be done to a roster.
type RosterCommand interface {
	decide(r Roster, rs *Ruleset) ([]RosterEvent, error)
}

// The commands.
type (
	// CreateParty forms a party led by a character (DIG-CMD-02, DIG-PARTY-03). Refused: PARTY_EXISTS, ALREADY_IN_PARTY.
	CreateParty struct {
		Party   string
		Leader  Seat
		Dungeon string
	}
	// JoinParty adds a character to a party, named by its id or, with Party empty, by its leader (DIG-CMD-03, DIG-PARTY-01,
	// -03, -04). Refused: NO_SUCH_PARTY, RUN_BEGUN, ALREADY_IN_PARTY, PARTY_FULL.
	JoinParty struct {
		Party  string
		Leader string
		Member Seat
	}
	// LeaveParty takes a character out; a lone leader dissolves the party (DIG-CMD-04, DIG-PARTY-05).
	// Refused: NO_SUCH_PARTY, NOT_A_MEMBER, LEASED, LEADER_WITH_MEMBERS.
	LeaveParty struct{ Party, Character string }
	// ResetParty is LeaveParty for whichever party the character is in. Refused: NOT_IN_PARTY, and as LeaveParty.
	ResetParty struct{ Character string }
	// PromoteMember hands leadership on (DIG-CMD-05); Override lets a GM do it for the leader.
	// Refused: NO_SUCH_PARTY, LEASED, NOT_LEADER, NOT_A_MEMBER.
	PromoteMember struct {
		Party, Character, Target string
		Override                 bool
	}
	// FileRequest keeps a note for the GMs (DIG-CMD-19). Refused: NOT_IN_PARTY, INVALID.
	FileRequest struct{ Character, Text string }
	// CloseRequest ends one. Refused: NO_SUCH_REQUEST.
	CloseRequest struct{ Number int }
	// LeaseRoster lends a roster to a run (DIG-CMD-11). Refused: NO_SUCH_PARTY, LEASE_CLOSED, RUN_BEGUN, TOO_FEW_MEMBERS.
	LeaseRoster struct{ Party, Run string }
	// ReturnSeat gives back the seat of one who left the run early.
	ReturnSeat struct{ Party, Run, Character, Leader string }
	// ReturnRoster gives the whole roster back and closes the run; Began tells that the run had begun.
	ReturnRoster struct {
		Party, Run, Leader string
		Began              bool
	}
)

// NoSuchRequest refuses to close a request that is not open.
const NoSuchRequest = "NO_SUCH_REQUEST"

// LeaseClosed refuses a holder that has given its lease back.
const LeaseClosed = "LEASE_CLOSED"

// RosterEvent is one fact of a roster.
type RosterEvent interface{ applyTo(r *Roster) }

// The events.
type (
	// PartyCreated forms a party.
	PartyCreated struct {
		Party   string `json:"party"`
		Leader  Seat   `json:"leader"`
		Dungeon string `json:"dungeon"`
	}
	// PartyJoined adds a member at the end.
	PartyJoined struct {
		Party  string `json:"party"`
		Member Seat   `json:"member"`
	}
	// RequestFiled adds an open request.
	RequestFiled struct {
		Character string `json:"character"`
		Text      string `json:"text"`
	}
	// RequestClosed closes one.
	RequestClosed struct {
		Number int `json:"number"`
	}
	// PartyLeft takes a member out; without members the party is dissolved.
	PartyLeft struct {
		Party     string `json:"party"`
		Character string `json:"character"`
	}
	// PartyPromoted names a new leader.
	PartyPromoted struct {
		Party  string `json:"party"`
		Leader string `json:"leader"`
	}
	// RosterLeased lends the roster.
	RosterLeased struct {
		Party string `json:"party"`
		Run   string `json:"run"`
	}
	// SeatReturned takes one seat back: its character is out of the party.
	SeatReturned struct {
		Party     string `json:"party"`
		Run       string `json:"run"`
		Character string `json:"character"`
		Leader    string `json:"leader"`
	}
	// RosterReturned takes the roster back and closes the run.
	RosterReturned struct {
		Party  string `json:"party"`
		Run    string `json:"run"`
		Leader string `json:"leader"`
		Began  bool   `json:"began"`
	}
)

// DecideRoster decides a command on a roster. It changes nothing; it fails with a *play.Refusal.
func DecideRoster(r Roster, c RosterCommand, rs *Ruleset) ([]RosterEvent, error) {
	return c.decide(r, rs)
}

// ApplyRoster folds one event. It changes nothing that the old state refers to.
func ApplyRoster(r Roster, e RosterEvent) Roster {
	r.Parties = slices.Clone(r.Parties)
	for i := range r.Parties {
		r.Parties[i].Members = slices.Clone(r.Parties[i].Members)
	}
	r.Closed, r.Requests = slices.Clone(r.Closed), slices.Clone(r.Requests)
	e.applyTo(&r)
	return r
}

// released returns the events that take a character out of an ended party, which binds nobody (DIG-FLOW-02); it refuses
// one who is in a party that does bind.
func (r Roster) released(character string) ([]RosterEvent, error) {
	p, ok := r.PartyOf(character)
	switch {
	case !ok:
		return nil, nil
	case p.State == Ended:
		return r.leave(p, character), nil
	}
	return nil, play.Refuse(AlreadyInParty, "%s is in %s", character, p.ID)
}

// leave returns the events of a character going. A leader who leaves an ended party is followed by the next member, so
// that whoever stays may enter again.
func (r Roster) leave(p Party, character string) []RosterEvent {
	events := []RosterEvent{PartyLeft{Party: p.ID, Character: character}}
	if p.Leader == character && len(p.Members) > 1 {
		next := slices.IndexFunc(p.Members, func(s Seat) bool { return s.Character != character })
		events = append(events, PartyPromoted{Party: p.ID, Leader: p.Members[next].Character})
	}
	return events
}

func (c CreateParty) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	if _, ok := r.Party(c.Party); ok {
		return nil, play.Refuse(PartyExists, "there is a party %s", c.Party)
	}
	events, err := r.released(c.Leader.Character)
	if err != nil {
		return nil, err
	}
	return append(events, PartyCreated(c)), nil
}

func noParty(id string) error { return play.Refuse(NoSuchParty, "there is no party %s", id) }

func (c JoinParty) decide(r Roster, rs *Ruleset) ([]RosterEvent, error) {
	p, ok := r.Party(c.Party)
	if c.Party == "" {
		p, ok = r.PartyOf(c.Leader)
		ok = ok && p.Leader == c.Leader
	}
	switch {
	case !ok && c.Party == "":
		return nil, play.Refuse(NoSuchParty, "%s leads no party", c.Leader)
	case !ok:
		return nil, noParty(c.Party)
	case p.State == InRun:
		return nil, play.Refuse(RunBegun, "%s is in a run", p.ID)
	case p.seat(c.Member.Character) >= 0:
		return nil, play.Refuse(AlreadyInParty, "%s is in %s", c.Member.Character, p.ID)
	}
	events, err := r.released(c.Member.Character)
	if err != nil {
		return nil, err
	}
	if len(p.Members) >= rs.Party.Max {
		return nil, play.Refuse(PartyFull, "a party has at most %d members", rs.Party.Max).On("name")
	}
	return append(events, PartyJoined{Party: p.ID, Member: c.Member}), nil
}

func (c LeaveParty) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	p, ok := r.Party(c.Party)
	switch {
	case !ok:
		return nil, noParty(c.Party)
	case p.seat(c.Character) < 0:
		return nil, play.Refuse(NotAMember, "%s is not in %s", c.Character, c.Party)
	case p.State == InRun:
		return nil, play.Refuse(Leased, "%s is held by %s: leave the run", c.Party, p.Run)
	case p.State != Ended && p.Leader == c.Character && len(p.Members) > 1:
		return nil, play.Refuse(LeaderWithMembers, "a leader passes leadership on before leaving")
	}
	return r.leave(p, c.Character), nil
}

func (c ResetParty) decide(r Roster, rs *Ruleset) ([]RosterEvent, error) {
	p, ok := r.PartyOf(c.Character)
	if !ok {
		return nil, play.Refuse(NotInParty, "%s is in no party", c.Character)
	}
	return LeaveParty{Party: p.ID, Character: c.Character}.decide(r, rs)
}

func (c PromoteMember) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	p, ok := r.Party(c.Party)
	switch {
	case !ok:
		return nil, noParty(c.Party)
	case p.State == InRun:
		return nil, play.Refuse(Leased, "%s is held by %s: promote there", c.Party, p.Run)
	case p.Leader != c.Character && !c.Override:
		return nil, play.Refuse(NotLeader, "%s does not lead %s", c.Character, c.Party)
	case p.seat(c.Target) < 0:
		return nil, play.Refuse(NotAMember, "%s is not in %s", c.Target, c.Party)
	}
	return []RosterEvent{PartyPromoted{Party: c.Party, Leader: c.Target}}, nil
}

func (c FileRequest) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	if _, ok := r.PartyOf(c.Character); !ok {
		return nil, play.Refuse(NotInParty, "%s is in no party", c.Character)
	}
	if n := utf8.RuneCountInString(c.Text); n < 1 || n > maxText {
		return nil, play.Refuse(Invalid, "a request has 1 to %d characters", maxText).At("text")
	}
	return []RosterEvent{RequestFiled(c)}, nil
}

func (c CloseRequest) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	if c.Number < 1 || c.Number > len(r.Requests) || !r.Requests[c.Number-1].Open {
		return nil, play.Refuse(NoSuchRequest, "there is no open request %d", c.Number)
	}
	return []RosterEvent{RequestClosed(c)}, nil
}

func (e RequestFiled) applyTo(r *Roster) {
	r.Requests = append(r.Requests, Request{Number: len(r.Requests) + 1, Character: e.Character, Text: e.Text, Open: true})
}

func (e RequestClosed) applyTo(r *Roster) {
	if e.Number >= 1 && e.Number <= len(r.Requests) {
		r.Requests[e.Number-1].Open = false
	}
}

func (c LeaseRoster) decide(r Roster, rs *Ruleset) ([]RosterEvent, error) {
	p, ok := r.Party(c.Party)
	switch {
	case !ok:
		return nil, noParty(c.Party)
	case slices.Contains(r.Closed, c.Run):
		return nil, play.Refuse(LeaseClosed, "%s has given its lease back", c.Run)
	case p.State == InRun && p.Run == c.Run:
		return nil, nil
	case p.State == InRun:
		return nil, play.Refuse(RunBegun, "%s is in a run", c.Party)
	case len(p.Members) < rs.Party.MinToEnter:
		return nil, play.Refuse(TooFewMembers, "at least %d enter", rs.Party.MinToEnter)
	}
	return []RosterEvent{RosterLeased(c)}, nil
}

func (c ReturnSeat) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	p, ok := r.Party(c.Party)
	if !ok || p.Run != c.Run || p.seat(c.Character) < 0 {
		return nil, nil // given back already
	}
	return []RosterEvent{SeatReturned(c)}, nil
}

func (c ReturnRoster) decide(r Roster, _ *Ruleset) ([]RosterEvent, error) {
	if slices.Contains(r.Closed, c.Run) {
		return nil, nil
	}
	return []RosterEvent{RosterReturned(c)}, nil
}

func (e PartyCreated) applyTo(r *Roster) {
	r.Parties = append(r.Parties, Party{
		ID: e.Party, Leader: e.Leader.Character, Members: []Seat{e.Leader}, Dungeon: e.Dungeon, State: Forming,
	})
}

func (e PartyJoined) applyTo(r *Roster) {
	if i := r.index(e.Party); i >= 0 {
		r.Parties[i].Members = append(r.Parties[i].Members, e.Member)
	}
}

func (e PartyLeft) applyTo(r *Roster) { r.remove(e.Party, e.Character) }

func (r *Roster) remove(party, character string) {
	i := r.index(party)
	if i < 0 {
		return
	}
	p := &r.Parties[i]
	p.Members = slices.DeleteFunc(p.Members, func(s Seat) bool { return s.Character == character })
	if len(p.Members) == 0 && p.State != InRun {
		r.Parties = slices.Delete(r.Parties, i, i+1)
	}
}

func (e PartyPromoted) applyTo(r *Roster) { r.lead(e.Party, e.Leader) }

func (r *Roster) lead(party, leader string) {
	if i := r.index(party); i >= 0 && leader != "" {
		r.Parties[i].Leader = leader
	}
}

func (e RosterLeased) applyTo(r *Roster) {
	if i := r.index(e.Party); i >= 0 {
		r.Parties[i].State, r.Parties[i].Run = InRun, e.Run
	}
}

func (e SeatReturned) applyTo(r *Roster) {
	r.lead(e.Party, e.Leader)
	r.remove(e.Party, e.Character)
}

func (e RosterReturned) applyTo(r *Roster) {
	r.Closed = append(r.Closed, e.Run)
	i := r.index(e.Party)
	if i < 0 || r.Parties[i].Run != e.Run {
		return
	}
	r.lead(e.Party, e.Leader)
	p := &r.Parties[i]
	p.Run, p.State = "", Forming
	if e.Began {
		p.State = Ended
	}
	if len(p.Members) == 0 {
		r.Parties = slices.Delete(r.Parties, i, i+1)
	}
}
