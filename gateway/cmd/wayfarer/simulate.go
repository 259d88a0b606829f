package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/rules/balance"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play/transcript"
	"github.com/wayfarer-rpg/wayfarer/rules/ruleset"
)

// laboratory are the flags that `simulate` and `balance` share.
type laboratory struct {
	dungeon, id, party, policy string
	runs, members, workers     int
	seed                       uint64
	json, tell                 bool
	set                        []string
}

func (l *laboratory) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&l.dungeon, "dungeon", "", "a file, or the id of a shipped dungeon: "+strings.Join(shippedIDs(), ", "))
	f.StringVar(&l.id, "id", "", "which dungeon of a file that has several")
	f.StringVar(&l.party, "party", "default", "a file, or \"default\": a fresh reference party for each run")
	f.StringVar(&l.policy, "policy", string(digger.Sensible), fmt.Sprintf("how the party plays: one of %v", digger.Policies))
	f.IntVar(&l.members, "members", 4, "members of the reference parties, 2 to 7")
	f.StringArrayVar(&l.set, "set", nil, "override a parameter of the ruleset, for example risk.bonus=3; may be repeated")
	f.BoolVar(&l.tell, "progress", false, "tell on standard error how far it is")
	f.IntVar(&l.runs, "runs", 10_000, "runs to play")
	f.Uint64Var(&l.seed, "seed", 1, "seed of all dice: the same seed, the same answer")
	f.IntVar(&l.workers, "workers", runtime.GOMAXPROCS(0), "runs played side by side; they do not change the answer")
	f.BoolVar(&l.json, "json", false, "print one JSON object, on the last line")
}

// policyOf is the policy that was chosen, else the usual one of the system.
func (l *laboratory) policyOf(cmd *cobra.Command, usual string) string {
	if cmd.Flags().Changed("policy") {
		return l.policy
	}
	return usual
}

// progress tells on standard error how far it is, at every tenth part; nil when nobody asked.
func (l *laboratory) progress(cmd *cobra.Command, runs int) func(done int) {
	if !l.tell {
		return nil
	}
	told := 0
	return func(done int) {
		if part := done * 10 / max(1, runs); part > told {
			told = part
			fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d\n", done, runs)
		}
	}
}

// print writes one JSON object on one line.
func (l *laboratory) print(cmd *cobra.Command, report any) error {
	return json.NewEncoder(cmd.OutOrStdout()).Encode(report)
}

// overrides are what --set changes: values are JSON, or else words.
func (l *laboratory) overrides() (map[string]any, error) {
	out := map[string]any{}
	for _, s := range l.set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--set: %q is not name=value", s)
		}
		var v any = value
		if parsed := any(nil); json.Unmarshal([]byte(value), &parsed) == nil {
			v = parsed
		}
		out[name] = v
	}
	return out, nil
}

// rulesOf makes the ruleset of a system by parse, with the overrides of --set.
func rulesOf[R any](l *laboratory, system string, parse func(document []byte) (R, error)) (R, error) {
	var none R
	overrides, err := l.overrides()
	if err != nil {
		return none, err
	}
	raw, _, err := ruleset.Effective(system, overrides)
	if err != nil {
		return none, fmt.Errorf("--set: %w", err)
	}
	return parse(raw)
}

func shippedIDs() []string {
	var ids []string
	for _, d := range digger.ShippedDungeons() {
		ids = append(ids, d.ID)
	}
	return ids
}

