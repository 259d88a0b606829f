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
	"strconv"
	"strings"
)

// object is a JSON object as REST answers it.
type object map[string]any

// get walks a path of keys and list places such as "run.members.0.exhaustion"; nil when it leads nowhere.
func (o object) get(path string) any {
	var at any = map[string]any(o)
	for _, key := range strings.Split(path, ".") {
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

func (o object) text(path string) string {
	s, _ := o.get(path).(string)
	return s
}

func (o object) number(path string) int {
	n, _ := o.get(path).(float64)
	return int(n)
}

func (o object) flag(path string) bool {
	b, _ := o.get(path).(bool)
	return b
}

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
	if answer.text("access_token") == "" {
		return "", errors.New("the issuer answered without a token")
	}
	return answer.text("access_token"), nil
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
		for _, d := range answer.list("details") {
			if d.text("reason") != "" {
				r.reason = d.text("reason")
			}
			if f := d.text("fieldViolations.0.field"); f != "" {
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
