// Package rest calls the REST edge as any client does: JSON objects in, JSON objects out, with a token. It owns what a client
// can and cannot know of a call that got no answer.
package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/wayfarer-rpg/wayfarer/internal/jsonobject"
)

// Object is a JSON object as REST takes and answers it.
type Object = jsonobject.Object

// Answer is what came of a call.
type Answer struct {
	// Code is HTTP's; 0 when nothing came.
	Code int
	Body Object
	// Reason is the refusal's, or why nothing came.
	Reason string
}

// OK tells that the call did what it was to do.
func (a Answer) OK() bool { return a.Code == http.StatusOK }

// Doubtful tells whether the call may have been carried out all the same.
func (a Answer) Doubtful() bool {
	return a.Code == 0 || a.Code == http.StatusRequestTimeout || a.Code == 499 || a.Code >= http.StatusInternalServerError
}

// Busy tells that others were faster, time and again: nothing was done, and the same call may do it now.
func (a Answer) Busy() bool { return a.Reason == "STREAM_BUSY" }

// String implements fmt.Stringer.
func (a Answer) String() string { return fmt.Sprintf("HTTP %d %s %v", a.Code, a.Reason, a.Body) }

// Client calls REST. It is safe for concurrent use.
type Client struct {
	base string
	http http.Client
}

// callTime is how long a call may take, longer than the edge gives it: what is not answered then never is.
const callTime = 40 * time.Second

// New returns a client of the edge at a URL without a slash at the end. A nil transport is one of its own.
func New(base string, via http.RoundTripper) *Client {
	if via == nil {
		via = &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}
	}
	return &Client{base: base, http: http.Client{Timeout: callTime, Transport: via}}
}

// Login returns a token of the development issuer at a URL for one of its users.
func Login(ctx context.Context, issuer, user, password string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, issuer+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var o Object
	if err := json.NewDecoder(res.Body).Decode(&o); err != nil || o.Text("access_token") == "" {
		return "", fmt.Errorf("log %s in: %s, %w", user, res.Status, err)
	}
	return o.Text("access_token"), nil
}

// Call sends a request to a path below /v1/; a nil body is a GET.
func (c *Client) Call(ctx context.Context, token, path string, body Object) Answer {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			panic(err) // made by this program
		}
		method, reader = http.MethodPost, bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/v1/"+path, reader)
	if err != nil {
		panic(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{Reason: err.Error()}
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{Reason: err.Error()}
	}
	a := Answer{Code: res.StatusCode}
	if err := json.Unmarshal(raw, &a.Body); err != nil {
		return Answer{Reason: "no JSON: " + err.Error()}
	}
	for _, d := range a.Body.List("details") {
		if r := d.Text("reason"); r != "" {
			a.Reason = r
		}
	}
	return a
}

// Steady calls until an answer comes that is one, and waits a while after each that is none. It fails when ctx ends first.
func (c *Client) Steady(ctx context.Context, token, path string, body Object) (Answer, error) {
	for {
		a := c.Call(ctx, token, path, body)
		if !a.Doubtful() && !a.Busy() {
			return a, nil
		}
		if !Pause(ctx, 200*time.Millisecond) {
			return a, fmt.Errorf("%s does not come to rest: %v", path, a)
		}
	}
}

// Pause waits; it tells false when ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Watch reads the records of something up to the given one. An error that is repeated may go away.
func (c *Client) Watch(ctx context.Context, token, name string, through int) ([]Object, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/"+name+":watch", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	var out []Object
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 64<<20)
	for len(out) < through && lines.Scan() {
		var line Object
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, err
		}
		if line["error"] != nil || line["code"] != nil {
			return nil, fmt.Errorf("watch %s: %v", name, line)
		}
		out = append(out, line)
	}
	if len(out) < through {
		return out, fmt.Errorf("watch %s: %d of %d records, %w", name, len(out), through, lines.Err())
	}
	return out, nil
}
