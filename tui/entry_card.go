package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// entryFactsLine is the end of the rule above an entry: its size and its hash.
func (e *env) entryFactsLine(f *entryFacts) string {
	return fmt.Sprintf("%s · hash %s %s", size(len(f.entry.Body)), f.entry.Hash.String()[:8], e.seal(f))
}

// seal says whether an entry stands in the chain of hashes.
func (e *env) seal(f *entryFacts) string {
	if f.whole && f.chained {
		return e.Theme.S(theme.Good, e.Theme.Signs.Yes)
	}
	return e.Theme.S(theme.Danger, e.Theme.Signs.No+" broken")
}

// size is a number of bytes in words: "2,104 B".
func size(n int) string { return grouped(uint64(n)) + " B" }

// grouped is a number with commas between its thousands.
func grouped(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// drawEntry appends what an entry says: one line of facts, the words in it, what it refers to.
func (e *env) drawEntry(b *ui.Block, f *entryFacts) {
	l := &f.line
	head := e.styledSign(*l) + " " + ui.Safe(l.What)
	if who := l.who(); who != "" {
		head += " · " + ui.Safe(who)
	}
	if f.ack != nil {
		role := theme.Muted
		if f.ack.Status == amp.AckRefused || f.ack.Late {
			role = theme.Danger
		}
		head += e.Theme.S(role, fmt.Sprintf(" · ACK %s +%s", f.ack.Status, ui.Clock(f.ackAfter)))
	}
	b.Add("  " + head)
	if e.drawBody(b, l); len(f.refs) > 0 {
		b.Field(5, "refs", refWords(f.refs))
	}
}

// refWords names the entries that an entry refers to.
func refWords(refs []entryRef) string {
	parts := make([]string, 0, len(refs))
	for _, r := range refs {
		if r.seq > 0 {
			parts = append(parts, seqName(r.seq)+" "+ui.Safe(r.what))
			continue
		}
		parts = append(parts, ui.Safe(r.what))
	}
	return strings.Join(parts, " · ")
}

// drawBody appends the words of a body.
func (e *env) drawBody(b *ui.Block, l *line) {
	const indent = 2
	say := func(text string) { b.Para(indent, text) }
	bar := func(text string) {
		b.Add(strings.Repeat(" ", indent) + e.Theme.S(theme.Line, e.Theme.Signs.Bar) + " " + text)
	}
	switch body := l.body.(type) {
	case *amp.Message:
		e.drawPayload(b, l, body)
	case *amp.Ack:
		say(e.lineText(*l))
		for i, c := range body.EchoedAcceptanceCriteria {
			bar(fmt.Sprintf("%d %s", i+1, ui.Safe(c)))
		}
	case *amp.Command:
		say(e.lineText(*l))
		if w := body.Args.Wish; w != nil {
			b.Quote(indent, w.Text, 0)
		}
		if body.Note != "" {
			b.Quote(indent, body.Note, 0)
		}
	case *amp.Plan:
		say(e.lineText(*l))
		b.Quote(indent, body.Description, 0)
		for i, s := range body.Subtasks {
			bar(fmt.Sprintf("S%d %s", i+1, ui.Safe(s.Description)))
		}
		for i, c := range body.AcceptanceCriteria {
			bar(fmt.Sprintf("%d %s", i+1, ui.Safe(c)))
		}
		if body.Reasons != "" {
			b.Quote(indent, body.Reasons, 0)
		}
	case *amp.Chain:
		say(e.lineText(*l))
		b.Quote(indent, body.Received, 0)
	case *amp.Turn:
		say(e.lineText(*l))
		if body.Event == amp.TurnEnded && body.Text != "" {
			b.Quote(indent, body.Text, 0)
		}
	case *amp.Question:
		b.Quote(indent, body.Request, 0)
		for i, o := range body.Options {
			bar(fmt.Sprintf("%d %s", i+1, ui.Safe(o)))
		}
	case *amp.Check:
		say(e.lineText(*l))
		e.drawLedger(b, body)
	case *amp.Refusal:
		for _, p := range body.Problems {
			say(e.Theme.S(theme.Danger, ui.Safe(p.String())))
		}
		b.Quote(indent, string(body.Raw), 40)
	default:
		say(e.lineText(*l))
	}
}

// drawPayload appends the words of a message.
func (e *env) drawPayload(b *ui.Block, l *line, m *amp.Message) {
	const indent = 2
	bar := func(text string) {
		b.Add(strings.Repeat(" ", indent) + e.Theme.S(theme.Line, e.Theme.Signs.Bar) + " " + text)
	}
	b.Para(indent, e.Theme.S(l.Role, e.lineText(*l)))
	switch p := m.Payload.(type) {
	case *amp.Verdict:
		for _, i := range p.Issues {
			role := theme.Danger
			if i.Severity == amp.IssueMinor {
				role = theme.Muted
			}
			bar(e.Theme.S(role, ui.Safe(string(i.Severity))) + "  " + ui.Safe(fmt.Sprintf("%s:%d", i.File, i.Line)))
			b.Quote(indent, i.Description, 0)
			if i.SuggestedFix != "" {
				b.Quote(indent, "fix: "+i.SuggestedFix, 0)
			}
		}
		for _, f := range p.DirectFixes {
			bar(ui.Safe(fmt.Sprintf("fixed %s  %s, %d lines", f.ChangeType, f.File, f.DiffLines)))
		}
		for _, c := range p.CriteriaResults {
			bar(e.truth(c.Passed) + "  " + ui.Safe(c.Criterion) + e.Theme.S(theme.Muted, "  "+ui.Safe(c.Evidence)))
		}
		if p.ArchitectureNotes != "" {
			b.Quote(indent, p.ArchitectureNotes, 0)
		}
	case *amp.Dispatch:
		b.Quote(indent, p.Description, 0)
		for _, s := range p.Subtasks {
			bar(ui.Safe(s.SubtaskID+" "+s.Description) + e.Theme.S(theme.Muted, fmt.Sprintf("  ~%d", s.EstimatedLines)))
		}
		for i, c := range p.AcceptanceCriteria {
			bar(fmt.Sprintf("%d %s", i+1, ui.Safe(c)))
		}
	case *amp.Result:
		for _, x := range p.Blockers {
			b.Quote(indent, x, 0)
		}
		for i, met := range p.SelfAssessment.CriteriaMet {
			note := ""
			if i < len(p.SelfAssessment.Notes) {
				note = p.SelfAssessment.Notes[i]
			}
			bar(fmt.Sprintf("%d ", i+1) + e.truth(met) + "  " + ui.Safe(note))
		}
		for _, f := range p.DiffSummary.FilesChanged {
			bar(ui.Safe(f))
		}
		for _, w := range p.WorkLog {
			bar(ui.Safe(w.Action + " " + w.File + " " + w.Detail))
		}
	case *amp.Request:
		if p.CoordinatorNotes != "" {
			b.Quote(indent, p.CoordinatorNotes, 0)
		}
		for _, k := range sortedKeys(p.CIStatus) {
			bar("ci " + ui.Safe(fmt.Sprint(k, " ", p.CIStatus[k])))
		}
	case *amp.Escalation:
		b.Quote(indent, p.Description, 0)
		for i, s := range p.SuggestedActions {
			bar(fmt.Sprintf("%d %s", i+1, ui.Safe(s)))
		}
		s := p.SystemStateSnapshot
		bar(ui.Safe(fmt.Sprintf("task_status %s · reject_count %d", s.TaskStatus, s.RejectCount)))
	}
}

// drawLedger appends the claims of a check, the refuted ones first.
func (e *env) drawLedger(b *ui.Block, c *amp.Check) {
	for _, want := range []amp.Finding{amp.Refuted, amp.Inconclusive, amp.Confirmed} {
		for _, cl := range c.Claims {
			if cl.Finding != want {
				continue
			}
			sign := e.Theme.S(theme.Good, e.Theme.Signs.Yes)
			text := ui.Safe(cl.Name)
			if cl.Found != "" {
				text += e.Theme.S(theme.Muted, "  "+ui.Safe(cl.Found))
			}
			switch want {
			case amp.Refuted:
				sign = e.Theme.S(theme.Danger, e.Theme.Signs.No)
				text = ui.Safe(cl.Name) + ": said " + ui.Safe(cl.Claimed) + ", found " + ui.Safe(cl.Found)
			case amp.Inconclusive:
				sign, text = e.Theme.S(theme.Time, "?"), ui.Safe(cl.Name+" "+cl.Evidence)
			case amp.Confirmed:
			}
			b.Add("  " + e.Theme.S(theme.Line, e.Theme.Signs.Bar) + " " + sign + " " + text)
		}
	}
	if c.Output != "" {
		b.Quote(2, c.Output, 40)
	}
}
