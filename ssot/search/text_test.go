package search

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// pieces are what words of odd texts are made of: letters whose cases differ in number or length, scripts without spaces, signs that join
// and signs that part.
var pieces = []string{
	"a", "B", "ab", "Ab", "aB", "ss", "ß", "ẞ", "ſ", "k", "K", "İ", "i", "ı", "σ", "ς", "Σ", "é", "e\u0301", "ﬁ", "Ǆ", "会", "議", "カ", "ｶ", "한", "ก", "ा",
	"👩‍💻", "❤️", "1", "٣", "²", "_", "-", ".", "/", "'", "’", " ", "  ", "\t", "\n", "\u00a0", "\u200b", "\u200d", "\x00", "\"", "\\", "\ufffd", "\xff",
	"Ⅷ", "𝐀", "🅰", strings.Repeat("x", 31), strings.Repeat("é", 32), strings.Repeat("长", 40),
}

// Whatever stands in a text and whatever is asked for, the index loses nothing and adds nothing to what Match says.
func TestSearch_anyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.Custom(func(r *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(r, "pieces"), "")
		})
		h := &held{chunks: map[uint64]heldChunk{}}
		var all []amp.Entry
		var texts []string
		for i := range rapid.IntRange(1, 12).Draw(r, "entries") {
			said := text.Draw(r, "text")
			texts = append(texts, said)
			all = append(all, amp.Entry{Seq: uint64(i + 1), Record: amp.Record{
				Kind: amp.KindCommand, Role: amp.Admin, Actor: "mira", At: ssottest.Start.Add(time.Duration(i) * time.Second), ID: "n",
				Body: amp.EncodeBody(amp.Command{Command: amp.NoteCommand, Note: said}),
			}})
		}
		h.add(t, slices.Clone(all)...)
		for range 6 {
			whole := []rune(rapid.SampledFrom(texts).Draw(r, "of"))
			from := rapid.IntRange(0, len(whole)-1).Draw(r, "from")
			part := string(whole[from:rapid.IntRange(from+1, len(whole)).Draw(r, "to")])
			switch rapid.IntRange(0, 3).Draw(r, "case") {
			case 0:
				part = strings.ToUpper(part)
			case 1:
				part = strings.ToLower(part)
			}
			query := part
			if rapid.Bool().Draw(r, "phrase") {
				query = `"` + strings.ReplaceAll(part, `"`, ` `) + `"`
			}
			if rapid.IntRange(0, 4).Draw(r, "not") == 0 {
				query = "kind:command -" + query
			}
			f, err := amp.ParseSearch(query, ssottest.Start)
			if err != nil {
				continue
			}
			f.Newest, f.Limit = false, 100
			var want, got []uint64
			for i := range all {
				if ssot.Match(&f, &all[i]) {
					want = append(want, all[i].Seq)
				}
			}
			s := Search{Journal: h, Filter: &f, Last: uint64(len(all)), Store: h, Reach: uint64(len(all)), Count: true}
			found, err := s.Find(t.Context())
			for i := range found.Entries {
				got = append(got, found.Entries[i].Seq)
			}
			if err != nil || s.Wrong() || !slices.Equal(got, want) || found.Count != len(want) {
				r.Fatalf("%q finds %v (%d, wrong: %v, %v), want %v", query, got, found.Count, s.Wrong(), err, want)
			}
		}
	})
}
