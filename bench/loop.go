package main

import (
	"runtime"
	"syscall"
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
		begin := cpu()
		l(n)
		if took := cpu() - begin; took > loopSlice/8 {
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

// cpu is the time for which this process has been at work, its garbage collector included: what a quiet core would take,
// however much else there is to do on the machine.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no reason to fail
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// each tells how much time of a core one time of each loop takes, in nanoseconds: the medians of slices taken in turn.
func each(loops ...loop) []float64 {
	took, paces := make([][]float64, len(loops)), make([]int, len(loops))
	for i, l := range loops {
		paces[i] = l.pace()
	}
	for range loopSlices {
		for i, l := range loops {
			begin := cpu()
			l(paces[i])
			took[i] = append(took[i], float64(cpu()-begin)/float64(paces[i]))
		}
	}
	out := make([]float64, len(loops))
	for i := range took {
		out[i] = median(took[i])
	}
	return out
}
