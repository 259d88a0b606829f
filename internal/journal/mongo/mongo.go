// Package mongo keeps the journal of one service in a MongoDB database of its own. It is the store for production.
//
// It writes with w: majority and reads from the primary with read concern majority, so what was acknowledged once is
// never rolled back and is seen by every later read. It uses inserts under unique keys for everything that must be
// right, and never a transaction; heads, which only are a cache, are replaced.
//
// A sharded cluster should shard "records" by a hash of "stream" ({stream: "hashed"}): all that must be unique begins with
// the stream, and all reads but lists name it.
//
// What the edge loses: an error does not tell whether the insert it came from was done; the journal finds out when the
// command is repeated.
package mongo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

// The collections of a journal.
const (
	Records = "records"
	Heads   = "heads"
	Owings  = "owing"
	// Firsts is for a stand-in only: what lists select by, in small documents; see [Store.Firsts].
	Firsts = "firsts"
)

const (
	// operationTimeout ends an operation of the journal that has no sooner deadline, unless the URI says timeoutMS.
	operationTimeout = 5 * time.Second
	// selectionTimeout is how long an operation waits for a server that may take it, unless the URI says
	// serverSelectionTimeoutMS. A replica set elects a new primary meanwhile, or the caller comes again.
	selectionTimeout = 3 * time.Second
	// adminTimeout ends what is done once, at start and at the end.
	adminTimeout = 15 * time.Second
)

// Key is one field of an index: ascending with Order 1, descending with -1.
type Key struct {
	Field string
	Order int
}

// Index is an index that the store creates when it is opened.
type Index struct {
	Collection string
	Name       string
	Keys       []Key
	Unique     bool
	// Sparse leaves out documents without any of the fields.
	Sparse bool
	// Use says what needs the index.
	Use string
}

// Indexes lists all indexes beside those on _id. The list_ fields are in record 1 of each stream only.
func Indexes() []Index {
	return []Index{
		{Collection: Records, Name: "request", Keys: []Key{{"stream", 1}, {"request_id", 1}}, Unique: true,
			Use: "a request id is used once in a stream; repeats in long streams"},
		{Collection: Records, Name: "list_all", Keys: []Key{{"list_kind", 1}, {"list_key", -1}}, Sparse: true,
			Use: "lists of all streams of a kind"},
		{Collection: Records, Name: "list_campaign", Keys: []Key{{"list_kind", 1}, {"list_campaign", 1}, {"list_key", -1}}, Sparse: true,
			Use: "lists of a campaign"},
		{Collection: Records, Name: "list_parent", Keys: []Key{{"list_kind", 1}, {"list_parent", 1}, {"list_key", -1}}, Sparse: true,
			Use: "lists of a parent"},
		{Collection: Owings, Name: "kind", Keys: []Key{{"kind", 1}, {"_id", 1}},
			Use: "the sweep of what is owed"},
		{Collection: Owings, Name: "stream", Keys: []Key{{"stream", 1}, {"seq", 1}},
			Use: "settling what a stream owed"},
	}
}

type recordDoc struct {
	ID             string        `bson:"_id"` // journal.RecordID, the lock
	Stream         string        `bson:"stream"`
	Seq            int           `bson:"seq"`
	Campaign       string        `bson:"campaign,omitempty"`
	Kind           string        `bson:"kind"`
	RequestID      string        `bson:"request_id"`
	RequestHash    string        `bson:"request_hash"`
	Actor          string        `bson:"actor,omitempty"`
	Principal      string        `bson:"principal,omitempty"`
	Trace          string        `bson:"trace,omitempty"`
	OverrideReason string        `bson:"override_reason,omitempty"`
	Time           time.Time     `bson:"time"`
	Fold           int           `bson:"fold"`
	Events         []string      `bson:"events"` // JSON as it came: bson would lose the difference of 1 and 1.0
	Dice           []journal.Die `bson:"dice,omitempty"`
	Note           string        `bson:"note,omitempty"`
	Owing          bool          `bson:"owing,omitempty"`

	ListKind     string `bson:"list_kind,omitempty"`
	ListCampaign string `bson:"list_campaign,omitempty"`
	ListParent   string `bson:"list_parent,omitempty"`
	ListKey      string `bson:"list_key,omitempty"`
}

