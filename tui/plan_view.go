package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// fewChanges is how many changes stand on top before d shows all.
const fewChanges = 4

// Render draws the plan: two rows of facts, then the parts, those that an approval binds in full.
func (p *planPage) Render(w, h int) *ui.Block {
	e := p.e
	p.left = -1
	b := ui.NewBlock(e.Theme, w)
	t := p.task()
	if t == nil {
		return b.Say(theme.Muted, "  There is no task "+string(p.id)+" any more. esc goes back.").Fit(h)
	}
	b.Spread(p.title(t), e.statusText(t.Status, true)+" "+e.Age(t.Since)+" ")
	if t.Plan == nil {
		return p.empty(b, t).Fit(h)
	}
	e.desk.reading(p.id).look(e.Now)
	b.Spread(" "+ui.Safe(planFacts(t)), e.riskText(t.Plan.RiskLevel)+" ")
	p.bodyTop = b.Height()
	room := max(h-b.Height(), 0)
	lw, rw, two := p.e.Split(w, 0.42, 50, 60)
	if w < 120 || p.zoomed {
		two = false
	}
	if !two {
		part := p.view.show(p.body(t, w, false), room)
		if p.markSeen(t, w) { // the marks of this very frame
			part = p.view.show(p.body(t, w, false), room)
		}
		return b.Append(part).Fit(h)
	}
	p.left = lw
	left := p.view.show(p.body(t, lw, true), room)
	right := p.detail(t, rw).Fit(room)
	rows, whole := p.markSeen(t, lw), p.markDetail(room)
	if rows || whole {
		left = p.view.show(p.body(t, lw, true), room)
	}
	return b.Append(ui.Beside(left, right)).Fit(h)
}

// empty says why there is no plan yet.
func (p *planPage) empty(b *ui.Block, t *amp.Task) *ui.Block {
	b.Blank(1).Say(theme.Muted, "  There is no plan yet: the task is "+statusWord(t.Status)+".")
	if t.Wish != nil {
		b.Blank(1).Rule("Wish", "").Quote(2, t.Wish.Text, 8)
	}
	if t.Guidance != "" {
		b.Rule("Guidance for the next revision", "").Quote(2, t.Guidance, 6)
	}
	return b
}

// body is the column that the cursor walks through. With a detail pane beside it the contract stands there.
func (p *planPage) body(t *amp.Task, w int, beside bool) *column {
	c := p.e.newColumn(w)
	changes := p.changes()
	if !beside || p.allChanges {
		p.changed(c, t, changes)
	}
	if !beside {
		p.contract(c.Block, t)
	}
	p.subtasks(c, t, changes, w)
	p.criteria(c, t, changes)
	c.Append(p.foot(t, w))
	if !beside {
		p.says(c.Block, t)
	}
	if h := p.view.h; !beside && (h == 0 || c.Height() < h || p.e.sheet == nil) {
		p.decideRows(c, t)
	}
	return c
}

// changed is the delta to the revision before, on top: a re-approval asks about it and binds the whole.
func (p *planPage) changed(c *column, t *amp.Task, changes []planChange) {
	if t.Plan.Revision < 2 {
		return
	}
	b, now := c.Block, t.Plan.Revision
	from := p.before()
	if past := p.e.desk.past(p.id); from == nil {
		text := "the revision before is being read"
		switch {
		case past.err != nil:
			text = "the revision before could not be read: " + past.err.Error()
		case past.upTo > 0:
			text = "no revision before this one is in the journal"
		}
		b.Rule("Changed", "").Say(theme.Muted, "  "+text)
		return
	}
	b.Rule(fmt.Sprintf("Changed r%d→r%d", from.Revision, now), plural(len(changes), "change"))
	if len(changes) == 0 {
		b.Say(theme.Muted, "  nothing that an approval binds")
	}
	for i, ch := range changes {
		if !p.allChanges && i == fewChanges {
			b.Say(theme.Muted, fmt.Sprintf("  and %d more, d shows them", len(changes)-i))
			break
		}
		p.e.changeRow(b, ch, p.allChanges)
	}
}

