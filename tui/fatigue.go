package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// The bounds beyond which deciding has become a habit, not a judgement.
const (
	paceWindow  = 10 * time.Minute
	paceMany    = 15              // decisions in the window
	paceFast    = 2 * time.Second // a decision below it was not read
	paceHalf    = 0.5             // coverage below it counts as unread
	paceRejects = 10              // so many decisions about plans without one reject
	paceKind    = 3               // so many of one low-risk kind could be a policy's
	paceEntries = 100             // the newest commands of the journal that are looked at
)

// paced is one decision of this admin, as its command says it was made.
type paced struct {
	seq     uint64
	at      time.Time
	command amp.CommandName
	// took is how long the bar stood open, 0 when the command does not say.
	took   time.Duration
	unread bool
	// low names the kind of a decision of low risk, "" for any other.
	low string
}

// pace is what this admin decided lately, oldest first.
type pace struct{ made []paced }

// paceMsg is the answer to [env.readPace].
type paceMsg struct {
	entries []amp.Entry
	err     error
}

// readPace asks for the newest commands of the journal, from which the pace of this admin is computed.
func (e *env) readPace() tea.Cmd {
	s, ctx := e.Session, e.ctx
	return func() tea.Msg {
		page, err := s.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{
			Kinds: []amp.Kind{amp.KindCommand}, Newest: true, Limit: paceEntries,
		}})
		return paceMsg{page.Entries, err}
	}
}

// took adds what was read of the journal; without an answer the pace begins now.
func (p *pace) took(e *env, m paceMsg) {
	if m.err == nil {
		p.follow(e, m.entries)
	}
}

// follow adds the decisions of this admin among entries, each once, and forgets what is older than the window.
func (p *pace) follow(e *env, entries []amp.Entry) {
	for i := range entries {
		en := &entries[i]
		if en.Kind != amp.KindCommand || en.Actor != e.Admin || e.Now.Sub(en.At) > paceWindow {
			continue
		}
		c, err := amp.DecodeBody[amp.Command](en)
		if err != nil || !judgement(c.Command) {
			continue
		}
		at, known := slices.BinarySearchFunc(p.made, en.Seq, func(d paced, seq uint64) int { return cmp.Compare(d.seq, seq) })
		if !known {
			p.made = slices.Insert(p.made, at, e.paced(en, &c))
		}
	}
	p.made = slices.DeleteFunc(p.made, func(d paced) bool { return e.Now.Sub(d.at) > paceWindow })
}

// judgement reports whether a command decides on what somebody else proposes.
func judgement(c amp.CommandName) bool {
	switch c {
	case amp.Submit, amp.Revise, amp.Withdraw, amp.NoteCommand, amp.StopAll, amp.Thaw:
		return false
	}
	return true
}

func (e *env) paced(en *amp.Entry, c *amp.Command) paced {
	d := paced{seq: en.Seq, at: en.At, command: c.Command, took: time.Duration(c.Args.TookMS) * time.Millisecond}
	if n := c.Args.Parts; n > 0 {
		d.unread = float64(n-c.Args.Unread) < paceHalf*float64(n)
	}
	switch t := e.Board.Task(c.TaskID); {
	case c.Command == amp.Approve && t != nil && t.Plan != nil && t.Plan.RiskLevel == amp.Low:
		d.low = "approve a low plan"
	case c.Command == amp.Answer && allows(c.Args.Option):
		d.low = "allow once"
	case c.Command == amp.RaiseLimit:
		d.low = "raise a limit"
	}
	return d
}

// fatigue is how this admin decided in the last ten minutes.
type fatigue struct {
	n, approvals, rejects, unread, fast int
	span, median                        time.Duration
	// kinds are the low-risk kinds that were decided often, as "approve a low plan ×9".
	kinds []string
}

// fatigue sums the window up as of now, and asks for a frame when the oldest decision leaves it.
func (e *env) fatigue() fatigue {
	var f fatigue
	var took []time.Duration
	kinds := map[string]int{}
	var first time.Time
	for _, d := range e.desk.pace.made {
		if e.Now.Sub(d.at) >= paceWindow {
			continue
		}
		if first.IsZero() {
			first = d.at
			e.WakeAt(d.at.Add(paceWindow))
		}
		f.n++
		switch d.command {
		case amp.Approve, amp.Accept:
			f.approvals++
		case amp.Reject, amp.Redispatch:
			f.rejects++
		}
		if d.unread {
			f.unread++
		}
		if d.took > 0 {
			took = append(took, d.took)
			if d.took < paceFast {
				f.fast++
			}
		}
		if d.low != "" {
			kinds[d.low]++
		}
	}
	if f.n == 0 {
		return f
	}
	f.span = e.Now.Sub(first)
	if len(took) > 0 {
		slices.Sort(took)
		f.median = took[len(took)/2]
	}
	for _, k := range sortedKeys(kinds) {
		if kinds[k] >= paceKind {
			f.kinds = append(f.kinds, fmt.Sprintf("%s ×%d", k, kinds[k]))
		}
	}
	return f
}

// tired says what is wrong with the pace, "" when nothing is.
func (f *fatigue) tired() string {
	var why []string
	if f.unread > 0 {
		why = append(why, fmt.Sprintf("%d unread", f.unread))
	}
	if f.fast > 0 {
		why = append(why, fmt.Sprintf("%d under 2 s", f.fast))
	}
	if f.approvals >= paceRejects && f.rejects == 0 {
		why = append(why, "no reject")
	}
	if len(why) == 0 && f.n <= paceMany {
		return ""
	}
	what := plural(f.approvals, "approval")
	if f.approvals < f.n {
		what = plural(f.n, "decision")
	}
	return strings.Join(append([]string{what + " in " + minutes(f.span)}, why...), ", ")
}

// minutes is a span of less than an hour, in minutes from one minute on.
func minutes(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int((d + 30*time.Second).Minutes()))
}

// fatigueRow is the pace in one row, amber when something is wrong with it; "" when nothing was decided lately.
func (e *env) fatigueRow() string {
	f := e.fatigue()
	switch why := f.tired(); {
	case why != "":
		return e.Theme.S(theme.Time, "! "+why)
	case f.n == 0:
		return ""
	case f.median == 0:
		return fmt.Sprintf("%d · unread 0", f.n)
	}
	return fmt.Sprintf("%d · median %s · unread 0", f.n, span(int(f.median/time.Second)))
}

// drawFatigue is the panel of the pace: nothing when nothing was decided in the last ten minutes.
func (e *env) drawFatigue(b *ui.Block) {
	row := e.fatigueRow()
	if row == "" {
		return
	}
	b.Rule("Your decisions", "10 min").Para(2, row)
	f := e.fatigue()
	if f.tired() == "" {
		return
	}
	if f.median > 0 {
		b.Say(theme.Muted, "  median "+span(int(f.median/time.Second))+" each, rejects "+fmt.Sprint(f.rejects))
	}
	if len(f.kinds) > 0 {
		b.Para(2, e.Theme.S(theme.Muted, "a policy could take over: "+strings.Join(f.kinds, ", ")))
	}
}
