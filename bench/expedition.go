package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// quest is a house with a Temporal server and the expedition service.
type quest struct {
	*house
	frontend string
	// temporal is the id of the server's process.
	temporal int
	key      []byte
	// end stops the expedition service and its worker.
	end func() error
}

// newQuest returns nil when there is no Temporal server.
func (c config) newQuest(ctx context.Context, dir string) (*quest, error) {
	if c.temporal == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	h, err := newHouse(ctx, dir, inFiles(dir))
	if err != nil {
		return nil, err
	}
	q := &quest{house: h}
	if err := q.begin(ctx, c.temporal, dir); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return q, nil
}

func (q *quest) begin(ctx context.Context, program, dir string) error {
	server, line, err := start(ctx, program, "-with-parent", "-log", "fatal", "-port", "0", "-ui-port", "-1", "-db", filepath.Join(dir, "temporal.db"))
	if err != nil {
		return err
	}
	q.onClose(server.Close)
	q.temporal = server.cmd.Process.Pid
	var said struct{ Frontend string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Frontend == "" {
		return fmt.Errorf("%s does not say where it is but %q: %w", program, line, err)
	}
	q.frontend = said.Frontend
	q.key = make([]byte, expedition.KeySize)
	if _, err := rand.Read(q.key); err != nil {
		return err
	}
	if err := q.addExpedition(ctx); err != nil {
		return err
	}
	user, err := q.as(ctx, gm)
	if err != nil {
		return err
	}
	return q.country(user)
}

// expeditions compares an expedition's command, through Temporal to the journey and back into the log, with an update of a
// workflow that runs one activity which does nothing, on the same server.
func (c config) expeditions(ctx context.Context, dir string) (rows []row, err error) {
	r := row{name: "ExpeditionService.Execute, SQLite", than: "Temporal update, no-op activity"}
	q, err := c.newQuest(ctx, dir)
	if err != nil {
		return nil, err
	}
	if q == nil {
		r.missing = noServer
		return []row{r}, nil
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	update, err := q.noop(ctx, 1)
	if err != nil {
		return nil, err
	}
	user, err := q.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	name, err := q.set(user, "quest")
	if err != nil {
		return nil, err
	}
	r, err = r.compare(10, 100, func() (time.Duration, time.Duration, error) {
		return both(func() error { return update(0) }, func() error { return q.command(user, name) })
	})
	return []row{r}, err
}

const noServer = "no server"

// addExpedition adds the expedition service with its worker.
func (q *quest) addExpedition(ctx context.Context) error {
	opts := client.Options{HostPort: q.frontend, Logger: tlog.NewStructuredLogger(q.log)}
	if err := expedition.Encrypt(&opts, q.key); err != nil {
		return err
	}
	temporal, err := client.DialContext(ctx, opts)
	if err != nil {
		return err
	}
	q.onClose(func() error { temporal.Close(); return nil })
	return q.add(ctx, questing, func(store journal.Store, members *adapter.RemoteMembers, conn func(service string) *grpc.ClientConn) (func(grpc.ServiceRegistrar), func() error, error) {
		player := adapter.Caller{Membership: adapter.Membership{Role: typev1.Role_ROLE_PLAYER}}
		s, err := expedition.New(expedition.Config{
			Store: store, Temporal: temporal, TaskQueue: "expedition", Members: roles{members}, Travel: conn(marching), Dungeon: conn(delving), Party: conn(parties),
			Redact: func(m proto.Message) proto.Message { return adapter.Redact(player, m) }, Logger: q.log, Grace: drain,
		})
		if err != nil {
			return nil, nil, err
		}
		q.end = sync.OnceValue(s.Stop)
		return s.Register, q.end, s.Start()
	})
}

// noop starts the workflows of the baseline and returns what updates one of them.
func (q *quest) noop(ctx context.Context, workflows int) (func(int) error, error) {
	const queue, change, nothing, end = "bare", "change", "nothing", "end"
	temporal, err := client.DialContext(ctx, client.Options{HostPort: q.frontend, Logger: tlog.NewStructuredLogger(q.log)})
	if err != nil {
		return nil, err
	}
	q.onClose(func() error { temporal.Close(); return nil })
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
	q.onClose(func() error { w.Stop(); return nil })
	id := func(i int) string { return fmt.Sprintf("bare-%d", i) }
	for i := range workflows {
		if _, err := temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id(i), TaskQueue: queue}, queue); err != nil {
			return nil, err
		}
	}
	return func(i int) error {
		handle, err := temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id(i), UpdateName: change, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err != nil {
			return err
		}
		return handle.Get(ctx, nil)
	}, nil
}

