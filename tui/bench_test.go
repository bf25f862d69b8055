package tui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	_ "arbiter/tui/preterm"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// many is a script with n tasks in the middle of their lives.
func many(n int) *tuitest.Script {
	s := tuitest.NewScript(tuitest.SceneEnd)
	for i := range n {
		t := s.NewTask(fmt.Sprintf("Task number %d with a title of some length", i)).Propose()
		switch i % 5 {
		case 0:
		case 1:
			t.Approve().Dispatch()
		case 2:
			t.Approve().Dispatch().Ack(amp.TaskDispatch)
		case 3:
			t.Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request()
		case 4:
			t.Approve().Dispatch().Ack(amp.TaskDispatch).Asks("go generate ./...")
		}
	}
	return s
}

// lipglossFrame is the frame that decides what cheap means: a style per cell, panes joined, a border.
func lipglossFrame(m *model) string {
	cell := lipgloss.NewStyle().Padding(0, 1).Foreground(lipgloss.Color("252"))
	head := cell.Bold(true)
	rows := []string{}
	for _, k := range m.nav.tabs[KindNow].(*nowPage).order.keys[:46] {
		t := m.env.Board.Task(k.id)
		row := []string{
			head.Width(14).Render(string(t.ID)), cell.Width(18).Render(string(t.Status)), cell.Width(60).Render(titleOf(t)),
			cell.Width(14).Render(withWhom(t, nil)), cell.Width(16).Render("acked"), cell.Width(6).Render("0/3"), cell.Width(10).Render("low"),
		}
		rows = append(rows, lipgloss.JoinHorizontal(lipgloss.Top, row...))
	}
	left := lipgloss.JoinVertical(lipgloss.Left, rows...)
	return lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).Width(198).Height(48).Render(left)
}

// BenchmarkFrame draws a whole frame of 200x50 with 10,000 tasks after a key; the ratio is to a frame of lipgloss in the same
// run, which must be at least 20 times as dear.
func BenchmarkFrame(b *testing.B) {
	m := still(b, many(10_000), 200, 50)
	key := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'j'}}
	m.Update(tea.KeyMsg{Type: tea.KeyTab})
	const rounds = 30
	begin := time.Now()
	for range rounds {
		lipglossFrame(m)
	}
	dear := float64(time.Since(begin).Nanoseconds()) / rounds
	b.ReportAllocs()
	for b.Loop() {
		m.Update(key)
	}
	b.ReportMetric(dear/(float64(b.Elapsed().Nanoseconds())/float64(b.N)), "x-cheaper-than-lipgloss")
}

// BenchmarkFrameStill draws the frame again when nothing moved.
func BenchmarkFrameStill(b *testing.B) {
	m := still(b, many(10_000), 200, 50)
	b.ReportAllocs()
	for b.Loop() {
		m.gate.urgent()
		m.draw()
	}
}

// BenchmarkBatch folds one entry of a journal with 10,000 tasks into the board, the index and the page on the screen.
func BenchmarkBatch(b *testing.B) {
	script := many(10_000)
	m := still(b, script, 200, 50)
	head := m.env.Board.Head
	id := m.env.Board.Order[2]
	body := amp.EncodeBody(&amp.Turn{Event: amp.TurnProgress, TaskID: id, Role: amp.Executor, Agent: "codex", TurnID: "x", Text: "still at it"})
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		e := head.Chain(amp.Record{Kind: amp.KindTurn, TaskID: id, Role: amp.Executor, Actor: "codex", At: tuitest.SceneEnd, ID: fmt.Sprint("b", n), Body: body})
		head = amp.Head{Seq: e.Seq, Hash: e.Hash}
		m.Update(batchMsg{1, []amp.Entry{e}})
	}
}

