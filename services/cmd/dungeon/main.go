// Command dungeon serves the dungeon service. Its environment is described in docs/operating.md.
package main

import (
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/program"
)

var version = "dev"

func main() {
	program.Main("dungeon", version, func(d program.Deps) (program.Service, error) {
		return dungeon.New(dungeon.Config{
			Store: d.Store, Members: d.Members, Rulesets: d.Rulesets, Logger: d.Logger, Dice: dicev1.NewDiceServiceClient(d.Dice),
			Parties: partyv1.NewCampaignServiceClient(d.Party), Characters: partyv1.NewCharacterServiceClient(d.Party), Leases: partyv1.NewLeaseServiceClient(d.Party),
		})
	})
}
