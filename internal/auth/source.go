package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TokenSource gets a service's own tokens by client credentials and keeps each until shortly before it expires.
type TokenSource struct {
	// URL is the issuer's token endpoint.
	URL string
	// ClientID and ClientSecret are the service's.
	ClientID, ClientSecret string
	// Audience is asked for when it is not empty.
	Audience string
	// Client makes the requests; nil: http.DefaultClient.
	Client *http.Client
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	mu    sync.Mutex
	token string
	renew time.Time
}

// Token returns a token that is good for a while. It fails with UNAVAILABLE when the issuer cannot be asked.
func (s *TokenSource) Token(ctx context.Context) (string, error) {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && now().Before(s.renew) {
		return s.token, nil
	}
	token, lifetime, err := s.fetch(ctx)
	if err != nil {
		return "", status.Errorf(codes.Unavailable, "no token from the issuer: %v", err)
	}
	s.token, s.renew = token, now().Add(lifetime*4/5)
	return token, nil
}

func (s *TokenSource) fetch(ctx context.Context) (string, time.Duration, error) {
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
		return "", 0, fmt.Errorf("the issuer answered without a token")
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second, nil
}
