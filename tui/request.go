package tui

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

const (
	// patience is how long a request may take before the screen says that it waits, and for whom.
	patience = 150 * time.Millisecond
	// spinEvery turns the one sign that turns: four times a second, while a person waits.
	spinEvery = 250 * time.Millisecond
)

// request is something that a person waits for. Only the loop touches it, but for its progress.
type request struct {
	what, who string // "the diff of T-2026-004", "the coordinator"
	submits   bool
	since     time.Time
	cancel    context.CancelFunc
	progress  atomic.Pointer[string]
}

// say sets how far the work is; it is called from the work.
func (r *request) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.progress.Store(&text)
}

// endedMsg is the end of a request with its message, nil for none.
type endedMsg struct {
	r   *request
	msg tea.Msg
}

// begin notes a request, until its endedMsg comes.
func (e *env) begin(ctx context.Context, who, what string) (context.Context, *request) {
	ctx, cancel := context.WithCancel(ctx)
	r := &request{who: who, what: what, since: e.Now, cancel: cancel}
	e.requests = append(e.requests, r)
	return ctx, r
}

// Await runs work that a person may have to wait for, and hands its message to the page or sheet that asked, or with a nil
// asker to the program. After [patience] the screen says for whom it waits, how long, and how far r.say says it is; esc ends
// the context.
func (e *env) Await(ctx context.Context, asker any, who, what string, work func(ctx context.Context, r *request) tea.Msg) tea.Cmd {
	ctx, r := e.begin(ctx, who, what)
	return func() tea.Msg {
		defer r.cancel()
		msg := work(ctx, r)
		if asker != nil && msg != nil {
			msg = pageMsg{asker, msg}
		}
		return endedMsg{r, msg}
	}
}

// ended forgets a request.
func (m *model) ended(msg endedMsg) tea.Cmd {
	e := m.env
	if m.waitsFor() == msg.r {
		m.gate.urgent()
	}
	e.requests = slices.DeleteFunc(e.requests, func(r *request) bool { return r == msg.r })
	if msg.msg == nil {
		return nil
	}
	return m.route(msg.msg)
}

// waitsFor is the request that the screen shows: a command that was sent, or the oldest one that takes long.
func (m *model) waitsFor() *request {
	e := m.env
	var found *request
	for _, r := range e.requests {
		if e.Now.Sub(r.since) >= patience && (found == nil || r.submits) {
			found = r
		}
	}
	return found
}

// cancelRequest ends what the screen waits for, and reports whether it waits.
func (m *model) cancelRequest() bool {
	r := m.waitsFor()
	if r != nil {
		r.cancel()
	}
	return r != nil
}

// requestRow is the request that the screen waits for, "" for none; it asks for the frame in which it appears or turns.
func (m *model) requestRow() string {
	e := m.env
	r := m.waitsFor()
	if r == nil {
		for _, r := range e.requests {
			e.WakeAt(r.since.Add(patience))
		}
		return ""
	}
	took := e.Now.Sub(r.since)
	e.WakeAt(e.Now.Add(spinEvery - took%spinEvery))
	sign := e.Theme.Signs.Spin(int(took / spinEvery))
	how := "waiting for " + r.who
	if p := r.progress.Load(); p != nil {
		how = *p
	}
	esc := "esc cancels"
	if r.submits {
		esc = "esc stops waiting"
	}
	return " " + e.Theme.S(theme.Time, fmt.Sprintf("%s %s: %s, %d s · %s", sign, ui.Safe(r.what), ui.Safe(how), int(took.Seconds()), esc))
}

// asks says what a query is about.
func asks(q amp.Query) string {
	of := ""
	if id := q.TaskID; id != "" {
		of = " of " + string(id)
	} else if id := q.Filter.TaskID; id != "" {
		of = " of " + string(id)
	}
	switch q.Kind {
	case amp.QueryBoard:
		return "the board"
	case amp.QueryEntries:
		return "entries" + of
	case amp.QueryDiff:
		return "the diff" + of
	case amp.QueryLog:
		return "the log of a turn"
	case amp.QueryChecklist:
		return "the checklist" + of
	case amp.QueryPull:
		return "the pull request" + of
	default:
		return string(q.Kind) + of
	}
}
