package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
)

// laboratory are the flags that `simulate` and `balance` share.
type laboratory struct {
	dungeon, id, party, policy string
	runs, members, workers     int
	seed                       uint64
	json                       bool
}

func (l *laboratory) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.dungeon, "dungeon", "", "a file, or the id of a shipped dungeon: "+strings.Join(shippedIDs(), ", "))
	f.StringVar(&l.id, "id", "", "which dungeon of a file that has several")
	f.StringVar(&l.party, "party", "default", "a file, or \"default\": a fresh reference party for each run")
	f.StringVar(&l.policy, "policy", string(digger.Sensible), fmt.Sprintf("how the party plays: one of %v", digger.Policies))
	f.IntVar(&l.members, "members", 4, "members of the reference parties, 2 to 7")
	f.IntVar(&l.runs, "runs", 10_000, "runs to play")
	f.Uint64Var(&l.seed, "seed", 1, "seed of all dice: the same seed, the same answer")
	f.IntVar(&l.workers, "workers", runtime.GOMAXPROCS(0), "runs played side by side; they do not change the answer")
	f.BoolVar(&l.json, "json", false, "print one JSON object, on the last line")
	_ = c.MarkFlagRequired("dungeon") // it fails for a flag that does not exist
}

func shippedIDs() []string {
	var ids []string
	for _, d := range digger.ShippedDungeons() {
		ids = append(ids, d.ID)
	}
	return ids
}

func (l *laboratory) plan() (balance.Plan, error) {
	p := balance.Plan{
		Ruleset: digger.Default(), Policy: digger.Policy(l.policy), Members: l.members, Runs: l.runs, Seed: l.seed, Workers: l.workers,
	}
	var err error
	if p.Dungeon, err = l.readDungeon(); err != nil {
		return p, err
	}
	if l.party != "default" {
		p.Party, err = readParty(l.party)
	}
	return p, err
}

func (l *laboratory) readDungeon() (*digger.Dungeon, error) {
	for _, d := range digger.ShippedDungeons() {
		if d.ID == l.dungeon {
			return &d, nil
		}
	}
	raw, err := os.ReadFile(l.dungeon)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--dungeon: %q is no file and none of %v", l.dungeon, shippedIDs())
	}
	if err != nil {
		return nil, fmt.Errorf("--dungeon: %w", err)
	}
	var many struct {
		Dungeons []digger.Dungeon `json:"dungeons"`
	}
	// A file has several dungeons, or is one.
	var into any = &many
	var one digger.Dungeon
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(raw, &keys) // what is wrong with it is told below
	_, several := keys["dungeons"]
	if !several {
		into = &one
	}
	if err := transcript.Decode(raw, into); err != nil {
		return nil, fmt.Errorf("--dungeon: %s: %w", l.dungeon, err)
	}
	if !several {
		many.Dungeons = []digger.Dungeon{one}
	}
	if l.id == "" && len(many.Dungeons) == 1 {
		return &many.Dungeons[0], nil
	}
	i := slices.IndexFunc(many.Dungeons, func(d digger.Dungeon) bool { return d.ID == l.id })
	if i < 0 {
		return nil, fmt.Errorf("--id: %s has %d dungeons, none of them is %q", l.dungeon, len(many.Dungeons), l.id)
	}
	return &many.Dungeons[i], nil
}

