package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
)

// delveFlags are those of `simulate --system danger-pool`.
type delveFlags struct {
	dangerpool.Expedition
	script string
}

func (d *delveFlags) bind(c *cobra.Command) {
	f := c.Flags()
	usual := dangerpool.DefaultExpedition()
	f.IntVar(&d.Legs, "legs", usual.Legs, "danger-pool: areas to go into, with a MOVE and an INTERACT each")
	f.IntVar(&d.LegMinutes, "leg-minutes", usual.LegMinutes, "danger-pool: real minutes that the table takes for each")
	f.IntVar(&d.FightMinutes, "fight-minutes", usual.FightMinutes, "danger-pool: real minutes of a fight")
	f.IntVar(&d.FightRounds, "fight-rounds", usual.FightRounds, "danger-pool: rounds of a fight")
	f.IntVar(&d.Torches, "torches", usual.Torches, "danger-pool: torches carried; 0: nobody needs light")
	f.StringVar(&d.script, "script", "", "danger-pool: triggers to play instead, for example \"MOVE, RISK, WAIT 30, LONG_REST\"")
}

func (d *delveFlags) run(cmd *cobra.Command, l *laboratory) error {
	rs, err := rulesOf(l, ruleset.DangerPool, dangerpool.Parse)
	if err != nil {
		return err
	}
	d.Policy = dangerpool.Policy(l.policyOf(cmd, string(dangerpool.Steady)))
	if d.script != "" {
		if d.Expedition.Script, err = dangerpool.ParseScript(strings.Split(d.script, ",")); err != nil {
			return err
		}
		d.Policy = ""
		if !cmd.Flags().Changed("torches") {
			d.Torches = 0
		}
	}
	r, err := balance.RunDelves(cmd.Context(), balance.DelvePlan{
		Ruleset: rs, Expedition: d.Expedition, Runs: l.runs, Seed: l.seed, Workers: l.workers, Progress: l.progress(cmd, l.runs),
	})
	if err != nil {
		return err
	}
	if l.json {
		return l.print(cmd, struct {
			System string            `json:"system"`
			Policy dangerpool.Policy `json:"policy,omitempty"`
			balance.DelveReport
		}{ruleset.DangerPool, d.Policy, r})
	}
	pictureDelves(cmd.OutOrStdout(), d.Expedition, r)
	return nil
}

func pictureDelves(w io.Writer, e dangerpool.Expedition, r balance.DelveReport) {
	what := fmt.Sprintf("%s, %d legs", e.Policy, e.Legs)
	if len(e.Script) > 0 {
		what = fmt.Sprintf("a script of %d steps", len(e.Script))
	}
	fmt.Fprintf(w, "danger pool: %s, %d expeditions\n", what, r.Runs)
	fmt.Fprintf(w, "survived %s: no event that may cost lives\n\n", percent(r.SuccessRate, r.Interval))
	for _, ending := range dangerpool.Outcomes {
		shares(w, []string{fmt.Sprintf("%-12s", ending)}, []float64{float64(r.Endings[ending]) / float64(r.Runs)})
	}
	fmt.Fprintf(w, "\nper expedition: events %s, combats %s, spills %s, dice %s,\nin-game minutes %s, torches burnt down %s; any combat %s\n",
		mean(r.Events), mean(r.Combats), mean(r.Spills), mean(r.Dice), mean(r.Minutes), mean(r.Torches), percent(r.AnyCombat.Rate, r.AnyCombat.Interval))
	fmt.Fprintf(w, "\nof all spills\n")
	var names []string
	var values []float64
	for _, s := range r.Severities {
		names, values = append(names, s.Severity), append(values, s.PerSpill.Rate)
	}
	shares(w, names, values)
	names, values = nil, nil
	fmt.Fprintf(w, "\nevents for each spill\n")
	for _, e := range r.EventTable {
		names, values = append(names, fmt.Sprintf("%2d %s", e.Number, strings.ToLower(e.Event))), append(values, e.PerSpill)
	}
	shares(w, names, values)
	histogram(w, "expeditions by events", r.ByEvents)
	histogram(w, "expeditions by combats", r.ByCombats)
}
