// Package editor gives texts to the person's editor and loses none of them. Each is a file in a folder of its own, which stays until
// it is said that what is in it was taken. What a program left that ended before that is found by [Left].
package editor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	lockName = ".arbiter-lock" // locked while the program or the editor runs
	toldName = ".arbiter-told" // the person knows that the text is there
)

// Text is a text for the person's editor. It ends with [Text.Taken] or [Text.Keep]; one that ended in neither way is found by [Left].
type Text struct {
	file, dir string
	sum       string // begins the name of dir
	lock      *os.File
}

// Open writes text as the file name into a new folder below in, which is made when it is not there. Where nothing can be made, as on a
// machine that is only read, the folder is one of temporary files, in which [Left] looks for nothing.
func Open(in, name string, text []byte) (*Text, error) {
	t := &Text{sum: digest(text)}
	err := t.claim(in)
	if err != nil {
		if t.dir, err = os.MkdirTemp("", "arbiter-edit-"+t.sum+"-"); err != nil {
			return nil, fmt.Errorf("make a folder for the text: %w", err)
		}
	}
	t.file = filepath.Join(t.dir, name)
	if err := os.WriteFile(t.file, text, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the text: %w", err), t.Taken())
	}
	return t, nil
}

// claim makes the folder and locks it. Nobody sweeps meanwhile: an empty folder would go.
func (t *Text) claim(in string) error {
	if err := os.MkdirAll(in, 0o700); err != nil {
		return err
	}
	all, err := lock(filepath.Join(in, lockName), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock(all) //nolint:errcheck // closing it frees it too
	if t.dir, err = os.MkdirTemp(in, t.sum+"-"); err != nil {
		return err
	}
	if t.lock, err = lock(filepath.Join(t.dir, lockName), syscall.LOCK_EX); err != nil {
		return errors.Join(err, os.RemoveAll(t.dir))
	}
	return nil
}

// Protect makes the file one that can only be read.
func (t *Text) Protect() error { return os.Chmod(t.file, 0o400) }

// File is the path of the file.
func (t *Text) File() string { return t.file }

// Run runs the editor on the file and returns what it holds afterwards. The editor ends when the person leaves it. It holds the lock of the
// folder too: when this program is killed, nobody takes the folder from under it. What an editor that failed left is returned with the
// error only when it is another text than before.
func (t *Text) Run(argv []string, stdin io.Reader, stdout, stderr io.Writer) ([]byte, error) {
	c := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, stderr
	if t.lock != nil {
		c.ExtraFiles = []*os.File{t.lock}
	}
	err := c.Run()
	if err != nil {
		err = fmt.Errorf("run %s: %w", argv[0], err)
	}
	got, read := os.ReadFile(t.file)
	if err == nil && read != nil {
		err = fmt.Errorf("read the edited text: %w", read)
	}
	if err == nil {
		return got, nil
	}
	if digest(got) == t.sum {
		got = nil
	}
	return got, err
}

// Where is the file, or the folder where an editor has left something beside it, as its own copy of what was not saved. It is empty when
// nothing is there but what was there at first.
func (t *Text) Where() string { return typed(t.dir, t.sum) }

// Taken removes the folder: somebody else keeps the text now, or nobody needs it.
func (t *Text) Taken() error { return errors.Join(os.RemoveAll(t.dir), t.release()) }

// Keep leaves what was typed where it is, and the person was told; [Left] does not tell it again. A text that nobody changed goes.
func (t *Text) Keep() error {
	if t.Where() == "" {
		return t.Taken()
	}
	return errors.Join(os.WriteFile(filepath.Join(t.dir, toldName), nil, 0o600), t.release())
}

func (t *Text) release() error {
	if t.lock == nil {
		return nil
	}
	return unlock(t.lock)
}

// digest names a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// typed is where what a person typed is in a folder whose text was this one; empty when there is nothing.
func typed(dir, sum string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == lockName || e.Name() == toldName })
	switch len(entries) {
	case 0:
		return ""
	case 1:
		file := filepath.Join(dir, entries[0].Name())
		if same(file, sum) {
			return ""
		}
		return file
	}
	return dir
}

// same reports whether a file holds the text of this sum.
func same(file, sum string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return err == nil && strings.HasPrefix(hex.EncodeToString(h.Sum(nil)), sum)
}

// lock opens a file and locks it in this way.
func lock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unlock frees a lock at once: closed alone it would stay until a process that is being started just now has closed its copy too.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
