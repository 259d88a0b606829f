package travel_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
)

// secretsOf lists what players may not read of the example region: hidden locations, the rooms of sites, and NPCs.
func secretsOf(found ...string) map[string]string {
	out := map[string]string{}
	m := diedrop.ExampleMap()
	for _, l := range m.Locations {
		known := l.Visible
		for _, f := range found {
			known = known || f == l.ID
		}
		if !known {
			out[l.ID], out[l.Name] = "the id of a hidden location", "the name of a hidden location"
		}
		for room := range l.Rooms {
			out[`"`+room+`"`] = "a room of " + l.ID
		}
	}
	for _, n := range m.NPCs {
		out[`"`+n.ID+`"`], out[n.Name] = "the id of an NPC", "the name of an NPC"
	}
	return out
}

func telltale(t *testing.T, who, where, text string, secrets map[string]string) {
	t.Helper()
	for s, what := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s reads %s, %s, in %s", who, what, s, where)
		}
	}
}

// watch reads the records of the journey from a seq on, until the last one or the end of the stream.
func (n *node) watch(who string, from, last int32) ([]*travelv1.WatchJourneyResponse, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(as(context.Background(), who), await.Limit)
	defer cancel()
	stream, err := travelv1.NewJourneyServiceClient(n.conn).WatchJourney(ctx, &travelv1.WatchJourneyRequest{Name: trek, FromSeq: from})
	if err != nil {
		return nil, err
	}
	var out []*travelv1.WatchJourneyResponse
	for {
		res, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, err
		}
		if out = append(out, res); res.GetRecord().GetSeq() == last {
			return out, nil
		}
	}
}

func TestPlayersLearnNothingHidden(t *testing.T) {
	t.Parallel()
	for _, who := range []string{adas, brams, bot, spectator} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			n := w.node(t)
			n.importVale()
			secrets := secretsOf()
			read := func(where string, res proto.Message, err error) {
				t.Helper()
				if err != nil {
					telltale(t, who, "the refusal of "+where, protojson.Format(status.Convert(err).Proto()), secrets)
					return
				}
				telltale(t, who, where, protojson.Format(res), secrets)
			}
			look := func(requests ...proto.Message) {
				t.Helper()
				for _, req := range requests {
					res, err := n.call(who, req)
					if err != nil {
						t.Fatalf("%T: %v", req, err)
					}
					read(string(req.ProtoReflect().Descriptor().Name()), res, nil)
				}
			}
			actor := map[string]string{adas: ada, brams: bram, bot: ada}[who]
			lookAround := func() {
				t.Helper()
				look(&travelv1.GetRegionRequest{Name: vale}, &travelv1.GetRegionRequest{Name: vale, Revision: 1}, &travelv1.ListRegionsRequest{Parent: camp},
					&travelv1.GetJourneyRequest{Name: trek}, &travelv1.ListJourneysRequest{Parent: camp})
				records, err := n.watch(who, 0, n.journey(gm).GetSeq())
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					read("WatchJourney", r, nil)
				}
			}
			starter := who
			start := startTrek()
			if start.Character = actor; actor == "" {
				starter = gm
			}
			// Where the swamp's hidden place is.
			start.Hex = &travelv1.Hex{Q: 0, R: 6}
			res, err := n.call(starter, start)
			if err != nil {
				t.Fatal(err)
			}
			if starter == who {
				read("StartJourney", res, nil)
			}
			lookAround()
			if actor == "" {
				return
			}
			play := func(req proto.Message) (proto.Message, error) {
				t.Helper()
				set(req, "name", trek)
				set(req, "character", actor)
				res, err := n.call(who, req)
				read(string(req.ProtoReflect().Descriptor().Name()), res, err)
				return res, err
			}
			// A hidden place is refused just as one that is not on the map at all, here and elsewhere.
			for _, place := range []string{"mirefold", "gullet", "nowhere"} {
				was := secrets
				secrets = nil // the caller's own word comes back
				_, err := play(&travelv1.EnterLocationRequest{Location: place})
				secrets = was
				refusal{codes.FailedPrecondition, "UNKNOWN_LOCATION", "location"}.check(t, err)
				if want := "there is no location " + place; status.Convert(err).Message() != want {
					t.Errorf("the refusal says %q, want %q", status.Convert(err).Message(), want)
				}
			}
			_, err = n.call(gm, &travelv1.EnterLocationRequest{Name: trek, Location: "mirefold"})
			refusal{codes.FailedPrecondition, "NOT_DISCOVERED", "location"}.check(t, err)

			secrets = secretsOf("mirefold")
			found, err := play(&travelv1.SearchRequest{})
			if err != nil {
				t.Fatal(err)
			}
			search := found.(*travelv1.SearchResponse) //nolint:forcetypeassert // its answer
			if diff := cmp.Diff([]string{"mirefold"}, search.GetOutcome().GetFound()); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			places := search.GetJourney().GetDiscoveredLocations()
			if len(places) != 1 || places[0].GetId() != "mirefold" || places[0].GetName() == "" || len(places[0].GetRooms()) != 0 {
				t.Errorf("discovered: %v", places)
			}
			delete(secrets, `"causeway"`) // the entrance, before which they stand then
			entered, err := play(&travelv1.EnterLocationRequest{Location: "mirefold"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"causeway"}, entered.(*travelv1.EnterLocationResponse).GetJourney().GetWays()); diff != "" {
				t.Errorf("ways (-want +got):\n%s", diff)
			}
			lookAround()
			if _, err := play(&travelv1.EndJourneyRequest{}); err != nil {
				t.Error(err)
			}
			lookAround()
		})
	}
}

