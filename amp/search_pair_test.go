package amp

import "testing"

// A phrase is not looked for in entries that have its words, but not side by side.
func TestSearch_phraseByPairs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, phrase string
		want         bool
	}{
		{"the session holds the lock", "session holds", true},
		{"the session holds the lock", "Holds THE lock", true},
		{"the session holds the lock", "holds session", false},
		{"the session holds the lock", "session lock", false},
		{"BreathSession holds it", "session holds", true},
		{"it holds BreathSession", "holds session", false},
		{"it holds BreathSession", "holds breathsession", true},
		{"会话没有保存", "没有保", true},
		{"会话没有保存", "没话有保", false},
	} {
		e := searchEntry(KindTurn, Executor, "codex", Turn{Event: TurnEnded, Text: c.text})
		s := &Search{Phrases: []string{c.phrase}}
		if found, _ := selected(s, e); found != c.want || c.want != s.Match(e) {
			t.Errorf("%q in %q: %v by the index, %v by itself, want %v", c.phrase, c.text, found, s.Match(e), c.want)
		}
	}
}