// firstDoc announces record 1 of a stream. It may be left over from one that lost its race for the place, or never came.
type firstDoc struct {
	ID           string `bson:"_id"` // the list key, which two racers do not share unless it is the same
	Stream       string `bson:"stream"`
	ListKind     string `bson:"list_kind"`
	ListCampaign string `bson:"list_campaign,omitempty"`
	ListParent   string `bson:"list_parent,omitempty"`
	ListKey      string `bson:"list_key"`
}

// complete is the id of a document in Firsts, without a list key, that comes last when they are made anew.
const complete = "complete"

type headDoc struct {
	ID        string `bson:"_id"`
	Stream    string `bson:"stream"`
	Fold      int    `bson:"fold"`
	Seq       int    `bson:"seq"`
	RequestID string `bson:"request_id"`
	State     string `bson:"state"`
	Sum       string `bson:"sum"`
}

type owingDoc struct {
	ID     string `bson:"_id"`
	Kind   string `bson:"kind"`
	Stream string `bson:"stream"`
	Seq    int    `bson:"seq"`
}

// Store is a [journal.Store] in a MongoDB database. Use [Open].
type Store struct {
	client  *mongo.Client
	records *mongo.Collection
	heads   *mongo.Collection
	owing   *mongo.Collection
	firsts  *mongo.Collection
	limit   time.Duration
	// sharded is true behind a mongos, which asks every shard unless it is told the shard key.
	sharded bool
	// standIn is true of FerretDB, which searches everything for what is not a single id.
	standIn bool
}

// gallop is how many records are looked up by their keys before the rest of a page is read as a range. Mostly none is new, or
// one.
const gallop = 4

// Open connects to the server at uri and creates the indexes of the database that it lacks. Settings of read and
// write concern and of read preference in the uri are overruled. Close disconnects. It fails with UNAVAILABLE STORE_UNAVAILABLE
// while the server is away: then it may be called again.
func Open(ctx context.Context, uri, database string) (*Store, error) {
	opts := options.Client().ApplyURI(uri).
		SetWriteConcern(writeconcern.Majority()).
		SetReadConcern(readconcern.Majority()).
		SetReadPreference(readpref.Primary()).
		SetAppName("wayfarer-" + database)
	if opts.Timeout == nil {
		opts.SetTimeout(operationTimeout)
	}
	if opts.ServerSelectionTimeout == nil {
		opts.SetServerSelectionTimeout(selectionTimeout)
	}
	client, err := mongo.Connect(opts)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns): // of mongodb+srv
		return nil, journal.Away(fmt.Errorf("look up %s: %s", dns.Name, dns.Err)) //nolint:err113 // without the rest of what the driver says, see below
	case err != nil:
		// The driver's message may quote the uri, and with it a password.
		return nil, errors.New("open journal: the MongoDB uri is not valid")
	}
	db := client.Database(database)
	s := &Store{client: client, records: db.Collection(Records), heads: db.Collection(Heads), owing: db.Collection(Owings), firsts: db.Collection(Firsts), limit: *opts.Timeout}
	err = s.createIndexes(ctx, db)
	if err == nil {
		err = s.look(ctx, db)
	}
	if err != nil {
		if ctx.Err() == nil && isAway(err) {
			err = journal.Away(err)
		}
		return nil, errors.Join(fmt.Errorf("open journal in database %s: %w", database, err), s.Close()) //nolint:contextcheck // closes also when ctx has ended
	}
	return s, nil
}

