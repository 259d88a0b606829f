// Package dirlock keeps two programs from working on one data directory at the same time. It owns the lock file in it, which stays
// there; the kernel lets go of the lock when its holder ends, however it ends.
package dirlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// Name is the file in the directory that is locked.
	Name = "wayfarer.lock"
	// wait is how long the file may still be locked by a process that has just been killed.
	wait  = time.Second
	every = 20 * time.Millisecond
)

// Lock makes the directory this process's own until the returned function is called or the process ends, however it ends:
// the kernel lets go of the file then. A directory that another process serves from is refused, by that process's id.
func Lock(ctx context.Context, dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, Name), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator's directory
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	deadline := time.Now().Add(wait)
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s serves from %s already: stop it, or choose another directory by WAYFARER_DATA_DIR", holder(f), dir)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	// Who holds it is for people only: the file stays there, and its text may be of one who is gone.
	if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		return nil, err
	}
	return f.Close, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// holder names the process that holds the lock, as far as it is known.
func holder(f *os.File) string {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0) // an error is the end of the file
	if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil {
		return fmt.Sprintf("process %d", pid)
	}
	return "another process"
}
