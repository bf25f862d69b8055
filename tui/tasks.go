package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

func tasksKind() pageKind {
	return pageKind{
		Kind: KindTasks, Tab: "2", Title: "Tasks",
		Count: func(e *env) string { return fmt.Sprint(len(e.Board.Tasks)) },
		Make:  func(e *env, _ Place) page { return newTasksPage(e) },
		Deeds: func(e *env) []deed {
			return []deed{{Action: action.Action{
				ID: "tasks.sort", Scope: string(KindTasks), Title: "sort by …", Short: "sort",
				Keys: []string{"s"}, Rank: 20,
			}}}
		},
	}
}

// sorting is one order of the list.
type sorting struct {
	name string
	by   func(*amp.Task) sortKey
}

var sortings = []sorting{{"work", byWork}, {"id", byID}, {"activity", byActivity}, {"rejects", byRejects}}

// previewDelay keeps a cursor that runs through the list from asking for every task on its way.
const previewDelay = 120 * time.Millisecond

// tasksPage is every task, filtered and sorted; on a wide screen with the timeline of the one under the cursor.
type tasksPage struct {
	e      *env
	order  taskOrder
	sort   int
	list   *ui.List
	filter *ui.Field
	typing bool
	query  string

	cols   *ui.Columns
	narrow *ui.Columns
	colsW  int

	detail  *taskPage
	right   bool // the detail has the focus
	left    int
	listTop int
}

func newTasksPage(e *env) *tasksPage {
	p := &tasksPage{e: e, filter: ui.NewField("filter"), left: -1}
	p.order = taskOrder{by: sortings[0].by, keep: p.keeps}
	p.take()
	p.order.rebuild(e.Board)
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.order.keys) },
		ID:      func(i int) string { return string(p.order.keys[i].id) },
		Version: func(i int) uint64 { return e.Board.Task(p.order.keys[i].id).LastSeq },
		Lines:   func(i, w int, selected bool) []ui.Line { return p.lines(e.Board.Task(p.order.keys[i].id), w, selected) },
		Live:    func(i int) string { return p.live(e.Board.Task(p.order.keys[i].id)) },
		Index:   func(id string) (int, bool) { return p.order.index(amp.TaskID(id)) },
	})
	return p
}

// keptTasks is how the list was left.
type keptTasks struct {
	Sort   string `json:"sort,omitzero"`
	Filter string `json:"filter,omitzero"`
}

// Keep is the order and the filter.
func (p *tasksPage) Keep() (string, any) { return "tasks", keptTasks{sortings[p.sort].name, p.query} }

// Export is every task of the list, in its order.
func (p *tasksPage) Export() export {
	rows := make([]exportRow, 0, len(p.order.keys))
	for _, k := range p.order.keys {
		t := p.e.Board.Task(k.id)
		rows = append(rows, exportRow{Cells: []string{
			string(t.ID), string(t.Status), titleOf(t), p.e.withWhom(t), rejectCell(t).Text, riskCell(t).Text, t.LastAt.UTC().Format(time.RFC3339),
		}})
	}
	query := "order " + sortings[p.sort].name
	if p.query != "" {
		query += ", filter " + p.query
	}
	return export{
		Title: "tasks", Query: query, Columns: []string{"TASK", "STATUS", "TITLE", "WITH", "REJECTS", "RISK", "CHANGED"},
		Next: rowsOf(rows), Total: len(rows),
	}
}

func (p *tasksPage) take() {
	var k keptTasks
	if !p.e.Kept("tasks", &k) {
		return
	}
	if i := slices.IndexFunc(sortings, func(s sorting) bool { return s.name == k.Sort }); i >= 0 {
		p.sort, p.order.by = i, sortings[i].by
	}
	p.filter.SetText(k.Filter)
	p.query = strings.ToLower(strings.TrimSpace(k.Filter))
}

func (p *tasksPage) keeps(t *amp.Task) bool {
	if p.query == "" {
		return true
	}
	match := p.e.Index.Match(t.ID)
	for word := range strings.FieldsSeq(p.query) {
		if !strings.Contains(match, word) {
			return false
		}
	}
	return true
}

// Update handles one message.
func (p *tasksPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case changedMsg:
		p.order.follow(p.e.Board, msg)
		if p.detail != nil {
			return p.detail.Update(msg)
		}
	case shownMsg:
		return p.follow()
	case intent:
		return p.intent(msg.ID)
	case clickMsg:
		if p.left >= 0 && msg.X > p.left && p.detail != nil {
			p.right = true
			msg.X -= p.left + 1
			return p.detail.Update(msg)
		}
		p.right = false
		p.list.Click(msg.Y - p.listTop)
		return p.follow()
	case wheelMsg:
		if p.left >= 0 && msg.X > p.left && p.detail != nil {
			msg.X -= p.left + 1
			return p.detail.Update(msg)
		}
		p.list.Move(msg.By)
		return p.follow()
	case previewMsg:
		if p.detail != nil && p.detail.id == msg.id {
			return p.detail.load()
		}
	default: // an answer for the detail
		if p.detail != nil {
			return p.detail.Update(msg)
		}
	}
	return nil
}

