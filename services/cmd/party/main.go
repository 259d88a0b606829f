// Command party serves the party service. Its environment is described in docs/operating.md.
package main

import (
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/program"
)

var version = "dev"

func main() {
	program.Main("party", version, func(d program.Deps) (program.Service, error) {
		return party.New(party.Config{Store: d.Store, Logger: d.Logger, Dice: dicev1.NewDiceServiceClient(d.Dice)})
	})
}
