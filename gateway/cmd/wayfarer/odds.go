package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"buf.build/go/protovalidate"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/services/dice/chance"
)

func oddsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "odds NOTATION", Short: "Computes chances exactly, offline", Args: cobra.ExactArgs(1),
		Long: "Computes the distribution of a notation's total exactly, offline. --json prints the answer of POST /v1/dice:odds on one\n" +
			"line. Put -- before a notation that begins with a minus sign.",
		Example: "  wayfarer odds 4d6kh3 --json\n  wayfarer odds 2d20kh1+5 --target 15\n  wayfarer odds compare 3d6 2d10\n" +
			"  wayfarer odds pool --dice 8 --difficulty 4",
	}
	var target int32
	c.Flags().Int32Var(&target, "target", 0, "least total that is a success")
	c.PersistentFlags().Bool("json", false, "print one JSON object")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		q := &dicev1.NotationQuestion{Notation: args[0]}
		if cmd.Flags().Changed("target") {
			q.Target = &target
		}
		return answerOdds(cmd, &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Notation{Notation: q}})
	}
	c.AddCommand(compareCommand(), poolCommand(), oddsMoveCommand(), usageCommand(), spillCommand())
	return c
}

func compareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare FIRST SECOND", Short: "Tells how likely the first total is greater", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answerOdds(cmd, &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Comparison{
				Comparison: &dicev1.ComparisonQuestion{First: args[0], Second: args[1]},
			}})
		},
	}
}

// poolRuleFlags adds the variants of a pool's rules.
func poolRuleFlags(c *cobra.Command) *dicev1.PoolRules {
	rules := &dicev1.PoolRules{MaxRerolls: new(int32)}
	c.Flags().Int32Var(rules.MaxRerolls, "max-rerolls", 2, "re-rolls after the first roll, 0 to 3")
	c.Flags().BoolVar(&rules.FreeLocks, "free-locks", false, "locked dice may be taken back (lock_policy=FREE)")
	c.Flags().BoolVar(&rules.OnesStay, "ones-stay", false, "a 1 is locked as soon as it shows (ones_reroll=FORBIDDEN)")
	c.Flags().BoolVar(&rules.FinalBotches, "final-botches", false, "only the ones that show at the end count (botch_count=FINAL)")
	return rules
}

func poolCommand() *cobra.Command {
	q := &dicev1.PoolQuestion{}
	c := &cobra.Command{Use: "pool", Short: "Plays a Danger World pool best", Args: cobra.NoArgs}
	c.Flags().Int32Var(&q.Dice, "dice", 0, "normal dice; with the danger dice at most 12")
	c.Flags().Int32Var(&q.Danger, "danger", 0, "danger dice")
	c.Flags().Int32Var(&q.Penalty, "penalty", 0, "penalty dice")
	c.Flags().Int32Var(&q.Difficulty, "difficulty", 2, "least height of a set that succeeds, 2 to 6")
	q.Rules = poolRuleFlags(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return answerOdds(cmd, &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Pool{Pool: q}})
	}
	return c
}

func oddsMoveCommand() *cobra.Command {
	q := &dicev1.MoveQuestion{}
	c := &cobra.Command{
		Use: "move", Short: "Finds the best move in a Danger World check", Args: cobra.NoArgs,
		Example: "  wayfarer odds move --normal 4,4,2,1,6,4 --difficulty 3 --rerolls-left 2",
	}
	c.Flags().Int32SliceVar(&q.Normal, "normal", nil, "faces of the normal dice")
	c.Flags().Int32SliceVar(&q.Danger, "danger", nil, "faces of the danger dice")
	c.Flags().Int32SliceVar(&q.Penalty, "penalty", nil, "faces of the penalty dice")
	c.Flags().StringSliceVar(&q.Locked, "locked", nil, "dice that are locked, for example N1,D2")
	c.Flags().Int32Var(&q.Difficulty, "difficulty", 2, "least height of a set that succeeds, 2 to 6")
	c.Flags().Int32Var(&q.RerollsLeft, "rerolls-left", 2, "re-rolls that may still follow")
	q.Rules = poolRuleFlags(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return answerOdds(cmd, &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Move{Move: q}})
	}
	return c
}

func usageCommand() *cobra.Command {
	q := &dicev1.UsageQuestion{}
	var mode, second string
	c := &cobra.Command{
		Use: "usage DIE", Short: "Tells how many checks a usage die lasts", Args: cobra.ExactArgs(1),
		Example: "  wayfarer odds usage d8 --mode lowest2",
	}
	c.Flags().StringVar(&mode, "mode", "single", "single, lowest2, lowest3 or highest2")
	c.Flags().StringVar(&second, "second", "", "a second die, used up after the first")
	c.Flags().Int32Var(&q.Checks, "checks", 0, "list outcomes so far (default 30)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if q.Sides, err = sides(args[0]); err != nil {
			return err
		}
		if second != "" {
			n, err := sides(second)
			if err != nil {
				return err
			}
			q.Second = &n
		}
		var ok bool
		if q.Mode, ok = chance.Mode(mode); !ok {
			return fmt.Errorf("--mode: %q is none of single, lowest2, lowest3, highest2", mode)
		}
		return answerOdds(cmd, &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Usage{Usage: q}})
	}
	return c
}

// sides reads the name of a usage die, such as d8 or ud8.
func sides(die string) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(die), "u"), "d"), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no die such as d8", die)
	}
	return int32(n), nil
}

