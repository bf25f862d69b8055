package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Render is the active entries for a repository as text, the surest first, in whole lines of at most so many tokens as tokens counts them. ids
// are the entries in it.
func (b *Book) Render(scope string, now time.Time, most int, tokens func(string) int) (text string, ids []string) {
	var active []*Entry
	for i := range b.Entries {
		e := &b.Entries[i]
		if e.State(now) == Active && (e.Scope == "" || e.Scope == scope) {
			active = append(active, e)
		}
	}
	slices.SortFunc(active, func(x, y *Entry) int { return cmp.Or(cmp.Compare(y.Now(now), x.Now(now)), cmp.Compare(x.ID, y.ID)) })
	var out strings.Builder
	for _, e := range active {
		line := fmt.Sprintf("- %s: %s (confidence %.2f, %s)\n", e.Kind, e.Text, e.Now(now), e.ID)
		if tokens(out.String()+line) > most {
			break
		}
		out.WriteString(line)
		ids = append(ids, e.ID)
	}
	return out.String(), ids
}

// Recall is [Book.Render] of the stored memory; the entries in it count as used today.
func (s *Store) Recall(repo string, now time.Time, most int, tokens func(string) int) (string, error) {
	b, err := s.Read()
	if err != nil {
		return "", err
	}
	text, ids := b.Render(ScopeOf(repo), now, most, tokens)
	if len(ids) == 0 {
		return "", nil
	}
	day := now.UTC().Truncate(24 * time.Hour)
	return text, s.Update(func(b *Book) error {
		for i := range b.Entries {
			if e := &b.Entries[i]; slices.Contains(ids, e.ID) && e.Used.Before(day) {
				e.Confidence, e.Used = e.Now(now), day
			}
		}
		return nil
	})
}
