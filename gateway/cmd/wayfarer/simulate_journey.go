package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
)

// journeyFlags are those of `simulate --system die-drop`.
type journeyFlags struct {
	file, from, to, route, food string
	gold                        int
	boat                        bool
}

func (j *journeyFlags) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&j.file, "map", "", "die-drop: a file with the map; the Vale of Ansel without one")
	f.StringVar(&j.from, "from", "", "die-drop: where the company sets out, q,r or a location")
	f.StringVar(&j.to, "to", "", "die-drop: where it goes; the way is the one on which food lasts longest")
	f.StringVar(&j.route, "route", "", "die-drop: every hex of the way instead, for example \"1,2 2,2 2,3\"")
	f.StringVar(&j.food, "food", "d8", "die-drop: the food dice, the oldest first, for example d20,d6; none")
	f.IntVar(&j.gold, "gold", 0, "die-drop: gold, which buys food in settlements on the way")
	f.BoolVar(&j.boat, "boat", false, "die-drop: the company has a boat")
}

func (j *journeyFlags) run(cmd *cobra.Command, l *laboratory) error {
	rs, err := rulesOf(l, ruleset.DieDrop, diedrop.Parse)
	if err != nil {
		return err
	}
	trip, err := j.trip(rs, l)
	if err != nil {
		return err
	}
	trip.Policy = diedrop.Policy(l.policyOf(cmd, string(diedrop.March)))
	r, err := balance.RunJourneys(cmd.Context(), balance.JourneyPlan{
		Ruleset: rs, Trip: trip, Runs: l.runs, Seed: l.seed, Workers: l.workers, Progress: l.progress(cmd, l.runs),
	})
	if err != nil {
		return err
	}
	if l.json {
		return l.print(cmd, struct {
			System string         `json:"system"`
			Map    string         `json:"map"`
			Policy diedrop.Policy `json:"policy"`
			Route  []diedrop.Hex  `json:"route"`
			balance.JourneyReport
		}{ruleset.DieDrop, trip.Map.ID, trip.Policy, trip.Route, r})
	}
	pictureJourneys(cmd.OutOrStdout(), trip, r)
	return nil
}

func (j *journeyFlags) trip(rs *diedrop.Ruleset, l *laboratory) (diedrop.Trip, error) {
	t := diedrop.Trip{Map: diedrop.ExampleMap(), Gold: j.gold, Boat: j.boat}
	if j.file != "" {
		raw, err := os.ReadFile(j.file)
		if err != nil {
			return t, fmt.Errorf("--map: %w", err)
		}
		if t.Map, err = diedrop.ParseMap(raw); err != nil {
			return t, fmt.Errorf("--map: %s: %w", j.file, err)
		}
	}
	if l.members < 1 || l.members > diedrop.MaxMembers {
		return t, fmt.Errorf("--members: a company has 1 to %d members", diedrop.MaxMembers)
	}
	t.Members = diedrop.DefaultCompany(rs, l.members)
	if l.party != "default" {
		var err error
		if t.Members, err = readCompany(l.party); err != nil {
			return t, err
		}
	}
	if j.food != "none" {
		for _, die := range strings.Split(j.food, ",") {
			n, err := sides(strings.TrimSpace(die))
			if err != nil {
				return t, fmt.Errorf("--food: %w", err)
			}
			t.Food = append(t.Food, int(n))
		}
	}
	var err error
	t.Route, err = j.way(rs, t)
	return t, err
}

// readCompany reads members: a list, or an object with a list "members".
func readCompany(path string) ([]diedrop.Member, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return nil, fmt.Errorf("--party: %w", err)
	}
	var file struct {
		Members []diedrop.Member `json:"members"`
	}
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		err = transcript.Decode(raw, &file.Members)
	} else {
		err = transcript.Decode(raw, &file)
	}
	if err != nil {
		return nil, fmt.Errorf("--party: %s: %w", path, err)
	}
	return file.Members, nil
}

func (j *journeyFlags) way(rs *diedrop.Ruleset, t diedrop.Trip) ([]diedrop.Hex, error) {
	if j.route != "" {
		var route []diedrop.Hex
		for _, text := range strings.Fields(j.route) {
			h, err := hexOf(t.Map, text)
			if err != nil {
				return nil, fmt.Errorf("--route: %w", err)
			}
			route = append(route, h)
		}
		return route, nil
	}
	if j.from == "" || j.to == "" {
		return nil, errors.New("a journey needs --from and --to, or --route")
	}
	from, err := hexOf(t.Map, j.from)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	to, err := hexOf(t.Map, j.to)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	return diedrop.FindRoute(rs, t.Map, from, to, j.boat)
}

// hexOf reads q,r, or the id of a location.
func hexOf(m *diedrop.Map, text string) (diedrop.Hex, error) {
	for _, l := range m.Locations {
		if l.ID == text {
			return l.Hex, nil
		}
	}
	var h diedrop.Hex
	var more string
	if n, _ := fmt.Sscanf(text+" ", "%d,%d%s", &h.Q, &h.R, &more); n != 2 {
		return h, fmt.Errorf("%q is no hex such as 1,2 and no location of %s", text, m.Name)
	}
	return h, nil
}

func pictureJourneys(w io.Writer, t diedrop.Trip, r balance.JourneyReport) {
	fmt.Fprintf(w, "%s: %d hexes, company of %d, %s, %d journeys\n", t.Map.Name, len(t.Route)-1, len(t.Members), t.Policy, r.Runs)
	fmt.Fprintf(w, "arrived with food %s; arrived at all %s\n\n", percent(r.SuccessRate, r.Interval), percent(r.Arrived.Rate, r.Arrived.Interval))
	for _, ending := range diedrop.Outcomes {
		shares(w, []string{fmt.Sprintf("%-14s", ending)}, []float64{float64(r.Endings[ending]) / float64(r.Runs)})
	}
	fmt.Fprintf(w, "\nper journey: days %s, rounds %s, hungry rounds %s, forage attempts %s,\nencounters %s, deaths by hunger %s\n",
		mean(r.Days), mean(r.Rounds), mean(r.Hungry), mean(r.Forages), mean(r.Encounters), mean(r.Dead))
	fmt.Fprintf(w, "\nfood on arrival\n")
	for _, f := range r.FoodLeft {
		shares(w, []string{fmt.Sprintf("%-10s", f.Food)}, []float64{f.Share})
	}
	histogram(w, "journeys by days", r.ByDays)
	histogram(w, "journeys by hungry rounds", r.ByHungry)
	fmt.Fprintf(w, "\nstep  into          by       came here  with food\n")
	fed := make([]float64, len(r.Curve))
	for i, p := range r.Curve {
		fmt.Fprintf(w, "  %2d  %3d,%-3d %-8s %-8s %8d  %s %5.1f %%\n", i+1, p.Q, p.R, p.Terrain, p.Via, p.Runs, bar(p.Fed.Rate), 100*p.Fed.Rate)
		fed[i] = p.Sides
	}
	top := 0.0
	for _, v := range fed {
		top = max(top, v)
	}
	plot(w, "mean sides of the food dice, step by step", top, fed)
}
