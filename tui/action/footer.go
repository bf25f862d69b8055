package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// Hint is one entry of the footer.
type Hint struct {
	Key  string // as a person reads it: "↵", "ctrl+d"
	Text string
	ID   string
}

// Footer returns at most n hints for actions of the scopes that are on now, in the order of their rank; inner
// scopes win where ranks are equal. Keys hidden by an inner scope are left out.
func (r *Registry) Footer(n int, scopes ...string) []Hint {
	r.listed = r.listed[:0] // every frame asks: the room for the answer is kept
	for _, s := range scopes {
		for _, a := range r.actions {
			if a.Scope != s || len(a.Keys) == 0 {
				continue
			}
			if !slices.ContainsFunc(r.listed, func(o *Action) bool { return o.Keys[0] == a.Keys[0] }) {
				r.listed = append(r.listed, a)
			}
		}
	}
	slices.SortStableFunc(r.listed, func(x, y *Action) int { return cmp.Compare(x.Rank, y.Rank) })
	out := make([]Hint, 0, n)
	for _, a := range r.listed {
		if len(out) == n {
			break
		}
		if a.Rank > 0 && r.why(a) == "" { // asked in this order: what has no room need not say whether it is on
			out = append(out, Hint{a.Keys[0], a.short(), a.ID})
		}
	}
	return out
}

// Display returns a key as the interface shows it: "↵" for enter where signs are not ASCII.
func Display(key string, ascii bool) string {
	if ascii {
		return key
	}
	if !strings.Contains(key, " ") {
		return displayOne(key)
	}
	parts := strings.Split(key, " ")
	for i, k := range parts {
		parts[i] = displayOne(k)
	}
	return strings.Join(parts, " ")
}

func displayOne(key string) string {
	switch key {
	case "enter":
		return "↵"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	}
	return key
}

// Row is an action as the documentation of the keys shows it.
type Row struct {
	Scope  string   `json:"scope"`
	ID     string   `json:"id"`
	Keys   []string `json:"keys"`
	Danger string   `json:"danger"`
	Title  string   `json:"title"`
}

// Table returns all actions in the order of their scopes and registration.
func (r *Registry) Table() []Row {
	var out []Row
	for _, a := range r.In(r.Scopes()...) {
		out = append(out, Row{a.Scope, a.ID, append([]string{}, a.Keys...), a.Danger.String(), a.Title})
	}
	return out
}

// Dump returns the table of all actions as text: scope, keys, id, danger, title.
func (r *Registry) Dump() string { return Text(r.Table()) }

// Text returns a table of actions as text.
func Text(rows []Row) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SCOPE\tKEYS\tID\tDANGER\tTITLE")
	for _, a := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", a.Scope, cmp.Or(strings.Join(a.Keys, ", "), "-"), a.ID, a.Danger, a.Title)
	}
	_ = t.Flush() // a strings.Builder takes every write
	return b.String()
}
