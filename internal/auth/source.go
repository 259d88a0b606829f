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

// TokenSource gets a service's own tokens by client credentials. It renews each after four fifths of its life, and goes on
// with the old one for as long as that is good and the issuer cannot be asked. It is safe for concurrent use: one caller
// asks the issuer, the others wait no longer than they have time.
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
	turn   chan struct{} // holds one entry while somebody asks the issuer
	token  string
	renew  time.Time
	expiry time.Time
}

const (
	fetchTimeout = 10 * time.Second
	// retryAfter is how long the old token is used after a renewal that failed.
	retryAfter = 5 * time.Second
)

// Token returns a token that is good for a while. It fails with UNAVAILABLE TOKEN_UNAVAILABLE when the issuer gives none,
// and with the context's error when that ends first.
func (s *TokenSource) Token(ctx context.Context) (string, error) {
	token, good, fresh, turn := s.state()
	if fresh {
		return token, nil
	}
	if good { // somebody else may be renewing it, which is no reason to wait
		select {
		case turn <- struct{}{}:
		default:
			return token, nil
		}
	} else {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return "", status.FromContextError(ctx.Err()).Err()
		}
	}
	defer func() { <-turn }()
	if token, good, fresh, _ = s.state(); fresh { // the one before has just got it
		return token, nil
	}
	renewed, lifetime, err := s.fetch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		now := s.now()
		s.token, s.renew, s.expiry = renewed, now.Add(lifetime*4/5), now.Add(lifetime)
		return renewed, nil
	}
	if s.Logger != nil {
		s.Logger.WarnContext(ctx, "no token from the issuer", "url", s.URL, "err", err)
	}
	switch {
	case good:
		s.renew = s.now().Add(retryAfter)
		return token, nil
	case ctx.Err() != nil:
		return "", status.FromContextError(ctx.Err()).Err()
	}
	return "", fault.New(fault.Unavailable, "TOKEN_UNAVAILABLE", "the issuer gives this service no token").Wrap(err)
}

func (s *TokenSource) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// state tells whether the token is still good, and whether it need not even be renewed.
func (s *TokenSource) state() (token string, good, fresh bool, turn chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		s.turn = make(chan struct{}, 1)
	}
	now := s.now()
	good = s.token != "" && now.Before(s.expiry)
	return s.token, good, good && now.Before(s.renew), s.turn
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
