package digger

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// Refusals of sheets.
const (
	Invalid              = "INVALID"
	OverSpent            = "OVER_SPENT"
	RatingOutOfRange     = "RATING_OUT_OF_RANGE"
	RatingLowered        = "RATING_LOWERED"
	FormExists           = "FORM_EXISTS"
	NoSuchForm           = "NO_SUCH_FORM"
	NoStatblock          = "NO_STATBLOCK"
	ToolExists           = "TOOL_EXISTS"
	NoSuchTool           = "NO_SUCH_TOOL"
	UnknownQuality       = "UNKNOWN_QUALITY"
	RepeatedQuality      = "REPEATED_QUALITY"
	TooManyDrawbacks     = "TOO_MANY_DRAWBACKS"
	TPOverBudget         = "TP_OVER_BUDGET"
	TPUnused             = "TP_UNUSED"
	CleanseNeedsMinor    = "CLEANSE_NEEDS_MINOR"
	CleanseNeedsDrawback = "CLEANSE_NEEDS_DRAWBACK"
	TooManyToolAbilities = "TOO_MANY_TOOL_ABILITIES"
	NoEarlySlot          = "NO_EARLY_SLOT"
	BeltFull             = "BELT_FULL"
	AlreadyLoaded        = "ALREADY_LOADED"
	NotLoaded            = "NOT_LOADED"
	Approved             = "APPROVED"
	AlreadyCreated       = "ALREADY_CREATED"
	NotCreated           = "NOT_CREATED"
)

// BaseForm is the id of the form that every character has.
const BaseForm = "base"

// Abilities are four ratings (DIG-ABIL-01).
type Abilities struct {
	Brute   int `json:"brute"`
	Agility int `json:"agility"`
	Wits    int `json:"wits"`
	Combat  int `json:"combat"`
}

// Of returns the rating of an ability by name.
func (a Abilities) Of(name string) int {
	switch name {
	case "brute":
		return a.Brute
	case "agility":
		return a.Agility
	case "wits":
		return a.Wits
	case "combat":
		return a.Combat
	}
	return 0
}

// Tool is a thing of a form that helps with one ability.
type Tool struct {
	// ID is unique in the form.
	ID        string   `json:"id"`
	Title     string   `json:"title,omitempty"`
	Ability   string   `json:"ability"`
	Rating    string   `json:"rating"`
	Qualities []string `json:"qualities,omitempty"`
	Drawback  string   `json:"drawback,omitempty"`
	Loaded    bool     `json:"loaded,omitempty"`
}

// Statblock is what a form brings into a dungeon.
type Statblock struct {
	Abilities Abilities `json:"abilities"`
	Tools     []Tool    `json:"tools"`
	// ToolsPaid is what all tools cost together; Purchased tells that the first purchase has been made, whether or not
	// it used the application bonus (DIG-TOOL-12).
	ToolsPaid int  `json:"tools_paid"`
	Purchased bool `json:"purchased"`
}

// Form is one shape of a character; without a statblock it cannot enter dungeons (DIG-CHAR-01, -02).
type Form struct {
	ID        string     `json:"id"`
	Statblock *Statblock `json:"statblock"`
}

// EarlySlot is a belt slot bought a chapter early (DIG-BELT-03).
type EarlySlot struct {
	Chapter int `json:"chapter"`
	DP      int `json:"dp"`
}

// Sheet is the Digger half of a character. It is the fold of its events; treat it as a value.
type Sheet struct {
	CP      int         `json:"cp"`
	Forms   []Form      `json:"forms"`
	Current string      `json:"current"`
	Early   []EarlySlot `json:"early,omitempty"`
	// Approved ends the application.
	Approved bool `json:"approved"`
}

// Env is what a command on a sheet is decided by: the campaign's rules and its present chapter.
type Env struct {
	Ruleset *Ruleset
	Chapter int
	// InRun tells that a run holds the character's loadout: the belt is locked (DIG-BELT-08).
	InRun bool
}

// Created tells whether the sheet exists.
func (s Sheet) Created() bool { return len(s.Forms) > 0 }

// Form returns a form by id, the current one for "".
func (s Sheet) Form(id string) (Form, bool) {
	if id == "" {
		id = s.Current
	}
	i := slices.IndexFunc(s.Forms, func(f Form) bool { return f.ID == id })
	if i < 0 {
		return Form{}, false
	}
	return s.Forms[i], true
}