// look finds out what kind of server this is.
func (s *Store) look(ctx context.Context, db *mongo.Database) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	var hello struct {
		Msg string `bson:"msg"`
	}
	if err := db.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	s.sharded = hello.Msg == "isdbgrid"
	var build struct {
		Ferret string `bson:"ferretdbVersion"`
	}
	err := db.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build)
	if err != nil && !refused(err) { // who may not ask does not need to know
		return fmt.Errorf("buildInfo: %w", err)
	}
	if s.standIn = build.Ferret != ""; s.standIn {
		return s.announceAll(ctx)
	}
	return nil
}

// announceAll makes Firsts anew, unless it is complete.
func (s *Store) announceAll(ctx context.Context) error {
	err := s.firsts.FindOne(ctx, bson.D{{Key: "_id", Value: complete}}).Err()
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return err
	}
	cur, err := s.records.Find(ctx, bson.D{{Key: "list_key", Value: bson.D{{Key: "$gt", Value: ""}}}})
	if err != nil {
		return err
	}
	var docs []recordDoc
	if err := cur.All(ctx, &docs); err != nil {
		return err
	}
	for _, d := range docs {
		if err := s.announce(ctx, d); err != nil {
			return err
		}
	}
	_, err = s.firsts.InsertOne(ctx, bson.D{{Key: "_id", Value: complete}})
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return err
}

// announce makes a stand-in's entry for a record 1, before the record, so that lists lack none whatever happens.
func (s *Store) announce(ctx context.Context, d recordDoc) error {
	if !s.standIn || d.ListKey == "" {
		return nil
	}
	_, err := s.firsts.InsertOne(ctx, firstDoc{
		ID: d.ListKey, Stream: d.Stream, ListKind: d.ListKind, ListCampaign: d.ListCampaign, ListParent: d.ListParent, ListKey: d.ListKey,
	})
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return err
}

// key selects a document by its id; behind a mongos by the shard key as well, without which a query goes to every shard and
// an upsert nowhere. Elsewhere the id alone is enough, and a stand-in looks into its index for nothing but an id alone.
func (s *Store) key(stream, id string) bson.D {
	k := bson.D{{Key: "_id", Value: id}}
	if s.sharded {
		k = append(k, bson.E{Key: "stream", Value: stream})
	}
	return k
}

func (s *Store) createIndexes(ctx context.Context, db *mongo.Database) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	for _, ix := range Indexes() {
		var keys bson.D
		for _, k := range ix.Keys {
			keys = append(keys, bson.E{Key: k.Field, Value: k.Order})
		}
		o := options.Index().SetName(ix.Name)
		if ix.Unique {
			o.SetUnique(true)
		}
		if ix.Sparse {
			o.SetSparse(true)
		}
		if _, err := db.Collection(ix.Collection).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys, Options: o}); err != nil {
			return fmt.Errorf("index %s of %s: %w", ix.Name, ix.Collection, err)
		}
	}
	return nil
}

// begin bounds an operation. The end of it tells a store that is away from other failures; an end of the caller's own
// context is neither.
//
// The driver would take a limit of its client for contexts without a deadline only.
func (s *Store) begin(ctx context.Context, err *error) (context.Context, context.CancelFunc) {
	within, cancel := ctx, context.CancelFunc(func() {})
	if s.limit > 0 {
		within, cancel = context.WithTimeout(ctx, s.limit)
	}
	return within, func() {
		late := within.Err() != nil // whatever the server makes of a limit that it was told
		cancel()
		if ctx.Err() == nil && (isAway(*err) || refused(*err) && (late || interrupted(*err))) {
			*err = journal.Away(*err)
		}
	}
}

// refused tells whether an error is the server's, other than that a key is taken.
func refused(err error) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && !mongo.IsDuplicateKeyError(err)
}

// interrupted tells whether a stand-in says that the time it was given is over, for which it has no code.
func interrupted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "handleMaxTimeMSError")
}

