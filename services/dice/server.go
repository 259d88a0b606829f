package dice

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/notation"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
	"github.com/wayfarer-rpg/wayfarer/services/dice/chance"
)

// Config is what the service works with.
type Config struct {
	// Store keeps the journals.
	Store journal.Store
	// Members tells who may do what.
	Members adapter.Members
	// Logger takes what nobody else is told.
	Logger *slog.Logger
	// Entropy is where seeds come from. Nil: crypto/rand. Anything else makes dice that can be foretold, and is for tests.
	Entropy io.Reader
	// Journal changes how the journals work; for tests.
	Journal []journal.Option
}

// Server is the dice service.
type Server struct {
	dicev1.UnimplementedDiceServiceServer
	access  *adapter.Access
	streams streams
	logs    logs
	log     *slog.Logger
}

// New returns the service.
func New(cfg Config) *Server {
	if cfg.Entropy == nil {
		cfg.Entropy = rand.Reader
	}
	s := streams{adapter.NewAggregate(cfg.Store, nil, streamSpec, cfg.Journal...), cfg.Entropy}
	return &Server{
		access:  adapter.NewAccess(cfg.Members),
		streams: s,
		logs:    logs{agg: adapter.NewAggregate(cfg.Store, s, logSpec, cfg.Journal...), streams: s},
		log:     cfg.Logger,
	}
}

// Register adds the service to a gRPC server.
func (s *Server) Register(r grpc.ServiceRegistrar) { dicev1.RegisterDiceServiceServer(r, s) }

// Sweep sees obligations through that a crash left open, at once and at each tick, until ctx ends.
func (s *Server) Sweep(ctx context.Context, tick <-chan time.Time) {
	s.logs.agg.Sweep(ctx, s.log, tick, s.logs.see)
}

// Close ends all watches.
func (s *Server) Close() error { return errors.Join(s.streams.agg.Close(), s.logs.agg.Close()) }

// rollCommand reads a roll request.
func (s *Server) rollCommand(ctx context.Context, req proto.Message, parent string) (adapter.Command, error) {
	c, err := s.access.Caller(ctx, parent)
	if err != nil {
		return adapter.Command{}, err
	}
	return command(ctx, req, c, logName(c.Campaign, c.Subject))
}

// command reads a request that spectators may not make.
func command(ctx context.Context, req proto.Message, c adapter.Caller, stream string) (adapter.Command, error) {
	cmd, err := adapter.CommandOf(ctx, req, c, stream)
	if refusal := c.RequirePlay(); refusal != nil {
		cmd.Refusal = refusal
	}
	return cmd, err
}

// Roll implements dicev1.DiceServiceServer.
func (s *Server) Roll(ctx context.Context, req *dicev1.RollRequest) (*dicev1.RollResponse, error) {
	n, err := parse("notation", req.GetNotation())
	if err != nil {
		return nil, err
	}
	cmd, err := s.rollCommand(ctx, req, req.GetParent())
	if err != nil {
		return nil, err
	}
	ans, err := s.logs.roll(ctx, cmd, func(stream string, index int, dice *play.Dice) (*dicev1.RollLogEvent, error) {
		one, err := roll("notation", n, req.GetPurpose(), stream, index, dice)
		return rolled(one), err
	})
	if err != nil {
		return nil, err
	}
	return &dicev1.RollResponse{Roll: rolls(ans)[0]}, nil
}

// BatchRoll implements dicev1.DiceServiceServer.
func (s *Server) BatchRoll(ctx context.Context, req *dicev1.BatchRollRequest) (*dicev1.BatchRollResponse, error) {
	all := make([]notation.Notation, len(req.GetNotations()))
	dice := 0
	for i, text := range req.GetNotations() {
		field := fmt.Sprintf("notations[%d]", i)
		n, err := parse(field, text)
		if err != nil {
			return nil, err
		}
		if dice += n.Dice(); dice > notation.MaxDice {
			return nil, tooMuch(field, fmt.Sprintf("a batch has at most %d dice", notation.MaxDice))
		}
		all[i] = n
	}
	cmd, err := s.rollCommand(ctx, req, req.GetParent())
	if err != nil {
		return nil, err
	}
	ans, err := s.logs.roll(ctx, cmd, func(stream string, index int, dice *play.Dice) (*dicev1.RollLogEvent, error) {
		out := make([]*dicev1.Roll, len(all))
		for i, n := range all {
			field := fmt.Sprintf("notations[%d]", i)
			var err error
			if out[i], err = roll(field, n, req.GetPurpose(), stream, index, dice); err != nil {
				return nil, err
			}
			if len(dice.Rolled()) > notation.MaxRolled {
				return nil, tooMuch(field, fmt.Sprintf("a batch rolls at most %d dice", notation.MaxRolled))
			}
		}
		return rolled(out...), nil
	})
	if err != nil {
		return nil, err
	}
	return &dicev1.BatchRollResponse{Rolls: rolls(ans)}, nil
}