// twoPanes reports whether a screen has room for a list and its detail beside each other.
func twoPanes(w int) bool { return w >= 120 }

// previewMsg says that the cursor rested on a task.
type previewMsg struct{ id amp.TaskID }

// follow lets the detail follow the cursor, when there is room for it.
func (p *tasksPage) follow() tea.Cmd {
	id := p.Subject()
	if p.detail != nil && p.detail.id == id {
		return nil
	}
	if p.detail != nil {
		p.detail.Close()
		p.detail = nil
	}
	if id == "" || !twoPanes(p.e.Width) {
		p.right = false
		return nil
	}
	p.detail = newTaskPage(p.e, Place{Kind: KindTask, ID: string(id)})
	p.detail.host = p
	return p.e.To(p, tea.Tick(previewDelay, func(time.Time) tea.Msg { return previewMsg{id} }))
}

// Off says why an action does nothing here.
func (p *tasksPage) Off(id string) string {
	inside := p.right && p.detail != nil
	switch id {
	case paneNext, panePrev:
		return unless(p.left >= 0 && p.detail != nil, onePane)
	case zoomPane:
		return unless(inside, noZoom)
	}
	if inside {
		return p.detail.Off(id)
	}
	if id == openItem {
		return unless(p.Subject() != "", nothingSelected)
	}
	return ""
}

func (p *tasksPage) intent(id string) tea.Cmd {
	switch id {
	case paneNext, panePrev:
		p.right = !p.right && p.left >= 0 && p.detail != nil
		return nil
	case zoomPane:
		if p.detail != nil && p.right {
			return p.e.Go(Place{Kind: KindTask, ID: string(p.detail.id)})
		}
		return nil
	}
	if p.right && p.detail != nil {
		return p.detail.Update(intent{id})
	}
	if moveList(p.list, id) {
		return p.follow()
	}
	switch id {
	case openItem:
		if id := p.Subject(); id != "" {
			return p.e.Go(Place{Kind: KindTask, ID: string(id)})
		}
	case filterList:
		p.typing = true
	case "tasks.sort":
		p.sort = (p.sort + 1) % len(sortings)
		p.order.by = sortings[p.sort].by
		p.order.rebuild(p.e.Board)
	}
	return nil
}

// Typing reports whether the filter has the keys.
func (p *tasksPage) Typing() bool { return p.typing }

// Key edits the filter; the list follows while typing.
func (p *tasksPage) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		p.typing = false
		p.setFilter("")
	case "enter":
		p.typing = false
	case "up":
		p.list.Move(-1)
	case "down":
		p.list.Move(1)
	default:
		if p.filter.Key(k) {
			p.setFilter(p.filter.Text())
		}
	}
	return p.follow()
}

// Hints are the keys of the filter.
func (p *tasksPage) Hints() []ui.KeyHint {
	return []ui.KeyHint{{Key: p.e.Theme.Signs.Enter, Text: "keep the filter"}, {Key: "esc", Text: "clear it"}, {Key: "↑ ↓", Text: "move"}}
}

func (p *tasksPage) setFilter(q string) {
	if q != p.filter.Text() {
		p.filter.SetText(q)
	}
	p.query = strings.ToLower(strings.TrimSpace(q))
	p.order.rebuild(p.e.Board)
}

// Back leaves the detail, then the filter.
func (p *tasksPage) Back() bool {
	switch {
	case p.right:
		p.right = false
	case p.query != "":
		p.setFilter("")
	default:
		return false
	}
	return true
}

// Subject is the task under the cursor.
func (p *tasksPage) Subject() amp.TaskID {
	id, _, _ := p.list.Cursor()
	return amp.TaskID(id)
}

// Copy is the task, or what the detail has under its cursor.
func (p *tasksPage) Copy() (id, text string) {
	if p.right && p.detail != nil {
		return p.detail.Copy()
	}
	if t := p.e.Board.Task(p.Subject()); t != nil {
		return string(t.ID), string(t.ID) + " " + string(t.Status) + " " + titleOf(t)
	}
	return "", ""
}

// Scopes are those of the pane with the focus.
func (p *tasksPage) Scopes() []string {
	if p.right && p.detail != nil {
		return p.detail.Scopes()
	}
	return []string{string(KindTasks)}
}

// Title names the page.
func (p *tasksPage) Title() string { return "tasks" }

// Divide is the column of the line between list and detail.
func (p *tasksPage) Divide() int { return p.left }
