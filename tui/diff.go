package tui

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/diffview"
)

func diffKind() pageKind {
	return pageKind{
		Kind: KindDiff, Title: "Diff", Dense: true,
		Make: func(e *env, at Place) page { return newDiffPage(e, at) },
		Deeds: func(e *env) []deed {
			do := func(id, title, short string, rank int, keys ...string) deed {
				return deed{Action: action.Action{ID: id, Scope: string(KindDiff), Title: title, Short: short, Keys: keys, Rank: rank}}
			}
			return []deed{
				do("diff.hunk_next", "next change", "[ hunk", 10, "]"),
				do("diff.hunk_prev", "previous change", "", 0, "["),
				do("diff.file_next", "next file", "{ file", 11, "}"),
				do("diff.file_prev", "previous file", "", 0, "{"),
				do("diff.viewed", "mark the file as viewed and fold it, or take the mark away", "viewed", 12, "v"),
				do("diff.comment", "comment on the line or the selected lines: goes into the next dispatch", "comment", 13, "c"),
				do("diff.remark_next", "next finding or comment", "finding", 14, "."),
				do("diff.remark_prev", "previous finding or comment", "", 0, ","),
				do("diff.range", "which commits: the whole branch, the last round, any two rounds", "range", 15, "r"),
				do("diff.split", "old and new beside each other, or below", "split", 16, "s"),
				do("diff.wrap", "wrap long lines or cut them", "wrap", 17, "w"),
				do("diff.space", "leave out what differs in blanks alone, or show it", "ignore space", 18, "i"),
				do("diff.files", "list of the files", "files", 19, "f"),
				do("diff.editor", "open the file at the line in $EDITOR, as a copy to read", "$EDITOR", 20, "o"),
				do("diff.copy_hunk", "copy the hunk", "copy hunk", 21, "y"),
				do("diff.copy_file", "copy the diff of the file", "", 0, "Y"),
				do("diff.comments", "list of your comments: go to one, edit, delete", "", 0, "C"),
				do("diff.select", "begin or end a selection of lines", "", 0, "space"),
				do("diff.next", "next match", "", 0, "n"),
				do("diff.prev", "previous match", "", 0, "p"),
				do("diff.reload", "read the diff again", "", 0, "ctrl+r"),
			}
		},
	}
}

// The ranges that a place may name behind the task.
const rangeLast = "last"

// diffPage shows what changed on the branch of a task: all of it, or between two rounds, with the findings of the last verdict and
// the admin's own comments under their lines.
type diffPage struct {
	e      *env
	id     amp.TaskID
	ctx    context.Context
	cancel context.CancelFunc

	span    diffSpan // what is shown, or asked for
	pending bool     // the span is the last round, which is not known yet
	space   bool     // differences in blanks are left out
	split   splitChoice

	gen     int // of the newest request for a diff
	reading bool
	state   string // why there is nothing to show
	shown   *shownDiff
	view    *diffview.View
	opening map[int]bool // files whose unchanged lines are being read

	find     *ui.Field
	typing   bool
	stale    bool // findings or comments changed
	colors   bool // a job for colours runs
	moved    bool // a person has moved since the diff came
	last     diffview.Spot
	lastPath string // the file of last
	top      int    // the first row of the view
	divide   int
	findings []finding
	offset   int // of the third column
	beside   besideDiff
	claimed  drawnClaims
}

// shownDiff is the diff on the screen.
type shownDiff struct {
	span  diffSpan
	space bool
	facts *amp.Diff
	files []fileMark
}

// splitChoice is who decides whether the sides stand beside each other.
type splitChoice uint8

const (
	splitByWidth splitChoice = iota
	splitOn
	splitOff
)

func newDiffPage(e *env, at Place) *diffPage {
	p := &diffPage{e: e, find: ui.NewField("search"), view: diffview.New(e.Theme), divide: -1, opening: map[int]bool{}}
	id, what, _ := strings.Cut(at.ID, ":")
	p.id, p.pending = amp.TaskID(id), what == rangeLast
	p.ctx, p.cancel = e.Context()
	p.view.Facts(p.fileFacts)
	p.view.Progress(e.desk.review(p.id).Seen)
	return p
}

func (p *diffPage) task() *amp.Task { return p.e.Board.Task(p.id) }

// Update handles one message.
func (p *diffPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		return p.shownAgain()
	case changedMsg:
		p.e.desk.follow(msg)
		p.stale = true
		return p.e.readPast(p, p.id)
	case pastMsg:
		p.e.desk.took(msg)
		p.stale = true
		if p.pending {
			return p.load()
		}
	case diffMsg:
		return p.got(msg)
	case wholeMsg:
		return p.gotWhole(msg)
	case hitsMsg:
		p.gotHits(msg)
	case diffview.Colors:
		p.colors = false
		p.view.Paint(msg)
		return p.paint()
	case clickMsg:
		p.moved = true
		p.view.Click(msg.Y - p.top)
	case wheelMsg:
		if p.divide >= 0 && msg.X > p.divide {
			p.offset = max(p.offset+msg.By, 0)
			return nil
		}
		p.moved = true
		p.view.Scroll(msg.By)
		return p.paint()
	case intent:
		p.moved = true
		return tea.Batch(p.intent(msg.ID), p.paint())
	}
	return nil
}

