package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/demo"
	"github.com/wayfarer-rpg/wayfarer/deploy/local/suite"
)

func TestTheDemoPlaysTheMainJob(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"first", "second"} {
		var out bytes.Buffer
		if err := demo.Play(deadline(t), demo.Config{URL: house.URL, Password: suite.Password, ID: unique(id), Out: &out}); err != nil {
			t.Fatalf("the %s play-through: %v\n%s", id, err, out.String())
		}
		story := out.String()
		for _, want := range []string{
			"gm opens \"The Vale of Ansel\" in chapter 3 for ada, bram, cleo, dov.",
			"Ada forms a party, three join, and she hands the lead to Bram.",
			"they meet 2 Elves",
			"The belts are locked.",
			"The run is over: ",
			"everything is given back.",
			"seed revealed, commitment kept",
			"Nothing surprising happened.",
		} {
			if !strings.Contains(story, want) {
				t.Errorf("the %s play-through does not tell %q:\n%s", id, want, story)
			}
		}
		// The journey's dice and the run's dice are checked separately.
		if n := strings.Count(story, "faces recomputed and right."); n != 2 {
			t.Errorf("the %s play-through checks the dice of %d aggregates, not of 2:\n%s", id, n, story)
		}
	}
}
