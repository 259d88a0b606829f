package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/internal/dicestream"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
)

func diceCommand() *cobra.Command {
	c := &cobra.Command{Use: "dice", Short: "Checks dice"}
	c.AddCommand(verifyCommand())
	return c
}

func verifyCommand() *cobra.Command {
	var stream, commitment string
	var quiet bool
	c := &cobra.Command{
		Use: "verify FILE...", Short: "Recomputes faces from revealed seeds, offline", Args: cobra.MinimumNArgs(1),
		Long: "Recomputes faces from revealed seeds, offline, and prints each die. Each FILE (or - for standard input) is one of:\n" +
			"  an export of journals (wayfarer admin export), with every seed in it\n" +
			"  records as the API lists or streams them, with --stream, the revealed stream as the API shows it\n" +
			"  JSON in the form of POST /v1/dice:verify:\n" +
			`    {"seed": base64, "clientSeed": text, "commitment": base64, "draws": [{"index": 2, "dice": [{"sides": 6, "face": 4}]}]}` + "\n" +
			"It ends with status 1 at the first face or commitment that does not fit. Dice that were reported come from no stream.",
		RunE: func(cmd *cobra.Command, args []string) error {
			v := &verifier{out: cmd.OutOrStdout(), quiet: quiet}
			if stream != "" {
				raw, err := read(cmd.InOrStdin(), stream)
				if err != nil {
					return err
				}
				if v.api, err = readStream(raw); err != nil {
					return fmt.Errorf("%s: %w", stream, err)
				}
			}
			if commitment != "" {
				var err error
				if v.commitment, err = base64.StdEncoding.DecodeString(commitment); err != nil {
					return fmt.Errorf("--commitment: is not base64: %w", err)
				}
			}
			for _, name := range args {
				if err := v.file(cmd.InOrStdin(), name); err != nil {
					return errors.Join(v.verdict(), fmt.Errorf("%s: %w", name, err))
				}
			}
			return v.verdict()
		},
	}
	c.Flags().StringVar(&stream, "stream", "", "file with the revealed stream, for records of the API")
	c.Flags().StringVar(&commitment, "commitment", "", "what was published before the rolls, base64, for records of the API")
	c.Flags().BoolVar(&quiet, "quiet", false, "print no single dice")
	return c
}

func read(in io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path) //nolint:gosec // the user's own file
}

// die is one as the API and journals have it.
type die struct {
	Purpose  string `json:"purpose"`
	Sides    int    `json:"sides"`
	Face     int    `json:"face"`
	Reported bool   `json:"reported"`
	Secret   bool   `json:"secret"`
}

// seeded is a dice stream whose seed is known.
type seeded struct {
	name, client string
	seed         []byte
	revealed     bool

	rolls, faces, hidden int
	wrong                bool
}

// verifier checks rolls and keeps count of them.
type verifier struct {
	out        io.Writer
	quiet      bool
	api        *seeded
	commitment []byte
	checked    []*seeded
	reported   int
}

