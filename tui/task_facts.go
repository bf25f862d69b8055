package tui

import (
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// proofs are the newest messages and checks of a task that its facts come from.
type proofs struct {
	result    *amp.Result
	resultSeq uint64
	verdict   *amp.Verdict
	verdSeq   uint64
	check     *amp.Check
	checkSeq  uint64
	dispatch  *amp.Dispatch
}

func (p *taskPage) newest() proofs {
	var out proofs
	for i := range p.proven {
		seq := p.proof[i].Seq
		switch body := p.proven[i].body.(type) {
		case *amp.Message:
			switch m := body.Payload.(type) {
			case *amp.Dispatch:
				out.dispatch = m
			case *amp.Result:
				out.result, out.resultSeq = m, seq
			case *amp.Verdict:
				out.verdict, out.verdSeq = m, seq
			}
		case *amp.Check:
			if body.Subject == amp.CheckResult {
				out.check, out.checkSeq = body, seq
			}
		}
	}
	return out
}

// facts is everything known of the task besides its history, as high as it needs.
func (p *taskPage) facts(t *amp.Task, w int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w)
	p.holding(b, t)
	d := p.drawFacts(t, w)
	for i, id := range factSections {
		p.marks[id] = b.Height() + d.at[i]
	}
	b.Append(d.block)
	if t.Plan != nil {
		b.Field(9, "spent", p.e.spent(t))
	}
	outside(b, t)
	return b
}

// outside is what other systems say of the task besides its pull request: the checks that ran elsewhere, and how many remarks there are.
func outside(b *ui.Block, t *amp.Task) {
	if missing := t.Missing(); len(missing) > 0 {
		b.Field(9, "awaits", ui.Safe(strings.Join(missing, ", "))+" to pass elsewhere")
	}
	o := t.Outside
	if o == nil {
		return
	}
	for i := range o.CI {
		if x := &o.CI[i]; x.Commit == t.Commit {
			b.Field(9, "ci", ui.Safe(x.Text()))
		}
	}
	if o.Remarks > 0 {
		b.Field(9, "remarks", fmt.Sprintf("%d from outside, the last is entry %d", o.Remarks, o.LastRemark))
	}
}

// requested is the pull request of a task, where the head says it: its address is what is wanted.
func requested(b *ui.Block, t *amp.Task) {
	if o := t.Outside; o != nil && o.Pull != nil {
		b.Say(theme.Muted, " pull request "+ui.Safe(o.Pull.Text()))
	}
}

// drawnFacts are the facts that stay as they were drawn until an entry of the task comes.
type drawnFacts struct {
	block       *ui.Block
	seq, proven uint64
	epoch       uint64
	w, day      int // the times of another day have a date
	at          [len(factSections)]int
}

var factSections = [...]string{"task.criteria", "task.issues", "task.claims"}

func (p *taskPage) drawFacts(t *amp.Task, w int) *drawnFacts {
	e := p.e
	d := drawnFacts{p.drawn.block, t.LastSeq, 0, e.Theme.Epoch(), w, e.Now.In(e.Zone).YearDay(), p.drawn.at}
	if n := len(p.proof); n > 0 {
		d.proven = p.proof[n-1].Seq
	}
	if d.block == nil || d != p.drawn {
		b, n := ui.NewBlock(e.Theme, w), p.newest()
		d.at[0] = b.Height()
		p.criteria(b, t, n)
		d.at[1] = b.Height()
		p.issues(b, t, n)
		d.at[2] = b.Height()
		p.claims(b, n)
		p.contract(b, t)
		d.block = b
		p.drawn = d
	}
	return &p.drawn
}

// holding is what stands in the way.
func (p *taskPage) holding(b *ui.Block, t *amp.Task) {
	if t.Hold != nil && t.Status == amp.Held {
		b.Rule("Held "+seqName(t.Hold.Seq), "needs your decision")
		b.Para(2, ui.Safe(t.Hold.Why))
	}
	for _, s := range t.OpenEscalations() {
		b.Rule(seqName(s.Seq)+" "+string(s.Type), string(s.Severity)+" · "+p.e.Age(s.At))
		b.Quote(2, s.Description, 3)
	}
	for _, q := range t.Questions {
		b.Rule(seqName(q.Seq)+" question", string(q.Type)+" · "+p.e.Age(q.At))
		b.Quote(2, q.Request, 3)
	}
}

