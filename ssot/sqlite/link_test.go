package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"arbiter/ssot/ssottest"
)

// One file in two folders is one journal with two locks: it is opened for writing in neither way but by its own name, and nothing is changed.
func TestOpen_links(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(from, to string) error{
		"symbolic": os.Symlink, "hard": os.Link,
		"symbolic, relative": func(from, to string) error {
			rel, err := filepath.Rel(filepath.Dir(to), from)
			return errors.Join(err, os.Symlink(rel, to))
		},
		"symbolic, to nothing": func(_, to string) error { return os.Symlink(filepath.Join(filepath.Dir(to), "nowhere"), to) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real, other := t.TempDir(), t.TempDir()
			log := openLog(t, real)
			appendOne(t, log, ssottest.Submit("s", ssottest.Task(1)))
			if err := link(filepath.Join(real, fileName), filepath.Join(other, fileName)); err != nil {
				t.Fatal(err)
			}
			second, err := Open(t.Context(), other, Options{})
			if err == nil {
				_ = second.Close()
			}
			if x, ok := errors.AsType[*LinkError](err); !ok || x.Path != filepath.Join(other, fileName) {
				t.Errorf("beside its owner: %v", err)
			}
			if _, err := os.Stat(filepath.Join(other, fileName+"-wal")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a write-ahead log came beside the link: %v", err)
			}
			if held, err := Holder(other); held != nil || err != nil {
				t.Errorf("the folder of the link is held by %v (%v)", held, err)
			}
			appendOne(t, log, ssottest.Note("n", ssottest.Task(1), "goes on"))
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			own, err := Open(t.Context(), real, Options{})
			if err == nil {
				defer own.Close()
			}
			if x, ok := errors.AsType[*LinkError](err); ok != (name == "hard") || err != nil && !ok || ok && x.Target != "" {
				t.Errorf("by its own name: %v", err)
			}
		})
	}
}
