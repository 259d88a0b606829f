package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// Version is the version of the format that is written. Others are refused.
const Version = 1

// maxLine is the longest line that is read: a record's events have at most journal.MaxEvents bytes, and escapes, dice and
// names come on top.
const maxLine = 2*journal.MaxEvents + 8<<20

// Header is the first line of a file.
type Header struct {
	// Version is that of the format.
	Version int `json:"wayfarer_journal"`
	// Made is when the file was begun, By the program that wrote it.
	Made time.Time `json:"made"`
	By   string    `json:"by"`
	// Campaign is the resource name of the only campaign in it; empty: everything of the services.
	Campaign string `json:"campaign,omitempty"`
	// Services are those whose journals are in it.
	Services []string `json:"services"`
}

// Line is a record in a file.
type Line struct {
	// Service is whose journal the record is of.
	Service        string            `json:"service"`
	Stream         string            `json:"stream"`
	Seq            int               `json:"seq"`
	Campaign       string            `json:"campaign,omitempty"`
	Kind           string            `json:"kind"`
	Parent         string            `json:"parent,omitempty"`
	RequestID      string            `json:"request_id"`
	RequestHash    string            `json:"request_hash"`
	Actor          string            `json:"actor,omitempty"`
	Principal      string            `json:"principal,omitempty"`
	Trace          string            `json:"trace,omitempty"`
	OverrideReason string            `json:"override_reason,omitempty"`
	Time           time.Time         `json:"time"`
	Fold           int               `json:"fold"`
	Events         []json.RawMessage `json:"events"`
	Dice           []journal.Die     `json:"dice,omitempty"`
	// DiceStream is the stream that the dice which were not reported were drawn from, under the number Seq. It follows from
	// the records before and is there for those who only check dice.
	DiceStream string `json:"dice_stream,omitempty"`
	Note       string `json:"note,omitempty"`
	Owing      bool   `json:"owing,omitempty"`
}

// Record returns the record in the line.
func (l Line) Record() journal.Record {
	return journal.Record{
		Stream: l.Stream, Seq: l.Seq, Campaign: l.Campaign, Kind: l.Kind, Parent: l.Parent, RequestID: l.RequestID,
		RequestHash: l.RequestHash, Actor: l.Actor, Principal: l.Principal, Trace: l.Trace, OverrideReason: l.OverrideReason, Time: l.Time.UTC(), Fold: l.Fold,
		Events: l.Events, Dice: l.Dice, Note: l.Note, Owing: l.Owing,
	}
}

func lineOf(service, diceStream string, r journal.Record) Line {
	l := Line{
		Service: service, Stream: r.Stream, Seq: r.Seq, Campaign: r.Campaign, Kind: r.Kind, Parent: r.Parent, RequestID: r.RequestID,
		RequestHash: r.RequestHash, Actor: r.Actor, Principal: r.Principal, Trace: r.Trace, OverrideReason: r.OverrideReason, Time: r.Time.UTC(), Fold: r.Fold,
		Events: r.Events, Dice: r.Dice, DiceStream: diceStream, Note: r.Note, Owing: r.Owing,
	}
	if l.Events == nil {
		l.Events = []json.RawMessage{}
	}
	return l
}

// end is the last line of a file. The sum is of all bytes before it.
type end struct {
	Records int    `json:"records"`
	Streams int    `json:"streams"`
	SHA256  string `json:"sha256"`
}

// Writer writes a file. A file is whole once Close has returned nil.
type Writer struct {
	out  *bufio.Writer
	sum  hash.Hash
	end  end
	last struct{ service, stream string }
}

// NewWriter begins a file.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version, h.Made = Version, h.Made.UTC()
	out := &Writer{out: bufio.NewWriterSize(w, 1<<16), sum: sha256.New()}
	return out, out.line(h)
}

func (w *Writer) line(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // events are kept as they are
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.sum.Write(b.Bytes())
	_, err := w.out.Write(b.Bytes())
	return err
}