// criteria is the executor's word beside the reviewer's, in the order of the dispatch.
func (p *taskPage) criteria(b *ui.Block, t *amp.Task, n proofs) {
	e := p.e
	var list []string
	switch {
	case n.dispatch != nil:
		list = n.dispatch.AcceptanceCriteria
	case t.Plan != nil:
		list = t.Plan.AcceptanceCriteria
	}
	if len(list) == 0 {
		return
	}
	const cell = 14
	from := "executor --"
	if n.result != nil {
		from = "executor " + seqName(n.resultSeq)
	}
	by := "reviewer --"
	if n.verdict != nil {
		by = "reviewer " + seqName(n.verdSeq)
	}
	b.Rule("Acceptance criteria "+fmt.Sprint(len(list)), from+"  "+by)
	for i, c := range list {
		said, passed := "", ""
		if n.result != nil && i < len(n.result.SelfAssessment.CriteriaMet) {
			said = e.truth(n.result.SelfAssessment.CriteriaMet[i])
		}
		if n.verdict != nil {
			for k, r := range n.verdict.CriteriaResults {
				if r.Criterion == c || k == i && len(n.verdict.CriteriaResults) == len(list) {
					passed = e.truth(r.Passed)
					break
				}
			}
		}
		b.Spread(fmt.Sprintf("  %d %s", i+1, ui.Safe(c)), ui.Pad(said, cell)+ui.Pad(passed, cell-2))
	}
}

// truth is "✓ true", "✗ false" or "· null".
func (e *env) truth(v *bool) string {
	switch {
	case v == nil:
		return e.Theme.S(theme.Time, e.Theme.Signs.Open+" null")
	case *v:
		return e.Theme.S(theme.Good, e.Theme.Signs.Yes+" true")
	}
	return e.Theme.S(theme.Danger, e.Theme.Signs.No+" false")
}

// issues are the findings of the reviews, those of the last verdict first.
func (p *taskPage) issues(b *ui.Block, t *amp.Task, n proofs) {
	e := p.e
	if len(t.Findings) == 0 && (n.verdict == nil || len(n.verdict.DirectFixes) == 0 && n.verdict.ArchitectureNotes == "") {
		return
	}
	newest := 0
	for _, f := range t.Findings {
		newest = max(newest, slices.Max(append([]int{0}, f.Rounds...)))
	}
	findings := slices.Clone(t.Findings)
	slices.SortStableFunc(findings, func(x, y amp.ReviewFinding) int {
		return issueRank(x, newest) - issueRank(y, newest)
	})
	b.Rule("Issues "+fmt.Sprint(len(findings)), "stable ids over all rounds")
	for _, f := range findings {
		open := slices.Contains(f.Rounds, newest)
		state := "not named again"
		if open {
			state = fmt.Sprintf("round %d", newest)
			if k := len(f.Rounds); k > 1 {
				state = fmt.Sprintf("recurs ×%d, open since round %d", k, f.Rounds[0])
			}
		}
		role := theme.Text
		switch {
		case !open:
			role = theme.Muted
		case f.Severity != amp.IssueMinor:
			role = theme.Danger
		}
		b.Spread("  "+e.Theme.S(role, ui.Safe(f.ID+" "+string(f.Severity)))+"  "+ui.Safe(fmt.Sprintf("%s:%d", f.File, f.Line)),
			e.Theme.S(theme.Muted, state)+" ")
		if open {
			b.Quote(4, f.Description, 3)
			if f.Fix != "" {
				b.Quote(4, "fix: "+f.Fix, 2)
			}
		}
	}
	if n.verdict == nil {
		return
	}
	for _, f := range n.verdict.DirectFixes {
		b.Add(ui.Safe("  fixed by the reviewer  " + fixWords(&f)))
	}
	if n.verdict.ArchitectureNotes != "" {
		b.Add("  note").Quote(4, n.verdict.ArchitectureNotes, 4)
	}
}

