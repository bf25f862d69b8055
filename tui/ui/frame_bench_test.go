package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"

	"arbiter/tui/theme"
)

const benchW, benchH = 200, 50

var (
	benchNow   = time.Date(2026, 3, 1, 14, 32, 7, 0, time.UTC)
	benchTitle = []string{"Extract retry policy", "承認フローの翻訳 (JA)", "Watch breathing timer", "Compact WAL at 64 MB"}
	statuses   = theme.Statuses()
)

// board is a page with a list of n tasks, a detail beside it, header and footer, as tasks are drawn.
type board struct {
	th     *theme.Theme
	list   *List
	cols   *Columns
	header Header
	now    time.Time
	lw, rw int
}

func newBoard(n int) *board {
	b := &board{th: theme.Default(), header: sampleHeader(), now: benchNow}
	b.lw, b.rw, _ = Split(benchW, 0.6, 50, 40)
	b.cols = sampleColumns(b.th, b.lw)
	b.list = NewList(b.th, Source{
		Len: func() int { return n },
		ID:  func(i int) string { return taskIDs[i%len(taskIDs)] },
		Lines: func(i, _ int, selected bool) []Line {
			status := statuses[i%len(statuses)]
			return []Line{b.cols.Row(selected, Cell{Text: taskIDs[i%len(taskIDs)]}, Cell{Text: b.th.Signs.Status(status) + " " + status, Role: theme.Muted},
				Cell{Text: benchTitle[i%len(benchTitle)]}, Cell{Live: true}, Cell{Text: "2/3", Role: theme.Time})}
		},
		Live: func(i int) string {
			return Countdown{Start: b.now.Add(-100 * time.Second), Deadline: b.now.Add(time.Duration(i%300) * time.Second)}.Text(b.th, b.now)
		},
		Index: func(id string) (int, bool) { return 0, false },
	})
	b.list.Move(n / 2)
	return b
}

// taskIDs stands for ids that the board holds anyway; more than a list shows at once, so that they are unique.
var taskIDs = func() []string {
	ids := make([]string, 1_000_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("T-%07d", i)
	}
	return ids
}()

func (b *board) frame() string {
	f := NewFrame(b.th, benchW, benchH)
	f.Put(0, NewBlock(b.th, benchW).Add(b.header.Row(b.th, benchW)))
	left := NewBlock(b.th, b.lw).Rule("Tasks 18", "id ▾").Add(b.cols.Head())
	left.Append(b.list.Render(b.lw, benchH-6))
	right := NewBlock(b.th, b.rw).Rule("T-2026-044  Watch breathing timer", "2/3 · medium").
		Field(9, "branch", "feature/watch-breath-v2").Field(9, "base", "main@88d0b1f").Field(9, "paths", "Sources/WatchApp/**").
		Rule("Issues", "1 critical").Quote(2, "No session reference is held after session.start(); ARC will recycle it", 3)
	f.Put(1, Beside(left, right).Fit(benchH-4))
	f.Put(benchH-3, NewBlock(b.th, benchW).RuleUp(b.lw).Add(KeyRows(b.th, benchW, 2,
		[]KeyHint{{"↵", "open"}, {"a", "ack"}, {"/", "filter"}, {":", "command"}, {"?", "help"}}, "#18213 c41e77b0")...))
	return f.String()
}

// lipglossFrame is the same page the usual way: a style per cell, joined blocks.
func lipglossFrame(b *board, top int) string {
	muted := lipgloss.NewStyle().Foreground(lipgloss.Color("#bcc4d0"))
	amber := lipgloss.NewStyle().Foreground(lipgloss.Color("#f0b64c"))
	strong := lipgloss.NewStyle().Bold(true)
	title := strong.Width(benchW)
	var rows []string
	for i := top; i < top+benchH-6; i++ {
		status := statuses[i%len(statuses)]
		d := Countdown{Start: b.now.Add(-100 * time.Second), Deadline: b.now.Add(time.Duration(i%300) * time.Second)}
		rows = append(rows, lipgloss.JoinHorizontal(lipgloss.Top,
			strong.Width(13).Render(taskIDs[i]), muted.Width(14).Render(UTF8Status(status)), lipgloss.NewStyle().Width(70).MaxHeight(1).Render(benchTitle[i%4]),
			amber.Width(12).Render(d.Text(b.th, b.now)), amber.Width(4).Render("2/3")))
	}
	list := lipgloss.NewStyle().Width(b.lw).Render(strings.Join(rows, "\n"))
	detail := lipgloss.NewStyle().Width(b.rw).Border(lipgloss.NormalBorder(), false, false, false, true).Render(
		title.Width(b.rw).Render("T-2026-044  Watch breathing timer") + "\n" + muted.Render("branch ") + "feature/watch-breath-v2\n" + muted.Render("base ") + "main@88d0b1f")
	return lipgloss.JoinVertical(lipgloss.Left, title.Render("ARBITER"), lipgloss.JoinHorizontal(lipgloss.Top, list, detail), muted.Width(benchW).Render("↵ open  a ack"))
}

// UTF8Status is sign and word.
func UTF8Status(word string) string { return theme.UTF8.Status(word) + " " + word }

// perFrame returns the time of one call, the best of five rounds.
func perFrame(n int, draw func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 5 {
		start := time.Now()
		for range n {
			draw()
		}
		best = min(best, time.Since(start)/time.Duration(n))
	}
	return best
}

// BenchmarkFrame holds the ratios of the frame budget: twenty times cheaper than the usual way, and no dearer
// with a hundred times more tasks. All are measured in this run.
func BenchmarkFrame(b *testing.B) {
	small, large := newBoard(10_000), newBoard(1_000_000)
	b.Run("rows", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			small.frame()
		}
	})
	b.Run("scrolling", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			small.list.Move(1)
			if _, i, _ := small.list.Cursor(); i > 9_900 {
				small.list.Top()
			}
			small.frame()
		}
	})
	b.Run("1M", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			large.frame()
		}
	})
	b.Run("lipgloss", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			lipglossFrame(small, 5000)
		}
	})
	b.Run("ratios", func(b *testing.B) {
		for b.Loop() {
			rows := perFrame(200, func() { small.frame() })
			million := perFrame(200, func() { large.frame() })
			gloss := perFrame(10, func() { lipglossFrame(small, 5000) })
			cheaper, growth := float64(gloss)/float64(rows), float64(million)/float64(rows)
			b.ReportMetric(cheaper, "x-cheaper-than-lipgloss")
			b.ReportMetric(growth, "x-for-1M-tasks")
			if cheaper < 20 {
				b.Errorf("a frame is %.1f times cheaper than the usual way, want 20", cheaper)
			}
			if growth > 3 {
				b.Errorf("a frame of 1M tasks costs %.1f times that of 10k, want at most 3", growth)
			}
		}
	})
}

func TestFrame_allocs(t *testing.T) {
	b := newBoard(10_000)
	b.frame()
	if got := testing.AllocsPerRun(20, func() { b.frame() }); got >= 200 {
		t.Errorf("a frame allocates %.0f times, want under 200", got)
	}
}
