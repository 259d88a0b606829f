package travel

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	travelv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/travel/v1"

	"github.com/wayfarer-rpg/wayfarer/rules/diedrop"
	"github.com/wayfarer-rpg/wayfarer/rules/play"
	"github.com/wayfarer-rpg/wayfarer/services/adapter"
)

// full returns a message of the type with something else in every field, however deep.
func full(m protoreflect.Message, n *int) protoreflect.Message {
	value := func(fd protoreflect.FieldDescriptor, fresh func() protoreflect.Value) protoreflect.Value {
		*n++
		switch fd.Kind() {
		case protoreflect.MessageKind:
			v := fresh()
			full(v.Message(), n)
			return v
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(strings.Repeat("x", *n))
		case protoreflect.BoolKind:
			return protoreflect.ValueOfBool(true)
		case protoreflect.Int32Kind:
			return protoreflect.ValueOfInt32(int32(*n)) //nolint:gosec // small
		case protoreflect.BytesKind:
			return protoreflect.ValueOfBytes([]byte{byte(*n)})
		}
		panic("no value for " + fd.FullName())
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if m.Descriptor().FullName() == "wayfarer.travel.v1.Member" && (fd.Name() == "slots_used" || fd.Name() == "overloaded") {
			continue // in journeys, not in events
		}
		if fd.IsList() {
			l := m.Mutable(fd).List()
			l.Append(value(fd, l.NewElement))
			l.Append(value(fd, l.NewElement))
			continue
		}
		m.Set(fd, value(fd, func() protoreflect.Value { return m.NewField(fd) }))
	}
	return m
}

// ofTheSaga are the events that the rules know nothing of, or know in another form.
var ofTheSaga = []protoreflect.Name{"preparing", "started", "undoing", "undone", "ending", "ended", "vitals_returned", "joining", "joined", "join_refused"}

// Every event of the contract comes back from the rules as it was, and every field of it counts there.
func TestEventsMapBothWaysWithoutLoss(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	fields := (&travelv1.JourneyEvent{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		ev := &travelv1.JourneyEvent{}
		m := ev.ProtoReflect()
		n := 0
		m.Set(fd, protoreflect.ValueOfMessage(m.NewField(fd).Message()))
		saga := false
		for _, name := range ofTheSaga {
			saga = saga || fd.Name() == name
		}
		if !saga {
			full(m.Mutable(fd).Message(), &n)
		}
		raw, err := protojson.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		stored := &travelv1.JourneyEvent{}
		if err := protojson.Unmarshal(raw, stored); err != nil {
			t.Fatal(err)
		}
		e, ok := eventFrom(stored)
		if ok == saga {
			t.Errorf("%s is an event of the rules: %v", fd.Name(), ok)
		}
		if saga {
			continue
		}
		if seen[reflect.TypeOf(e)] {
			t.Errorf("%s becomes %T, which another event is", fd.Name(), e)
		}
		seen[reflect.TypeOf(e)] = true
		zeroless(t, string(fd.Name()), reflect.ValueOf(e))
		back, err := eventTo(e)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, back, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-given +back):\n%s", fd.Name(), diff)
		}
	}
	if len(seen) != 33 {
		t.Errorf("%d events of the rules have a place in the contract", len(seen))
	}
	for _, e := range []diedrop.Event{diedrop.MissionsRolled{}, diedrop.MissionUsed{}, diedrop.Begun{}} {
		if _, err := eventTo(e); err == nil {
			t.Errorf("%T has got a place: map it back as well", e)
		}
	}
}

// zeroless finds fields of the rules' event that the contract did not fill.
func zeroless(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice && v.Len() > 0 {
		v = v.Index(0)
	}
	if v.Kind() != reflect.Struct {
		if v.IsZero() {
			t.Errorf("%s is empty", path)
		}
		return
	}
	for i := range v.NumField() {
		zeroless(t, path+"."+v.Type().Field(i).Name, v.Field(i))
	}
}

