package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"arbiter/amp"
)

// cursor says how far the logs are.
type cursor struct {
	// Done is the last entry that is in the logs, or is none of theirs.
	Done uint64 `json:"done"`
	// Pending is the entry that is being written.
	Pending *pending `json:"pending,omitzero"`
}

type pending struct {
	Seq  uint64 `json:"seq"`
	File string `json:"file"`
	// Offset is where it begins in the file.
	Offset int64 `json:"offset"`
}

// Writer appends to the logs of one data directory. It is not safe for concurrent use; the lock of the data directory keeps other processes
// away.
type Writer struct {
	logs, state string
	cursor      cursor
	saved       uint64
	// save replaces the cursor atomically, add appends to a log; tests let them fail half-way.
	save func(file string, data []byte) error
	add  func(file string, data []byte) error
}

// saveEvery is after how many entries that are none of the logs' the cursor is written all the same: so many are read again at a start.
const saveEvery = 1000

// Open finds out how far the logs of a data directory are. A cursor that cannot be read is an error, never a new beginning: everything would
// be in the logs twice.
func Open(home string) (*Writer, error) {
	w := &Writer{logs: filepath.Join(home, "system", "logs"), state: filepath.Join(home, "system", "audit.json"), save: replace, add: appendTo}
	if err := os.MkdirAll(w.logs, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the daily logs: %w", err)
	}
	data, err := os.ReadFile(w.state)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w, nil
	case err != nil:
		return nil, fmt.Errorf("read how far the daily logs are: %w", err)
	}
	if err := json.Unmarshal(data, &w.cursor); err != nil {
		return nil, fmt.Errorf("%s cannot be read (%v); move it and %s away, and the logs are written anew from the journal", w.state, err, w.logs)
	}
	if p := w.cursor.Pending; p != nil && (p.File != filepath.Base(p.File) || p.Offset < 0) {
		return nil, fmt.Errorf("%s names no log: move it and %s away, and the logs are written anew from the journal", w.state, w.logs)
	}
	w.saved = w.cursor.Done
	return w, nil
}

// After is the seq behind which entries are to come.
func (w *Writer) After() uint64 { return w.cursor.Done }

// Take writes the chain entries among these, which follow those of the call before. After an error it can be called again with the same
// ones.
func (w *Writer) Take(entries []amp.Entry) error {
	for i := range entries {
		e := &entries[i]
		if e.Seq <= w.cursor.Done {
			continue
		}
		if e.Kind == amp.KindChain {
			if err := w.write(e); err != nil {
				return fmt.Errorf("write entry %d into the daily log: %w", e.Seq, err)
			}
		}
		w.cursor.Done = e.Seq
	}
	if w.cursor.Done-w.saved >= saveEvery {
		return w.store()
	}
	return nil
}

// write appends one entry, or what is missing of it when it was begun before.
func (w *Writer) write(e *amp.Entry) error {
	c, err := amp.DecodeBody[amp.Chain](e)
	if err != nil {
		return err
	}
	name, text := Format(e, &c)
	if p := w.cursor.Pending; p == nil || p.Seq != e.Seq {
		size, err := sizeOf(filepath.Join(w.logs, name))
		if err != nil {
			return err
		}
		w.cursor.Pending = &pending{Seq: e.Seq, File: name, Offset: size}
		if err := w.store(); err != nil {
			w.cursor.Pending = nil
			return err
		}
	}
	p := w.cursor.Pending
	file := filepath.Join(w.logs, p.File)
	there, err := from(file, p.Offset, len(text))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(text, there) { // somebody else wrote there: this entry comes behind it, whole
		there = ""
	}
	if there != text {
		if err := w.add(file, []byte(text[len(there):])); err != nil {
			return err
		}
	}
	w.cursor.Pending = nil
	return nil
}

func (w *Writer) store() error {
	data, err := json.Marshal(w.cursor)
	if err != nil {
		return err
	}
	if err := w.save(w.state, append(data, '\n')); err != nil {
		return err
	}
	w.saved = w.cursor.Done
	return nil
}

func replace(file string, data []byte) error { return renameio.WriteFile(file, data, 0o600) }

func appendTo(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func sizeOf(file string) (int64, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// from is at most n bytes of a file from an offset on; a file that is not there is empty.
func from(file string, offset int64, n int) (string, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, offset, int64(n)))
	return string(data), err
}
