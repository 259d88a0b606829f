package digger

import "testing"

// BenchmarkSimulate plays runs of the second dungeon by the reference policy, one core.
func BenchmarkSimulate(b *testing.B) {
	d := ShippedDungeons()[1]
	sim, err := NewSimulator(Default(), &d, Sensible, 4)
	if err != nil {
		b.Fatal(err)
	}
	p := sim.Player(seeded(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Play(); err != nil {
			b.Fatal(err)
		}
	}
}
