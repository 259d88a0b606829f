package travel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// region is the fold of a region's journal: its latest revision. Each record imports one, so that revision n is the state
// after record n.
type region struct {
	Revision int                   `json:"revision"`
	Draft    *travelv1.RegionDraft `json:"draft"`
}

func (r region) apply(ev *travelv1.RegionEvent) (region, error) {
	e, ok := ev.GetEvent().(*travelv1.RegionEvent_Imported)
	if !ok {
		return r, fmt.Errorf("unknown region event %T", ev.GetEvent())
	}
	r.Revision, r.Draft = int(e.Imported.GetRevision()), e.Imported.GetRegion()
	return r, nil
}

// ImportRegion implements RegionService.
func (s *Server) ImportRegion(ctx context.Context, req *travelv1.ImportRegionRequest) (*travelv1.ImportRegionResponse, error) {
	name := childName(req.GetParent(), "regions", req.GetRegionId(), req.GetRequestId())
	cmd, err := s.command(ctx, req, name)
	if err != nil {
		return nil, err
	}
	cmd.Mode = journal.Either
	ans, err := s.regions.Commit(ctx, cmd, func(_ context.Context, at journal.At[region], _ *play.Dice) (d adapter.Decision[*travelv1.RegionEvent], err error) {
		if err := cmd.Caller.RequireGM(); err != nil {
			return d, err
		}
		if found := s.check(name, req.GetRegion()); len(found) > 0 {
			return d, fault.Violations("INVALID_REGION", found, "%d faults, the first at %s: %s", len(found), found[0].Field, found[0].Description)
		}
		d.Events = []*travelv1.RegionEvent{{Event: &travelv1.RegionEvent_Imported{
			Imported: &travelv1.RegionImported{Revision: i32(at.Next()), Region: req.GetRegion()},
		}}}
		return d, nil
	})
	if err != nil {
		return nil, err
	}
	return adapter.Redact(cmd.Caller, &travelv1.ImportRegionResponse{Record: ans.Record, Region: regionToProto(ans.State)}), nil
}

// ValidateRegion implements RegionService.
func (s *Server) ValidateRegion(ctx context.Context, req *travelv1.ValidateRegionRequest) (*travelv1.ValidateRegionResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	if err := caller.RequireGM(); err != nil {
		return nil, err
	}
	res := &travelv1.ValidateRegionResponse{}
	for _, v := range s.check(req.GetParent()+"/regions/draft", req.GetRegion()) {
		res.Violations = append(res.Violations, &travelv1.RegionViolation{Field: v.Field, Reason: v.Reason, Description: v.Description})
	}
	return res, nil
}

// GetRegion implements RegionService.
func (s *Server) GetRegion(ctx context.Context, req *travelv1.GetRegionRequest) (*travelv1.GetRegionResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	at, err := s.loadRegion(ctx, "name", req.GetName())
	if err != nil {
		return nil, err
	}
	if n := int(req.GetRevision()); n > 0 && n != at.Seq {
		if n > at.Seq {
			return nil, fault.New(fault.NotFound, "NOT_FOUND", "%s has no revision %d", req.GetName(), n).
				At("revision", "does not exist").With("resource", req.GetName())
		}
		if at, err = s.regions.Journal().StateAt(ctx, req.GetName(), n); err != nil {
			return nil, adapter.Fault(err)
		}
	}
	return adapter.Redact(caller, &travelv1.GetRegionResponse{Region: regionToProto(at)}), nil
}