// DP returns the dungeon points owned (DIG-DP-01).
func (s Sheet) DP(rs *Ruleset) int { return s.CP / rs.DP.CPPerDP }

// EarlyDP returns what early slots bind in a chapter; they come back when the next one starts (DIG-BELT-04).
func (s Sheet) EarlyDP(env Env) int {
	dp := 0
	for _, e := range s.Early {
		if e.Chapter == env.Chapter || !env.Ruleset.Belt.RefundAtNextChapter {
			dp += e.DP
		}
	}
	return dp
}

// Spent returns the dungeon points that a form has spent, early slots included, since those are charged to every form
// (DIG-CHAR-04).
func (s Sheet) Spent(env Env, b Statblock) int {
	return env.Ruleset.AbilitiesCost(b.Abilities) + b.ToolsPaid + s.EarlyDP(env)
}

// Free returns the dungeon points that a form can still spend; it may be negative after a change of rules, which
// invalidates nothing owned.
func (s Sheet) Free(env Env, b Statblock) int { return s.DP(env.Ruleset) - s.Spent(env, b) }

// FreeSlots returns the belt slots that are free in a chapter (DIG-BELT-01, -02).
func (rs *Ruleset) FreeSlots(chapter int) int {
	return rs.Belt.StartSlots + min(rs.Belt.MaxExtraSlots, max(0, chapter-rs.Belt.FirstChapter)*rs.Belt.SlotsPerChapter)
}

// Slots returns the belt slots of the character now, free and early ones (DIG-BELT-03, -04).
func (s Sheet) Slots(env Env) int {
	return min(env.Ruleset.Belt.StartSlots+env.Ruleset.Belt.MaxExtraSlots, env.Ruleset.FreeSlots(env.Chapter)+s.earlyNow(env))
}

func (s Sheet) earlyNow(env Env) int {
	n := 0
	for _, e := range s.Early {
		if e.Chapter == env.Chapter {
			n++
		}
	}
	return n
}

// AbilitiesCost returns what four ratings cost together (DIG-DP-03). Ratings beyond the range, bought under other rules,
// count as its ends.
func (rs *Ruleset) AbilitiesCost(a Abilities) int {
	cost := 0
	for _, name := range AbilityNames {
		cost += rs.DP.AbilityCost[min(max(0, a.Of(name)), len(rs.DP.AbilityCost)-1)]
	}
	return cost
}

// Uses returns how often a tool can be used in each dungeon (DIG-TOOL-06).
func (rs *Ruleset) Uses(t Tool) int {
	n := rs.Tools.Ratings[t.Rating].Uses + rs.Tools.Qualities[t.Drawback].Uses
	for _, q := range t.Qualities {
		n += rs.Tools.Qualities[q].Uses
	}
	return max(0, n)
}

// Bonus returns what a tool adds to its user's total (DIG-RES-01, DIG-QUAL-23).
func (rs *Ruleset) Bonus(t Tool) int {
	n := rs.Tools.Ratings[t.Rating].Bonus + rs.Tools.Qualities[t.Drawback].ToolBonus
	for _, q := range t.Qualities {
		n += rs.Tools.Qualities[q].ToolBonus
	}
	return n
}

// TP returns the tool points that a tool uses (DIG-TOOL-04).
func (rs *Ruleset) TP(t Tool) int {
	n := rs.Tools.Ratings[t.Rating].TP + rs.Tools.Qualities[t.Drawback].TP
	for _, q := range t.Qualities {
		n += rs.Tools.Qualities[q].TP
	}
	return n
}

