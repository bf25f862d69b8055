package tui

import (
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/diffview"
)

// The widths from which on the sides stand beside each other, and the findings in a column of their own.
const (
	splitWidth  = 140
	minSplit    = 80 // below it nothing is split
	columnWidth = 160
)

// Render draws the head, the diff and the claims.
func (p *diffPage) Render(w, h int) *ui.Block {
	e := p.e
	p.view.SetTheme(e.Theme)
	p.divide = -1
	b := ui.NewBlock(e.Theme, w)
	if h <= 0 {
		return b
	}
	p.head(b, w)
	if p.typing {
		b.Add(" " + e.Theme.S(theme.Accent, "/") + " " + p.find.Row(e.Theme, max(w-4, 1), true))
	}
	if note := p.notice(); note != "" {
		b.Say(theme.Time, "  "+note)
	}
	p.top = b.Height()
	if p.shown == nil || len(p.view.Diff().Files)+len(p.view.Diff().Notes) == 0 {
		p.nothing(b)
		return b.Fit(h)
	}
	if p.stale {
		p.remark()
	}
	below := p.claims(w)
	if h < 14 {
		below = nil
	}
	rest := h - b.Height()
	if below != nil {
		rest -= below.Height()
	}
	rest = max(rest, 0)
	p.view.Split(p.split == splitOn && w >= minSplit || p.split == splitByWidth && w >= splitWidth)
	column := w >= columnWidth && len(p.findings)+len(e.desk.review(p.id).Comments) > 0
	p.view.Brief(column)
	if column {
		rw := min(max(w/4, 40), 56)
		p.divide = w - rw - 1
		left := p.view.Render(p.divide, rest)
		b.Append(ui.Beside(left.Fit(rest), p.column(rw, rest)).Fit(rest))
	} else {
		b.Append(p.view.Render(w, rest))
	}
	p.evidence()
	return b.Append(below).Fit(h)
}

// evidence notes how much of the whole branch was on the screen.
func (p *diffPage) evidence() {
	if s := p.shown; s.span == (diffSpan{}) && !s.space && s.facts.To != "" {
		seen, total := p.view.Seen()
		p.e.desk.review(p.id).Evidence[s.facts.To] = evidence{seen, total}
	}
}

// head is the line that says what is compared.
func (p *diffPage) head(b *ui.Block, w int) {
	th := p.e.Theme
	span := p.span
	left := " " + th.S(theme.Strong, string(p.id)) + th.S(theme.Muted, " › ") + span.name()
	if p.shown == nil {
		b.Add(left)
		return
	}
	f := p.shown.facts
	if f.From != "" {
		left += th.S(theme.Muted, "  "+short(f.From)+".."+short(f.To))
	}
	files, added, removed := len(f.Files)+f.MoreFiles, 0, 0
	for i := range f.Files {
		added, removed = added+f.Files[i].Added, removed+f.Files[i].Removed
	}
	if len(f.Files) == 0 {
		files = len(p.view.Diff().Files)
		for i := range p.view.Diff().Files {
			added, removed = added+p.file(i).Added, removed+p.file(i).Removed
		}
	}
	var facts []string
	if f.Commits > 0 && w >= 100 {
		facts = append(facts, plural(f.Commits, "commit"))
	}
	facts = append(facts, plural(files, "file")+" "+th.S(theme.Added, "+"+strconv.Itoa(added))+" "+th.S(theme.Removed, "−"+strconv.Itoa(removed)))
	if n := p.countViewed(); files > 0 {
		facts = append(facts, "viewed "+strconv.Itoa(n)+"/"+strconv.Itoa(files))
	}
	if p.view.IsWrapped() {
		facts = append(facts, "wrapped")
	}
	if p.shown.space {
		facts = append(facts, th.S(theme.Time, "blanks ignored"))
	}
	if why := p.view.Diff().Plain(); why != "" {
		facts = append(facts, why)
	}
	b.Spread(left, strings.Join(facts, th.S(theme.Muted, " · "))+" ")
}

