// Package dice is the dice service: rolls with a log, and the streams that every other service draws from.
//
// It owns seeds and roll logs. A stream is an aggregate whose first record holds the secret seed; a log is an aggregate
// for each person and campaign, which rolls with a stream of its own. What the edge loses: nothing of a seed leaves the
// service before it is revealed, except the keys of single roll numbers to other services.
package dice