// country makes the campaign with the region that all expeditions go through.
func (q *quest) country(user context.Context) error {
	return firstError(
		func() error {
			_, err := partyv1.NewCampaignServiceClient(q.conns[parties]).CreateCampaign(user,
				&partyv1.CreateCampaignRequest{CampaignId: "bench", Title: "Bench", RequestId: q.id()})
			return err
		},
		func() error {
			_, err := travelv1.NewRegionServiceClient(q.conns[marching]).ImportRegion(user, &travelv1.ImportRegionRequest{
				Parent: camp, RegionId: "vale", RequestId: q.id(),
				Region: &travelv1.RegionDraft{Title: "Vale", Hexes: []*travelv1.MapHex{{Q: 1, R: 2, Terrain: "plains"}, {Q: 2, R: 2, Terrain: "plains"}}},
			})
			return err
		},
	)
}

// set starts an expedition of its own company with its journey, and returns its name.
func (q *quest) set(user context.Context, id string) (string, error) {
	api := expeditionv1.NewExpeditionServiceClient(q.conns[questing])
	name := camp + "/expeditions/" + id
	company := &partyv1.CreateCompanyRequest{
		Parent: camp, CompanyId: id, Title: id, RequestId: q.id(),
		Travelers: []*partyv1.Traveler{{Label: "Wat", Vitals: &partyv1.Vitals{Hp: 10, HpMax: 10, Str: 10, StrMax: 10}}},
	}
	quest := &expeditionv1.CreateExpeditionRequest{Parent: camp, ExpeditionId: id, Title: id, Company: camp + "/companies/" + id, RequestId: q.id()}
	journey := &expeditionv1.ExecuteRequest{Name: name, RequestId: q.id(), Command: &expeditionv1.ExecuteRequest_StartJourney{
		StartJourney: &travelv1.StartJourneyRequest{JourneyId: id, Region: camp + "/regions/vale", Hex: &travelv1.Hex{Q: 1, R: 2}},
	}}
	return name, firstError(
		func() error {
			_, err := partyv1.NewCompanyServiceClient(q.conns[parties]).CreateCompany(user, company)
			return err
		},
		func() error { _, err := api.CreateExpedition(user, quest); return err },
		func() error { return again(user, func() error { _, err := api.Execute(user, journey); return err }) },
	)
}

// again repeats a request when it got no answer, as on a machine that has more to do than it can.
func again(ctx context.Context, call func() error) error {
	const tries, pause = 60, time.Second
	for n := 1; ; n++ {
		err := call()
		if code := status.Code(err); n == tries || code != codes.Unavailable && code != codes.DeadlineExceeded {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// command gives an expedition a command that may be given for ever: the GM counts the company's gold.
func (q *quest) command(user context.Context, name string) error {
	id := q.id()
	_, err := expeditionv1.NewExpeditionServiceClient(q.conns[questing]).Execute(user, &expeditionv1.ExecuteRequest{
		Name: name, RequestId: id, Command: &expeditionv1.ExecuteRequest_AdjustJourney{
			AdjustJourney: &travelv1.AdjustRequest{Gold: proto.Int32(int32(len(id))), Reason: "counted again"}, //nolint:gosec // short
		},
	})
	return err
}
