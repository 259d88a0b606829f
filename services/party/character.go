package party

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

type characterEvents = []*partyv1.CharacterEvent

// CreateCharacter implements CharacterService.
func (s *Server) CreateCharacter(ctx context.Context, req *partyv1.CreateCharacterRequest) (*partyv1.CreateCharacterResponse, error) {
	cmd, err := s.creation(ctx, req, "characters", req.GetCharacterId(), req.GetRequestId())
	if err != nil {
		return nil, err
	}
	rec, ch, err := s.commitCharacter(ctx, cmd, func(env digger.Env, c character, members members) (characterEvents, error) {
		caller := cmd.Caller
		if !caller.GM() && caller.Role != typev1.Role_ROLE_PLAYER {
			return nil, fault.New(fault.PermissionDenied, "NOT_PLAYER", "characters are made by players and game masters")
		}
		created := &partyv1.CharacterCreated{Title: req.GetTitle(), Owner: req.GetOwner(), Vitals: req.GetVitals()}
		if created.Owner == "" {
			created.Owner = caller.Subject
		}
		if created.Owner != caller.Subject {
			if err := gmField(caller, "owner"); err != nil {
				return nil, err
			}
		}
		if _, ok := members.find(created.Owner); !ok {
			return nil, fault.New(fault.NotFound, "NOT_FOUND", "%q has no role in %s", created.Owner, caller.Campaign).
				At("owner", "has no role in this campaign")
		}
		create := digger.CreateSheet{}
		if req.Cp != nil {
			if err := gmField(caller, "cp"); err != nil {
				return nil, err
			}
			cp := int(req.GetCp())
			create.CP = &cp
		}
		if created.Vitals == nil {
			created.Vitals = freshVitals()
		}
		if err := checkVitals("vitals", created.Vitals); err != nil {
			return nil, err
		}
		events, err := c.decideSheet(env, create)
		for _, e := range events {
			if e.GetCreated() != nil {
				created.Cp = e.GetCreated().GetCp()
				e.Event = &partyv1.CharacterEvent_Created{Created: created}
			}
		}
		return events, err
	})
	return &partyv1.CreateCharacterResponse{Record: rec, Character: ch}, err
}

// GetCharacter implements CharacterService.
func (s *Server) GetCharacter(ctx context.Context, req *partyv1.GetCharacterRequest) (*partyv1.GetCharacterResponse, error) {
	if _, err := s.access.Caller(ctx, req.GetName()); err != nil {
		return nil, err
	}
	at, err := s.characters.Load(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	res, err := s.showCharacter(ctx, at)
	return &partyv1.GetCharacterResponse{Character: res}, err
}

// ListCharacters implements CharacterService.
func (s *Server) ListCharacters(ctx context.Context, req *partyv1.ListCharactersRequest) (*partyv1.ListCharactersResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.characters.List(ctx, journal.Query[character]{
		Campaign: caller.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &partyv1.ListCharactersResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		ch, err := s.showCharacter(ctx, at)
		if err != nil {
			return nil, err
		}
		res.Characters = append(res.Characters, ch)
	}
	return res, nil
}

// WatchCharacter implements CharacterService.
func (s *Server) WatchCharacter(req *partyv1.WatchCharacterRequest, stream partyv1.CharacterService_WatchCharacterServer) error {
	if _, err := s.access.Caller(stream.Context(), req.GetName()); err != nil {
		return err
	}
	return s.characters.Watch(stream.Context(), req.GetName(), int(req.GetFromSeq()), func(rec *typev1.Record, events []*partyv1.CharacterEvent) error {
		caller, err := s.access.Caller(stream.Context(), req.GetName()) // who lost their role sees no more
		if err != nil {
			return err
		}
		return stream.Send(adapter.Redact(caller, &partyv1.WatchCharacterResponse{Record: rec, Events: events}))
	})
}

// GrantPoints implements CharacterService.
func (s *Server) GrantPoints(ctx context.Context, req *partyv1.GrantPointsRequest) (*partyv1.GrantPointsResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, onlyGM, digger.GrantCP{CP: int(req.GetCp())})
	return &partyv1.GrantPointsResponse{Record: rec, Character: ch}, err
}

// AddForm implements CharacterService.
func (s *Server) AddForm(ctx context.Context, req *partyv1.AddFormRequest) (*partyv1.AddFormResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.AddForm{Form: req.GetForm(), NoStatblock: req.GetNoStatblock()})
	return &partyv1.AddFormResponse{Record: rec, Character: ch}, err
}

