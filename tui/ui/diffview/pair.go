package diffview

import (
	"unicode"
	"unicode/utf8"
)

const (
	// far is the distance from which on two lines are not the same line changed, as delta has it.
	far = 0.6
	// ahead is how many lines are tried for a mate.
	ahead = 8
	// maxPairLine and maxTokens bound the lines that are compared word by word.
	maxPairLine = 2000
	maxTokens   = 300
)

// pair finds which added line took the place of which removed one, in each run of changed lines.
func pair(lines []Line) {
	for i := 0; i < len(lines); {
		if lines[i].Kind != Removed {
			i++
			continue
		}
		mid := i
		for mid < len(lines) && lines[mid].Kind == Removed {
			mid++
		}
		end := mid
		for end < len(lines) && lines[end].Kind == Added {
			end++
		}
		pairRun(lines, i, mid, end)
		i = max(end, mid)
	}
}

// pairRun pairs the removed lines from..mid with the added ones mid..end: one to one when there are as many of both, else each
// with the next one that is near.
func pairRun(lines []Line, from, mid, end int) {
	if mid-from == end-mid {
		for k := range mid - from {
			lines[from+k].mate, lines[mid+k].mate = mid+k, from+k
		}
		return
	}
	next := mid
	for i := from; i < mid && next < end; i++ {
		for k := next; k < min(next+ahead, end); k++ {
			if distance(lines[i].Text, lines[k].Text) < far {
				lines[i].mate, lines[k].mate = k, i
				next = k + 1
				break
			}
		}
	}
}

// token is a word, a run of blanks or one sign of a line.
type token struct{ from, to int }

// tokens cuts a line into words. Letters of any script belong to words, so that no character is cut apart.
func tokens(s string) []token {
	var out []token
	class := func(r rune) int {
		switch {
		case r == ' ' || r == '\t':
			return 1
		case r == '_' || r >= utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsDigit(r):
			return 2
		}
		return 0
	}
	last := 0
	for i, r := range s {
		c := class(r)
		if c == 0 || c != last || len(out) == 0 {
			if len(out) == maxTokens {
				return nil
			}
			out = append(out, token{i, i})
		}
		out[len(out)-1].to, last = i+utf8.RuneLen(r), c
		if r == utf8.RuneError {
			out[len(out)-1].to = i + 1
		}
	}
	if n := len(out); n > 0 {
		out[n-1].to = len(s)
		for i := range n - 1 {
			out[i].to = out[i+1].from
		}
	}
	return out
}

// distance says how much two lines differ: 0 equal, 1 nothing in common; by the bytes of the words.
func distance(a, b string) float64 {
	_, _, d := compare(a, b)
	return d
}

// compare returns the words of a and of b that the other does not have, and the distance of the lines.
func compare(a, b string) (onlyA, onlyB []token, d float64) {
	if a == b {
		return nil, nil, 0
	}
	if len(a) > maxPairLine || len(b) > maxPairLine {
		return nil, nil, 1
	}
	ta, tb := tokens(a), tokens(b)
	if len(ta) == 0 || len(tb) == 0 {
		return nil, nil, 1
	}
	word := func(s string, t token) string { return s[t.from:t.to] }
	// what is equal at both ends needs no table
	lo := 0
	for lo < len(ta) && lo < len(tb) && word(a, ta[lo]) == word(b, tb[lo]) {
		lo++
	}
	ea, eb := len(ta), len(tb)
	for ea > lo && eb > lo && word(a, ta[ea-1]) == word(b, tb[eb-1]) {
		ea, eb = ea-1, eb-1
	}
	na, nb := ea-lo, eb-lo
	table := make([]uint16, (na+1)*(nb+1)) // the longest common part of what follows
	at := func(i, j int) *uint16 { return &table[i*(nb+1)+j] }
	for i := na - 1; i >= 0; i-- {
		for j := nb - 1; j >= 0; j-- {
			if word(a, ta[lo+i]) == word(b, tb[lo+j]) {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	gone := 0
	keep := func(list []token, t token) []token {
		gone += t.to - t.from
		if n := len(list); n > 0 && list[n-1].to == t.from {
			list[n-1].to = t.to
			return list
		}
		return append(list, t)
	}
	i, j := 0, 0
	for i < na || j < nb {
		switch {
		case i < na && j < nb && word(a, ta[lo+i]) == word(b, tb[lo+j]):
			i, j = i+1, j+1
		case j == nb || i < na && *at(i+1, j) >= *at(i, j+1):
			onlyA = keep(onlyA, ta[lo+i])
			i++
		default:
			onlyB = keep(onlyB, tb[lo+j])
			j++
		}
	}
	return onlyA, onlyB, float64(gone) / float64(len(a)+len(b))
}
