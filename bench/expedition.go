package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// roles tells the expedition service roles.
type roles struct{ adapter.Members }

func (r roles) Role(ctx context.Context, campaign, subject string) (typev1.Role, error) {
	m, err := r.Membership(ctx, campaign, subject)
	return m.Role, err
}

// expeditions compares an expedition's command, through Temporal to the journey and back into the log, with an update of a
// workflow that runs one activity which does nothing, on the same server.
func (c config) expeditions(ctx context.Context, dir string) (rows []row, err error) {
	r := row{name: "ExpeditionService.Execute, SQLite", than: "Temporal update, no-op activity"}
	if c.temporal == "" {
		r.missing = "no server"
		return []row{r}, nil
	}
	h, err := newHouse(ctx, dir, inFiles(dir))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	server, line, err := start(ctx, c.temporal, "-with-parent", "-port", "0", "-ui-port", "-1", "-db", filepath.Join(dir, "temporal.db"))
	if err != nil {
		return nil, err
	}
	h.onClose(server.Close)
	var said struct{ Frontend string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Frontend == "" {
		return nil, fmt.Errorf("%s does not say where it is but %q: %w", c.temporal, line, err)
	}
	if err := h.addExpedition(ctx, said.Frontend); err != nil {
		return nil, err
	}
	update, err := h.noop(ctx, said.Frontend)
	if err != nil {
		return nil, err
	}
	command, err := h.set(ctx)
	if err != nil {
		return nil, err
	}
	r, err = r.compare(10, 100, func() (time.Duration, time.Duration, error) { return both(update, command) })
	return []row{r}, err
}

// addExpedition adds the expedition service with its worker.
func (h *house) addExpedition(ctx context.Context, frontend string) error {
	key := make([]byte, expedition.KeySize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	opts := client.Options{HostPort: frontend, Logger: tlog.NewStructuredLogger(h.log)}
	if err := expedition.Encrypt(&opts, key); err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, opts)
	if err != nil {
		return err
	}
	h.onClose(func() error { temporal.Close(); return nil })
	return h.add(ctx, questing, func(store journal.Store, members *adapter.RemoteMembers, conn func(string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error) {
		player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
		s, err := expedition.New(expedition.Config{
			Store: store, Temporal: temporal, TaskQueue: "expedition", Members: roles{members}, Travel: conn(marching), Dungeon: conn(delving),
			Redact: func(m proto.Message) proto.Message { return adapter.Redact(player, m) }, Logger: h.log, Grace: drain,
		})
		if err != nil {
			return nil, nil, err
		}
		return s.Register, s.Stop, s.Start()
	})
}

// noop starts the workflow of the baseline and returns what updates it.
func (h *house) noop(ctx context.Context, frontend string) (func() error, error) {
	const queue, id, change, nothing, end = "bare", "bare", "change", "nothing", "end"
	temporal, err := client.DialContext(ctx, client.Options{HostPort: frontend, Logger: tlog.NewStructuredLogger(h.log)})
	if err != nil {
		return nil, err
	}
	h.onClose(func() error { temporal.Close(); return nil })
	w := worker.New(temporal, queue, worker.Options{WorkerStopTimeout: drain})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: nothing})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		err := workflow.SetUpdateHandler(ctx, change, func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
			return workflow.ExecuteActivity(ctx, nothing).Get(ctx, nil)
		})
		if err != nil {
			return err
		}
		workflow.GetSignalChannel(ctx, end).Receive(ctx, nil)
		return nil
	}, workflow.RegisterOptions{Name: queue})
	if err := w.Start(); err != nil {
		return nil, err
	}
	h.onClose(func() error { w.Stop(); return nil })
	if _, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: queue}, queue); err != nil {
		return nil, err
	}
	return func() error {
		handle, err := temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: change, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err != nil {
			return err
		}
		return handle.Get(ctx, nil)
	}, nil
}

// set starts an expedition with a journey and returns what gives it a command: a traveler is harmed, who can take it.
func (h *house) set(ctx context.Context) (func() error, error) {
	const traveler = "Wat"
	user, err := h.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	api := expeditionv1.NewExpeditionServiceClient(h.conns[questing])
	name := camp + "/expeditions/quest"
	err = firstError(
		func() error {
			_, err := partyv1.NewCampaignServiceClient(h.conns[parties]).CreateCampaign(user,
				&partyv1.CreateCampaignRequest{CampaignId: "bench", Title: "Bench", RequestId: h.id()})
			return err
		},
		func() error {
			_, err := partyv1.NewCompanyServiceClient(h.conns[parties]).CreateCompany(user, &partyv1.CreateCompanyRequest{
				Parent: camp, CompanyId: "band", Title: "Band", RequestId: h.id(),
				Travelers: []*partyv1.Traveler{{Label: traveler, Vitals: &partyv1.Vitals{Hp: 1000, HpMax: 1000, Str: 10, StrMax: 10}}},
			})
			return err
		},
		func() error {
			_, err := travelv1.NewRegionServiceClient(h.conns[marching]).ImportRegion(user, &travelv1.ImportRegionRequest{
				Parent: camp, RegionId: "vale", RequestId: h.id(),
				Region: &travelv1.RegionDraft{Title: "Vale", Hexes: []*travelv1.MapHex{{Q: 1, R: 2, Terrain: "plains"}, {Q: 2, R: 2, Terrain: "plains"}}},
			})
			return err
		},
		func() error {
			_, err := api.CreateExpedition(user, &expeditionv1.CreateExpeditionRequest{
				Parent: camp, ExpeditionId: "quest", Title: "Quest", Company: camp + "/companies/band", RequestId: h.id(),
			})
			return err
		},
		func() error {
			_, err := api.Execute(user, &expeditionv1.ExecuteRequest{Name: name, RequestId: h.id(), Command: &expeditionv1.ExecuteRequest_StartJourney{
				StartJourney: &travelv1.StartJourneyRequest{Region: camp + "/regions/vale", Hex: &travelv1.Hex{Q: 1, R: 2}},
			}})
			return err
		},
	)
	return func() error {
		_, err := api.Execute(user, &expeditionv1.ExecuteRequest{Name: name, RequestId: h.id(), Command: &expeditionv1.ExecuteRequest_Harm{
			Harm: &travelv1.HarmRequest{Member: traveler, Hp: 1},
		}})
		return err
	}, err
}
