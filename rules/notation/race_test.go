//go:build race

package notation

const raceEnabled = true
