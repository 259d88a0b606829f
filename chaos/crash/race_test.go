//go:build race

package crash_test

// manySeeds are few with the race detector, which looks for something else.
const manySeeds = 8
