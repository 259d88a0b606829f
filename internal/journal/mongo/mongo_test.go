//go:build unix

package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/wayfarer-rpg/wayfarer/internal/cut"
	"github.com/wayfarer-rpg/wayfarer/internal/journal"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/journaltest/ferret"
	"github.com/wayfarer-rpg/wayfarer/internal/journal/mongo"
)

func open(t testing.TB, uri, database string) *mongo.Store {
	t.Helper()
	s, err := mongo.Open(context.Background(), uri, database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func fresh(t testing.TB) journaltest.Place {
	uri, database := ferret.URI(t), ferret.Database()
	first := open(t, uri, database)
	t.Cleanup(func() {
		if err := first.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return func(t testing.TB) journal.Store { return open(t, uri, database) }
}

func TestStore(t *testing.T) {
	t.Parallel()
	o := journaltest.Options{}
	if ferret.StandIn() { // searches every document for other filters than one _id
		o.Long, o.Commits = 1000, 3
	}
	journaltest.Run(t, o, fresh)
}

func TestIndexesAreCreatedOnce(t *testing.T) {
	t.Parallel()
	uri, database := ferret.URI(t), ferret.Database()
	s := open(t, uri, database)
	open(t, uri, database) // finds them there
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Drop(context.Background())
		_ = client.Disconnect(context.Background())
	})
	want := map[string]int{}
	for _, ix := range mongo.Indexes() {
		want[ix.Collection]++
		cur, err := client.Database(database).Collection(ix.Collection).Indexes().List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var have []struct {
			Name   string
			Key    bson.D
			Unique bool
		}
		if err := cur.All(t.Context(), &have); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, h := range have {
			if h.Name != ix.Name {
				continue
			}
			found = true
			if h.Unique != ix.Unique || len(h.Key) != len(ix.Keys) || h.Key[0].Key != ix.Keys[0].Field {
				t.Errorf("index %s is %+v", ix.Name, h)
			}
		}
		if !found {
			t.Errorf("index %s is missing in %+v", ix.Name, have)
		}
	}
	if want[mongo.Records] != 4 || want[mongo.Owings] != 2 {
		t.Errorf("indexes by collection: %v", want)
	}
}

func TestListsOfAStandInHaveEachStreamOnceAndLackNone(t *testing.T) {
	t.Parallel()
	if !ferret.StandIn() {
		t.Skip("lists come from the records themselves")
	}
	ctx, uri, database := t.Context(), ferret.URI(t), ferret.Database()
	s := open(t, uri, database)
	t.Cleanup(func() { _ = s.Drop(context.Background()) })
	record := func(stream string, ms int) journal.Record {
		return journal.Record{Stream: stream, Seq: 1, Kind: "tally", Campaign: "c", RequestID: fmt.Sprint(ms), Time: time.UnixMilli(int64(ms)).UTC()}
	}
	for i, stream := range []string{"a", "b", "c"} {
		if err := s.Insert(ctx, record(stream, 10*i)); err != nil {
			t.Fatal(err)
		}
		for late := range 3 { // who lost the race leaves entries behind
			if err := s.Insert(ctx, record(stream, 100+10*i+late)); !errors.Is(err, journal.ErrTaken) {
				t.Fatalf("%s twice: %v", stream, err)
			}
		}
	}
	list := func(s *mongo.Store) (names string) {
		t.Helper()
		for c := (journal.Cursor{}); ; {
			page, err := s.Firsts(ctx, journal.Filter{Kind: "tally", Campaign: "c"}, c, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				names += r.Stream
				c = journal.Cursor{Time: r.Time, Stream: r.Stream}
			}
			if len(page) < 2 {
				return names
			}
		}
	}
	if got := list(s); got != "cba" {
		t.Errorf("listed %q", got)
	}
	// A database of an older program has no entries.
	client, err := driver.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	if err := client.Database(database).Collection(mongo.Firsts).Drop(ctx); err != nil {
		t.Fatal(err)
	}
	if got := list(s); got != "" {
		t.Errorf("listed without entries: %q", got)
	}
	if got := list(open(t, uri, database)); got != "cba" {
		t.Errorf("listed after the next start: %q", got)
	}
}

func TestBadURIDoesNotShowItsPassword(t *testing.T) {
	t.Parallel()
	_, err := mongo.Open(t.Context(), "mongodb://ada:s3cret@:x:y/", "d")
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Fatalf("got %v", err)
	}
}

func TestAServerThatIsAwayIsSaidToBe(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(ferret.URI(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(server.Host, ",") || server.Scheme != "mongodb" {
		t.Skip("a wire leads to one server only")
	}
	for name, begin := range map[string]func(*cut.Wire){
		"that cannot be reached":  (*cut.Wire).Cut,
		"that answers to nothing": (*cut.Wire).Mute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire, through := cut.New(t, server.Host), *server
			through.Host = wire.Addr()
			q := through.Query()
			q.Set("directConnection", "true")
			through.RawQuery = q.Encode()
			s := open(t, through.String(), ferret.Database())
			t.Cleanup(func() { _ = s.Drop(context.Background()) })
			journaltest.Away(t, s, journaltest.Outage{
				Reads: true, Within: 25 * time.Second,
				Begin: func() { begin(wire) }, End: func() { wire.Mend(t) },
			})
		})
	}
}

func BenchmarkStore(b *testing.B) { journaltest.Bench(b, fresh) }
