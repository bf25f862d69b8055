package tui

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/diffview"
)

// fileMark is what the coordinator says of a file of the diff.
type fileMark struct {
	known, planned bool
	// added and removed are git's counts; more lines than the text has mean that it was cut.
	added, removed int
}

// markFiles finds what the coordinator said of each file of the diff.
func (p *diffPage) markFiles() {
	byPath := map[string]*amp.DiffFile{}
	for i := range p.shown.facts.Files {
		f := &p.shown.facts.Files[i]
		byPath[f.Path] = f
	}
	files := p.view.Diff().Files
	p.shown.files = make([]fileMark, len(files))
	for i := range files {
		m := fileMark{added: files[i].Added, removed: files[i].Removed}
		if f := byPath[strings.ToValidUTF8(files[i].Path, "\uFFFD")]; f != nil {
			m = fileMark{true, f.Planned, f.Added, f.Removed}
		}
		p.shown.files[i] = m
	}
}

// fileFacts stand at the end of the line of a file.
func (p *diffPage) fileFacts(i int) string {
	if p.shown == nil || i >= len(p.shown.files) {
		return ""
	}
	th := p.e.Theme
	var parts []string
	if p.viewed(i) {
		parts = append(parts, th.S(theme.Good, "viewed "+th.Signs.Yes))
	}
	switch m := &p.shown.files[i]; {
	case !m.known:
	case m.planned:
		parts = append(parts, th.S(theme.Muted, "in plan "+th.Signs.Yes))
	default:
		parts = append(parts, th.S(theme.Danger, th.Signs.No+" outside the plan's paths"))
	}
	if m := &p.shown.files[i]; m.known && (m.added > p.view.Diff().Files[i].Added || m.removed > p.view.Diff().Files[i].Removed) && !p.shown.space {
		parts = append(parts, th.S(theme.Time, fmt.Sprintf("cut, whole +%d −%d", m.added, m.removed)))
	}
	return strings.Join(parts, th.S(theme.Muted, " · "))
}

func (p *diffPage) viewed(i int) bool {
	return p.e.desk.review(p.id).Viewed[p.view.Diff().Files[i].Key]
}

// countViewed is how many files were marked.
func (p *diffPage) countViewed() int {
	n := 0
	for i := range p.view.Diff().Files {
		if p.viewed(i) {
			n++
		}
	}
	return n
}

// markViewed marks the file under the cursor, folds it and goes to the next one; or takes the mark away.
func (p *diffPage) markViewed() {
	s := p.view.Cursor()
	if s.File < 0 {
		return
	}
	r, key := p.e.desk.review(p.id), p.view.Diff().Files[s.File].Key
	if r.Viewed[key] {
		delete(r.Viewed, key)
		p.fold(s.File, false)
		return
	}
	r.Viewed[key] = true
	p.fold(s.File, true)
	if s.File+1 < len(p.view.Diff().Files) {
		p.view.GotoFile(s.File + 1)
	}
}

func (p *diffPage) fold(file int, on bool) { p.view.Fold(file, on) }
func (p *diffPage) folded(file int) bool   { return p.view.Folded(file) }
func (p *diffPage) fileAt() (i int, ok bool) {
	i = p.view.Cursor().File
	return i, i >= 0 && p.shown != nil
}
func (p *diffPage) file(i int) *diffview.File { return &p.view.Diff().Files[i] }

// pickFile lists the files.
func (p *diffPage) pickFile() tea.Cmd {
	if p.shown == nil {
		return nil
	}
	var all []ui.Choice
	for i := range p.view.Diff().Files {
		f := p.file(i)
		hint := fmt.Sprintf("+%d −%d", f.Added, f.Removed)
		if m := p.shown.files[i]; m.known && !m.planned {
			hint = "outside the plan's paths · " + hint
		}
		if p.viewed(i) {
			hint = "viewed · " + hint
		}
		all = append(all, ui.Choice{ID: strconv.Itoa(i), Text: p.view.Name(i, max(p.e.Width-lenHint, 20)), Hint: hint})
	}
	return p.e.choose("Files", all, func(id string) tea.Cmd {
		if i, err := strconv.Atoi(id); err == nil && i < len(p.view.Diff().Files) {
			p.view.GotoFile(i)
		}
		return p.paint()
	})
}

// lenHint is the room of the facts in the list of files.
const lenHint = 50

// copy puts the hunk under the cursor, or the diff of its file, into the clipboard.
func (p *diffPage) copy(hunk bool) tea.Cmd {
	i, ok := p.fileAt()
	if !ok {
		p.e.Toast(theme.Time, "stand on a file to copy its diff")
		return nil
	}
	text := p.file(i).Text
	if n := p.view.Cursor().Hunk; hunk && n >= 0 {
		text = p.file(i).Hunks[n].Text
	}
	if p.e.copied == nil {
		p.e.Toast(theme.Danger, "there is no clipboard here")
		return nil
	}
	copied := p.e.copied
	return func() tea.Msg { return toastMsg{theme.Text, copied(text)} }
}

// Copy gives the file's name and its diff.
func (p *diffPage) Copy() (id, text string) {
	i, ok := p.fileAt()
	if !ok {
		return string(p.id), string(p.id)
	}
	return p.file(i).Path, p.file(i).Text
}

// editor opens the file under the cursor in the person's editor: a copy, since only the coordinator's git work may change a branch.
func (p *diffPage) editor() tea.Cmd {
	i, ok := p.fileAt()
	if !ok {
		return nil
	}
	if p.file(i).Binary {
		p.e.Toast(theme.Time, "the file is binary")
		return nil
	}
	text, ok := p.view.Source(i)
	if !ok {
		return p.whole(i, func() tea.Cmd {
			if _, ok := p.view.Source(i); !ok {
				p.e.Toast(theme.Time, "the file is not wholly known: it is too large, or has no lines")
				return nil
			}
			return p.editor()
		})
	}
	s := p.view.Cursor()
	line := s.New
	if line == 0 && s.Hunk >= 0 {
		line = p.file(i).Hunks[s.Hunk].New
	}
	if p.file(i).Status == 'D' {
		line = s.Old
	}
	run := p.e.desk.edit
	if run == nil {
		run = p.e.readInEditor
	}
	return run(path.Base(p.file(i).Path), []byte(text), line, func(_ []byte, err error) tea.Msg {
		if err != nil {
			return toastMsg{theme.Danger, err.Error()}
		}
		return nil
	})
}