// SwitchForm implements CharacterService.
func (s *Server) SwitchForm(ctx context.Context, req *partyv1.SwitchFormRequest) (*partyv1.SwitchFormResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.SwitchForm{Form: req.GetForm()})
	return &partyv1.SwitchFormResponse{Record: rec, Character: ch}, err
}

// SetAbilities implements CharacterService.
func (s *Server) SetAbilities(ctx context.Context, req *partyv1.SetAbilitiesRequest) (*partyv1.SetAbilitiesResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.SetAbilities{Form: req.GetForm(), Abilities: abilitiesFrom(req.GetAbilities())})
	return &partyv1.SetAbilitiesResponse{Record: rec, Character: ch}, err
}

// BuyTools implements CharacterService.
func (s *Server) BuyTools(ctx context.Context, req *partyv1.BuyToolsRequest) (*partyv1.BuyToolsResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.BuyTools{Form: req.GetForm(), Tools: toolsFrom(req.GetTools())})
	return &partyv1.BuyToolsResponse{Record: rec, Character: ch}, err
}

// BuyBeltSlot implements CharacterService.
func (s *Server) BuyBeltSlot(ctx context.Context, req *partyv1.BuyBeltSlotRequest) (*partyv1.BuyBeltSlotResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.BuySlot{})
	return &partyv1.BuyBeltSlotResponse{Record: rec, Character: ch}, err
}

// LoadTool implements CharacterService.
func (s *Server) LoadTool(ctx context.Context, req *partyv1.LoadToolRequest) (*partyv1.LoadToolResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.LoadTool{Form: req.GetForm(), Number: int(req.GetNumber())})
	return &partyv1.LoadToolResponse{Record: rec, Character: ch}, err
}

// UnloadTool implements CharacterService.
func (s *Server) UnloadTool(ctx context.Context, req *partyv1.UnloadToolRequest) (*partyv1.UnloadToolResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, itsPlayer, digger.UnloadTool{Form: req.GetForm(), Number: int(req.GetNumber())})
	return &partyv1.UnloadToolResponse{Record: rec, Character: ch}, err
}

// ApproveCharacter implements CharacterService.
func (s *Server) ApproveCharacter(ctx context.Context, req *partyv1.ApproveCharacterRequest) (*partyv1.ApproveCharacterResponse, error) {
	rec, ch, err := s.changeSheet(ctx, req, onlyGM, digger.Approve{})
	return &partyv1.ApproveCharacterResponse{Record: rec, Character: ch}, err
}

// SetVitals implements CharacterService.
func (s *Server) SetVitals(ctx context.Context, req *partyv1.SetVitalsRequest) (*partyv1.SetVitalsResponse, error) {
	rec, ch, err := s.changeCharacter(ctx, req, onlyGM, func(_ digger.Env, c character) (characterEvents, error) {
		return c.setVitals(req.GetVitals())
	})
	return &partyv1.SetVitalsResponse{Record: rec, Character: ch}, err
}

// may refuses whoever may not give a command to a character.
type may func(caller adapter.Caller, owner, name string) error

func onlyGM(caller adapter.Caller, _, _ string) error { return caller.RequireGM() }

func itsPlayer(caller adapter.Caller, owner, name string) error {
	return caller.RequireActFor(owner, name)
}

// changeSheet commits a command of the Digger rules to a character.
func (s *Server) changeSheet(ctx context.Context, req named, may may, cmd digger.SheetCommand) (*typev1.Record, *partyv1.Character, error) {
	return s.changeCharacter(ctx, req, may, func(env digger.Env, c character) (characterEvents, error) {
		return c.decideSheet(env, cmd)
	})
}

