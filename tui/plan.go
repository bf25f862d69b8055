package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// The ids of the actions of a plan.
const (
	planApprove  = "plan.approve"
	planReject   = "plan.reject"
	planEdit     = "plan.edit"
	planEditPart = "plan.edit_part"
	planRead     = "plan.read"
	planNext     = "plan.next_unread"
	planDiff     = "plan.changes"
	planTask     = "plan.task"
)

func planKind() pageKind {
	return pageKind{
		Kind: KindPlan, Title: "Plan", Dense: true,
		Make: func(e *env, at Place) page { return newPlanPage(e, amp.TaskID(at.ID)) }, Deeds: planDeeds,
	}
}

func planDeeds(e *env) []deed {
	scope := string(KindPlan)
	one := func(id, key, title, short string, danger action.Danger, rank int, off func(p *planPage) string) deed {
		a := action.Action{ID: id, Scope: scope, Title: title, Short: short, Keys: []string{key}, Danger: danger, Rank: rank}
		if off != nil {
			a.Disabled = offFor(e, off)
		}
		return deed{Action: a}
	}
	return []deed{
		one(planApprove, "A", "approve…", "", action.Low, 10, (*planPage).approveOff),
		one(planReject, "R", "reject with reason…", "reject…", action.Low, 11, func(p *planPage) string { return p.off(amp.Reject) }),
		one(planEdit, "E", "edit the plan in $EDITOR", "edit in $EDITOR", action.Low, 12, (*planPage).reviseOff),
		one(planEditPart, "e", "edit this subtask or criterion", "edit part", action.None, 16, (*planPage).reviseOff),
		one(planRead, "space", "unfold, then mark read or unread", "mark read", action.None, 14, nil),
		one(planNext, "n", "next unread subtask", "next unread", action.None, 15, nil),
		one(planDiff, "d", "what changed since the revision before", "what changed", action.None, 13, (*planPage).deltaOff),
		one(planTask, "T", "timeline of the task", "timeline", action.None, 20, nil),
	}
}

// planPage is one plan: the contract, its subtasks with their read marks, and the decision about it.
type planPage struct {
	e    *env
	id   amp.TaskID
	view scroller
	open map[partKey]bool // unfolded subtasks, by their text
	// allChanges shows every change since the revision before, instead of the first few.
	allChanges bool
	zoomed     bool
	left       int // column of the line between two panes, -1 for one
	detailRows int
	bodyTop    int
	delta      planStep
	lastFoot   planFoot
}

// planStep is the delta between two revisions, which does not change while both are the same.
type planStep struct {
	from    *amp.Plan
	to      string // its hash
	changes []planChange
}

func newPlanPage(e *env, id amp.TaskID) *planPage {
	return &planPage{e: e, id: id, open: map[partKey]bool{}, left: -1}
}

// task is the plan's task, nil when there is none.
func (p *planPage) task() *amp.Task { return p.e.Board.Task(p.id) }

// off is why a command about this plan is off.
func (p *planPage) off(c amp.CommandName) string {
	prop := proposal{Command: c, TaskID: p.id}
	return prop.off(p.e)
}

func (p *planPage) reviseOff() string {
	if t := p.task(); t != nil && t.Plan == nil {
		return "there is no plan yet"
	}
	return p.off(amp.Revise)
}

func (p *planPage) approveOff() string {
	if why := p.off(amp.Approve); why != "" {
		return why
	}
	t := p.task()
	return readGate(t.Plan, p.e.desk.reading(p.id).unread(t.Plan))
}

func (p *planPage) deltaOff() string {
	if t := p.task(); t == nil || t.Plan == nil || t.Plan.Revision < 2 {
		return "this is the first revision"
	}
	if p.before() == nil {
		return "the revision before is not loaded yet"
	}
	return ""
}

// before is the revision before the present one, nil when it is not known.
func (p *planPage) before() *amp.Plan {
	t := p.task()
	if t == nil || t.Plan == nil {
		return nil
	}
	plans := p.e.desk.past(p.id).facts(p.task()).plans
	for _, r := range slices.Backward(plans) {
		if r.plan.Revision < t.Plan.Revision {
			return r.plan
		}
	}
	return nil
}

// changes are the differences to the revision before.
func (p *planPage) changes() []planChange {
	from := p.before()
	if from == nil {
		return nil
	}
	if to := p.task().Plan; p.delta.from != from || p.delta.to != to.Hash {
		p.delta = planStep{from, to.Hash, planDelta(from, to)}
	}
	return p.delta.changes
}

