package delve

import (
	"context"
	"strconv"

	dungeonv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dungeon/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/rules/dangerpool"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// Sizes of a page of the Activity Log.
const (
	usualEntries = 50
	mostEntries  = 500
	recordsAtAll = 100 // read at once
)

// ListActivity implements DelveService. The log is derived from the records, so a page is some of them; its token is the
// number of its last record.
func (s *Server) ListActivity(ctx context.Context, req *dungeonv1.ListActivityRequest) (*dungeonv1.ListActivityResponse, error) {
	c, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	now, err := s.load(ctx, "parent", req.GetParent())
	if err != nil {
		return nil, err
	}
	after := 0
	if req.GetPageToken() != "" {
		if after, err = strconv.Atoi(req.GetPageToken()); err != nil || after < 1 || after > now.Seq {
			return nil, fault.Invalid("page_token", "is not of this list")
		}
	}
	var game dangerpool.Delve
	if after > 0 {
		at, err := s.delves.Journal().StateAt(ctx, req.GetParent(), after)
		if err != nil {
			return nil, adapter.Fault(err)
		}
		game = at.State.Game
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = usualEntries
	}
	size = min(size, mostEntries)
	res := &dungeonv1.ListActivityResponse{}
	for after < now.Seq {
		records, err := s.delves.Records(ctx, req.GetParent(), after, recordsAtAll)
		if err != nil {
			return nil, err
		}
		for _, rec := range records {
			events, err := eventsFrom(rec.Events)
			if err != nil {
				return nil, err
			}
			var log []dangerpool.Entry
			log, game = dangerpool.Log(game, events)
			for _, e := range log {
				if entry := entryOf(game.Ruleset, e); !e.Secret || c.GM() {
					entry.Seq, entry.Time = rec.Record.GetSeq(), rec.Record.GetTime()
					res.Entries = append(res.Entries, entry)
				}
			}
			after = int(rec.Record.GetSeq())
			if len(res.Entries) >= size && after < now.Seq {
				res.NextPageToken = strconv.Itoa(after)
				return adapter.Redact(c, res), nil
			}
		}
	}
	return adapter.Redact(c, res), nil
}

func entryOf(rs *dangerpool.Ruleset, e dangerpool.Entry) *dungeonv1.ActivityEntry {
	out := &dungeonv1.ActivityEntry{Kind: e.Kind, ElapsedMinutes: i32(e.Elapsed), Text: e.Text}
	if e.Secret {
		out.Text, out.GmText = "", e.Text
	}
	if e.Spill != nil {
		out.Spill = spillOf(rs, *e.Spill)
	}
	if e.Narrated != nil {
		out.Narrated = narratedOf(rs, *e.Narrated)
	}
	return out
}