// changeRow is one change; whole wraps it, else it is one row.
func (e *env) changeRow(b *ui.Block, ch planChange, whole bool) {
	role := theme.Text
	switch ch.Sign {
	case "+":
		role = theme.Added
	case "−":
		role = theme.Removed
	}
	head := "  " + ch.Sign + " " + ui.Pad(ch.What, 16) + " "
	text := ui.Safe(ch.Text)
	if !whole {
		b.Add(e.Theme.S(role, ui.Cut(head+text, b.Width())))
		return
	}
	for i, l := range ui.Wrap(text, max(b.Width()-21, 10)) {
		if i > 0 {
			head = strings.Repeat(" ", 21)
		}
		b.Add(e.Theme.S(role, head+l))
	}
}

// contract is what an approval binds besides the steps.
func (p *planPage) contract(b *ui.Block, t *amp.Task) {
	pl := t.Plan
	b.Rule("Contract", "content "+hashEnds(pl.Hash))
	base := pl.BaseBranch + "@" + short(pl.BaseCommit)
	b.Field(7, "branch", ui.Safe(pl.Branch)+p.e.Theme.S(theme.Muted, "  from ")+ui.Safe(base))
	if b.Width() >= 60 || p.left >= 0 {
		b.Field(7, "repo", ui.Safe(ui.CutLeft(ui.Safe(pl.Repo), max(b.Width()-12, 8))))
	}
	paths := strings.Join(pl.AllowedPaths, "  ")
	if paths == "" {
		paths = p.e.Theme.S(theme.Danger, "! every file may change: no paths are named")
		b.Field(7, "paths", paths)
	} else {
		b.Field(7, "paths", ui.Safe(paths))
	}
	if len(pl.ForbiddenActions) > 0 {
		b.Field(7, "forbid", ui.Safe(strings.Join(pl.ForbiddenActions, " · ")))
	}
	if tech := techs(pl.TechConstraints); len(tech) > 0 {
		b.Field(7, "tech", ui.Safe(strings.Join(tech, " · ")))
	}
	if len(pl.Checks) > 0 {
		b.Field(7, "checks", ui.Safe(strings.Join(argvs(pl.Checks), " · ")))
	}
	if pl.TwoAdmins() {
		b.Field(7, "admins", p.admins(t))
	}
}

// admins says which approvals a plan of two admins has and which one is missing, and the way out for who is alone.
func (p *planPage) admins(t *amp.Task) string {
	if t.First == nil {
		return ui.Safe("two must approve who are not " + t.Plan.Author)
	}
	text := p.e.Theme.S(theme.Time, ui.Safe(t.SecondMissing())) + ui.Safe(" ("+seqName(t.First.Seq)+" at "+p.e.Clock(t.First.At)+")")
	if t.AllowsBy(amp.Approve, p.e.Admin) != nil {
		text += ui.Safe(". Nobody else here? Set policy.second_admin to never, arbiter down, arbiter up, then R: the next revision needs one admin")
	}
	return text
}

// hashEnds is the head and the tail of a content hash: "9f3c71d0 … 5be2a91c".
func hashEnds(h string) string {
	if len(h) <= 16 {
		return h
	}
	return h[:8] + " … " + h[len(h)-8:]
}

// criteria are the acceptance criteria in full: they are what the result is judged by.
func (p *planPage) criteria(c *column, t *amp.Task, changes []planChange) {
	th := p.e.Theme
	c.Rule(fmt.Sprintf("Acceptance criteria %d", len(t.Plan.AcceptanceCriteria)), "")
	for i, text := range t.Plan.AcceptanceCriteria {
		id := "c" + strconv.Itoa(i)
		tag := ""
		if slices.ContainsFunc(changes, func(ch planChange) bool { return ch.Criterion == i }) {
			tag = th.S(theme.Added, "+ new") + " "
		}
		c.item(id, func() {
			head := ui.Gutter(th, p.view.id == id) + ui.Pad(strconv.Itoa(i+1), 2)
			for j, l := range ui.Wrap(ui.Safe(text), max(c.Width()-12, 8)) {
				if j > 0 {
					head, tag = "    ", ""
				}
				c.Spread(head+l, tag)
			}
		})
	}
}

