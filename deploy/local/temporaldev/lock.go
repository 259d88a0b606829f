package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lock takes the file beside the database that tells that a server works on it: two on one database would each take the
// other's shards. It waits for a server that is about to end, no longer than wait. The kernel lets go of the lock when
// the process ends, however that comes.
func lock(ctx context.Context, db string, wait time.Duration) error {
	f, err := os.OpenFile(db+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = retry(ctx, func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
	if err != nil {
		by := "another server"
		if raw, rerr := os.ReadFile(db + ".lock"); rerr == nil {
			if pid, perr := strconv.Atoi(strings.TrimSpace(string(raw))); perr == nil {
				by = fmt.Sprintf("process %d", pid)
			}
		}
		return errors.Join(fmt.Errorf("%s is used by %s: %w", db, by, err), f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	held = f
	return err
}

// held keeps the lock: a file that nobody refers to is closed as garbage.
var held *os.File
