package ssot

import (
	"bytes"
	"slices"

	"arbiter/amp"
)

// Match reports whether the filter selects an entry; Limit and Newest play no part.
func Match(f *amp.Filter, e *amp.Entry) bool {
	switch {
	case f.After != 0 && e.Seq <= f.After, f.Before != 0 && e.Seq >= f.Before:
		return false
	case f.TaskID != "" && e.TaskID != f.TaskID, f.ID != "" && e.ID != f.ID:
		return false
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind):
		return false
	}
	return (f.Text == "" || ContainsFold(e.Body, f.Text)) && f.Search.Match(e)
}

// Limit is how many entries an answer to the filter holds at most: between 1 and [MaxPage].
func Limit(f *amp.Filter) int {
	if f.Limit <= 0 || f.Limit > MaxPage {
		return MaxPage
	}
	return f.Limit
}

// ContainsFold reports whether body contains text in any case. For a text of ASCII only, only ASCII letters have a case.
func ContainsFold(body []byte, text string) bool {
	if amp.ASCII(text) {
		return bytes.Contains(lowerASCII(body), lowerASCII([]byte(text)))
	}
	return bytes.Contains(bytes.ToLower(body), bytes.ToLower([]byte(text)))
}

func lowerASCII(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}
