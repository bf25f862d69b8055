package ui_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

type task struct {
	id, status, title, branch, note string
	seq                             uint64 // grows when the task changes
	deadline                        time.Time
}

// page shows tasks and the details of one.
type page struct {
	th    *theme.Theme
	now   time.Time
	tasks []task
	list  *ui.List
	cols  *ui.Columns // for one width
	width int
}

func newPage(th *theme.Theme, tasks []task, now time.Time) *page {
	p := &page{th: th, now: now, tasks: tasks}
	p.list = ui.NewList(th, ui.Source{
		Len:     func() int { return len(p.tasks) },
		ID:      func(i int) string { return p.tasks[i].id },
		Version: func(i int) uint64 { return p.tasks[i].seq },
		Lines: func(i, w int, selected bool) []ui.Line {
			t := p.tasks[i]
			return []ui.Line{p.columns(w).Row(selected, ui.Cell{Text: t.id}, ui.Cell{Text: th.Signs.Status(t.status) + " " + t.status},
				ui.Cell{Text: t.title}, ui.Cell{Live: true})}
		},
		Live: func(i int) string {
			return ui.Countdown{Start: p.tasks[i].deadline.Add(-5 * time.Minute), Deadline: p.tasks[i].deadline}.Text(th, p.now)
		},
	})
	return p
}

func (p *page) columns(w int) *ui.Columns {
	if p.cols == nil || p.width != w {
		p.width = w
		p.cols = ui.NewColumns(p.th, w,
			ui.Column{Title: "TASK", Width: 5, Keep: 8},
			ui.Column{Title: "STATUS", Width: 12, Keep: 9},
			ui.Column{Title: "TITLE", Width: 8, Flex: true, Keep: 10},
			ui.Column{Title: "ACK", Width: 10, Keep: 5})
	}
	return p.cols
}

// Render draws the page into w by h cells.
func (p *page) Render(w, h int) *ui.Block {
	lw, rw, two := ui.Split(w, 0.6, 40, 24)
	left := ui.NewBlock(p.th, lw).Rule(fmt.Sprintf("Tasks %d", len(p.tasks)), "id "+p.th.Signs.Sort).Add(p.columns(lw).Head())
	left.Append(p.list.Render(lw, h-left.Height()))
	if !two {
		return left
	}
	right := ui.NewBlock(p.th, rw)
	if id, i, ok := p.list.Cursor(); ok {
		right.Rule(id, "low").Field(6, "branch", ui.Safe(p.tasks[i].branch)).Quote(2, p.tasks[i].note, 3)
	}
	return ui.Beside(left, right).Fit(h)
}

// Example draws a list and its detail between a header and a footer.
func Example() {
	th := theme.Default()
	now := time.Date(2026, 3, 1, 14, 32, 7, 0, time.UTC)
	p := newPage(th, []task{
		{id: "T-043", status: "dispatched", title: "Compact WAL", deadline: now.Add(143 * time.Second)},
		{
			id: "T-044", status: "reviewing", title: "承認フローの翻訳", branch: "feature/watch", deadline: now.Add(-7 * time.Second),
			note: "No reference is held\x1b[2J after start",
		},
	}, now)
	p.list.Move(1)

	w, h := 72, 9
	f := ui.NewFrame(th, w, h)
	f.Put(0, ui.NewBlock(th, w).Add(ui.Header{
		Name: "ARBITER", Right: "● live",
		Tabs: []ui.Tab{{Key: "1", Title: "Now"}, {Key: "2", Title: "Tasks", Active: true}, {Key: "3", Title: "Inbox", Badge: "▲4"}},
	}.Row(th, w)))
	f.Put(1, p.Render(w, h-3))
	lw, _, _ := ui.Split(w, 0.6, 40, 24)
	hints := []ui.KeyHint{{Key: th.Signs.Enter, Text: "open"}, {Key: "/", Text: "filter"}, {Key: "?", Text: "help"}}
	f.Put(h-2, ui.NewBlock(th, w).RuleUp(lw).Add(ui.KeyRows(th, w, 1, hints, "#18213")...))

	for row := range strings.SplitSeq(ansi.Strip(f.String()), "\n") {
		fmt.Println(strings.TrimRight(row, " "))
	}
	// Output:
	// ARBITER  1 Now [2 Tasks] 3 Inbox ▲4                               ● live
	// ─ Tasks 2 ────────────────────────── id ▾ ─┬─ T-044 ────────────── low ─
	//   TASK  STATUS       TITLE       ACK       │  branch feature/watch
	//   T-043 → dispatched Compact WAL ▰▰▱▱ 2:23 │  │ «No reference is
	// ▌ T-044 ◎ reviewing  承認フロー… LATE +0:07│  │ held␛[2J after start»
	//                                            │
	//                                            │
	// ───────────────────────────────────────────┴────────────────────────────
	//  ↵ open  / filter  ? help                                         #18213
}