// Write adds a record. Those of a stream come one after the other.
func (w *Writer) Write(l Line) error {
	if at := (struct{ service, stream string }{l.Service, l.Stream}); at != w.last {
		w.last, w.end.Streams = at, w.end.Streams+1
	}
	w.end.Records++
	return w.line(l)
}

// Close writes the last line. The writer beneath stays open.
func (w *Writer) Close() error {
	w.end.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	if err := w.line(struct {
		End end `json:"end"`
	}{w.end}); err != nil {
		return err
	}
	return w.out.Flush()
}

// DamagedError says that a file is not as it was written.
type DamagedError struct {
	// Line is where, from 1.
	Line    int
	Problem string
}

func (e *DamagedError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Reader reads a file.
type Reader struct {
	// Header is the first line.
	Header Header

	in   *bufio.Reader
	sum  hash.Hash
	at   int
	seen end
	last struct{ service, stream string }
	done bool
}

// NewReader reads the first line. It fails with a [DamagedError] when that is none of a file of this version.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{in: bufio.NewReaderSize(r, 1<<16), sum: sha256.New()}
	raw, err := in.line()
	if errors.Is(err, io.EOF) {
		return nil, in.damaged("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	var is struct { // what any version has
		Version int `json:"wayfarer_journal"`
	}
	switch err := json.Unmarshal(raw, &is); {
	case err != nil || is.Version == 0:
		return nil, in.damaged("this is no export of journals")
	case is.Version != Version:
		return nil, in.damaged("the format has version %d, this program reads %d", is.Version, Version)
	}
	if err := strict(raw, &in.Header); err != nil {
		return nil, in.damaged("is no first line: %v", err)
	}
	in.sum.Write(raw)
	return in, nil
}

func (r *Reader) damaged(format string, args ...any) error {
	return &DamagedError{Line: max(r.at, 1), Problem: fmt.Sprintf(format, args...)}
}

// line returns the next line with its end, which the last one has as well.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			r.at++
			return nil, r.damaged("is longer than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			r.at++
			return nil, r.damaged("the file is cut off within a line")
		case err != nil:
			return nil, err
		}
		r.at++
		return line, nil
	}
}

// Next returns the next record, or io.EOF once the last line has been read and fits. Everything else that is wrong with
// the file is a [DamagedError].
func (r *Reader) Next() (Line, error) {
	if r.done {
		return Line{}, io.EOF
	}
	raw, err := r.line()
	if errors.Is(err, io.EOF) {
		r.at++
		return Line{}, r.damaged("the file ends without its last line: it was cut off")
	}
	if err != nil {
		return Line{}, err
	}
	if bytes.HasPrefix(raw, []byte(`{"end"`)) {
		return Line{}, r.finish(raw)
	}
	var l Line
	if err := strict(raw, &l); err != nil {
		return Line{}, r.damaged("is no record: %v", err)
	}
	r.sum.Write(raw)
	if at := (struct{ service, stream string }{l.Service, l.Stream}); at != r.last {
		r.last, r.seen.Streams = at, r.seen.Streams+1
	}
	r.seen.Records++
	return l, nil
}

func (r *Reader) finish(raw []byte) error {
	var last struct {
		End end `json:"end"`
	}
	if err := strict(raw, &last); err != nil {
		return r.damaged("is no last line: %v", err)
	}
	r.seen.SHA256 = hex.EncodeToString(r.sum.Sum(nil))
	switch {
	case last.End.Records != r.seen.Records || last.End.Streams != r.seen.Streams:
		return r.damaged("says %d records of %d streams, the file has %d of %d", last.End.Records, last.End.Streams, r.seen.Records, r.seen.Streams)
	case last.End.SHA256 != r.seen.SHA256:
		return r.damaged("the checksum is not that of the file: something in it was changed")
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return r.damaged("more follows the last line")
	}
	r.done = true
	return io.EOF
}

// strict decodes a value that is all of raw. Fields that the format does not have are an error: nothing is read past.
func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
