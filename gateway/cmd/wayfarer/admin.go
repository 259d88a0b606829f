package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/wayfarer-rpg/wayfarer/internal/config"
	"github.com/wayfarer-rpg/wayfarer/internal/dirlock"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/archive"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/sqlite"
	"github.com/wayfarer-rpg/wayfarer/services/dice"
	"github.com/wayfarer-rpg/wayfarer/services/dungeon"
	"github.com/wayfarer-rpg/wayfarer/services/party"
	"github.com/wayfarer-rpg/wayfarer/services/travel"
	"github.com/wayfarer-rpg/wayfarer/workflows/expedition"
)

// journals lists what every service keeps. Dice come first: the faces of all others are checked against its streams.
func journals() []archive.Service {
	return []archive.Service{
		{Name: "dice", Kinds: dice.Kinds()},
		{Name: "party", Kinds: party.Kinds()},
		{Name: "dungeon", Kinds: dungeon.Kinds()},
		{Name: "travel", Kinds: travel.Kinds()},
		{Name: "expedition", Kinds: expedition.Kinds()},
	}
}

// stores are the environment of the admin commands: that of the services.
type stores struct {
	Store  config.Store
	Prefix string `env:"WAYFARER_MONGODB_PREFIX" envDefault:"wayfarer"`
}

// admin is what the admin commands have in common.
type admin struct {
	getenv   func(string) string
	services []string
	database map[string]string
}

func adminCommand() *cobra.Command { return adminCommandIn(os.Getenv) }

// adminCommandIn is adminCommand with its environment given.
func adminCommandIn(getenv func(string) string) *cobra.Command {
	a := &admin{getenv: getenv}
	c := &cobra.Command{
		Use: "admin", Short: "Exports, imports and verifies journals: the operator's tools, on the stores themselves",
		Long: "The operator's tools, on the stores themselves. Which stores is said as to the services: STORE, MONGODB_URI, WAYFARER_MONGODB_PREFIX, WAYFARER_DATA_DIR.",
	}
	c.PersistentFlags().StringSliceVar(&a.services, "service", nil, "only these services (default: all)")
	c.PersistentFlags().StringToStringVar(&a.database, "database", nil, "MongoDB database of a service that has one of its own, as service=name")
	c.AddCommand(a.export(), a.imports(), a.verify(), a.rebuild())
	return c
}

// selected are the services that the flags name.
func (a *admin) selected() ([]archive.Service, error) {
	all := journals()
	for _, name := range a.services {
		if !slices.ContainsFunc(all, func(s archive.Service) bool { return s.Name == name }) {
			return nil, fmt.Errorf("--service: there is no service %q", name)
		}
	}
	if len(a.services) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(s archive.Service) bool { return !slices.Contains(a.services, s.Name) }), nil
}

