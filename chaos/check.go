package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/rules/digger"
)

// shipped is the first shipped dungeon, as REST takes it.
func shipped() object {
	var file struct {
		Dungeons []object `json:"dungeons"`
	}
	if err := json.Unmarshal(digger.ShippedDungeonsDocument(), &file); err != nil {
		panic(err) // shipped with the program
	}
	return file.Dungeons[0]
}

// report sums up what came of a table, or of all.
type report struct {
	acknowledged, refused, doubt, duplicates, kills, cuts int
	records, faces                                        int
	lost, doubled, rerolled, broken                       int
}

func (r *report) add(o report) {
	r.acknowledged += o.acknowledged
	r.refused += o.refused
	r.doubt += o.doubt
	r.duplicates += o.duplicates
	r.records += o.records
	r.faces += o.faces
	r.lost += o.lost
	r.doubled += o.doubled
	r.rerolled += o.rerolled
	r.broken += o.broken
}

func (r report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range []struct {
		name string
		n    int
	}{
		{"commands acknowledged", r.acknowledged}, {"refused by the rules", r.refused}, {"left in doubt", r.doubt},
		{"kills", r.kills}, {"cuts and delays", r.cuts}, {"duplicates sent", r.duplicates},
		{"records checked", r.records}, {"faces recomputed", r.faces},
		{"lost", r.lost}, {"doubled", r.doubled}, {"rolled again", r.rerolled}, {"otherwise wrong", r.broken},
	} {
		fmt.Fprintf(w, "%s\t%d\t\n", row.name, row.n)
	}
	_ = w.Flush() // to a terminal or a file that is gone: nobody is there to tell
}

// steady calls until an answer comes that is one.
func (t *table) steady(ctx context.Context, user, path string, body object) (answer, error) {
	for {
		a := t.client.call(ctx, t.tokens[user], path, body)
		if !a.doubtful() && a.reason != "STREAM_BUSY" {
			return a, nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return a, fmt.Errorf("%s does not come to rest: %v", path, a)
		}
	}
}

func (t *table) read(ctx context.Context, name string) (object, error) {
	a, err := t.steady(ctx, "gm", name, nil)
	if err == nil && !a.ok() {
		err = fmt.Errorf("read %s: %v", name, a)
	}
	return a.body, err
}

// check ends the expedition and compares its journals with what the clients were told.
func (t *table) check(ctx context.Context) (report, error) {
	r := report{duplicates: t.duplicates}
	wrong := func(count *int, format string, args ...any) {
		*count++
		fmt.Fprintf(os.Stderr, "table %d: %s\n", t.number, fmt.Sprintf(format, args...))
	}
	for _, w := range t.wrong {
		wrong(&r.broken, "%s", w)
	}
	// It is resumable: it can be ended, and everything is given back.
	if a, err := t.steady(ctx, "gm", t.expedition+":abandon", object{"requestId": "the-end"}); err != nil || !a.ok() {
		return r, errors.Join(fmt.Errorf("the expedition cannot be ended: %v", a), err)
	}
	ex, err := t.read(ctx, t.expedition)
	if err != nil {
		return r, err
	}
	log, err := t.log(ctx, t.expedition, ex.number("seq"))
	if err != nil {
		return r, err
	}
	if ex.text("phase") != "PHASE_CONCLUDED" {
		wrong(&r.broken, "the expedition is %s", ex.text("phase"))
	}

	// What the log says: its records by request, the logged records of the aggregates by their place.
	byRequest, inner := map[string][]object{}, map[string][]object{}
	for i, rec := range log {
		if rec.number("record.seq") != i+1 {
			wrong(&r.broken, "record %d stands in place %d", rec.number("record.seq"), i+1)
		}
		id := rec.text("record.requestId")
		byRequest[id] = append(byRequest[id], rec)
		for _, e := range rec.list("events") {
			if l, ok := e["logged"].(map[string]any); ok {
				name := object(l).text("aggregate")
				inner[name] = append(inner[name], object(l))
			}
		}
	}
	r.records += len(log)

	for id, c := range t.calls {
		recs := byRequest[id]
		switch {
		case c.answer != nil:
			r.acknowledged++
			t.acknowledged(&r, wrong, id, c, log, inner)
		case c.doubt:
			r.doubt++
		default:
			r.refused++
			if len(recs) > 0 {
				wrong(&r.broken, "%s was refused as %s and is in the log", id, c.refused)
			}
		}
		if len(recs) > 1 {
			wrong(&r.doubled, "%s is in the log %d times", id, len(recs))
		}
	}
	for id := range byRequest {
		if strings.HasPrefix(id, "gm-") || strings.HasPrefix(id, "ada-") || strings.HasPrefix(id, "bram-") {
			if t.calls[id] == nil {
				wrong(&r.broken, "nobody sent %s, which is in the log", id)
			}
		}
	}
	for name, logged := range inner {
		if err := t.aggregate(ctx, &r, wrong, name, logged); err != nil {
			return r, err
		}
	}
	// Repetitions, long after, get the first answer.
	n := 0
	for id, c := range t.calls {
		if c.answer == nil {
			continue
		}
		if n++; n > 25 {
			break
		}
		a, err := t.steady(ctx, c.user, t.expedition+":execute", c.body)
		if err != nil {
			return r, err
		}
		if !a.ok() || !reflect.DeepEqual(a.body, c.answer) {
			wrong(&r.lost, "%s was answered\n%v\nand is now\n%v", id, c.answer, a)
		}
	}
	return r, t.given(ctx, &r, wrong)
}

