package scene

import (
	"context"
	"fmt"
	"time"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerworld"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// AddCharacter implements SceneService. The borrowing is journaled first; the answer is what came of it.
func (s *Server) AddCharacter(ctx context.Context, req *partyv1.AddCharacterRequest) (*partyv1.AddCharacterResponse, error) {
	if err := inCampaign(req.GetName(), "character", req.GetCharacter()); err != nil {
		return nil, err
	}
	c, ans, err := s.gm(ctx, req, func(_ adapter.Caller, at journal.At[scene], _ *play.Dice) ([]*partyv1.SceneEvent, error) {
		if _, ok := at.State.Game.Sheet(req.GetCharacter()); ok || at.State.isJoining(req.GetCharacter()) {
			return nil, play.Refuse(dangerworld.AlreadyPresent, "%s is in the scene", req.GetCharacter()).On("character")
		}
		if len(at.State.Game.Sheets)+len(at.State.Joining) >= dangerworld.MaxSheets {
			return nil, play.Refuse(dangerworld.TooMany, "a scene has at most %d characters", dangerworld.MaxSheets)
		}
		return []*partyv1.SceneEvent{{Event: &partyv1.SceneEvent_CharacterJoining{CharacterJoining: &partyv1.CharacterJoining{
			Character: req.GetCharacter(), Attempt: i32(at.State.Attempts + 1),
		}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	came, ok, err := s.scenes.First(ctx, step(ans.State, joinStep(int(ans.Events[0].GetCharacterJoining().GetAttempt()))))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.Unavailable, "STILL_JOINING", "the sheet of %s is still being borrowed", req.GetCharacter()).After(time.Second)
	}
	if away := came.Events[0].GetCharacterTurnedAway(); away != nil {
		return nil, refusalFrom(away.GetRefusal()).fault()
	}
	return adapter.Redact(c, &partyv1.AddCharacterResponse{Record: came.Record, Scene: sceneOf(came.State), Events: came.Events}), nil
}

// RemoveCharacter implements SceneService.
func (s *Server) RemoveCharacter(ctx context.Context, req *partyv1.RemoveCharacterRequest) (*partyv1.RemoveCharacterResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.RemoveSheet{Character: req.GetCharacter()}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.RemoveCharacterResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// CreateChallenge implements SceneService.
func (s *Server) CreateChallenge(ctx context.Context, req *partyv1.CreateChallengeRequest) (*partyv1.CreateChallengeResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.CreateChallenge{
		Name: req.GetChallenge(), Difficulty: int(req.GetDifficulty()), Penalty: int(req.GetPenalty()), AspectCap: optional(req.AspectCap),
	}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.CreateChallengeResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// EditChallenge implements SceneService.
func (s *Server) EditChallenge(ctx context.Context, req *partyv1.EditChallengeRequest) (*partyv1.EditChallengeResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.EditChallenge{
		Name: req.GetChallenge(), Status: statusFrom(req.GetStatus()), Difficulty: optional(req.Difficulty), Penalty: optional(req.Penalty),
		AspectCap: optional(req.AspectCap),
	}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.EditChallengeResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// SetSheet implements SceneService.
func (s *Server) SetSheet(ctx context.Context, req *partyv1.SetSheetRequest) (*partyv1.SetSheetResponse, error) {
	c, ans, err := s.gm(ctx, req, func(c adapter.Caller, at journal.At[scene], dice *play.Dice) ([]*partyv1.SceneEvent, error) {
		present, ok := at.State.Game.Sheet(req.GetCharacter())
		if !ok {
			return nil, play.Refuse(dangerworld.NotPresent, "%s is not in the scene", req.GetCharacter()).On("character")
		}
		sheet := SheetFrom(req.GetCharacter(), req.GetSheet())
		if req.GetSheet().Fp == nil {
			sheet.FP = present.FP
		}
		return ruled(dangerworld.SetSheet{Sheet: sheet}, "sheet")(c, at, dice)
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.SetSheetResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// RaiseDanger implements SceneService.
func (s *Server) RaiseDanger(ctx context.Context, req *partyv1.RaiseDangerRequest) (*partyv1.RaiseDangerResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.RaiseDanger{Character: req.GetCharacter(), Steps: int(req.GetSteps())}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.RaiseDangerResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// SetDanger implements SceneService.
func (s *Server) SetDanger(ctx context.Context, req *partyv1.SetDangerRequest) (*partyv1.SetDangerResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.SetDanger{Character: req.GetCharacter(), Points: int(req.GetDangerPoints())}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.SetDangerResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// EndEncounter implements SceneService.
func (s *Server) EndEncounter(ctx context.Context, req *partyv1.EndEncounterRequest) (*partyv1.EndEncounterResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.EndEncounter{}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.EndEncounterResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// LongTermRest implements SceneService.
func (s *Server) LongTermRest(ctx context.Context, req *partyv1.LongTermRestRequest) (*partyv1.LongTermRestResponse, error) {
	c, ans, err := s.gm(ctx, req, ruled(dangerworld.LongTermRest{Characters: req.GetCharacters()}))
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.LongTermRestResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// EndScene implements SceneService. The answer shows the end; giving back follows at once.
func (s *Server) EndScene(ctx context.Context, req *partyv1.EndSceneRequest) (*partyv1.EndSceneResponse, error) {
	c, ans, err := s.gm(ctx, req, func(adapter.Caller, journal.At[scene], *play.Dice) ([]*partyv1.SceneEvent, error) {
		return []*partyv1.SceneEvent{{Event: &partyv1.SceneEvent_Ended{Ended: &partyv1.SceneEnded{}}}}, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.EndSceneResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events}), nil
}

// OpenCheck implements SceneService.
func (s *Server) OpenCheck(ctx context.Context, req *partyv1.OpenCheckRequest) (*partyv1.OpenCheckResponse, error) {
	if err := inCampaign(req.GetParent(), "character", req.GetCharacter()); err != nil {
		return nil, err
	}
	c, ans, err := s.commit(ctx, req, "parent", req.GetParent(), req.GetParent(), whose(req.GetCharacter()), func(c adapter.Caller, at journal.At[scene], dice *play.Dice) ([]*partyv1.SceneEvent, error) {
		if req.GetNegativeFp() > 0 {
			if err := gmField(c, "negative_fp"); err != nil {
				return nil, err
			}
		}
		return ruled(dangerworld.OpenCheck{
			Character: req.GetCharacter(), Challenge: req.GetChallenge(), Stat: req.GetStat(), Number: optional(req.Number),
			AspectFP: int(req.GetAspectFp()), NegativeFP: int(req.GetNegativeFp()), BonusDice: int(req.GetBonusDice()),
			DangerDice: int(req.GetDangerDice()), KeepBotches: !c.GM(),
		})(c, at, dice)
	})
	if err != nil {
		return nil, err
	}
	check, err := checkAfter(ans.State, ans.State.State.Game.Opened)
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.OpenCheckResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// checkAfter shows the check that a command was about, which its record has left in the state.
func checkAfter(at journal.At[scene], number int) (*partyv1.Check, error) {
	check, ok := at.State.Game.Check(number)
	if !ok {
		return nil, fmt.Errorf("record %d of %s leaves no check %d", at.Seq, at.Stream, number)
	}
	return checkOf(at, check), nil
}

// checkRequest is a command to a check.
type checkRequest interface {
	request
	GetName() string
}

func gmOf(int) may { return onlyGM }

// onCheck commits a command to a check and shows it as it is then.
func (s *Server) onCheck(ctx context.Context, req checkRequest, may func(number int) may, decide func(number int) decide) (adapter.Caller, adapter.Answer[scene, *partyv1.SceneEvent], *partyv1.Check, error) {
	name, number := splitCheck(req.GetName())
	c, ans, err := s.commit(ctx, req, "name", name, req.GetName(), may(number), decide(number))
	if err != nil {
		return c, ans, nil, err
	}
	check, err := checkAfter(ans.State, number)
	return c, ans, check, err
}

// PayNegative implements SceneService.
func (s *Server) PayNegative(ctx context.Context, req *partyv1.PayNegativeRequest) (*partyv1.PayNegativeResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, gmOf, func(n int) decide {
		return ruled(dangerworld.PayNegative{Check: n, FP: int(req.GetFp())})
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.PayNegativeResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// DeclineNegative implements SceneService.
func (s *Server) DeclineNegative(ctx context.Context, req *partyv1.DeclineNegativeRequest) (*partyv1.DeclineNegativeResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, its, func(n int) decide { return ruled(dangerworld.DeclineNegative{Check: n}) })
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.DeclineNegativeResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// RollCheck implements SceneService.
func (s *Server) RollCheck(ctx context.Context, req *partyv1.RollCheckRequest) (*partyv1.RollCheckResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, its, func(n int) decide { return ruled(dangerworld.RollCheck{Check: n}) })
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.RollCheckResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// RerollCheck implements SceneService.
func (s *Server) RerollCheck(ctx context.Context, req *partyv1.RerollCheckRequest) (*partyv1.RerollCheckResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, its, func(n int) decide {
		return ruled(dangerworld.Reroll{Check: n, Lock: req.GetLock(), AspectFP: int(req.GetAspectFp()), DangerDice: int(req.GetDangerDice())})
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.RerollCheckResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// ClaimSet implements SceneService.
func (s *Server) ClaimSet(ctx context.Context, req *partyv1.ClaimSetRequest) (*partyv1.ClaimSetResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, its, func(n int) decide {
		claim := dangerworld.Claim{Check: n, Height: int(req.GetHeight()), None: req.GetNone(), Cancel: map[int][]string{}}
		for i, x := range req.GetCancel() {
			height := int(x.GetHeight())
			if _, twice := claim.Cancel[height]; twice {
				return func(adapter.Caller, journal.At[scene], *play.Dice) ([]*partyv1.SceneEvent, error) {
					return nil, fault.Invalid(fmt.Sprintf("cancel[%d].height", i), "%d is there twice", height)
				}
			}
			claim.Cancel[height] = x.GetDice()
		}
		return ruled(claim)
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.ClaimSetResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// SpendBotches implements SceneService.
func (s *Server) SpendBotches(ctx context.Context, req *partyv1.SpendBotchesRequest) (*partyv1.SpendBotchesResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, gmOf, func(n int) decide {
		spend := dangerworld.SpendBotches{Check: n}
		for _, x := range req.GetItems() {
			spend.Items = append(spend.Items, dangerworld.Item{
				Buy: x.GetBuy(), Challenge: x.GetChallenge(), Difficulty: optional(x.Difficulty), Target: x.GetTarget(),
			})
		}
		return ruled(spend)
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.SpendBotchesResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// NoteBenefit implements SceneService.
func (s *Server) NoteBenefit(ctx context.Context, req *partyv1.NoteBenefitRequest) (*partyv1.NoteBenefitResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, its, func(n int) decide {
		return ruled(dangerworld.NoteBenefit{Check: n, Text: req.GetText()})
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.NoteBenefitResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}

// CloseCheck implements SceneService.
func (s *Server) CloseCheck(ctx context.Context, req *partyv1.CloseCheckRequest) (*partyv1.CloseCheckResponse, error) {
	c, ans, check, err := s.onCheck(ctx, req, its, func(n int) decide {
		return func(c adapter.Caller, at journal.At[scene], dice *play.Dice) ([]*partyv1.SceneEvent, error) {
			return ruled(dangerworld.CloseCheck{Check: n, KeepBotches: !c.GM()})(c, at, dice)
		}
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(c, &partyv1.CloseCheckResponse{Record: ans.Record, Scene: sceneOf(ans.State), Events: ans.Events, Check: check}), nil
}