// open gives the services their stores. What has to be there already is not made. The directory of SQLite files is locked if
// it is to be written to. Close in any case.
func (a *admin) open(ctx context.Context, services []archive.Service, mayMake, lock bool) (close func() error, err error) {
	var closers []func() error
	close = func() error {
		var errs []error
		for _, c := range slices.Backward(closers) {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}
	s, err := config.Load[stores](a.getenv)
	if err != nil {
		return close, err
	}
	mongodb := s.Store.Kind == config.MongoDB
	if !mongodb && mayMake {
		if err := os.MkdirAll(s.Store.DataDir, 0o700); err != nil {
			return close, fmt.Errorf("WAYFARER_DATA_DIR: %w", err)
		}
	}
	if !mongodb && lock {
		unlock, err := dirlock.Lock(ctx, s.Store.DataDir)
		if err != nil {
			return close, err
		}
		closers = append(closers, unlock)
	}
	for i := range services {
		var store journal.Store
		if mongodb {
			database := a.database[services[i].Name]
			if database == "" {
				database = s.Prefix + "_" + services[i].Name
			}
			store, err = mongo.Open(ctx, string(s.Store.MongoURI), database)
		} else {
			path := dbFile(s, services[i].Name)
			if _, missing := os.Stat(path); missing != nil && !mayMake {
				return close, fmt.Errorf("WAYFARER_DATA_DIR: %w", missing)
			}
			store, err = sqlite.Open(ctx, path)
		}
		if err != nil {
			return close, err
		}
		closers = append(closers, store.Close)
		services[i].Store, services[i].Source = store, store
	}
	return close, nil
}

func dbFile(s stores, service string) string { return filepath.Join(s.Store.DataDir, service+".db") }

// freeze gives the services something to read from: one moment of SQLite's files, whoever writes to them meanwhile, else the
// stores themselves.
func (a *admin) freeze(ctx context.Context, services []archive.Service) (frozen bool, close func() error, err error) {
	s, err := config.Load[stores](a.getenv)
	if err != nil {
		return false, func() error { return nil }, err
	}
	if s.Store.Kind == config.MongoDB {
		close, err := a.open(ctx, services, false, false)
		return false, close, err
	}
	paths := make([]string, len(services))
	for i, svc := range services {
		paths[i] = dbFile(s, svc.Name)
	}
	snaps, err := sqlite.Freeze(ctx, paths...)
	for i, snap := range snaps {
		services[i].Source = snap
	}
	return true, func() error {
		var errs []error
		for _, snap := range snaps {
			errs = append(errs, snap.Close())
		}
		return errors.Join(errs...)
	}, err
}

// problems prints what is reported, up to a number, and counts all of it.
type problems struct {
	out io.Writer
	n   int
}

const maxProblems = 100

func (p *problems) report(x archive.Problem) {
	if p.n++; p.n <= maxProblems {
		_, _ = fmt.Fprintln(p.out, "problem:", x)
	}
}

func (p *problems) err() error {
	if p.n == 0 {
		return nil
	}
	return fmt.Errorf("%d problems", p.n)
}

func (a *admin) export() *cobra.Command {
	var campaign, out string
	c := &cobra.Command{
		Use: "export", Short: "Writes journals to a file, also while they are written to", Args: cobra.NoArgs,
		Long: "Writes the journals of all services, or of one campaign, to a file, all as of one moment, also while they are written to.\n" +
			"The file holds seeds and secrets and is made for its owner alone (mode 0600). A name that ends in .gz is compressed.\n" +
			"What is not sound about the journals is told and exported nevertheless, with status 1.",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			name, err := campaignName(campaign)
			if err != nil {
				return err
			}
			services, err := a.selected()
			if err != nil {
				return err
			}
			frozen, end, err := a.freeze(cmd.Context(), services)
			defer func() { err = errors.Join(err, end()) }()
			if err != nil {
				return err
			}
			p := &problems{out: cmd.ErrOrStderr()}
			scope := archive.Scope{Campaign: name, Frozen: frozen}
			var counts map[string]archive.Count
			err = create(out, cmd.OutOrStdout(), func(w io.Writer) error {
				h := archive.Header{Made: time.Now(), By: "wayfarer " + version, Campaign: name}
				for _, s := range services {
					h.Services = append(h.Services, s.Name)
				}
				file, err := archive.NewWriter(w, h)
				if err != nil {
					return err
				}
				if counts, err = archive.Export(cmd.Context(), file, services, scope, p.report); err != nil {
					return err
				}
				if total(counts).Records == 0 {
					if name != "" {
						return fmt.Errorf("there is no campaign %s", name)
					}
					return errors.New("the journals are empty: are STORE, MONGODB_URI and WAYFARER_DATA_DIR those of the services?")
				}
				return file.Close()
			})
			if err != nil {
				return err
			}
			return errors.Join(table(cmd.ErrOrStderr(), counts), p.err())
		},
	}
	c.Flags().StringVar(&campaign, "campaign", "", "only this campaign, by id or name")
	c.Flags().StringVar(&out, "out", "-", "the file, which must not exist; - for standard output")
	return c
}

