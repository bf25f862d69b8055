package tui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

const (
	turnWrap   = "turn.wrap"
	turnNext   = "turn.next"
	turnPrev   = "turn.prev"
	turnFollow = "turn.follow"
	turnRaw    = "turn.raw"
	turnTask   = "turn.task"
)

func turnKind() pageKind {
	return pageKind{
		Kind: KindTurn, Title: "Turn", Dense: true,
		Make: func(e *env, at Place) page { return newTurnPage(e, at) },
		Deeds: func(*env) []deed {
			do := func(id, title, short string, rank int, keys ...string) deed {
				return deed{Action: action.Action{ID: id, Scope: string(KindTurn), Title: title, Short: short, Keys: keys, Rank: rank}}
			}
			return []deed{
				do(turnFollow, "follow what is written, or stand still", "follow", 10, "f"),
				do(turnRaw, "the lines as they were written, or understood", "raw", 11, "x"),
				do(turnWrap, "wrap long lines or cut them", "wrap", 12, "w"),
				do(turnTask, "task of the turn", "task", 13, "t"),
				do(turnNext, "next match", "", 0, "n"),
				do(turnPrev, "previous match", "", 0, "p"),
			}
		},
	}
}

// turnPlace is the page of a turn.
func turnPlace(task amp.TaskID, turn string) Place {
	return Place{Kind: KindTurn, ID: string(task) + "/" + turn}
}

func splitTurn(id string) (amp.TaskID, string) {
	task, turn, _ := strings.Cut(id, "/")
	return amp.TaskID(task), turn
}

// turnEvery is the least time between two questions for the output of a turn that runs.
const turnEvery = time.Second

// turnPage is the output of one turn. While the turn runs and the page is on the screen, it is read again every second.
type turnPage struct {
	e      *env
	task   amp.TaskID
	turn   string
	ctx    context.Context
	cancel context.CancelFunc
	pager  *ui.Pager
	text   turnText
	state  string // why there is no text, "" when there is
	raw    bool
	follow bool
	find   *ui.Field
	typing bool

	asking  bool // an answer is on its way
	polling bool // the next question is planned
	read    bool // the end of the turn was read
	start   *amp.Turn
	startAt time.Time
	end     *amp.Turn // nil while it runs, or until the journal was asked
	endAt   time.Time
}

// turnText is the end of what a turn wrote, as it is and understood.
type turnText struct{ raw, told string }

// The answers to the page's questions, and its own clock.
type (
	turnTextMsg struct {
		turnText
		last bool // asked after the turn had ended
		err  error
	}
	turnFactsMsg struct {
		entries []amp.Entry
		err     error
	}
	turnPollMsg struct{}
)

func newTurnPage(e *env, at Place) *turnPage {
	p := &turnPage{e: e, pager: ui.NewPager(e.Theme), find: ui.NewField("search"), state: "reading …", follow: true}
	p.task, p.turn = splitTurn(at.ID)
	p.ctx, p.cancel = e.Context()
	return p
}

// live is the turn while it runs, nil after its end.
func (p *turnPage) live() *amp.TurnState {
	if t := p.e.Board.Task(p.task); t != nil && t.Turn != nil && t.Turn.TurnID == p.turn {
		return t.Turn
	}
	return nil
}

// Update handles one message.
func (p *turnPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		return tea.Batch(p.readFacts(), p.readText())
	case changedMsg:
		if p.live() == nil && p.end == nil { // it has ended, or the board was replaced
			return tea.Batch(p.readFacts(), p.readText())
		}
	case turnPollMsg:
		p.polling = false
		if p.e.nav.top().page == page(p) {
			return p.readText()
		}
	case turnTextMsg:
		return p.take(msg)
	case turnFactsMsg:
		p.learn(msg)
	case wheelMsg:
		p.scroll(msg.By)
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

// readText asks for the output, unless an answer is on its way or all of it was read.
func (p *turnPage) readText() tea.Cmd {
	if p.asking || p.read {
		return nil
	}
	p.asking = true
	last := p.live() == nil
	return p.e.Ask(p.ctx, p, amp.Query{Kind: amp.QueryLog, TaskID: p.task, From: p.turn}, func(got amp.Page, err error) tea.Msg {
		return turnTextMsg{turnText{got.Text, tellLines(got.Text)}, last, err}
	})
}

// readFacts asks the journal for the entries of the task's turns, once the turn has ended.
func (p *turnPage) readFacts() tea.Cmd {
	if p.end != nil || p.live() != nil {
		return nil
	}
	q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: p.task, Kinds: []amp.Kind{amp.KindTurn}, Newest: true}}
	return p.e.Ask(p.ctx, p, q, func(got amp.Page, err error) tea.Msg { return turnFactsMsg{got.Entries, err} })
}

func (p *turnPage) take(msg turnTextMsg) tea.Cmd {
	p.asking = false
	running := p.live() != nil
	switch {
	case msg.err != nil && running: // a program that has written nothing has no file yet
		p.state = "nothing is written yet"
	case msg.err != nil:
		p.state, p.read = "no output is kept: "+msg.err.Error(), true
	default:
		p.state, p.read = "", msg.last
		if msg.raw == "" {
			p.state = map[bool]string{true: "nothing is written yet", false: "the turn wrote nothing"}[running]
		}
		p.show(msg.turnText)
	}
	if running && !p.polling {
		p.polling = true
		return p.e.To(p, tea.Tick(turnEvery, func(time.Time) tea.Msg { return turnPollMsg{} }))
	}
	if !p.read {
		return p.readText() // it ended while the last answer was on its way
	}
	return nil
}

