package audit

import (
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wayfarer-rpg/wayfarer/chaos/rest"
	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/requestid"
)

const (
	concluded    = "PHASE_CONCLUDED"
	pauseBetween = 200 * time.Millisecond
)

// Judge compares. Its report lists what is wrong in an order that depends on the evidence alone.
func (e *Evidence) Judge() *Report {
	j := judge{Evidence: e, Report: &Report{}, logged: map[string][]rest.Object{}, byRequest: map[string][]int{}, inner: map[string][]place{}}
	for _, w := range e.Noticed {
		j.wrong(Broken, "%s", w)
	}
	j.log()
	for _, name := range slices.Sorted(maps.Keys(e.Parts)) {
		j.part(name, e.Parts[name])
	}
	for _, id := range slices.Sorted(maps.Keys(e.Told)) {
		j.told(id, e.Told[id])
	}
	j.strangers()
	j.repetitions()
	j.given()
	j.conserved()
	return j.Report
}

// place is where a record stands: in the journal of a part.
type place struct {
	part string
	rec  rest.Object
}

type judge struct {
	*Evidence
	*Report
	// logged are the records of the parts as the log has them, byRequest the records of the log by their request.
	logged    map[string][]rest.Object
	byRequest map[string][]int
	// inner are the records of the parts by their request.
	inner map[string][]place
}

