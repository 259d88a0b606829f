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
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wayfarer-rpg/wayfarer/internal/auth"
	"github.com/wayfarer-rpg/wayfarer/internal/await"
	"github.com/wayfarer-rpg/wayfarer/internal/fault"
)

// lines are a log that is read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// teller is an issuer whose answers the test decides.
type teller struct {
	asked  atomic.Int64
	answer atomic.Pointer[func(http.ResponseWriter, *http.Request)]
	now    atomic.Int64
	log    lines
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

// renews waits for the end of a request that nobody waits for.
func (tl *teller) renews(t *testing.T, what, token string, asked int64) {
	t.Helper()
	await.Until(t, what, func() (bool, any) {
		got, err := tl.src.Token(t.Context())
		return err == nil && got == token && tl.asked.Load() == asked, fmt.Sprintf("%q, %v after %d requests", got, err, tl.asked.Load())
	})
}

// fails waits until so many failures are in the log.
func (tl *teller) fails(t *testing.T, what, text string, times int) {
	t.Helper()
	await.Until(t, what, func() (bool, any) { return strings.Count(tl.log.String(), text) == times, tl.log.String() })
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
	if got, err := tl.src.Token(t.Context()); err != nil || got != "token-1" {
		t.Errorf("a renewal keeps somebody waiting: %q, %v", got, err)
	}
	tl.renews(t, "after four fifths", "token-2", 2)
	tl.will(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "closed", http.StatusBadGateway) })
	tl.now.Store(1600)
	tl.renews(t, "the issuer is away", "token-2", 3)
	tl.fails(t, "the log tells", "502", 1)
	tl.now.Store(1604)
	tl.want(t, "the issuer was away just now", "token-2", 3)
	tl.now.Store(1605)
	tl.renews(t, "the issuer is still away", "token-2", 4)
	tl.fails(t, "the log tells again", "502", 2)
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
	for range 1000 {
		if _, again := tl.src.Token(t.Context()); fault.ReasonOf(again) != auth.TokenUnavailable || tl.asked.Load() != 5 {
			t.Fatalf("just now there was none: %v after %d requests", again, tl.asked.Load())
		}
	}
	tl.now.Store(1801)
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

	// A renewal keeps nobody waiting.
	tl.now.Store(900)
	goOn = make(chan struct{})
	if got, err := tl.src.Token(t.Context()); err != nil || got != "token-1" {
		t.Errorf("who begins it: %q, %v", got, err)
	}
	await.Value(t, asking, "the request")
	tl.want(t, "while it is under way", "token-1", 2)
	close(goOn)
	tl.renews(t, "after it", "token-2", 2)
}

// TestATokenThatIsRefusedIsRenewed shows that a service whose token's key was withdrawn comes to a new one by itself, however
// many calls were refused meanwhile.
func TestATokenThatIsRefusedIsRenewed(t *testing.T) {
	t.Parallel()
	tl := newTeller(t)
	tl.want(t, "the first", "token-1", 1)
	answer := func(f *fault.Error) {
		t.Helper()
		st, _ := fault.ToStatus(f)
		for range 100 {
			err := tl.src.UnaryClient()(t.Context(), "/x/Y", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return st.Err() })
			if status.Code(err) != st.Code() {
				t.Fatalf("the answer is %v", err)
			}
			s, err := tl.src.StreamClient()(t.Context(), nil, nil, "/x/Y", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
				return fakeStream{err: st.Err()}, nil
			})
			if err != nil || status.Code(s.RecvMsg(nil)) != st.Code() {
				t.Fatalf("the answer to a stream is not %v", st)
			}
		}
	}
	withdrawn := fault.New(fault.Unauthenticated, auth.TokenInvalid, "no")
	tl.now.Store(4)
	answer(withdrawn)
	tl.want(t, "it is of just now", "token-1", 1)
	tl.now.Store(5)
	answer(fault.New(fault.PermissionDenied, "NOT_GM", "no"))
	tl.want(t, "another refusal", "token-1", 1)
	answer(withdrawn)
	tl.renews(t, "it is refused", "token-2", 2)
	tl.will(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "closed", http.StatusBadGateway) })
	tl.now.Store(10)
	answer(withdrawn)
	tl.renews(t, "the issuer is away", "token-2", 3)
	tl.fails(t, "the log tells", "502", 1)
	answer(withdrawn)
	tl.want(t, "the issuer was away just now", "token-2", 3)
}

// TestAnIssuerThatIsAwayIsAskedForAll shows that nobody waits in vain for what somebody else has just waited for in vain.
func TestAnIssuerThatIsAwayIsAskedForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mute := roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		var asked atomic.Int64
		src := &auth.TokenSource{URL: "http://issuer/token", Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			return mute(r)
		})}}
		begin := time.Now()
		var wg sync.WaitGroup
		for i := range 200 {
			time.Sleep(10 * time.Millisecond)
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(5+i%2*25)*time.Second)
				defer cancel()
				_, err := src.Token(ctx)
				if hasty := i%2 == 0; hasty && status.Code(err) != codes.DeadlineExceeded || !hasty && fault.ReasonOf(err) != auth.TokenUnavailable {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if n, took := asked.Load(), time.Since(begin); n != 1 || took > 11*time.Second {
			t.Errorf("%d requests, %v", n, took)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWhoeverGivesUpLosesNothing(t *testing.T) {
	t.Parallel()
	tl := newTeller(t)
	asking, goOn := make(chan struct{}), make(chan struct{})
	tl.will(func(w http.ResponseWriter, r *http.Request) {
		asking <- struct{}{}
		<-goOn
		tl.good(w, r)
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
	close(goOn)
	tl.want(t, "the next has what was asked for", "token-1", 1)
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
