package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"arbiter/tui/textsafe"
)

// markdown writes a page that a person reads. Text of others goes through said and quote only: both make it code, in which Markdown
// knows no links, no pictures and no HTML, and safe on a terminal.
type markdown struct {
	w   *bufio.Writer
	err error
}

func newMarkdown(w io.Writer) *markdown { return &markdown{w: bufio.NewWriter(w)} }

// line writes words of our own.
func (m *markdown) line(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format+"\n", args...)
	}
}

// title begins a section.
func (m *markdown) title(level int, format string, args ...any) {
	m.line("\n%s "+format+"\n", append([]any{strings.Repeat("#", level)}, args...)...)
}

// quote writes a text of others as a block of code in a quotation; nothing when it is empty.
func (m *markdown) quote(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	m.line("")
	for _, l := range textsafe.Block(text) {
		m.line("%s", strings.TrimRight(">     "+l, " "))
	}
	m.line("")
}

// list writes texts of others, one item each.
func (m *markdown) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	m.line("\n%s:\n", title)
	for i, item := range items {
		m.line("%d. %s", i+1, said(item))
	}
}

// end writes out what is left.
func (m *markdown) end() error {
	if m.err == nil {
		m.err = m.w.Flush()
	}
	return m.err
}

// said is a text of others within a line of Markdown.
func said(s string) string {
	if s = strings.ReplaceAll(textsafe.Line(s), "`", "ˋ"); strings.TrimSpace(s) == "" {
		return "—"
	}
	return "`" + s + "`"
}

// utc is a time for a page that is read elsewhere.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
