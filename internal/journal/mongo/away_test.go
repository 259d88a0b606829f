package mongo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/wayfarer-rpg/wayfarer/internal/journal"
)

func TestWhatIsAway(t *testing.T) {
	t.Parallel()
	slow := mongo.CommandError{Code: 1, Name: "InternalError", Message: "[msg_find.go:344 handler.handleMaxTimeMSError] [collection.go:94 sqlite.(*collection).Query] interrupted (9)"}
	broken := mongo.CommandError{Code: 1, Name: "InternalError", Message: "database disk image is malformed"}
	for name, tt := range map[string]struct {
		err   error
		limit time.Duration
		away  bool
	}{
		"nothing":                             {nil, time.Hour, false},
		"a time limit of a server":            {mongo.CommandError{Code: 50, Name: "MaxTimeMSExpired"}, time.Hour, true},
		"a stand-in's before the client's":    {slow, time.Hour, true},
		"a failure":                           {broken, time.Hour, false},
		"a failure when the time was over":    {broken, time.Nanosecond, true},
		"a node that steps down":              {mongo.CommandError{Code: 189, Name: "PrimarySteppedDown"}, time.Hour, true},
		"a key that is taken, when it is too": {mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000}}}, time.Nanosecond, false},
		"something else":                      {errors.New("not found"), time.Nanosecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.err
			within, end := (&Store{limit: tt.limit}).begin(t.Context(), &err)
			if tt.limit < time.Hour {
				<-within.Done()
			}
			end()
			if got := saysAway(err); got != tt.away {
				t.Errorf("away: %v, of %v", got, err)
			}
		})
	}
	// Who leaves is not told that the store is away.
	ctx, leave := context.WithCancel(t.Context())
	err := error(slow)
	_, end := (&Store{limit: time.Hour}).begin(ctx, &err)
	leave()
	end()
	if saysAway(err) {
		t.Error("a caller left")
	}
}

func saysAway(err error) bool {
	var e *journal.Error
	return errors.As(err, &e) && e.Reason == journal.ReasonStoreAway
}

// What cannot be reached when it is opened is away, whoever is to blame; what is said of it names no password.
func TestOpeningWhatIsAway(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		uri  string
		away bool
	}{
		"nobody listens":             {"mongodb://u:swordfish@127.0.0.1:1/?serverSelectionTimeoutMS=50", true},
		"a name that nobody knows":   {"mongodb://u:swordfish@nowhere.invalid/?serverSelectionTimeoutMS=50", true},
		"a record that nobody knows": {"mongodb+srv://u:swordfish@nowhere.invalid/", true},
		"no uri":                     {"mongodb://u:swordfish@/?x", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), tt.uri, "none")
			if err == nil || saysAway(err) != tt.away || strings.Contains(err.Error(), "swordfish") {
				t.Errorf("away: %v, of %v", saysAway(err), err)
			}
		})
	}
}
