package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"

	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

// rolled are the notations that are measured, each with a loop written by hand that comes to the same total.
var rolled = []struct {
	text string
	hand func(die func(sides int) int) int
}{
	{"1d20", func(die func(int) int) int { return die(20) }},
	{"4d6kh3+4", func(die func(int) int) int {
		sum, least := 4, 7
		for range 4 {
			f := die(6)
			sum, least = sum+f, min(least, f)
		}
		return sum - least
	}},
	{"10d6!", func(die func(int) int) int {
		sum := 0
		for range 10 {
			for {
				f := die(6)
				if sum += f; f < 6 {
					break
				}
			}
		}
		return sum
	}},
}

// peer is a library that the notations are rolled with beside ours.
const peer = "rpg-dice-roller 5.5.1 on Node"

//go:embed node
var peerFiles embed.FS

// notations compares parsing and rolling with a loop written by hand over the same generator, that of verifiable dice, and
// with the peer, which takes an ordinary generator, over another such one. Like the loop and the peer, the dice keep no
// record besides the tree of results.
func notations(ctx context.Context, dir string) ([]row, error) {
	src, err := dicestream.NewSource(bytes.Repeat([]byte{1}, dicestream.KeySize))
	if err != nil {
		return nil, err
	}
	var failed error
	die := func(sides int) int {
		f, err := src.Next(sides)
		if err != nil {
			failed = err
			return 1
		}
		return f
	}
	theirs, why := peerTimes(ctx, filepath.Join(dir, "peer"))
	pcg := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same in every run
	var rows []row
	sink := 0
	for _, r := range rolled {
		ours := func(next func(sides int) int) loop {
			dice := play.ForgetfulDice(next)
			return func(n int) {
				for range n {
					parsed, err := notation.Parse(r.text)
					if err != nil {
						failed = err
						return
					}
					res, err := parsed.Roll("bench", dice)
					if err != nil {
						failed = err
						return
					}
					sink += res.Total()
				}
			}
		}
		verifiable, ordinary := ours(die), ours(func(sides int) int { return 1 + pcg.IntN(sides) })
		hand := loop(func(n int) {
			for range n {
				sink += r.hand(die)
			}
		})
		took := each(hand, verifiable, ordinary)
		a, b := verifiable.allocations(), hand.allocations()
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", r.text, failed)
		}
		rows = append(rows, row{
			name: "parse and roll " + r.text, than: "loop by hand, same generator", baseline: took[0], measured: took[1],
			remark: fmt.Sprintf("%s allocations against %s", digits(a), digits(b)),
		})
		beside := row{name: "parse and roll " + r.text + ", ordinary generator", than: peer, baseline: theirs[r.text], measured: took[2], goal: ratioAtMost(1.0 / 50)}
		if why != nil {
			beside.missing = why.Error()
		}
		rows = append(rows, beside)
	}
	if sink == 0 {
		return nil, errors.New("nothing was rolled")
	}
	return rows, nil
}

// peerTimes installs the peer and tells how long it takes for each notation, in nanoseconds.
func peerTimes(ctx context.Context, dir string) (map[string]float64, error) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("no %s", program)
		}
	}
	files, err := fs.Sub(peerFiles, "node")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, files); err != nil {
		return nil, err
	}
	run := func(program string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // the two above
		var out, complaint bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaint
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%s: %w: %.200s", program, err, complaint.Bytes())
		}
		return out.Bytes(), nil
	}
	if _, err := run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"); err != nil {
		return nil, err
	}
	args := []string{"roll.mjs"}
	for _, r := range rolled {
		args = append(args, r.text)
	}
	out, err := run("node", args...)
	if err != nil {
		return nil, err
	}
	times := map[string]float64{}
	return times, json.Unmarshal(out, &times)
}