// file checks what one file holds, whichever kind it is.
func (v *verifier) file(stdin io.Reader, name string) error {
	in := stdin
	if name != "-" {
		f, err := openExport(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	// The first line of an export is short.
	var begin [512]byte
	n, err := io.ReadFull(in, begin[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	in = io.MultiReader(bytes.NewReader(begin[:n]), in)
	if bytes.HasPrefix(begin[:n], []byte(`{"wayfarer_journal"`)) {
		return v.export(in)
	}
	if v.api != nil {
		return v.records(in)
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	return v.draws(raw)
}

// stream begins to check a stream. What was committed to, if that is known, has to be its seed.
func (v *verifier) stream(s *seeded, commitment []byte) error {
	v.checked = append(v.checked, s)
	if len(s.seed) != dicestream.SeedSize {
		s.wrong = true
		return fmt.Errorf("seed: has %d bytes, not %d", len(s.seed), dicestream.SeedSize)
	}
	if len(commitment) > 0 && !dicestream.Verify(s.seed, commitment) {
		s.wrong = true
		return errors.New("commitment: is not the SHA-256 of the seed")
	}
	return nil
}

// roll checks the dice of one roll number. At names it for people.
func (v *verifier) roll(s *seeded, at string, index int, dice []die) error {
	rec := journal.Record{Seq: index}
	drawn := 0
	for _, d := range dice {
		rec.Dice = append(rec.Dice, journal.Die{Sides: d.Sides, Face: d.Face, Reported: d.Reported})
		if !d.Reported {
			drawn++
		}
	}
	v.reported += len(dice) - drawn
	if drawn == 0 {
		return nil
	}
	s.rolls++
	faces, err := archive.Derive(archive.Seed{Seed: s.seed, Client: s.client}, rec)
	if err != nil {
		s.wrong = true
		return fmt.Errorf("%s: %w", at, err)
	}
	for i, d := range dice {
		switch {
		case d.Reported:
			v.die(at, d, "reported")
		case d.Secret && d.Face == 0:
			s.hidden++
			v.die(at, d, "hidden")
		case d.Face != faces[i]:
			v.die(at, d, fmt.Sprintf("WRONG, the stream gives %d", faces[i]))
			s.wrong = true
			return fmt.Errorf("%s: die %d of %d sides shows %d, the stream gives %d", at, i+1, d.Sides, d.Face, faces[i])
		default:
			s.faces++
			v.die(at, d, "right")
		}
	}
	return nil
}

func (v *verifier) die(at string, d die, verdict string) {
	if v.quiet {
		return
	}
	purpose := ""
	if d.Purpose != "" {
		purpose = " for " + d.Purpose
	}
	_, _ = fmt.Fprintf(v.out, "%s: d%d shows %d%s: %s\n", at, d.Sides, d.Face, purpose, verdict)
}

// verdict prints what was checked, and fails when that is nothing.
func (v *verifier) verdict() error {
	var rolls, faces int
	wrong := false
	w := tabwriter.NewWriter(v.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "stream\tseed\trolls\tfaces\tverdict")
	for _, s := range v.checked {
		if s.rolls == 0 && !s.wrong && len(v.checked) > 1 {
			continue
		}
		state, says := "revealed", "right"
		if !s.revealed {
			state = "not revealed yet"
		}
		if s.wrong {
			wrong, says = true, "WRONG"
		}
		if s.hidden > 0 {
			says += fmt.Sprintf(", %d hidden", s.hidden)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", s.name, state, s.rolls, s.faces, says)
		rolls, faces = rolls+s.rolls, faces+s.faces
	}
	if err := w.Flush(); err != nil || wrong {
		return err
	}
	if v.api != nil && rolls == 0 {
		return fmt.Errorf("nothing was rolled with %s", v.api.name)
	}
	if v.reported > 0 {
		_, _ = fmt.Fprintf(v.out, "%d dice were reported\n", v.reported)
	}
	_, err := fmt.Fprintf(v.out, "%d faces of %d rolls are right\n", faces, rolls)
	return err
}

// draws checks the form of POST /v1/dice:verify. A misspelt name would leave dice out, so that it is refused.
func (v *verifier) draws(raw []byte) error {
	var in struct {
		Seed        []byte `json:"seed"`
		ClientSeed  string `json:"clientSeed"`
		ClientSeed2 string `json:"client_seed"` // as the API takes it too
		Commitment  []byte `json:"commitment"`
		Draws       []struct {
			Index int   `json:"index"`
			Dice  []die `json:"dice"`
		} `json:"draws"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	in.ClientSeed = cmp.Or(in.ClientSeed, in.ClientSeed2)
	s := &seeded{name: "-", client: in.ClientSeed, seed: in.Seed, revealed: true}
	if err := v.stream(s, in.Commitment); err != nil {
		return err
	}
	for i, d := range in.Draws {
		if d.Index < 1 {
			return fmt.Errorf("draws[%d]: index is %d, below 1", i, d.Index)
		}
		if err := v.roll(s, fmt.Sprintf("roll %d", d.Index), d.Index, d.Dice); err != nil {
			return err
		}
	}
	if s.rolls == 0 {
		return errors.New("draws: has no dice of the stream")
	}
	return nil
}

// readStream reads a stream as the API shows it.
func readStream(raw []byte) (*seeded, error) {
	type stream struct {
		Name       string `json:"name"`
		Seed       []byte `json:"seed"`
		ClientSeed string `json:"clientSeed"`
		Commitment []byte `json:"commitment"`
	}
	var in struct {
		stream
		Stream *stream `json:"stream"` // as gRPC answers
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	s := in.stream
	if in.Stream != nil {
		s = *in.Stream
	}
	switch {
	case s.Name == "":
		return nil, errors.New("is no stream: it has no name")
	case len(s.Seed) == 0:
		return nil, fmt.Errorf("%s has no seed: it is not revealed yet", s.Name)
	case !dicestream.Verify(s.Seed, s.Commitment):
		return nil, errors.New("commitment: is not the SHA-256 of the seed")
	}
	return &seeded{name: s.Name, seed: s.Seed, client: s.ClientSeed, revealed: true}, nil
}

// records checks records as the API lists or streams them: every object with a record in it, wherever it is. One that names
// another stream is left out, as those of a roll log do that was rotated.
func (v *verifier) records(in io.Reader) error {
	if len(v.checked) == 0 {
		if err := v.stream(v.api, v.commitment); err != nil {
			return err
		}
	}
	dec := json.NewDecoder(in)
	seen := 0
	for {
		var value any
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n, err := v.walk(value)
		if err != nil {
			return err
		}
		seen += n
	}
	if seen == 0 {
		return errors.New("holds no records")
	}
	return nil
}

func (v *verifier) walk(value any) (seen int, err error) {
	switch x := value.(type) {
	case []any:
		for _, e := range x {
			n, err := v.walk(e)
			if seen += n; err != nil {
				return seen, err
			}
		}
	case map[string]any:
		if rec, ok := x["record"].(map[string]any); ok {
			return 1, v.record(rec, x)
		}
		for _, e := range x {
			n, err := v.walk(e)
			if seen += n; err != nil {
				return seen, err
			}
		}
	}
	return seen, nil
}

func (v *verifier) record(rec, around map[string]any) error {
	raw, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	var r struct {
		Seq  int   `json:"seq"`
		Dice []die `json:"dice"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("a record: %w", err)
	}
	streams := map[string]bool{}
	named(around, streams)
	if len(streams) > 0 && !streams[v.api.name] {
		return nil
	}
	return v.roll(v.api, fmt.Sprintf("record %d", r.Seq), r.Seq, r.Dice)
}

// named collects the streams that events name.
func named(value any, into map[string]bool) {
	switch x := value.(type) {
	case []any:
		for _, e := range x {
			named(e, into)
		}
	case map[string]any:
		if s, ok := x["stream"].(string); ok && s != "" {
			into[s] = true
		}
		for key, e := range x {
			if key != "record" {
				named(e, into)
			}
		}
	}
}

// streamEvent is what matters of the events of a dice stream.
type streamEvent struct {
	Begun *struct {
		Seed []byte `json:"seed"`
	} `json:"begun"`
	ClientSeedSet *struct {
		ClientSeed string `json:"clientSeed"`
	} `json:"clientSeedSet"`
	Revealed *struct{} `json:"revealed"`
}

// export checks every face of an export, and every commitment that its events tell. The streams come first in it.
func (v *verifier) export(in io.Reader) error {
	r, err := archive.NewReader(in)
	if err != nil {
		return err
	}
	streams := map[string]*seeded{}
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, raw := range l.Events {
			if l.Kind == "stream" {
				err = v.event(streams, l.Stream, raw)
			} else {
				err = commitments(streams, raw)
			}
			if err != nil {
				return fmt.Errorf("record %d of %s: %w", l.Seq, l.Stream, err)
			}
		}
		dice := make([]die, len(l.Dice))
		drawn := false
		for i, d := range l.Dice {
			dice[i] = die(d)
			drawn = drawn || !d.Reported
		}
		s := streams[l.DiceStream]
		if drawn && s == nil {
			return fmt.Errorf("record %d of %s: draws from the stream %q, which is not in the file", l.Seq, l.Stream, l.DiceStream)
		}
		if err := v.roll(s, fmt.Sprintf("record %d of %s", l.Seq, l.Stream), l.Seq, dice); err != nil {
			return err
		}
	}
}

func (v *verifier) event(streams map[string]*seeded, name string, raw json.RawMessage) error {
	var e streamEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	s := streams[name]
	switch {
	case e.Begun != nil:
		s = &seeded{name: name, seed: e.Begun.Seed}
		streams[name] = s
		return v.stream(s, nil)
	case s == nil:
		return errors.New("the stream has not begun")
	case e.ClientSeedSet != nil:
		s.client = e.ClientSeedSet.ClientSeed
	case e.Revealed != nil:
		s.revealed = true
	}
	return nil
}

// commitments compares what an event tells of a stream's commitment with its seed.
func commitments(streams map[string]*seeded, raw json.RawMessage) error {
	if !bytes.Contains(raw, []byte(`"commitment"`)) {
		return nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	var walk func(any) error
	walk = func(value any) error {
		switch x := value.(type) {
		case []any:
			for _, e := range x {
				if err := walk(e); err != nil {
					return err
				}
			}
		case map[string]any:
			name, _ := x["stream"].(string)
			told, _ := x["commitment"].(string)
			if s := streams[name]; s != nil && told != "" {
				sum, err := base64.StdEncoding.DecodeString(told)
				if err != nil || !dicestream.Verify(s.seed, sum) {
					s.wrong = true
					return fmt.Errorf("the commitment of %s is not the SHA-256 of its seed", name)
				}
			}
			for _, e := range x {
				if err := walk(e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(value)
}
