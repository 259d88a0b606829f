package main

import (
	"runtime"
	"time"
)

const (
	// loopSlices is into how many parts the time of a comparison of loops is divided.
	loopSlices = 7
	loopSlice  = 40 * time.Millisecond
)

// loop does something n times.
type loop func(n int)

// pace tells how many times a loop goes in about the time of a slice.
func (l loop) pace() int {
	for n := 1; ; n *= 2 {
		begin := time.Now()
		l(n)
		if took := time.Since(begin); took > loopSlice/8 {
			return max(1, int(float64(n)*float64(loopSlice)/float64(took)))
		}
	}
}

// allocations tells how many allocations one time costs.
func (l loop) allocations() float64 {
	const n = 100
	l(1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n
}

// each tells how long one time of each loop takes, in nanoseconds: the medians of slices taken in turn.
func each(loops ...loop) []float64 {
	took, paces := make([][]float64, len(loops)), make([]int, len(loops))
	for i, l := range loops {
		paces[i] = l.pace()
	}
	for range loopSlices {
		for i, l := range loops {
			begin := time.Now()
			l(paces[i])
			took[i] = append(took[i], float64(time.Since(begin))/float64(paces[i]))
		}
	}
	out := make([]float64, len(loops))
	for i := range took {
		out[i] = median(took[i])
	}
	return out
}
