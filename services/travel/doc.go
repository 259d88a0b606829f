// Package travel serves regions and the journeys through them over gRPC.
//
// It translates: requests become commands of rules/diedrop, whose events are journaled as messages of the contract. It
// owns no rule, but two sagas: a journey borrows its company and the vitals of its characters from the party service
// before it begins, and gives them back when it ends or somebody leaves.
//
// What players may not see is marked in the contract and cleared on the way out. One refusal is changed as well: for
// players a hidden location that was not discovered is one that does not exist.
package travel
