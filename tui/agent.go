package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

const (
	agentTask = "agents.task"
	agentLog  = "agents.log"
	agentPane = "agents.providers"
)

func agentKind() pageKind {
	return pageKind{
		Kind: KindAgents, Tab: "6", Title: "Agents", Dense: true,
		Make: func(e *env, _ Place) page { return newAgentPage(e) },
		Deeds: func(e *env) []deed {
			do := func(id, title, short, key string, rank int, off func(p *agentPage) string) deed {
				return deed{Action: action.Action{
					ID: id, Scope: string(KindAgents), Title: title, Short: short, Keys: []string{key}, Rank: rank,
					Disabled: offFor(e, off),
				}}
			}
			return []deed{
				do(agentTask, "task of the turn", "task", "t", 10, func(p *agentPage) string {
					if p.Subject() == "" {
						return "an agent is selected, not a turn: tab goes to the turns"
					}
					return ""
				}),
				do(agentLog, "output of the turn", "log of the turn", "l", 11, func(p *agentPage) string {
					if _, ok := p.turnAt(); !ok {
						return "no turn is selected"
					}
					return ""
				}),
				do(agentPane, "to the agents", "agents", "p", 12, func(*agentPage) string { return "" }),
			}
		},
	}
}

// The panes of the page, in the order of tab.
const (
	paneAgents = iota
	paneTurns
	paneStopped
	panePast
	paneCount
)

// agentPage shows who runs what: the agents, their turns, what stands still with its proof, and what one agent did lately.
type agentPage struct {
	e      *env
	ctx    context.Context
	cancel context.CancelFunc
	search listFilter
	zoomed bool
	focus  int
	lists  [paneCount]*ui.List
	tops   [paneCount]int // first row of each list in the last frame, -1 when it is not drawn
	rows   [paneCount]int
	cols   [paneCount]*ui.Columns
	colsW  [paneCount]int
	left   int

	// What the lists show, as the filter leaves it.
	agents  []*agentState
	turns   []amp.TaskID
	stopped []amp.TaskID
	past    []amp.TurnEnd // of the agent under the cursor, newest first

	proofs map[uint64]*amp.Check // by the seq of the entry; nil while it is being read
}

// stopProofMsg is the answer to the query for one proof.
type stopProofMsg struct {
	seq   uint64
	check *amp.Check
}

func newAgentPage(e *env) *agentPage {
	p := &agentPage{e: e, left: -1, search: newListFilter(), proofs: map[uint64]*amp.Check{}}
	p.ctx, p.cancel = e.Context()
	source := func(pane int, n func() int, id func(i int) string, line func(c *ui.Columns, i int, selected bool) ui.Line) {
		p.lists[pane] = ui.NewList(e.Theme, ui.Source{
			Len: n, ID: id, Version: func(int) uint64 { return e.Index.Version<<20 ^ uint64(e.Now.Unix()) },
			Lines: func(i, w int, selected bool) []ui.Line {
				return []ui.Line{line(p.columns(pane, w), i, selected && p.focus == pane)}
			},
		})
	}
	source(paneAgents, func() int { return len(p.agents) }, func(i int) string { return p.agents[i].name },
		func(c *ui.Columns, i int, on bool) ui.Line {
			return p.agentLine(c, p.agents[i], on || p.focus == panePast && p.isAgent(i))
		})
	source(paneTurns, func() int { return len(p.turns) }, func(i int) string { return string(p.turns[i]) },
		func(c *ui.Columns, i int, on bool) ui.Line { return p.turnLine(c, e.Board.Task(p.turns[i]), on) })
	source(paneStopped, func() int { return len(p.stopped) }, func(i int) string { return string(p.stopped[i]) },
		func(c *ui.Columns, i int, on bool) ui.Line { return p.stoppedLine(c, e.Board.Task(p.stopped[i]), on) })
	source(panePast, func() int { return len(p.past) }, func(i int) string { return p.past[i].TurnID },
		func(c *ui.Columns, i int, on bool) ui.Line { return p.pastLine(c, &p.past[i], on) })
	p.gather()
	return p
}

// gather reads the crew and leaves what the filter keeps.
func (p *agentPage) gather() {
	e, all := p.e, p.e.known()
	p.agents, p.turns, p.stopped = p.agents[:0], p.turns[:0], p.stopped[:0]
	for i := range all.agents {
		if a := &all.agents[i]; p.search.keeps(strings.ToLower(a.name + " " + a.through() + " " + a.roles(e))) {
			p.agents = append(p.agents, a)
		}
	}
	keep := func(to []amp.TaskID, ids []amp.TaskID) []amp.TaskID {
		for _, id := range ids {
			t := e.Board.Task(id)
			if t == nil {
				continue
			}
			match := e.Index.Match(id)
			if t.Turn != nil {
				match += " " + strings.ToLower(t.Turn.Agent+" "+roleWord(t.Turn.Role))
			}
			if p.search.keeps(match) {
				to = append(to, id)
			}
		}
		return to
	}
	p.turns, p.stopped = keep(p.turns, all.running), keep(p.stopped, all.stopped)
	// A task whose turn has ended since the crew was counted has none to show.
	n := 0
	for _, id := range p.turns {
		if e.Board.Task(id).Turn != nil {
			p.turns[n] = id
			n++
		}
	}
	p.turns = p.turns[:n]
	p.past = p.past[:0]
	if a := p.agent(); a != nil && a.usage != nil {
		for i := len(a.usage.Last) - 1; i >= 0; i-- {
			p.past = append(p.past, a.usage.Last[i])
		}
	}
	if p.lists[p.focus] != nil && p.empty(p.focus) {
		p.focus = paneAgents
	}
}

