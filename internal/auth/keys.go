package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// KeysUnavailable is the reason of the UNAVAILABLE fault about a token whose key is not known while the issuer's keys cannot
// be fetched: nothing is known against the token.
const KeysUnavailable = "KEYS_UNAVAILABLE"

const (
	// keysLast is when keys are fetched again without a reason, so that a withdrawn one is no longer good.
	keysLast = time.Hour
	// keysRetry is how long after a fetch that failed the next one comes by itself.
	keysRetry = 2 * time.Second
	// unknownEvery and unknownAtOnce bound what unknown key ids, which anybody can invent, cost the issuer.
	unknownEvery  = 10 * time.Second
	unknownAtOnce = 3
)

// keys are the issuer's public keys. They are fetched by one caller at a time, and all who look for an unknown key meanwhile
// share the next fetch: after a rotation, or when the program was there before the issuer, it is many who come at once.
type keys struct {
	jwkset.Storage
	fetch func(context.Context) error
	limit *rate.Limiter
	log   *slog.Logger

	turn  chan struct{} // holds one entry during a fetch
	first chan struct{} // closed once there were keys

	mu   sync.Mutex
	next *round
	err  error // of the last fetch
	had  bool  // a fetch has succeeded
}

// round is a fetch that has not begun yet.
type round struct {
	done chan struct{}
	err  error
}

// newKeys fetches the keys. That this fails is no error: it is tried again until ctx ends.
func newKeys(ctx context.Context, from string, client *http.Client, log *slog.Logger) (*keys, error) {
	if _, err := url.ParseRequestURI(from); err != nil {
		return nil, err
	}
	log = log.With("url", from)
	store := jwkset.NewMemoryStorage()
	k := &keys{
		Storage: store, limit: rate.NewLimiter(rate.Every(unknownEvery), unknownAtOnce), log: log,
		turn: make(chan struct{}, 1), first: make(chan struct{}),
		fetch: func(ctx context.Context) error {
			found, err := fetchKeys(ctx, from, client, log)
			if err != nil {
				return err
			}
			return store.KeyReplaceAll(ctx, found) // what is no longer there was withdrawn
		},
	}
	k.turn <- struct{}{}
	_ = k.renew(ctx)
	<-k.turn
	go k.keep(ctx)
	return k, nil
}

// fetchKeys asks the issuer. A key that cannot be read takes no other one away; an answer without any that can is none: an
// issuer without keys would have nobody to speak to.
func fetchKeys(ctx context.Context, from string, client *http.Client, log *slog.Logger) ([]jwkset.JWK, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer answered %s", res.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&set); err != nil {
		return nil, fmt.Errorf("the issuer's answer: %w", err)
	}
	var found []jwkset.JWK
	for i, raw := range set.Keys {
		key, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{Private: true}, jwkset.JWKValidateOptions{})
		switch {
		case err == nil:
			found = append(found, key)
		case !errors.Is(err, jwkset.ErrUnsupportedKey): // those of other algorithms are not for us
			log.WarnContext(ctx, "a key of the issuer is left out", "place", i, "err", err)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("the issuer's answer has no key that can be read")
	}
	return found, nil
}

// keep fetches the keys from time to time.
func (k *keys) keep(ctx context.Context) {
	for {
		k.mu.Lock()
		wait := keysLast
		if k.err != nil {
			wait = keysRetry
		}
		k.mu.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		k.turn <- struct{}{}
		_ = k.renew(ctx)
		<-k.turn
	}
}

// renew fetches the keys; the caller has the turn.
func (k *keys) renew(ctx context.Context) error {
	err := k.fetch(ctx)
	if err != nil {
		k.log.WarnContext(ctx, "keys not fetched", "err", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
	if err == nil && !k.had {
		k.had = true
		close(k.first)
	}
	return err
}

// KeyRead implements [jwkset.Storage]. It looks for an unknown key at the issuer. It fails with UNAVAILABLE KEYS_UNAVAILABLE when the issuer could not be asked.
func (k *keys) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	key, err := k.Storage.KeyRead(ctx, id)
	if !errors.Is(err, jwkset.ErrKeyNotFound) {
		return key, err
	}
	if failed := k.look(ctx); failed != nil {
		err = failed
	}
	if key, found := k.Storage.KeyRead(ctx, id); found == nil {
		return key, nil
	}
	return jwkset.JWK{}, err
}

// KeyReadAll implements [jwkset.Storage], for tokens that name no key.
func (k *keys) KeyReadAll(ctx context.Context) ([]jwkset.JWK, error) {
	k.mu.Lock()
	had := k.had
	k.mu.Unlock()
	if !had {
		if err := k.look(ctx); err != nil {
			return nil, err
		}
	}
	return k.Storage.KeyReadAll(ctx)
}

// look waits for a fetch that begins now or later, or is told how the last one ended if there were too many.
func (k *keys) look(ctx context.Context) error {
	r := k.join(ctx)
	select {
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-r.done:
	}
	if r.err != nil {
		return unavailable(r.err)
	}
	return nil
}

func unavailable(cause error) error {
	return fault.New(fault.Unavailable, KeysUnavailable, "the issuer's keys cannot be fetched, so that tokens cannot be checked").After(keysRetry).Wrap(cause)
}

// join returns the next round, and starts it if nobody has.
func (k *keys) join(ctx context.Context) *round {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil {
		k.next = &round{done: make(chan struct{})}
		go k.play(context.WithoutCancel(ctx)) // for all, whoever of them leaves
	}
	return k.next
}

// play carries the next round out once the fetch under way has ended.
func (k *keys) play(ctx context.Context) {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	k.mu.Lock()
	r := k.next
	k.next, r.err = nil, k.err
	k.mu.Unlock()
	if k.limit.Allow() {
		r.err = k.renew(ctx)
	}
	close(r.done)
}

// Ready returns once the keys were fetched, however long ago; it fails with UNAVAILABLE KEYS_UNAVAILABLE when ctx ends first.
func (k *keys) Ready(ctx context.Context) error {
	select {
	case <-k.first:
		return nil
	default:
	}
	select {
	case <-k.first:
		return nil
	case <-ctx.Done():
		k.mu.Lock()
		defer k.mu.Unlock()
		return unavailable(fmt.Errorf("%w, the last time: %w", ctx.Err(), k.err))
	}
}
