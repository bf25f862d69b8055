package program

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// liberal reads what a later version of a program may write as well as what an earlier one wrote.
var liberal = []json.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Read reads JSON liberally into a value that it fits: members without a field are skipped.
func Read(raw []byte, into any) error { return json.Unmarshal(raw, into, liberal...) }

// Object reads a line that holds a JSON object. Of any other line, and of one that does not fit, it returns words for the progress of the turn,
// "" of an empty one.
func Object(raw []byte, into any) (words string, ok bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return "", false
	case raw[0] != '{' || !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		return "output: " + Text(raw), false
	}
	if err := Read(raw, into); err != nil {
		return Broken("a line", err), false
	}
	return "", true
}

// Broken are words for a part of a line that cannot be read.
func Broken(what string, err error) string {
	return "not understood: " + Short([]byte(what+" that cannot be read: "+err.Error()), 300)
}

// Count is a JSON number as an int that is not negative and at most 2³¹-1, 0 of anything else.
type Count int

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(raw, &f) != nil || math.IsNaN(f) {
		f = 0
	}
	*c = Count(min(max(f, 0), math.MaxInt32))
	return nil
}

// MaxRequest is the most bytes of a request that a person can be shown.
const MaxRequest = 256 << 10