// CheckTool refuses a tool that the rules do not allow; field is where it stands in the request (DIG-TOOL-02 to -09,
// DIG-QUAL-41).
func (rs *Ruleset) CheckTool(t Tool, field string) error {
	refuse := func(code, at, format string, args ...any) error {
		return play.Refuse(code, format, args...).At(field + at)
	}
	if !goodID.MatchString(t.ID) {
		return refuse(Invalid, ".id", "%q is no id of 1 to 63 of a-z, 0-9 and -", t.ID)
	}
	if utf8.RuneCountInString(t.Title) > 200 {
		return refuse(Invalid, ".title", "a title has at most 200 characters")
	}
	if !slices.Contains(AbilityNames, t.Ability) {
		return refuse(Invalid, ".ability", "%q is none of %v", t.Ability, AbilityNames)
	}
	if _, ok := rs.Tools.Ratings[t.Rating]; !ok {
		return refuse(Invalid, ".rating", "there is no rating %q", t.Rating)
	}
	drawbacks := 0
	if t.Drawback != "" {
		drawbacks = 1
		switch q, ok := rs.Tools.Qualities[t.Drawback]; {
		case !ok || q.Class != "drawback":
			return refuse(UnknownQuality, ".drawback", "there is no drawback %q", t.Drawback)
		case rs.Tools.MaxDrawbacks < 1:
			return refuse(TooManyDrawbacks, ".drawback", "tools have no drawbacks")
		case q.OnlyRating != "" && q.OnlyRating != t.Rating:
			return refuse(CleanseNeedsMinor, ".drawback", "%s is for %s tools only", t.Drawback, q.OnlyRating)
		}
	}
	for i, name := range t.Qualities {
		at := fmt.Sprintf(".qualities[%d]", i)
		q, ok := rs.Tools.Qualities[name]
		if q.Class == "drawback" {
			drawbacks++
		}
		switch {
		case !ok:
			return refuse(UnknownQuality, at, "there is no quality %q", name)
		case q.Class == "drawback" && drawbacks > rs.Tools.MaxDrawbacks:
			return refuse(TooManyDrawbacks, at, "a tool has at most %d drawbacks", rs.Tools.MaxDrawbacks)
		case q.Class == "drawback" && t.Drawback == "": // further ones stand here
			return refuse(UnknownQuality, at, "%q is a drawback and stands in drawback", name)
		case !rs.Tools.RepeatQuality && (name == t.Drawback || slices.Contains(t.Qualities[:i], name)):
			return refuse(RepeatedQuality, at, "%q is there already", name)
		case q.OnlyRating != "" && q.OnlyRating != t.Rating:
			return refuse(CleanseNeedsMinor, at, "%s is for %s tools only", name, q.OnlyRating)
		case q.RequiresDrawback && t.Drawback == "":
			return refuse(CleanseNeedsDrawback, at, "%s needs a drawback on the same tool", name)
		}
	}
	switch tp := rs.TP(t); {
	case tp > rs.Tools.TPBudget:
		return refuse(TPOverBudget, "", "the tool uses %d of %d tool points", tp, rs.Tools.TPBudget)
	case tp < rs.Tools.TPBudget && !rs.Tools.AllowUnusedTP:
		return refuse(TPUnused, "", "the tool uses only %d of %d tool points", tp, rs.Tools.TPBudget)
	}
	return nil
}

// SheetCommand is something that a player or GM wants done to a sheet.
type SheetCommand interface {
	decide(s Sheet, env Env) ([]SheetEvent, error)
}

// The commands. Form "" is the current form.
type (
	// CreateSheet makes a sheet with the base form; CP nil: the ruleset's (DIG-DP-02).
	CreateSheet struct{ CP *int }
	// GrantCP gives character points (DIG-DP-05).
	GrantCP struct{ CP int }
	// AddForm adds a form, with an empty statblock or none. Refused: FORM_EXISTS.
	AddForm struct {
		Form        string
		NoStatblock bool
	}
	// SwitchForm makes a form the current one. Refused: NO_SUCH_FORM.
	SwitchForm struct{ Form string }
	// SetAbilities buys ratings. After approval they only rise.
	// Refused: NO_SUCH_FORM, NO_STATBLOCK, RATING_OUT_OF_RANGE, RATING_LOWERED, OVER_SPENT.
	SetAbilities struct {
		Form      string
		Abilities Abilities
	}
	// BuyTools buys tools in one purchase (DIG-TOOL-12). Refused: as CheckTool, and NO_SUCH_FORM, NO_STATBLOCK, TOOL_EXISTS,
	// TOO_MANY_TOOL_ABILITIES, OVER_SPENT.
	BuyTools struct {
		Form  string
		Tools []Tool
	}
	// BuySlot buys the next chapter's belt slot now (DIG-BELT-03 to -06). Refused: NO_EARLY_SLOT, OVER_SPENT.
	BuySlot struct{}
	// LoadTool moves tool Number, from 1, into the belt; UnloadTool refuses alike (DIG-BELT-07, DIG-CMD-07, -08).
	// Refused: LEASED in a run, NO_SUCH_FORM, NO_STATBLOCK, NO_SUCH_TOOL; ALREADY_LOADED, BELT_FULL; NOT_LOADED.
	LoadTool struct {
		Form   string
		Number int
	}
	// UnloadTool takes a tool out of the belt.
	UnloadTool struct {
		Form   string
		Number int
	}
	// Approve ends the application. Refused: APPROVED.
	Approve struct{}
)

