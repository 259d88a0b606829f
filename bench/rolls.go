package main

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"
	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

const camp = "campaigns/bench"

// bare answers every Roll alike.
type bare struct {
	dicev1.UnimplementedDiceServiceServer
	answer *dicev1.RollResponse
}

func (b bare) Roll(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
	return b.answer, nil
}

// bareServer serves a bare Roll until the house closes, with nothing around it.
func (h *house) bareServer(answer *dicev1.RollResponse) (addr string, conn *grpc.ClientConn, err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := grpc.NewServer()
	reflection.Register(server)
	dicev1.RegisterDiceServiceServer(server, bare{answer: answer})
	h.wg.Go(func() { h.failed(server.Serve(lis)) })
	h.onClose(func() error { server.Stop(); return nil })
	addr = lis.Addr().String()
	if conn, err = plain(addr); err == nil {
		h.onClose(conn.Close)
	}
	return addr, conn, err
}

// rolls compares DiceService.Roll, from the token to the journal, with a unary call of grpc-go that does nothing: the same
// request, and for an answer one that a roll gave.
func rolls(ctx context.Context, dir, store string, open opener) (rows []row, err error) {
	h, err := newHouse(ctx, dir, open)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	user, err := h.as(ctx, gm)
	if err != nil {
		return nil, err
	}
	_, err = partyv1.NewCampaignServiceClient(h.conns[parties]).CreateCampaign(user,
		&partyv1.CreateCampaignRequest{CampaignId: "bench", Title: "Bench", RequestId: h.id()})
	if err != nil {
		return nil, err
	}
	full := dicev1.NewDiceServiceClient(h.conns[rolling])
	request := func() *dicev1.RollRequest {
		return &dicev1.RollRequest{Parent: camp, Notation: "2d6+1", RequestId: h.id()}
	}
	first, err := full.Roll(user, request())
	if err != nil {
		return nil, err
	}

	_, conn, err := h.bareServer(first)
	if err != nil {
		return nil, err
	}
	empty := dicev1.NewDiceServiceClient(conn)

	r, err := row{name: "DiceService.Roll, " + store, than: "bare grpc-go unary"}.compare(100, 1000, func() (time.Duration, time.Duration, error) {
		req := request()
		return both(
			func() error { _, err := empty.Roll(ctx, req); return err },
			func() error { _, err := full.Roll(user, req); return err },
		)
	})
	return []row{r}, err
}
