//go:build !race

package crash_test

// manySeeds are as many as a minute has room for.
const manySeeds = 200
