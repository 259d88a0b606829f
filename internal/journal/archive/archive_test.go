package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/memory"
)

// The tests' game: streams of dice in one service, and in another one rollers that name the stream they roll with, and owe
// something while they say so.
type streamState struct {
	Seed   []byte
	Client string
	Drawn  bool
}

type rollerState struct {
	Stream string
	Debt   bool
	Rolls  int
}

func fold[S any](kind string) journal.Fold[S] {
	return journal.Fold[S]{Kind: kind, Version: 1, Apply: func(s S, raw json.RawMessage) (S, error) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		err := dec.Decode(&s) // an event is what changes
		return s, err
	}}
}

func services() []archive.Service {
	return []archive.Service{
		{Name: "dice", Kinds: []archive.Kind{{
			Name: "stream", Refold: fold[streamState]("stream").Refold,
			Seed: func(s any) archive.Seed {
				st := s.(streamState)
				return archive.Seed{Seed: st.Seed, Client: st.Client, Drawn: st.Drawn}
			},
		}}},
		{Name: "game", Kinds: []archive.Kind{
			{Name: "note", Refold: fold[struct{ Text string }]("note").Refold},
			{
				Name: "roller", Refold: fold[rollerState]("roller").Refold,
				DiceStream: func(s any) string { return s.(rollerState).Stream }, Owes: func(s any) bool { return s.(rollerState).Debt },
			},
		}},
	}
}

// house is both services on stores in memory.
type house struct {
	t        testing.TB
	services []archive.Service
	clock    time.Time
}

