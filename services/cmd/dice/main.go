// Command dice serves the dice service. Its environment is described in docs/operating.md.
package main

import (
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/program"
)

var version = "dev"

func main() {
	program.Main("dice", version, func(d program.Deps) (program.Service, error) {
		return dice.New(dice.Config{Store: d.Store, Members: d.Members, Logger: d.Logger}), nil
	})
}
