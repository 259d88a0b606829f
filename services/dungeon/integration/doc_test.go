// Package integration_test plays runs over gRPC with the party and dice services in earnest: what is borrowed is asked of
// the lender itself, dice come from streams, and processes die wherever something leaves them.
package integration_test
