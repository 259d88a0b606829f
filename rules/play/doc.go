// Package play holds what the rule systems share: dice as values and refusals.
//
// Rules are pure. A command is decided by a function of state, command and dice into events; a state is the fold of
// its events. Nothing here or in the packages beside it reads a clock, a random source or a network.
package play
