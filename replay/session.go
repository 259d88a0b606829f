package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	partyv1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/party/v1"
)

// Config says which server is played on, and as whom.
type Config struct {
	// URL is where the server's REST is, without a path.
	URL string
	// Token is the bearer token of a user, who becomes the owner of the campaigns that are made.
	Token string
	// ID goes into the names of the campaigns, so that no two replays meet: 1 to 40 of a-z, 0-9 and -.
	ID string
	// Client sends the requests. Nil: http.DefaultClient.
	Client *http.Client
}

// session calls a server's REST.
type session struct {
	Config
	calls int
}

func newSession(cfg Config) (*session, error) {
	if cfg.URL == "" || cfg.Token == "" || cfg.ID == "" {
		return nil, errors.New("replay: a server needs its address, a token and an id")
	}
	cfg.URL = strings.TrimSuffix(cfg.URL, "/")
	if cfg.Client == nil {
		cfg.Client = http.DefaultClient
	}
	return &session{Config: cfg}, nil
}

// Refusal is an answer of the server that is no success.
type Refusal struct {
	// HTTP is the status code, Reason the refusal's name, such as "NOT_ALL_ACTED"; Field is the request field at fault.
	HTTP          int
	Reason, Field string
	Message       string
}

// Error returns reason and message as the rules would.
func (r *Refusal) Error() string { return r.Reason + ": " + r.Message }

// tries bounds how often a call is sent that the server is not up to at the moment. Its request_id makes that safe.
const tries = 6

// post sends a command to a path below /v1/ and reads the answer into res. The request gets a request_id of its own if it
// takes one and has none. It fails with a *Refusal when the server refuses.
func (s *session) post(ctx context.Context, path string, req, res proto.Message) error {
	m := req.ProtoReflect()
	if fd := m.Descriptor().Fields().ByName("request_id"); fd != nil && m.Get(fd).String() == "" {
		s.calls++
		m.Set(fd, protoreflect.ValueOfString(fmt.Sprintf("replay-%s-%d", s.ID, s.calls)))
	}
	body, err := protojson.Marshal(req)
	if err != nil {
		return err
	}
	return s.send(ctx, http.MethodPost, path, body, res)
}

// get reads a resource.
func (s *session) get(ctx context.Context, path string, res proto.Message) error {
	return s.send(ctx, http.MethodGet, path, nil, res)
}

func (s *session) send(ctx context.Context, method, path string, body []byte, res proto.Message) error {
	wait := 100 * time.Millisecond
	for try := 1; ; try++ {
		raw, code, err := s.once(ctx, method, path, body)
		if err != nil {
			return err
		}
		if code == http.StatusOK {
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, res); err != nil {
				return fmt.Errorf("%s %s: %w", method, path, err)
			}
			return nil
		}
		refusal := refusalOf(code, raw)
		if (code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests && refusal.Reason != "STREAM_BUSY") || try == tries {
			return refusal
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
			wait *= 2
		}
	}
}

func (s *session) once(ctx context.Context, method, path string, body []byte) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.Client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return raw, res.StatusCode, err
}

// refusalOf reads a google.rpc.Status as REST answers it.
func refusalOf(code int, raw []byte) *Refusal {
	var status struct {
		Message string `json:"message"`
		Details []struct {
			Reason          string `json:"reason"`
			FieldViolations []struct {
				Field       string `json:"field"`
				Description string `json:"description"`
			} `json:"fieldViolations"`
		} `json:"details"`
	}
	r := &Refusal{HTTP: code, Reason: http.StatusText(code), Message: strings.TrimSpace(string(raw))}
	if json.Unmarshal(raw, &status) != nil || status.Message == "" {
		return r
	}
	r.Message = status.Message
	for _, d := range status.Details {
		if d.Reason != "" {
			r.Reason = d.Reason
		}
		for _, v := range d.FieldViolations {
			if r.Field == "" {
				r.Field = v.Field
			}
		}
	}
	return r
}

// campaign makes the campaign of the transcript at a place in the file.
func (s *session) campaign(ctx context.Context, i int, title string) (string, error) {
	id := fmt.Sprintf("replay-%s-%d", s.ID, i+1)
	if title = strings.TrimSpace(title); title == "" {
		title = id
	}
	if runes := []rune(title); len(runes) > 200 {
		title = string(runes[:200])
	}
	c := &partyv1.Campaign{}
	err := s.post(ctx, "campaigns", &partyv1.CreateCampaignRequest{CampaignId: id, Title: title}, c)
	return "campaigns/" + id, err
}

// character is the resource name of the member at a place in the file: names in a file need not be ids.
func character(campaign string, i int) string {
	return fmt.Sprintf("%s/characters/member-%d", campaign, i+1)
}

// i32 makes a number of the contract. One that does not fit is far outside of every range that a server accepts.
func i32(n int) int32 {
	switch {
	case n > 1<<30:
		return 1 << 30
	case n < -1<<30:
		return -1 << 30
	}
	return int32(n)
}

// jsonOf writes a value as JSON, numbers as they were read.
func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }

func i32s(list []int) []int32 {
	var out []int32
	for _, n := range list {
		out = append(out, i32(n))
	}
	return out
}
