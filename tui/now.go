package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

func nowKind() pageKind {
	return pageKind{Kind: KindNow, Tab: "1", Title: "Now", Make: func(e *env, _ Place) page { return newNowPage(e) }}
}

// nowPage is what a person looks at first: what waits for them, what is at work, who works.
type nowPage struct {
	e     *env
	order taskOrder
	needs *ui.List
	tasks *ui.List
	cols  *ui.Columns
	ncols *ui.Columns
	onTop bool // the needs have the focus
	moved bool // a person chose the focus

	left             int // column of the line between the panes, -1 for none
	needTop, taskTop int // rows of the lists in the last frame
	needRows         int
	wide, gap        int
	tallied          tallyKey
	tallyText        string
	card             *ui.Block // the right pane, drawn for cardKey
	cardKey          cardKey
	cardWake         time.Time
	side             *ui.Block // the panels below it, drawn for sideKey
	sideKey          cardKey
	sideWake         time.Time
	told             *ui.Block // the journal's rows, drawn for toldKey
	toldKey          journalKey
}

func newNowPage(e *env) *nowPage {
	p := &nowPage{e: e, order: taskOrder{by: byWork}, left: -1}
	p.order.rebuild(e.Board)
	p.needs = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(e.Index.Needs) },
		ID:      func(i int) string { return e.Index.Needs[i].ID },
		Version: func(int) uint64 { return e.Index.Epoch },
		Lines: func(i, w int, selected bool) []ui.Line {
			return []ui.Line{e.needLine(p.needColumns(w), &e.Index.Needs[i], selected && p.onTop)}
		},
		Live: func(i int) string { return ui.PadLeft(e.Age(e.Index.Needs[i].At), ageCells) },
	})
	p.needs.Pin(true) // what is graver comes above: it must not come out of sight
	p.tasks = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.order.keys) },
		ID:      func(i int) string { return string(p.order.keys[i].id) },
		Version: func(i int) uint64 { return e.Board.Task(p.order.keys[i].id).LastSeq },
		Lines: func(i, w int, selected bool) []ui.Line {
			return e.taskLine(p.taskColumns(w), e.Board.Task(p.order.keys[i].id), selected && !p.onTop)
		},
		Live:  func(i int) string { return e.ackText(e.Board.Task(p.order.keys[i].id), 4) },
		Index: func(id string) (int, bool) { return p.order.index(amp.TaskID(id)) },
	})
	p.focusNeeds(len(e.Index.Needs) > 0)
	return p
}

// needColumns is the table of what waits.
func (p *nowPage) needColumns(w int) *ui.Columns {
	if p.ncols == nil || p.wide != w {
		p.wide = w
		p.ncols, p.cols = newNeedColumns(p.e.Theme, w, p.gap), taskColumns(p.e.Theme, w, p.gap)
	}
	return p.ncols
}

// setGap leaves a blank at the right end of the lists, or none.
func (p *nowPage) setGap(on bool) {
	gap := 0
	if on {
		gap = 1
	}
	if gap != p.gap {
		p.gap, p.ncols = gap, nil
		p.needs.Forget()
		p.tasks.Forget()
	}
}

// ageCells is the width of an age or of a time of day in a list.
const ageCells = 5

func (p *nowPage) taskColumns(w int) *ui.Columns {
	p.needColumns(w)
	return p.cols
}

// newNeedColumns is the table of needs in w cells, with gap blanks at its end.
func newNeedColumns(th *theme.Theme, w, gap int) *ui.Columns {
	return ui.NewColumns(th, w,
		ui.Column{Title: "SEV", Width: 2, Keep: 9},
		ui.Column{Title: "TASK", Width: 10, Keep: 10},
		ui.Column{Title: "WHAT", Width: 18, Keep: 8},
		ui.Column{Title: "TEXT", Width: 8, Flex: true, Keep: 4},
		ui.Column{Title: "ENTRY", Width: 7, Right: true, Keep: 3},
		ui.Column{Title: "AGE", Width: ageCells + gap, Keep: 5})
}

// needLine is one row of it; the age is its live cell.
func (e *env) needLine(c *ui.Columns, n *need, selected bool) ui.Line {
	sign, role := e.needSign(n)
	return c.Row(selected,
		ui.Cell{Text: sign, Role: role},
		ui.Cell{Text: string(n.TaskID)},
		ui.Cell{Text: n.What},
		ui.Cell{Text: n.words(e)},
		ui.Cell{Text: seqName(n.Seq), Role: theme.Muted},
		ui.Cell{Live: true})
}

// words is the line of a need, in quotation marks when it is somebody else's.
func (n *need) words(e *env) string {
	if n.Quoted {
		return e.Theme.Signs.QuoteOpen + n.Text + e.Theme.Signs.QuoteClose
	}
	return n.Text
}