// readParty reads members in the form of the catalogue's transcripts: a list, or an object with a list "party".
func readParty(path string) ([]digger.Entrant, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return nil, fmt.Errorf("--party: %w", err)
	}
	type member struct {
		Name      string           `json:"name"`
		Abilities digger.Abilities `json:"abilities"`
		Tools     []digger.Tool    `json:"tools"`
	}
	var file struct {
		Party []member `json:"party"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		err = transcript.Decode(raw, &file.Party)
	} else {
		err = transcript.Decode(raw, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("--party: %s: %w", path, err)
	}
	party := []digger.Entrant{}
	for _, m := range file.Party {
		e := digger.Entrant{ID: m.Name, Form: digger.BaseForm, Statblock: &m.Abilities}
		for i, t := range m.Tools {
			t.Loaded = true
			e.Tools = append(e.Tools, digger.NumberedTool{Tool: t, Number: i + 1})
		}
		party = append(party, e)
	}
	return party, nil
}

func simulateCommand() *cobra.Command {
	var (
		l         laboratory
		sensitive bool
	)
	c := &cobra.Command{
		Use: "simulate", Short: "Plays a dungeon many times and tells how the runs come out", Args: cobra.NoArgs,
		Long: "Plays a dungeon many times with the engine of real runs and tells how the runs come out: the success rate with its 95 %\n" +
			"interval, endings, the curves of exploration and exhaustion, and what each card does.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := l.plan()
			if err != nil {
				return err
			}
			r, err := balance.Run(cmd.Context(), p)
			if err != nil {
				return err
			}
			var changes []balance.Change
			if sensitive {
				if _, changes, err = balance.Sensitivity(cmd.Context(), p); err != nil {
					return err
				}
			}
			if l.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
					Dungeon string `json:"dungeon"`
					balance.Report
					Sensitivity []balance.Change `json:"sensitivity,omitempty"`
				}{p.Dungeon.ID, r, changes})
			}
			picture(cmd.OutOrStdout(), p, r)
			list(cmd.OutOrStdout(), "with one number changed", changes)
			return nil
		},
	}
	l.bind(c)
	c.Flags().BoolVar(&sensitive, "sensitivity", false, "play it once more for each number of the dungeon one step up and one down")
	return c
}

func balanceCommand() *cobra.Command {
	var (
		l     laboratory
		limit int
		out   string
	)
	c := &cobra.Command{
		Use: "balance", Short: "Proposes changes that bring a dungeon into the band of its type", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := l.plan()
			if err != nil {
				return err
			}
			before, err := balance.Run(cmd.Context(), p)
			if err != nil {
				return err
			}
			better, after, changes, err := balance.Balance(cmd.Context(), p, limit)
			if err != nil {
				return err
			}
			if out != "" {
				if err := save(out, better); err != nil {
					return err
				}
			}
			band, _ := balance.BandOf(p.Ruleset, better.Type)
			if l.json {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
					Dungeon string           `json:"dungeon"`
					Band    balance.Band     `json:"band"`
					Before  float64          `json:"before"`
					After   float64          `json:"after"`
					Holds   bool             `json:"holds"`
					Changes []balance.Change `json:"changes"`
				}{better.ID, band, before.SuccessRate, after.SuccessRate, band.Holds(after.SuccessRate), append([]balance.Change{}, changes...)})
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%s (%s): won %.1f %%, its band is %.0f to %.0f %%\n", better.Name, better.Type, 100*before.SuccessRate, 100*band.Low, 100*band.High)
			list(w, "proposed, in order", changes)
			switch {
			case len(changes) == 0 && band.Holds(after.SuccessRate):
				fmt.Fprintln(w, "It lies in its band. Nothing to change.")
			case band.Holds(after.SuccessRate):
				fmt.Fprintf(w, "With these it lies in its band: %.1f %%.\n", 100*after.SuccessRate)
			default:
				fmt.Fprintf(w, "No further change of a level or a condition brings it nearer than %.1f %%.\n", 100*after.SuccessRate)
			}
			return nil
		},
	}
	l.bind(c)
	c.Flags().IntVar(&limit, "changes", 5, "most changes to propose")
	c.Flags().StringVar(&out, "out", "", "write the changed dungeon to this file")
	return c
}

func save(path string, d *digger.Dungeon) error {
	raw, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o600)
}

// width of the bars, in characters.
const width = 40

func bar(share float64) string {
	n := int(share*width + 0.5)
	return strings.Repeat("█", n) + strings.Repeat("·", width-n)
}

func picture(w io.Writer, plan balance.Plan, r balance.Report) {
	d := plan.Dungeon
	band, _ := balance.BandOf(plan.Ruleset, d.Type)
	verdict := "in"
	if !band.Holds(r.SuccessRate) {
		verdict = "outside"
	}
	fmt.Fprintf(w, "%s (%s), %d runs\n", d.Name, d.Type, r.Runs)
	fmt.Fprintf(w, "won %.1f %% (95 %%: %.1f to %.1f), %s its band of %.0f to %.0f %%; %.2f challenges before climax and final\n\n",
		100*r.SuccessRate, 100*r.Interval[0], 100*r.Interval[1], verdict, 100*band.Low, 100*band.High, r.MeanChallenges)
	for _, ending := range []string{digger.Won, digger.LostRetreat, digger.LostExhausted} {
		share := float64(r.Endings[ending]) / float64(r.Runs)
		fmt.Fprintf(w, "  %-15s %s %5.1f %%\n", ending, bar(share), 100*share)
	}
	fmt.Fprintf(w, "\nchallenge   runs  passed  exhaustion  exploration\n")
	for i, p := range r.Curve {
		fmt.Fprintf(w, "  %7d %6d  %5.1f %%  %10.1f  %s %5.1f\n", i+1, p.Runs, 100*p.Passed, p.Exhaustion, bar(p.Exploration/float64(plan.Ruleset.Exploration.Goal)), p.Exploration)
	}
	fmt.Fprintf(w, "\ncard              kind       met  passed  runs lost on it\n")
	most := 1
	for _, c := range r.Cards {
		most = max(most, c.Ended)
	}
	for _, c := range r.Cards {
		fmt.Fprintf(w, "  %-15s %-7s %6d  %5.1f %%  %s %d\n", c.Card, c.Kind, c.Met, 100*c.Passed, bar(float64(c.Ended)/float64(most)), c.Ended)
	}
}

func list(w io.Writer, title string, changes []balance.Change) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range changes {
		where := c.Card
		if where == "" {
			where = "the dungeon"
		}
		what := fmt.Sprintf("%s %s -> %s", c.What, c.From, c.To)
		switch {
		case c.To == "":
			what = "without " + c.From
		case c.From == "":
			what = "with " + c.To
		}
		fmt.Fprintf(w, "  %-15s %-28s won %5.1f %% (%+.1f)\n", where, what, 100*c.SuccessRate, 100*c.Difference)
	}
}