// log checks the expedition's journal in itself.
func (j *judge) log() {
	if p := j.Expedition.State.Text("phase"); p != concluded {
		j.wrong(Broken, "the expedition is %s", p)
	}
	if n := j.Expedition.State.Number("seq"); n != len(j.Expedition.Journal) {
		j.wrong(Lost, "the log has %d of %d records", len(j.Expedition.Journal), n)
	}
	for i, rec := range j.Expedition.Journal {
		j.Records++
		if rec.Number("record.seq") != i+1 {
			j.wrong(Broken, "record %d of the log stands in place %d", rec.Number("record.seq"), i+1)
		}
		id := rec.Text("record.requestId")
		j.byRequest[id] = append(j.byRequest[id], i)
		for _, e := range rec.List("events") {
			if name := e.Text("logged.aggregate"); name != "" {
				j.logged[name] = append(j.logged[name], e.Object("logged"))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.byRequest)) {
		if n := len(j.byRequest[id]); n > 1 {
			j.wrong(Doubled, "%s is in the log %d times", id, n)
		}
	}
	for _, name := range j.Listed {
		if _, ok := j.Parts[name]; !ok {
			j.wrong(Broken, "%s belongs to the expedition, and its log does not know of it", name)
		}
	}
}

// part checks a journey, run or delve: whole, in order, in the log as it is, each request once, every face its stream's.
func (j *judge) part(name string, p Aggregate) {
	if n := p.State.Number("seq"); n != len(p.Journal) {
		j.wrong(Lost, "%s has %d of %d records", name, len(p.Journal), n)
	}
	logged := j.logged[name]
	if len(p.Journal) != len(logged) {
		j.wrong(Broken, "the log has %d of %d records of %s", len(logged), len(p.Journal), name)
	}
	for i, rec := range p.Journal {
		j.Records++
		if rec.Number("record.seq") != i+1 {
			j.wrong(Broken, "%s: record %d stands in place %d", name, rec.Number("record.seq"), i+1)
		}
		if i < len(logged) && !reflect.DeepEqual(logged[i].Get("record"), rec.Get("record")) {
			j.wrong(Broken, "%s: record %d is\n%v\nand in the log\n%v", name, i+1, rec["record"], logged[i]["record"])
		}
		id := rec.Text("record.requestId")
		j.inner[id] = append(j.inner[id], place{name, rec})
	}
	j.faces(name, p)
}

func (j *judge) faces(name string, p Aggregate) {
	seed, _ := base64.StdEncoding.DecodeString(p.Stream.Text("seed"))
	commitment, _ := base64.StdEncoding.DecodeString(p.Stream.Text("commitment"))
	if !dicestream.Verify(seed, commitment) {
		j.wrong(Broken, "the seed of %s is not revealed, or not the one committed to: %v", name, p.Stream)
		return
	}
	for i, rec := range p.Journal {
		var sides, shown []int
		for _, d := range rec.List("record.dice") {
			sides, shown = append(sides, d.Number("sides")), append(shown, d.Number("face"))
		}
		want, err := dicestream.Faces(seed, p.Stream.Text("clientSeed"), uint64(i+1), sides...) //nolint:gosec // a place in a list
		if err != nil {
			j.wrong(Broken, "%s: record %d: %v", name, i+1, err)
			continue
		}
		if !slices.Equal(shown, want) {
			j.wrong(Rerolled, "%s: record %d shows %v, its stream gives %v", name, i+1, shown, want)
		}
		j.Faces += len(shown)
	}
}

// derived is the request_id under which a command is given on to the service that owns what it is about.
func (j *judge) derived(id string) string { return requestid.Derive(j.Name, id) }

// givingUp are the steps of giving up, each a request of its own to the service that owns what it ends.
var givingUp = []string{"run", "fight", "delve", "journey"}

// done tells whether a request left anything in the journals. Giving up may have done so before the log tells of it.
func (j *judge) done(id string, c *Told) bool {
	if len(j.byRequest[id])+len(j.inner[j.derived(id)]) > 0 {
		return true
	}
	return strings.HasSuffix(c.Path, ":abandon") && slices.ContainsFunc(givingUp, func(step string) bool {
		return len(j.inner[requestid.Derive(j.derived(id), step)]) > 0
	})
}

// told compares one request with the journals.
func (j *judge) told(id string, c *Told) {
	switch {
	case c.Answer != nil:
		j.Acknowledged++
		j.acknowledged(id, c)
	case c.Doubt():
		if j.Doubt++; c.Refused == "" {
			j.Unanswered++
		}
	default:
		j.Refused++
		if j.done(id, c) {
			j.wrong(Broken, "%s was refused as %s and is in the journals", id, c.Refused)
		}
	}
}

// acknowledged compares one answer with the journals.
func (j *judge) acknowledged(id string, c *Told) {
	seq := c.Answer.Number("record.seq")
	if seq < 1 || seq > len(j.Expedition.Journal) {
		j.wrong(Lost, "%s was answered as record %d of %d", id, seq, len(j.Expedition.Journal))
		return
	}
	rec := j.Expedition.Journal[seq-1]
	if !reflect.DeepEqual(rec.Get("record"), c.Answer.Get("record")) {
		j.wrong(Lost, "%s was answered as\n%v\nand the log says\n%v", id, c.Answer["record"], rec["record"])
	}
	name, result := resultOf(c.Answer)
	if name == "" { // it is done to the expedition itself
		if rec.Text("record.requestId") != id {
			j.wrong(Lost, "%s was acknowledged, and record %d is that of %s", id, seq, rec.Text("record.requestId"))
		}
		return
	}
	asked := j.inner[j.derived(id)]
	if len(asked) == 0 {
		j.wrong(Lost, "%s was acknowledged, and is in no journal", id)
		return
	}
	// What begins with a start is told as it stood once everything was lent: by a later record than the one that asked for it.
	told, found := result.Object("record"), asked
	if strings.HasPrefix(name, "start") {
		found = j.inner[told.Text("requestId")]
	} else if got := told.Text("requestId"); got != j.derived(id) {
		j.wrong(Broken, "%s was carried out as %s", id, got)
	}
	if len(found) == 0 || found[0].part != asked[0].part {
		j.wrong(Lost, "%s was answered with %s, which is not in the journal of %s", id, told.Text("requestId"), asked[0].part)
		return
	}
	kept := found[0].rec
	if !reflect.DeepEqual(kept.Get("record.dice"), told.Get("dice")) || kept.Number("record.seq") != told.Number("seq") {
		j.wrong(Rerolled, "%s was answered with\n%v\nand the journal says\n%v", id, told, kept["record"])
	}
	// An answer tells all that followed, such as the end of what was about to end; a record tells its own part.
	if n := len(result.List("events")); n < len(kept.List("events")) {
		j.wrong(Broken, "%s was answered with\n%v\nand the journal has\n%v", id, result["events"], kept["events"])
	}
}

// resultOf returns what the owning service answered; "" for what is done to the expedition itself.
func resultOf(answer rest.Object) (name string, result rest.Object) {
	for name := range answer {
		if name != "record" && name != "expedition" && answer.Object(name) != nil {
			return name, answer.Object(name)
		}
	}
	return "", nil
}

// byItself are the events that begin the records which no request asks for: a start or an end goes on by itself.
var byItself = map[string]bool{
	"started": true, "undoing": true, "undone": true, "ended": true, "vitalsReturned": true, "joined": true, "joinRefused": true,
	"seatGivenBack": true, "settled": true,
}

// strangers finds effects that nobody asked for, and requests that had their effect twice.
func (j *judge) strangers() {
	asked := map[string]bool{}
	for id, c := range j.Told {
		asked[j.derived(id)] = true
		if strings.HasSuffix(c.Path, ":abandon") {
			for _, step := range givingUp {
				asked[requestid.Derive(j.derived(id), step)] = true
			}
		}
	}
	ours := map[string]bool{}
	for _, rec := range j.Expedition.Journal {
		seq := rec.Number("record.seq")
		for _, step := range []string{"intend", "refused", "catch-up", "clock", "abandon-run", "leave_delve", "end_combat", "stand-in"} {
			ours[requestid.Derive(j.Name, fmt.Sprintf("%s/%d", step, seq))] = true
		}
		for _, e := range rec.List("events") {
			if c := e.Object("clockIntended"); c != nil {
				asked[requestid.Derive(j.Name, fmt.Sprintf("clock/%d/%d", c.Number("session"), c.Number("minutes")))] = true
			}
		}
	}
	for i, rec := range j.Expedition.Journal {
		id := rec.Text("record.requestId")
		if i > 0 && j.Told[id] == nil && !ours[id] {
			j.wrong(Broken, "nobody sent %s, which is record %d of the log", id, i+1)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.inner)) {
		found := j.inner[id]
		if len(found) > 1 {
			j.wrong(Doubled, "%s is in the journals %d times, first in %s", id, len(found), found[0].part)
		}
		if asked[id] {
			continue
		}
		for _, p := range found {
			if first := kindOf(p.rec); !byItself[first] {
				j.wrong(Broken, "nobody asked for %s, record %d of %s", first, p.rec.Number("record.seq"), p.part)
			}
		}
	}
}

// kindOf is the name of a record's first event.
func kindOf(rec rest.Object) string {
	for _, e := range rec.List("events") {
		for name := range e {
			return name
		}
	}
	return "nothing"
}

// repetitions compares the answers long after with the first ones.
func (j *judge) repetitions() {
	for _, id := range slices.Sorted(maps.Keys(j.Repeated)) {
		c, a := j.Told[id], j.Repeated[id]
		switch {
		case c.Answer != nil && (!a.OK() || !reflect.DeepEqual(a.Body, c.Answer)):
			j.wrong(Lost, "%s was answered\n%v\nand is now\n%v", id, c.Answer, a)
		case c.Answer == nil && !a.OK() && len(j.byRequest[id]) > 0:
			j.wrong(Lost, "%s is in the log, and is refused now: %v", id, a)
		case c.Answer == nil && a.OK() && !j.done(id, c):
			j.wrong(Broken, "%s is in no journal, and is answered now: %v", id, a)
		}
	}
	for _, name := range j.Grown {
		j.wrong(Doubled, "%s grew when requests were repeated", name)
	}
}

// given checks that nothing is lent any more.
func (j *judge) given() {
	if l := j.Company.State.Get("lease"); l != nil {
		j.wrong(Broken, "the company is still lent: %v", l)
	}
	for _, name := range slices.Sorted(maps.Keys(j.Characters)) {
		if lent := j.Characters[name].State.List("leases"); len(lent) > 0 {
			j.wrong(Broken, "%s is still lent: %v", name, lent)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Parts)) {
		p := j.Parts[name].State
		over := map[string]bool{"PHASE_ENDED": true, "PHASE_ABANDONED": true, "PHASE_UNDONE": true}[p.Text("phase")] || p.True("settled")
		if !over {
			j.wrong(Broken, "%s is left open: %s", name, p.Text("phase"))
		}
	}
}
