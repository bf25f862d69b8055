package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"arbiter/scratch"
	"arbiter/ssot"
)

// toFile lets f write to a file, whole or not at all, or to standard output. A file that is there is only replaced by force.
func (a *app) toFile(file string, force bool, f func(io.Writer) error) error {
	if file == "" || file == "-" {
		return f(&output{w: a.stdout, name: "standard output"})
	}
	switch st, err := os.Stat(file); {
	case err == nil && !st.Mode().IsRegular():
		return usage("%s is no file that could be replaced", file).then("Name a new file with -o.")
	case err == nil && !force:
		return &keptError{path: file}
	case err == nil && isJournal(file):
		return usage("%s is a database, which no export replaces", file).then("Name a new file with -o.")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &outputError{file, err}
	}
	dir, remove, err := scratch.Draft(filepath.Dir(file), exportName)
	if err != nil {
		return &outputError{file, bare(err)}
	}
	err = draft(filepath.Join(dir, "whole"), file, f)
	if err == nil {
		err = place(filepath.Join(dir, "whole"), file, force)
	}
	return errors.Join(err, remove())
}

// exportName begins the names of the folders in which files for a person are written. What one that was killed left goes with the next one beside it.
const exportName = ".export"

// draft lets f write a file under another name, and has it on the disk. What goes wrong is said of the name that it will have.
func draft(made, file string, f func(io.Writer) error) error {
	t, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &outputError{file, bare(err)}
	}
	if err := f(&output{w: t, name: file}); err != nil {
		return errors.Join(err, t.Close())
	}
	if err := errors.Join(t.Sync(), t.Close()); err != nil {
		return &outputError{file, bare(err)}
	}
	return nil
}

// place gives a file that is whole its name.
func place(made, file string, force bool) (err error) {
	if !force {
		err = os.Link(made, file) // unlike a rename it replaces nothing that came meanwhile
	}
	if force || errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = os.Rename(made, file) // by force, or on a file system without links
	}
	if errors.Is(err, fs.ErrExist) {
		return &keptError{path: file}
	}
	if err != nil {
		return &outputError{file, bare(err)}
	}
	return nil
}

// bare is an error without the name of a file that nobody asked for.
func bare(err error) error {
	if x, ok := errors.AsType[*fs.PathError](err); ok {
		return x.Err
	}
	if x, ok := errors.AsType[*os.LinkError](err); ok {
		return x.Err
	}
	return err
}

// isJournal reports a file that is a journal, or that one is lost without: nobody means to replace it.
func isJournal(file string) bool {
	name := filepath.Base(file)
	if strings.HasPrefix(name, "journal.db") || name == "store.lock" {
		return true
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(databaseMark))
	_, err = io.ReadFull(f, start)
	return err == nil && bytes.Equal(start, databaseMark)
}

// output is a writer whose errors say what could not be written.
type output struct {
	w    io.Writer
	name string
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = &outputError{o.name, err}
	}
	return n, err
}

// outputError is a file that a person named, or standard output, that could not be written.
type outputError struct {
	name string
	err  error
}

func (e *outputError) Error() string { return fmt.Sprintf("write %s: %v", e.name, e.err) }

func (e *outputError) Unwrap() error { return e.err }

// full reports whether an error says that there is no room: on the disk, or of what the user may use of it.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, ssot.ErrFull)
}

func explainOutput(err error, e *explanation) bool {
	if x, ok := errors.AsType[*exportError](err); ok {
		e.What = x.Error()
		e.Means, e.Next = "The export is not what was written, or not all of it.", "Take another copy of it, or export the journal again: arbiter journal export"
		if x.line.Newer {
			e.Means, e.Next = "A newer version of Arbiter wrote it; what it says could not be checked.", newerNext
		}
		return true
	}
	x, ok := errors.AsType[*outputError](err)
	switch {
	case !ok || errors.Is(err, syscall.EPIPE):
		return false
	case full(err):
		e.Means, e.Next = "The file was not made; the journal is as it was.", "Make room there, or write to another disk."
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Means, e.Next = "Arbiter may not write there; the journal is as it was.", "Name a file in a folder that you may write to."
	case errors.Is(err, fs.ErrNotExist):
		e.Means, e.Next = "The file was not made; the journal is as it was.", "Create the folder of "+x.name+" first."
	case errors.Is(err, syscall.ENOTDIR):
		e.Means, e.Next = "A file stands where a folder is meant; the journal is as it was.", "Name a file in a folder."
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Means, e.Next = "The file was not made; the journal is as it was.", "Give it a shorter name."
	default:
		e.Means, e.Next = "The file was not made; the journal is as it was.", "Look at the system's log, or write to another disk."
	}
	return true
}