// RollUsageDie implements dicev1.DiceServiceServer.
func (s *Server) RollUsageDie(ctx context.Context, req *dicev1.RollUsageDieRequest) (*dicev1.RollUsageDieResponse, error) {
	cmd, err := s.rollCommand(ctx, req, req.GetParent())
	if err != nil {
		return nil, err
	}
	ans, err := s.logs.roll(ctx, cmd, func(stream string, index int, dice *play.Dice) (*dicev1.RollLogEvent, error) {
		return &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_UsageDieRolled{
			UsageDieRolled: &dicev1.UsageDieRolled{Roll: usage(req, stream, index, dice)},
		}}, nil
	})
	if err != nil {
		return nil, err
	}
	u := proto.CloneOf(ans.Events[0].GetUsageDieRolled().GetRoll())
	u.Record = ans.Record
	return &dicev1.RollUsageDieResponse{Roll: u}, nil
}

func usage(req *dicev1.RollUsageDieRequest, stream string, index int, dice *play.Dice) *dicev1.UsageRoll {
	mode := req.GetMode()
	if mode == dicev1.UsageMode_USAGE_MODE_UNSPECIFIED {
		mode = dicev1.UsageMode_USAGE_MODE_SINGLE
	}
	n, keep := chance.Usage(mode)
	check := diedrop.RollUsage(diedrop.Default(), int(req.GetSides()), n, keep, purposeOr(req.GetPurpose(), "usage"), dice)
	u := &dicev1.UsageRoll{
		Sides: req.GetSides(), Mode: mode, Kept: int32(check.Kept), SteppedDown: check.SteppedDown, //nolint:gosec // dice are small
		Purpose: req.GetPurpose(), Stream: stream, Index: int32(index), //nolint:gosec // a record number
	}
	if check.Next > 0 {
		u.NextSides = proto.Int32(int32(check.Next)) //nolint:gosec // dice are small
	}
	return u
}

// GetRollLog implements dicev1.DiceServiceServer.
func (s *Server) GetRollLog(ctx context.Context, req *dicev1.GetRollLogRequest) (*dicev1.GetRollLogResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.logs.agg.Load(ctx, resolve(c, req.GetName()))
	if err != nil {
		return nil, err
	}
	return &dicev1.GetRollLogResponse{RollLog: logOf(at)}, nil
}

// ListRolls implements dicev1.DiceServiceServer.
func (s *Server) ListRolls(ctx context.Context, req *dicev1.ListRollsRequest) (*dicev1.ListRollsResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	log := resolve(c, req.GetParent())
	at, err := s.logs.agg.Load(ctx, log)
	if err != nil {
		return nil, err
	}
	last := at.Seq
	if req.GetPageToken() != "" {
		if last, err = readPlace(req.GetPageToken(), log); err != nil || last > at.Seq {
			return nil, fault.Invalid("page_token", "page_token was not made for this list").Because("PAGE_TOKEN")
		}
	}
	size := pageSize(req.GetPageSize())
	first := max(1, last-size+1)
	recs, err := s.logs.agg.Records(ctx, log, first-1, last-first+1)
	if err != nil {
		return nil, err
	}
	res := &dicev1.ListRollsResponse{}
	for _, r := range slices.Backward(recs) {
		for _, e := range r.Events {
			res.Entries = append(res.Entries, &dicev1.RollLogEntry{Record: r.Record, Event: e})
		}
	}
	if first > 1 {
		res.NextPageToken = writePlace(first-1, log)
	}
	return adapter.Redact(c, res), nil
}

// RotateRollLog implements dicev1.DiceServiceServer.
func (s *Server) RotateRollLog(ctx context.Context, req *dicev1.RotateRollLogRequest) (*dicev1.RotateRollLogResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	log := resolve(c, req.GetName())
	cmd, err := command(ctx, req, c, log)
	if err != nil {
		return nil, err
	}
	switch own := log == logName(c.Campaign, c.Subject); {
	case cmd.Refusal != nil:
	case !own:
		cmd.Refusal = c.RequireGM()
	default:
		if err := s.logs.ensure(ctx, c, log); err != nil {
			return nil, err
		}
	}
	ans, err := s.logs.rotate(ctx, cmd)
	if err != nil {
		return nil, err
	}
	old, err := s.streams.agg.Load(ctx, ans.Events[0].GetRotated().GetRevealed())
	if err != nil {
		return nil, err
	}
	return &dicev1.RotateRollLogResponse{RollLog: logOf(ans.State), Revealed: streamOf(c, old)}, nil
}

