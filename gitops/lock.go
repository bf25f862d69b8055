package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleAfter is how old the lock on a task's branch or on a ref of ours is before nobody can hold it any more: git has it for
// milliseconds, behind the editor of a commit, and a coordinator that takes a task over cannot wait for long.
const staleAfter = 10 * time.Second

// maxLocks is how many locks of refs one command may find.
const maxLocks = 20

// branchLock is the lock on a branch.
func (r *repo) branchLock(branch string) string {
	return filepath.Join(r.common, "refs", "heads", filepath.FromSlash(branch)) + ".lock"
}

// lockOf is the lock on a ref of ours that a command could not have, "" when it ended otherwise. A command whose input is read once cannot be
// run again.
func (c *call) lockOf(err error) string {
	e, failed := errors.AsType[*exitError](err)
	if !failed || !c.write || c.from != nil || c.to != nil {
		return ""
	}
	_, lock, there := strings.Cut(e.stderr, "Unable to create '")
	lock, _, ended := strings.Cut(lock, "': File exists")
	if !there || !ended || !strings.HasSuffix(lock, ".lock") || !strings.HasPrefix(filepath.Clean(lock), filepath.Join(c.gitDir, "refs", "arbiter")+"/") {
		return ""
	}
	return lock
}

// dropStaleLock waits for a lock, of a person's git or of one that is just being ended, and removes one that a killed git left.
func (g *Git) dropStaleLock(ctx context.Context, lock string) error {
	var first, until time.Time // by this machine's clock alone, should that of the disk be another
	for {
		info, err := os.Stat(lock)
		if err != nil { // what else is wrong with it, git says
			return nil
		}
		if !info.ModTime().Equal(first) {
			first, until = info.ModTime(), time.Now().Add(staleAfter)
		}
		if time.Since(first) > staleAfter || time.Now().After(until) {
			g.log.Warn("stale lock of a ref removed", "lock", lock)
			_ = os.Remove(lock)
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
