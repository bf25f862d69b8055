package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/diffview"
)

// diffSpan is what is compared: two commits, empty ones are the base and the tip of the branch.
type diffSpan struct {
	from, to string
	// a and b are the rounds that the commits are the results of, 0 for none.
	a, b int
	// fixes says that it is what a reviewer changed, which is on no branch yet.
	fixes bool
}

// name is a span in words.
func (s diffSpan) name() string {
	switch {
	case s.fixes:
		return "diff of the reviewer's fixes"
	case s.a == 0 && s.b == 0:
		return "diff of the branch"
	case s.a == 0:
		return fmt.Sprintf("diff base..round %d", s.b)
	}
	return fmt.Sprintf("diff rounds %d..%d", s.a, s.b)
}

// roundCommit is a round and the commit that it ended with.
type roundCommit struct {
	n       int
	commit  string
	said    bool // only the executor says so: git was not asked
	verdict amp.Decision
}

// roundCommits are the rounds of a task that have a commit, as far back as its journal is known.
func (e *env) roundCommits(t *amp.Task) []roundCommit {
	if t == nil {
		return nil
	}
	var out []roundCommit
	for _, r := range e.desk.past(t.ID).facts(t).rounds {
		c := roundCommit{n: r.N}
		switch {
		case r.check != nil && r.check.Commit != "":
			c.commit = r.check.Commit
		case r.result != nil && isCommit(r.result.CommitHash):
			c.commit, c.said = r.result.CommitHash, true
		default:
			continue
		}
		if r.verdict != nil {
			c.verdict = r.verdict.Decision
		}
		out = append(out, c)
	}
	return out
}

