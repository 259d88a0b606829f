// Package diedrop plays Die Drop travel: usage dice for food and light, slots, hex moves, searching, foraging, hunger,
// encounters, settlements, and the turns inside sites (catalogue ids DDW-…).
//
// One aggregate, the [Journey], holds all that an action changes, so that every action is one step, all or nothing.
// [Decide] turns state, command and dice into events and changes nothing; [Apply] folds an event and cannot fail.
// Every number comes from the [Ruleset].
package diedrop