// notice is what a person should know before believing what is on the screen, "" for nothing.
func (p *diffPage) notice() string {
	t := p.task()
	switch {
	case p.shown == nil:
		return ""
	case p.state != "":
		return p.state
	case p.reading:
		return "reading " + p.span.name() + " …"
	case p.shown.span.to == "" && t != nil && t.Commit != "" && p.shown.facts.To != "" && t.Commit != p.shown.facts.To:
		return "the branch moved on to " + short(t.Commit) + ": ctrl+r reads it"
	case p.shown.facts.MoreFiles > 0:
		return plural(p.shown.facts.MoreFiles, "more file") + " are not listed"
	}
	return ""
}

// nothing says why there is no diff.
func (p *diffPage) nothing(b *ui.Block) {
	b.Blank(1)
	switch {
	case p.state != "":
		b.Para(2, p.e.Theme.S(theme.Muted, ui.Safe(p.state)))
	case p.shown == nil:
		b.Say(theme.Muted, "  reading the diff …")
	case p.shown.space:
		b.Say(theme.Muted, "  Nothing but blanks differs. i shows it.")
	case p.shown.span != (diffSpan{}):
		b.Say(theme.Muted, "  These two commits do not differ. r picks other rounds.")
	default:
		b.Say(theme.Muted, "  The branch does not differ from its base: nothing was committed yet.")
		b.Say(theme.Muted, "  ctrl+r reads it again, esc goes back.")
	}
}

// claims are what git says of the last report, nil when nothing was checked.
func (p *diffPage) claims(w int) *ui.Block {
	t := p.task()
	if t == nil {
		return nil
	}
	rounds := p.e.desk.past(t.ID).facts(t).rounds
	var check *amp.Check
	var seq uint64
	for i := range rounds {
		if rounds[i].check != nil {
			check, seq = rounds[i].check, rounds[i].checkSeq
		}
	}
	if check == nil {
		return nil
	}
	now := drawnClaims{p.claimed.block, seq, p.e.Theme.Epoch(), w, ""}
	if p.shown != nil {
		now.to = p.shown.facts.To
	}
	if now.block == nil || now != p.claimed {
		now.block = p.drawClaims(check, seq, w)
		p.claimed = now
	}
	return now.block
}

// drawnClaims are the claims as they were drawn last.
type drawnClaims struct {
	block      *ui.Block
	seq, epoch uint64
	w          int
	to         string
}

func (p *diffPage) drawClaims(check *amp.Check, seq uint64, w int) *ui.Block {
	th := p.e.Theme
	var parts []string
	for _, name := range []string{"commit", "files", "lines"} {
		for i := range check.Claims {
			if c := &check.Claims[i]; c.Name == name {
				parts = append(parts, p.claim(c, check))
			}
		}
	}
	for i := range check.Claims {
		if c := &check.Claims[i]; c.Finding == amp.Refuted && c.Name != "commit" && c.Name != "files" && c.Name != "lines" {
			parts = append(parts, p.claim(c, check))
		}
	}
	text := strings.Join(parts, "  ")
	if p.shown != nil && check.Commit != "" && p.shown.facts.To != "" && check.Commit != p.shown.facts.To {
		text += th.S(theme.Muted, "  of "+short(check.Commit))
	}
	return ui.NewBlock(th, w).Add("  " + th.S(theme.Muted, "claims "+seqName(seq)) + "  " + text)
}

func (p *diffPage) claim(c *amp.Claim, check *amp.Check) string {
	th := p.e.Theme
	sign, role := "?", theme.Time
	text := ui.Safe(c.Name)
	switch c.Finding {
	case amp.Confirmed:
		sign, role = th.Signs.Yes, theme.Good
		switch c.Name {
		case "commit":
			text = "commit " + short(check.Commit) + " is the tip"
		case "files":
			if len(check.Files) > 0 {
				text = plural(len(check.Files), "file")
			}
		case "lines":
			text = fmt.Sprintf("+%d −%d", check.Added, check.Removed)
		}
	case amp.Refuted:
		sign, role = th.Signs.No, theme.Danger
		text += ": said " + ui.Safe(c.Claimed) + ", found " + ui.Safe(c.Found)
	case amp.Inconclusive:
	}
	return th.S(role, sign+" "+text)
}

