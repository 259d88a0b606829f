package auth

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

const (
	// trusted is how long a token that was found good is not looked at again. A signature costs more than the rest of a
	// small call, and callers come many times with the same token.
	trusted = 10 * time.Second
	// mostKnown bounds the memory. Only tokens with a good signature take a place, so that strangers cannot fill it.
	mostKnown = 10_000
)

// known are the tokens that were found good a moment ago, by their hash: the memory of a program holds no token that it
// does not serve right now. The zero value is empty.
type known struct {
	mu     sync.Mutex
	tokens map[[sha256.Size]byte]knownToken
}

type knownToken struct {
	principal Principal
	until     time.Time
}

func (k *known) get(token string, now time.Time) (Principal, bool) {
	key := sha256.Sum256([]byte(token))
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.tokens[key]
	if ok && !now.Before(found.until) {
		delete(k.tokens, key)
		ok = false
	}
	found.principal.Scopes = slices.Clone(found.principal.Scopes)
	return found.principal, ok
}

func (k *known) put(token string, p Principal, until time.Time) {
	key := sha256.Sum256([]byte(token))
	p.Scopes = slices.Clone(p.Scopes)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tokens == nil || len(k.tokens) >= mostKnown {
		k.tokens = map[[sha256.Size]byte]knownToken{}
	}
	k.tokens[key] = knownToken{p, until}
}
