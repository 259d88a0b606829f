// Package dangerpool plays the exploration of a dungeon by the Danger Pool: dice that time, actions and noise bring in,
// spills with their events, lights, spells, hunkering, rests and fights (catalogue ids POOL-…).
//
// One aggregate, the [Delve], holds all that a trigger changes, so that every trigger is one step, all or nothing.
// [Decide] turns state, command and dice into events and changes nothing; [Apply] folds an event and cannot fail.
// Every number comes from the [Ruleset].
package dangerpool
