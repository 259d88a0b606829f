// Package ruleset tells which numbers and tables of the rule systems a campaign may override, and makes the complete
// document that a system plays by out of the shipped one and a campaign's overrides.
//
// It owns the list of parameters with their kinds, ranges and meaning. It owns no number: the shipped documents are those
// of the systems' packages, and so are the checks that look at several values at once, since every document made here is
// read by its package before it is handed out. What it refuses is a *play.Refusal whose Field is the parameter's name.
package ruleset
