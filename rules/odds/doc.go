// Package odds computes chances exactly: distributions as whole numbers of ways, results as big rationals. It rolls
// nothing. What costs more than its limits is refused as TOO_MUCH_WORK, what has no meaning as BAD_ODDS.
//
// It takes plain numbers and so knows no ruleset; whoever has one passes its parameters.
package odds
