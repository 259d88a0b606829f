package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object as REST takes and answers it.
type object map[string]any

// get walks a path of keys and list places such as "run.members.0.exhaustion"; nil when it leads nowhere.
func (o object) get(path string) any {
	var at any = map[string]any(o)
	for key := range strings.SplitSeq(path, ".") {
		switch x := at.(type) {
		case map[string]any:
			at = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil
			}
			at = x[i]
		default:
			return nil
		}
	}
	return at
}

func (o object) text(path string) string { s, _ := o.get(path).(string); return s }
func (o object) number(path string) int  { n, _ := o.get(path).(float64); return int(n) }

func (o object) list(path string) []object {
	raw, _ := o.get(path).([]any)
	out := make([]object, 0, len(raw))
	for _, x := range raw {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// answer is what came of a call.
type answer struct {
	// code is HTTP's; 0 when nothing came.
	code   int
	body   object
	reason string
}

func (a answer) ok() bool { return a.code == http.StatusOK }

// doubtful tells whether the call may have been carried out all the same.
func (a answer) doubtful() bool {
	return a.code == 0 || a.code == http.StatusRequestTimeout || a.code == 499 || a.code >= http.StatusInternalServerError
}

func (a answer) String() string { return fmt.Sprintf("HTTP %d %s %v", a.code, a.reason, a.body) }

// client calls REST.
type client struct {
	base string
	http http.Client
}

func newClient(base string) *client {
	return &client{base: base, http: http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}}
}

// token logs a user in.
func token(ctx context.Context, issuer, user string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {"wayfarer"}}
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
	var o object
	if err := json.NewDecoder(res.Body).Decode(&o); err != nil || o.text("access_token") == "" {
		return "", fmt.Errorf("log %s in: %s, %w", user, res.Status, err)
	}
	return o.text("access_token"), nil
}

// call sends a request; a nil body is a GET.
func (c *client) call(ctx context.Context, token, path string, body object) answer {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			panic(err) // made here
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
		return answer{reason: err.Error()}
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{reason: err.Error()}
	}
	a := answer{code: res.StatusCode}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		return answer{reason: "no JSON: " + err.Error()}
	}
	for _, d := range a.body.list("details") {
		if r := d.text("reason"); r != "" {
			a.reason = r
		}
	}
	return a
}

// watch reads the records of something, up to the given one.
func (c *client) watch(ctx context.Context, token, name string, through int) ([]object, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
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
	var out []object
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 64<<20)
	for len(out) < through && lines.Scan() {
		var line object
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