func newHouse(t testing.TB) *house {
	h := &house{t: t, services: services(), clock: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	for i := range h.services {
		s := memory.New()
		h.services[i].Store, h.services[i].Source = s, s
	}
	return h
}

func (h *house) store(service string) journal.Store {
	for _, s := range h.services {
		if s.Name == service {
			return s.Store
		}
	}
	h.t.Fatalf("no service %s", service)
	return nil
}

func (h *house) put(service string, r journal.Record) {
	h.t.Helper()
	if r.Owing {
		if err := h.store(service).Owe(h.t.Context(), journal.Obligation{Kind: r.Kind, Stream: r.Stream, Seq: r.Seq}); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := h.store(service).Insert(h.t.Context(), r); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) record(kind, stream string, seq int, event string, dice ...journal.Die) journal.Record {
	h.clock = h.clock.Add(time.Second)
	campaign, _, _ := strings.Cut(stream, "/")
	r := journal.Record{
		Stream: stream, Seq: seq, Campaign: campaign, Kind: kind, RequestID: fmt.Sprintf("r-%d", seq), RequestHash: "h", Actor: "ada",
		Time: h.clock, Fold: 1, Events: []json.RawMessage{json.RawMessage(event)}, Dice: dice, Note: "<&>  ",
	}
	if seq == 1 {
		r.Parent = "parent"
	}
	return r
}

var seed = bytes.Repeat([]byte{7}, dicestream.SeedSize)

// faces are what the stream shows in a record.
func faces(t testing.TB, seq int, sides ...int) []journal.Die {
	t.Helper()
	shown, err := dicestream.Faces(seed, "client", uint64(seq), sides...)
	if err != nil {
		t.Fatal(err)
	}
	dice := make([]journal.Die, len(sides))
	for i := range sides {
		dice[i] = journal.Die{Purpose: "p", Sides: sides[i], Face: shown[i]}
	}
	return dice
}

// furnished is a house with two campaigns; "a" has everything.
func furnished(t testing.TB) *house {
	h := newHouse(t)
	raw, _ := json.Marshal(seed)
	h.put("dice", h.record("stream", "a/s", 1, fmt.Sprintf(`{"Seed":%s}`, raw)))
	h.put("dice", h.record("stream", "a/s", 2, `{"Client":"client"}`))
	h.put("dice", h.record("stream", "a/s", 3, `{"Drawn":true}`))
	h.put("game", h.record("roller", "a/r", 1, `{"Stream":"a/s"}`))
	h.put("game", h.record("roller", "a/r", 2, `{"Rolls":1}`, faces(t, 2, 6, 20, 7)...))
	debt := h.record("roller", "a/r", 3, `{"Debt":true}`)
	debt.Owing, debt.OverrideReason = true, "because"
	h.put("game", debt)
	h.put("game", h.record("roller", "a/r", 4, `{"Rolls":2}`, journal.Die{Sides: 6, Face: 6, Reported: true}))
	for i := range 600 { // more than a page
		h.put("game", h.record("note", "b/n", i+1, `{"Text":"Würfel  \u2028"}`))
	}
	h.put("game", h.record("note", "b/m", 1, `{"Text":""}`))
	return h
}

func (h *house) export(scope archive.Scope) (string, map[string]archive.Count, []string) {
	h.t.Helper()
	var out bytes.Buffer
	w, err := archive.NewWriter(&out, archive.Header{Made: time.Unix(0, 0), By: "test", Campaign: scope.Campaign, Services: []string{"dice", "game"}})
	if err != nil {
		h.t.Fatal(err)
	}
	var found []string
	counts, err := archive.Export(h.t.Context(), w, h.services, scope, into(&found))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return out.String(), counts, found
}

func into(found *[]string) func(archive.Problem) {
	return func(p archive.Problem) { *found = append(*found, p.String()) }
}

func (h *house) verify() []string {
	h.t.Helper()
	var found []string
	if _, err := archive.Verify(h.t.Context(), h.services, archive.Scope{}, into(&found)); err != nil {
		h.t.Fatal(err)
	}
	return found
}

func verifyFile(t testing.TB, text string) ([]string, error) {
	t.Helper()
	var found []string
	_, _, err := archive.VerifyFile(strings.NewReader(text), services(), into(&found))
	return found, err
}

func TestWhatIsExportedIsImportedAsItWas(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	text, counts, found := h.export(archive.Scope{})
	want := map[string]archive.Count{"dice": {Streams: 1, Records: 3}, "game": {Streams: 3, Records: 605, Drawn: 3, Reported: 1}}
	if diff := cmp.Diff(want, counts); diff != "" || len(found) > 0 {
		t.Errorf("exported (-want +got):\n%s%q", diff, found)
	}
	if found, err := verifyFile(t, text); err != nil || len(found) > 0 {
		t.Errorf("the file: %v, %q", err, found)
	}
	other := newHouse(t)
	done, err := archive.Import(t.Context(), strings.NewReader(text), other.services)
	if diff := cmp.Diff(map[string]archive.Imported{"dice": {New: 3}, "game": {New: 605}}, done); diff != "" || err != nil {
		t.Fatalf("imported (-want +got):\n%s%v", diff, err)
	}
	if found := other.verify(); len(found) > 0 {
		t.Errorf("what was imported: %q", found)
	}
	again, _, _ := other.export(archive.Scope{Frozen: true})
	if again != text {
		t.Error("exported again, it is another file")
	}
	recs, err := other.store("game").Read(t.Context(), "a/r", 2, 1)
	orig, err2 := h.store("game").Read(t.Context(), "a/r", 2, 1)
	if diff := cmp.Diff(orig, recs); diff != "" || err != nil || err2 != nil {
		t.Errorf("a record (-exported +imported):\n%s%v, %v", diff, err, err2)
	}
	owed, err := other.store("game").Owing(t.Context(), "roller", journal.Obligation{}, 9)
	if err != nil || len(owed) != 1 || owed[0] != (journal.Obligation{Kind: "roller", Stream: "a/r", Seq: 3}) {
		t.Errorf("owed after the import: %v, %v", owed, err)
	}
	done, err = archive.Import(t.Context(), strings.NewReader(text), other.services)
	if diff := cmp.Diff(map[string]archive.Imported{"dice": {Known: 3}, "game": {Known: 605}}, done); diff != "" || err != nil {
		t.Errorf("imported again (-want +got):\n%s%v", diff, err)
	}
}

func TestOneCampaignIsExported(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	text, counts, found := h.export(archive.Scope{Campaign: "a"})
	if counts["dice"].Records != 3 || counts["game"].Records != 4 || strings.Contains(text, `"b/`) || len(found) > 0 {
		t.Errorf("got %v, %q", counts, found)
	}
	mixed := strings.Replace(text, `"campaign":"a","services"`, `"campaign":"b","services"`, 1)
	if found, err := verifyFile(t, resealed(mixed)); err != nil || len(found) != 7 || !strings.Contains(found[0], `record 1 of a/s: is of "a", the file of "b"`) {
		t.Errorf("a file of another campaign: %v, %q", err, found)
	}
}

// resealed writes the last line anew, as somebody does who changes a file on purpose.
func resealed(text string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	lines = lines[:len(lines)-1]
	streams, last := 0, ""
	for _, l := range lines[1:] {
		var r archive.Line
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			panic(err)
		}
		if r.Service+r.Stream != last {
			streams, last = streams+1, r.Service+r.Stream
		}
	}
	body := strings.Join(lines, "")
	sum := sha256.Sum256([]byte(body))
	return body + fmt.Sprintf("{\"end\":{\"records\":%d,\"streams\":%d,\"sha256\":%q}}\n", len(lines)-1, streams, hex.EncodeToString(sum[:]))
}

func TestADamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	whole, _, _ := furnished(t).export(archive.Scope{Campaign: "a"})
	lines := strings.SplitAfter(whole, "\n")
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                         {"", "line 1: the file is empty"},
		"something else":                  {"{\"seed\":\"x\"}\n", "line 1: this is no export of journals"},
		"no JSON":                         {"hello\n", "line 1: this is no export of journals"},
		"a version to come":               {"{\"wayfarer_journal\":2,\"more\":1}\n", "line 1: the format has version 2, this program reads 1"},
		"a first line with more":          {"{\"wayfarer_journal\":1,\"more\":1}\n", `line 1: is no first line: json: unknown field "more"`},
		"cut off after a line":            {strings.Join(lines[:4], ""), "line 5: the file ends without its last line: it was cut off"},
		"cut off within a line":           {whole[:len(whole)-40], "the file is cut off within a line"},
		"a record taken out":              {strings.Join(slices.Delete(slices.Clone(lines), 5, 6), ""), "line 8: says 7 records of 2 streams, the file has 6 of 2"},
		"a face changed":                  {strings.Replace(whole, `"sides":7,"face":`, `"sides":7,"face":1`, 1), "line 9: the checksum is not that of the file: something in it was changed"},
		"two lines changed places":        {lines[0] + lines[2] + lines[1] + strings.Join(lines[3:], ""), "line 9: the checksum is not that of the file"},
		"more after the end":              {whole + lines[1], "line 9: more follows the last line"},
		"a record with more":              {lines[0] + `{"service":"dice","mood":1}` + "\n", `line 2: is no record: json: unknown field "mood"`},
		"two records in a line":           {lines[0] + strings.TrimSpace(lines[1]) + lines[2], "line 2: is no record: more than one value"},
		"an end that is none":             {lines[0] + `{"end":3}` + "\n", "line 2: is no last line"},
		"a line without an end in itself": {lines[0] + strings.TrimSpace(lines[1]), "line 2: the file is cut off within a line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := verifyFile(t, tc.text)
			var damaged *archive.DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			h := newHouse(t)
			if _, err := archive.Import(t.Context(), strings.NewReader(tc.text), h.services); !errors.As(err, &damaged) {
				t.Errorf("it is imported: %v", err)
			}
		})
	}
}

