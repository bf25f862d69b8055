package tui

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	stateVersion = 1
	stateName    = "tui.json"
	maxStateFile = 16 << 20
	maxHomes     = 64 // data directories that are remembered; the one that was not used for longest goes first
)

// stateDoc is the whole file.
type stateDoc struct {
	Version int                   `json:"version"`
	Homes   map[string]*stateHome `json:"homes"`
}

// stateHome is what is kept of one data directory.
type stateHome struct {
	At    time.Time                 `json:"at"`
	Parts map[string]jsontext.Value `json:"parts"`
}

// stateFile is tui.json: the state of the screens of every data directory. A file that does not parse, or that a newer program
// wrote, is never touched. It is safe for concurrent use, also by several programs.
type stateFile struct {
	path, home string
	parts      map[string]jsontext.Value // what it held when it was opened
	damage     error                     // why it is not used

	mu   sync.Mutex // guards what follows, and the write
	last int        // the number of the newest write
}

// openState reads the part of the file in dir that belongs to a data directory. It never fails: what is wrong is its damage.
func openState(dir, home string) *stateFile {
	f := &stateFile{path: filepath.Join(dir, stateName), home: home}
	doc, err := f.read()
	if err != nil {
		f.damage = err
		return f
	}
	if h := doc.Homes[home]; h != nil {
		f.parts = h.Parts
		for name, v := range f.parts {
			if v.Compact() == nil {
				f.parts[name] = v
			}
		}
	}
	return f
}

// read returns the document, an empty one when there is no file.
func (f *stateFile) read() (*stateDoc, error) {
	doc := &stateDoc{Version: stateVersion}
	r, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return doc, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of the screens: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxStateFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the state of the screens: %w", err)
	case len(data) > maxStateFile:
		return nil, fmt.Errorf("the state of the screens in %s is larger than %d bytes", f.path, maxStateFile)
	}
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, fmt.Errorf("the state of the screens in %s does not parse: %w", f.path, err)
	}
	if doc.Version != stateVersion {
		return nil, fmt.Errorf("the state of the screens in %s has version %d, this program knows %d", f.path, doc.Version, stateVersion)
	}
	return doc, nil
}

// write puts parts into the file and leaves all others as they are; a part without a value is taken out. The file is replaced
// at once or not at all. A write with a lower number than one before does nothing.
func (f *stateFile) write(n int, parts map[string]jsontext.Value, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage != nil || n <= f.last {
		return nil
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the state of the screens: %w", err)
	}
	free, err := lockFile(f.path + ".lock")
	if err != nil {
		return fmt.Errorf("keep the state of the screens: %w", err)
	}
	defer free()
	doc, err := f.read() // another program may have written it
	if err != nil {
		return err
	}
	if err := f.replace(doc, parts, now); err != nil {
		return fmt.Errorf("keep the state of the screens: %w", err)
	}
	f.last = n
	return nil
}

func (f *stateFile) replace(doc *stateDoc, parts map[string]jsontext.Value, now time.Time) error {
	if doc.Homes == nil {
		doc.Homes = map[string]*stateHome{}
	}
	h := doc.Homes[f.home]
	if h == nil {
		h = &stateHome{}
		doc.Homes[f.home] = h
	}
	if h.Parts == nil {
		h.Parts = map[string]jsontext.Value{}
	}
	h.At = now.UTC().Truncate(time.Second)
	maps.Copy(h.Parts, parts)
	maps.DeleteFunc(h.Parts, func(_ string, v jsontext.Value) bool { return len(v) == 0 })
	forgetOldest(doc.Homes)
	data, err := json.Marshal(doc, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return err
	}
	path := f.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	return replaceFile(path, append(data, '\n'))
}

func forgetOldest(homes map[string]*stateHome) {
	if len(homes) <= maxHomes {
		return
	}
	names := slices.SortedFunc(maps.Keys(homes), func(a, b string) int {
		return cmp.Or(homes[b].At.Compare(homes[a].At), cmp.Compare(a, b))
	})
	for _, name := range names[maxHomes:] {
		delete(homes, name)
	}
}

// replaceFile writes a file that only its owner can read, whole or not at all.
func replaceFile(path string, data []byte) (err error) {
	t, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(t.Name()))
		}
	}()
	_, err = t.Write(data)
	if err = errors.Join(err, t.Sync(), t.Close()); err != nil {
		return err
	}
	return os.Rename(t.Name(), path)
}

// lockFile waits until no other program writes and returns what frees the lock.
func lockFile(path string) (free func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil // closing frees it
}
