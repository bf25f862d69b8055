package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const lockName = "store.lock"

// holder is what the lock file says of the process that holds it.
type holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Version string    `json:"version,omitempty"`
	Work    string    `json:"work,omitempty"`
}

// lock is the claim of one process on a data directory. It ends with the process at the latest.
type lock struct {
	file *flock.Flock
	path string
}

func hold(dir, version, work string) (*lock, error) {
	l := &lock{path: filepath.Join(dir, lockName)}
	l.file = flock.New(l.path, flock.SetPermissions(0o600))
	if err := l.take(dir); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	h := holder{PID: os.Getpid(), Host: host, Started: time.Now().UTC().Truncate(time.Second), Version: version, Work: work}
	if err := h.write(l.path); err != nil {
		_ = l.file.Unlock() // nothing was done under it
		return nil, err
	}
	return l, nil
}

// holderSize is what the file is filled up to, so that who reads while it is written anew finds one holder or the other, and a full disk has
// room for it.
const holderSize = 512

func (h *holder) write(path string) error {
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	text = append(text, bytes.Repeat([]byte("\n"), max(1, holderSize-len(text)))...)
	if _, err = f.Write(text); err == nil {
		err = f.Truncate(int64(len(text)))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Working says what this process, which has the data directory open or claimed, does there from now on, for those who ask [Holder].
func Working(dir, work string) error {
	path := filepath.Join(dir, lockName)
	h, ok := readHolder(path)
	if !ok || h.PID != os.Getpid() {
		return fmt.Errorf("data directory %s is not held by this process", dir)
	}
	h.Work = work
	return h.write(path)
}

// Claim makes this process the only one at work in a data directory whose journal is elsewhere. Version and work are as in [Options].
// Somebody else's claim, or journal, is a *[HeldError]. release gives it up.
func Claim(dir, version, work string) (release func() error, err error) {
	l, err := hold(dir, version, work)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// take locks the file. Somebody who holds it without a name is starting, or only asks who holds it: that is waited for a little.
// So is a holder that is dead: a program that it was just starting when it died keeps the lock until it has begun.
func (l *lock) take(dir string) error {
	for range 200 {
		got, err := l.file.TryLock()
		if err != nil {
			return fmt.Errorf("lock data directory %s: %w", dir, err)
		}
		if got {
			return nil
		}
		if h, ok := readHolder(l.path); ok && !h.dead() {
			return h.held(dir)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return &HeldError{Dir: dir}
}

// dead reports whether the holder is a process of this machine that is gone.
func (h *holder) dead() bool {
	if host, err := os.Hostname(); err != nil || host != h.Host {
		return false
	}
	p, err := os.FindProcess(h.PID)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func (h *holder) held(dir string) *HeldError {
	return &HeldError{Dir: dir, PID: h.PID, Host: h.Host, Started: h.Started, Version: h.Version, Work: h.Work}
}

func readHolder(path string) (h holder, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return h, false
	}
	return h, json.Unmarshal(text, &h) == nil
}

// release empties the file, so that nobody reads of a holder that is gone, and unlocks it.
func (l *lock) release() error {
	if err := os.Truncate(l.path, 0); err != nil {
		_ = l.file.Unlock()
		return fmt.Errorf("release %s: %w", l.path, err)
	}
	return l.file.Unlock()
}

// Holder says which process has the data directory open for writing; held is nil when none does. It waits for nothing and
// changes nothing.
func Holder(dir string) (held *HeldError, err error) {
	path := filepath.Join(dir, lockName)
	if _, err := os.Stat(path); err != nil {
		if os.IsNotExist(err) {
			return nil, nil
		}
		return nil, err
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	got, err := l.TryRLock()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if got {
		return nil, l.Unlock()
	}
	if h, ok := readHolder(path); ok {
		return h.held(dir), nil
	}
	return &HeldError{Dir: dir}, nil
}