func spillCommand() *cobra.Command {
	q := &dicev1.SpillQuestion{Dice: new(int32)}
	c := &cobra.Command{
		Use: "spill", Short: "Tells what spills of the Danger Pool bring", Args: cobra.NoArgs,
		Example: "  wayfarer odds spill --spills 8   # a long rest in the open",
	}
	c.Flags().Int32Var(q.Dice, "dice", 6, "dice of each spill")
	c.Flags().Int32Var(&q.Spills, "spills", 1, "how many spills")
	c.Flags().BoolVar(&q.EventPerOne, "event-per-one", false, "one event for each 1 (events_per_spill=PER_ONE)")
	c.Flags().Int32Var(&q.DeadlyFrom, "deadly-from", 3, "least number of ones that is DEADLY")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return answerOdds(cmd, &dicev1.OddsRequest{Question: &dicev1.OddsRequest_Spill{Spill: q}})
	}
	return c
}

// answerOdds validates a question as the service does, and prints its answer.
func answerOdds(cmd *cobra.Command, req *dicev1.OddsRequest) error {
	if err := protovalidate.Validate(req); err != nil {
		return err
	}
	a, err := chance.Answer(req)
	if err != nil {
		return err
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); !asJSON {
		return pictureOdds(cmd.OutOrStdout(), a)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(a)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil { // protojson varies its blanks
		return err
	}
	line.WriteByte('\n')
	_, err = line.WriteTo(cmd.OutOrStdout())
	return err
}

const (
	barWidth = 50
	// mostBars is how many outcomes a picture has; more are gathered in steps.
	mostBars = 40
	// longest is how many characters an exact number may have in a picture.
	longest = 40
)

// pictureOdds prints an answer for people, with a histogram.
func pictureOdds(out io.Writer, a *dicev1.OddsResponse) error {
	var b strings.Builder
	exactly := func(name, exact string, about float64) {
		if len(exact) > longest || exact == "" {
			exact = "≈"
		}
		fmt.Fprintf(&b, "%-12s %s = %.6g\n", name, exact, about)
	}
	name, shares := "mean", []*dicev1.OddsShare(nil)
	switch d := a.GetDetail().(type) {
	case *dicev1.OddsResponse_Notation:
		b.WriteString(d.Notation.GetNotation() + "\n")
	case *dicev1.OddsResponse_Comparison:
		b.WriteString(d.Comparison.GetFirst() + " against " + d.Comparison.GetSecond() + ", outcomes are the difference\n")
		exactly("less", d.Comparison.GetLess(), d.Comparison.GetLessFloat())
		exactly("equal", d.Comparison.GetEqual(), d.Comparison.GetEqualFloat())
	case *dicev1.OddsResponse_Pool:
		name, shares = "botches", d.Pool.GetHeights()
	case *dicev1.OddsResponse_Move:
		name = "botches"
		if d.Move.GetStop() {
			b.WriteString("stop\n")
		} else {
			b.WriteString("keep " + strings.Join(append(d.Move.GetKeep(), "roll the rest"), ", ") + "\n")
		}
	case *dicev1.OddsResponse_Usage:
		name, shares = "checks", d.Usage.GetStepDown()
	case *dicev1.OddsResponse_Spill:
		name, shares = "events", slices.Concat(d.Spill.GetSeverities(), d.Spill.GetEvents())
		exactly("any combat", d.Spill.GetAnyCombat(), d.Spill.GetAnyCombatFloat())
	}
	if a.Success != nil {
		exactly("success", a.GetSuccess(), a.GetSuccessFloat())
	}
	exactly(name, a.GetMean(), a.GetMeanFloat())
	if len(a.GetOutcomes()) > 0 {
		fmt.Fprintf(&b, "%-12s %.6g\n", "deviation", a.GetDeviationFloat())
		b.WriteString("quantiles   ")
		for _, q := range a.GetQuantiles() {
			fmt.Fprintf(&b, " %d%%: %d", q.GetPercent(), q.GetValue())
		}
		b.WriteByte('\n')
	}
	if a.GetLost() != "0" {
		exactly("not listed", a.GetLost(), a.GetLostFloat())
	}
	for _, s := range shares {
		exactly(s.GetName(), s.GetChance(), s.GetChanceFloat())
	}
	oddsBars(&b, a.GetOutcomes())
	_, err := io.WriteString(out, b.String())
	return err
}

// oddsBars draws a histogram; neighbours are gathered when there are too many.
func oddsBars(b *strings.Builder, all []*dicev1.OddsOutcome) {
	step := (len(all) + mostBars - 1) / mostBars
	if step == 0 {
		return
	}
	type bar struct {
		name   string
		chance float64
	}
	var drawn []bar
	greatest, widest := 0.0, 0
	for part := range slices.Chunk(all, step) {
		one := bar{name: strconv.Itoa(int(part[0].GetValue()))}
		if last := part[len(part)-1].GetValue(); len(part) > 1 {
			one.name += " … " + strconv.Itoa(int(last))
		}
		for _, o := range part {
			one.chance += o.GetChanceFloat()
		}
		drawn = append(drawn, one)
		greatest, widest = max(greatest, one.chance), max(widest, len([]rune(one.name)))
	}
	for _, one := range drawn {
		length := int(math.Round(one.chance / greatest * barWidth))
		fmt.Fprintf(b, "%*s %8.4f%% %s\n", widest, one.name, 100*one.chance, strings.Repeat("█", length))
	}
}
