package ssot

import (
	"fmt"
	"unicode/utf8"

	"arbiter/amp"
)

// MaxBody is the most bytes that the body of a record may have, 16 MiB.
const MaxBody = 16 << 20

// CheckRecord says why a record's header cannot be stored, as an [ErrInvalid]; nil when it can. Every store applies it, so that
// what one store took can be imported into another.
func CheckRecord(r *amp.Record) error {
	switch {
	case r.ID == "":
		return fmt.Errorf("%w: it has no id", ErrInvalid)
	case r.Kind == "":
		return fmt.Errorf("%w: record %q has no kind", ErrInvalid, r.ID)
	case len(r.Body) > MaxBody:
		return fmt.Errorf("%w: the body of record %q has %d bytes, the limit is %d", ErrInvalid, r.ID, len(r.Body), MaxBody)
	}
	if y := r.At.UTC().Year(); y < 1 || y > 9999 {
		return fmt.Errorf("%w: the time of record %q is in the year %d", ErrInvalid, r.ID, y)
	}
	for _, f := range [...]struct{ name, text string }{
		{"id", r.ID}, {"kind", string(r.Kind)}, {"task_id", string(r.TaskID)}, {"role", string(r.Role)}, {"actor", r.Actor},
	} {
		if !utf8.ValidString(f.text) {
			return fmt.Errorf("%w: the %s of record %q is not valid UTF-8", ErrInvalid, f.name, r.ID)
		}
	}
	return nil
}

// Same reports whether a record repeats a stored entry: same kind and same bytes. Who sent it again, and when, does not matter.
func Same(stored *amp.Entry, r *amp.Record) bool {
	return stored.Kind == r.Kind && string(stored.Body) == string(r.Body)
}
