package github

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"arbiter/amp"
)

// The files of a mirror below its folder.
const (
	stateFile   = "mirror.json"
	allowedFile = "mirror-allowed.json"
	lockFile    = "mirror.lock"
)

// Kept is what a mirror wrote down: its state for whoever asks, and where the branch stood, so that a change by others is seen after a start
// too. It is no truth: without it the branch itself is asked.
type Kept struct {
	State amp.MirrorState `json:"state"`
	URL   string          `json:"url"`
	Place place           `json:"place"`
}

func (k *Kept) is(c *Config) bool {
	return k.State.Repo == c.Repo && k.State.Branch == c.Branch && k.URL == c.URL
}

// Read is what the mirror of a folder wrote down last; nil when there is nothing.
func Read(dir string) (*Kept, error) {
	if dir == "" {
		return nil, nil
	}
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the mirror: %w", err)
	}
	k := &Kept{}
	if err := json.Unmarshal(data, k); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%v); it is no truth, and can be removed", filepath.Join(dir, stateFile), err)
	}
	return k, nil
}

// keep writes the state down when it is another one.
func (m *Mirror) keep(s amp.MirrorState) error {
	same := s
	same.At, same.Requests, same.Left = m.last.At, m.last.Requests, m.last.Left
	if m.cfg.Dir == "" || statesEqual(&same, &m.last) {
		return nil
	}
	k := Kept{State: s, URL: m.cfg.URL}
	if m.at != nil {
		k.Place = *m.at
	}
	data, err := pretty(&k)
	if err == nil {
		err = os.MkdirAll(m.cfg.Dir, 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(filepath.Join(m.cfg.Dir, stateFile), data, 0o600)
	}
	if err == nil {
		m.last, m.kept = s, k.Place.Commit
	}
	return err
}

func statesEqual(a, b *amp.MirrorState) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// recall takes over what another process wrote down since, or at a start what this one did.
func (m *Mirror) recall() {
	k, err := Read(m.cfg.Dir)
	if err != nil {
		m.cfg.Logger.Warn("the state of the mirror is passed over", "err", err)
	}
	if err != nil || k == nil || !k.is(&m.cfg) || k.Place.Commit == "" || k.Place.Commit == m.kept {
		return
	}
	m.kept = k.Place.Commit
	p := k.Place
	m.at, m.board, m.looked = &p, nil, time.Time{}
}

// lock keeps other processes of this data directory from writing to the mirror at the same time.
func (m *Mirror) lock() (unlock func(), err error) {
	if m.cfg.Dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(m.cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the mirror: %w", err)
	}
	l := flock.New(filepath.Join(m.cfg.Dir, lockFile), flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the mirror: %w", err)
	}
	if !ok {
		return nil, ErrElsewhere
	}
	return func() {
		if err := l.Close(); err != nil {
			m.cfg.Logger.Error("the lock of the mirror is not given back", "err", err)
		}
	}, nil
}

// Allowed is a decision that what was found in an entry is no secret.
type Allowed struct {
	Seq uint64    `json:"seq"`
	By  string    `json:"by"`
	At  time.Time `json:"at"`
}

// AllowedIn are the decisions that were written down in a folder.
func AllowedIn(dir string) ([]Allowed, error) {
	if dir == "" {
		return nil, nil
	}
	file := filepath.Join(dir, allowedFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which entries may be mirrored: %w", err)
	}
	var all []Allowed
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%v); move it away, and allow entries again", file, err)
	}
	return all, nil
}

// Allow writes decisions down. A mirror that runs sees them with its next commit.
func Allow(dir string, more ...Allowed) error {
	all, err := AllowedIn(dir)
	if err != nil {
		return err
	}
	for _, a := range more {
		if !slices.ContainsFunc(all, func(b Allowed) bool { return a.Seq == b.Seq }) {
			all = append(all, a)
		}
	}
	data, err := pretty(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of the mirror: %w", err)
	}
	return renameio.WriteFile(filepath.Join(dir, allowedFile), data, 0o600)
}

// scanner is the scanner of the next commit: the secrets that are configured now, and what was found in entries that are allowed.
func (m *Mirror) scanner(ctx context.Context) (*Scanner, []Allowed, error) {
	known := m.cfg.Secrets()
	if m.token != "" {
		known = append(slices.Clip(known), Known{Name: "the token of the mirror", Value: m.token})
	}
	list, err := AllowedIn(m.cfg.Dir)
	if err != nil {
		return nil, nil, err
	}
	passes := map[[32]byte]bool{}
	for _, a := range list {
		sums, ok := m.sums[a.Seq]
		if !ok {
			at, err := m.cfg.Log.Read(ctx, amp.Filter{After: a.Seq - 1, Before: a.Seq + 1, Limit: 1})
			if err != nil {
				return nil, nil, err
			}
			if len(at) == 0 {
				continue
			}
			for _, f := range NewScanner(nil, nil).Entry(&at[0]) {
				sums = append(sums, f.Sum)
			}
			m.sums[a.Seq] = sums
		}
		for _, sum := range sums {
			passes[sum] = true
		}
	}
	return NewScanner(known, passes), list, nil
}
