//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// StartTime is when the process began, in units of the system: only to be compared with another StartTime of the same boot.
func StartTime(pid int) (uint64, error) {
	pr, err := inspect(pid)
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return pr.start, nil
}

// Gone reports whether the process that began at startTime has ended. A dead process that nobody has reaped is gone, and so is
// one whose pid now belongs to another. When nobody can look it is not gone.
func Gone(pid int, startTime uint64) bool {
	pr, err := inspect(pid)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return pr.zombie || pr.start != startTime
}

// KillOrphans kills every process that carries the mark of the turn, after a crash of the process that started it, and returns
// their ids in ascending order. The error is a [*LeftError] when some are still there. This process is spared even when it carries
// the mark.
func KillOrphans(turnID string) (killed []int, err error) {
	if turnID == "" {
		return nil, nil
	}
	s := &sweep{turn: turnID, known: map[int]uint64{}}
	err = s.kill(killTime)
	return slices.Sorted(maps.Keys(s.known)), err
}

// Turns returns the ids of the turns whose mark a process of this machine carries, in ascending order, those under way included. What
// this process was itself started under is not among them, nor what belongs to other users.
func Turns() ([]string, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	own := strings.Split(os.Getenv(Marker), ":")
	found := map[string]bool{}
	for _, pr := range all {
		if pr.zombie || pr.pid == os.Getpid() {
			continue
		}
		value, err := mark(pr.pid)
		if err != nil {
			return nil, err
		}
		for turn := range strings.SplitSeq(value, ":") {
			if turn != "" && !slices.Contains(own, turn) {
				found[turn] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// leaders are the programs that run in this process's care. Being the parent of orphans is a trait of the whole process, so this
// is a variable of the package.
var leaders = &family{pids: map[int]bool{}, dead: map[int]dead{}}

// family tells the programs that Stop will reap from the orphans that nobody else would.
type family struct {
	mu     sync.Mutex
	pids   map[int]bool
	dead   map[int]dead
	looked time.Time
}

type dead struct {
	start uint64
	seen  time.Time
}

// unclaimed is how long a dead child may stand before it counts as an orphan that nobody waits for. Children that other packages
// start are reaped by them at once.
const unclaimed = time.Minute

// start starts the program. The lock is held so that no sweep of another turn takes the program for an orphan.
func (f *family) start(cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	f.pids[cmd.Process.Pid] = true
	return nil
}

func (f *family) remove(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pids, pid)
}

func (f *family) has(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pids[pid]
}

// reapAdopted reaps orphans that ended by themselves: dead children that an earlier look has seen dead. It looks at most every
// half of unclaimed.
func (f *family) reapAdopted(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.Before(f.looked) && now.Before(f.looked.Add(unclaimed/2)) {
		return
	}
	all, err := list()
	if err != nil {
		return // the next turn looks again
	}
	f.looked = now
	self, old := os.Getpid(), f.dead
	f.dead = map[int]dead{}
	for _, pr := range all {
		if pr.parent != self || !pr.zombie || f.pids[pr.pid] {
			continue
		}
		d, seen := old[pr.pid]
		if !seen || d.start != pr.start {
			d = dead{start: pr.start, seen: now}
		}
		if now.Sub(d.seen) >= unclaimed {
			_, _ = unix.Wait4(pr.pid, nil, unix.WNOHANG, nil)
			continue
		}
		f.dead[pr.pid] = d
	}
}
