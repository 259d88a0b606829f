// Package e2e tests Wayfarer as its users meet it: whole programs, REST and gRPC, real tokens, journals on disk.
//
// What a rule says is tested where the rule lives. Here it is tested that the whole keeps its promises: that both
// transports refuse the same things in the same words, that secrets stay secret on every path, and that a killed machine
// loses nothing and does nothing twice.
package e2e