func TestUnsoundJournalsAreReported(t *testing.T) {
	t.Parallel()
	whole, _, _ := furnished(t).export(archive.Scope{Campaign: "a"})
	lines := strings.SplitAfter(whole, "\n")
	without := func(i ...int) string {
		var out []string
		for at, l := range lines {
			if !slices.Contains(i, at) {
				out = append(out, l)
			}
		}
		return strings.Join(out, "")
	}
	replaced := func(old, by string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("no %s in\n%s", old, whole)
		}
		return strings.Replace(whole, old, by, 1)
	}
	shown := faces(t, 2, 6, 20, 7)
	face := fmt.Sprintf(`"sides":20,"face":%d`, shown[1].Face)
	for name, tc := range map[string]struct{ text, want string }{
		"a gap":                    {without(5), "game: record 2 of a/r: is missing: record 3 is in its place"},
		"no beginning":             {without(4), "game: record 1 of a/r: is missing: record 2 is in its place"},
		"a stream in two pieces":   {lines[0] + lines[1] + lines[4] + lines[2] + lines[3] + strings.Join(lines[5:], ""), "dice: record 2 of a/s: stands apart from the records of its stream"},
		"a repeated request":       {replaced(`"seq":4,"campaign":"a","kind":"roller","request_id":"r-4"`, `"seq":4,"campaign":"a","kind":"roller","request_id":"r-2"`), `game: record 4 of a/r: has the request id "r-2" of record 2`},
		"no request":               {replaced(`"request_id":"r-4"`, `"request_id":""`), "game: record 4 of a/r: has no request id"},
		"another campaign":         {replaced(`"seq":4,"campaign":"a"`, `"seq":4,"campaign":"b"`), `game: record 4 of a/r: is of "b", the stream of "a"`},
		"another kind":             {replaced(`"seq":4,"campaign":"a","kind":"roller"`, `"seq":4,"campaign":"a","kind":"note"`), `is of kind "note", not "roller"`},
		"an unknown kind":          {replaced(`"seq":1,"campaign":"a","kind":"roller"`, `"seq":1,"campaign":"a","kind":"beast"`), `game: a/r: nobody knows the kind "beast"`},
		"an unknown service":       {replaced(`"service":"game","stream":"a/r","seq":1`, `"service":"bank","stream":"a/r","seq":1`), "bank: a/r: nobody knows the service"},
		"an unknown event":         {replaced(`{"Debt":true}`, `{"Depth":true}`), "event 0, written by fold version 1, read by 1"},
		"a parent in the middle":   {replaced(`"seq":4,"campaign":"a","kind":"roller",`, `"seq":4,"campaign":"a","kind":"roller","parent":"x",`), "record 4 of a/r: has a parent"},
		"a face":                   {replaced(face, fmt.Sprintf(`"sides":20,"face":%d`, 1+shown[1].Face%20)), fmt.Sprintf("record 2 of a/r: die 2 of 20 sides shows %d, a/s gives %d", 1+shown[1].Face%20, shown[1].Face)},
		"a die":                    {replaced(face, strings.Replace(face, "20", "19", 1)), "record 2 of a/r: die 2 of 19 sides shows"},
		"an impossible face":       {replaced(face, `"sides":20,"face":21`), "die 2 has 20 sides and shows 21"},
		"a reported die passed on": {replaced(`"face":6,"reported":true`, `"face":6`), "record 4 of a/r: "},
		"another seed":             {replaced(`{"Seed":"Bw`, `{"Seed":"Cw`), "record 2 of a/r: die 1 of 6 sides shows"},
		"half a seed":              {replaced(`"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="`, `"BwcH"`), "dice: a/s: its seed has 3 bytes, not 32"},
		"another client seed":      {replaced(`{"Client":"client"}`, `{"Client":"mine"}`), "record 2 of a/r: die"},
		"a stream never drawn":     {without(3), "draws from a/s, which does not know of any draw"},
		"a stream that is gone":    {without(1, 2, 3), "record 2 of a/r: draws from a/s, which is not there"},
		"another stream is named":  {replaced(`"dice_stream":"a/s"`, `"dice_stream":"a/t"`), `record 2 of a/r: draws from "a/s", the file says "a/t"`},
		"dice of a kind without":   {replaced(`{"Drawn":true}],`, `{"Drawn":true}],"dice":[{"sides":6,"face":1}],`), `record 3 of a/s: has dice, and the kind "stream" draws none`},
		"dice before the stream":   {replaced(`[{"Stream":"a/s"}],`, `[{"Stream":"a/s"}],"dice":[{"sides":6,"face":1}],`), "record 1 of a/r: has dice, and no stream to draw them from"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := verifyFile(t, resealed(tc.text))
			if err != nil || !slices.ContainsFunc(found, func(p string) bool { return strings.Contains(p, tc.want) }) {
				t.Errorf("got %v, %q, want %s", err, found, tc.want)
			}
		})
	}
}

