package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
)

// edited asks again when the field has rested for a moment.
func (p *historyPage) edited() tea.Cmd {
	f, ok := p.line.parse()
	p.asked++
	if p.due = ok; !ok {
		p.halt()
		return nil // the last good results stay
	}
	p.wanted = f
	asked := p.asked
	return p.e.To(p, tea.Tick(searchDelay, func(time.Time) tea.Msg { return searchDueMsg{asked} }))
}

// halt ends the question on its way.
func (p *historyPage) halt() {
	if p.stop != nil {
		p.stop()
	}
	p.stop, p.since = nil, time.Time{}
}

// search asks for the newest part of the answer.
func (p *historyPage) search() tea.Cmd {
	p.halt()
	p.asked++
	p.since, p.due = p.e.Now, false
	var ctx context.Context
	ctx, p.stop = context.WithCancel(p.ctx)
	return p.ask(ctx, endFirst, p.wanted)
}

// page asks for another part of the answer on the screen.
func (p *historyPage) page(at end) tea.Cmd {
	p.paging = true
	return p.ask(p.ctx, at, p.filter)
}

func (p *historyPage) ask(ctx context.Context, at end, filter amp.Filter) tea.Cmd {
	s, now := p.e.Session, p.e.now
	msg := resultsMsg{asked: p.asked, era: p.era, at: at, filter: filter}
	q := amp.Query{Kind: amp.QueryEntries, Filter: filter}
	if at == endFirst {
		q.Filter.Newest, q.Filter.Limit = true, windowPage
	} else {
		q.Filter = p.res.query(filter, at)
	}
	return p.e.To(p, func() tea.Msg {
		from := now()
		msg.page, msg.err = s.Query(ctx, q)
		if ctx.Err() != nil {
			return nil
		}
		msg.took = now().Sub(from)
		msg.rows = readHits(msg.page.Entries, filter.Search)
		return msg
	})
}

// answered takes one page of an answer.
func (p *historyPage) answered(msg resultsMsg) tea.Cmd {
	first := msg.at == endFirst
	if first && msg.asked != p.asked || !first && msg.era != p.era {
		return nil // the person typed on meanwhile
	}
	if first {
		p.since = time.Time{}
	} else {
		p.paging = false
	}
	if msg.err != nil {
		if text := msg.err.Error(); text != p.failed {
			p.failed = text
			p.e.Fail(msg.err)
		}
		return nil
	}
	p.failed = ""
	if first {
		again := p.loaded && p.filter.Search != msg.filter.Search
		p.loaded, p.filter, p.took = true, msg.filter, msg.took
		p.era++
		p.paging = false
		p.drawn, p.cols = p.drawn+1, nil
		p.res.take(endFirst, msg.page, msg.rows)
		if again {
			p.list.Top()
		}
	} else {
		p.res.take(msg.at, msg.page, msg.rows)
		if msg.at == endOldest {
			p.list.Bottom()
		}
	}
	if !p.res.newer && p.e.Board.Head.Seq > p.res.upto {
		p.res.newer = true // entries came while it was on its way
	}
	return tea.Batch(p.more(), p.follow())
}

// changed takes new entries of the journal.
func (p *historyPage) changed(msg changedMsg) tea.Cmd {
	var cmds []tea.Cmd
	if p.detail != nil {
		cmds = append(cmds, p.detail.Update(msg))
	}
	switch {
	case !p.loaded || p.failed != "":
		if msg.All && p.since.IsZero() { // the coordinator is back
			cmds = append(cmds, p.search())
		}
	case len(msg.Entries) == 0:
		p.res.newer = p.res.newer || msg.All
		cmds = append(cmds, p.more())
	default:
		n := len(p.res.rows)
		if !p.res.follow(msg.Entries, &p.filter) {
			cmds = append(cmds, p.more())
		} else if n == 0 && len(p.res.rows) > 0 {
			cmds = append(cmds, p.follow())
		}
	}
	return tea.Batch(cmds...)
}

// more asks for the page behind or before the rows that are there when the cursor comes near their end.
func (p *historyPage) more() tea.Cmd {
	if p.paging || !p.loaded {
		return nil
	}
	_, i, ok := p.list.Cursor()
	const near = 60
	switch {
	case p.res.newer && (!ok || i < near):
		return p.page(endNewer)
	case p.res.older && ok && i >= len(p.res.rows)-near:
		return p.page(endOlder)
	}
	return nil
}
