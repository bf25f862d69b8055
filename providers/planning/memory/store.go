package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"arbiter/amp"
)

// Book is the content of a memory.
type Book struct {
	Entries []Entry `json:"entries"`
	// Removed are the ids of entries that an admin deleted: they are not learned again.
	Removed []string `json:"removed,omitzero"`
	// Done says of each task what was learned from: "ended", or "chain" and the seq of the entry that ended its chain. Tries counts the
	// times that the agent was asked in vain.
	Done  map[amp.TaskID]string `json:"done,omitzero"`
	Tries map[amp.TaskID]int    `json:"tries,omitzero"`
}

// Store is the file of a memory. Several processes may use it.
type Store struct{ file string }

// NewStore is the memory of a data directory. The file is made when there is something to keep.
func NewStore(home string) *Store { return &Store{file: filepath.Join(home, "system", "memory.json")} }

// File is where the memory is kept.
func (s *Store) File() string { return s.file }

// Read returns the memory; it is empty when there is no file. A file that cannot be read is an error, never an empty memory.
func (s *Store) Read() (*Book, error) {
	b := &Book{}
	data, err := os.ReadFile(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the memory: %w", err)
	}
	if err := json.Unmarshal(data, b); err != nil {
		return nil, fmt.Errorf("the memory %s cannot be read (%v): mend it, or move it away to begin anew", s.file, err)
	}
	return b, nil
}

// Update lets f change the memory, alone; what f changed is written in one step, and nothing when f fails or changed nothing.
func (s *Store) Update(f func(*Book) error) error {
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("make the folder of the memory: %w", err)
	}
	lock := flock.New(s.file + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the memory: %w", err)
	}
	defer func() { _ = lock.Close() }() // closing lets go; what was written is on disk by then
	b, err := s.Read()
	if err != nil {
		return err
	}
	before := encode(b)
	if err := f(b); err != nil {
		return err
	}
	after := encode(b)
	if string(after) == string(before) {
		return nil
	}
	if err := renameio.WriteFile(s.file, after, 0o600); err != nil {
		return fmt.Errorf("write the memory: %w", err)
	}
	return nil
}

func encode(b *Book) []byte {
	data, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		panic(err) // plain values
	}
	return append(data, '\n')
}

// Find returns an entry by its id, or by the beginning of it when that names one alone.
func (b *Book) Find(id string) (*Entry, error) {
	var found []int
	for i := range b.Entries {
		if b.Entries[i].ID == id {
			return &b.Entries[i], nil
		}
		if id != "" && (strings.HasPrefix(b.Entries[i].ID, id) || strings.HasPrefix(b.Entries[i].ID, "mem-"+id)) {
			found = append(found, i)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("the memory has no entry %q", id)
	}
	return &b.Entries[found[0]], nil
}

// Edit changes an entry in the name of an admin; an empty text and a negative confidence stay.
func (b *Book) Edit(id, text string, confidence float64, by string, now time.Time) error {
	e, err := b.Find(id)
	if err != nil {
		return err
	}
	if text != "" {
		if err := Clean(text, nil); err != nil {
			return err
		}
		e.Text = text
	}
	if confidence >= 0 {
		e.Confidence = min(confidence, 1)
	}
	e.By, e.Edited, e.Updated = by, true, now
	return nil
}

// Delete removes an entry for good: it is not learned again.
func (b *Book) Delete(id string) error {
	e, err := b.Find(id)
	if err != nil {
		return err
	}
	gone := e.ID
	b.Removed = append(b.Removed, gone)
	b.Entries = slices.DeleteFunc(b.Entries, func(x Entry) bool { return x.ID == gone })
	return nil
}
