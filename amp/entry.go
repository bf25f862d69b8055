package amp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// Kind is the kind of a journal entry. Kinds are frozen words of the stored format: new ones are added, none is renamed.
type Kind string

// The kinds of entries.
const (
	KindMessage  Kind = "message"
	KindAck      Kind = "ack"
	KindCommand  Kind = "command"
	KindPlan     Kind = "plan"
	KindTurn     Kind = "turn"
	KindQuestion Kind = "question"
	KindCheck    Kind = "check"
	KindRefusal  Kind = "refusal"
	KindChain    Kind = "chain"
	KindBus      Kind = "bus"
	// KindOutside is a report of another system about a task: a check that ran elsewhere, a review, a pull request.
	KindOutside Kind = "outside"
)

// Hash is a SHA-256 sum. Its JSON form is lower-case hex.
type Hash [32]byte

// String is the hash in lower-case hex, 64 digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in lower-case hex.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("hash has %d digits, want %d", len(text), 2*len(h))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// Record is a fact before it has a position in the journal.
type Record struct {
	Kind   Kind
	TaskID TaskID
	// Role is the participant in whose name the fact is written; Actor is who that was: an admin's name, an agent's name or
	// "arbiter".
	Role  Role
	Actor string
	// At is UTC, in whole milliseconds.
	At time.Time
	// ID is unique in the journal. Of a message it is its msg_id.
	ID string
	// Body is the exact bytes of the fact, never re-marshalled.
	Body []byte
}

// Entry is one fact in the journal. Entries are never changed or removed; Seq starts at 1 and has no gaps.
type Entry struct {
	Seq uint64
	Record
	PrevHash Hash
	Hash     Hash
}

// Head is the position of a journal: the last entry's seq and hash, both zero when it is empty.
type Head struct {
	Seq  uint64 `json:"seq"`
	Hash Hash   `json:"hash"`
}

// Chain gives record the position after head: seq, previous hash and hash. At is cut to milliseconds in UTC first, since that
// is what is hashed and stored.
//
// The hash is SHA-256(prev_hash ‖ header ‖ body). The header is the text "arbiter/1", then seq as 8 bytes big endian, then kind,
// task_id, role, actor, at (RFC 3339 with three digits of milliseconds and Z) and id, each as a 4-byte big-endian length and its
// bytes, then the length of body as 8 bytes big endian.
func (h Head) Chain(r Record) Entry {
	r.At = r.At.UTC().Truncate(time.Millisecond)
	e := Entry{Seq: h.Seq + 1, Record: r, PrevHash: h.Hash}
	e.Hash = e.Sum()
	return e
}

// Sum is the hash that the entry must have, computed from its previous hash, header and body.
func (e *Entry) Sum() Hash {
	buf := make([]byte, 0, 512)
	buf = append(buf, e.PrevHash[:]...)
	buf = append(buf, "arbiter/1"...)
	buf = binary.BigEndian.AppendUint64(buf, e.Seq)
	for _, s := range [...]string{string(e.Kind), string(e.TaskID), string(e.Role), e.Actor, FormatTime(e.At), e.ID} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(s)))
		buf = append(buf, s...)
	}
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(e.Body)))
	d := sha256.New()
	d.Write(buf)
	d.Write(e.Body)
	var h Hash
	d.Sum(h[:0])
	return h
}

// timeFormat is RFC 3339 in UTC with milliseconds, the form of every time that Arbiter writes.
const timeFormat = "2006-01-02T15:04:05.000Z"

// FormatTime writes t as Arbiter writes times: RFC 3339, UTC, three digits of milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(timeFormat) }
