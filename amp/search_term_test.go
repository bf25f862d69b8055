package amp

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func termsOf(e *Entry) (all []string) {
	Terms(e, func(term []byte) { all = append(all, string(term)) })
	slices.Sort(all)
	return slices.Compact(all)
}

// selected reports what an index says of a search: whether the terms of an entry fulfil its clauses.
func selected(s *Search, e *Entry) (found, exact bool) {
	terms := termsOf(e)
	has := func(t Term) bool {
		return slices.ContainsFunc(terms, func(have string) bool { return have == t.Text || t.Prefix && strings.HasPrefix(have, t.Text) })
	}
	all, without, exact := s.Clauses()
	for _, c := range all {
		if !slices.ContainsFunc(c, has) {
			return false, exact
		}
	}
	return !slices.ContainsFunc(without, has), exact
}

// An index never loses an entry that matches, and where it says that it is exact, it finds no other.
func TestSearch_clausesNeverLose(t *testing.T) {
	t.Parallel()
	letters := []rune("aAbBzZ09 ._-/:\"→é\u0301ÄäßKk\u212aσςΣ会话한글ไทยⅧŉıİ\u00a0\x00")
	text := rapid.StringOfN(rapid.SampledFrom(letters), 0, 24, -1)
	names := rapid.SampledFrom([]string{"claude", "Claude", "my agent", "", "ärger", "50%", "İ", "i"})
	rapid.Check(t, func(r *rapid.T) {
		e := searchEntry(KindTurn, Executor, names.Draw(r, "actor"), Turn{Agent: names.Draw(r, "agent"), Text: text.Draw(r, "text"), Outcome: TurnOK})
		if rapid.Bool().Draw(r, "raw") {
			e.Kind, e.Body = KindBus, []byte(text.Draw(r, "body"))
		}
		s := &Search{}
		draw := func(s *Search, label string) {
			needle := text.Draw(r, label)
			if from := rapid.IntRange(0, 30).Draw(r, "from"); from < len(e.Body) { // a piece of the text itself is likelier to be there
				needle = string(e.Body[from:min(len(e.Body), from+rapid.IntRange(1, 40).Draw(r, "length"))])
			}
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0, 1:
				s.Words = append(s.Words, needle)
			case 2:
				s.Phrases = append(s.Phrases, needle)
			case 3:
				s.Agents = append(s.Agents, names.Draw(r, "asked"))
			case 4:
				s.Kinds = append(s.Kinds, rapid.SampledFrom([]Kind{KindTurn, KindBus, KindAck}).Draw(r, "kind"))
			}
		}
		for range rapid.IntRange(0, 3).Draw(r, "asked for") {
			draw(s, "needle")
		}
		for range rapid.IntRange(0, 2).Draw(r, "excluded") {
			not := Search{}
			draw(&not, "not")
			s.Not = append(s.Not, not)
		}
		found, exact := selected(s, e)
		switch match := s.Match(e); {
		case match && !found:
			r.Fatalf("the index loses %q for %+v; its terms are %q", e.Body, s, termsOf(e))
		case exact && found != match:
			r.Fatalf("the index finds %q for %+v and says that it is exact; its terms are %q", e.Body, s, termsOf(e))
		}
	})
}

// The ways round what is slow find the words and pairs that a look at every character finds.
func TestTerms_words(t *testing.T) {
	t.Parallel()
	const piece = `[a-zA-Z0-9]{1,40}|[a-c]{1,3}|[A-Z][a-z]{0,4}|[ ._/-]{1,2}|é|会话|Ä|\x{301}|ß`
	rapid.Check(t, func(r *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.StringMatching(piece), 0, 30).Draw(r, "text"), "")
		var want, got []string
		var pairs wordPairs
		prev, space := rune(0), true
		for i, c := range s {
			if startsWord(prev, c, s[i+utf8.RuneLen(c):]) {
				term, _ := appendTerm(nil, s[i:])
				want = append(want, string(term))
				pairs.add(hashTerm(term), joins(c) && joins(prev), space || isUnspaced(c))
				space = false
			} else if c == ' ' {
				space = true
			}
			prev = c
		}
		words := termer{each: func(term []byte) { got = append(got, string(term)) }}
		words.words(s)
		for _, list := range []*[]string{&want, &got} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if !slices.Equal(got, want) || words.pairs.have != pairs.have {
			r.Fatalf("%q has the words %q, want %q; pairs alike: %v", s, got, want, words.pairs.have == pairs.have)
		}
	})
}

func BenchmarkTerms(b *testing.B) {
	for name, text := range map[string]string{
		"chatty": strings.Repeat("what was said about it, ", 80),
		"plain":  strings.Repeat("The session of run_all in cmd/arbiter/serve.go:42 holds the lock until BreathSession ends; retried 3 times. ", 18),
	} {
		b.Run(name, func(b *testing.B) {
			e := searchEntry(KindTurn, Executor, "codex", Turn{Event: TurnEnded, Text: text})
			b.SetBytes(int64(len(e.Body)))
			n := 0
			for b.Loop() {
				Terms(e, func([]byte) { n++ })
			}
		})
	}
}

// What an index holds is stored; when the terms of entries change, an index has to be made anew. Then raise Version in
// ssot/search, and take the sum that is printed here.
func TestTerms_version(t *testing.T) {
	t.Parallel()
	refusal := searchEntry(KindRefusal, Executor, "codex", Refusal{
		What: "task_result", Source: "turn", Raw: []byte(`{"a":"raw"}`), Problems: []Problem{{Rule: RuleEpoch, Field: "x", Message: "over"}},
	})
	ack := searchEntry(KindAck, Executor, "codex", Ack{AckFor: "task_dispatch-T-2026-044-1772100000000", By: Executor, Status: AckRefused, Late: true})
	turn := searchEntry(KindTurn, Executor, "arbiter", Turn{Event: TurnEnded, Agent: "gemini", Outcome: TurnOK, Text: "BreathSession 会话 Ärger 0.95"})
	verdict := verdictEntry(t, &Verdict{
		Decision: Rejected, Confidence: 0.5, CriteriaResults: []CriterionResult{{Criterion: "c", Evidence: "e"}},
		Issues: []Issue{{Severity: IssueMajor, File: "a.go", Line: 3, Description: "d", SuggestedFix: "f"}},
	})
	h := sha256.New()
	for _, e := range []*Entry{refusal, ack, turn, verdict} {
		fmt.Fprintln(h, termsOf(e))
	}
	if got, want := fmt.Sprintf("%x", h.Sum(nil)[:8]), "f91f7c9832d48630"; got != want {
		t.Errorf("the terms of entries are other ones, sum %s, want %s", got, want)
	}
}

// No value makes a long term, and two long values have two terms.
func TestTerms_long(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, agent := range []string{strings.Repeat("a", 300), strings.Repeat("a", 300) + "b", strings.Repeat("\u00e9", 250)} {
		e := searchEntry(KindTurn, Executor, "arbiter", Turn{Event: TurnEnded, Agent: agent, Text: strings.Repeat("\U0001F600x", 500)})
		for _, term := range termsOf(e) {
			if len(term) > MaxTerm {
				t.Errorf("a term of %d bytes: %.40q", len(term), term)
			}
			if strings.HasPrefix(term, "=agent=sha256=") {
				seen[term] = true
			}
		}
		s := &Search{Agents: []string{agent}}
		clauses, _, _ := s.Clauses()
		if len(clauses) != 1 || !slices.Contains(termsOf(e), clauses[0][0].Text) {
			t.Errorf("agent %.20q is not found by %v", agent, clauses)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d terms of three long values", len(seen))
	}
}