// isCommit reports whether a text of an agent can be the name of a commit.
func isCommit(s string) bool {
	return len(s) >= 7 && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// lastRound is what the last round did: from the commit of the round before to its own. A first round begins at the base.
func (e *env) lastRound(t *amp.Task) (diffSpan, bool) {
	all := e.roundCommits(t)
	if len(all) == 0 {
		return diffSpan{}, false
	}
	last := all[len(all)-1]
	s := diffSpan{to: last.commit, b: last.n}
	if len(all) > 1 {
		s.from, s.a = all[len(all)-2].commit, all[len(all)-2].n
	}
	return s, true
}

// openDiff opens the changes of a task from its card: what the last round did where rounds before it were rejected, else all of it.
func (e *env) openDiff(t *amp.Task) tea.Cmd {
	id := string(t.ID)
	if t.RejectTotal > 1 {
		id += ":" + rangeLast
	}
	return e.Go(Place{Kind: KindDiff, ID: id})
}

// diffOff says why there is nothing to compare yet.
func diffOff(_ *need, t *amp.Task) string {
	if t.Plan == nil {
		return "the task has no plan yet"
	}
	return ""
}

// The answers to the page's queries. gen tells an answer to an older question.
type (
	diffMsg struct {
		gen   int
		span  diffSpan
		space bool
		diff  *diffview.Diff
		facts *amp.Diff
		err   error
	}
	wholeMsg struct {
		gen  int
		file int
		diff *diffview.Diff
		err  error
		then func() tea.Cmd
	}
)

// load asks for the diff of the span. What is on the screen stays until the answer is here.
func (p *diffPage) load() tea.Cmd {
	t := p.task()
	if p.pending {
		if s, ok := p.e.lastRound(t); ok {
			p.span = s
		}
		p.pending = false
	}
	if p.state = ""; t == nil {
		p.state = "There is no task " + string(p.id) + "."
		return nil
	}
	p.gen++
	p.reading = true
	gen, span, space, s := p.gen, p.span, p.space, p.e.Session
	q := amp.Query{Kind: amp.QueryDiff, TaskID: p.id, From: span.from, To: span.to, Diff: amp.DiffOptions{IgnoreSpace: space}}
	return p.e.Await(p.ctx, p, theCoordinator, asks(q), func(ctx context.Context, r *request) tea.Msg {
		got, err := s.Query(ctx, q)
		msg := diffMsg{gen: gen, span: span, space: space, facts: got.Diff, err: err}
		if err == nil {
			r.say("taking %d KB apart", len(got.Text)>>10)
			msg.diff = diffview.Parse(got.Text)
			msg.err = ctx.Err()
		}
		return msg
	})
}

// got shows a diff. The cursor stays on its line where that is still there.
func (p *diffPage) got(m diffMsg) tea.Cmd {
	if m.gen != p.gen {
		return nil
	}
	p.reading = false
	if m.err != nil {
		if p.shown != nil { // what is there stays as it was
			p.span, p.space = p.shown.span, p.shown.space
		}
		if errors.Is(m.err, context.Canceled) {
			p.state = "You stopped reading the diff. " + p.e.Theme.Signs.Enter + " reads it, r picks another range."
			return nil
		}
		p.state = m.err.Error()
		p.e.Fail(m.err)
		return nil
	}
	if at := p.view.Cursor(); p.shown != nil && at.File >= 0 { // of the last diff that had anything
		p.last, p.lastPath = at, p.view.Diff().Files[at.File].Path
	}
	was, path := p.last, p.lastPath
	p.shown = &shownDiff{span: m.span, space: m.space, facts: m.facts}
	if p.shown.facts == nil {
		p.shown.facts = &amp.Diff{From: m.span.from, To: m.span.to}
	}
	p.view.Show(m.diff)
	p.moved = false
	p.opening = map[int]bool{}
	p.markFiles()
	p.remark()
	for i := range m.diff.Files {
		p.view.Fold(i, p.viewed(i))
	}
	if i := slices.IndexFunc(m.diff.Files, func(f diffview.File) bool { return f.Path == path }); i >= 0 && path != "" && (was.File > 0 || was.New+was.Old > 0) {
		if !p.view.Goto(i, max(was.New, was.Old), was.New == 0) {
			p.view.GotoFile(i)
		}
		p.moved = true
	}
	return p.paint()
}

// whole asks for a file with all of its lines, and goes on with then when they are there.
func (p *diffPage) whole(file int, then func() tea.Cmd) tea.Cmd {
	if p.opening[file] {
		return nil
	}
	p.opening[file] = true
	gen, s, f := p.gen, p.e.Session, &p.shown.facts
	q := amp.Query{
		Kind: amp.QueryDiff, TaskID: p.id, From: (*f).From, To: (*f).To,
		Diff: amp.DiffOptions{Path: p.view.Diff().Files[file].Path, Context: allLines, IgnoreSpace: p.shown.space},
	}
	return p.e.Await(p.ctx, p, theCoordinator, "the lines of a file", func(ctx context.Context, _ *request) tea.Msg {
		got, err := s.Query(ctx, q)
		return wholeMsg{gen, file, diffview.Parse(got.Text), err, then}
	})
}

// allLines asks for every unchanged line.
const allLines = 1 << 20

func (p *diffPage) gotWhole(m wholeMsg) tea.Cmd {
	if m.gen != p.gen || p.shown == nil {
		return nil
	}
	delete(p.opening, m.file)
	switch {
	case errors.Is(m.err, context.Canceled):
	case m.err != nil:
		p.e.Fail(m.err)
	case !p.view.Fill(m.file, m.diff):
		p.e.Toast(theme.Time, "the file is too large, or the branch moved: its other lines are not shown")
	default:
		p.stale = true
		return tea.Batch(m.then(), p.paint())
	}
	return nil
}

// pickRange lets a person choose what is compared.
func (p *diffPage) pickRange() tea.Cmd {
	t := p.task()
	if t == nil {
		return nil
	}
	spans := []diffSpan{{}}
	all := []ui.Choice{{ID: "0", Text: "the whole branch, from its base to its tip"}}
	add := func(s diffSpan, text string) {
		all = append(all, ui.Choice{ID: fmt.Sprint(len(spans)), Text: text})
		spans = append(spans, s)
	}
	if t.Fix != "" {
		add(diffSpan{from: t.Commit, to: t.Fix, fixes: true}, fmt.Sprintf("what the reviewer fixed: %s..%s, on the branch once the verdict stands", short(t.Commit), short(t.Fix)))
	}
	rounds := p.e.roundCommits(t)
	if s, ok := p.e.lastRound(t); ok {
		add(s, fmt.Sprintf("the last round, %d: %s..%s", s.b, cmp.Or(short(s.from), "base"), short(s.to)))
	}
	for b := len(rounds) - 1; b >= 0; b-- {
		for a := b - 1; a >= -1; a-- {
			from, to := roundCommit{}, rounds[b]
			if a >= 0 {
				from = rounds[a]
			}
			s := diffSpan{from: from.commit, to: to.commit, a: from.n, b: to.n}
			text := fmt.Sprintf("%s: %s..%s", strings.TrimPrefix(s.name(), "diff "), cmp.Or(short(from.commit), "base"), short(to.commit))
			if to.verdict != "" {
				text += "  " + string(to.verdict)
			}
			if to.said || from.said {
				text += "  not verified"
			}
			if len(spans) < maxRanges {
				add(s, text)
			}
		}
	}
	return p.e.choose("What is compared", all, func(id string) tea.Cmd {
		var i int
		if _, err := fmt.Sscan(id, &i); err != nil || i < 0 || i >= len(spans) {
			return nil
		}
		p.span = spans[i]
		return p.load()
	})
}

// maxRanges bounds the list of ranges: rounds are few, since a task is locked at three rejects.
const maxRanges = 200

// paint asks for the colours of what is on the screen, one job at a time.
func (p *diffPage) paint() tea.Cmd {
	if p.colors || p.shown == nil {
		return nil
	}
	job := p.view.Wants(p.e.Height)
	if job == nil {
		return nil
	}
	p.colors = true
	return p.e.To(p, func() tea.Msg { return job.Run() })
}
