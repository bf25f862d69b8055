package tui

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/diffview"
)

// finding is an issue of the last verdict as the diff shows it.
type finding struct {
	amp.Issue
	id   string // the stable one of the task, "" when it has none
	n    int    // how many rounds named it
	path string // the file of the diff that it means
}

// lastVerdict is the newest round with a verdict, nil for none.
func (e *env) lastVerdict(t *amp.Task) *round {
	if t == nil {
		return nil
	}
	rounds := e.desk.past(t.ID).facts(t).rounds
	for i := len(rounds) - 1; i >= 0; i-- {
		if rounds[i].verdict != nil {
			return &rounds[i]
		}
	}
	return nil
}

// remark puts the findings of the last verdict and the comments under their lines.
func (p *diffPage) remark() {
	p.stale, p.beside = false, besideDiff{}
	p.findings = nil
	var all []diffview.Remark
	t := p.task()
	if r := p.e.lastVerdict(t); r != nil {
		by := r.Judgement.Actor + " " + seqName(r.Judgement.Seq)
		if r.check != nil && p.shown != nil && r.check.Commit != p.shown.facts.To {
			by += fmt.Sprintf(" · line of round %d", r.N)
		}
		for i, is := range r.verdict.Issues {
			f := finding{Issue: is, path: p.pathOf(is.File)}
			for _, known := range t.Findings {
				if known.File == is.File && known.Description == is.Description {
					f.id, f.n = known.ID, len(known.Rounds)
				}
			}
			p.findings = append(p.findings, f)
			all = append(all, f.remark(p.e, i, by))
		}
	}
	for _, c := range p.e.desk.review(p.id).Comments {
		all = append(all, c.remark())
	}
	p.view.Remarks(all)
	if !p.moved {
		p.view.Top()
	}
}

// title is a finding in a few words.
func (f *finding) title() string { return strings.TrimSpace(f.id + " " + string(f.Severity)) }

func (f *finding) recurs() string {
	if f.n < 2 {
		return ""
	}
	return fmt.Sprintf("recurs ×%d", f.n)
}

func (f *finding) role() theme.Role {
	if f.Severity == amp.IssueMinor {
		return theme.Text
	}
	return theme.Danger
}

func (f *finding) sign(e *env) string {
	sev := map[amp.IssueSeverity]amp.Severity{amp.IssueCritical: amp.Critical, amp.IssueMajor: amp.Warning}[f.Severity]
	if sev == "" {
		sev = amp.Info
	}
	return e.Theme.Signs.Severity(string(sev))
}

func (f *finding) remark(e *env, i int, by string) diffview.Remark {
	if s := f.recurs(); s != "" {
		by += " · " + s
	}
	r := diffview.Remark{
		ID: "f" + strconv.Itoa(i), Path: f.path, Line: f.Line, Sign: f.sign(e), Head: f.title() + fmt.Sprintf("  %s:%d", path.Base(f.File), f.Line),
		Facts: by, Role: f.role(), Body: []string{f.Description},
	}
	if f.SuggestedFix != "" {
		r.Body = append(r.Body, "fix: "+f.SuggestedFix)
	}
	return r
}

// pathOf is the file of the diff that a reviewer means: by its whole path, or by the end of it when only one file has that.
func (p *diffPage) pathOf(file string) string {
	file = strings.TrimPrefix(file, "./")
	var found []string
	for _, f := range p.view.Diff().Files {
		if f.Path == file || f.Old == file {
			return f.Path
		}
		if strings.HasSuffix(f.Path, "/"+file) {
			found = append(found, f.Path)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return file
}

func (c *comment) remark() diffview.Remark {
	return diffview.Remark{
		ID: "c" + strconv.Itoa(c.ID), Path: c.File, Line: c.Line, Old: c.Old, Sign: "◇", Head: "your comment on " + c.at(),
		Facts: "goes into the next dispatch", Role: theme.Accent, Body: []string{c.Text},
	}
}

// commentAt is the comment under the cursor, or a new one about its line.
func (p *diffPage) commentAt() (comment, bool) {
	s := p.view.Cursor()
	r := p.e.desk.review(p.id)
	if id, ok := strings.CutPrefix(s.Remark, "c"); ok {
		n, _ := strconv.Atoi(id)
		for _, c := range r.Comments {
			if c.ID == n {
				return c, true
			}
		}
	}
	if i, ok := strings.CutPrefix(s.Remark, "f"); ok { // an answer to a finding stands at its line
		if n, err := strconv.Atoi(i); err == nil && n < len(p.findings) {
			return comment{File: p.findings[n].path, Line: p.findings[n].Line}, true
		}
	}
	if s.File < 0 || p.shown == nil {
		return comment{}, false
	}
	f := &p.view.Diff().Files[s.File]
	c := comment{File: f.Path, Commit: p.shown.facts.To, From: s.From}
	switch {
	case s.New > 0:
		c.Line = s.New
	case s.Old > 0:
		c.Line, c.Old = s.Old, true
	}
	if c.From == c.Line {
		c.From = 0
	}
	return c, true
}

// comment opens the field for a comment on the line under the cursor.
func (p *diffPage) comment() tea.Cmd {
	c, ok := p.commentAt()
	if !ok {
		p.e.Toast(theme.Time, "stand on a line to comment on it")
		return nil
	}
	return p.write(c)
}

func (p *diffPage) write(c comment) tea.Cmd {
	key := fmt.Sprintf("comment %s %s %d", p.id, c.at(), c.ID)
	hint := "goes into the next dispatch"
	if c.ID > 0 {
		hint = "empty deletes it"
	}
	return p.e.write("Comment on "+ui.Safe(c.at()), hint, key, c.Text, func(text string) tea.Cmd {
		p.e.desk.keep(key, "")
		c.Text = text
		p.e.desk.review(p.id).put(c)
		if p.view.Selecting() {
			p.view.Select()
		}
		p.remark()
		return nil
	})
}

// listComments lists the comments of the task; picking one asks what to do with it.
func (p *diffPage) listComments() tea.Cmd {
	r := p.e.desk.review(p.id)
	if len(r.Comments) == 0 {
		p.e.Toast(theme.Text, "no comments yet: c on a line writes one")
		return nil
	}
	all := make([]ui.Choice, len(r.Comments))
	for i, c := range r.Comments {
		all[i] = ui.Choice{ID: strconv.Itoa(c.ID), Text: ui.Safe(c.at() + "  " + strings.Join(strings.Fields(c.Text), " "))}
	}
	return p.e.choose("Your comments on "+string(p.id), all, func(id string) tea.Cmd {
		i := slices.IndexFunc(r.Comments, func(c comment) bool { return strconv.Itoa(c.ID) == id })
		if i < 0 {
			return nil
		}
		c := r.Comments[i]
		do := []ui.Choice{{ID: "go", Text: "go to it"}, {ID: "edit", Text: "edit it"}, {ID: "delete", Text: "delete it"}}
		return p.e.choose(ui.Safe(c.at()), do, func(what string) tea.Cmd {
			switch what {
			case "go":
				p.view.GotoRemark("c" + id)
			case "edit":
				return p.write(c)
			case "delete":
				c.Text = ""
				r.put(c)
				p.remark()
			}
			return nil
		})
	})
}