// GetStream implements dicev1.DiceServiceServer.
func (s *Server) GetStream(ctx context.Context, req *dicev1.GetStreamRequest) (*dicev1.GetStreamResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.streams.agg.Load(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &dicev1.GetStreamResponse{Stream: streamOf(c, at)}, nil
}

// ListStreams implements dicev1.DiceServiceServer.
func (s *Server) ListStreams(ctx context.Context, req *dicev1.ListStreamsRequest) (*dicev1.ListStreamsResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.streams.agg.List(ctx, journal.Query[streamState]{
		Campaign: c.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &dicev1.ListStreamsResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		res.Streams = append(res.Streams, streamOf(c, at))
	}
	return res, nil
}

// SetClientSeed implements dicev1.DiceServiceServer.
func (s *Server) SetClientSeed(ctx context.Context, req *dicev1.SetClientSeedRequest) (*dicev1.SetClientSeedResponse, error) {
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	cmd, err := command(ctx, req, c, req.GetName())
	if err != nil {
		return nil, err
	}
	stream, err := s.streams.setClientSeed(ctx, cmd, req.GetClientSeed())
	if err != nil {
		return nil, err
	}
	return &dicev1.SetClientSeedResponse{Stream: stream}, nil
}

// CreateStream implements dicev1.DiceServiceServer.
func (s *Server) CreateStream(ctx context.Context, req *dicev1.CreateStreamRequest) (*dicev1.CreateStreamResponse, error) {
	if err := adapter.RequireService(ctx); err != nil {
		return nil, err
	}
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := adapter.SameCampaign(c.Campaign, "holder", req.GetHolder()); err != nil {
		return nil, err
	}
	cmd, err := adapter.CommandOf(ctx, req, c, req.GetParent()+"/streams/"+req.GetStreamId())
	if err != nil {
		return nil, err
	}
	stream, err := s.streams.create(ctx, cmd, req.GetHolder(), req.GetSecret())
	if err != nil {
		return nil, err
	}
	return &dicev1.CreateStreamResponse{Stream: stream}, nil
}

// Draw implements dicev1.DiceServiceServer.
func (s *Server) Draw(ctx context.Context, req *dicev1.DrawRequest) (*dicev1.DrawResponse, error) {
	if err := adapter.RequireService(ctx); err != nil {
		return nil, err
	}
	key, err := s.streams.Key(ctx, req.GetName(), int(req.GetIndex()))
	if err != nil {
		return nil, err
	}
	return &dicev1.DrawResponse{Key: key}, nil
}

// RevealStream implements dicev1.DiceServiceServer.
func (s *Server) RevealStream(ctx context.Context, req *dicev1.RevealStreamRequest) (*dicev1.RevealStreamResponse, error) {
	if err := adapter.RequireService(ctx); err != nil {
		return nil, err
	}
	c, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.streams.reveal(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	return &dicev1.RevealStreamResponse{Stream: streamOf(c, at)}, nil
}

// Verify implements dicev1.DiceServiceServer.
func (s *Server) Verify(_ context.Context, req *dicev1.VerifyRequest) (*dicev1.VerifyResponse, error) {
	commitment := dicestream.Commitment(req.GetSeed())
	res := &dicev1.VerifyResponse{
		CommitmentMatches: len(req.GetCommitment()) == 0 || slices.Equal(commitment[:], req.GetCommitment()),
	}
	res.Verified = res.GetCommitmentMatches()
	for i, d := range req.GetDraws() {
		faces, err := dicestream.NewSource(dicestream.Key(req.GetSeed(), req.GetClientSeed(), uint64(d.GetIndex()))) //nolint:gosec // checked to be 1 or more
		if err != nil {
			return nil, err
		}
		out := &dicev1.VerifiedDraw{Index: d.GetIndex(), Matches: true}
		for j, die := range d.GetDice() {
			if die.GetReported() {
				out.Faces = append(out.Faces, 0)
				continue
			}
			face, err := faces.Next(int(die.GetSides()))
			if err != nil {
				return nil, fault.Invalid(fmt.Sprintf("draws[%d].dice[%d].sides", i, j), "a die needs at least 1 side")
			}
			out.Faces = append(out.Faces, int32(face)) //nolint:gosec // dice have at most 2^31-1 sides
			if die.GetFace() != 0 && int(die.GetFace()) != face {
				out.Matches, res.Verified = false, false
			}
		}
		res.Draws = append(res.Draws, out)
	}
	return res, nil
}

func rolled(rolls ...*dicev1.Roll) *dicev1.RollLogEvent {
	return &dicev1.RollLogEvent{Event: &dicev1.RollLogEvent_Rolled{Rolled: &dicev1.Rolled{Rolls: rolls}}}
}

func purposeOr(purpose, otherwise string) string {
	if purpose != "" {
		return purpose
	}
	return otherwise
}

func pageSize(n int32) int {
	if n == 0 {
		n = 50
	}
	return int(min(n, 500))
}

// A place is where the next page of rolls begins, bound to the log that it was made for.
func writePlace(seq int, log string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %08x", seq, crc32.ChecksumIEEE([]byte(log))))
}

func readPlace(token, log string) (int, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, err
	}
	var (
		seq int
		sum uint32
	)
	// Written again, a token that was tampered with is another one.
	if _, err := fmt.Sscanf(string(raw), "%d %08x", &seq, &sum); err != nil || seq < 1 || writePlace(seq, log) != token {
		return 0, errors.New("token of another list")
	}
	return seq, nil
}
