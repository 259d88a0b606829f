package diedrop

import (
	"slices"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

func (c LightUp) check(*Ruleset) error {
	if c.Kind != Torch && c.Kind != Lantern {
		return invalid("kind", "%q is neither torch nor lantern", c.Kind)
	}
	return nil
}

func (c LightUp) decide(t *turn) error {
	if t.Light != nil {
		return play.Refuse(AlreadyLit, "a %s burns", t.Light.Kind)
	}
	from, ok := t.spare(c.Kind)
	if !ok {
		return play.Refuse(NoSpare, "nobody has a spare for a %s", c.Kind).On("kind")
	}
	t.emit(LightLit{Light: t.fresh(c.Kind), From: from})
	return nil
}

// spare returns the earliest living member with a spare of the kind; oil needs the lantern.
func (t *turn) spare(kind string) (from string, ok bool) {
	for _, m := range t.Members {
		if !m.Dead && (kind == Torch && m.Torches > 0 || kind == Lantern && t.Lantern && m.Oil > 0) {
			return m.Name, true
		}
	}
	return "", false
}

func (t *turn) fresh(kind string) Light {
	return Light{Kind: kind, Sides: t.Ruleset.int("light." + kind + "_die")}
}

// site returns the site that the company is inside of.
func (t *turn) site() (Location, error) {
	l, ok := t.place()
	if !ok || l.Kind != KindSite {
		return l, play.Refuse(NotDungeon, "this needs a site")
	}
	return l, nil
}

func (c TakeTurn) check(*Ruleset) error {
	if c.Trigger != TriggerRoom && c.Trigger != TriggerActivity && c.Trigger != TriggerCombat {
		return invalid("trigger", "%q is none of room, activity and combat", c.Trigger)
	}
	return nil
}

func (c TakeTurn) decide(t *turn) error {
	l, err := t.site()
	if err != nil {
		return err
	}
	if t.Dark() && c.Trigger != TriggerCombat && t.Ruleset.text("dark.other_activity") == "refuse" {
		return play.Refuse(TooDark, "it is too dark")
	}
	switch {
	case c.Trigger == TriggerRoom && t.Room == "" && c.To != l.Entrance,
		c.Trigger == TriggerRoom && t.Room != "" && !slices.Contains(l.Rooms[t.Room], c.To):
		return play.Refuse(NoSuchWay, "no way leads to %s from here", c.To).On("to")
	case c.Trigger != TriggerRoom && t.Room == "":
		return play.Refuse(NotInRoom, "the company is in no room yet").On("trigger")
	}
	if c.Trigger == TriggerRoom {
		t.emit(RoomEntered{Room: c.To})
	}
	t.siteTurn(c.Trigger)
	return nil
}

func (Retreat) decide(t *turn) error {
	l, err := t.site()
	if err != nil {
		return err
	}
	if t.Room == "" || t.Room == l.Entrance {
		return play.Refuse(AtExit, "the company is at the exit")
	}
	// The shortest way over rooms that were visited, on a tie the way listed first (DDW-DARK-02).
	far := l.distances(l.Entrance, t.Visited)
	next := ""
	for _, way := range l.Rooms[t.Room] {
		d, known := far[way]
		if best, ok := far[next]; known && (!ok || d < best) {
			next = way
		}
	}
	t.emit(RoomEntered{Room: next, Retreat: true})
	t.siteTurn("retreat")
	return nil
}

// siteTurn is steps 3 to 7 of a dungeon turn: light, then the check, then who is met (DDW-TURN-06).
func (t *turn) siteTurn(trigger string) {
	l, _ := t.place()
	t.emit(TurnBegun{Trigger: trigger, Turn: t.Turn + 1})
	dark := t.Dark()
	if t.Light != nil {
		t.burn()
	}
	if t.Ruleset.text("dark.starts") == "same_turn" {
		dark = t.Dark()
	}
	most, players, npcs := t.Ruleset.int("turn.check_max"), "normal", "normal"
	if dark {
		most, players, npcs = t.Ruleset.int("dark.check_max"), "impaired", "enhanced"
	}
	face := t.dice.Roll("encounter check", 6)
	t.emit(EncounterChecked{Face: face, Met: face <= most, Dark: dark})
	if face <= most {
		entry := t.Ruleset.SiteTables[l.Table-1].Entries[t.dice.Roll("encounter type", 6)-1]
		t.meet(entry, "site.number_die", players, npcs)
	}
}

// burn rolls the die of the light; when it is used up a spare is lit at once, same kind first (DDW-LIGHT-01, -06).
func (t *turn) burn() {
	now := *t.Light
	u := RollUsage(t.Ruleset, now.Sides, 1, KeepSingle, "light", t.dice)
	e := LightChecked{Sides: now.Sides, Face: u.Kept, SteppedDown: u.SteppedDown}
	if u.Next > 0 {
		e.Light = &Light{Kind: now.Kind, Sides: u.Next}
		t.emit(e)
		return
	}
	if t.Ruleset.flag("light.auto_replace") {
		other := Torch
		if now.Kind == Torch {
			other = Lantern
		}
		for _, kind := range []string{now.Kind, other} {
			if from, ok := t.spare(kind); ok {
				lit := t.fresh(kind)
				e.Light, e.Replaced, e.From = &lit, kind, from
				break
			}
		}
	}
	t.emit(e)
}