// shownAgain asks for what is missing when the page comes to the screen.
func (p *diffPage) shownAgain() tea.Cmd {
	p.stale = true
	past := p.e.readPast(p, p.id)
	if p.shown != nil || p.reading || p.state != "" {
		return tea.Batch(past, p.paint())
	}
	if p.pending && past != nil {
		return past
	}
	return tea.Batch(past, p.load())
}

func (p *diffPage) intent(id string) tea.Cmd {
	if p.move(id) {
		return nil
	}
	switch id {
	case openItem:
		return p.enter()
	case filterList:
		p.typing = true
	case "diff.viewed":
		p.markViewed()
	case "diff.comment":
		return p.comment()
	case "diff.comments":
		return p.listComments()
	case "diff.range":
		return p.pickRange()
	case "diff.split":
		p.split = splitOn
		if p.view.IsSplit() {
			p.split = splitOff
		}
		p.view.Split(p.split == splitOn)
	case "diff.wrap":
		p.view.Wrap(!p.view.IsWrapped())
	case "diff.space":
		p.space = !p.space
		return p.load()
	case "diff.files":
		return p.pickFile()
	case "diff.editor":
		return p.editor()
	case "diff.copy_hunk", "diff.copy_file":
		return p.copy(id == "diff.copy_hunk")
	case "diff.select":
		p.view.Select()
	case "diff.reload":
		return p.load()
	}
	return nil
}

// move does a movement and reports whether the intent was one.
func (p *diffPage) move(id string) bool {
	v := p.view
	none := ""
	switch id {
	case moveDown:
		v.Move(1)
	case moveUp:
		v.Move(-1)
	case halfDown:
		v.Page(0.5)
	case halfUp:
		v.Page(-0.5)
	case pageDown:
		v.Page(1)
	case pageUp:
		v.Page(-1)
	case moveTop:
		v.Top()
	case moveBottom:
		v.Bottom()
	case moveLeft:
		v.Shift(-8)
	case moveRight:
		v.Shift(8)
	case "diff.hunk_next", "diff.hunk_prev":
		if !v.NextHunk(id == "diff.hunk_next") {
			none = "no other change this way"
		}
	case "diff.file_next", "diff.file_prev":
		if !v.NextFile(id == "diff.file_next") {
			none = "no other file this way"
		}
	case "diff.remark_next", "diff.remark_prev":
		if !v.NextRemark(id == "diff.remark_next") {
			none = "no finding and no comment in this diff"
		}
	case "diff.next", "diff.prev":
		if !v.NextHit(id == "diff.next") {
			none = "nothing was searched for: / searches"
		}
	default:
		return false
	}
	if none != "" {
		p.e.Toast(theme.Text, none)
	}
	return true
}

// Off says why an action does nothing here.
func (p *diffPage) Off(id string) string {
	switch id {
	case paneNext, panePrev:
		return onePane
	case zoomPane:
		return noZoom
	case "diff.range", "diff.reload", "diff.space":
		return ""
	}
	if p.shown == nil || len(p.view.Diff().Files) == 0 {
		return unless(id == openItem && p.state != "", "there is no diff to look at")
	}
	switch id {
	case openItem:
		_, _, _, gap := p.view.Gap()
		return unless(gap || p.view.Cursor().Head, "stand on a file or on a gap")
	case "diff.split":
		return unless(p.e.Width >= minSplit, "two columns need a wider screen")
	case "diff.remark_next", "diff.remark_prev":
		n := len(p.findings) + len(p.e.desk.review(p.id).Comments)
		return unless(n > 1 || n == 1 && p.view.Cursor().Remark == "", "no other finding or comment in this diff")
	case "diff.comments":
		return unless(len(p.e.desk.review(p.id).Comments) > 0, "no comments yet: c on a line writes one")
	case "diff.comment":
		return unless(p.view.Cursor().File >= 0, "stand on a line to comment on it")
	case "diff.viewed", "diff.editor", "diff.copy_hunk", "diff.copy_file":
		i, ok := p.fileAt()
		switch {
		case !ok:
			return "stand on a file"
		case id == "diff.editor" && p.file(i).Binary:
			return "the file is binary"
		}
	}
	return ""
}

// enter shows what stands behind the cursor: unchanged lines, or the lines of a folded file.
func (p *diffPage) enter() tea.Cmd {
	if p.shown == nil {
		if p.state != "" {
			return p.load()
		}
		return nil
	}
	if s := p.view.Cursor(); s.Head {
		p.fold(s.File, !p.folded(s.File))
		return nil
	}
	file, before, _, ok := p.view.Gap()
	if !ok || p.view.Open(file, before) {
		return nil
	}
	return p.whole(file, func() tea.Cmd { p.view.Open(file, before); return nil })
}

// Back leaves a selection or the search.
func (p *diffPage) Back() bool {
	switch {
	case p.view.Selecting():
		p.view.Select()
	case p.view.Searching():
		p.view.Hits(diffview.Hits{})
	default:
		return false
	}
	return true
}

// Subject is the task.
func (p *diffPage) Subject() amp.TaskID { return p.id }

// Close ends the queries.
func (p *diffPage) Close() { p.cancel() }

// Scopes is the scope of the page.
func (p *diffPage) Scopes() []string { return []string{string(KindDiff)} }

// Title names the page.
func (p *diffPage) Title() string { return "diff of " + string(p.id) }

// Divide is the column of the line before the findings.
func (p *diffPage) Divide() int { return p.divide }
