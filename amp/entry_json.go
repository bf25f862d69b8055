package amp

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// entryJSON is the JSON form of an Entry. The body is carried as a string, so that its bytes survive every reader and writer of
// JSON; a body that is no UTF-8 goes into body_base64.
type entryJSON struct {
	Seq        uint64  `json:"seq"`
	Kind       Kind    `json:"kind"`
	TaskID     TaskID  `json:"task_id,omitzero"`
	Role       Role    `json:"role"`
	Actor      string  `json:"actor"`
	At         string  `json:"at"`
	ID         string  `json:"id"`
	Body       *string `json:"body,omitzero"`
	BodyBase64 []byte  `json:"body_base64,omitzero"`
	PrevHash   Hash    `json:"prev_hash"`
	Hash       Hash    `json:"hash"`
}

// MarshalJSON writes the entry as one object {seq, kind, task_id, role, actor, at, id, body, prev_hash, hash}; body is a string
// with the exact bytes.
func (e Entry) MarshalJSON() ([]byte, error) {
	w := entryJSON{
		Seq: e.Seq, Kind: e.Kind, TaskID: e.TaskID, Role: e.Role, Actor: e.Actor, At: FormatTime(e.At), ID: e.ID,
		PrevHash: e.PrevHash, Hash: e.Hash,
	}
	if utf8.Valid(e.Body) {
		body := string(e.Body)
		w.Body = &body
	} else {
		w.BodyBase64 = e.Body
	}
	return writeJSON(&w)
}

// UnmarshalJSON reads what MarshalJSON wrote; names that it does not know are skipped. It does not verify the hash.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var w entryJSON
	if err := readJSON(data, &w); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, w.At)
	if err != nil {
		return fmt.Errorf("entry %d: %w", w.Seq, err)
	}
	if at = at.UTC().Truncate(time.Millisecond); at.Year() > 9999 || at.Year() < 0 {
		return fmt.Errorf("entry %d: the time %s has a year of five digits in UTC", w.Seq, w.At)
	}
	if (w.Body == nil) == (w.BodyBase64 == nil) {
		return fmt.Errorf("entry %d: it must have either body or body_base64", w.Seq)
	}
	body := w.BodyBase64
	if w.Body != nil {
		body = []byte(*w.Body)
	}
	*e = Entry{Seq: w.Seq, PrevHash: w.PrevHash, Hash: w.Hash, Record: Record{
		Kind: w.Kind, TaskID: w.TaskID, Role: w.Role,
		Actor: w.Actor, At: at.UTC(), ID: w.ID, Body: body,
	}}
	return nil
}
