package tui

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

func historyKind() pageKind {
	return pageKind{
		Kind: KindHistory, Tab: "5", Title: "History", Short: "Hist",
		Make: func(e *env, _ Place) page { return newHistoryPage(e, KindHistory, "History") },
	}
}

// historyPage lists entries of the journal, newest first.
type historyPage struct {
	e       *env
	kind    Kind
	title   string
	kinds   []amp.Kind
	ctx     context.Context
	cancel  context.CancelFunc
	entries []amp.Entry
	lines   []line
	list    *ui.List
	state   string
	top     int
}

type historyMsg struct {
	page amp.Page
	err  error
}

func newHistoryPage(e *env, kind Kind, title string, kinds ...amp.Kind) *historyPage {
	p := &historyPage{e: e, kind: kind, title: title, kinds: kinds, state: "reading …"}
	p.ctx, p.cancel = e.Context()
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.entries) },
		ID:      func(i int) string { return seqName(p.entries[i].Seq) },
		Version: func(i int) uint64 { return p.entries[i].Seq },
		Lines: func(i, w int, selected bool) []ui.Line {
			en, l := &p.entries[i], &p.lines[i]
			return []ui.Line{ui.NewColumns(e.Theme, w,
				ui.Column{Title: "ENTRY", Width: 8, Keep: 10},
				ui.Column{Title: "TASK", Width: 10, Keep: 9},
				ui.Column{Title: "WHAT", Width: 14, Keep: 8},
				ui.Column{Title: "TEXT", Width: 12, Flex: true, Keep: 7},
			).Row(selected, ui.Cell{Text: seqName(en.Seq)}, ui.Cell{Text: string(en.TaskID)}, ui.Cell{Text: l.What}, ui.Cell{Text: l.Text})}
		},
	})
	return p
}

func (p *historyPage) load() tea.Cmd {
	q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Kinds: p.kinds, Newest: true, Limit: windowPage}}
	return p.e.Ask(p.ctx, p, q, func(got amp.Page, err error) tea.Msg { return historyMsg{got, err} })
}

// Update handles one message.
func (p *historyPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		return p.load()
	case historyMsg:
		if msg.err != nil {
			p.state = msg.err.Error()
			p.e.Fail(msg.err)
			return nil
		}
		p.entries, p.lines, p.state = msg.page.Entries, describeAll(msg.page.Entries), ""
		if len(p.entries) == 0 {
			p.state = "nothing is here yet"
		}
		p.list.Forget()
	case changedMsg:
		if msg.All || slices.ContainsFunc(msg.Entries, func(en amp.Entry) bool { return len(p.kinds) == 0 || slices.Contains(p.kinds, en.Kind) }) {
			return p.load()
		}
	case clickMsg:
		p.list.Click(msg.Y - p.top)
	case wheelMsg:
		p.list.Move(msg.By)
	case intent:
		if moveList(p.list, msg.ID) {
			return nil
		}
		if _, i, ok := p.list.Cursor(); msg.ID == openItem && ok && i < len(p.entries) {
			return p.e.Go(Place{Kind: KindText, ID: textEntry + ":" + seqName(p.entries[i].Seq)[1:]})
		}
	}
	return nil
}

// Scopes is the scope of the page.
func (p *historyPage) Scopes() []string { return []string{string(p.kind)} }

// Title names the page.
func (p *historyPage) Title() string { return p.title }

// Close ends its queries.
func (p *historyPage) Close() { p.cancel() }

// Render draws the visible rows.
func (p *historyPage) Render(w, h int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w).Rule(p.title, "newest first")
	if p.state != "" {
		return b.Say(theme.Muted, "  "+p.state).Fit(h)
	}
	p.top = b.Height()
	return b.Append(p.list.Render(w, h-p.top)).Fit(h)
}