// SheetEvent is one fact of a sheet.
type SheetEvent interface{ applyTo(s *Sheet) }

// The events.
type (
	// SheetCreated opens a sheet.
	SheetCreated struct {
		CP int `json:"cp"`
	}
	// CPGranted adds character points.
	CPGranted struct {
		CP int `json:"cp"`
	}
	// FormAdded adds a form.
	FormAdded struct {
		Form        string `json:"form"`
		NoStatblock bool   `json:"no_statblock"`
	}
	// FormSwitched changes the current form.
	FormSwitched struct {
		Form string `json:"form"`
	}
	// AbilitiesSet changes ratings.
	AbilitiesSet struct {
		Form      string    `json:"form"`
		Abilities Abilities `json:"abilities"`
	}
	// ToolsBought adds tools for a price in dungeon points; Bonus tells that the application bonus was used.
	ToolsBought struct {
		Form  string `json:"form"`
		Tools []Tool `json:"tools"`
		Price int    `json:"price"`
		Bonus bool   `json:"bonus"`
	}
	// SlotBought adds an early slot.
	SlotBought struct {
		Chapter int `json:"chapter"`
		Price   int `json:"price"`
	}
	// ToolLoaded marks a tool.
	ToolLoaded struct {
		Form   string `json:"form"`
		Number int    `json:"number"`
	}
	// ToolUnloaded takes the mark away.
	ToolUnloaded struct {
		Form   string `json:"form"`
		Number int    `json:"number"`
	}
	// SheetApproved ends the application.
	SheetApproved struct{}
)

// DecideSheet decides a command on a sheet. It changes nothing; it fails with a *play.Refusal.
func DecideSheet(s Sheet, c SheetCommand, env Env) ([]SheetEvent, error) {
	_, creates := c.(CreateSheet)
	switch {
	case creates && s.Created():
		return nil, play.Refuse(AlreadyCreated, "the character exists already")
	case !creates && !s.Created():
		return nil, play.Refuse(NotCreated, "the character does not exist")
	}
	return c.decide(s, env)
}

// ApplySheet folds one event. It changes nothing that the old state refers to.
func ApplySheet(s Sheet, e SheetEvent) Sheet {
	s.Forms = slices.Clone(s.Forms)
	for i, f := range s.Forms {
		if f.Statblock != nil {
			b := *f.Statblock
			b.Tools = slices.Clone(b.Tools)
			s.Forms[i].Statblock = &b
		}
	}
	s.Early = slices.Clone(s.Early)
	e.applyTo(&s)
	return s
}

func one(e SheetEvent) ([]SheetEvent, error) { return []SheetEvent{e}, nil }

func (c CreateSheet) decide(_ Sheet, env Env) ([]SheetEvent, error) {
	cp := env.Ruleset.DP.CPAtCreation
	if c.CP != nil {
		cp = *c.CP
	}
	if cp < 0 {
		return nil, play.Refuse(Invalid, "character points are 0 or more").At("cp")
	}
	return one(SheetCreated{CP: cp})
}

func (c GrantCP) decide(Sheet, Env) ([]SheetEvent, error) {
	if c.CP < 1 {
		return nil, play.Refuse(Invalid, "at least 1 character point is given").At("cp")
	}
	return one(CPGranted(c))
}

func (c AddForm) decide(s Sheet, _ Env) ([]SheetEvent, error) {
	if !goodID.MatchString(c.Form) {
		return nil, play.Refuse(Invalid, "%q is no id of 1 to 63 of a-z, 0-9 and -", c.Form).At("form")
	}
	if _, ok := s.Form(c.Form); ok {
		return nil, play.Refuse(FormExists, "there is a form %s", c.Form)
	}
	return one(FormAdded(c))
}

func (c SwitchForm) decide(s Sheet, _ Env) ([]SheetEvent, error) {
	if _, ok := s.Form(c.Form); !ok || c.Form == "" {
		return nil, play.Refuse(NoSuchForm, "there is no form %q", c.Form)
	}
	return one(FormSwitched(c))
}