// planFoot is why the plan has its risk and its revisions, which stay as they were drawn while the task and what is known of it do.
type planFoot struct {
	block      *ui.Block
	hash       string
	seq, epoch uint64
	w, known   int
	day        int // the times of another day have a date
}

func (p *planPage) foot(t *amp.Task, w int) *ui.Block {
	e := p.e
	now := planFoot{
		p.lastFoot.block, t.Plan.Hash, t.LastSeq, e.Theme.Epoch(), w, len(e.desk.past(p.id).facts(t).plans), e.Now.In(e.Zone).YearDay(),
	}
	if now.block == nil || now != p.lastFoot {
		now.block = ui.NewBlock(e.Theme, w)
		p.whyRisk(now.block, t)
		p.revisions(now.block)
		p.lastFoot = now
	}
	return now.block
}

// revisions are the revisions before, with why they were sent back.
func (p *planPage) revisions(b *ui.Block) {
	plans := p.e.desk.past(p.id).facts(p.task()).plans
	if len(plans) < 2 {
		return
	}
	b.Rule("Revisions", "")
	for _, r := range plans {
		text := fmt.Sprintf("r%d %s by %s", r.plan.Revision, p.e.Clock(r.entry.At), ui.Safe(r.plan.Author))
		if r.reject != nil {
			text += " · rejected by " + ui.Safe(r.reject.By) + ": " + ui.Quote(p.e.Theme, r.reject.Note)
		}
		b.Para(2, text)
	}
}

// says is the planner's own reasoning, quoted.
func (p *planPage) says(b *ui.Block, t *amp.Task) {
	if t.Plan.Description != "" {
		b.Rule("Description", "").Quote(2, t.Plan.Description, 12)
	}
	if t.Plan.Reasons != "" {
		b.Rule(ui.Safe(t.Plan.Author)+" says", "").Quote(2, t.Plan.Reasons, 12)
	}
}

// decideRows say what can be decided now, and what is off and why.
func (p *planPage) decideRows(c *column, t *amp.Task) {
	th := p.e.Theme
	facts := ""
	if why := p.approveOff(); why != "" {
		facts = "A is off: " + why
	}
	c.Rule("Decide", facts)
	p.ifIdle(c.Block, t)
	key := func(k, text string, off bool) string {
		if off {
			return th.S(theme.Disabled, k+" "+text)
		}
		return th.S(theme.Key, k) + " " + text
	}
	c.Add("  " + key("A", "approve…", facts != "") + "   " + key("R", "reject with reason…", p.off(amp.Reject) != "") + "   " +
		key("E", "edit in $EDITOR", p.off(amp.Revise) != ""))
}

// ifIdle says what happens to the plan when nobody decides.
func (p *planPage) ifIdle(b *ui.Block, t *amp.Task) {
	if t.Status == amp.AwaitingApproval {
		b.Field(7, "if idle", ui.Safe(p.e.idle(&need{Need: amp.Need{Kind: amp.NeedPlan}}, t)))
	}
}

// detail is the right pane: the part under the cursor in full, the delta, the contract.
func (p *planPage) detail(t *amp.Task, w int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w)
	changes := p.changes()
	switch s, i, ok := p.subtask(); {
	case ok:
		b.Rule(subtaskName(s, i), fmt.Sprintf("~%d lines", s.EstimatedLines)).Quote(2, s.Description, 0)
	default:
		if text, i, ok := p.criterion(); ok {
			b.Rule(fmt.Sprintf("Criterion %d", i+1), "").Quote(2, text, 0)
		}
	}
	p.detailRows = b.Height()
	if !p.allChanges {
		c := &column{Block: b}
		p.changed(c, t, changes)
	}
	p.contract(b, t)
	p.ifIdle(b, t)
	p.says(b, t)
	return b
}
