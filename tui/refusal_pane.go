package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// rawPane shows the raw bytes of one refusal. What is long is read, made safe and broken into rows by a command.
type rawPane struct {
	e     *env
	pager *ui.Pager
	wrap  bool
	seq   uint64 // what is shown
	w     int    // for this width, 0: not wrapped
	whole bool
	have  int // bytes that are shown
	text  string
	asked rawMsg // what is on its way
}

// rawMsg is the text of a refusal's raw bytes, safe, and broken into rows of w cells unless that is 0.
type rawMsg struct {
	seq   uint64
	w     int
	bytes int
	text  string
	rows  string
	err   error
}

func newRawPane(e *env) rawPane { return rawPane{e: e, pager: ui.NewPager(e.Theme), wrap: true} }

// show turns to a refusal in w cells. What the journal has beyond the beginning is asked for.
func (p *rawPane) show(ctx context.Context, asker page, it *refusalItem, w int) tea.Cmd {
	if !p.wrap {
		w = 0
	}
	if p.seq == it.Seq && p.w == w && p.whole {
		return nil
	}
	if p.seq != it.Seq {
		p.text = visible(it.Raw)
		p.seq, p.w, p.whole, p.have = it.Seq, w, it.whole(), len(it.Raw)
		p.pager.SetText(broken(p.text, w))
		p.asked = rawMsg{}
	}
	if p.whole {
		p.w = w
		if len(p.text) <= rawPiece {
			p.setText(broken(p.text, w))
			return nil
		}
		text, seq, n := p.text, it.Seq, p.have
		return p.e.To(asker, func() tea.Msg { return rawMsg{seq: seq, w: w, bytes: n, text: text, rows: broken(text, w)} })
	}
	if p.asked.seq == it.Seq && p.asked.w == w {
		return nil
	}
	p.asked, p.w = rawMsg{seq: it.Seq, w: w}, w
	seq := it.Seq
	q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: seq - 1, Before: seq + 1, Limit: 1}}
	return p.e.Ask(ctx, asker, q, func(got amp.Page, err error) tea.Msg {
		if err == nil && len(got.Entries) == 0 {
			err = fmt.Errorf("there is no entry #%d", seq)
		}
		if err != nil {
			return rawMsg{seq: seq, err: err}
		}
		r, err := amp.DecodeBody[amp.Refusal](&got.Entries[0])
		if err != nil {
			r.Raw = got.Entries[0].Body
		}
		text := visible(r.Raw)
		return rawMsg{seq: seq, w: w, bytes: len(r.Raw), text: text, rows: broken(text, w)}
	})
}

// took shows what a command made ready, if it is still what is looked at.
func (p *rawPane) took(m rawMsg) {
	if m.seq != p.seq {
		return
	}
	if m.err != nil {
		p.asked = rawMsg{}
		p.e.Fail(m.err)
		return
	}
	p.text, p.whole, p.have = m.text, true, m.bytes
	if m.w == p.w {
		p.setText(m.rows)
	}
}

// setText keeps the place in the text as well as it goes.
func (p *rawPane) setText(rows string) {
	lines, top := p.pager.Lines(), p.pager.Top()
	p.pager.SetText(rows)
	if lines > 0 {
		p.pager.Goto(top * p.pager.Lines() / lines)
	}
}

func (p *rawPane) intent(id string) {
	switch id {
	case moveDown:
		p.pager.Scroll(1)
	case moveUp:
		p.pager.Scroll(-1)
	case halfDown:
		p.pager.Page(0.5)
	case halfUp:
		p.pager.Page(-0.5)
	case pageDown:
		p.pager.Page(1)
	case pageUp:
		p.pager.Page(-1)
	case moveTop:
		p.pager.Goto(0)
	case moveBottom:
		p.pager.Goto(p.pager.Lines())
	case moveLeft:
		p.pager.Shift(-8)
	case moveRight:
		p.pager.Shift(8)
	}
}

// drawRaw draws the raw bytes behind a bar, in h rows with their rule.
func (p *refusalPage) drawRaw(b *ui.Block, it *refusalItem, h int) *ui.Block {
	if h < 2 {
		return b
	}
	title := "Raw bytes as received"
	if p.onRaw {
		title = "[" + title + "]"
	}
	mode := "w cuts lines"
	switch {
	case !p.raw.wrap:
		mode = "w wraps"
	case b.Width() < 70:
		mode = "w cuts"
	}
	have := it.kept
	if !p.raw.whole {
		have = len(it.Raw)
	}
	b.Rule(title, fmt.Sprintf("%s of %s · %s", textsafe.Thousands(have), textsafe.Thousands(it.RawLen), mode))
	bar := "  " + p.e.Theme.S(theme.Line, p.e.Theme.Signs.Bar) + " "
	for _, row := range p.raw.pager.Render(max(b.Width()-4, 0), h-1).Rows() {
		b.Add(bar + row)
	}
	return b
}