// statblock returns a form's statblock or why it has none.
func (s Sheet) statblock(id string) (string, Statblock, error) {
	f, ok := s.Form(id)
	switch {
	case !ok:
		return "", Statblock{}, play.Refuse(NoSuchForm, "there is no form %q", id)
	case f.Statblock == nil:
		return "", Statblock{}, play.Refuse(NoStatblock, "the form %s has no statblock", f.ID)
	}
	return f.ID, *f.Statblock, nil
}

func (s Sheet) affordable(env Env, b Statblock, field string) error {
	if free := s.Free(env, b); free < 0 {
		return play.Refuse(OverSpent, "that spends %d of %d dungeon points", s.Spent(env, b), s.DP(env.Ruleset)).At(field)
	}
	return nil
}

func (c SetAbilities) decide(s Sheet, env Env) ([]SheetEvent, error) {
	form, b, err := s.statblock(c.Form)
	if err != nil {
		return nil, err
	}
	for _, name := range AbilityNames {
		r := c.Abilities.Of(name)
		if r == b.Abilities.Of(name) {
			continue // owned, maybe under other rules
		}
		if r < env.Ruleset.DP.AbilityMin || r > env.Ruleset.DP.AbilityMax {
			return nil, play.Refuse(RatingOutOfRange, "a rating is %d to %d", env.Ruleset.DP.AbilityMin, env.Ruleset.DP.AbilityMax).At("abilities." + name)
		}
		if s.Approved && r < b.Abilities.Of(name) {
			return nil, play.Refuse(RatingLowered, "after approval %s cannot fall from %d to %d", name, b.Abilities.Of(name), r)
		}
	}
	owned := env.Ruleset.AbilitiesCost(b.Abilities)
	b.Abilities = c.Abilities
	if err := s.affordable(env, b, "abilities"); err != nil && env.Ruleset.AbilitiesCost(b.Abilities) > owned {
		return nil, err
	}
	return one(AbilitiesSet{Form: form, Abilities: c.Abilities})
}

func (c BuyTools) decide(s Sheet, env Env) ([]SheetEvent, error) {
	form, b, err := s.statblock(c.Form)
	if err != nil {
		return nil, err
	}
	if len(c.Tools) == 0 {
		return nil, play.Refuse(Invalid, "a purchase is at least one tool").At("tools")
	}
	bought := slices.Clone(c.Tools)
	owned := slices.Clone(b.Tools)
	for i, t := range bought {
		field := fmt.Sprintf("tools[%d]", i)
		if err := env.Ruleset.CheckTool(t, field); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(owned, func(o Tool) bool { return o.ID == t.ID }) {
			return nil, play.Refuse(ToolExists, "there is a tool %s", t.ID).At(field + ".id")
		}
		bought[i].Loaded = false
		owned = append(owned, bought[i])
		if n := toolAbilities(owned); n > env.Ruleset.Tools.MaxAbilitiesPerCharacter {
			return nil, play.Refuse(TooManyToolAbilities, "tools may cover %d abilities", env.Ruleset.Tools.MaxAbilitiesPerCharacter).At(field + ".ability")
		}
	}
	charged, bonus := len(bought), false // the first purchase ends the bonus even when it was too small for it
	if rule := env.Ruleset.Tools.ApplicationBonus; rule.Enabled && !s.Approved && !b.Purchased && len(bought) > 1 {
		charged, bonus = 1+max(0, len(bought)-rule.ToolsForOnePrice), true
	}
	price := charged * env.Ruleset.Tools.PriceDP
	b.ToolsPaid += price
	if err := s.affordable(env, b, "tools"); err != nil {
		return nil, err
	}
	return one(ToolsBought{Form: form, Tools: bought, Price: price, Bonus: bonus})
}

func toolAbilities(tools []Tool) int {
	covered := map[string]bool{}
	for _, t := range tools {
		covered[t.Ability] = true
	}
	return len(covered)
}

func (BuySlot) decide(s Sheet, env Env) ([]SheetEvent, error) {
	belt := env.Ruleset.Belt
	switch {
	case env.Ruleset.FreeSlots(env.Chapter) >= belt.StartSlots+belt.MaxExtraSlots:
		return nil, play.Refuse(NoEarlySlot, "all %d slots are free already", belt.StartSlots+belt.MaxExtraSlots)
	case s.earlyNow(env) >= belt.MaxEarlySlots:
		return nil, play.Refuse(NoEarlySlot, "the next chapter's slot is bought already")
	}
	price, ok := belt.EarlySlotDPByChapter[strconv.Itoa(env.Chapter)]
	if !ok {
		price = belt.EarlySlotDP
	}
	for _, f := range s.Forms {
		if f.Statblock != nil && s.Free(env, *f.Statblock) < price {
			return nil, play.Refuse(OverSpent, "a slot costs %d dungeon points, the form %s has %d free", price, f.ID, s.Free(env, *f.Statblock))
		}
	}
	return one(SlotBought{Chapter: env.Chapter, Price: price})
}

