// Package dangerworld plays Danger World scenes: pools of six-sided dice, locks and re-rolls, sets, botches and what the GM
// buys with them, challenges with penalty dice and setbacks, aspects, and the harm track (catalogue ids DW-…).
//
// One aggregate, the [Scene], holds the sheets of those present, the challenges and the checks, so that every command is
// one step, all or nothing. [Decide] turns state, command and dice into events and changes nothing; [Apply] folds an event
// and cannot fail. Every number comes from the [Ruleset].
package dangerworld