func TestAnImportChangesNothingThatIsThere(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	text, _, _ := h.export(archive.Scope{})

	half := newHouse(t)
	lines := strings.SplitAfter(text, "\n")
	if _, err := archive.Import(t.Context(), strings.NewReader(resealed(strings.Join(lines[:300], "")+"{}\n")), half.services); err != nil {
		t.Fatal(err)
	}
	done, err := archive.Import(t.Context(), strings.NewReader(text), half.services)
	if err != nil || done["game"].New+done["game"].Known != 605 || done["game"].Known == 0 || done["game"].New == 0 {
		t.Errorf("the rest of a broken-off import: %v, %v", done, err)
	}
	if again, _, _ := half.export(archive.Scope{}); again != text {
		t.Error("completed, it is another one")
	}

	h.put("game", h.record("roller", "a/r", 5, `{"Rolls":3}`))
	if done, err := archive.Import(t.Context(), strings.NewReader(text), h.services); err != nil || done["game"].New != 0 {
		t.Errorf("into what has grown meanwhile: %v, %v", done, err)
	}

	other := newHouse(t)
	mine := other.record("note", "b/n", 1, `{"Text":"mine"}`)
	other.put("game", mine)
	_, err = archive.Import(t.Context(), strings.NewReader(text), other.services)
	var conflict *archive.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Problems) != 1 || conflict.Problems[0].Stream != "b/n" || conflict.Problems[0].Seq != 1 {
		t.Errorf("a conflict: %v", err)
	}
	for _, s := range other.services {
		for _, k := range s.Kinds {
			firsts, err := s.Store.Firsts(t.Context(), journal.Filter{Kind: k.Name}, journal.Cursor{}, 9)
			firsts = slices.DeleteFunc(firsts, func(r journal.Record) bool { return r.Stream == mine.Stream })
			if err != nil || len(firsts) > 0 {
				t.Errorf("something was imported: %v, %v", firsts, err)
			}
		}
	}

	only := newHouse(t)
	if _, err := archive.Import(t.Context(), strings.NewReader(text), only.services[1:]); err == nil || !strings.Contains(err.Error(), `no store for the service "dice"`) {
		t.Errorf("without a store: %v", err)
	}
}

