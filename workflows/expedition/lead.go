package expedition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"
	expeditionv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/expedition/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

// promote is the command of a run by which leadership passes on.
const promote = "promote"

// Reasons of refusals.
const (
	reasonNothingToReclaim = "NOTHING_TO_RECLAIM"
	reasonNotOwner         = "NOT_OWNER"
)

// cause is why leadership changed.
type cause = expeditionv1.LeadershipChanged_Cause

const (
	causeRun        = expeditionv1.LeadershipChanged_CAUSE_RUN
	causeSeen       = expeditionv1.LeadershipChanged_CAUSE_SEEN
	causePromoted   = expeditionv1.LeadershipChanged_CAUSE_PROMOTED
	causeAway       = expeditionv1.LeadershipChanged_CAUSE_AWAY
	causeHandedOver = expeditionv1.LeadershipChanged_CAUSE_HANDED_OVER
	causeReclaimed  = expeditionv1.LeadershipChanged_CAUSE_RECLAIMED
	causeAbsence    = expeditionv1.LeadershipChanged_CAUSE_ABSENCE
)

// leadOf is who leads the open run.
type leadOf struct {
	Character string `json:"character"`
	Owner     string `json:"owner,omitempty"`
	// Deadline is when it passes on; zero: not by itself.
	Deadline time.Time `json:"deadline,omitzero"`
	// Absent is who lost it by being away and may reclaim it.
	Absent string `json:"absent,omitempty"`
	// Away are the leaders that were found away and have not been seen since.
	Away []string `json:"away,omitempty"`
}

// member is one of those who play a run.
type member struct{ character, owner string }

func membersOf(r *dungeonv1.Run) []member {
	var out []member
	for _, m := range r.GetMembers() {
		out = append(out, member{m.GetCharacter(), m.GetOwner()})
	}
	return out
}

// ownerIn tells whose a character of the run is.
func (s snapshot) ownerIn(character string) (string, bool) {
	for _, m := range s.members {
		if m.character == character {
			return m.owner, true
		}
	}
	return "", false
}

// sight is what a command tells of who is there. The zero sight tells nothing.
type sight struct {
	// subject gave the command, for character; both are empty where nobody was seen.
	subject, character string
	// cause is why the leader is another one, where the command knows.
	cause cause
}

// saw is what a command tells of the caller who gave it. A game master who acts for a character has not seen its player.
func (c caller) saw(character string) sight {
	switch {
	case c.itself:
		return sight{}
	case c.gm():
		return sight{subject: c.subject}
	}
	return sight{subject: c.subject, character: character}
}

func (s sight) of(m member) bool {
	return s.subject != "" && (s.subject == m.owner || s.character == m.character)
}

// next is who leads after the leader: the next member in the order of the roster, which begins again after the last, who was
// not found away; "" for nobody.
func (s snapshot) next(leader string, away []string) string {
	at := slices.IndexFunc(s.members, func(m member) bool { return m.character == leader })
	for i := range s.members {
		m := s.members[(at+1+i+len(s.members))%len(s.members)]
		if m.character != leader && !slices.Contains(away, m.character) {
			return m.character
		}
	}
	return ""
}

