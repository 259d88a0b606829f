// Command travel serves the travel service. Its environment is described in docs/operating.md.
package main

import (
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/services/program"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

var version = "dev"

func main() {
	program.Main("travel", version, func(d program.Deps) (program.Service, error) {
		return travel.New(travel.Config{
			Store: d.Store, Members: d.Members, Rulesets: d.Rulesets, Logger: d.Logger, Dice: dicev1.NewDiceServiceClient(d.Dice),
			Companies: partyv1.NewCompanyServiceClient(d.Party), Characters: partyv1.NewCharacterServiceClient(d.Party),
			Leases: partyv1.NewLeaseServiceClient(d.Party),
		})
	})
}
