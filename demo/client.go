package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/wayfarer-rpg/wayfarer/internal/jsonobject"
)

// object is a JSON object as REST answers it.
type object = jsonobject.Object

// refusal is an answer other than 200.
type refusal struct {
	code   int
	reason string
	field  string
	body   string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("HTTP %d %s: %s", r.code, r.reason, strings.TrimSpace(r.body))
}

// client calls REST and nothing else.
type client struct {
	base string
	http *http.Client
}

// token gets a demo user's token from the development issuer.
func (c *client) token(ctx context.Context, user, password string) (string, error) {
	form := url.Values{"grant_type": {"password"}, "username": {user}, "password": {password}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/dev/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := c.do(req)
	if err != nil {
		return "", err
	}
	if answer.Text("access_token") == "" {
		return "", errors.New("the issuer answered without a token")
	}
	return answer.Text("access_token"), nil
}

// call sends a request as somebody. A nil body is a GET.
func (c *client) call(ctx context.Context, token, path string, body any) (object, error) {
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		method, reader = http.MethodPost, bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/v1/"+path, reader)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	return c.do(req)
}

func (c *client) do(req *http.Request) (object, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var answer object
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s %s: HTTP %d, and no JSON: %.200s", req.Method, req.URL.Path, res.StatusCode, raw)
	}
	if res.StatusCode != http.StatusOK {
		r := &refusal{code: res.StatusCode, body: string(raw)}
		for _, d := range answer.List("details") {
			if d.Text("reason") != "" {
				r.reason = d.Text("reason")
			}
			if f := d.Text("fieldViolations.0.field"); f != "" {
				r.field = f
			}
		}
		return nil, r
	}
	return answer, nil
}

// watch reads a stream of records to its end, as one JSON object a line.
func (c *client) watch(ctx context.Context, token, name string) ([]object, error) {
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
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch %s: HTTP %d", name, res.StatusCode)
	}
	var out []object
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line object
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("watch %s: %w", name, err)
		}
		if line["error"] != nil {
			return nil, fmt.Errorf("watch %s: %v", name, line["error"])
		}
		out = append(out, line)
	}
	return out, lines.Err()
}
