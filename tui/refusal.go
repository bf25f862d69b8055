package tui

import (
	"context"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// The ids of the actions of the Errors screen.
const (
	refusalSeen    = "errors.seen"
	refusalAll     = "errors.all_seen"
	refusalTask    = "errors.task"
	refusalRule    = "errors.rule"
	refusalSame    = "errors.same"
	refusalGroups  = "errors.group"
	refusalWrap    = "errors.wrap"
	refusalReport  = "errors.report"
	refusalProgram = "errors.program"
)

// maxBadge is the largest number on the tab.
const maxBadge = 99

func refusalKind() pageKind {
	return pageKind{
		Kind: KindErrors, Tab: "7", Title: "Errors", Short: "Err", Dense: true,
		Badge: func(e *env) string {
			switch n := e.newRefusals(); {
			case n == 0:
				return ""
			case n > maxBadge:
				return "!" + strconv.Itoa(maxBadge) + "+"
			default:
				return "!" + strconv.Itoa(n)
			}
		},
		Make:  func(e *env, _ Place) page { return newRefusalPage(e) },
		Deeds: refusalDeeds,
	}
}

func refusalDeeds(e *env) []deed {
	do := func(id, title, short string, rank int, key string, off func(p *refusalPage) string) deed {
		a := action.Action{ID: id, Scope: string(KindErrors), Title: title, Short: short, Keys: []string{key}, Rank: rank}
		if off != nil {
			a.Disabled = offFor(e, off)
		}
		return deed{Action: a}
	}
	selected := func(p *refusalPage) string {
		if it, _ := p.current(); it == nil {
			return "nothing is selected"
		}
		return ""
	}
	return []deed{
		do(refusalSeen, "mark as seen", "mark seen", 10, "m", selected),
		do(refusalAll, "mark all as seen", "all seen", 11, "*", func(p *refusalPage) string {
			if p.e.newRefusals() == 0 {
				return "all are seen"
			}
			return ""
		}),
		do(refusalTask, "open the task at this refusal", "task", 12, "t", func(p *refusalPage) string {
			if it, _ := p.current(); it == nil || p.e.Board.Task(it.TaskID) == nil {
				return "it belongs to no task"
			}
			return ""
		}),
		do(refusalRule, "show or hide the text of the rule", "rule text", 13, "r", selected),
		do(refusalSame, "only this rule, or all again", "same rule", 14, "s", selected),
		do(refusalGroups, "group by rule and sender, or one by one", "group", 15, "x", nil),
		do(refusalWrap, "wrap the raw bytes or cut long lines", "wrap", 16, "w", nil),
		do(refusalReport, "copy a report: what, why, raw bytes made safe", "copy report", 17, "y", selected),
		do(refusalProgram, "errors of this program, and its log", "this program", 18, "p", nil),
	}
}

// refusalPage lists what the coordinator refused, by rule and sender, with the reason and the raw bytes.
type refusalPage struct {
	e      *env
	ctx    context.Context
	cancel context.CancelFunc

	log      refusalLog
	reading  bool
	err      error
	together bool // grouped
	only     string
	search   listFilter
	rows     []refusalGroup
	list     *ui.List
	cols     *ui.Columns
	colsW    int
	today    int

	onRaw, zoomed, ruleText bool
	raw                     rawPane
	listTop, listH, left    int
}

// refusalsMsg is a page of refusals.
type refusalsMsg struct {
	items []refusalItem
	more  bool
	err   error
}

func newRefusalPage(e *env) *refusalPage {
	p := &refusalPage{e: e, together: true, left: -1, search: newListFilter(), raw: newRawPane(e)}
	p.ctx, p.cancel = e.Context()
	var k keptRefusals
	if e.Kept(string(KindErrors), &k) {
		p.together, p.only, p.raw.wrap = !k.Single, k.Only, !k.Cut
		p.search.set(k.Filter)
	}
	p.list = ui.NewList(e.Theme, ui.Source{
		Len: func() int { return len(p.rows) },
		ID: func(i int) string {
			if p.together {
				return p.rows[i].key.String()
			}
			return seqName(p.log.items[p.rows[i].items[0]].Seq)
		},
		Version: func(i int) uint64 {
			g := &p.rows[i]
			return p.log.items[g.items[0]].Seq<<24 | uint64(len(g.items))<<4 | uint64(min(g.fresh, 1))
		},
		Lines: func(i, w int, selected bool) []ui.Line { return []ui.Line{p.line(&p.rows[i], w, selected)} },
	})
	return p
}

// current is the newest refusal of the row under the cursor, with its row; nil when there is none.
func (p *refusalPage) current() (*refusalItem, *refusalGroup) {
	_, i, ok := p.list.Cursor()
	if !ok {
		return nil, nil
	}
	g := &p.rows[i]
	return &p.log.items[g.items[0]], g
}

// load asks for the next page of older refusals.
func (p *refusalPage) load() tea.Cmd {
	if p.reading || p.log.known && !p.log.more {
		return nil
	}
	p.reading = true
	return p.e.Ask(p.ctx, p, p.log.olderQuery(), func(got amp.Page, err error) tea.Msg {
		return refusalsMsg{refusalsOf(got.Entries), got.More, err}
	})
}

// Update handles one message.
func (p *refusalPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		var cmd tea.Cmd
		if !p.log.known {
			cmd = p.load()
		}
		return tea.Batch(cmd, p.read())
	case refusalsMsg:
		p.reading, p.err = false, msg.err
		if msg.err != nil {
			p.e.Fail(msg.err)
			return nil
		}
		p.e.desk.seen.older(msg.items)
		p.log.older(msg.items, msg.more)
		p.rebuild()
		return p.read()
	case rawMsg:
		p.raw.took(msg)
	case changedMsg:
		return p.follow(msg)
	case clickMsg:
		return p.click(msg)
	case wheelMsg:
		if p.inDetail(msg.X, msg.Y) {
			p.raw.pager.Scroll(msg.By)
			return nil
		}
		p.list.Move(msg.By)
		return p.read()
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

// follow takes new refusals in.
func (p *refusalPage) follow(msg changedMsg) tea.Cmd {
	if msg.All {
		p.log, p.reading = refusalLog{}, false
		p.cancel()
		p.ctx, p.cancel = p.e.Context()
		return p.load()
	}
	items := refusalsOf(msg.Entries)
	if len(items) == 0 {
		return nil
	}
	p.log.newer(items)
	p.rebuild()
	return p.read()
}

// rebuild makes the rows anew.
func (p *refusalPage) rebuild() {
	p.rows = p.log.groups(&p.e.desk.seen, p.together, func(it *refusalItem) bool {
		return (p.only == "" || it.rule() == p.only) && p.search.keeps(it.match)
	})
	p.countToday()
}

func (p *refusalPage) countToday() {
	p.today = 0
	y, m, d := p.e.Now.In(p.e.Zone).Date()
	for i := range p.log.items {
		if iy, im, id := p.log.items[i].At.In(p.e.Zone).Date(); iy != y || im != m || id != d {
			break
		}
		p.today++
	}
}

// read asks for the raw bytes of the refusal under the cursor, as far as they are not at hand.
func (p *refusalPage) read() tea.Cmd {
	it, _ := p.current()
	if it == nil {
		return nil
	}
	return p.raw.show(p.ctx, p, it, p.rawWidth())
}

func (p *refusalPage) click(m clickMsg) tea.Cmd {
	p.onRaw = p.inDetail(m.X, m.Y)
	if !p.onRaw && p.list.Click(m.Y-p.listTop) {
		return p.read()
	}
	return nil
}

func (p *refusalPage) inDetail(x, y int) bool {
	if p.left >= 0 {
		return x > p.left
	}
	return y >= p.listTop+p.listH
}

func (p *refusalPage) intent(id string) tea.Cmd {
	it, g := p.current()
	switch id {
	case paneNext, panePrev:
		p.onRaw = !p.onRaw
	case zoomPane, openItem:
		if it != nil {
			p.zoomed = !p.zoomed
			return p.read()
		}
	case filterList:
		p.search.begin()
	case refusalGroups:
		p.together = !p.together
		p.list.Forget()
		p.rebuild()
		if it != nil {
			p.list.Select(map[bool]string{true: it.key().String(), false: seqName(it.Seq)}[p.together])
		}
	case refusalSeen:
		p.e.desk.seen.mark(&p.log, g.key, it.Seq)
		p.rebuild()
	case refusalAll:
		p.e.desk.seen.markAll(p.e.Board)
		p.rebuild()
		p.e.Toast(theme.Good, "all refusals are marked as seen")
	case refusalTask:
		return p.e.Go(Place{Kind: KindTask, ID: string(it.TaskID), Seq: it.Seq})
	case refusalRule:
		p.ruleText = !p.ruleText
	case refusalSame:
		p.narrow(it)
		return p.read()
	case refusalWrap:
		p.raw.wrap = !p.raw.wrap
		return p.read()
	case refusalReport:
		if p.e.copied == nil {
			p.e.Toast(theme.Danger, "there is no clipboard here")
			return nil
		}
		copied, report := p.e.copied, p.report(it, g)
		return func() tea.Msg { return toastMsg{theme.Text, copied(report)} }
	case refusalProgram:
		return p.e.Go(Place{Kind: KindFailures})
	default:
		return p.move(id)
	}
	return nil
}

// Off says why an action does nothing here.
func (p *refusalPage) Off(id string) string {
	switch id {
	case openItem, zoomPane, paneNext, panePrev, refusalWrap:
		it, _ := p.current()
		return unless(it != nil, nothingSelected)
	}
	return ""
}

// narrow shows one rule only, or all again.
func (p *refusalPage) narrow(it *refusalItem) {
	if p.only == "" {
		p.only = it.rule()
	} else {
		p.only = ""
	}
	p.rebuild()
}

// move moves in the pane with the focus; at the end of the list the next page is read.
func (p *refusalPage) move(id string) tea.Cmd {
	if p.onRaw || p.zoomed {
		p.raw.intent(id)
		return nil
	}
	if !moveList(p.list, id) {
		return nil
	}
	var more tea.Cmd
	if _, i, ok := p.list.Cursor(); ok && i == len(p.rows)-1 {
		more = p.load()
	}
	return tea.Batch(more, p.read())
}

// Typing reports whether a filter is typed.
func (p *refusalPage) Typing() bool { return p.search.typing }

// Key types the filter.
func (p *refusalPage) Key(k tea.KeyMsg) tea.Cmd {
	if p.search.key(k) {
		p.rebuild()
		return p.read()
	}
	return nil
}

// Hints are the keys while a filter is typed.
func (p *refusalPage) Hints() []ui.KeyHint { return filterHints }

// Back leaves a zoom, the raw bytes, a rule, a filter, in this order.
func (p *refusalPage) Back() bool { return leave(&p.search, &p.zoomed, &p.onRaw, &p.only, p.rebuild) }

// Scopes is the scope of the page.
func (p *refusalPage) Scopes() []string { return []string{string(KindErrors)} }

// Title names the page.
func (p *refusalPage) Title() string { return "errors" }

// keptRefusals is how the list was left.
type keptRefusals struct {
	Single bool   `json:"single,omitzero"`
	Only   string `json:"only,omitzero"`
	Filter string `json:"filter,omitzero"`
	Cut    bool   `json:"cut,omitzero"`
}

// Keep is how the list is left.
func (p *refusalPage) Keep() (part string, value any) {
	return string(KindErrors), keptRefusals{!p.together, p.only, p.search.query, !p.raw.wrap}
}

// Subject is the task of the refusal under the cursor.
func (p *refusalPage) Subject() amp.TaskID {
	if it, _ := p.current(); it != nil {
		return it.TaskID
	}
	return ""
}

// Copy gives the entry and a report that is safe to paste.
func (p *refusalPage) Copy() (id, text string) {
	it, g := p.current()
	if it == nil {
		return "", ""
	}
	return seqName(it.Seq), p.report(it, g)
}

// Divide is the column between the panes.
func (p *refusalPage) Divide() int { return p.left }

// Close ends its queries.
func (p *refusalPage) Close() { p.cancel() }
