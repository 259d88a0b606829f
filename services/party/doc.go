// Package party serves wayfarer.party.v1: campaigns with members, roles and parties, characters, companies at rest, the
// leases on all of them, and the memberships by which every service knows who may do what.
//
// It keeps three kinds of aggregate, each in a journal of its own. The rules of sheets and rosters are those of
// rules/digger; here requests become their commands, their events the contract's, and the states the resources. Roles
// are checked inside the decision of a command: so a repeated request gets its first answer, whatever has become of the
// caller's role since, and nobody without a role learns that a campaign exists.
package party
