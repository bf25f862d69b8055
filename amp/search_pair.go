package amp

import "math/bits"

// A phrase is looked for by the pairs of its words: an index keeps of an entry which words stand side by side in its text, not as
// words but as one of pairKinds numbers, so that they need little space. Some other pairs have the same number: what the index
// finds is looked at. Only words with a space between them are a pair, and characters of scripts without spaces: the parts of paths,
// times and ids would take as much space again, and are rare by themselves.
const (
	pairBits  = 12
	pairKinds = 1 << pairBits
)

// pairTerm has the term of each number.
var pairTerm = func() (all [pairKinds][]byte) {
	for i := range all {
		all[i] = []byte{'=', '+', '0' + byte(i>>6), '0' + byte(i&63)}
	}
	return all
}()

// wordPairs are the numbers of the pairs in a text. A word may begin at several places, as in BreathSession: each of them stands
// before the word that comes next, but only its beginning stands behind the one before.
type wordPairs struct {
	have [pairKinds / 64]uint64
	// left are the hashes of the last word, one for each place where it begins.
	left []uint64
}

// end forgets the last word: what comes next does not stand beside it.
func (p *wordPairs) end() { p.left = p.left[:0] }

// add adds the word whose term has this hash; inside says that it begins within the last one, apart that the two are a pair.
func (p *wordPairs) add(h uint64, inside, apart bool) {
	if !inside {
		for _, l := range p.left {
			if apart {
				k := (l*0x9e3779b97f4a7c15 ^ h) * 0xff51afd7ed558ccd >> (64 - pairBits)
				p.have[k/64] |= 1 << (k % 64)
			}
		}
		p.left = p.left[:0]
	}
	p.left = append(p.left, h)
}

// each calls f with the terms of the pairs.
func (p *wordPairs) each(f func(term []byte)) {
	for i, w := range p.have {
		for ; w != 0; w &= w - 1 {
			f(pairTerm[i*64+bits.TrailingZeros64(w)])
		}
	}
}

// hashTerm is FNV-1a. It is written into indexes.
func hashTerm(term []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range term {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