func TestGameMastersSeeEverything(t *testing.T) {
	t.Parallel()
	n := newWorld().node(t).begin()
	want := exampleDraft(t)
	r := do[*travelv1.GetRegionResponse](n, gm, &travelv1.GetRegionRequest{Name: vale}).GetRegion()
	hidden := 0
	for _, l := range want.GetLocations() {
		if !l.GetVisible() {
			hidden++
		}
	}
	if hidden == 0 || len(r.GetHiddenLocations()) != hidden || len(r.GetLocations()) != len(want.GetLocations())-hidden || len(r.GetNpcs()) != len(want.GetNpcs()) {
		t.Errorf("a GM sees %d locations, %d hidden ones and %d NPCs", len(r.GetLocations()), len(r.GetHiddenLocations()), len(r.GetNpcs()))
	}
	for _, who := range []string{gm, service} {
		records, err := n.watch(who, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		played := records[1].GetEvents()[0].GetStarted().GetRegion()
		if diff := cmp.Diff(want, played, protocmp.Transform(), protocmp.SortRepeated(func(a, b *travelv1.Room) bool { return a.GetId() < b.GetId() })); diff != "" {
			t.Errorf("%s sees played (-imported +seen):\n%s", who, diff)
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld()
	n, replica := w.node(t), w.node(t)
	n.begin()
	type seen struct {
		records []*travelv1.WatchJourneyResponse
		err     error
	}
	watching := map[string]chan seen{}
	for name, on := range map[string]*node{"the same process": n, "another replica": replica} {
		c := make(chan seen, 1)
		watching[name] = c
		go func() {
			records, err := on.watch(brams, 0, -1) // to the end of the journey
			c <- seen{records, err}
		}()
	}
	move := do[*travelv1.MoveResponse](n, adas, &travelv1.MoveRequest{Name: trek, Character: ada, To: &travelv1.Hex{Q: 2, R: 2}, RequestId: "m"})
	do[*travelv1.ForageResponse](replica, brams, &travelv1.ForageRequest{Name: trek, Character: bram})
	end := do[*travelv1.EndJourneyResponse](n, adas, &travelv1.EndJourneyRequest{Name: trek, Character: ada})
	for name, c := range watching {
		got := await.Value(t, c, "the watch to end")
		if got.err != nil {
			t.Fatalf("%s: %v", name, got.err)
		}
		if len(got.records) != int(end.GetJourney().GetSeq()) {
			t.Errorf("%s saw %d records of %d", name, len(got.records), end.GetJourney().GetSeq())
		}
		for i, r := range got.records {
			if int(r.GetRecord().GetSeq()) != i+1 {
				t.Errorf("%s: record %d is number %d", name, i+1, r.GetRecord().GetSeq())
			}
		}
		if diff := cmp.Diff(&travelv1.WatchJourneyResponse{Record: move.GetRecord(), Events: move.GetEvents()}, got.records[2], protocmp.Transform()); diff != "" {
			t.Errorf("%s: the move (-answered +watched):\n%s", name, diff)
		}
	}
	late, err := n.watch(spectator, 3, -1)
	if err != nil || len(late) != int(end.GetJourney().GetSeq())-3 {
		t.Errorf("from 3 on: %d records, %v", len(late), err)
	}
	_, err = n.watch(stranger, 0, -1)
	refusal{codes.NotFound, "NOT_FOUND", ""}.check(t, err)
}
