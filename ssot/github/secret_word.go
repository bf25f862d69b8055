package github

import (
	"math/bits"
	"slices"
	"strings"
)

// wordFinder finds which of many words are in a text, in one pass: an automaton with a state for each beginning of a word. Upper and lower case
// of ASCII are the same to it.
type wordFinder struct {
	// class is what stands for a byte, 0 for those in no word.
	class [256]uint8
	width int
	// next is the state after a state and a class, found the rules whose words end in a state.
	next  []uint16
	found []ruleSet
	ends  []bool
}

// ruleSet is a set of rules by their index.
type ruleSet [2]uint64

func (s *ruleSet) add(i int) { s[i/64] |= 1 << (i % 64) }

// all are the rules in the set.
func (s ruleSet) all() func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(64*i + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (s *ruleSet) join(o ruleSet) { s[0], s[1] = s[0]|o[0], s[1]|o[1] }

// newWordFinder makes a finder of the words of rules.
func newWordFinder(rules []secretRule) *wordFinder {
	if len(rules) > 64*len(ruleSet{}) {
		panic("too many rules for a set")
	}
	f := &wordFinder{width: 1}
	for i := range rules {
		for _, w := range rules[i].words {
			for _, b := range []byte(w) {
				if f.class[b] == 0 {
					f.class[b] = uint8(f.width)
					f.width++
				}
			}
		}
	}
	for b := byte('a'); b <= 'z'; b++ {
		f.class[b-'a'+'A'] = f.class[b]
	}
	f.state()
	for i := range rules {
		for _, w := range rules[i].words {
			at := 0
			for _, b := range []byte(w) {
				edge := at*f.width + int(f.class[b])
				if f.next[edge] == 0 {
					f.next[edge] = f.state()
				}
				at = int(f.next[edge])
			}
			f.found[at].add(i)
		}
	}
	f.close()
	return f
}

// state adds a state without words.
func (f *wordFinder) state() uint16 {
	f.next = append(f.next, make([]uint16, f.width)...)
	f.found = append(f.found, ruleSet{})
	return uint16(len(f.found) - 1)
}

// close leads what goes on with no word of a state to the longest beginning that still fits.
func (f *wordFinder) close() {
	back := make([]uint16, len(f.found))
	var todo []uint16
	for c := range f.width {
		if s := f.next[c]; s != 0 {
			todo = append(todo, s)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		s := todo[0]
		f.found[s].join(f.found[back[s]])
		for c := range f.width {
			edge := int(s)*f.width + c
			other := f.next[int(back[s])*f.width+c]
			if t := f.next[edge]; t != 0 {
				back[t] = other
				todo = append(todo, t)
			} else {
				f.next[edge] = other
			}
		}
	}
	f.ends = make([]bool, len(f.found))
	for i := range f.found {
		f.ends[i] = f.found[i] != ruleSet{}
	}
}

// span is where a rule is to be looked for.
type span struct{ rule, from, to int }

// shortest is the least length of what a rule without spaces finds.
const shortest = 20

// spans are where the rules are to be looked for in a text: around their words, and no place twice for one rule.
func (f *wordFinder) spans(text []byte) (all []span) {
	var last [64 * len(ruleSet{})]int // of each rule, 1 + where its last span is in all
	at, from, to := 0, 0, 0
	for i, b := range text {
		at = int(f.next[at*f.width+int(f.class[b])])
		if !f.ends[at] {
			continue
		}
		if i >= to {
			from, to = run(text, i)
		}
		for rule := range f.found[at].all() {
			s := span{rule, from, to}
			if r := &secretRules[rule]; r.after > 0 {
				s.from, s.to = max(0, i-r.before), min(len(text), i+r.after)
			} else if to-from < shortest {
				continue
			}
			if n := last[rule]; n > 0 && all[n-1].to >= s.from {
				all[n-1].to = max(all[n-1].to, s.to)
				continue
			}
			all = append(all, s)
			last[rule] = len(all)
		}
	}
	slices.SortStableFunc(all, func(a, b span) int { return a.rule - b.rule })
	return all
}

// run is the run of bytes around a place that a key may have.
func run(text []byte, at int) (from, to int) {
	for from = at; from > 0 && inKeys[text[from-1]]; from-- {
	}
	for to = at; to < len(text) && inKeys[text[to]]; to++ {
	}
	return from, to
}

// inKeys are the bytes of forms without spaces.
var inKeys = func() (in [256]bool) {
	for b := range in {
		in[b] = isWrapped(byte(b)) || strings.IndexByte(".~=%:@", byte(b)) >= 0
	}
	return in
}()
