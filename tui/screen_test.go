package tui

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

var _ Session = (*tuitest.Script)(nil)

// seat is a program over a script, in front of an emulated terminal.
type seat struct {
	*tuitest.Screen
	script *tuitest.Script
	model  *model
	t      testing.TB
}

// start runs the interface over a script, on a screen of w by h cells, and waits until it is live. change may edit the
// configuration.
func start(t testing.TB, s *tuitest.Script, w, h int, change ...func(*Config)) *seat {
	t.Helper()
	return startThemed(t, s, theme.Default(), w, h, change...)
}

func startThemed(t testing.TB, s *tuitest.Script, th *theme.Theme, w, h int, change ...func(*Config)) *seat {
	t.Helper()
	m, cancel := testModel(t, s, th, change...)
	var wg sync.WaitGroup
	wg.Go(func() { m.pump.run(m.env.ctx) })
	screen := tuitest.Start(t, &doer{m}, w, h)
	t.Cleanup(func() { cancel(); wg.Wait() })
	if w >= minWidth && h >= minHeight {
		screen.WaitFor(" live") // not a part of "delivered"
	}
	return &seat{screen, s, m, t}
}

// testModel returns a model whose clock is the script's.
func testModel(t testing.TB, s *tuitest.Script, th *theme.Theme, change ...func(*Config)) (*model, context.CancelFunc) {
	t.Helper()
	return testModelWith(t, s, th, func(*parts) {}, change...)
}

func testModelWith(t testing.TB, s *tuitest.Script, th *theme.Theme, with func(*parts), change ...func(*Config)) (*model, context.CancelFunc) {
	t.Helper()
	cfg := Config{Session: s, Admin: "mira", Mouse: true, Version: "test"}
	for _, f := range change {
		f(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ids, own := 0, "own"
	if cfg.Admin != "mira" { // two seats of one script
		own = cfg.Admin
	}
	p := parts{
		theme: th, now: s.Now, zone: time.UTC,
		newID:  func() string { ids++; return fmt.Sprintf("%s-%d", own, ids) },
		copied: func(text string) string { return fmt.Sprintf("copied %q", text) },
	}
	with(&p)
	return newModel(ctx, cfg, p), cancel
}

// still is a model without a program: it is synchronised with the script, sized, and drawn by hand.
func still(t testing.TB, s *tuitest.Script, w, h int, change ...func(*Config)) *model {
	t.Helper()
	return stillWith(t, s, w, h, theme.Default(), func(*parts) {}, change...)
}

func stillWith(t testing.TB, s *tuitest.Script, w, h int, th *theme.Theme, with func(*parts), change ...func(*Config)) *model {
	t.Helper()
	m, _ := testModelWith(t, s, th, with, change...)
	q := func(q amp.Query) amp.Page {
		p, err := s.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	board := q(amp.Query{Kind: amp.QueryBoard})
	m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m.Update(syncedMsg{
		gen: 1, board: board.Board, state: q(amp.Query{Kind: amp.QueryStatus}).Status,
		recent: q(amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Newest: true, Limit: recentEntries}}).Entries,
	})
	m.pump.gen = 1
	m.Update(connMsg{phase: live})
	return m
}

// visit opens a place and answers its first queries.
func visit(t testing.TB, m *model, at Place) {
	t.Helper()
	m.env.Go(at)
	if p, ok := m.nav.top().page.(*taskPage); ok {
		older, err := m.env.Session.Query(t.Context(), p.win.olderQuery(0))
		if err != nil {
			t.Fatal(err)
		}
		p.Update(olderMsg{page: older, first: true, proof: older})
	}
	if p, ok := m.nav.top().page.(*turnPage); ok {
		log, err := m.env.Session.Query(t.Context(), amp.Query{Kind: amp.QueryLog, From: p.turn})
		if err != nil {
			t.Fatal(err)
		}
		p.Update(turnTextMsg{turnText: turnText{log.Text, tellLines(log.Text)}})
	}
	m.gate.urgent()
	m.Update(nil)
}

// open goes to a task and waits for its history.
func (s *seat) open(id amp.TaskID) *seat {
	s.t.Helper()
	s.goTo(Place{Kind: KindTask, ID: string(id)})
	s.WaitGone("reading …")
	s.Settle()
	return s
}

// Do runs f in the program's loop, as a page would.
func (s *seat) Do(f func(e *env) tea.Cmd) *seat {
	s.t.Helper()
	s.Send(doMsg(f))
	s.Settle()
	return s
}

func (s *seat) goTo(at Place) *seat { return s.Do(func(e *env) tea.Cmd { return e.Go(at) }) }

// offReason is why nothing can be decided.
func (s *seat) offReason() (why string) {
	s.Do(func(e *env) tea.Cmd { why = e.Off(); return nil })
	return why
}

// doer lets a test run something in the program's loop.
type doer struct{ *model }

type doMsg func(e *env) tea.Cmd

func (d *doer) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	f, ok := msg.(doMsg)
	if !ok {
		_, cmd := d.model.Update(msg)
		return d, cmd
	}
	d.env.Now = d.env.now()
	cmd := f(d.env)
	d.gate.urgent()
	return d, tea.Batch(cmd, d.settle())
}
