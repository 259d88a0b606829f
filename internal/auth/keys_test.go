package auth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/auth/devissuer"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// publisher answers requests for keys in place of a network, so that time can be a test's own.
type publisher struct {
	issuer atomic.Pointer[devissuer.Issuer] // nil: cannot be reached
	says   atomic.Pointer[string]           // instead of the issuer's keys
	takes  time.Duration
	asked  atomic.Int64
}

func (p *publisher) RoundTrip(r *http.Request) (*http.Response, error) {
	p.asked.Add(1)
	answer := p.issuer.Load() // what it knew when it was asked
	select {
	case <-time.After(p.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if answer == nil {
		return nil, errors.New("connection refused")
	}
	body := string(answer.JWKS())
	if says := p.says.Load(); says != nil {
		body = *says
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// rotate gives it another key and returns what signs with that.
func (p *publisher) rotate(t *testing.T) *devissuer.Issuer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := devissuer.New(devissuer.Config{Issuer: "http://issuer", Audience: audience}, key)
	p.issuer.Store(issuer)
	return issuer
}

func (p *publisher) verifier(t *testing.T) auth.Verifier {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	v, err := auth.NewVerifier(ctx, auth.Config{Issuer: "http://issuer", Audience: audience, JWKS: "http://issuer/jwks.json", Client: &http.Client{Transport: p}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// crowd verifies a token of each of many users at once and counts the reasons of refusal, "" for none.
func crowd(t *testing.T, v auth.Verifier, issuer *devissuer.Issuer) map[string]int {
	t.Helper()
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		out = map[string]int{}
	)
	for range 200 {
		token, err := issuer.Token(rand.Text())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			_, err := v.Verify(t.Context(), token)
			mu.Lock()
			defer mu.Unlock()
			out[fault.ReasonOf(err)]++
			if err != nil && (fault.KindOf(err) != fault.Unavailable) {
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	return out
}

// TestManyComeAtOnceAfterARotation shows that no bound on fetches refuses good tokens.
func TestManyComeAtOnceAfterARotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{takes: 300 * time.Millisecond}
		p.rotate(t)
		v := p.verifier(t)
		for range 3 {
			before := p.asked.Load()
			if got := crowd(t, v, p.rotate(t)); got[""] != 200 {
				t.Errorf("refusals %v", got)
			}
			if n := p.asked.Load() - before; n < 1 || n > 2 {
				t.Errorf("%d fetches for 200 callers", n)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestAKeyPublishedDuringAFetchIsFound shows that nobody is refused for the answer to a question asked before they came.
func TestAKeyPublishedDuringAFetchIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{takes: time.Second}
		p.rotate(t)
		v := p.verifier(t)
		stranger := (&publisher{}).rotate(t)
		unknown, err := stranger.Token("eve")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := v.Verify(t.Context(), unknown); fault.ReasonOf(err) != auth.TokenInvalid {
				t.Errorf("a stranger's token: %v", err)
			}
		})
		time.Sleep(500 * time.Millisecond) // the stranger's fetch is under way
		token, err := p.rotate(t).Token("ada")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// TestAProgramThatIsThereBeforeTheIssuer is not ready, blames no token, and finds the keys by itself, whoever asked for how
// many unknown ones meanwhile.
func TestAProgramThatIsThereBeforeTheIssuer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{}
		v := p.verifier(t)
		ready := func(within time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			return v.(interface{ Ready(context.Context) error }).Ready(ctx)
		}
		if err := ready(time.Second); fault.ReasonOf(err) != auth.KeysUnavailable || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("ready without keys: %v", err)
		}
		issuer := (&publisher{}).rotate(t)
		if got := crowd(t, v, issuer); got[auth.KeysUnavailable] != 200 {
			t.Errorf("refusals %v", got)
		}
		p.issuer.Store(issuer)
		begin := time.Now()
		if err := ready(time.Minute); err != nil || time.Since(begin) > 2*time.Second {
			t.Errorf("ready after %v: %v", time.Since(begin), err)
		}
		if got := crowd(t, v, issuer); got[""] != 200 {
			t.Errorf("refusals %v", got)
		}
		p.issuer.Store(nil)
		time.Sleep(2 * time.Hour)
		if got := crowd(t, v, issuer); got[""] != 200 {
			t.Errorf("refusals once it was away again: %v", got)
		}
		if err := ready(0); err != nil {
			t.Errorf("with the keys of before it is not ready: %v", err)
		}
	})
}

// TestALookForAKeyTakesNoLongerThanTheCall shows that callers leave when their time is over, and that the fetch goes on for
// the others.
func TestALookForAKeyTakesNoLongerThanTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{takes: 3 * time.Second}
		p.rotate(t)
		v := p.verifier(t)
		token, err := p.rotate(t).Token("ada")
		if err != nil {
			t.Fatal(err)
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := v.Verify(hasty, token); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("the hasty one: %v", err)
			}
		})
		synctest.Wait() // it is the hasty one's fetch
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Errorf("the patient one: %v", err)
		}
		wg.Wait()
	})
}

// TestOddKeysTakeNoOthersAway shows that an issuer may publish what this program cannot read beside what it can.
func TestOddKeysTakeNoOthersAway(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{
		"of a use that is not registered":        `{"kty":"EC","crv":"P-256","kid":"odd","use":"tls","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}`,
		"of an operation that is not":            `{"kty":"EC","crv":"P-256","kid":"odd","key_ops":["attest"],"x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}`,
		"that is broken":                         `{"kty":"EC","crv":"P-256","kid":"odd","x":"AAAA","y":"AAAA"}`,
		"of a kind to come":                      `{"kty":"AKP","alg":"ML-DSA-44","kid":"odd","pub":"AAAA"}`,
		"of another curve":                       `{"kty":"EC","crv":"secp256k1","kid":"odd","x":"AAAA","y":"AAAA"}`,
		"that is no object":                      `7`,
		"whose field is not what it ought to be": `{"kty":"OKP","kid":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &publisher{}
				issuer := p.rotate(t)
				with := strings.Replace(string(issuer.JWKS()), `"keys":[`, `"keys":[`+odd+",", 1)
				if !strings.Contains(with, odd) {
					t.Fatalf("the odd key is not in %s", with)
				}
				p.says.Store(&with)
				if got := crowd(t, p.verifier(t), issuer); got[""] != 200 {
					t.Errorf("refusals %v", got)
				}
			})
		})
	}
}

// TestAnAnswerWithoutKeysWithdrawsNone shows that the page of an issuer under repair is no reason to refuse its tokens.
func TestAnAnswerWithoutKeysWithdrawsNone(t *testing.T) {
	t.Parallel()
	for _, says := range []string{`{}`, `{"keys":[]}`, `{"keys":[7]}`, `<html>`, `null`} {
		synctest.Test(t, func(t *testing.T) {
			p := &publisher{}
			issuer := p.rotate(t)
			v := p.verifier(t)
			p.says.Store(&says)
			time.Sleep(2 * time.Hour)
			if got := crowd(t, v, issuer); got[""] != 200 {
				t.Errorf("%s: refusals %v", says, got)
			}
			if got := crowd(t, v, (&publisher{}).rotate(t)); got[auth.KeysUnavailable] != 200 {
				t.Errorf("%s: of a key that is not known: refusals %v", says, got)
			}
		})
	}
}
