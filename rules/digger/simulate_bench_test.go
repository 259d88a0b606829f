package digger

import (
	"syscall"
	"testing"
)

// BenchmarkSimulate plays runs of the second dungeon by the reference policy, one core.
func BenchmarkSimulate(b *testing.B) {
	d := ShippedDungeons()[1]
	sim, err := NewSimulator(Default(), &d, Sensible, 4)
	if err != nil {
		b.Fatal(err)
	}
	p := sim.Player(seeded(1))
	b.ReportAllocs()
	var from, to syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &from); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Play(); err != nil {
			b.Fatal(err)
		}
	}
	// On a shared machine the clock counts what others do.
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &to); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(to.Utime.Nano()+to.Stime.Nano()-from.Utime.Nano()-from.Stime.Nano())/float64(b.N), "cpu-ns/op")
}