// busy is a source to which somebody else writes between two looks.
type busy struct {
	archive.Source
	meanwhile func()
}

func (b busy) Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) ([]journal.Record, error) {
	b.meanwhile()
	return b.Source.Firsts(ctx, f, c, limit)
}

func TestAnExportShowsOneMoment(t *testing.T) {
	t.Parallel()
	// Somebody records in the second service what refers to the first, then in the first: each roller's record n comes after
	// the stream's record n+3, so no file may have more of the rollers than of the streams.
	for name, looks := range map[string]int{"nobody writes": 0, "somebody does for a while": 7, "somebody does all the time": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t)
			n := 0
			for i := range h.services {
				h.services[i].Source = busy{h.services[i].Source, func() {
					if n++; n > looks {
						return
					}
					h.put("dice", h.record("stream", "a/s", n+3, `{}`))
					h.put("game", h.record("roller", "a/r", n+4, `{}`))
				}}
			}
			var out bytes.Buffer
			w, err := archive.NewWriter(&out, archive.Header{Services: []string{"dice", "game"}})
			if err != nil {
				t.Fatal(err)
			}
			counts, err := archive.Export(t.Context(), w, h.services, archive.Scope{Campaign: "a"}, func(p archive.Problem) { t.Error(p) })
			if looks > 1000 {
				if !errors.Is(err, archive.ErrNotStill) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || counts["dice"].Records != 3+looks || counts["game"].Records != 4+looks {
				t.Errorf("got %v, %v", counts, err)
			}
		})
	}
	t.Run("what grows afterwards is left out", func(t *testing.T) {
		t.Parallel()
		h := furnished(t)
		n := 0
		game := h.services[1].Source
		h.services[1].Source = busy{game, func() {
			if n++; n > 4 { // two looks at two kinds
				h.put("game", h.record("roller", "a/r", n, `{}`))
				h.put("game", h.record("note", fmt.Sprintf("a/%d", n), 1, `{}`))
			}
		}}
		text, counts, found := h.export(archive.Scope{Campaign: "a"})
		if counts["game"].Records != 4 || len(found) > 0 || n < 5 {
			t.Errorf("got %v, %q after %d looks", counts, found, n)
		}
		if found, err := verifyFile(t, text); err != nil || len(found) > 0 {
			t.Errorf("the file: %v, %q", err, found)
		}
	})
}