// tool returns a tool by number.
func (s Sheet) tool(form string, number int) (string, Statblock, Tool, error) {
	id, b, err := s.statblock(form)
	if err != nil {
		return "", b, Tool{}, err
	}
	if number < 1 || number > len(b.Tools) {
		return "", b, Tool{}, play.Refuse(NoSuchTool, "the list has tools 1 to %d, not %d", len(b.Tools), number)
	}
	return id, b, b.Tools[number-1], nil
}

// unlocked refuses while a run holds the loadout.
func (env Env) unlocked() error {
	if env.InRun {
		return play.Refuse(Leased, "the belt is locked during a run")
	}
	return nil
}

func (c LoadTool) decide(s Sheet, env Env) ([]SheetEvent, error) {
	if err := env.unlocked(); err != nil {
		return nil, err
	}
	form, b, t, err := s.tool(c.Form, c.Number)
	if err != nil {
		return nil, err
	}
	if t.Loaded {
		return nil, play.Refuse(AlreadyLoaded, "%s is loaded", t.ID)
	}
	loaded := 0
	for _, o := range b.Tools {
		if o.Loaded {
			loaded++
		}
	}
	if slots := s.Slots(env); loaded >= slots {
		return nil, play.Refuse(BeltFull, "all %d slots of the belt are full", slots)
	}
	return one(ToolLoaded{Form: form, Number: c.Number})
}

func (c UnloadTool) decide(s Sheet, env Env) ([]SheetEvent, error) {
	if err := env.unlocked(); err != nil {
		return nil, err
	}
	form, _, t, err := s.tool(c.Form, c.Number)
	if err != nil {
		return nil, err
	}
	if !t.Loaded {
		return nil, play.Refuse(NotLoaded, "%s is not loaded", t.ID)
	}
	return one(ToolUnloaded{Form: form, Number: c.Number})
}

func (Approve) decide(s Sheet, _ Env) ([]SheetEvent, error) {
	if s.Approved {
		return nil, play.Refuse(Approved, "the application has ended")
	}
	return one(SheetApproved{})
}

func (s *Sheet) block(form string) *Statblock {
	for i := range s.Forms {
		if s.Forms[i].ID == form && s.Forms[i].Statblock != nil {
			return s.Forms[i].Statblock
		}
	}
	return &Statblock{}
}

func (e SheetCreated) applyTo(s *Sheet) {
	s.CP, s.Forms, s.Current = e.CP, []Form{{ID: BaseForm, Statblock: &Statblock{}}}, BaseForm
}
func (e CPGranted) applyTo(s *Sheet) { s.CP += e.CP }
func (e FormAdded) applyTo(s *Sheet) {
	f := Form{ID: e.Form}
	if !e.NoStatblock {
		f.Statblock = &Statblock{}
	}
	s.Forms = append(s.Forms, f)
}
func (e FormSwitched) applyTo(s *Sheet) { s.Current = e.Form }
func (e AbilitiesSet) applyTo(s *Sheet) { s.block(e.Form).Abilities = e.Abilities }
func (e ToolsBought) applyTo(s *Sheet) {
	b := s.block(e.Form)
	b.Tools = append(b.Tools, e.Tools...)
	b.ToolsPaid += e.Price
	b.Purchased = true
}
func (e SlotBought) applyTo(s *Sheet)   { s.Early = append(s.Early, EarlySlot{e.Chapter, e.Price}) }
func (e ToolLoaded) applyTo(s *Sheet)   { s.block(e.Form).load(e.Number, true) }
func (e ToolUnloaded) applyTo(s *Sheet) { s.block(e.Form).load(e.Number, false) }
func (SheetApproved) applyTo(s *Sheet)  { s.Approved = true }

func (b *Statblock) load(number int, loaded bool) {
	if number >= 1 && number <= len(b.Tools) {
		b.Tools[number-1].Loaded = loaded
	}
}
