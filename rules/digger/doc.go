// Package digger plays Digger: cooperative dungeons as a deck of challenges (catalogue ids DIG-…).
//
// It has three aggregates: the [Sheet] of a character (points, forms, tools, belt), the [Roster] of a campaign's parties,
// and the [Run] of one party through one [Dungeon]. Each decides commands into events and folds events into states;
// nothing else changes anything. Every number comes from the [Ruleset].
package digger