func (l *laboratory) plan(cmd *cobra.Command) (balance.Plan, error) {
	p := balance.Plan{
		Policy: digger.Policy(l.policy), Members: l.members, Runs: l.runs, Seed: l.seed, Workers: l.workers, Progress: l.progress(cmd, l.runs),
	}
	if l.dungeon == "" {
		return p, errors.New(`required flag(s) "dungeon" not set`)
	}
	var err error
	if p.Ruleset, err = rulesOf(l, ruleset.Digger, digger.ParseRuleset); err != nil {
		return p, err
	}
	if p.Dungeon, err = l.readDungeon(); err != nil {
		return p, err
	}
	if l.party != "default" {
		p.Party, err = readParty(l.party, p.Ruleset)
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

// readParty reads members in the form of the catalogue's transcripts: a list, or an object with a list "party". Like the service it
// wants names, and ratings that the ruleset knows (DIG-ABIL-01).
func readParty(path string, rs *digger.Ruleset) ([]digger.Entrant, error) {
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
	for i, m := range file.Party {
		if m.Name == "" {
			return nil, fmt.Errorf("--party: %s: [%d].name: is missing", path, i)
		}
		for _, ability := range digger.AbilityNames {
			if n := m.Abilities.Of(ability); n < rs.DP.AbilityMin || n > rs.DP.AbilityMax {
				return nil, fmt.Errorf("--party: %s: [%d].abilities.%s: is %d to %d, not %d", path, i, ability, rs.DP.AbilityMin, rs.DP.AbilityMax, n)
			}
		}
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
		l                laboratory
		system           string
		sensitive, sizes bool
		delve            delveFlags
		journey          journeyFlags
	)
	c := &cobra.Command{
		Use: "simulate", Short: "Plays something many times and tells how it comes out", Args: cobra.NoArgs,
		Long: "Plays something many times with the engine of real play and tells how it comes out, with 95 % intervals: a dungeon by cards\n" +
			"(success rate, endings, the curves of exploration and exhaustion, what each card does), expeditions of the Danger Pool (events\n" +
			"and combats, spills by severity, survival), or Die Drop journeys (arrival with food, days, hunger).",
		Example: "  wayfarer simulate --dungeon ostrell-granary --sensitivity\n  wayfarer simulate --system danger-pool --policy loud --legs 20\n" +
			"  wayfarer simulate --system danger-pool --script LONG_REST\n  wayfarer simulate --system die-drop --from tallowick --to brennhythe --food d8",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch system {
			case ruleset.Digger:
				return l.simulate(cmd, sensitive, sizes)
			case ruleset.DangerPool:
				return delve.run(cmd, &l)
			case ruleset.DieDrop:
				return journey.run(cmd, &l)
			}
			return fmt.Errorf("--system: %q is none of %s, %s and %s", system, ruleset.Digger, ruleset.DangerPool, ruleset.DieDrop)
		},
	}
	l.bind(c)
	f := c.Flags()
	f.StringVar(&system, "system", ruleset.Digger, "what is played: digger, danger-pool or die-drop")
	f.BoolVar(&sensitive, "sensitivity", false, "digger: play it once more for each number of the dungeon and of the ruleset, one step up and one down")
	f.BoolVar(&sizes, "party-sizes", false, "digger: play it with reference parties of every size")
	f.Lookup("policy").Usage = fmt.Sprintf("how the party plays: one of %v; danger-pool: %v; die-drop: %v", digger.Policies, dangerpool.Policies, diedrop.Policies)
	delve.bind(c)
	journey.bind(c)
	return c
}

// simulate plays a dungeon by cards.
func (l *laboratory) simulate(cmd *cobra.Command, sensitive, sizes bool) error {
	p, err := l.plan(cmd)
	if err != nil {
		return err
	}
	r, err := balance.Run(cmd.Context(), p)
	if err != nil {
		return err
	}
	var changes []balance.Change
	if sensitive {
		p.Progress = l.progress(cmd, balance.SensitivityRuns(p))
		if _, changes, err = balance.Sensitivity(cmd.Context(), p); err != nil {
			return err
		}
	}
	var bySize []balance.SizeReport
	if sizes {
		p.Progress = l.progress(cmd, balance.SizesRuns(p))
		if bySize, err = balance.PartySizes(cmd.Context(), p); err != nil {
			return err
		}
	}
	if l.json {
		return l.print(cmd, struct {
			System  string        `json:"system"`
			Dungeon string        `json:"dungeon"`
			Policy  digger.Policy `json:"policy"`
			balance.Report
			Sensitivity []balance.Change     `json:"sensitivity,omitempty"`
			PartySizes  []balance.SizeReport `json:"party_sizes,omitempty"`
		}{ruleset.Digger, p.Dungeon.ID, p.Policy, r, changes, bySize})
	}
	w := cmd.OutOrStdout()
	picture(w, p, r)
	if len(bySize) > 0 {
		fmt.Fprintf(w, "\nmembers   won\n")
	}
	for _, s := range bySize {
		fmt.Fprintf(w, "  %7d %s %s\n", s.Members, bar(s.SuccessRate), percent(s.SuccessRate, s.Interval))
	}
	list(w, "with one number changed", changes)
	return nil
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
			if limit < 0 {
				return fmt.Errorf("--changes: %d is below 0", limit)
			}
			p, err := l.plan(cmd)
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
					return fmt.Errorf("--out: %w", err)
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
	var exploration, exhaustion []float64
	for i, p := range r.Curve {
		fmt.Fprintf(w, "  %7d %6d  %5.1f %%  %10.1f  %s %5.1f\n", i+1, p.Runs, 100*p.Passed, p.Exhaustion, bar(p.Exploration/float64(plan.Ruleset.Exploration.Goal)), p.Exploration)
		exploration, exhaustion = append(exploration, p.Exploration), append(exhaustion, p.Exhaustion)
	}
	plot(w, "exploration, challenge by challenge", float64(plan.Ruleset.Exploration.Goal), exploration)
	plot(w, "exhaustion of a member, challenge by challenge", float64(plan.Ruleset.Exhaustion.OutAt), exhaustion)
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
			if !strings.HasPrefix(c.What, "tn_bonus.") {
				where = "the ruleset"
			}
		}
		what := fmt.Sprintf("%s %s -> %s", c.What, c.From, c.To)
		switch {
		case c.To == "":
			what = "without " + c.From
		case c.From == "":
			what = "with " + c.To
		}
		fmt.Fprintf(w, "  %-15s %-38s won %5.1f %% (%+.1f)  %s\n", where, what, 100*c.SuccessRate, 100*c.Difference, lean(c.Difference))
	}
}

// lean draws a difference as a bar to the left or to the right of a middle, a character for each percent.
func lean(difference float64) string {
	const reach = 15
	n := min(reach, int(math.Round(100*max(difference, -difference))))
	if difference < 0 {
		return strings.Repeat(" ", reach-n) + strings.Repeat("█", n) + "│"
	}
	return strings.Repeat(" ", reach) + "│" + strings.Repeat("█", n)
}