// leads tells of a leadership that is another one, or passes on at another time.
func leads(st state, snap snapshot, by sight, now time.Time) []*expeditionv1.ExpeditionEvent {
	was := st.Lead
	switch {
	case snap.of != runTarget || st.Run != "" && st.Run != snap.name:
		return nil
	case snap.over && was == nil:
		return nil
	case snap.over:
		return []*expeditionv1.ExpeditionEvent{leadershipChanged(nil, causeRun)}
	}
	next, why := leadOf{Character: snap.leader}, by.cause
	next.Owner, _ = snap.ownerIn(snap.leader)
	if was == nil {
		was, why = &leadOf{Character: snap.leader}, causeRun
	}
	seen := func(character string) bool {
		owner, _ := snap.ownerIn(character)
		return by.of(member{character, owner})
	}
	next.Away = slices.DeleteFunc(slices.Clone(was.Away), func(c string) bool { return c == snap.leader || seen(c) })
	switch {
	case why == causeAway:
		next.Absent, next.Away = cmp.Or(was.Absent, was.Character), append(next.Away, was.Character)
	case why == causeAbsence:
		next.Absent = was.Absent
	case why != 0:
	case was.Character != snap.leader:
		why = causePromoted
	case seen(snap.leader) || len(next.Away) != len(was.Away):
		next.Absent, why = was.Absent, causeSeen
	default:
		return nil
	}
	if st.Absence.acts() && snap.next(next.Character, next.Away) != "" {
		next.Deadline = st.Absence.deadline(now)
	}
	if (why == causeSeen || why == causeAbsence) && next.Deadline.IsZero() && was.Deadline.IsZero() && len(next.Away) == len(was.Away) {
		return nil // nothing to tell
	}
	return []*expeditionv1.ExpeditionEvent{leadershipChanged(&next, why)}
}

func leadershipChanged(l *leadOf, why cause) *expeditionv1.ExpeditionEvent {
	return &expeditionv1.ExpeditionEvent{Event: &expeditionv1.ExpeditionEvent_LeadershipChanged{
		LeadershipChanged: &expeditionv1.LeadershipChanged{Leadership: leadToProto(l), Cause: why},
	}}
}

func leadFrom(l *expeditionv1.Leadership) *leadOf {
	if l == nil {
		return nil
	}
	out := &leadOf{Character: l.GetCharacter(), Owner: l.GetOwner(), Absent: l.GetAbsentLeader(), Away: l.GetAway()}
	if l.GetDeadline() != nil {
		out.Deadline = l.GetDeadline().AsTime()
	}
	return out
}

func leadToProto(l *leadOf) *expeditionv1.Leadership {
	if l == nil {
		return nil
	}
	out := &expeditionv1.Leadership{Character: l.Character, Owner: l.Owner, AbsentLeader: l.Absent, Away: l.Away}
	if !l.Deadline.IsZero() {
		out.Deadline = timestamppb.New(l.Deadline)
	}
	return out
}

// leadPasses is when leadership passes on by itself; zero: not now. The rules let it pass between challenges (DIG-PARTY-07).
func (s state) leadPasses() time.Time {
	if s.Lead == nil || !s.Absence.acts() || s.Turn == nil || s.Turn.Step != stepDraw {
		return time.Time{}
	}
	return s.Lead.Deadline
}

// passOnID is the id under which leadership passes on because of the leader's absence, from a state of the run. Whoever finds
// a record under it knows what it was.
func passOnID(expedition, leader string, seq int32) string {
	return requestid.Derive(expedition, fmt.Sprintf("pass-on/%s/%d", leader, seq))
}

// passOn lets leadership pass to the next member when the leader is away.
func (t turn) passOn(ctx context.Context, at journal.At[state]) (journal.At[state], error) {
	due := at.State.leadPasses()
	if due.IsZero() || t.cfg.Clock().Before(due) {
		return at, nil
	}
	// What the log does not know yet may have been the leader's.
	at, grew, err := t.catchUp(ctx, at, at.State.Run)
	if err != nil || grew {
		return at, err
	}
	res, err := t.runs.GetRun(auth.WithoutActor(ctx), &dungeonv1.GetRunRequest{Name: at.State.Run})
	if err != nil {
		return at, err
	}
	lead, snap := *at.State.Lead, ofRun(res.GetRun())
	lead.Deadline = time.Time{} // for when nothing comes of it
	target := snap.next(lead.Character, lead.Away)
	if target != "" {
		c := newCall(promote, &dungeonv1.PromoteRequest{
			Name: snap.name, Character: lead.Character, Target: target, OverrideReason: "the leader is away", Etag: res.GetRun().GetEtag(),
			RequestId: passOnID(at.Stream, lead.Character, snap.seq),
		})
		done, err := t.invoke(auth.WithoutActor(ctx), c)
		switch {
		case err == nil:
			if t.afterCall != nil {
				t.afterCall(ctx, c.name)
			}
			return t.recordOwn(ctx, at, "pass-on", done)
		case fault.ReasonOf(fault.FromStatus(err)) == reasonEtag:
			return at, errMoved
		case !final(err):
			return at, err
		}
	}
	done, err := t.add(ctx, at, own(at, "pass-on", ""), leadershipChanged(&lead, causeAway))
	return done.State, err
}

