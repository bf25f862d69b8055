package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// Texts that the text page shows; they stand before what they are of in [Place].ID: "log:" of the coordinator.
const (
	textLog = "log"
)

func textKind() pageKind {
	return pageKind{
		Kind: KindText, Title: "Text", Dense: true,
		Make: func(e *env, at Place) page { return newTextPage(e, at) },
		Deeds: func(e *env) []deed {
			do := func(id, title, short string, rank int, keys ...string) deed {
				return deed{Action: action.Action{ID: id, Scope: string(KindText), Title: title, Short: short, Keys: keys, Rank: rank}}
			}
			return []deed{
				do("text.wrap", "wrap long lines or cut them", "wrap", 10, "w"),
				do("text.next", "next match", "", 0, "n"),
				do("text.prev", "previous match", "", 0, "p"),
			}
		},
	}
}

// textPage shows one text of any size: the log of the coordinator.
type textPage struct {
	e      *env
	at     Place
	what   string
	of     string
	pager  *ui.Pager
	ctx    context.Context
	cancel context.CancelFunc
	state  string // why there is no text, "" when there is
	text   string
	find   *ui.Field
	typing bool
	facts  string
}

type textMsg struct {
	text, facts string
	err         error
}

func newTextPage(e *env, at Place) *textPage {
	p := &textPage{e: e, at: at, pager: ui.NewPager(e.Theme), find: ui.NewField("search"), state: "reading …"}
	p.what, p.of, _ = strings.Cut(at.ID, ":")
	p.ctx, p.cancel = e.Context()
	return p
}

// Update handles one message.
func (p *textPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		if p.text == "" {
			return p.load()
		}
	case textMsg:
		if msg.err != nil {
			p.state = msg.err.Error()
			p.e.Fail(msg.err)
			return nil
		}
		p.state, p.text, p.facts = "", msg.text, msg.facts
		if p.text == "" {
			p.state = map[string]string{textLog: "nothing was written yet"}[p.what]
		}
		p.pager.SetText(p.text)
	case wheelMsg:
		p.pager.Scroll(msg.By)
	case intent:
		p.intent(msg.ID)
	}
	return nil
}

func (p *textPage) load() tea.Cmd {
	switch p.what {
	case textLog:
		return p.e.Ask(p.ctx, p, amp.Query{Kind: amp.QueryLog, TaskID: amp.TaskID(""), From: p.of}, func(got amp.Page, err error) tea.Msg {
			return textMsg{text: got.Text, facts: fmt.Sprintf("%d B", len(got.Text)), err: err}
		})
	}
	return nil
}

func (p *textPage) intent(id string) {
	if movePager(p.pager, id) {
		return
	}
	switch id {
	case filterList:
		p.typing = true
	case "text.wrap":
		p.pager.Wrap(!p.pager.Wrapped())
	case "text.next", "text.prev":
		if !p.pager.Next(id == "text.next") {
			p.e.Toast(theme.Text, "no other match")
		}
	}
}

// Off says why an action does nothing here.
func (p *textPage) Off(id string) string {
	switch id {
	case openItem:
		return nothingSelected
	case paneNext, panePrev:
		return onePane
	case zoomPane:
		return noZoom
	case filterList, "text.wrap":
		return unless(p.text != "", noText)
	}
	return ""
}

// movePager applies a movement to a pager and reports whether the intent was one.
func movePager(p *ui.Pager, id string) bool {
	switch id {
	case moveDown:
		p.Scroll(1)
	case moveUp:
		p.Scroll(-1)
	case halfDown:
		p.Page(0.5)
	case halfUp:
		p.Page(-0.5)
	case pageDown:
		p.Page(1)
	case pageUp:
		p.Page(-1)
	case moveTop:
		p.Goto(0)
	case moveBottom:
		p.Goto(p.Lines())
	case moveLeft:
		p.Shift(-8)
	case moveRight:
		p.Shift(8)
	default:
		return false
	}
	return true
}

// Typing reports whether the search has the keys.
func (p *textPage) Typing() bool { return p.typing }

// Key edits the search.
func (p *textPage) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		p.typing = false
		p.pager.Search("")
	case "enter":
		p.typing = false
		n := p.pager.Search(p.find.Text())
		p.pager.Next(true)
		p.e.Toast(theme.Text, plural(n, "line")+" found")
	default:
		p.find.Key(k)
	}
	return nil
}

// Hints are the keys of the search.
func (p *textPage) Hints() []ui.KeyHint {
	return []ui.KeyHint{{Key: p.e.Theme.Signs.Enter, Text: "search"}, {Key: "esc", Text: "leave"}}
}

// Copy is the text.
func (p *textPage) Copy() (id, text string) { return p.of, p.text }

// Close ends the query.
func (p *textPage) Close() { p.cancel() }

// Scopes is the scope of the page.
func (p *textPage) Scopes() []string { return []string{string(KindText)} }

// Title names the text.
func (p *textPage) Title() string {
	if p.what == textLog && p.of == "" {
		return "log of the coordinator"
	}
	return p.what + " " + p.of
}

// Render draws the visible lines.
func (p *textPage) Render(w, h int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w).Rule(p.Title(), p.facts)
	if p.typing {
		b.Add(" " + p.e.Theme.S(theme.Accent, "/") + " " + p.find.Row(p.e.Theme, max(w-4, 1), true))
	}
	if p.state != "" {
		return b.Say(theme.Muted, "  "+p.state).Fit(h)
	}
	return b.Append(p.pager.Render(w, h-b.Height())).Fit(h)
}
