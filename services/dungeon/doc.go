// Package dungeon is the dungeon service: definitions with their revisions, and runs of one party through one dungeon by
// the Digger rules. Delves by the Danger Pool are in the package delve below, which it serves along.
//
// It owns runs and what they borrow from the party service while they last: the roster of the party and the loadout of
// each member. A start and an end go over several services, so each is journaled first and carried on by whoever loads
// the run next, a repetition or the sweeper. No rule is here: the service maps, the rules decide.
package dungeon
