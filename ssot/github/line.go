package github

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
	"arbiter/ssot"
)

// maxLine bounds one line of a segment: a body of the greatest size, each byte escaped, and its header.
const maxLine = 6*ssot.MaxBody + 1<<16

// withheldMark begins the line of a withheld entry, and no other one.
var withheldMark = []byte(`{"withheld":`)

// withheldLine is an entry without its body, and without its header when the secret was there. Its hash is the entry's own, so that the
// chain goes on over it; the content cannot be recomputed.
type withheldLine struct {
	Withheld string     `json:"withheld"`
	Bytes    int        `json:"bytes"`
	Seq      uint64     `json:"seq"`
	Kind     amp.Kind   `json:"kind,omitzero"`
	TaskID   amp.TaskID `json:"task_id,omitzero"`
	Role     amp.Role   `json:"role,omitzero"`
	Actor    string     `json:"actor,omitzero"`
	At       string     `json:"at,omitzero"`
	ID       string     `json:"id,omitzero"`
	PrevHash amp.Hash   `json:"prev_hash"`
	Hash     amp.Hash   `json:"hash"`
}

// line is one line of a segment: an entry, or what is told of a withheld one.
type line struct {
	amp.Entry
	// rule is set on a withheld entry.
	rule string
	// released says that it was withheld, and that its content came from elsewhere.
	released bool
}

// encode writes the line without its end.
func (l *line) encode(header bool) ([]byte, error) {
	if l.rule == "" {
		return l.MarshalJSON()
	}
	w := withheldLine{Withheld: l.rule, Bytes: len(l.Body), Seq: l.Seq, PrevHash: l.PrevHash, Hash: l.Hash}
	if header {
		w.Kind, w.TaskID, w.Role, w.Actor, w.At, w.ID = l.Kind, l.TaskID, l.Role, l.Actor, amp.FormatTime(l.At), l.ID
	}
	return json.Marshal(&w, json.Deterministic(true))
}

// decodeLine reads a line and checks what it says of itself: a whole entry has the hash of its content.
func decodeLine(data []byte) (l line, err error) {
	if len(data) > maxLine {
		return l, fmt.Errorf("it has %d bytes, which no entry has", len(data))
	}
	if !bytes.HasPrefix(data, withheldMark) {
		if err := l.UnmarshalJSON(data); err != nil {
			return l, fmt.Errorf("it is no entry: %w", err)
		}
		if l.Seq == 0 {
			return l, errors.New("it is an entry without a seq")
		}
		if l.Hash != l.Sum() {
			return l, &SumError{Seq: l.Seq}
		}
		return l, nil
	}
	var w withheldLine
	if err := json.Unmarshal(data, &w, json.RejectUnknownMembers(true)); err != nil {
		return l, fmt.Errorf("it is no withheld entry: %w", err)
	}
	if w.Seq == 0 || w.Withheld == "" || len(w.Withheld) > maxRule || w.Bytes < 0 {
		return l, errors.New("it is a withheld entry without a seq or a rule")
	}
	l.rule = w.Withheld
	l.Entry = amp.Entry{Seq: w.Seq, PrevHash: w.PrevHash, Hash: w.Hash}
	l.Kind, l.TaskID, l.Role, l.Actor, l.ID = w.Kind, w.TaskID, w.Role, w.Actor, w.ID
	if w.At != "" {
		if l.At, err = time.Parse(time.RFC3339Nano, w.At); err != nil {
			return l, fmt.Errorf("it is a withheld entry with a wrong time: %w", err)
		}
	}
	return l, nil
}

// maxRule bounds the name of a rule.
const maxRule = 200

// SumError says that the content of an entry in the mirror does not have its hash.
type SumError struct{ Seq uint64 }

// Error names the entry.
func (e *SumError) Error() string {
	return fmt.Sprintf("the content of entry %d does not have its hash", e.Seq)
}

// write makes the line of an entry, without its content when that holds a secret.
func (s *Scanner) write(e *amp.Entry) (data []byte, withheld string, err error) {
	l := line{Entry: *e}
	inHeader := s.Find(header(e))
	found := append(inHeader, s.Find(e.Body)...)
	if len(found) > 0 {
		l.rule = found[0].Rule
		if len(l.rule) > maxRule {
			l.rule = l.rule[:maxRule]
		}
	}
	data, err = l.encode(len(inHeader) == 0)
	return data, l.rule, err
}

// header are the texts of an entry that are not its body.
func header(e *amp.Entry) []byte {
	return []byte(strings.Join([]string{string(e.Kind), string(e.TaskID), string(e.Role), e.Actor, e.ID}, "\n"))
}

// Entry returns what looks like a secret in an entry.
func (s *Scanner) Entry(e *amp.Entry) []Finding { return s.Find(header(e), e.Body) }