func (p *agentPage) empty(pane int) bool {
	return [paneCount]int{len(p.agents), len(p.turns), len(p.stopped), len(p.past)}[pane] == 0
}

// agent is the agent under the cursor, nil without one.
func (p *agentPage) agent() *agentState {
	if _, i, ok := p.lists[paneAgents].Cursor(); ok && i < len(p.agents) {
		return p.agents[i]
	}
	return nil
}

func (p *agentPage) isAgent(i int) bool {
	_, at, ok := p.lists[paneAgents].Cursor()
	return ok && at == i
}

// task is the task of the row under the cursor of the pane with the focus, nil for none.
func (p *agentPage) task() *amp.Task { return p.e.Board.Task(p.Subject()) }

// Subject is the task of the row under the cursor, "" while an agent is selected.
func (p *agentPage) Subject() amp.TaskID {
	id, i, ok := p.lists[p.focus].Cursor()
	switch {
	case !ok:
		return ""
	case p.focus == panePast && i < len(p.past):
		return p.past[i].TaskID
	case p.focus == paneTurns, p.focus == paneStopped:
		return amp.TaskID(id)
	}
	return ""
}

// turnAt is the turn under the cursor: the one that runs, or one that has ended.
func (p *agentPage) turnAt() (Place, bool) {
	_, i, ok := p.lists[p.focus].Cursor()
	switch {
	case !ok:
		return Place{}, false
	case p.focus == panePast && i < len(p.past):
		return turnPlace(p.past[i].TaskID, p.past[i].TurnID), true
	}
	t := p.task()
	switch {
	case t != nil && t.Turn != nil:
		return turnPlace(t.ID, t.Turn.TurnID), true
	case t != nil && t.LastTurn != "":
		return turnPlace(t.ID, t.LastTurn), true
	}
	return Place{}, false
}

// Update handles one message.
func (p *agentPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg, changedMsg:
		p.gather()
		return p.readProofs()
	case stopProofMsg:
		p.proofs[msg.seq] = msg.check
		p.lists[paneStopped].Forget()
	case clickMsg:
		for pane, top := range p.tops {
			if top >= 0 && msg.Y >= top && msg.Y < top+p.rows[pane] && (p.left < 0 || (msg.X > p.left) == (pane == panePast)) &&
				p.lists[pane].Click(msg.Y-top) {
				p.to(pane)
			}
		}
	case wheelMsg:
		p.lists[p.under(msg.X, msg.Y)].Move(msg.By)
		p.gather()
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

// under is the pane at a cell, that with the focus where there is none.
func (p *agentPage) under(x, y int) int {
	for pane, top := range p.tops {
		if top >= 0 && y >= top && y < top+p.rows[pane] && (p.left < 0 || (x > p.left) == (pane == panePast)) {
			return pane
		}
	}
	return p.focus
}

// to gives a pane the focus.
func (p *agentPage) to(pane int) {
	p.focus = pane
	for _, l := range p.lists {
		l.Forget()
	}
	p.gather()
}

// shownProofs bounds how many proofs are read: as many stopped tasks as a screen shows.
const shownProofs = 16

// readProofs asks for the proofs of the stopped tasks, each once.
func (p *agentPage) readProofs() tea.Cmd {
	var cmds []tea.Cmd
	for _, id := range p.stopped[:min(len(p.stopped), shownProofs)] {
		seq := p.e.Board.Task(id).Proof
		if _, asked := p.proofs[seq]; seq == 0 || asked {
			continue
		}
		p.proofs[seq] = nil
		q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: seq - 1, Before: seq + 1, Limit: 1}}
		cmds = append(cmds, p.e.Ask(p.ctx, p, q, func(got amp.Page, err error) tea.Msg {
			if err != nil || len(got.Entries) == 0 {
				return nil // the row goes on to say that it is proven, and where
			}
			c, err := amp.DecodeBody[amp.Check](&got.Entries[0])
			if err != nil {
				return nil
			}
			return stopProofMsg{seq, &c}
		}))
	}
	return tea.Batch(cmds...)
}

