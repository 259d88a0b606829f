package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/gateway/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// callers are how many call at once in measurements of a load.
const callers = 16

// hall is a house with a campaign, an edge, and a server that does nothing.
type hall struct {
	*house
	user context.Context //nolint:containedctx // carries the token of the user
	// token is that of the user for REST.
	token string
	// edge and bareEdge are the URLs of the edge and of a plain grpc-gateway before the bare server.
	edge, bareEdge string
	bareAddr       string
	bare           dicev1.DiceServiceClient
	web            *http.Client
}

func newHall(ctx context.Context, dir string, open opener) (*hall, error) {
	h, err := newHouse(ctx, dir, open)
	if err != nil {
		return nil, err
	}
	l := &hall{house: h, web: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers}}}
	if err := l.begin(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return l, nil
}

//nolint:contextcheck // the user's context is made of ctx, and servers live as long as the house
func (l *hall) begin(ctx context.Context) (err error) {
	if l.user, err = l.as(ctx, gm); err != nil {
		return err
	}
	if l.token, err = l.issuer.Token(gm); err != nil {
		return err
	}
	_, err = partyv1.NewCampaignServiceClient(l.conns[parties]).CreateCampaign(l.user,
		&partyv1.CreateCampaignRequest{CampaignId: "bench", Title: "Bench", RequestId: l.id()})
	if err != nil {
		return err
	}
	first, err := dicev1.NewDiceServiceClient(l.conns[rolling]).Roll(l.user, l.roll())
	if err != nil {
		return err
	}
	var conn *grpc.ClientConn
	if l.bareAddr, conn, err = l.bareServer(first); err != nil {
		return err
	}
	l.bare = dicev1.NewDiceServiceClient(conn)
	mux := runtime.NewServeMux()
	if err := dicev1.RegisterDiceServiceHandler(l.running, mux, conn); err != nil {
		return err
	}
	if l.bareEdge, err = l.listen(mux); err != nil {
		return err
	}
	own := &auth.TokenSource{URL: l.url + "/token", ClientID: edging, ClientSecret: secret}
	var backends []rest.Backend
	for name, register := range map[string][]rest.Registration{rolling: {dicev1.RegisterDiceServiceHandler}, delving: {dungeonv1.RegisterRunServiceHandler}} {
		back, err := serve.DialEdge(l.addrs[name], own, nil)
		if err != nil {
			return err
		}
		l.onClose(back.Close)
		backends = append(backends, rest.Backend{Name: name, Conn: back, Register: register})
	}
	limits, err := programLimits()
	if err != nil {
		return err
	}
	api, err := rest.New(l.running, rest.Config{Backends: backends, Limits: rest.Limits{
		Address: limits.Address, Streams: limits.Streams, InFlight: limits.InFlight,
	}})
	if err != nil {
		return err
	}
	l.edge, err = l.listen(api)
	return err
}

// listen serves HTTP until the house closes.
func (h *house) listen(handler http.Handler) (url string, err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	h.wg.Go(func() {
		if err := server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
			h.failed(err)
		}
	})
	h.onClose(server.Close)
	return "http://" + lis.Addr().String(), nil
}

func (l *hall) roll() *dicev1.RollRequest {
	return &dicev1.RollRequest{Parent: camp, Notation: "2d6+1", RequestId: l.id()}
}

// post rolls over REST.
func (l *hall) post(url string) error {
	body, err := json.Marshal(map[string]string{"notation": "2d6+1", "requestId": l.id()})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(l.user, http.MethodPost, url+"/v1/"+camp+"/rolls", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+l.token)
	res, err := l.web.Do(req)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d: %.300s", res.StatusCode, answer)
	}
	return nil
}

// edge compares a load of rolls over REST with the same over gRPC, and both with what the libraries do by themselves.
func edge(ctx context.Context, dir string) (rows []row, err error) {
	l, err := newHall(ctx, dir, inMemory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	full := dicev1.NewDiceServiceClient(l.conns[rolling])
	overGRPC := func(int) error { _, err := full.Roll(l.user, l.roll()); return err }
	bareGRPC := func(int) error { _, err := l.bare.Roll(ctx, l.roll()); return err }
	for _, m := range []struct {
		row                row
		baseline, measured func(int) error
	}{
		{row{name: "Roll over gRPC, memory, 16 callers", than: "bare grpc-go server"}, bareGRPC, overGRPC},
		{row{name: "Roll over REST, memory, 16 callers", than: "over gRPC", goal: ratioAtLeast(0.3)}, overGRPC, func(int) error { return l.post(l.edge) }},
		{row{name: "bare Roll over a plain grpc-gateway, 16 callers", than: "bare grpc-go server"}, bareGRPC, func(int) error { return l.post(l.bareEdge) }},
	} {
		r, err := m.row.rates(callers, m.baseline, m.measured)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.row.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// ghz compares the same servers by a load generator in a process of its own.
func (c config) ghz(ctx context.Context, dir string) (rows []row, err error) {
	rates, tails := row{name: "Roll by ghz, memory, 16 callers", than: "bare grpc-go server", unit: perSecond}, row{name: "Roll by ghz: p99", than: "bare grpc-go server"}
	if _, err := os.Stat(c.load); err != nil {
		rates.missing = "no ghz"
		return []row{rates}, nil
	}
	l, err := newHall(ctx, dir, inMemory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var bases, measures, baseTails, measuredTails []float64
	for i := range throughputSlices + 1 { // the first warms up
		b, err := c.shoot(l, l.bareAddr, i)
		if err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
		m, err := c.shoot(l, l.addrs[rolling], i)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			bases, measures = append(bases, b.Rps), append(measures, m.Rps)
			baseTails, measuredTails = append(baseTails, b.p99()), append(measuredTails, m.p99())
		}
	}
	rates.baseline, rates.measured = median(bases), median(measures)
	tails.baseline, tails.measured = median(baseTails), median(measuredTails)
	return []row{rates, tails}, nil
}

// shots are what ghz reports.
type shots struct {
	Rps                    float64
	StatusCodeDistribution map[string]int
	ErrorDistribution      map[string]int
	LatencyDistribution    []struct {
		Percentage int
		Latency    float64
	}
}

func (s shots) p99() float64 {
	for _, d := range s.LatencyDistribution {
		if d.Percentage == 99 {
			return d.Latency
		}
	}
	return 0
}

func (c config) shoot(l *hall, addr string, round int) (s shots, err error) {
	headers, _ := metadata.FromOutgoingContext(l.user)
	meta, err := json.Marshal(map[string]string{"authorization": headers.Get("authorization")[0]})
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(l.user, c.load, "--insecure", "--call", "wayfarer.dice.v1.DiceService/Roll", "-c", fmt.Sprint(callers), //nolint:gosec // our own
		"-z", throughputSlice.String(), "--duration-stop", "wait", "-O", "json", "-m", string(meta),
		"-d", fmt.Sprintf(`{"parent":%q,"notation":"2d6+1","request_id":"ghz-%d-{{.RequestNumber}}"}`, camp, round), addr)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return s, fmt.Errorf("ghz: %w: %.300s", err, complaint.Bytes())
	}
	if err := json.Unmarshal(out, &s); err != nil {
		return s, err
	}
	if len(s.ErrorDistribution) > 0 || s.StatusCodeDistribution["OK"] == 0 {
		return s, fmt.Errorf("ghz: answers were %v: %v", s.StatusCodeDistribution, s.ErrorDistribution)
	}
	return s, nil
}