// issueRank puts what is open and blocks first.
func issueRank(f amp.ReviewFinding, newest int) int {
	r := map[amp.IssueSeverity]int{amp.IssueCritical: 0, amp.IssueMajor: 1, amp.IssueMinor: 2}[f.Severity]
	if !slices.Contains(f.Rounds, newest) {
		r += 10
	}
	return r
}

// claims is what git and exit codes say of the executor's report.
func (p *taskPage) claims(b *ui.Block, n proofs) {
	e, c := p.e, n.check
	if c == nil {
		return
	}
	yes, no, unknown := c.Count()
	b.Rule("Claims "+seqName(n.checkSeq), fmt.Sprintf("✓%d ✗%d ?%d · git and exit codes, not the report", yes, no, unknown))
	var names []string
	for _, cl := range c.Claims {
		if cl.Finding == amp.Confirmed {
			names = append(names, ui.Safe(cl.Name))
		}
	}
	if len(names) > 0 {
		b.Field(14, e.Theme.Signs.Yes+" confirmed", e.Theme.S(theme.Good, strings.Join(names, " · ")))
	}
	for _, cl := range c.Claims {
		switch cl.Finding {
		case amp.Refuted:
			text := ui.Safe(cl.Name) + ": said " + ui.Safe(cl.Claimed) + ", found " + ui.Safe(cl.Found)
			b.Field(14, e.Theme.Signs.No+" refuted", e.Theme.S(theme.Danger, text))
		case amp.Inconclusive:
			text := ui.Safe(cl.Name)
			if cl.Evidence != "" {
				text += ": " + ui.Safe(cl.Evidence)
			}
			b.Field(14, "? inconclusive", text)
		case amp.Confirmed:
		}
	}
	for _, k := range sortedKeys(c.CI) {
		b.Field(14, "ci "+ui.Safe(k), ui.Safe(c.CI[k]))
	}
}

// contract is what the approval binds, and where the task stands.
func (p *taskPage) contract(b *ui.Block, t *amp.Task) {
	e := p.e
	pl := t.Plan
	if pl == nil {
		if t.Wish != nil {
			b.Rule("Wish", "no plan yet").Quote(2, t.Wish.Text, 4)
		}
		return
	}
	facts := "r" + fmt.Sprint(pl.Revision) + " " + short(pl.Hash)
	if t.First != nil && t.Approval == nil {
		facts = ui.Safe(t.SecondMissing())
	}
	if t.Approval != nil {
		facts = fmt.Sprintf("approved by %s at %s · r%d %s", ui.Safe(t.Approval.By), e.Clock(t.Approval.At), t.Approval.Revision, short(t.Approval.Hash))
	}
	b.Rule("Contract", facts)
	b.Fields(9,
		"repo", ui.Safe(pl.Repo),
		"branch", ui.Safe(pl.Branch)+e.Theme.S(theme.Muted, "  from "+ui.Safe(pl.BaseBranch)+"@"+short(pl.BaseCommit)))
	if t.Commit != "" {
		b.Field(9, "tip", short(t.Commit)+e.Theme.S(theme.Muted, fmt.Sprintf("  checkpoint %d · epoch %d", t.Checkpoint, t.Epoch)))
	}
	paths := "any file of the repository"
	if len(pl.AllowedPaths) > 0 {
		paths = ui.Safe(strings.Join(pl.AllowedPaths, "  "))
	}
	b.Field(9, "paths", paths)
	if len(pl.ForbiddenActions) > 0 {
		b.Field(9, "forbid", ui.Safe(strings.Join(pl.ForbiddenActions, " · ")))
	}
	for i, s := range pl.Subtasks {
		sign := e.Theme.Signs.Status("drafting")
		switch {
		case i < t.Subtask || t.Status == amp.StatusApproved || t.Status == amp.Delivered:
			sign = e.Theme.Signs.Yes
		case i == t.Subtask:
			sign = e.Theme.Signs.Status(string(t.Status))
		}
		label := ""
		if i == 0 {
			label = "subtasks"
		}
		b.Field(9, label, ui.Safe(shortSubtask(t, s.SubtaskID))+" "+sign+" "+ui.Safe(s.Description)+e.Theme.S(theme.Muted, fmt.Sprintf("  ~%d", s.EstimatedLines)))
	}
}
