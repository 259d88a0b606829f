package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
)

func diceCommand() *cobra.Command {
	c := &cobra.Command{Use: "dice", Short: "Checks dice"}
	c.AddCommand(verifyCommand())
	return c
}

// verification is a revealed stream with the draws to check, as POST /v1/dice:verify takes it.
type verification struct {
	Seed       []byte `json:"seed"`
	ClientSeed string `json:"clientSeed"`
	Commitment []byte `json:"commitment"`
	Draws      []struct {
		Index uint64 `json:"index"`
		Dice  []struct {
			Sides    int  `json:"sides"`
			Face     int  `json:"face"`
			Reported bool `json:"reported"`
		} `json:"dice"`
	} `json:"draws"`
}

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE", Short: "Recomputes faces from a revealed seed, offline", Args: cobra.ExactArgs(1),
		Long: "Recomputes faces from a revealed seed, offline. FILE (or - for standard input) is JSON in the form of POST /v1/dice:verify:\n" +
			`{"seed": base64, "clientSeed": text, "commitment": base64, "draws": [{"index": 2, "dice": [{"sides": 6, "face": 4}]}]}` + "\n" +
			"It ends with status 1 when a face or the commitment does not fit.",
		RunE: func(cmd *cobra.Command, args []string) error {
			raw, err := read(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			dec := json.NewDecoder(bytes.NewReader(raw))
			var v verification
			if err := dec.Decode(&v); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return v.check(cmd.OutOrStdout())
		},
	}
}

func read(in io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path) //nolint:gosec // the user's own file
}

func (v verification) check(out io.Writer) error {
	if len(v.Seed) != dicestream.SeedSize {
		return fmt.Errorf("seed: has %d bytes, not %d", len(v.Seed), dicestream.SeedSize)
	}
	if len(v.Commitment) > 0 && !dicestream.Verify(v.Seed, v.Commitment) {
		return errors.New("commitment: is not the SHA-256 of the seed")
	}
	faces := 0
	for i, d := range v.Draws {
		var sides, shown []int
		for _, die := range d.Dice {
			if !die.Reported {
				sides, shown = append(sides, die.Sides), append(shown, die.Face)
			}
		}
		want, err := dicestream.Faces(v.Seed, v.ClientSeed, d.Index, sides...)
		if err != nil {
			return fmt.Errorf("draws[%d]: %w", i, err)
		}
		for j, face := range shown {
			if face != want[j] {
				return fmt.Errorf("draws[%d]: die %d of roll %d shows %d, the stream gives %d", i, j, d.Index, face, want[j])
			}
		}
		faces += len(shown)
	}
	_, err := fmt.Fprintf(out, "%d faces of %d rolls are right\n", faces, len(v.Draws))
	return err
}
