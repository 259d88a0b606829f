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
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// TokenSource gets a service's own tokens by client credentials. It renews each after four fifths of its life, while the old
// one serves for as long as that is good. It is safe for concurrent use: all who need a token share one request to the issuer,
// whoever of them leaves, and its failure.
type TokenSource struct {
	// URL is the issuer's token endpoint.
	URL string
	// ClientID and ClientSecret are the service's.
	ClientID, ClientSecret string
	// Audience is asked for when it is not empty.
	Audience string
	// Client makes the requests; nil: http.DefaultClient.
	Client *http.Client
	// Logger is told when the issuer gives no token; nil: nobody is.
	Logger *slog.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	mu     sync.Mutex
	token  string
	renew  time.Time // not before then
	expiry time.Time
	asked  time.Time // when the last request ended
	asking *asking   // nil: nobody is asking
	failed error     // what the last request came to
}

// asking is a request to the issuer.
type asking struct {
	done  chan struct{}
	token string
	err   error
}

const (
	fetchTimeout = 10 * time.Second
	// renewAgain is how long the old token is used after a renewal that failed, and askAgain how long nobody asks the issuer
	// after a failure without one.
	renewAgain = 5 * time.Second
	askAgain   = time.Second
)

// Token returns a token that is good for a while. It fails with UNAVAILABLE TOKEN_UNAVAILABLE when the issuer gives none,
// and with the context's error when that ends first.
func (s *TokenSource) Token(ctx context.Context) (string, error) {
	token, good, a, err := s.state(ctx)
	if good || err != nil {
		return token, err
	}
	select {
	case <-a.done:
		return a.token, a.err
	case <-ctx.Done():
		return "", status.FromContextError(ctx.Err()).Err()
	}
}

// state returns a token that is good, or why there is none, or else a request to wait for. It sees to renewals.
func (s *TokenSource) state(ctx context.Context) (token string, good bool, a *asking, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	good = s.token != "" && now.Before(s.expiry)
	if now.Before(s.renew) {
		if good {
			return s.token, true, nil, nil
		}
		return "", false, nil, s.failed
	}
	if s.asking == nil {
		s.asking = &asking{done: make(chan struct{})}
		go s.ask(context.WithoutCancel(ctx), s.asking) // for all, whoever of them leaves
	}
	if good {
		return s.token, true, nil, nil
	}
	return "", false, s.asking, nil
}

// ask carries a request out.
func (s *TokenSource) ask(ctx context.Context, a *asking) {
	token, lifetime, err := s.fetch(ctx)
	if err != nil && s.Logger != nil {
		s.Logger.WarnContext(ctx, "no token from the issuer", "url", s.URL, "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(a.done)
	now := s.now()
	s.asked, s.asking = now, nil
	switch {
	case err == nil:
		a.token, s.failed = token, nil
		s.token, s.renew, s.expiry = token, now.Add(lifetime*4/5), now.Add(lifetime)
	case s.token != "" && now.Add(renewAgain).Before(s.expiry):
		s.renew = now.Add(renewAgain)
	default:
		s.renew = now.Add(askAgain)
		s.failed = fault.New(fault.Unavailable, TokenUnavailable, "the issuer gives this service no token").After(askAgain).Wrap(err)
	}
	a.err = s.failed
}

// Refused is told that another service does not take the token although it has not expired: its key may have been withdrawn.
// It is renewed, at most every five seconds.
func (s *TokenSource) Refused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); s.token != "" && now.Before(s.renew) && !now.Before(s.asked.Add(renewAgain)) {
		s.renew = now
	}
}

// TokenUnavailable is the reason of the UNAVAILABLE fault of a service that gets no token from the issuer.
const TokenUnavailable = "TOKEN_UNAVAILABLE"

func (s *TokenSource) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *TokenSource) fetch(ctx context.Context) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {ServiceScope}}
	if s.Audience != "" {
		form.Set("audience", s.Audience)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(s.ClientID), url.QueryEscape(s.ClientSecret))
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return "", 0, err
	}
	if res.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("the issuer answered %s", res.Status)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", 0, err
	}
	if answer.AccessToken == "" || answer.ExpiresIn < 1 {
		return "", 0, errors.New("the issuer answered without a token")
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second, nil
}