// Update handles one message.
func (p *planPage) Update(msg tea.Msg) tea.Cmd {
	if cmd, ok := p.e.keepUp(p, p.id, msg); ok {
		return cmd
	}
	switch msg := msg.(type) {
	case editedMsg:
		return tea.Batch(p.e.repaint(), p.edited(msg))
	case clickMsg:
		if p.left < 0 || msg.X < p.left {
			p.view.click(msg.Y - p.bodyTop)
		}
	case wheelMsg:
		p.view.roll(msg.By)
		p.view.into()
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

func (p *planPage) intent(id string) tea.Cmd {
	if p.view.intent(id) {
		return nil
	}
	switch id {
	case openItem:
		p.unfold()
	case planApprove:
		return p.e.decide(proposal{Command: amp.Approve, TaskID: p.id})
	case planReject:
		return p.e.decide(proposal{Command: amp.Reject, TaskID: p.id})
	case planEdit:
		return p.editAll()
	case planEditPart:
		return p.editPart()
	case planRead:
		p.toggleRead()
	case planNext:
		p.nextUnread()
	case planDiff:
		p.allChanges = !p.allChanges
		p.view.id, p.view.at, p.view.top = "", 0, 0
	case planTask:
		return p.e.Go(Place{Kind: KindTask, ID: string(p.id)})
	case zoomPane:
		p.zoomed = !p.zoomed
	}
	return nil
}

// Off says why an action does nothing here.
func (p *planPage) Off(id string) string {
	switch id {
	case openItem, planRead:
		_, _, ok := p.subtask()
		return unless(ok, "stand on a subtask")
	case planNext:
		return unless(p.unread() >= 0, "every subtask is read")
	case zoomPane:
		return unless(p.left >= 0 || p.zoomed, noZoom)
	case paneNext, panePrev:
		return onePane
	case filterList:
		return noFilter
	}
	return ""
}

// subtask is the subtask under the cursor.
func (p *planPage) subtask() (s amp.Subtask, i int, ok bool) {
	t := p.task()
	n, found := strings.CutPrefix(p.view.id, "s")
	if t == nil || t.Plan == nil || !found {
		return amp.Subtask{}, 0, false
	}
	i, err := strconv.Atoi(n)
	if err != nil || i >= len(t.Plan.Subtasks) {
		return amp.Subtask{}, 0, false
	}
	return t.Plan.Subtasks[i], i, true
}

func (p *planPage) criterion() (text string, i int, ok bool) {
	t := p.task()
	n, found := strings.CutPrefix(p.view.id, "c")
	if t == nil || t.Plan == nil || !found {
		return "", 0, false
	}
	i, err := strconv.Atoi(n)
	if err != nil || i >= len(t.Plan.AcceptanceCriteria) {
		return "", 0, false
	}
	return t.Plan.AcceptanceCriteria[i], i, true
}

func (p *planPage) unfold() {
	if s, _, ok := p.subtask(); ok {
		k := subtaskKey(s)
		p.open[k] = !p.open[k]
		p.view.reveal = true
	}
}

// toggleRead marks the subtask under the cursor; what was not on the screen in full is unfolded first, since a mark
// says that it was.
func (p *planPage) toggleRead() {
	s, _, ok := p.subtask()
	if !ok {
		return
	}
	r := p.e.desk.reading(p.id)
	if r.has(s) {
		r.mark(s, false)
		p.open[subtaskKey(s)] = false
		r.hold(s)
		return
	}
	r.release(s)
	p.open[subtaskKey(s)] = p.left < 0 // beside the list it stands whole already
	p.view.reveal = true
}

// unread is the next subtask without a mark, -1 when every one has it.
func (p *planPage) unread() int {
	t := p.task()
	if t == nil || t.Plan == nil {
		return -1
	}
	subs := t.Plan.Subtasks
	_, from, ok := p.subtask()
	if !ok {
		from = -1
	}
	r := p.e.desk.reading(p.id)
	for d := range subs {
		if i := (from + 1 + d) % len(subs); !r.has(subs[i]) {
			return i
		}
	}
	return -1
}

// nextUnread goes to the next subtask without a mark and unfolds it.
func (p *planPage) nextUnread() {
	i := p.unread()
	if i < 0 {
		return
	}
	s := p.task().Plan.Subtasks[i]
	p.e.desk.reading(p.id).release(s)
	p.view.cursor("s" + strconv.Itoa(i))
	p.view.at = p.itemAt(p.view.id)
	p.open[subtaskKey(s)] = p.left < 0
}

func (p *planPage) itemAt(id string) int {
	return max(slices.IndexFunc(p.view.items, func(it columnItem) bool { return it.id == id }), 0)
}

// Scopes are those of a plan.
func (p *planPage) Scopes() []string { return []string{string(KindPlan)} }

// Title names the page.
func (p *planPage) Title() string { return "plan of " + string(p.id) }

// Subject is the plan's task.
func (p *planPage) Subject() amp.TaskID { return p.id }

// Copy gives the task id, or the text of the part under the cursor.
func (p *planPage) Copy() (id, text string) {
	if s, _, ok := p.subtask(); ok {
		return string(p.id), s.Description
	}
	if c, _, ok := p.criterion(); ok {
		return string(p.id), c
	}
	return string(p.id), ""
}

// Divide is the column between the panes.
func (p *planPage) Divide() int { return p.left }

// Close notes that the plan is not read any more.
func (p *planPage) Close() { p.e.desk.reading(p.id).away() }

// title is the crumb.
func (p *planPage) title(t *amp.Task) string {
	th := p.e.Theme
	name := string(p.id)
	if t.Plan != nil {
		name += " r" + strconv.Itoa(t.Plan.Revision)
	}
	return " " + th.S(theme.Muted, "Plans ›") + " " + th.S(theme.Strong, name) + "  " + ui.Safe(t.Title)
}

// facts is the line below the crumb.
func planFacts(t *amp.Task) string {
	pl := t.Plan
	lines := 0
	for _, s := range pl.Subtasks {
		lines += s.EstimatedLines
	}
	parts := []string{"by " + pl.Author, plural(len(pl.Subtasks), "subtask"), fmt.Sprintf("~%d lines", lines)}
	if b := budgetOf(pl.Budget); b != "" {
		parts = append(parts, "budget "+b)
	}
	return strings.Join(parts, " · ")
}
