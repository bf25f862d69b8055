package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/tui/textsafe"
)

// out writes to standard output and remembers the first error, so that a full disk behind a redirection is not success.
func (a *app) out(format string, args ...any) {
	if a.stdoutErr != nil {
		return
	}
	if _, err := fmt.Fprintf(a.stdout, format, args...); err != nil {
		a.stdoutErr = fmt.Errorf("write to standard output: %w", err)
	}
}

// outJSON prints one value on one line.
func (a *app) outJSON(v any) { a.out("%s\n", encodeJSON(v)) }

// encodeJSON writes one of our own values. Names are in a fixed order, so that output can be compared.
func encodeJSON(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.EscapeForHTML(false))
	if err != nil {
		panic(err) // a value of ours that has no JSON form
	}
	return data
}

// table prints rows in aligned columns, two spaces apart. Cells may hold text of agents: they are made safe here.
type table struct {
	rows [][]string
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = textsafe.Line(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// maxColumn is the widest column that others are aligned behind.
const maxColumn = 48

func (t *table) print(a *app) {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], min(ansi.StringWidth(c), maxColumn))
		}
	}
	for _, r := range t.rows {
		var b strings.Builder
		for i, c := range r {
			if i == len(r)-1 {
				b.WriteString(c)
				break
			}
			if i < len(r)-1 {
				c = textsafe.Cut(c, maxColumn)
			}
			b.WriteString(c)
			b.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(c)+2))
		}
		a.out("%s\n", strings.TrimRight(b.String(), " "))
	}
}

// block prints text of others, made safe, each line behind indent.
func (a *app) block(indent, text string) {
	for _, line := range textsafe.Block(text) {
		a.out("%s\n", strings.TrimRight(indent+line, " "))
	}
}

// ago says how long before now t was, in one or two units.
func ago(t, now time.Time) string {
	if t.After(now) {
		return "now"
	}
	return span(now.Sub(t))
}

// span is a time in one or two units.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// short is the beginning of a hash or commit, as people compare it.
func short(hash string) string { return hash[:min(12, len(hash))] }

// plural is "1 task", "2 tasks".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