func (p *agentPage) intent(id string) tea.Cmd {
	if moveList(p.lists[p.focus], id) {
		p.gather()
		return nil
	}
	switch id {
	case paneNext, panePrev:
		p.turnPane(map[string]int{paneNext: 1, panePrev: paneCount - 1}[id])
	case agentPane:
		p.to(paneAgents)
	case zoomPane:
		p.zoomed = !p.zoomed
	case filterList:
		p.search.begin()
	case agentTask:
		if t := p.task(); t != nil {
			return p.e.Go(Place{Kind: KindTask, ID: string(t.ID)})
		}
	case openItem:
		return p.open()
	case agentLog:
		if at, ok := p.turnAt(); ok {
			return p.e.Go(at)
		}
	}
	return nil
}

// Off says why an action does nothing here.
func (p *agentPage) Off(id string) string {
	switch id {
	case openItem:
		if p.focus == paneAgents {
			return unless(len(p.past) > 0, "no turn of this agent has ended yet")
		}
		_, ok := p.turnAt()
		return unless(ok || p.focus == paneStopped && p.Subject() != "", nothingSelected)
	case agentPane:
		return unless(p.focus != paneAgents, "the agents have the focus")
	case paneNext, panePrev:
		for pane := range paneCount {
			if pane != p.focus && !p.empty(pane) {
				return ""
			}
		}
		return onePane
	}
	return ""
}

// open goes to what is under the cursor: from an agent to its last turns, from a turn to its output, from a stopped task to the task.
func (p *agentPage) open() tea.Cmd {
	switch at, ok := p.turnAt(); {
	case p.focus == paneAgents && len(p.past) > 0:
		p.to(panePast)
	case p.focus == paneAgents:
	case p.focus == paneStopped:
		return p.e.Go(Place{Kind: KindTask, ID: string(p.Subject())})
	case ok:
		return p.e.Go(at)
	}
	return nil
}

// turnPane goes by panes that have rows.
func (p *agentPage) turnPane(by int) {
	for next := (p.focus + by) % paneCount; next != p.focus; next = (next + by) % paneCount {
		if !p.empty(next) {
			p.to(next)
			return
		}
	}
}

// Typing reports whether the filter has the keys.
func (p *agentPage) Typing() bool { return p.search.typing }

// Key edits the filter; the lists follow while typing.
func (p *agentPage) Key(k tea.KeyMsg) tea.Cmd {
	if p.search.key(k) {
		p.gather()
	}
	return p.readProofs()
}

// Hints are the keys of the filter.
func (p *agentPage) Hints() []ui.KeyHint { return filterHints }

// Back leaves the zoom, then the last turns, then the filter.
func (p *agentPage) Back() bool {
	switch {
	case p.zoomed:
		p.zoomed = false
	case p.focus == panePast:
		p.to(paneAgents)
	case p.search.clear():
		p.gather()
	default:
		return false
	}
	return true
}

// Copy is the agent, turn or task under the cursor.
func (p *agentPage) Copy() (id, text string) {
	if at, ok := p.turnAt(); ok && p.focus != paneStopped {
		task, turn := splitTurn(at.ID)
		return turn, string(task) + " turn " + turn
	}
	if t := p.task(); t != nil {
		return string(t.ID), string(t.ID) + " " + string(t.Status) + " " + titleOf(t)
	}
	if a := p.agent(); a != nil {
		return a.name, a.name + " " + cost(a.today(p.e).Usage)
	}
	return "", ""
}

// Export is what each agent did on each day that is kept, as the filter leaves them.
func (p *agentPage) Export() export {
	var rows []exportRow
	for _, a := range p.agents {
		if a.usage == nil {
			continue
		}
		for _, d := range a.usage.Days {
			rows = append(rows, exportRow{Cells: []string{
				a.name, d.Day, fmt.Sprint(d.Turns), fmt.Sprint(d.OK), fmt.Sprint(d.Failed + d.Invalid + d.Timeout), fmt.Sprint(d.Killed + d.Lost),
				fmt.Sprint(d.Tokens), fmt.Sprint(d.CostUSD), fmt.Sprint(d.TookMS / 1000),
			}, Value: struct {
				Agent string `json:"agent"`
				amp.DayUsage
			}{a.name, d}})
		}
	}
	query := "days in UTC"
	if p.search.query != "" {
		query += ", filter " + p.search.query
	}
	return export{
		Title: "agents", Query: query,
		Columns: []string{"AGENT", "DAY", "TURNS", "WELL", "BADLY", "STOPPED", "TOKENS", "COST_USD", "WORK_SEC"}, Next: rowsOf(rows), Total: len(rows),
	}
}

// Close ends the page's queries.
func (p *agentPage) Close() { p.cancel() }

// Scopes is the scope of the page.
func (p *agentPage) Scopes() []string { return []string{string(KindAgents)} }

// Title names the page.
func (p *agentPage) Title() string { return "agents" }

// Divide is the column of the line between lists and detail.
func (p *agentPage) Divide() int { return p.left }