// needSign is what stands before a need: the severity of an escalation, or the sign of its kind.
func (e *env) needSign(n *need) (string, theme.Role) {
	sg := e.Theme.Signs
	switch n.Kind {
	case amp.NeedEscalation:
		role := theme.Text
		switch n.Severity {
		case amp.Critical:
			role = theme.Danger
		case amp.Warning:
			role = theme.Time
		case amp.Info:
		}
		return sg.Severity(string(n.Severity)), role
	case amp.NeedQuestion:
		return sg.Timeline("question"), theme.Time
	case amp.NeedHeld:
		return sg.Status("held"), theme.Time
	case amp.NeedPlan:
		return sg.Status("awaiting_approval"), theme.Time
	case amp.NeedFailed:
		return sg.No, theme.Danger
	case amp.NeedDelivery:
		return sg.Status("approved"), theme.Good
	case amp.NeedStopped:
		return sg.Status("suspended"), theme.Time
	}
	return "?", theme.Text
}

func (p *nowPage) focusNeeds(on bool) {
	if p.onTop != on {
		p.onTop = on
		p.needs.Forget()
		p.tasks.Forget()
	}
}

// Update handles one message.
func (p *nowPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case changedMsg:
		p.order.follow(p.e.Board, msg)
		if !p.moved { // nobody chose a row: what is at work now stays in sight
			p.tasks.Top()
		}
		if n := len(p.e.Index.Needs); n == 0 || !p.moved {
			p.focusNeeds(n > 0)
		}
	case intent:
		return p.intent(msg.ID)
	case clickMsg:
		if p.left >= 0 && msg.X > p.left {
			return nil
		}
		p.moved = true
		switch {
		case msg.Y >= p.taskTop && p.tasks.Click(msg.Y-p.taskTop):
			p.focusNeeds(false)
		case msg.Y >= p.needTop && msg.Y < p.needTop+p.needRows && p.needs.Click(msg.Y-p.needTop):
			p.focusNeeds(true)
		}
	case wheelMsg:
		if msg.Y < p.taskTop-2 {
			p.needs.Move(msg.By)
		} else {
			p.tasks.Move(msg.By)
		}
	}
	return nil
}

func (p *nowPage) intent(id string) tea.Cmd {
	list := p.tasks
	if p.onTop {
		list = p.needs
	}
	if moveList(list, id) {
		p.moved = true
		return nil
	}
	switch id {
	case paneNext, panePrev:
		p.moved = true
		p.focusNeeds(!p.onTop && len(p.e.Index.Needs) > 0)
	case openItem:
		if n := p.need(); n != nil {
			return p.e.openNeed(*n)
		}
		if id := p.Subject(); id != "" {
			return p.e.Go(Place{Kind: KindTask, ID: string(id)})
		}
	case filterList:
		return tea.Batch(p.e.Go(Place{Kind: KindTasks}), func() tea.Msg { return pageMsg{p.e.nav.tabs[KindTasks], intent{filterList}} })
	}
	return nil
}

// Off says why an action does nothing here.
func (p *nowPage) Off(id string) string {
	switch id {
	case openItem:
		return unless(p.Subject() != "", nothingSelected)
	case paneNext, panePrev:
		return unless(len(p.e.Index.Needs) > 0, "nothing needs you")
	case zoomPane:
		return noZoom
	}
	return ""
}

// openNeed goes where a need is decided, or to its task while there is no such screen.
func (e *env) openNeed(n need) tea.Cmd {
	at := n.Place()
	if _, ok := e.nav.kind(at.Kind); !ok {
		at = Place{Kind: KindTask, ID: string(n.TaskID), Seq: n.Seq}
	}
	return e.Go(at)
}

// need is the need under the cursor, nil when the tasks have the focus.
func (p *nowPage) need() *need {
	if !p.onTop {
		return nil
	}
	if _, i, ok := p.needs.Cursor(); ok {
		return &p.e.Index.Needs[i]
	}
	return nil
}

// Subject is the task under the cursor.
func (p *nowPage) Subject() amp.TaskID {
	if n := p.need(); n != nil {
		return n.TaskID
	}
	id, _, _ := p.tasks.Cursor()
	return amp.TaskID(id)
}

// Copy is the entry or task under the cursor.
func (p *nowPage) Copy() (id, text string) {
	if n := p.need(); n != nil {
		return string(n.TaskID) + seqName(n.Seq), n.What + " " + n.Text
	}
	if t := p.e.Board.Task(p.Subject()); t != nil {
		return string(t.ID), string(t.ID) + " " + string(t.Status) + " " + titleOf(t)
	}
	return "", ""
}

// Scopes is the scope of the page.
func (p *nowPage) Scopes() []string { return []string{string(KindNow)} }

// Title names the page.
func (p *nowPage) Title() string { return "now" }

// Divide is the column of the line between the panes where they reach the footer.
func (p *nowPage) Divide() int { return p.left }