func TestWhatIsOwedHasToBeListed(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	if found := h.verify(); len(found) > 0 {
		t.Errorf("a sound house: %q", found)
	}
	if err := h.store("game").Settle(t.Context(), "a/r", 9); err != nil {
		t.Fatal(err)
	}
	if found := h.verify(); len(found) != 1 || !strings.Contains(found[0], "game: a/r: owes something, and is not listed as owing") {
		t.Errorf("an entry was lost: %q", found)
	}
	// Somebody settles it just then.
	h.services[1].Source = settling{h.services[1].Source, h}
	if found := h.verify(); len(found) > 0 {
		t.Errorf("settled meanwhile: %q", found)
	}
}

// settling is a source where the debt is paid after it was read.
type settling struct {
	archive.Source
	h *house
}

func (s settling) Read(ctx context.Context, stream string, after, limit int) ([]journal.Record, error) {
	recs, err := s.Source.Read(ctx, stream, after, limit)
	if stream == "a/r" && after == 0 {
		s.h.put("game", s.h.record("roller", "a/r", 5, `{"Debt":false}`))
	}
	return recs, err
}

func TestHeadsAreRebuilt(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	ctx := t.Context()
	game := h.store("game")
	rebuild := func() (archive.Heads, []string) {
		t.Helper()
		var found []string
		done, err := archive.RebuildHeads(ctx, h.services, into(&found))
		if err != nil {
			t.Fatal(err)
		}
		return done["game"], found
	}
	if n, found := rebuild(); n != (archive.Heads{Missing: 3, Made: 3}) || len(found) > 0 {
		t.Errorf("without heads: %+v, %q", n, found)
	}
	if n, found := rebuild(); n != (archive.Heads{Right: 3, Dropped: 3, Made: 3}) || len(found) > 0 {
		t.Errorf("right ones: %+v, %q", n, found)
	}
	// Those of a program that kept no request ids are right, and complete from now on.
	full, err := game.Head(ctx, "a/r", 1)
	if err != nil {
		t.Fatal(err)
	}
	if old := full.Unheard(); string(old.State) == string(full.State) || game.PutHead(ctx, old) != nil {
		t.Fatalf("a head without request ids: %+v", old)
	}
	if n, found := rebuild(); n != (archive.Heads{Right: 3, Dropped: 3, Made: 3}) || len(found) > 0 {
		t.Errorf("without request ids: %+v, %q", n, found)
	}
	if now, err := game.Head(ctx, "a/r", 1); err != nil || string(now.State) != string(full.State) {
		t.Errorf("the head is %+v, %v", now, err)
	}
	// A journal uses them.
	at, err := journal.New(game, fold[rollerState]("roller")).Load(ctx, "a/r")
	if want := (rollerState{"a/s", true, 2}); err != nil || at.State != want || at.Seq != 4 {
		t.Errorf("loaded: %+v, %v", at, err)
	}
	h.put("game", h.record("roller", "a/r", 5, `{"Rolls":3}`))
	wrong, err := game.Head(ctx, "b/n", 1)
	if err != nil {
		t.Fatal(err)
	}
	wrong.State = json.RawMessage(strings.Replace(string(wrong.State), "Würfel", "Karten", 1))
	if err := errors.Join(game.PutHead(ctx, wrong), game.PutHead(ctx, journal.Head{Stream: "b/gone", Fold: 7, Seq: 1})); err != nil {
		t.Fatal(err)
	}
	n, found := rebuild()
	if n != (archive.Heads{Right: 1, Behind: 1, Wrong: 1, Dropped: 4, Made: 3}) || len(found) != 1 ||
		!strings.Contains(found[0], "record 600 of b/n: the head is not what the records say") {
		t.Errorf("a stale and a wrong one: %+v, %q", n, found)
	}
	bad := h.record("note", "b/bad", 1, `{"Mood":1}`)
	h.put("game", bad)
	if n, found := rebuild(); n.Right != 3 || n.Missing != 1 || n.Made != 3 || len(found) != 1 || !strings.Contains(found[0], "record 1 of b/bad") {
		t.Errorf("one that cannot be folded: %+v, %q", n, found)
	}
}

func TestAWriterThatFailsIsTold(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	full := errors.New("no room")
	w, err := archive.NewWriter(failing{full}, archive.Header{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = archive.Export(t.Context(), w, h.services, archive.Scope{}, func(archive.Problem) {})
	if err == nil {
		err = w.Close()
	}
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

var _ io.Writer = failing{}