// isAway tells whether an error says that no server could take the operation or see it through.
func isAway(err error) bool {
	if err == nil || mongo.IsDuplicateKeyError(err) {
		return false
	}
	var selection topology.ServerSelectionError
	var pool interface{ Retryable() bool } // a connection that another operation's failure took along
	if errors.As(err, &pool) && pool.Retryable() {
		return true
	}
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) || errors.As(err, &selection) || errors.Is(err, mongo.ErrClientDisconnected) {
		return true
	}
	var server mongo.ServerError
	if !errors.As(err, &server) {
		return false
	}
	return server.HasErrorLabel("RetryableWriteError") || server.HasErrorLabel("RetryableError") ||
		slices.ContainsFunc(awayCodes, server.HasErrorCode)
}

// awayCodes are the server's errors of a node that steps down, shuts down or starts, of a cluster that cannot be reached
// in whole, and of a majority that does not acknowledge a write in time.
var awayCodes = []int{
	6,     // HostUnreachable
	7,     // HostNotFound
	50,    // MaxTimeMSExpired
	64,    // WriteConcernTimeout
	89,    // NetworkTimeout
	91,    // ShutdownInProgress
	100,   // UnsatisfiableWriteConcern
	133,   // FailedToSatisfyReadPreference
	134,   // ReadConcernMajorityNotAvailableYet
	189,   // PrimarySteppedDown
	202,   // NetworkInterfaceExceededTimeLimit
	262,   // ExceededTimeLimit
	9001,  // SocketException
	10107, // NotWritablePrimary
	11600, // InterruptedAtShutdown
	11602, // InterruptedDueToReplStateChange
	13435, // NotPrimaryNoSecondaryOk
	13436, // NotPrimaryOrSecondary
}

// Insert implements [journal.Store].
func (s *Store) Insert(ctx context.Context, r journal.Record) (err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	doc := toDoc(r)
	if err := s.announce(ctx, doc); err != nil {
		return err
	}
	_, err = s.records.InsertOne(ctx, doc)
	if !mongo.IsDuplicateKeyError(err) {
		return err
	}
	// Not every server names the index that was violated.
	n, err := s.records.CountDocuments(ctx, s.key(r.Stream, journal.RecordID(r.Stream, r.Seq)))
	switch {
	case err != nil:
		return err
	case n > 0:
		return journal.ErrTaken
	}
	return journal.ErrRequestTaken
}

// InsertMany implements [journal.Bulk].
func (s *Store) InsertMany(ctx context.Context, recs []journal.Record) (err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	docs := make([]recordDoc, len(recs))
	for i, r := range recs {
		docs[i] = toDoc(r)
		if err := s.announce(ctx, docs[i]); err != nil {
			return err
		}
	}
	_, err = s.records.InsertMany(ctx, docs)
	if mongo.IsDuplicateKeyError(err) {
		return journal.ErrTaken
	}
	return err
}

// Read implements [journal.Store]. The next records are looked up by their keys first, on a stand-in all.
func (s *Store) Read(ctx context.Context, stream string, after, limit int) (_ []journal.Record, err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	after = max(after, 0)
	var out []journal.Record
	for len(out) < limit && (len(out) < gallop || s.standIn) {
		var next recordDoc
		err = s.records.FindOne(ctx, s.key(stream, journal.RecordID(stream, after+len(out)+1))).Decode(&next)
		switch {
		case errors.Is(err, mongo.ErrNoDocuments):
			return out, nil
		case err != nil:
			return nil, err
		}
		out = append(out, next.record())
	}
	if len(out) >= limit {
		return out, nil
	}
	rest, err := s.find(ctx, bson.D{
		{Key: "stream", Value: stream},
		{Key: "_id", Value: bson.D{{Key: "$gt", Value: journal.RecordID(stream, after+len(out))}, {Key: "$lte", Value: journal.RecordID(stream, journal.MaxSeq)}}},
	}, bson.D{{Key: "_id", Value: 1}}, limit-len(out))
	if err != nil {
		return nil, err
	}
	return append(out, rest...), nil
}

// ByRequest implements [journal.Store].
func (s *Store) ByRequest(ctx context.Context, stream, requestID string) (_ journal.Record, err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	var doc recordDoc
	err = s.records.FindOne(ctx, bson.D{{Key: "stream", Value: stream}, {Key: "request_id", Value: requestID}}).Decode(&doc)
	if err != nil {
		return journal.Record{}, notFound(err)
	}
	return doc.record(), nil
}

