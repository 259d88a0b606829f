// Package adapter is what the services share between the wire and the rules: who calls and what they may do, commands
// read off a request, aggregates whose events are proto messages, dice drawn from streams, and secrets cleared from
// answers.
//
// It owns no rule and no state. A service maps its requests to the commands of a rules package, hands the decision to
// an [Aggregate], and maps the state that comes back to its resources. What the edge loses: refusals and journal errors
// become faults here, with the code, the field and the message, and without their Go types.
package adapter