func (s *Server) changeCharacter(ctx context.Context, req named, may may, decide func(digger.Env, character) (characterEvents, error)) (*typev1.Record, *partyv1.Character, error) {
	cmd, err := s.command(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	return s.commitCharacter(ctx, cmd, func(env digger.Env, c character, _ members) (characterEvents, error) {
		if err := may(cmd.Caller, c.Owner, cmd.Stream); err != nil {
			return nil, err
		}
		return decide(env, c)
	})
}

// commitCharacter commits a command that depends on the campaign as it is now; the record notes as of which record. The
// answer shows the character as of then, also when the command is repeated in a later chapter or under other rules.
func (s *Server) commitCharacter(ctx context.Context, cmd adapter.Command, decide func(digger.Env, character, members) (characterEvents, error)) (*typev1.Record, *partyv1.Character, error) {
	return s.commitCharacterIn(ctx, cmd, func(env digger.Env, c character, now journal.At[campaign]) (characterEvents, error) {
		return decide(env, c, now.State.Members)
	})
}

// commitCharacterIn is commitCharacter for a command that looks at the campaign itself.
func (s *Server) commitCharacterIn(ctx context.Context, cmd adapter.Command, decide func(digger.Env, character, journal.At[campaign]) (characterEvents, error)) (*typev1.Record, *partyv1.Character, error) {
	var env digger.Env
	ans, err := s.characters.Commit(ctx, cmd, func(ctx context.Context, at journal.At[character], _ *play.Dice) (d adapter.Decision[*partyv1.CharacterEvent], err error) {
		now, err := s.loadCampaign(ctx, cmd.Caller.Campaign)
		if err != nil {
			return d, err
		}
		if env, err = s.env(now); err != nil {
			return d, err
		}
		d.Note = noteOf(now)
		d.Events, err = decide(env, at.State, now)
		return d, err
	})
	if err != nil {
		return nil, nil, err
	}
	if ans.Replayed {
		if env, err = s.envThen(ctx, ans.State); err != nil {
			return nil, nil, err
		}
	}
	return ans.Record, characterToProto(env, ans.State), nil
}

// env is the campaign's part in a command on a sheet.
func (s *Server) env(at journal.At[campaign]) (digger.Env, error) {
	rules, err := s.diggerRules(at)
	return digger.Env{Ruleset: rules, Chapter: at.State.Chapter}, err
}

// noteOf notes by which record of the campaign something was decided.
func noteOf(at journal.At[campaign]) string { return adapter.CampaignNote(at.Seq) }

// envThen returns the chapter and the rules by which a character's last record was decided.
func (s *Server) envThen(ctx context.Context, at journal.At[character]) (env digger.Env, err error) {
	recs, err := s.characters.Journal().Records(ctx, at.Stream, at.Seq-1, 1)
	if err != nil {
		return env, adapter.Fault(err)
	}
	if len(recs) != 1 {
		return env, fmt.Errorf("record %d of %s is missing", at.Seq, at.Stream)
	}
	seq, err := adapter.CampaignSeq(recs[0].Note)
	if err != nil {
		return env, fmt.Errorf("record %d of %s: %w", at.Seq, at.Stream, err)
	}
	then, err := s.campaigns.Journal().StateAt(ctx, at.Campaign, seq)
	if err != nil {
		return env, adapter.Fault(err)
	}
	return s.env(then)
}

// character loads a character that a request names. One of another campaign does not exist.
func (s *Server) character(ctx context.Context, campaign, field, name string) (journal.At[character], error) {
	if err := adapter.SameCampaign(campaign, field, name); err != nil {
		return journal.At[character]{}, err
	}
	at, err := s.characters.Load(ctx, name)
	if fault.KindOf(err) == fault.NotFound {
		return at, unknown(field, name)
	}
	return at, err
}

// showCharacter maps a character as it is in the campaign's present chapter, by its present rules.
func (s *Server) showCharacter(ctx context.Context, at journal.At[character]) (*partyv1.Character, error) {
	now, err := s.loadCampaign(ctx, at.Campaign)
	if err != nil {
		return nil, err
	}
	env, err := s.env(now)
	if err != nil {
		return nil, err
	}
	return characterToProto(env, at), nil
}

func characterToProto(env digger.Env, at journal.At[character]) *partyv1.Character {
	c := at.State
	out := &partyv1.Character{
		Name: at.Stream, Title: c.Title, Owner: c.Owner, Vitals: c.Vitals, DangerSheet: c.Danger, Leases: c.Leases.toProto(),
		Etag: at.Etag(), Seq: i32(at.Seq), CreateTime: timestamppb.New(at.Created),
	}
	sheetToProto(env, c.Sheet, out)
	return out
}