// Firsts implements [journal.Store]. A stand-in would decode every record to find a few: there they are selected by their
// entries, and those whose record 1 is another one, or not there, are left out.
func (s *Store) Firsts(ctx context.Context, f journal.Filter, c journal.Cursor, limit int) (_ []journal.Record, err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	if limit < 1 {
		return nil, nil
	}
	before := ""
	if !c.IsZero() {
		before = listKey(c.Time, c.Stream)
	}
	if !s.standIn {
		return s.find(ctx, listed(f, before), bson.D{{Key: "list_key", Value: -1}}, limit)
	}
	var out []journal.Record
	for {
		want := limit - len(out)
		cur, err := s.firsts.Find(ctx, listed(f, before), options.Find().SetSort(bson.D{{Key: "list_key", Value: -1}}).SetLimit(int64(want)))
		if err != nil {
			return nil, err
		}
		var entries []firstDoc
		if err := cur.All(ctx, &entries); err != nil {
			return nil, err
		}
		for _, e := range entries {
			var d recordDoc
			err := s.records.FindOne(ctx, s.key(e.Stream, journal.RecordID(e.Stream, 1))).Decode(&d)
			switch {
			case err == nil && d.ListKey == e.ListKey:
				out = append(out, d.record())
			case err != nil && !errors.Is(err, mongo.ErrNoDocuments):
				return nil, err
			}
			before = e.ListKey
		}
		if len(entries) < want || len(out) == limit {
			return out, nil
		}
	}
}

// listed selects first records whose list key comes after that of the place before; all when that is empty.
func listed(f journal.Filter, before string) (filter bson.D) {
	for _, cond := range []struct{ field, value string }{{"list_kind", f.Kind}, {"list_campaign", f.Campaign}, {"list_parent", f.Parent}} {
		if cond.value != "" {
			filter = append(filter, bson.E{Key: cond.field, Value: cond.value})
		}
	}
	key := bson.D{{Key: "$gt", Value: ""}} // record 1 only
	if before != "" {
		key = append(key, bson.E{Key: "$lt", Value: before})
	}
	return append(filter, bson.E{Key: "list_key", Value: key})
}

// Head implements [journal.Store].
func (s *Store) Head(ctx context.Context, stream string, fold int) (_ journal.Head, err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	var d headDoc
	if err := s.heads.FindOne(ctx, s.key(stream, headID(stream, fold))).Decode(&d); err != nil {
		return journal.Head{}, notFound(err)
	}
	return journal.Head{Stream: d.Stream, Fold: d.Fold, Seq: d.Seq, RequestID: d.RequestID, State: json.RawMessage(d.State), Sum: d.Sum}, nil
}

// PutHead implements [journal.Store].
func (s *Store) PutHead(ctx context.Context, h journal.Head) (err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	id := headID(h.Stream, h.Fold)
	doc := headDoc{ID: id, Stream: h.Stream, Fold: h.Fold, Seq: h.Seq, RequestID: h.RequestID, State: string(h.State), Sum: h.Sum}
	_, err = s.heads.ReplaceOne(ctx, s.key(h.Stream, id), doc, options.Replace().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return nil // another writer's head was faster
	}
	return err
}

// DropHeads implements [journal.HeadDropper].
func (s *Store) DropHeads(ctx context.Context) (_ int, err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	res, err := s.heads.DeleteMany(ctx, bson.D{})
	if err != nil {
		return 0, err
	}
	return int(res.DeletedCount), nil
}

// Owe implements [journal.Store].
func (s *Store) Owe(ctx context.Context, o journal.Obligation) (err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	_, err = s.owing.InsertOne(ctx, owingDoc{ID: journal.RecordID(o.Stream, o.Seq), Kind: o.Kind, Stream: o.Stream, Seq: o.Seq})
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return err
}