// campaignName takes an id or a resource name.
func campaignName(s string) (string, error) {
	id := strings.TrimPrefix(s, "campaigns/")
	switch {
	case s == "":
		return "", nil
	case id == "" || strings.Contains(id, "/"):
		return "", fmt.Errorf("--campaign: %q names no campaign", s)
	}
	return "campaigns/" + id, nil
}

// create writes a file that is whole or not there: it has another name until it is on the disk.
func create(path string, stdout io.Writer, write func(io.Writer) error) (err error) {
	if path == "-" {
		return write(stdout)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists", path)
	}
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the user's own path
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := f.Chmod(0o600); err != nil { // what was left there may have had another
		return err
	}
	var w io.Writer = f
	var zip *gzip.Writer
	if strings.HasSuffix(path, ".gz") {
		zip = gzip.NewWriter(f)
		w = zip
	}
	if err := write(w); err != nil {
		return err
	}
	if zip != nil {
		if err := zip.Close(); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	// Unlike a renaming, a link replaces nothing; but not every file system has links.
	switch err := os.Link(f.Name(), path); {
	case errors.Is(err, os.ErrExist):
		return err
	case err != nil:
		return errors.Join(os.Rename(f.Name(), path), f.Close())
	}
	return errors.Join(os.Remove(f.Name()), f.Close())
}

// reading is an export that may be read several times; a compressed one is unpacked beforehand into a file without a name.
type reading struct{ *os.File }

func openExport(path string) (_ reading, err error) {
	f, err := os.Open(path) //nolint:gosec // the user's own file
	if err != nil {
		return reading{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	var magic [2]byte
	n, err := f.ReadAt(magic[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return reading{}, err
	}
	if n < len(magic) || magic != [2]byte{0x1f, 0x8b} {
		return reading{f}, nil
	}
	zip, err := gzip.NewReader(f)
	if err != nil {
		return reading{}, fmt.Errorf("%s: %w", path, err)
	}
	plain, err := os.CreateTemp("", "wayfarer-import-") // mode 0600
	if err != nil {
		return reading{}, err
	}
	if _, err = io.Copy(plain, zip); err != nil { //nolint:gosec // the operator's own file
		return reading{}, errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(plain.Name()), plain.Close())
	}
	_, err = plain.Seek(0, io.SeekStart)
	return reading{plain}, errors.Join(err, os.Remove(plain.Name()), f.Close())
}

func (a *admin) imports() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Adds the journals of an exported file to the stores", Args: cobra.ExactArgs(1),
		Long: "Adds the journals of an exported file to the stores. The file is verified first; what is not sound is refused.\n" +
			"Streams that are there already have to be those of the file, at least as far as both go: else nothing is imported.\n" +
			"An import that was broken off may be repeated. A data directory that is served from is refused; with MongoDB stop the programs first.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			services, err := a.selected()
			if err != nil {
				return err
			}
			f, err := openExport(args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			begin, err := archive.NewReader(f)
			if err != nil {
				return fmt.Errorf("%s: %w: nothing was imported", args[0], err)
			}
			h := begin.Header
			for _, name := range h.Services {
				if !slices.ContainsFunc(services, func(s archive.Service) bool { return s.Name == name }) {
					return fmt.Errorf("%s: holds journals of %s, which are not among the services: nothing was imported", args[0], name)
				}
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			p := &problems{out: cmd.ErrOrStderr()}
			_, _, err = archive.VerifyFile(f, services, p.report)
			if err = errors.Join(err, p.err()); err != nil {
				return fmt.Errorf("%s: %w: nothing was imported", args[0], err)
			}
			services = slices.DeleteFunc(services, func(s archive.Service) bool { return !slices.Contains(h.Services, s.Name) })
			end, err := a.open(cmd.Context(), services, true, true)
			defer func() { err = errors.Join(err, end()) }()
			if err != nil {
				return err
			}
			done, err := archive.Import(cmd.Context(), f, services)
			var conflict *archive.ConflictError
			if errors.As(err, &conflict) {
				for _, x := range conflict.Problems {
					p.report(x)
				}
				return fmt.Errorf("%s: %d streams are there already and differ: nothing was imported", args[0], len(conflict.Problems))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			out := columns(cmd.OutOrStdout(), "service", "new records", "known records")
			for _, name := range slices.Sorted(maps.Keys(done)) {
				_, _ = fmt.Fprintf(out, "%s\t%d\t%d\t\n", name, done[name].New, done[name].Known)
			}
			return out.Flush()
		},
	}
}

func (a *admin) verify() *cobra.Command {
	var campaign string
	c := &cobra.Command{
		Use: "verify [FILE]", Short: "Walks the journals of the stores, or of an exported file, and tells what is not sound", Args: cobra.MaximumNArgs(1),
		Long: "Walks the journals of the stores, or of an exported file, and tells what is not sound: gaps, records that cannot be read,\n" +
			"request ids used twice, faces that are not those of their stream, what is owed and not listed. It changes nothing and may\n" +
			"run beside the programs. It ends with status 1 when anything is wrong.",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			services, err := a.selected()
			if err != nil {
				return err
			}
			p := &problems{out: cmd.OutOrStdout()}
			var counts map[string]archive.Count
			if len(args) == 1 {
				f, err := openExport(args[0])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }() // it was only read
				if _, counts, err = archive.VerifyFile(f, services, p.report); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return errors.Join(table(cmd.OutOrStdout(), counts), p.err())
			}
			name, err := campaignName(campaign)
			if err != nil {
				return err
			}
			frozen, end, err := a.freeze(cmd.Context(), services)
			defer func() { err = errors.Join(err, end()) }()
			if err != nil {
				return err
			}
			if counts, err = archive.Verify(cmd.Context(), services, archive.Scope{Campaign: name, Frozen: frozen}, p.report); err != nil {
				return err
			}
			return errors.Join(table(cmd.OutOrStdout(), counts), p.err())
		},
	}
	c.Flags().StringVar(&campaign, "campaign", "", "only this campaign of the stores, by id or name")
	return c
}

func (a *admin) rebuild() *cobra.Command {
	return &cobra.Command{
		Use: "rebuild-heads", Short: "Drops the cached folds and makes them anew from the records", Args: cobra.NoArgs,
		Long: "Drops the cached folds and makes them anew from the records. Nothing is lost by it, and programs may be at work meanwhile.\n" +
			"It ends with status 1 when a fold was another one than that of the records, or a stream cannot be folded.",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			services, err := a.selected()
			if err != nil {
				return err
			}
			end, err := a.open(cmd.Context(), services, false, false)
			defer func() { err = errors.Join(err, end()) }()
			if err != nil {
				return err
			}
			p := &problems{out: cmd.OutOrStdout()}
			done, err := archive.RebuildHeads(cmd.Context(), services, p.report)
			if err != nil {
				return err
			}
			out := columns(cmd.OutOrStdout(), "service", "right", "behind", "missing", "wrong", "dropped", "made")
			for _, s := range services {
				n := done[s.Name]
				_, _ = fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", s.Name, n.Right, n.Behind, n.Missing, n.Wrong, n.Dropped, n.Made)
			}
			return errors.Join(out.Flush(), p.err())
		},
	}
}

func columns(w io.Writer, names ...string) *tabwriter.Writer {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, strings.Join(names, "\t")+"\t")
	return out
}

func total(counts map[string]archive.Count) (n archive.Count) {
	for _, c := range counts {
		n.Streams, n.Records, n.Drawn, n.Reported = n.Streams+c.Streams, n.Records+c.Records, n.Drawn+c.Drawn, n.Reported+c.Reported
	}
	return n
}

// table prints what was walked.
func table(w io.Writer, counts map[string]archive.Count) error {
	out := columns(w, "service", "streams", "records", "faces derived", "dice reported")
	row := func(name string, n archive.Count) {
		_, _ = fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t\n", name, n.Streams, n.Records, n.Drawn, n.Reported)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		row(name, counts[name])
	}
	row("all", total(counts))
	return out.Flush()
}