// BenchmarkKeyUnderLoad presses keys while 2,000 entries a second come in, and reports the 95th percentile of the time from the
// key to its frame, in flush periods of 60 per second: at most 1.5 are allowed with the terminal, so the program itself must
// stay far below one.
func BenchmarkKeyUnderLoad(b *testing.B) {
	script := many(10_000)
	m := still(b, script, 200, 50)
	m.Update(tea.KeyMsg{Type: tea.KeyTab})
	head := m.env.Board.Head
	ids := m.env.Board.Order
	const perBatch = 32 // 2,000 a second at 60 batches a second
	n := 0
	batch := func() batchMsg {
		out := batchMsg{gen: 1}
		for range perBatch {
			n++
			id := ids[n*7919%len(ids)]
			body := amp.EncodeBody(&amp.Turn{Event: amp.TurnProgress, TaskID: id, Role: amp.Executor, Agent: "codex", TurnID: "x", Text: "at it"})
			e := head.Chain(amp.Record{Kind: amp.KindTurn, TaskID: id, Role: amp.Executor, Actor: "codex", At: tuitest.SceneEnd, ID: fmt.Sprint("b", n), Body: body})
			head = amp.Head{Seq: e.Seq, Hash: e.Hash}
			out.entries = append(out.entries, e)
		}
		return out
	}
	var took []time.Duration
	for b.Loop() {
		msg := batch()
		begin := time.Now() // the key comes while a batch is being folded: the worst moment
		m.Update(msg)
		m.Update(frameMsg{})
		m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'j'}})
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	p95 := took[len(took)*95/100]
	b.ReportMetric(float64(p95)/float64(time.Second/60), "p95-flush-periods")
	b.ReportMetric(float64(p95.Microseconds()), "p95-us")
}

// frameAllocations is what a frame of 200x50 may cost.
const frameAllocations = 200

// TestFrame_allocations holds what a frame may cost, and that it does not depend on how many tasks there are.
func TestFrame_allocations(t *testing.T) {
	measure := func(tasks int) (still_, moved float64) {
		m := still(t, many(tasks), 200, 50)
		m.Update(tea.KeyMsg{Type: tea.KeyTab})
		down := key("j")
		return testing.AllocsPerRun(50, func() { m.gate.urgent(); m.draw() }), testing.AllocsPerRun(50, func() { m.Update(down) })
	}
	few, fewMoved := measure(200)
	rest, moved := measure(10_000)
	if rest >= frameAllocations || moved >= frameAllocations {
		t.Errorf("a frame of 200x50 with 10,000 tasks takes %v allocations, after a key %v; fewer than %d are allowed", rest, moved, frameAllocations)
	}
	if rest > 1.2*few || moved > 1.2*fewMoved {
		t.Errorf("10,000 tasks cost %v and %v allocations a frame, 200 tasks %v and %v", rest, moved, few, fewMoved)
	}
}

// TestFrame_allocationsOfPages holds the same for each page, down and up through what it shows.
func TestFrame_allocationsOfPages(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates by itself: make test counts")
	}
	story := tuitest.NewScript(begin)
	diff := Place{Kind: KindDiff, ID: string(diffStory(t, story).ID)}
	for _, page := range []struct {
		script *tuitest.Script
		at     Place
	}{
		{decisionScene(), Place{Kind: KindNow}},
		{decisionScene(), Place{Kind: KindTasks}},
		{decisionScene(), Place{Kind: KindTask, ID: "T-2026-004"}},
		{decisionScene(), Place{Kind: KindInbox}},
		{decisionScene(), Place{Kind: KindPlans}},
		{decisionScene(), Place{Kind: KindPlan, ID: "T-2026-017"}},
		{decisionScene(), Place{Kind: KindEscalation, ID: "T-2026-004", Seq: 82}},
		{decisionScene(), Place{Kind: KindHistory}},
		{decisionScene(), Place{Kind: KindAgents}},
		{decisionScene(), Place{Kind: KindErrors}},
		{story, diff},
	} {
		m := still(t, page.script, 200, 50)
		readPasts(t, m)
		visit(t, m, page.at)
		if page.at.Kind == KindDiff {
			readDiff(t, m)
		}
		down, up := key("j"), key("k")
		for range 3 {
			m.Update(down)
		}
		got := testing.AllocsPerRun(50, func() { m.Update(down); m.Update(up) }) / 2
		if got >= frameAllocations {
			t.Errorf("%s: a frame of 200x50 after a key takes %v allocations; fewer than %d are allowed", page.at.Kind, got, frameAllocations)
		}
		t.Logf("%s: %v", page.at.Kind, got)
	}
}
