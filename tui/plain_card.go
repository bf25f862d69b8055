package tui

import (
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
)

// cardRoom is one item of the Inbox: what happened, what holds, what happens if nobody decides, and the ways out.
type cardRoom struct {
	id  amp.TaskID
	seq uint64
}

func (r *cardRoom) at() Place { return Place{Kind: KindEscalation, ID: string(r.id), Seq: r.seq} }

func (r *cardRoom) tell(p *plain) {
	t := p.task(r.id)
	n, ok := p.e.findNeed(t, r.seq)
	if !ok {
		p.say("%s", p.e.resolution(r.id, r.seq))
		return
	}
	p.say("%s", p.needWords(&n))
	p.say("The task: %s", p.taskWords(t))
	switch n.Kind {
	case amp.NeedEscalation:
		p.tellEscalation(&n, t)
	case amp.NeedHeld:
		p.tellHold(t)
	case amp.NeedQuestion:
		p.tellQuestion(&n, t)
	case amp.NeedFailed:
		p.tellFailed(&n, t)
	case amp.NeedDelivery:
		p.tellDelivery(t)
	case amp.NeedPlan, amp.NeedStopped:
	}
	p.say("If nobody decides: %s.", p.e.idle(&n, t))
	p.tellWaiting()
}

func (p *plain) tellEscalation(n *need, t *amp.Task) {
	s := escalationOf(n, t)
	if s == nil {
		return
	}
	from := "From " + string(s.From)
	if s.TriggeredBy != s.From {
		from += ", triggered by " + string(s.TriggeredBy)
	}
	p.say("%s. Executor %s, reviewer %s.", from, p.e.agentOf(t, amp.Executor), p.e.agentOf(t, amp.Reviewer))
	if n.Quoted {
		p.quote("It says:", s.Description, 0)
	}
	f := p.e.desk.past(t.ID).facts(t)
	switch s.Type {
	case amp.HallucinationLock:
		p.tellRounds(t, f)
	case amp.CIFailure:
		p.tellCI(t, f)
	case amp.Conflict:
		p.tellCriteria(t, f.lastRound())
	case amp.AckTimeoutEsc, amp.HeartbeatTimeout, amp.BranchViolation, amp.PermissionDenied, amp.UnknownEscalation:
		p.tellLast(t, s.Seq)
	}
	p.tellPastError(t)
	switch {
	case !s.Suspended:
		p.say("Nothing was stopped: the severity %s lets the task go on.", s.Severity)
	case t.Proof != 0:
		p.say("It is stopped, and that is proven by entry %s: processes gone, epoch %d fenced, timers frozen.", seqName(t.Proof), t.Epoch-1)
	default:
		p.say("It is not proven yet that every process is gone.")
	}
	if snap, ok := f.snapshots[s.MsgID]; ok {
		p.say("When it was raised: status %s, rejected %s.", statusWords(snap.TaskStatus), counted(snap.RejectCount, "time"))
	}
	if t.Late > 0 {
		p.say("%s of older epochs came since: kept, not acted on.", capital(counted(t.Late, "report")))
	}
}

func (p *plain) tellPastError(t *amp.Task) {
	past := p.e.desk.past(t.ID)
	switch {
	case past.err != nil:
		p.say("The entries could not be read: %s", sentence(past.err.Error()))
	case past.upTo == 0:
		p.say("The entries of the task are not read yet; again says this once more.")
	}
}

// tellRounds are the rejects by round, each with its findings by their stable ids.
func (p *plain) tellRounds(t *amp.Task, f *pastFacts) {
	for i := range f.rounds {
		if r := &f.rounds[i]; r.verdict != nil {
			p.say("Round %d at %s: %s with confidence %.2f, %s, entry %s.", r.N, p.e.Clock(r.Judgement.At), spoken(string(r.verdict.Decision)),
				r.verdict.Confidence, findingsOf(t, r.N), seqName(r.Judgement.Seq))
		}
	}
	for _, fd := range t.Findings {
		if len(fd.Rounds) > 1 {
			p.quote(fmt.Sprintf("Finding %s, %s, in %d rounds, %s line %d:", fd.ID, fd.Severity, len(fd.Rounds), quoted(fd.File), fd.Line), fd.Description, 0)
		}
	}
}