// acknowledged compares one answer with the log.
func (t *table) acknowledged(r *report, wrong func(*int, string, ...any), id string, c *told, log []object, inner map[string][]object) {
	seq := c.answer.number("record.seq")
	if seq < 1 || seq > len(log) {
		wrong(&r.lost, "%s was answered as record %d of %d", id, seq, len(log))
		return
	}
	var result object
	for name, v := range c.answer {
		if m, ok := v.(map[string]any); ok && name != "record" && name != "expedition" {
			result = m
		}
	}
	request := result.text("record.requestId")
	found := 0
	for _, records := range inner {
		for _, l := range records {
			if l.text("record.requestId") != request {
				continue
			}
			found++
			if !reflect.DeepEqual(l.get("record.dice"), result.get("record.dice")) || l.number("record.seq") != result.number("record.seq") {
				wrong(&r.rerolled, "%s was answered with\n%v\nand the journal says\n%v", id, result["record"], l["record"])
			}
		}
	}
	switch {
	case found == 0:
		wrong(&r.lost, "%s was acknowledged, and is in no journal", id)
	case found > 1:
		wrong(&r.doubled, "%s is in the journals %d times", id, found)
	}
}

// aggregate checks a journey, run or delve: whole, in order, each request once, every face its stream's, nothing out of
// nothing.
func (t *table) aggregate(ctx context.Context, r *report, wrong func(*int, string, ...any), name string, logged []object) error {
	at, err := t.read(ctx, name)
	if err != nil {
		return err
	}
	journal, err := t.log(ctx, name, at.number("seq"))
	if err != nil {
		return err
	}
	if len(journal) != len(logged) {
		wrong(&r.broken, "the log has %d of %d records of %s", len(logged), len(journal), name)
	}
	stream, err := t.read(ctx, at.text("stream"))
	if err != nil {
		return err
	}
	seed, _ := base64.StdEncoding.DecodeString(stream.text("seed"))
	commitment, _ := base64.StdEncoding.DecodeString(stream.text("commitment"))
	if !dicestream.Verify(seed, commitment) {
		wrong(&r.broken, "the seed of %s is not revealed, or not the one committed to: %v", name, stream)
		return nil
	}
	seen, played := map[string]bool{}, map[string]bool{}
	for i, rec := range journal {
		r.records++
		if rec.number("record.seq") != i+1 {
			wrong(&r.broken, "%s: record %d stands in place %d", name, rec.number("record.seq"), i+1)
		}
		if i < len(logged) && !reflect.DeepEqual(logged[i]["record"], rec["record"]) {
			wrong(&r.broken, "%s: record %d is\n%v\nand in the log\n%v", name, i+1, rec["record"], logged[i]["record"])
		}
		if id := rec.text("record.requestId"); seen[id] {
			wrong(&r.doubled, "%s: %s is there twice", name, id)
		} else {
			seen[id] = true
		}
		var sides, shown []int
		for _, d := range rec.list("record.dice") {
			sides, shown = append(sides, d.number("sides")), append(shown, d.number("face"))
		}
		want, err := dicestream.Faces(seed, stream.text("clientSeed"), uint64(i+1), sides...) //nolint:gosec // a place in a list
		if err != nil {
			return err
		}
		if !slices.Equal(shown, want) {
			wrong(&r.rerolled, "%s: record %d shows %v, its stream gives %v", name, i+1, shown, want)
		}
		r.faces += len(shown)
		for _, e := range rec.list("events") {
			if drawn, ok := e["challengeDrawn"].(map[string]any); ok {
				d := object(drawn)
				if d["reshuffled"] == true {
					clear(played)
				}
				if card := d.text("card.id"); played[card] {
					wrong(&r.broken, "%s: card %s is drawn twice", name, card)
				} else {
					played[card] = true
				}
			}
			if acted, ok := e["memberActed"].(map[string]any); ok && object(acted).number("usesLeft") < 0 {
				wrong(&r.broken, "%s: a tool has %d uses left", name, object(acted).number("usesLeft"))
			}
		}
	}
	return nil
}

// log reads a journal up to a record, whatever still ails.
func (t *table) log(ctx context.Context, name string, through int) ([]object, error) {
	for {
		recs, err := t.client.watch(ctx, t.tokens["gm"], name, through)
		if err == nil {
			return recs, nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return nil, err
		}
	}
}

// given checks that nothing is lent any more.
func (t *table) given(ctx context.Context, r *report, wrong func(*int, string, ...any)) error {
	company, err := t.read(ctx, t.campaign+"/companies/walkers")
	if err != nil {
		return err
	}
	if company["lease"] != nil {
		wrong(&r.broken, "the company is still lent: %v", company["lease"])
	}
	for _, u := range users[1:] {
		c, err := t.read(ctx, t.character(u))
		if err != nil {
			return err
		}
		if lent := c.list("leases"); len(lent) > 0 {
			wrong(&r.broken, "%s is still lent: %v", u, lent)
		}
	}
	return nil
}
