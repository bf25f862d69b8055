package tui

import (
	"fmt"
	"io"
	"strings"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// voice writes sentences: one to a line, wrapped, and with nothing in them but text. What goes on in a second line is indented,
// so that no part of a quoted text stands where a sentence of Arbiter's own begins.
type voice struct {
	w     io.Writer
	width int
	signs *theme.Signs
	err   error // of the first write that failed
	// open says that a prompt stands in the line that was written last.
	open bool
}

const (
	narrowest = 20
	hanging   = "  "
)

// say writes one sentence.
func (v *voice) say(format string, args ...any) {
	v.line("", fmt.Sprintf(format, args...))
}

// item writes one numbered choice.
func (v *voice) item(n int, text string) { v.line(fmt.Sprintf("%d. ", n), text) }

func (v *voice) line(head, text string) {
	v.end()
	rows := ui.Wrap(head+v.safe(text), max(v.width, narrowest))
	if len(rows) > 1 {
		first := rows[0]
		rows = append([]string{first}, ui.Wrap(strings.TrimLeft(strings.TrimPrefix(head+v.safe(text), first), " "), max(v.width, narrowest)-len(hanging))...)
	}
	for i, r := range rows {
		r = strings.TrimRight(r, " ")
		if i > 0 {
			r = hanging + r
		}
		v.write(r + "\n")
	}
}

// blank separates what is said from what was said before.
func (v *voice) blank() {
	v.end()
	v.write("\n")
}

// prompt writes a question and leaves the line open for its answer.
func (v *voice) prompt(text string) {
	v.end()
	rows := ui.Wrap(v.safe(text), max(v.width, narrowest)-len(hanging))
	v.write(strings.Join(rows, "\n"+hanging) + " ")
	v.open = true
}

// end ends the line of a prompt that nobody answered.
func (v *voice) end() {
	if v.open {
		v.open = false
		v.write("\n")
	}
}

// answered notes that the person ended the line of the prompt.
func (v *voice) answered() { v.open = false }

// safe is text in the signs of this terminal, as one line, whole.
func (v *voice) safe(text string) string {
	if len(text) <= textsafe.MaxLine {
		return v.signs.Plain(textsafe.Line(text))
	}
	return v.signs.Plain(strings.Join(textsafe.Block(text), " "))
}

func (v *voice) write(text string) {
	if v.err == nil {
		_, v.err = io.WriteString(v.w, text)
	}
}

// quote writes somebody else's words after a head of our own: in quotation marks, every line of them indented but the first, none
// left out up to limit lines; 0 is no limit.
func (v *voice) quote(head, text string, limit int) {
	lines := textsafe.Block(strings.TrimSpace(text))
	more := 0
	if limit > 0 && len(lines) > limit {
		more = len(lines) - limit
		lines = lines[:limit]
	}
	if len(lines) == 1 {
		v.say("%s %s", head, quoted(lines[0]))
	} else {
		v.say("%s %s:", head, counted(len(lines)+more, "line"))
		for _, l := range lines {
			v.line(hanging, quoted(l))
		}
	}
	if more > 0 {
		v.say("%s are left out here.", counted(more, "more line"))
	}
}
