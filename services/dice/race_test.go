//go:build race

package dice_test

// raceFactor is how much longer the race detector lets everything take.
const raceFactor = 10