// tellCI are the failing gates with the end of their output.
func (p *plain) tellCI(t *amp.Task, f *pastFacts) {
	ci := t.CI
	if len(ci) == 0 && f.ci != nil {
		ci = f.ci.CI
	}
	for _, k := range sortedKeys(ci) {
		p.say("Check %s: %s.", quoted(k), ci[k])
	}
	if f.ci != nil {
		p.quote("The output ends:", lastOf(f.ci.Output, lastLines), 0)
	}
}

// lastOf are the last lines of a text.
func lastOf(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// tellLast are the last entries up to the one that a card is about, and what came after it.
func (p *plain) tellLast(t *amp.Task, seq uint64) {
	entries := slices.DeleteFunc(slices.Clone(p.e.desk.past(t.ID).entries), func(en amp.Entry) bool { return progress(describe(&en)) })
	after := slices.IndexFunc(entries, func(en amp.Entry) bool { return en.Seq > seq })
	if after < 0 {
		after = len(entries)
	}
	from := max(after-lastLines+2, 0)
	for _, en := range entries[from:min(from+lastLines, len(entries))] {
		p.say("%s", p.entryWords(&en))
	}
}

// tellHold is what is held and why: the verdict or the result, criterion by criterion, with the claims against git.
func (p *plain) tellHold(t *amp.Task) {
	h := t.Hold
	if h == nil {
		return
	}
	if h.Kind == amp.HoldVerdict {
		p.say("The verdict is %s with confidence %.2f.", spoken(string(t.Decision)), t.Confidence)
	}
	if t.Guidance != "" {
		p.quote("Guidance so far:", t.Guidance, 0)
	}
	p.tellClaims(t)
	if t.Fix != "" {
		p.say("The reviewer's own fixes are commit %s, on the branch once the verdict stands.", short(t.Fix))
	}
	if h.Kind == amp.HoldRefused || h.Kind == amp.HoldRolled {
		p.tellLast(t, h.Seq)
		return
	}
	r := p.e.desk.past(t.ID).facts(t).lastRound()
	if r == nil {
		p.tellPastError(t)
		return
	}
	if r.result != nil && h.Kind == amp.HoldResult {
		for _, b := range r.result.Blockers {
			p.quote("Blocker:", b, 0)
		}
	}
	if r.verdict != nil && t.Fix != "" {
		for _, f := range r.verdict.DirectFixes {
			p.say("Fixed: %s in %s, %s.", spoken(string(f.ChangeType)), quoted(f.File), counted(f.DiffLines, "line"))
		}
	}
	p.tellCriteria(t, r)
	p.tellIssues(r)
}

// tellClaims are what git and exit codes say of the report.
func (p *plain) tellClaims(t *amp.Task) {
	k := t.Checked
	if k == nil {
		return
	}
	p.say("Claims against git: %d confirmed, %d refuted, %d unclear, entry %s.", k.Confirmed, k.Refuted, k.Inconclusive, seqName(k.Seq))
	for _, r := range k.Refutations {
		p.say("Refuted: %s", sentence(quoted(r)))
	}
}

// tellCriteria sets the executor's word beside the reviewer's, criterion by criterion in the order of the dispatch.
func (p *plain) tellCriteria(t *amp.Task, r *round) {
	if t.Plan == nil || r == nil {
		return
	}
	for i, text := range t.Plan.AcceptanceCriteria {
		out := fmt.Sprintf("Criterion %d, %s", i+1, quoted(text))
		if r.result != nil {
			out += ": the executor " + truthWords(at(r.result.SelfAssessment.CriteriaMet, i))
		}
		if r.verdict == nil {
			p.say("%s.", out)
			continue
		}
		var said *bool
		evidence := ""
		if i < len(r.verdict.CriteriaResults) {
			said, evidence = r.verdict.CriteriaResults[i].Passed, r.verdict.CriteriaResults[i].Evidence
		}
		p.say("%s; the reviewer %s.", out, truthWords(said))
		if (said == nil || !*said) && evidence != "" {
			p.quote("The reviewer's evidence:", evidence, 0)
		}
	}
}

// tellIssues are the findings of a verdict.
func (p *plain) tellIssues(r *round) {
	if r.verdict == nil {
		return
	}
	for i, is := range r.verdict.Issues {
		p.quote(fmt.Sprintf("Issue %d of %d, %s, %s line %d:", i+1, len(r.verdict.Issues), is.Severity, quoted(is.File), is.Line), is.Description, 0)
		if is.SuggestedFix != "" {
			p.quote("Suggested fix:", is.SuggestedFix, 0)
		}
	}
}

// tellQuestion is the request, quoted, and who waits.
func (p *plain) tellQuestion(n *need, t *amp.Task) {
	q := questionOf(n, t)
	if q == nil {
		return
	}
	who := q.Agent
	if who == "" {
		who = "the coordinator"
	}
	if q.Permission != nil {
		p.tellPermission(who, q, t)
	} else {
		p.quote(capital(who)+" asks:", q.Request, 0)
		if q.Why != "" {
			p.say("The way out: %s.", q.Why)
		}
	}
	if t.Turn != nil && t.Turn.Dir != "" {
		p.say("Its turn runs in the folder %s.", quoted(t.Turn.Dir))
	}
	if q.Expires != nil {
		p.say("The question ends %s; silence is never a yes.", p.until(*q.Expires))
	}
	spent := counted(t.Spent.Turns, "turn") + " and " + span(t.Spent.WallSec) + " of work so far"
	if b := budgetOf(t.Limits); b != "" {
		spent += ", bound to " + b
	}
	p.say("Spent: %s.", spent)
}

// tellFailed is a decision whose time came when the task had moved on.
func (p *plain) tellFailed(n *need, t *amp.Task) {
	i := slices.IndexFunc(t.Failed, func(f amp.NotCarriedOut) bool { return f.Seq == n.Seq })
	if i < 0 {
		return
	}
	f := &t.Failed[i]
	p.say("Decided: %s by %s, entry %s.", strings.ReplaceAll(string(f.Command), "_", " "), f.By, seqName(f.Seq))
	if cmd, ok := p.e.desk.past(t.ID).facts(t).commands[f.CommandID]; ok && cmd.Note != "" {
		p.quote("With the words:", cmd.Note, 0)
	}
	p.say("Now the task is %s, revision %d.", statusWords(t.Status), t.Revision)
}

func (r *cardRoom) choices(p *plain) []way {
	back := way{text: "Back.", do: func() error { p.back(); return nil }}
	task := way{text: "Everything about the task.", do: func() error { p.enter(&taskRoom{id: r.id, seq: r.seq}); return nil }}
	t := p.task(r.id)
	n, ok := p.e.findNeed(t, r.seq)
	if !ok {
		return []way{task, back}
	}
	var out []way
	for _, o := range p.e.options(&n, t) {
		text := spoken(o.Text)
		if o.agent || n.Kind == amp.NeedQuestion && o.run == nil && o.prop.Command == amp.Answer {
			text = quoted(o.Text)
		}
		if note := spoken(o.note); note != "" {
			text += ": " + note
		}
		out = append(out, way{text: sentence(text), off: o.off, do: func() error {
			now := p.task(r.id)
			if now == nil {
				return nil
			}
			p.launch(p.e.stageOption(now, o))
			return nil
		}})
	}
	for _, id := range []string{cardOwn, "decide.seen", "decide.note", cardAway} {
		out = append(out, p.action(id))
	}
	return append(out, task, way{text: "The diff of its branch.", do: func() error { p.enter(&diffRoom{id: r.id}); return nil }}, back)
}

// action is a choice of the table of actions.
func (p *plain) action(id string) way {
	a, ok := p.e.Reg.Lookup(id)
	if !ok {
		return way{text: id, off: "this version does not have it"}
	}
	return way{text: sentence(capital(actionWords(a.Title))), off: p.e.Reg.Why(id), do: func() error { return p.act(id) }}
}
