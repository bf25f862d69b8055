package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
)

func (p *lettersPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		p.colsW = w
		p.cols = ui.NewColumns(p.e.Theme, w,
			ui.Column{Title: "", Width: 1, Keep: 9},
			ui.Column{Title: "DEAD", Width: 4, Keep: 8, Right: true},
			ui.Column{Title: "TYPE", Width: 14, Keep: 5},
			ui.Column{Title: "FROM", Width: 16, Keep: 4},
			ui.Column{Title: "TO", Width: 16, Keep: 7},
			ui.Column{Title: "TASK", Width: 10, Keep: 3},
			ui.Column{Title: "WHY", Width: 12, Flex: true, Keep: 10})
	}
	return p.cols
}

func (p *lettersPage) line(x *Letter, w int, selected bool) ui.Line {
	mark := ""
	if p.marked[x.Key] {
		mark = p.e.Theme.Signs.Yes
	}
	return p.columns(w).Row(selected, ui.Cell{Text: mark, Role: theme.Accent}, ui.Cell{Live: true}, ui.Cell{Text: x.Type}, ui.Cell{Text: x.From},
		ui.Cell{Text: x.To}, ui.Cell{Text: x.Task}, ui.Cell{Text: x.Why, Role: theme.Danger})
}

// Render draws the list, and the letter under the cursor below it.
func (p *lettersPage) Render(w, h int) *ui.Block {
	title, count := "Dead letters of the bus", p.count()
	b := ui.NewBlock(p.e.Theme, w).Rule(title, count)
	x := p.current()
	if x == nil {
		b.Blank(1)
		b.Para(2, p.e.Theme.S(theme.Muted, p.nothing()))
		return b.Fit(h)
	}
	if x.Key != p.shown {
		p.shown, p.view = x.Key, scroller{lazy: true}
	}
	b.Add(p.columns(w).Head())
	p.listTop = b.Height()
	room := max(h-b.Height(), 0)
	p.listH = min(len(p.all), max(room/2, 3), room)
	b.Append(p.list.Render(w, p.listH)).RuleSeen(0, title, count, p.list)
	return p.card(b, x, h-b.Height()).Fit(h)
}

// nothing says why the list is empty, and what to do.
func (p *lettersPage) nothing() string {
	switch {
	case p.e.Letters == nil:
		return "These screens have no way to the bus."
	case p.err != nil:
		return "They could not be read: " + ui.Safe(p.e.explained(p.err).What) + ". In a shell: arbiter bus dead"
	case !p.known:
		return "reading …"
	}
	return "Every message was delivered, or still waits. One that cannot be delivered comes here, with the reason: P sends it again, D gives it up. " +
		"In a shell, arbiter bus queue lists what waits."
}

// card says all of one letter in h rows.
func (p *lettersPage) card(b *ui.Block, x *Letter, h int) *ui.Block {
	if h < 2 {
		return b
	}
	title := ui.Safe(x.MessageID)
	if p.onCard {
		title = "[" + title + "]"
	}
	b.Rule(title, ui.Safe(x.Priority)+" · "+size(x.Bytes))
	c := p.e.newColumn(b.Width())
	field := func(label, text string) { c.Field(refusalLabel, label, ui.Safe(text)) }
	field("what", x.Type)
	field("from", x.From)
	field("to", x.To)
	if x.Task != "" {
		text := x.Task
		if t := p.e.Board.Task(amp.TaskID(x.Task)); t != nil {
			text += " " + titleOf(t) + " · " + statusWord(t.Status)
		}
		field("task", text)
	}
	tried := map[int]string{0: "no delivery", 1: "1 delivery"}[x.Tries]
	if tried == "" {
		tried = fmt.Sprintf("%d deliveries", x.Tries)
	}
	field("came", p.e.Clock(x.At)+", dead since "+p.e.Clock(x.Dead))
	field("tried", tried+" failed since the bus was started")
	c.Field(refusalLabel, "why", ui.Quote(p.e.Theme, x.Why))
	if p.unsettled != "" {
		c.Field(refusalLabel, "refused", p.e.Theme.S(theme.Danger, ui.Safe(p.unsettled)))
	}
	return b.Append(p.view.show(c, h-1))
}

// dropSheet asks before dead letters are given up. It is a [sheet].
type dropSheet struct {
	p    *lettersPage
	bar  *bar.Bar
	keys []string
}

func newDropSheet(p *lettersPage) *dropSheet {
	all := p.chosen()
	a := bar.Ask{
		Title: fmt.Sprintf("Give %s up?", plural(len(all), "dead letter")), Confirm: "Give up", Risk: bar.Medium, After: "acts at once, no undo",
	}
	for i, x := range all {
		if i == 3 {
			a.Rows = append(a.Rows, bar.Row{Label: "", Items: []string{fmt.Sprintf("and %d more", len(all)-i)}})
			break
		}
		a.Rows = append(a.Rows, bar.Row{Label: "letter", Items: []string{x.MessageID, x.Type, x.From + " → " + x.To}})
	}
	a.Rows = append(a.Rows, bar.Row{Label: "will", Items: []string{"take it off the list", "note in the journal who did it"}},
		bar.Row{Label: "will not", Items: []string{"delete it from the journal", "send it again, ever"}})
	s := &dropSheet{p: p, bar: bar.Open(a, "", p.e.Now)}
	for _, x := range all {
		s.keys = append(s.keys, x.Key)
	}
	return s
}

// Key hands a key to the bar.
func (s *dropSheet) Key(k tea.KeyMsg) tea.Cmd {
	switch ev := s.bar.Key(k, s.p.e.Now); ev.Kind {
	case bar.Cancelled:
		s.p.e.CloseSheet()
	case bar.Confirmed:
		s.p.e.CloseSheet()
		if why := s.p.off(letterDrop); why != "" {
			s.p.e.Toast(theme.Time, "give up is off: "+why)
			return nil
		}
		return s.p.changeThese("given up", s.keys, Letters.Drop)
	case bar.NotArmed, bar.Changed, bar.Ignored, bar.Refused:
		if ev.Why != "" {
			s.p.e.Toast(theme.Time, ev.Why)
		}
	}
	return nil
}

// Update does nothing: what was asked about does not change, and what is gone is refused.
func (s *dropSheet) Update(tea.Msg) tea.Cmd { return nil }

// Height is what the bar needs.
func (s *dropSheet) Height(w int) int { return s.bar.Height(s.p.e.Theme, w) }

// Render draws the bar, and again when it is armed.
func (s *dropSheet) Render(w, h int) *ui.Block {
	if at := s.bar.ArmsAt(); s.p.e.Now.Before(at) {
		s.p.e.WakeAt(at)
	}
	return s.bar.Render(s.p.e.Theme, w, h, s.p.e.Now)
}