// lead hands leadership over for a game master, or back to who lost it by being away.
func (t turn) lead(ctx context.Context, at journal.At[state], who caller) (journal.At[state], error) {
	m := t.cmd.Manage
	why, target, reason := causeHandedOver, m.HandOver, m.Reason
	if m.Reclaim {
		why, reason = causeReclaimed, "the leader is back"
	}
	if name, seq, ok := at.State.unclaimedRecord(t.derived); ok {
		// An attempt that was given up had come as far as the run, and the log has caught up.
		snap, err := t.look(ctx, name)
		if err != nil {
			return at, err
		}
		events := append([]*expeditionv1.ExpeditionEvent{executed(promote, name, seq)}, leads(at.State, snap, sight{cause: why}, t.cfg.Clock())...)
		done, err := t.add(ctx, at, t.entry, events...)
		return done.State, err
	}
	lost := at.State.Lead != nil && at.State.Lead.Absent != ""
	switch {
	case who.gm():
	case !m.Reclaim:
		return at, fault.New(fault.PermissionDenied, "NOT_GM", "only a game master hands leadership over")
	case !lost && who.subject != at.State.Creator && (at.State.Lead == nil || who.subject != at.State.Lead.Owner):
		// Who has nothing to do with it is not told how it stands.
		return at, fault.New(fault.PermissionDenied, reasonNotOwner, "only the player of who led before or a game master may reclaim it")
	}
	if at.State.Run == "" {
		var err error
		if at, _, err = t.catchUp(ctx, at, at.State.open()...); err != nil {
			return at, err
		}
	}
	if at.State.Run == "" {
		return at, allowed(at.State.Phase, promote, runTarget, at.State.inside())
	}
	snap, err := t.look(ctx, at.State.Run)
	if err != nil {
		return at, err
	}
	leader := snap.leader
	if at.State.Lead != nil {
		leader = at.State.Lead.Character // as the log has it, so that a repetition makes the same request
	}
	if m.Reclaim {
		if at.State.Lead == nil || at.State.Lead.Absent == "" {
			return at, fault.New(fault.FailedPrecondition, reasonNothingToReclaim, "leadership has not passed on because the leader was away")
		}
		target = at.State.Lead.Absent
		if owner, ok := snap.ownerIn(target); !ok {
			return at, fault.New(fault.FailedPrecondition, "NOT_A_MEMBER", "%s has left the run", target)
		} else if !who.gm() && who.subject != owner {
			return at, fault.New(fault.PermissionDenied, reasonNotOwner, "only the player of %s or a game master may reclaim it", target)
		}
	}
	// A game master speaks for themselves, in the run's journal too; whoever reclaims has no say over the present leader.
	ctxAs := as(ctx, t.cmd.Actor, t.cmd.Itself || m.Reclaim)
	c := newCall(promote, &dungeonv1.PromoteRequest{
		Name: snap.name, Character: leader, Target: target, OverrideReason: reason, RequestId: t.derived,
	})
	res, err := t.invoke(ctxAs, c)
	if err != nil {
		return t.refused(ctx, at, c, err)
	}
	if t.afterCall != nil {
		t.afterCall(ctx, c.name)
	}
	by := who.saw("")
	by.cause = why
	return t.record(ctx, at, t.entry, c.name, res, by)
}
