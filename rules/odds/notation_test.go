package odds

import (
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/notation"
)

func TestOfEqualsBruteForce(t *testing.T) {
	t.Parallel()
	n, err := notation.Parse("2d4-d6+3")
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	for _, r := range rolls([]int64{1, 2, 3, 4}, 2) {
		for f := range int64(6) {
			want = append(want, r[0]+r[1]-f-1+3)
		}
	}
	d, err := Of(n)
	equals(t, d, err, want)
}
