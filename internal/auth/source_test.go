package auth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// teller is an issuer whose answers the test decides.
type teller struct {
	asked  atomic.Int64
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request)]
	now    atomic.Int64
	log    bytes.Buffer
	src    *auth.TokenSource
}

func (tl *teller) will(f func(http.ResponseWriter, *http.Request)) { tl.answer.Store(&f) }

// good gives token-1, token-2, … for 1,000 seconds each.
func (tl *teller) good(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(w, `{"access_token": "token-%d", "expires_in": 1000}`, tl.asked.Load())
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	tl := &teller{}
	tl.will(tl.good)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tl.asked.Add(1)
		(*tl.answer.Load())(w, r)
	}))
	t.Cleanup(srv.Close)
	tl.src = &auth.TokenSource{
		URL: srv.URL, ClientID: "travel", ClientSecret: "swordfish", Audience: "wayfarer",
		Logger: slog.New(slog.NewTextHandler(&tl.log, nil)), Now: func() time.Time { return time.Unix(tl.now.Load(), 0) },
	}
	return tl
}

func (tl *teller) want(t *testing.T, what, token string, asked int64) {
	t.Helper()
	got, err := tl.src.Token(t.Context())
	if err != nil || got != token || tl.asked.Load() != asked {
		t.Errorf("%s: %q, %v after %d requests, want %q after %d", what, got, err, tl.asked.Load(), token, asked)
	}
}

func TestTokensAreKeptAndRenewedEarly(t *testing.T) {
	t.Parallel()
	tl := newTeller(t)
	tl.will(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "travel" || secret != "swordfish" || r.FormValue("grant_type") != "client_credentials" ||
			r.FormValue("scope") != auth.ServiceScope || r.FormValue("audience") != "wayfarer" {
			t.Errorf("request %q %q %v", id, secret, r.Form)
		}
		tl.good(w, r)
	})
	tl.want(t, "the first", "token-1", 1)
	tl.now.Store(799)
	tl.want(t, "before four fifths", "token-1", 1)
	tl.now.Store(800)
	tl.want(t, "after four fifths", "token-2", 2)
	tl.will(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "closed", http.StatusBadGateway) })
	tl.now.Store(1600)
	tl.want(t, "the issuer is away", "token-2", 3)
	tl.now.Store(1604)
	tl.want(t, "the issuer was away just now", "token-2", 3)
	tl.now.Store(1605)
	tl.want(t, "the issuer is still away", "token-2", 4)
	tl.now.Store(1800)
	_, err := tl.src.Token(t.Context())
	if fault.KindOf(err) != fault.Unavailable || fault.ReasonOf(err) != "TOKEN_UNAVAILABLE" {
		t.Errorf("after the end of the old one: %v", err)
	}
	if status.Code(err) != codes.Unavailable || strings.Contains(status.Convert(err).Message(), "502") {
		t.Errorf("as a status: %v", status.Convert(err))
	}
	if n := strings.Count(tl.log.String(), "502"); n != 3 || strings.Contains(tl.log.String(), "swordfish") {
		t.Errorf("log: %s", tl.log.String())
	}
	tl.will(tl.good)
	tl.want(t, "the issuer is back", "token-6", 6)
}

func TestAnswersWithoutATokenAreRefused(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":      `<html>`,
		"no token":     `{"expires_in": 10}`,
		"no lifetime":  `{"access_token": "x"}`,
		"a past token": `{"access_token": "x", "expires_in": -1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tl := newTeller(t)
			tl.will(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			if got, err := tl.src.Token(t.Context()); fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestOneAsksForAll(t *testing.T) {
	t.Parallel()
	tl := newTeller(t)
	asking, goOn := make(chan struct{}), make(chan struct{})
	tl.will(func(w http.ResponseWriter, r *http.Request) {
		asking <- struct{}{}
		<-goOn
		tl.good(w, r)
	})
	var wg sync.WaitGroup
	get := func() {
		wg.Go(func() {
			if got, err := tl.src.Token(t.Context()); err != nil || got != "token-1" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	get()
	await.Value(t, asking, "the request")
	for range 20 {
		get()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tl.src.Token(gone); status.Code(err) != codes.Canceled {
		t.Errorf("who cannot wait: %v", err)
	}
	close(goOn)
	wg.Wait()
	if n := tl.asked.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}

	// A renewal keeps nobody waiting but the one who asks.
	tl.now.Store(900)
	goOn = make(chan struct{})
	renewed := make(chan string)
	go func() {
		got, _ := tl.src.Token(context.WithoutCancel(t.Context()))
		renewed <- got
	}()
	await.Value(t, asking, "the request")
	tl.want(t, "while another renews", "token-1", 2)
	close(goOn)
	if got := await.Value(t, renewed, "the renewal"); got != "token-2" {
		t.Errorf("renewed: %q", got)
	}
}

func TestWhoeverGivesUpLosesNothing(t *testing.T) {
	t.Parallel()
	tl := newTeller(t)
	asking := make(chan struct{}, 1)
	tl.will(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees a caller leave only then
		asking <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := tl.src.Token(ctx)
		done <- err
	}()
	await.Value(t, asking, "the request")
	cancel()
	if err := await.Value(t, done, "the end of the wait"); status.Code(err) != codes.Canceled {
		t.Errorf("a caller who left: %v", err)
	}
	tl.will(tl.good)
	tl.want(t, "the next", "token-2", 2)
}

type fakeStream struct {
	grpc.ClientStream
	err error
}

func (f fakeStream) RecvMsg(any) error { return f.err }

func TestARefusedServiceTokenIsNotTheUsersFault(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Unauthenticated, auth.TokenExpired, "expired")
	impostor := fault.New(fault.PermissionDenied, auth.ActorNotAllowed, "no")
	other := fault.New(fault.PermissionDenied, "NOT_GM", "no")
	for name, tc := range map[string]struct {
		err    error
		kind   fault.Kind
		reason string
	}{
		"the token is refused":    {refused, fault.Internal, auth.TokenRefused},
		"the actor is refused":    {impostor, fault.Internal, auth.TokenRefused},
		"another refusal":         {other, fault.PermissionDenied, "NOT_GM"},
		"an error without status": {errors.New("x"), fault.Internal, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := tc.err
			if st, known := fault.ToStatus(tc.err); known {
				wire = st.Err()
			}
			unary := auth.UnaryClient()(t.Context(), "/x/Y", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return wire })
			_, opened := auth.StreamClient()(t.Context(), nil, nil, "/x/Y", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				return nil, wire
			})
			s, err := auth.StreamClient()(t.Context(), nil, nil, "/x/Y", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				return fakeStream{err: wire}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for how, got := range map[string]error{"unary": unary, "open": opened, "receive": s.RecvMsg(nil)} {
				got = fault.FromStatus(got)
				if fault.KindOf(got) != tc.kind || fault.ReasonOf(got) != tc.reason {
					t.Errorf("%s: %v", how, got)
				}
			}
		})
	}
	s, err := auth.StreamClient()(t.Context(), nil, nil, "/x/Y", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return fakeStream{err: io.EOF}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.RecvMsg(nil); got != io.EOF { //nolint:errorlint // callers compare it so
		t.Errorf("the end of a stream: %v", got)
	}
}
