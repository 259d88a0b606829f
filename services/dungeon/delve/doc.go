// Package delve serves the exploration of dungeons by the Danger Pool: wayfarer.dungeon.v1's DelveService.
//
// It owns the mapping between the contract and rules/dangerpool and what surrounds play: who may give which command, which
// ruleset is frozen, the dice stream and the Activity Log. A delve borrows nothing; the one thing that it owes others is that
// the seed of its dice is published in the end. No rule is here.
package delve
