package serve_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	dicev1 "github.com/wayfarer-rpg/wayfarer/proto/wayfarer/dice/v1"

	"github.com/wayfarer-rpg/wayfarer/internal/certtest"
	"github.com/wayfarer-rpg/wayfarer/internal/serve"
)

// written writes files of an authority's into a directory, and returns a configuration that reads all of them.
func written(a *certtest.Authority, dir string) serve.TLSConfig {
	f := a.Write(dir)
	return serve.TLSConfig{CA: f.CA, ClientCA: f.CA, Cert: f.Cert, Key: f.Key, Every: time.Nanosecond}
}

// roll makes a new connection with the files, as they are now, and rolls.
func roll(t *testing.T, addr string, files serve.TLSConfig) error {
	t.Helper()
	own, err := serve.NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := serve.Dial(addr, nil, own.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll())
	return err
}

func TestServicesKnowEachOtherByCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs := certtest.New(t), certtest.New(t)
	dir := t.TempDir()
	files := written(ours, dir)
	own, err := serve.NewTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *serve.Config) { c.Creds = own.Server() }, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
		return &dicev1.RollResponse{}, nil
	}})
	stranger := written(theirs, t.TempDir())
	nobody, impostor := files, files
	nobody.Cert, nobody.Key, nobody.ClientCA = "", "", ""
	impostor.Cert, impostor.Key = stranger.Cert, stranger.Key
	plain := serve.TLSConfig{}
	for name, tt := range map[string]struct {
		files serve.TLSConfig
		ok    bool
	}{
		"one of ours":                     {files, true},
		"a client without a certificate":  {nobody, false},
		"a client that a stranger signed": {impostor, false},
		"a client that trusts strangers":  {stranger, false},
		"a client without TLS":            {plain, false},
	} {
		err := roll(t, r.addr, tt.files)
		if (err == nil) != tt.ok || err != nil && status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	// With a client that has been there all the time the files are renewed, by another authority even.
	conn, err := serve.Dial(r.addr, nil, own.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	before := files
	before.CA = filepath.Join(t.TempDir(), "ca.pem")
	old, err := os.ReadFile(files.CA)
	if err == nil {
		err = os.WriteFile(before.CA, old, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	written(theirs, dir)
	if err := roll(t, r.addr, files); err != nil {
		t.Errorf("after the renewal: %v", err)
	}
	if err := roll(t, r.addr, before); err == nil {
		t.Error("after the renewal the server shows its old certificate")
	}
	if _, err := dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll()); err != nil {
		t.Errorf("a client that follows its files: %v", err)
	}
	// What cannot be read is not used.
	if err := os.WriteFile(files.Key, []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.NewTLS(files); err == nil {
		t.Error("a broken key is taken at start")
	}
	good := files
	good.Cert, good.Key = stranger.Cert, stranger.Key
	if err := roll(t, r.addr, good); err != nil {
		t.Errorf("with a broken key on the disk the server goes on with the last good one: %v", err)
	}
}

func TestAProgramKnowsItsOwnServer(t *testing.T) {
	t.Parallel()
	serving := func(files serve.TLSConfig) (*serve.TLS, running) {
		own, err := serve.NewTLS(serve.TLSConfig{Cert: files.Cert, Key: files.Key, Every: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		return own, start(t, func(c *serve.Config) { c.Creds = own.Server() }, dice{roll: func(context.Context, *dicev1.RollRequest) (*dicev1.RollResponse, error) {
			return &dicev1.RollResponse{}, nil
		}})
	}
	dir, authority := t.TempDir(), certtest.New(t)
	own, server := serving(written(authority, dir))
	_, other := serving(written(authority, t.TempDir())) // signed by the same
	call := func(addr string) error {
		conn, err := serve.Dial(addr, nil, own.Self())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, err = dicev1.NewDiceServiceClient(conn).Roll(authorized(t.Context()), goodRoll())
		return err
	}
	if err := call(server.addr); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := call(other.addr); status.Code(err) != codes.Unavailable {
		t.Errorf("another: %v", err)
	}
	written(authority, dir)
	if err := call(server.addr); err != nil {
		t.Errorf("its own after a renewal: %v", err)
	}
}

func TestTLSFilesThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	files := written(certtest.New(t), t.TempDir())
	for name, bad := range map[string]serve.TLSConfig{
		"a certificate without its key": {Cert: files.Cert},
		"a client CA without a server":  {ClientCA: files.ClientCA},
		"a CA that is not there":        {CA: files.CA + ".gone"},
		"a CA that is none":             {CA: files.Key},
		"a key of another's":            {Cert: files.Cert, Key: written(certtest.New(t), t.TempDir()).Key},
	} {
		if _, err := serve.NewTLS(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	none, err := serve.NewTLS(serve.TLSConfig{})
	if err != nil || none.Server() != nil || none.Client() != nil {
		t.Errorf("without files: %v", err)
	}
}
