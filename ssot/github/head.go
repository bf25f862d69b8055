package github

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
)

// form is the form of the mirror that this package writes and reads.
const form = "arbiter-mirror/1"

// maxListed is how many withheld entries head.json names; older ones are found in the segments.
const maxListed = 1000

// Head is head.json: how far the mirror is.
type Head struct {
	Mirror string `json:"mirror"`
	// Seq and Hash are of the last entry, At is when it was written.
	Seq  uint64    `json:"seq"`
	Hash amp.Hash  `json:"hash"`
	At   time.Time `json:"at,omitzero"`
	// Tasks is the entry up to which the files of the tasks are their state.
	Tasks uint64 `json:"tasks_seq"`
	// Version is of the program that wrote it: the state of a task is what that one folds.
	Version string `json:"version"`
	// Begun counts how often the mirror was begun from the first entry.
	Begun int `json:"begun"`
	// Withheld are the newest of those entries that were not sent and not released since; WithheldCount is how many there are.
	Withheld      []amp.WithheldEntry `json:"withheld,omitzero"`
	WithheldCount int                 `json:"withheld_count,omitzero"`
}

// Journal is the position of the journal that the mirror holds.
func (h *Head) Journal() amp.Head { return amp.Head{Seq: h.Seq, Hash: h.Hash} }

func (h *Head) encode() ([]byte, error) {
	h.Mirror = form
	return pretty(h)
}

// maxHead bounds head.json, maxVersion the version in it: that of each commit is kept while a history is looked through.
const (
	maxHead    = 1 << 20
	maxVersion = 1 << 10
)

// decodeHead reads head.json strictly.
func decodeHead(data []byte) (h Head, err error) {
	if len(data) > maxHead {
		return h, fmt.Errorf("%s has %d bytes", headFile, len(data))
	}
	if err := json.Unmarshal(data, &h, json.RejectUnknownMembers(true)); err != nil {
		return h, fmt.Errorf("%s cannot be read: %w", headFile, err)
	}
	switch {
	case h.Mirror != form:
		return h, fmt.Errorf("%s has the form %.40q, this program reads %q", headFile, h.Mirror, form)
	case h.Seq == 0 && h.Hash != amp.Hash{}, h.Seq != 0 && h.Hash == amp.Hash{}:
		return h, fmt.Errorf("%s has no hash for its entry, or no entry for its hash", headFile)
	case len(h.Version) > maxVersion:
		return h, fmt.Errorf("%s names a version of %d bytes", headFile, len(h.Version))
	case h.Tasks > h.Seq || h.Begun < 0 || h.WithheldCount < 0 || len(h.Withheld) > maxListed:
		return h, fmt.Errorf("%s contradicts itself", headFile)
	}
	return h, nil
}

// pretty is the JSON of the files that people read: the same bytes for the same value.
func pretty(v any) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.WithIndent("  "))
	return append(data, '\n'), err
}