// ListRegions implements RegionService.
func (s *Server) ListRegions(ctx context.Context, req *travelv1.ListRegionsRequest) (*travelv1.ListRegionsResponse, error) {
	caller, err := s.access.Caller(ctx, req.GetParent())
	if err != nil {
		return nil, err
	}
	page, err := s.regions.List(ctx, journal.Query[region]{
		Campaign: caller.Campaign, PageSize: int(req.GetPageSize()), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &travelv1.ListRegionsResponse{NextPageToken: page.NextToken}
	for _, at := range page.Rows {
		row := regionToProto(at)
		row.Hexes, row.Roads, row.Rivers, row.Locations, row.HiddenLocations, row.Npcs = nil, nil, nil, nil, nil, nil
		res.Regions = append(res.Regions, row)
	}
	return adapter.Redact(caller, res), nil
}

func (s *Server) loadRegion(ctx context.Context, field, name string) (journal.At[region], error) {
	at, err := s.regions.Load(ctx, name)
	return at, missing(err, field, name)
}

// check returns everything that is wrong with a draft, at the fields of the request.
func (s *Server) check(name string, d *travelv1.RegionDraft) []fault.Violation {
	var out []fault.Violation
	bad := func(field, reason, description string) {
		out = append(out, fault.Violation{Field: "region." + field, Reason: reason, Description: description})
	}
	check := diedrop.CheckMap
	if len(d.GetHexes()) == 0 {
		check = diedrop.CheckSites
	}
	for _, v := range check(s.cfg.Rules, mapOf(name, 0, d)) {
		bad(draftField(d, v.Field), v.Code, v.Message)
	}
	// To the rules everything is in a hex, (0,0) where none is given.
	for i, l := range d.GetLocations() {
		if l.GetHex() == nil && len(d.GetHexes()) > 0 {
			bad(fmt.Sprintf("locations[%d].hex", i), "HEX_MISSING", "a location lies in a hex")
		}
	}
	for i, n := range d.GetNpcs() {
		if n.GetHex() == nil && len(d.GetHexes()) > 0 {
			bad(fmt.Sprintf("npcs[%d].hex", i), "HEX_MISSING", "an NPC lives in a hex")
		}
	}
	if d.GetTitle() == "" && len(d.GetHexes()) == 0 {
		bad("title", "NAME_MISSING", "a region needs a title")
	}
	// The rules know rooms by their ids: two of the same id would be one to them.
	for i, l := range d.GetLocations() {
		seen := map[string]bool{}
		for k, r := range l.GetRooms() {
			if seen[r.GetId()] {
				bad(fmt.Sprintf("locations[%d].rooms[%d].id", i, k), "DUPLICATE_ID", fmt.Sprintf("%q is there already", r.GetId()))
			}
			seen[r.GetId()] = true
		}
	}
	return out
}

// draftField returns where a draft has what the rules call by the path of their own map document.
func draftField(d *travelv1.RegionDraft, field string) string {
	if field == "name" {
		return "title"
	}
	place, rest, ok := strings.Cut(field, ".rooms.")
	if !ok {
		return field
	}
	var i int
	if _, err := fmt.Sscanf(place, "locations[%d]", &i); err != nil || i >= len(d.GetLocations()) {
		return field
	}
	// A room's id may be any text here, so it is looked for, not parsed.
	for k, r := range d.GetLocations()[i].GetRooms() {
		switch way, found := strings.CutPrefix(rest, r.GetId()); {
		case found && way == "":
			return fmt.Sprintf("%s.rooms[%d]", place, k)
		case found && way[0] == '[' && strings.Count(way, "[") == 1:
			return fmt.Sprintf("%s.rooms[%d].ways%s", place, k, way)
		}
	}
	return field
}

func regionToProto(at journal.At[region]) *travelv1.Region {
	d := at.State.Draft
	hidden := func(l *travelv1.Location) bool { return !l.GetVisible() }
	known := func(l *travelv1.Location) bool { return l.GetVisible() }
	return &travelv1.Region{
		Name: at.Stream, Title: d.GetTitle(), Revision: i32(at.State.Revision), Hexes: d.GetHexes(), Roads: d.GetRoads(), Rivers: d.GetRivers(),
		Locations: slices.DeleteFunc(slices.Clone(d.GetLocations()), hidden), HiddenLocations: slices.DeleteFunc(slices.Clone(d.GetLocations()), known),
		Npcs: d.GetNpcs(), Etag: at.Etag(), Seq: i32(at.Seq),
		CreateTime: timestamppb.New(at.Created), UpdateTime: timestamppb.New(at.Updated),
	}
}
