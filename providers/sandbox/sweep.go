//go:build linux || darwin

package sandbox

import (
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one process. Pid and start together name it for as long as the machine runs.
type proc struct {
	name                        string // on Linux
	pid, parent, group, session int
	// start is when it began, in units of the system: only to be compared.
	start  uint64
	zombie bool
}

// sweep finds the processes of one turn. It remembers what it has found, so that a process stays known when its parent has gone.
type sweep struct {
	turn string
	// leader is the program's process, 0 when only the marker is known; nothing older than start is the turn's.
	leader int
	start  uint64
	exited <-chan struct{}
	dirs   []string
	pipes  []string
	known  map[int]uint64
}

func (p *Process) sweep() *sweep {
	return &sweep{
		turn: p.turn, leader: p.PID(), start: p.start, exited: p.exited, dirs: p.dirs, pipes: p.pipes,
		known: map[int]uint64{},
	}
}

// left returns the living processes of the turn, the program itself included. Dead ones that are children of this process are
// reaped, except the program. An error means that nobody could look: there may be some.
func (s *sweep) left() ([]proc, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	owned, err := s.owned(all)
	if err != nil {
		return nil, err
	}
	var living []proc
	for _, pr := range all {
		if pr.zombie && pr.name == "bwrap" && pr.parent == os.Getpid() && !leaders.has(pr.pid) {
			// The first process of a cage that has ended, which nobody waits for.
			_, _ = unix.Wait4(pr.pid, nil, unix.WNOHANG, nil)
		}
		if !owned[pr.pid] {
			continue
		}
		s.known[pr.pid] = pr.start
		switch {
		case !pr.zombie:
			living = append(living, pr)
		case pr.pid != s.leader && pr.parent == os.Getpid():
			_, _ = unix.Wait4(pr.pid, nil, unix.WNOHANG, nil)
		}
	}
	return living, nil
}

// owned says which of all processes are the turn's: the program, its session, what was known before, what carries the marker,
// unmarked orphans that work in its folders or hold its pipes, and all descendants and sessions of those.
func (s *sweep) owned(all []proc) (map[int]bool, error) {
	session, _ := unix.Getsid(0)
	owned, alive := map[int]bool{}, map[int]bool{}
	for _, pr := range all {
		alive[pr.pid] = true
		if !s.candidate(pr) {
			continue
		}
		mine, err := s.claims(pr, session)
		if err != nil {
			return nil, err
		}
		if mine {
			owned[pr.pid] = true
		}
	}
	sessions := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, pr := range all {
			// A session is the turn's when its first process is, or has gone. 0 is a session outside this PID namespace.
			if owned[pr.pid] && pr.session != session && pr.session != 0 && (owned[pr.session] || !alive[pr.session]) {
				sessions[pr.session] = true
			}
		}
		for _, pr := range all {
			if !owned[pr.pid] && s.candidate(pr) && (owned[pr.parent] || sessions[pr.session]) {
				owned[pr.pid], grown = true, true
			}
		}
	}
	return owned, nil
}

// candidate reports whether the process can be the turn's: it is not this one, not older than the turn, and not the program of
// another turn, which that turn's Stop reaps.
func (s *sweep) candidate(pr proc) bool {
	return pr.pid != os.Getpid() && pr.start >= s.start && (pr.pid == s.leader || !leaders.has(pr.pid))
}

// claims reports whether the process is the turn's by itself, whatever its family. session is that of this process.
func (s *sweep) claims(pr proc, session int) (bool, error) {
	if s.leader != 0 && (pr.pid == s.leader || pr.session == s.leader) {
		return true, nil
	}
	if start, known := s.known[pr.pid]; known && start == pr.start {
		return true, nil
	}
	if pr.zombie {
		return false, nil
	}
	value, err := mark(pr.pid)
	if err != nil || value != "" {
		return marked(value, s.turn), err
	}
	if pr.parent != os.Getpid() || pr.session == session {
		return false, nil
	}
	return worksIn(pr.pid, s.dirs, s.pipes)
}

// signal sends sig to the group of the program and to each of the processes outside it.
func (s *sweep) signal(procs []proc, sig unix.Signal) {
	if s.leader != 0 {
		// The program is not reaped yet, so the group is still its own. It may be empty.
		_ = unix.Kill(-s.leader, sig)
	}
	for _, pr := range procs {
		if s.leader == 0 || pr.group != s.leader {
			// A process that cannot be signalled stays in left and is reported.
			_ = send(pr, sig)
		}
	}
}

// wait returns when nothing is left or the time is over.
func (s *sweep) wait(limit time.Duration) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	if s.leader != 0 {
		select {
		case <-s.exited:
		case <-deadline.C:
			return
		}
	}
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if left, err := s.left(); err == nil && len(left) == 0 {
			return
		}
		select {
		case <-deadline.C:
			return
		case <-time.After(pause):
		}
	}
}

// kill kills until two looks in a row find nothing, since a process that forks and ends all the time can hide from one. When the
// time is over it returns what is left, as a [*LeftError].
func (s *sweep) kill(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	clean := 0
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left, err := s.left()
		if len(left) > 0 || err != nil {
			clean = 0
			s.signal(left, unix.SIGKILL)
			if time.Now().After(deadline) {
				return &LeftError{Turn: s.turn, PIDs: pids(left), Err: err}
			}
		} else if clean++; clean == 2 {
			s.reap()
			return nil
		}
		time.Sleep(pause)
	}
}

// reap takes the dead among the known that are children of this process.
func (s *sweep) reap() {
	for pid, start := range s.known {
		if pr, err := inspect(pid); err == nil && pid != s.leader && pr.start == start && pr.zombie && pr.parent == os.Getpid() {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// pids are the ids of the processes, ascending, each once.
func pids(procs []proc) []int {
	set := map[int]bool{}
	for _, pr := range procs {
		set[pr.pid] = true
	}
	return slices.Sorted(maps.Keys(set))
}
