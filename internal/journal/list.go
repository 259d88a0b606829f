package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

const (
	// DefaultPageSize is the size of a page when none is asked for.
	DefaultPageSize = 50
	// MaxPageSize is the greatest size of a page; whoever asks for more gets this.
	MaxPageSize = 500

	// scanPages is how many pages' worth of streams one List looks through when it leaves streams out.
	scanPages = 4
)

// Query selects the streams of a list.
type Query[S any] struct {
	// Campaign and Parent select by what record 1 carries. Empty selects all.
	Campaign string
	Parent   string
	// PageSize is the greatest number of rows: 0 means DefaultPageSize, and more than MaxPageSize means MaxPageSize.
	PageSize int
	// PageToken is the NextToken of the page before, of a query with the same Campaign and Parent; empty for the first.
	PageToken string
	// Match leaves out the streams for which it is false, beside those that the fold calls unlisted. May be nil.
	Match func(At[S]) bool
}

// Page is one page of a list.
type Page[S any] struct {
	// Rows are the present states of the streams, those with the newest record 1 first. There may be fewer than
	// asked for, even none, while NextToken is not empty.
	Rows []At[S]
	// NextToken gets the next page. It is empty when the list is at its end.
	NextToken string
}

// List returns a page of the streams of this kind. Pages are stable: a stream is on one page only, however many are
// added meanwhile. It fails with INVALID_ARGUMENT for a negative page size and for a token that was not made for this
// query.
func (j *Journal[S]) List(ctx context.Context, q Query[S]) (Page[S], error) {
	if q.PageSize < 0 {
		return Page[S]{}, errInvalid("page_size", "page_size is %d, below 0", q.PageSize)
	}
	size := q.PageSize
	if size == 0 {
		size = DefaultPageSize
	}
	size = min(size, MaxPageSize)
	filter := Filter{Kind: j.fold.Kind, Campaign: q.Campaign, Parent: q.Parent}
	cursor, err := readToken(q.PageToken, filter)
	if err != nil {
		return Page[S]{}, err
	}
	var page Page[S]
	for scanned := 0; scanned < size*scanPages; {
		want := size - len(page.Rows)
		firsts, err := j.store.Firsts(ctx, filter, cursor, want+1) // one more tells whether the list goes on
		if err != nil {
			return Page[S]{}, fmt.Errorf("list %s: %w", filter.Kind, err)
		}
		more := len(firsts) > want
		for _, first := range firsts[:min(want, len(firsts))] {
			at, err := j.Load(ctx, first.Stream)
			if err != nil {
				return Page[S]{}, err
			}
			cursor = Cursor{Time: first.Time, Stream: first.Stream}
			scanned++
			if (j.fold.Unlisted == nil || !j.fold.Unlisted(at.State)) && (q.Match == nil || q.Match(at)) {
				page.Rows = append(page.Rows, at)
			}
		}
		if !more {
			return page, nil
		}
		if len(page.Rows) == size {
			break
		}
	}
	page.NextToken = writeToken(cursor, filter)
	return page, nil
}

// token is the content of a page token.
type token struct {
	Time   int64  `json:"t"` // Unix milliseconds
	Stream string `json:"s"`
	Filter []byte `json:"f"`
}

func (f Filter) hash() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", f.Kind, f.Campaign, f.Parent))
	return sum[:9]
}

func writeToken(c Cursor, f Filter) string {
	raw, err := json.Marshal(token{c.Time.UnixMilli(), c.Stream, f.hash()})
	if err != nil {
		panic(err) // two strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func readToken(s string, f Filter) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	var t token
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return Cursor{}, errPageToken()
	}
	if err := json.Unmarshal(raw, &t); err != nil || t.Stream == "" || !bytes.Equal(t.Filter, f.hash()) {
		return Cursor{}, errPageToken()
	}
	return Cursor{Time: time.UnixMilli(t.Time).UTC(), Stream: t.Stream}, nil
}
