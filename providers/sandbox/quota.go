//go:build linux || darwin

package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The pace of looking at the disk: how full it is costs nothing to ask, a walk through the folders does.
const (
	quotaBeat  = 250 * time.Millisecond
	quotaWalk  = 2 * time.Second
	quotaShare = 20 // a walk takes at most one part in so many of the time
)

// quota watches what the folders of a turn hold.
type quota struct {
	dirs  []string
	most  int64
	base  int64
	full  func() // called when they hold too much
	end   context.CancelFunc
	ended sync.WaitGroup
}

// watchQuota begins to watch. begun waits until it is known what the folders held before.
func watchQuota(most int64, full func(), dirs ...string) (q *quota, begun func()) {
	ctx, cancel := context.WithCancel(context.Background())
	q = &quota{dirs: dirs, most: most, full: full, end: cancel}
	known := make(chan struct{})
	q.ended.Go(func() {
		free, began := q.free(), time.Now()
		q.base = q.size(ctx)
		close(known)
		q.watch(ctx, free, time.Since(began))
	})
	return q, func() { <-known }
}

// watch walks through the folders now and then, and at once when the disk became fuller by much.
func (q *quota) watch(ctx context.Context, free int64, took time.Duration) {
	tick := time.NewTicker(quotaBeat)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := q.free()
		if free-now < q.most/4 && time.Since(last) < max(quotaWalk, quotaShare*took) {
			continue
		}
		began := time.Now()
		if q.size(ctx)-q.base > q.most {
			q.full()
			return
		}
		free, last, took = now, time.Now(), time.Since(began)
	}
}

// close ends the watch.
func (q *quota) close() {
	q.end()
	q.ended.Wait()
}

// free is how much room the disks of the folders have.
func (q *quota) free() (sum int64) {
	for _, d := range q.dirs {
		var st unix.Statfs_t
		if unix.Statfs(d, &st) == nil {
			sum += int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // their types differ between systems
		}
	}
	return sum
}

// size is what the folders take of the disk. What vanishes meanwhile counts for nothing.
func (q *quota) size(ctx context.Context) (sum int64) {
	for _, d := range q.dirs {
		_ = filepath.WalkDir(d, func(_ string, e fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			if err != nil {
				return nil //nolint:nilerr // see above
			}
			if info, err := e.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					sum += st.Blocks * 512
				}
			}
			return nil
		})
	}
	return sum
}

// FullError says that the folders of a turn hold more than they may.
type FullError struct{ Most int64 }

// Error names the bound.
func (e *FullError) Error() string {
	return fmt.Sprintf("the folder of the task and the agent's home grew by more than %d MB in this turn, which is all that they may (disk in the configuration)", (e.Most+999_999)/1_000_000)
}
