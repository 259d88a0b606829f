package suite

import (
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	consolev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/console/v1"
	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/console"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
)

type muxType = runtime.ServeMux

// services are the programs of the suite in the order in which they start.
func services(expeditions bool) []service {
	list := []service{
		{
			name: "party",
			open: func(d deps) (instance, error) {
				s, err := party.New(party.Config{Store: d.store, Logger: d.log, Dice: dicev1.NewDiceServiceClient(d.conn("dice"))})
				if err != nil {
					return instance{}, err
				}
				return instance{register: s.Register, sweep: s.Sweep, close: s.Close}, nil
			},
			bind: []binding{
				partyv1.RegisterCampaignServiceHandler, partyv1.RegisterCharacterServiceHandler, partyv1.RegisterCompanyServiceHandler,
				partyv1.RegisterSceneServiceHandler,
			},
		},
		{
			name: "dice",
			open: func(d deps) (instance, error) {
				s := dice.New(dice.Config{Store: d.store, Members: d.members, Logger: d.log})
				return instance{register: s.Register, sweep: s.Sweep, close: s.Close}, nil
			},
			bind: []binding{dicev1.RegisterDiceServiceHandler},
		},
		{
			name: "dungeon",
			open: func(d deps) (instance, error) {
				s, err := dungeon.New(dungeon.Config{
					Store: d.store, Members: d.members, Rulesets: d.rulesets, Logger: d.log,
					Parties: partyv1.NewCampaignServiceClient(d.conn("party")), Characters: partyv1.NewCharacterServiceClient(d.conn("party")), Leases: partyv1.NewLeaseServiceClient(d.conn("party")),
					Dice: dicev1.NewDiceServiceClient(d.conn("dice")),
				})
				if err != nil {
					return instance{}, err
				}
				return instance{register: s.Register, sweep: s.Sweep, close: s.Close}, nil
			},
			bind: []binding{dungeonv1.RegisterDungeonServiceHandler, dungeonv1.RegisterRunServiceHandler, dungeonv1.RegisterDelveServiceHandler},
		},
		{
			name: "travel",
			open: func(d deps) (instance, error) {
				s, err := travel.New(travel.Config{
					Store: d.store, Members: d.members, Rulesets: d.rulesets, Logger: d.log,
					Companies: partyv1.NewCompanyServiceClient(d.conn("party")), Characters: partyv1.NewCharacterServiceClient(d.conn("party")), Leases: partyv1.NewLeaseServiceClient(d.conn("party")),
					Dice: dicev1.NewDiceServiceClient(d.conn("dice")),
				})
				if err != nil {
					return instance{}, err
				}
				return instance{register: s.Register, sweep: s.Sweep, close: s.Close}, nil
			},
			bind: []binding{travelv1.RegisterRegionServiceHandler, travelv1.RegisterJourneyServiceHandler, travelv1.RegisterMissionServiceHandler},
		},
	}
	if expeditions {
		list = append(list, service{name: "expedition", open: openExpedition, bind: []binding{expeditionv1.RegisterExpeditionServiceHandler}})
	}
	return append(list, service{name: "console", stateless: true, open: openConsole, bind: []binding{consolev1.RegisterConsoleServiceHandler}})
}

// openConsole makes the console, which in production is part of the gateway: it calls the others as its caller.
func openConsole(d deps) (instance, error) {
	cfg := console.Config{}
	for _, other := range []struct {
		name string
		conn *grpc.ClientConnInterface
	}{{"party", &cfg.Party}, {"dice", &cfg.Dice}, {"dungeon", &cfg.Dungeon}, {"travel", &cfg.Travel}, {"expedition", &cfg.Expedition}} {
		conn, err := d.plain(other.name)
		if err != nil {
			return instance{}, err
		}
		if conn != nil { // a nil pointer would be a connection
			*other.conn = conn
		}
	}
	s, err := console.New(cfg)
	if err != nil {
		return instance{}, err
	}
	return instance{register: s.Register, close: func() error { return nil }}, nil
}
