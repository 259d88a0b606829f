package dangerpool

import (
	"os"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

func TestTranscripts(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("testdata/transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	played, err := Replay(document)
	if err != nil {
		t.Fatal(err)
	}
	if len(played) != 6 {
		t.Fatalf("%d transcripts", len(played))
	}
	for _, p := range played {
		t.Run(p.ID, func(t *testing.T) {
			t.Parallel()
			if err := transcript.Check([]transcript.Played{p}); err != nil {
				t.Error(err)
			}
			if len(p.Got) < 3 {
				t.Errorf("%d steps", len(p.Got))
			}
		})
	}
}