// besideDiff is the column beside the diff as it was drawn last; it falls when the findings or comments change.
type besideDiff struct {
	block        *ui.Block
	w, h, offset int
	at           string
	verdict      uint64
	epoch        uint64
}

// column lists the findings and the comments beside the diff.
func (p *diffPage) column(w, h int) *ui.Block {
	r := p.e.lastVerdict(p.task())
	now := besideDiff{p.beside.block, w, h, p.offset, p.view.Cursor().Remark, 0, p.e.Theme.Epoch()}
	if r != nil {
		now.verdict = r.Judgement.Seq
	}
	if now.block == nil || now != p.beside {
		now.block = p.drawColumn(r, now.at, w, h)
		now.offset = p.offset
		p.beside = now
	}
	return now.block
}

func (p *diffPage) drawColumn(r *round, at string, w, h int) *ui.Block {
	th := p.e.Theme
	b := ui.NewBlock(th, w)
	if r != nil && len(p.findings) > 0 {
		b.Rule("Findings "+strconv.Itoa(len(p.findings)), r.Judgement.Actor+" "+seqName(r.Judgement.Seq))
	}
	gutter := func(kind string, n int) string {
		if id, ok := strings.CutPrefix(at, kind); ok && id == strconv.Itoa(n) {
			return th.S(theme.Accent, th.Signs.Gutter)
		}
		return " "
	}
	for i := range p.findings {
		f := &p.findings[i]
		b.Spread(gutter("f", i)+th.S(f.role(), f.sign(p.e)+" "+ui.Safe(f.title())), th.S(theme.Muted, f.recurs())+" ")
		b.Add("  " + th.S(theme.Muted, ui.CutLeft(ui.Safe(f.path+":"+strconv.Itoa(f.Line)), w-3)))
		b.Quote(2, f.Description, 6)
		if f.SuggestedFix != "" {
			b.Quote(2, "fix: "+f.SuggestedFix, 4)
		}
	}
	if all := p.e.desk.review(p.id).Comments; len(all) > 0 {
		b.Rule("Your comments "+strconv.Itoa(len(all)), "for the next dispatch")
		for i := range all {
			c := &all[i]
			b.Add(gutter("c", c.ID) + th.S(theme.Accent, ui.CutLeft(ui.Safe(c.at()), w-3)))
			b.Quote(2, c.Text, 6)
		}
	}
	p.offset = max(min(p.offset, b.Height()-h), 0)
	return b.Slice(p.offset, p.offset+h).Fit(h)
}

// Typing reports whether the search has the keys.
func (p *diffPage) Typing() bool { return p.typing }

// hitsMsg is what a search found.
type hitsMsg struct {
	diff *diffview.Diff
	hits diffview.Hits
}

// Key edits the search.
func (p *diffPage) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		p.typing = false
		p.view.Hits(diffview.Hits{})
	case "enter":
		p.typing = false
		d, query := p.view.Diff(), p.find.Text()
		return p.e.To(p, func() tea.Msg { return hitsMsg{d, d.Find(query)} })
	default:
		p.find.Key(k)
	}
	return nil
}

func (p *diffPage) gotHits(m hitsMsg) {
	if m.diff != p.view.Diff() {
		return
	}
	p.view.Hits(m.hits)
	if m.hits.Query == "" {
		return
	}
	p.view.NextHit(true)
	p.e.Toast(theme.Text, plural(m.hits.Len(), "line")+" found")
}

// Hints are the keys of the search.
func (p *diffPage) Hints() []ui.KeyHint {
	return []ui.KeyHint{{Key: p.e.Theme.Signs.Enter, Text: "search"}, {Key: "esc", Text: "leave"}}
}
