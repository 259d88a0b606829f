package dirlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wayfarer-rpg/wayfarer/internal/dirlock"
)

func TestADirectoryIsLockedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	unlock, err := dirlock.Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dirlock.Lock(t.Context(), dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d serves from %s already", os.Getpid(), dir)) {
		t.Errorf("a second lock: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dirlock.Lock(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was ended: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := dirlock.Lock(t.Context(), dir)
	if err != nil {
		t.Fatalf("after the end of the first: %v", err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	if _, err := dirlock.Lock(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