// Owing implements [journal.Store].
func (s *Store) Owing(ctx context.Context, kind string, after journal.Obligation, limit int) (_ []journal.Obligation, err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	if limit < 1 {
		return nil, nil
	}
	id := ""
	if after != (journal.Obligation{}) {
		id = journal.RecordID(after.Stream, after.Seq)
	}
	cur, err := s.owing.Find(ctx, bson.D{{Key: "kind", Value: kind}, {Key: "_id", Value: bson.D{{Key: "$gt", Value: id}}}},
		options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(int64(limit)))
	if err != nil {
		return nil, err
	}
	var docs []owingDoc
	if err := cur.All(ctx, &docs); err != nil {
		return nil, err
	}
	out := make([]journal.Obligation, len(docs))
	for i, d := range docs {
		out[i] = journal.Obligation{Kind: d.Kind, Stream: d.Stream, Seq: d.Seq}
	}
	return out, nil
}

// Settle implements [journal.Store].
func (s *Store) Settle(ctx context.Context, stream string, through int) (err error) {
	ctx, end := s.begin(ctx, &err)
	defer end()
	_, err = s.owing.DeleteMany(ctx, bson.D{{Key: "stream", Value: stream}, {Key: "seq", Value: bson.D{{Key: "$lte", Value: through}}}})
	return err
}

// Ping implements [journal.Store].
func (s *Store) Ping(ctx context.Context) error { return s.client.Ping(ctx, readpref.Primary()) }

// Close implements [journal.Store].
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	return s.client.Disconnect(ctx)
}

// Drop deletes the database with everything in it. It is for tests.
func (s *Store) Drop(ctx context.Context) error { return s.records.Database().Drop(ctx) }

func (s *Store) find(ctx context.Context, filter, sort bson.D, limit int) ([]journal.Record, error) {
	cur, err := s.records.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(int64(limit)))
	if err != nil {
		return nil, err
	}
	var docs []recordDoc
	if err := cur.All(ctx, &docs); err != nil {
		return nil, err
	}
	out := make([]journal.Record, len(docs))
	for i, d := range docs {
		out[i] = d.record()
	}
	return out, nil
}

func notFound(err error) error {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return journal.ErrNotFound
	}
	return err
}

func headID(stream string, fold int) string { return fmt.Sprintf("%s/%d", stream, fold) }

// listKey sorts as lists do.
func listKey(t time.Time, stream string) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z") + " " + stream
}

func toDoc(r journal.Record) recordDoc {
	d := recordDoc{
		ID: journal.RecordID(r.Stream, r.Seq), Stream: r.Stream, Seq: r.Seq, Campaign: r.Campaign, Kind: r.Kind,
		RequestID: r.RequestID, RequestHash: r.RequestHash, Actor: r.Actor, Principal: r.Principal, Trace: r.Trace, OverrideReason: r.OverrideReason,
		Time: r.Time, Fold: r.Fold, Events: make([]string, len(r.Events)), Dice: r.Dice, Note: r.Note, Owing: r.Owing,
	}
	for i, e := range r.Events {
		d.Events[i] = string(e)
	}
	if r.Seq == 1 {
		d.ListKind, d.ListCampaign, d.ListParent, d.ListKey = r.Kind, r.Campaign, r.Parent, listKey(r.Time, r.Stream)
	}
	return d
}

func (d recordDoc) record() journal.Record {
	r := journal.Record{
		Stream: d.Stream, Seq: d.Seq, Campaign: d.Campaign, Kind: d.Kind, Parent: d.ListParent,
		RequestID: d.RequestID, RequestHash: d.RequestHash, Actor: d.Actor, Principal: d.Principal, Trace: d.Trace, OverrideReason: d.OverrideReason,
		Time: d.Time.UTC(), Fold: d.Fold, Dice: d.Dice, Note: d.Note, Owing: d.Owing,
	}
	for _, e := range d.Events {
		r.Events = append(r.Events, json.RawMessage(e))
	}
	return r
}