// show replaces the text; the lines on the screen stay where they are, or follow the end.
func (p *turnPage) show(text turnText) {
	was := p.text
	p.text = text
	if was == text {
		return
	}
	if p.raw {
		p.pager.Update(text.raw)
	} else {
		p.pager.Update(text.told)
	}
	if p.follow {
		p.pager.Goto(p.pager.Lines())
	}
}

func (p *turnPage) learn(msg turnFactsMsg) {
	if msg.err != nil {
		p.e.Fail(msg.err)
		return
	}
	for i := range msg.entries {
		u, err := amp.DecodeBody[amp.Turn](&msg.entries[i])
		if err != nil || u.TurnID != p.turn {
			continue
		}
		switch u.Event {
		case amp.TurnEnded:
			p.end, p.endAt = &u, msg.entries[i].At
		case amp.TurnStarted:
			p.start, p.startAt = &u, msg.entries[i].At
		case amp.TurnProgress, amp.TurnRedelivered:
		}
	}
}

func (p *turnPage) scroll(n int) {
	if n < 0 {
		p.follow = false
	}
	p.pager.Scroll(n)
}

func (p *turnPage) intent(id string) tea.Cmd {
	switch id {
	case moveDown:
		p.scroll(1)
	case moveUp:
		p.scroll(-1)
	case halfDown:
		p.pager.Page(0.5)
	case halfUp:
		p.follow = false
		p.pager.Page(-0.5)
	case pageDown:
		p.pager.Page(1)
	case pageUp:
		p.follow = false
		p.pager.Page(-1)
	case moveTop:
		p.follow = false
		p.pager.Goto(0)
	case moveBottom:
		p.pager.Goto(p.pager.Lines())
	case moveLeft:
		p.pager.Shift(-8)
	case moveRight:
		p.pager.Shift(8)
	case filterList:
		p.typing = true
	case turnFollow:
		p.follow = !p.follow
		if p.follow {
			p.pager.Goto(p.pager.Lines())
		}
	case turnRaw:
		p.raw = !p.raw
		p.pager.SetText(map[bool]string{true: p.text.raw, false: p.text.told}[p.raw])
		p.pager.Goto(p.pager.Lines())
	case turnWrap:
		p.pager.Wrap(!p.pager.Wrapped())
	case turnTask:
		return p.e.Go(Place{Kind: KindTask, ID: string(p.task)})
	case turnNext, turnPrev:
		p.follow = false
		if !p.pager.Next(id == turnNext) {
			p.e.Toast(theme.Text, "no other match")
		}
	}
	return nil
}

// Off says why an action does nothing here.
func (p *turnPage) Off(id string) string {
	switch id {
	case openItem:
		return nothingSelected
	case paneNext, panePrev:
		return onePane
	case zoomPane:
		return noZoom
	case filterList, turnWrap, turnRaw:
		return unless(p.text.raw != "", noText)
	case turnFollow:
		return unless(p.live() != nil, "the turn has ended: nothing more is written")
	}
	return ""
}

// Typing reports whether the search has the keys.
func (p *turnPage) Typing() bool { return p.typing }

// Key edits the search.
func (p *turnPage) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		p.typing = false
		p.pager.Search("")
	case "enter":
		p.typing, p.follow = false, false
		n := p.pager.Search(p.find.Text())
		if !p.pager.Next(false) {
			p.pager.Next(true)
		}
		p.e.Toast(theme.Text, plural(n, "line")+" found")
	default:
		p.find.Key(k)
	}
	return nil
}

// Hints are the keys of the search.
func (p *turnPage) Hints() []ui.KeyHint {
	return []ui.KeyHint{{Key: p.e.Theme.Signs.Enter, Text: "search"}, {Key: "esc", Text: "leave"}}
}

// Subject is the task of the turn.
func (p *turnPage) Subject() amp.TaskID { return p.task }

// Copy is the turn and its output.
func (p *turnPage) Copy() (id, text string) { return p.turn, p.text.raw }

// Export is the output, line by line, as the page shows it.
func (p *turnPage) Export() export {
	text := p.text.told
	if p.raw {
		text = p.text.raw
	}
	var rows []exportRow
	for l := range strings.Lines(text) {
		rows = append(rows, exportRow{Cells: []string{strings.TrimRight(l, "\r\n")}})
	}
	return export{Title: p.Title(), Query: "turn " + p.turn, Columns: []string{"LINE"}, Next: rowsOf(rows), Total: len(rows)}
}

// Close ends the queries.
func (p *turnPage) Close() { p.cancel() }

// Scopes is the scope of the page.
func (p *turnPage) Scopes() []string { return []string{string(KindTurn)} }

// Title names the page.
func (p *turnPage) Title() string { return "turn of " + string(p.task) }

// maxLogText is how much of an output the coordinator hands out.
const maxLogText = 1 << 20
