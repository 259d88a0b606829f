// Command wayfarer is the suite's command line: it plays the demo, checks dice, measures dungeons and keeps journals.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/rules/play"
)

var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wayfarer:", explain(err))
		os.Exit(1)
	}
}

// explain is an error for people: a refusal's with the field that is wrong, which is mostly the name of a flag or a place in a file.
func explain(err error) string {
	var r *play.Refusal
	if !errors.As(err, &r) || r.Field == "" {
		return err.Error()
	}
	return strings.Replace(err.Error(), r.Code+": ", r.Code+": "+r.Field+": ", 1)
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use: "wayfarer", Short: "Plays expeditions, checks dice, computes odds and keeps journals", Version: version,
		SilenceUsage: true, SilenceErrors: true,
	}
	c.AddCommand(demoCommand(), consoleCommand(), diceCommand(), oddsCommand(), issuerCommand(), simulateCommand(), balanceCommand(), replayCommand(), adminCommand())
	return c
}
