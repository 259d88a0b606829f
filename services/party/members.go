package party

import (
	"fmt"
	"slices"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
	typev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/type/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// member is somebody with a role in a campaign.
type member struct {
	Subject    string      `json:"subject"`
	Role       typev1.Role `json:"role"`
	Characters []string    `json:"characters,omitempty"`
}

func memberFrom(m *partyv1.CampaignMember) member {
	return member{Subject: m.GetSubject(), Role: m.GetRole(), Characters: m.GetCharacters()}
}

func (m member) toProto() *partyv1.CampaignMember {
	return &partyv1.CampaignMember{Subject: m.Subject, Role: m.Role, Characters: m.Characters}
}

// members are those of a campaign, in order of their first role. It is a value: its methods change nothing.
type members []member

func (ms members) find(subject string) (member, bool) {
	for _, m := range ms {
		if m.Subject == subject {
			return m, true
		}
	}
	return member{}, false
}

func (ms members) with(m member) members {
	out := slices.Clone(ms)
	for i := range out {
		if out[i].Subject == m.Subject {
			out[i] = m
			return out
		}
	}
	return append(out, m)
}

func (ms members) without(subject string) members {
	return slices.DeleteFunc(slices.Clone(ms), func(m member) bool { return m.Subject == subject })
}

// found decides the members of a new campaign: its founder, who owns it, and others.
func found(founder string, others []*partyv1.CampaignMember) ([]*partyv1.CampaignMember, error) {
	out := []*partyv1.CampaignMember{{Subject: founder, Role: typev1.Role_ROLE_OWNER}}
	for i, m := range others {
		field := fmt.Sprintf("members[%d]", i)
		if m.GetSubject() == founder && m.GetRole() == typev1.Role_ROLE_OWNER {
			continue
		}
		if slices.ContainsFunc(out, func(o *partyv1.CampaignMember) bool { return o.GetSubject() == m.GetSubject() }) {
			return nil, fault.Invalid(field+".subject", "%q has a role already", m.GetSubject())
		}
		if err := fitsRole(field, m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// fitsRole refuses characters for anybody but a bot: a player's are those they own.
func fitsRole(field string, m *partyv1.CampaignMember) error {
	if len(m.GetCharacters()) > 0 && m.GetRole() != typev1.Role_ROLE_BOT {
		return fault.Invalid(field+".characters", "only a bot is listed with characters")
	}
	return nil
}

// set decides who gets a role.
func (ms members) set(by adapter.Caller, m *partyv1.CampaignMember) error {
	if err := fitsRole("member", m); err != nil {
		return err
	}
	present, _ := ms.find(m.GetSubject())
	if err := mayManage(by, present.Role, m.GetRole()); err != nil {
		return err
	}
	if m.GetRole() != typev1.Role_ROLE_OWNER {
		return ms.keepsOwner(present)
	}
	return nil
}

// remove decides whose role ends. Anybody may give their own role up.
func (ms members) remove(by adapter.Caller, subject string) error {
	present, ok := ms.find(subject)
	if !ok {
		return fault.New(fault.NotFound, "NOT_FOUND", "%q has no role in %s", subject, by.Campaign).
			At("subject", "has no role in this campaign")
	}
	if by.Itself || subject != by.Subject {
		if err := mayManage(by, present.Role); err != nil {
			return err
		}
	}
	return ms.keepsOwner(present)
}

// keepsOwner refuses to take the role of the last owner away.
func (ms members) keepsOwner(leaving member) error {
	if leaving.Role != typev1.Role_ROLE_OWNER {
		return nil
	}
	for _, m := range ms {
		if m.Role == typev1.Role_ROLE_OWNER && m.Subject != leaving.Subject {
			return nil
		}
	}
	return play.Refuse("LAST_OWNER", "%q is the last owner", leaving.Subject)
}

// mayManage refuses whoever may not deal with these roles: owners may with all, GMs with those of players, spectators
// and bots. The unspecified role is nobody's and asks for nothing.
func mayManage(by adapter.Caller, roles ...typev1.Role) error {
	if by.Itself || by.Role == typev1.Role_ROLE_OWNER {
		return nil
	}
	if err := by.RequireGM(); err != nil {
		return err
	}
	for _, r := range roles {
		if r == typev1.Role_ROLE_OWNER || r == typev1.Role_ROLE_GM {
			return fault.New(fault.PermissionDenied, "NOT_OWNER", "only an owner deals with owners and game masters")
		}
	}
	return nil
}
