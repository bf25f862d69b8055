package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/action"
	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

const failureLog = "failures.log"

func failureKind() pageKind {
	return pageKind{
		Kind: KindFailures, Title: "Errors of this program", Dense: true,
		Make: func(e *env, _ Place) page { return newFailurePage(e) },
		Deeds: func(e *env) []deed {
			return []deed{
				{Action: action.Action{
					ID: failureLog, Scope: string(KindFailures), Title: "the log of the coordinator", Short: "log", Keys: []string{"l"}, Rank: 10,
					Disabled: func() string { return e.Conn.off(e) },
				}},
			}
		},
	}
}

// failurePage shows the errors of this program since it was opened, the newest first: every toast that said something went wrong
// can be read again here.
type failurePage struct {
	e    *env
	list *ui.List
	top  int
}

func newFailurePage(e *env) *failurePage {
	p := &failurePage{e: e}
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(e.errors) },
		ID:      func(i int) string { return fmt.Sprint(p.at(i).n) },
		Version: func(i int) uint64 { return uint64(p.at(i).At.UnixNano()) },
		Lines: func(i, w int, selected bool) []ui.Line {
			f := p.at(i)
			return []ui.Line{ui.NewColumns(e.Theme, w,
				ui.Column{Title: "WHEN", Width: 8, Keep: 8}, ui.Column{Title: "WHAT", Width: 20, Flex: true, Keep: 10},
			).Row(selected, ui.Cell{Text: e.lastTime(f.At)}, ui.Cell{Text: f.What})}
		},
	})
	return p
}

// at is the i-th failure, counted from the newest.
func (p *failurePage) at(i int) *failure { return &p.e.errors[len(p.e.errors)-1-i] }

// Update handles one message.
func (p *failurePage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case clickMsg:
		p.list.Click(msg.Y - p.top)
	case wheelMsg:
		p.list.Move(msg.By)
	case intent:
		if msg.ID == failureLog {
			return p.e.Go(Place{Kind: KindText, ID: textLog + ":"})
		}
		moveList(p.list, msg.ID)
	}
	return nil
}

// Off says why an action does nothing here.
func (p *failurePage) Off(id string) string {
	switch id {
	case openItem:
		return "an error stands here in full"
	case paneNext, panePrev:
		return onePane
	case zoomPane:
		return noZoom
	case filterList:
		return noFilter
	}
	return ""
}

// Scopes is the scope of the page.
func (p *failurePage) Scopes() []string { return []string{string(KindFailures)} }

// Title names the page.
func (p *failurePage) Title() string { return "errors of this program" }

// Copy gives the failure under the cursor.
func (p *failurePage) Copy() (id, text string) {
	_, i, ok := p.list.Cursor()
	if !ok {
		return "", ""
	}
	f := p.at(i)
	text = strings.Join([]string{f.At.In(p.e.Zone).Format("2006-01-02 15:04:05"), f.What, f.Means, f.Next}, "\n")
	return textsafe.Line(f.What), strings.Join(textsafe.Block(text), "\n")
}

// Render draws the list and the failure under the cursor.
func (p *failurePage) Render(w, h int) *ui.Block {
	e := p.e
	title, count := "Errors of this program", plural(len(e.errors), "error")+" since it was opened"
	b := ui.NewBlock(e.Theme, w).Rule(title, count)
	p.top = b.Height()
	_, i, ok := p.list.Cursor()
	if !ok {
		b.Blank(1).Para(2, p.e.Theme.S(theme.Muted, "Nothing went wrong since this screen was opened. An error stays here when its toast is gone."))
		p.drawLog(b)
		return b.Fit(h)
	}
	f := p.at(i)
	detail := ui.NewBlock(e.Theme, w).Rule(e.Clock(f.At), "")
	detail.Field(refusalLabel, "what", ui.Safe(f.What))
	if f.Means != "" {
		detail.Field(refusalLabel, "means", ui.Safe(f.Means))
	}
	if f.Next != "" {
		detail.Field(refusalLabel, "next", ui.Safe(f.Next))
	}
	p.drawLog(detail)
	rows := max(min(len(e.errors), h-1-detail.Height()), 2)
	b.Append(p.list.Render(w, rows)).RuleSeen(0, title, count, p.list)
	return b.Append(detail).Fit(h)
}

// drawLog says where the log of the coordinator is.
func (p *failurePage) drawLog(b *ui.Block) {
	if s := p.e.State; s != nil && s.Log != "" {
		b.Field(refusalLabel, "log", ui.Safe(s.Log)+p.e.Theme.S(theme.Muted, "  l shows its end"))
	}
}
