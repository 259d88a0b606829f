// Command wayfarer is the suite's command line: it plays the demo, checks dice, measures dungeons and keeps journals.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wayfarer:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use: "wayfarer", Short: "Plays expeditions, checks dice, computes odds and keeps journals", Version: version,
		SilenceUsage: true, SilenceErrors: true,
	}
	c.AddCommand(demoCommand(), consoleCommand(), diceCommand(), oddsCommand(), issuerCommand(), simulateCommand(), balanceCommand(), replayCommand(), adminCommand())
	return c
}