func TestTheBeginningMapsBothWaysWithoutLoss(t *testing.T) {
	t.Parallel()
	rules, err := diedrop.Default().With(map[string]any{"starve.variant": "drain", "search.success_min": 4, "food.max_dice": 3})
	if err != nil {
		t.Fatal(err)
	}
	m := *diedrop.ExampleMap()
	m.ID, m.Version, m.Coordinates = "vale", 7, "" // the contract says in one place what coordinates are
	want := diedrop.Begun{Ruleset: rules, Map: &m, Journey: diedrop.Journey{
		Hex: &diedrop.Hex{}, Inside: "tallowick", Food: []int{20, 6}, StarvingRounds: 3, Gold: 5, Boat: true, Lantern: true,
		Members: []diedrop.Member{{Name: "Ada", Character: "c", HP: 1, HPMax: 2, STR: 3, STRMax: 4, Capacity: 5, Gear: 6, FoodSlots: 7, Fatigue: 8, Torches: 9, Oil: 10}},
		Cargo:   []diedrop.Load{{Carrier: "Ada", Creature: "Wolves", Count: 2, Value: 9, Slots: 1}},
		Light:   &diedrop.Light{Kind: diedrop.Torch, Sides: 8}, Discovered: []string{"mirefold"},
	}}
	started, err := startedTo(want)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := protojson.Marshal(started)
	if err != nil {
		t.Fatal(err)
	}
	stored := &travelv1.JourneyStarted{}
	if err := protojson.Unmarshal(raw, stored); err != nil {
		t.Fatal(err)
	}
	got, err := startedFrom(stored, "campaigns/c/regions/vale", 7)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-given +back):\n%s", diff)
	}
	got.Journey.Hex, stored.Hex = nil, nil
	if without, err := startedFrom(stored, "campaigns/c/regions/vale", 7); err != nil || without.Journey.Hex != nil {
		t.Errorf("a crawl without a map is in %v, %v", without.Journey.Hex, err)
	}
}

// A journey that was begun before a parameter was invented plays on, by its default.
func TestARulesetOfBefore(t *testing.T) {
	t.Parallel()
	doc, err := rulesetTo(diedrop.Default())
	if err != nil {
		t.Fatal(err)
	}
	delete(doc.GetFields()["params"].GetStructValue().GetFields(), "enter.dice")
	rs, err := rulesetFrom(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(diedrop.Default(), rs); diff != "" {
		t.Errorf("(-shipped +read):\n%s", diff)
	}
}

// Messages of the contract in the fold have to come through the head's JSON as they were.
func TestFoldsComeBackFromTheirHeads(t *testing.T) {
	t.Parallel()
	n := 0
	ev := &travelv1.JourneyEvent{Event: &travelv1.JourneyEvent_Ending{Ending: &travelv1.JourneyEnding{}}}
	full(ev.GetEnding().ProtoReflect(), &n)
	j, err := journey{}.apply(ev)
	if err != nil {
		t.Fatal(err)
	}
	back := roundTrip(t, j)
	if !proto.Equal(j.Pack, back.Pack) || len(back.Vitals) != 2 || !proto.Equal(j.Vitals[1].Vitals, back.Vitals[1].Vitals) {
		t.Errorf("got %v %v, want %v %v", back.Pack, back.Vitals, j.Pack, j.Vitals)
	}
	imported := &travelv1.RegionEvent{Event: &travelv1.RegionEvent_Imported{Imported: &travelv1.RegionImported{}}}
	full(imported.GetImported().ProtoReflect(), &n)
	r, err := region{}.apply(imported)
	if err != nil {
		t.Fatal(err)
	}
	if back := roundTrip(t, r); !proto.Equal(r.Draft, back.Draft) || back.Revision != r.Revision {
		t.Errorf("got %v, want %v", back, r)
	}
}

func roundTrip[T any](t *testing.T, v T) T {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// What the party service would not take back must not keep a journey from ending.
func TestWhatGoesBackIsWhatTheLenderTakes(t *testing.T) {
	t.Parallel()
	j := journey{Play: diedrop.Journey{
		Gold: diedrop.MaxGold + 5, StarvingRounds: 200_000,
		Members: []diedrop.Member{
			{Name: "Wat", HP: 1, HPMax: 1, STR: 1, STRMax: 1, Capacity: 10, Fatigue: 4000},
			{Name: "Ada", Character: "ada", STRMax: 9, Dead: true},
		},
	}}
	back := j.ending(false).GetEnding()
	if len(back.GetPack().GetTravelers()) != 1 || len(back.GetVitals()) != 1 || back.GetVitals()[0].GetVitals().GetStr() != 0 {
		t.Errorf("back go %v", back)
	}
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []proto.Message{back.GetPack(), back.GetVitals()[0].GetVitals()} {
		if err := v.Validate(m); err != nil {
			t.Error(err)
		}
	}
	j.Play.Cargo = make([]diedrop.Load, maxLoads-1)
	if err := fewLoads(adapter.Caller{}, j); err != nil {
		t.Error(err)
	}
	j.Play.Cargo = append(j.Play.Cargo, diedrop.Load{})
	var r *play.Refusal
	if err := fewLoads(adapter.Caller{}, j); !errors.As(err, &r) || r.Code != reasonTooManyLoads {
		t.Errorf("one load too many: %v", err)
	}
}
