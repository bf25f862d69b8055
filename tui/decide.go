package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
)

// decision is an open decision bar over a proposal. It is bound to the state of the task that it was opened on: when
// that moves, the bar says what changed and never sends. It is a [sheet].
type decision struct {
	e     *env
	prop  proposal
	bound amp.Expects
	bar   *bar.Bar
	// list is the checklist of a resume or unlock, nil when there is none.
	list *checklist
	// sends is what a pull request would send, nil when the decision is about none.
	sends *outgoing
	// read says what of a plan was read when the bar opened, unread how many subtasks were not.
	read   string
	unread []string
	// other says what somebody else decided meanwhile, refused what the coordinator answered.
	other, refused string
	sent           *amp.Command
	sending        bool
	// opened is when the bar opened, parts how many parts the content has.
	opened time.Time
	parts  int
	// shown is the last ask on the bound state: once the task has moved, the bar keeps showing what it was about.
	shown *bar.Ask
	// after is called when the coordinator took the decision; it may be nil.
	after func() tea.Cmd
}

// decide opens the decision bar over a proposal. What the lifecycle does not allow is said and not opened.
func (e *env) decide(p proposal) tea.Cmd { return e.decideThen(p, nil) }

// decideThen is [env.decide] with something to do when the decision was taken.
func (e *env) decideThen(p proposal, after func() tea.Cmd) tea.Cmd {
	if why := p.off(e); why != "" {
		e.Toast(theme.Time, p.name()+" is off: "+why)
		return nil
	}
	d := &decision{e: e, prop: p, after: after, opened: e.Now}
	var cmd tea.Cmd
	if t := e.Board.Task(p.TaskID); t != nil {
		d.bound = p.expects(t)
		if p.Command == amp.Approve && t.Plan != nil {
			r := e.desk.reading(p.TaskID)
			d.unread, d.parts = p.unread(t, r), len(p.about(t).Plan.Subtasks)
			d.read = r.said(d.parts, len(d.unread))
		}
		if p.Command == amp.Resume || p.Command == amp.Unlock {
			d.list = &checklist{}
			cmd = d.verify()
		}
		if p.Args.Pull {
			d.sends = &outgoing{}
			cmd = d.look()
		}
	}
	d.bar = bar.Open(d.ask(), e.desk.opening(&p), e.Now)
	e.OpenSheet(d)
	return cmd
}

// draftOr is the draft of that name, or the text when there is none.
func (d *desk) draftOr(key, text string) string {
	if got := d.drafts[key]; got != "" {
		return got
	}
	return text
}

// ask is what the bar shows on the board of now. It holds nothing that time alone changes.
func (d *decision) ask() bar.Ask {
	p, t := &d.prop, d.e.Board.Task(d.prop.TaskID)
	if d.shown != nil && t != nil && !d.sending && d.moved(t) != "" {
		a := *d.shown
		a.Off = d.moved(t)
		return a
	}
	off := d.off(t)
	t = p.about(t)
	a := bar.Ask{Title: p.title(t), Confirm: p.verb(), Off: off, ActIsSafe: p.Command == amp.StopAll}
	if d.refused != "" {
		a.Rows = append(a.Rows, bar.Row{Label: "refused", Items: []string{d.refused}})
	}
	if p.Quote != "" {
		a.Rows = append(a.Rows, bar.Row{Label: "answers", Items: []string{quoted(p.Quote)}})
	}
	for _, ch := range p.Changes {
		a.Rows = append(a.Rows, bar.Row{Label: "changes", Items: []string{ch.Sign + " " + ch.What + ": " + ch.Text}})
	}
	will, wont := p.effects(d.e, t)
	a.Rows = append(a.Rows, bar.Row{Label: "will", Items: will}, bar.Row{Label: "will not", Items: wont})
	if d.list != nil {
		a.Rows = append(a.Rows, d.list.rows(t)...)
	}
	if d.sends != nil {
		a.Rows = append(a.Rows, d.sends.rows(d.e)...)
	}
	if x := d.expects(); x != "" {
		a.Rows = append(a.Rows, bar.Row{Label: "expects", Items: []string{x}})
	}
	if p.Command == amp.Approve && t != nil && t.Plan != nil {
		a.Rows = append(a.Rows, bar.Row{Label: "author", Items: authors(t, d.e.Admin)})
		a.Note = d.read
	}
	a.Risk, a.TypeDigits = p.risk(t)
	a.Of, a.Content = p.content(t)
	a.Text, a.Required, a.Templates = p.words()
	a.After = "acts at once, no undo"
	if slices.Contains(undoable, p.Command) {
		a.After = "runs " + seconds(d.e.undoTime()) + " after that, u takes it back"
	}
	if d.sending {
		a.Off, a.Note = "it is on its way", "sending"
	} else {
		d.shown = &a
	}
	return a
}

// authors says who wrote the plan, and whether another admin must approve it too.
func authors(t *amp.Task, admin string) []string {
	p := t.Plan
	who := p.Author + ", not edited by you"
	if p.Author == admin && admin != "" {
		who = "you wrote this revision"
	}
	switch {
	case !p.TwoAdmins():
		return []string{who, "a second admin is not required"}
	case t.First == nil:
		return []string{who, "a second admin is required: you are the first of two"}
	}
	return []string{who, "a second admin is required: you are the second of two, after " + t.First.By}
}

// expects is the bound state in words.
func (d *decision) expects() string {
	if d.bound.Status == "" {
		return ""
	}
	t := d.e.Board.Task(d.prop.TaskID)
	if t != nil && t.Plan != nil && d.prop.Command == amp.Approve {
		next := map[bool]string{true: "another "}[d.prop.Args.Plan != nil] + fmt.Sprintf("r%d", t.Plan.Revision+1)
		return fmt.Sprintf("%s, %s, base %s, refused if %s appears", d.bound.Status, rev(t), short(t.Plan.BaseCommit), next)
	}
	parts := []string{string(d.bound.Status), fmt.Sprintf("revision %d", d.bound.Revision)}
	if d.bound.Hash != "" {
		parts = append(parts, map[bool]string{true: "commit ", false: "contract "}[d.prop.Command.OnCommit()]+contractName(d.bound.Hash))
	}
	return strings.Join(parts, ", ")
}

// off says why the decision cannot be confirmed now, "" when it can.
func (d *decision) off(t *amp.Task) string {
	if t != nil && !d.sending {
		if why := d.moved(t); why != "" {
			return why
		}
	}
	if why := d.prop.off(d.e); why != "" {
		return why
	}
	if t = d.prop.about(t); t != nil && d.prop.Command == amp.Approve && t.Plan != nil {
		if why := readGate(t.Plan, d.unread); why != "" {
			return why
		}
	}
	switch {
	case d.list != nil:
		return d.list.off(t)
	case d.sends != nil:
		return d.sends.off()
	}
	return ""
}

// moved says how the task left the state that the bar was opened on, "" when it did not.
func (d *decision) moved(t *amp.Task) string {
	x := d.prop.expects(t)
	switch {
	case d.bound.Status == "" || x == d.bound:
		return ""
	case d.other != "":
		return d.other
	case t.Status == d.bound.Status && t.Status == amp.AwaitingApproval && t.Plan != nil:
		return fmt.Sprintf("%s arrived at %s; esc, then d shows what changed", rev(t), d.e.Clock(t.Since))
	}
	return fmt.Sprintf("the task is %s since %s, it was %s", t.Status, d.e.Clock(t.Since), d.bound.Status)
}

// refresh shows what became of the board; a change disarms the bar.
func (d *decision) refresh() { d.bar.Update(d.ask(), d.e.Now) }

// Key hands a key to the bar.
func (d *decision) Key(k tea.KeyMsg) tea.Cmd {
	if d.sending {
		if s := k.String(); (s == "esc" || s == "ctrl+c") && d.e.busy != nil {
			d.e.busy.cancel()
		}
		return nil
	}
	d.refresh()
	ev := d.bar.Key(k, d.e.Now)
	d.e.desk.keep(d.prop.key(), d.bar.Draft())
	switch ev.Kind {
	case bar.Cancelled:
		d.e.CloseSheet()
	case bar.Confirmed:
		return d.send(ev)
	case bar.NotArmed:
		d.e.Toast(theme.Time, ev.Why)
	case bar.Changed, bar.Ignored, bar.Refused:
		if ev.Why != "" {
			d.e.Toast(theme.Time, ev.Why)
		}
	}
	return nil
}

// Update takes a change of the board and the answers to what was asked for the decision.
func (d *decision) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case changedMsg:
		d.note(msg)
		if msg.All || slices.ContainsFunc(msg.Entries, func(en amp.Entry) bool { return en.TaskID == d.prop.TaskID }) {
			d.refresh()
		}
	case checklistMsg:
		if d.list != nil {
			d.list.done, d.list.check, d.list.err = true, msg.check, msg.err
			d.refresh()
		}
	case outgoingMsg:
		if d.sends != nil {
			d.sends.done, d.sends.plan, d.sends.err = true, msg.plan, msg.err
			d.refresh()
		}
	}
	return nil
}

// asksAgain begins anew what was asked for the decision and brought no answer; nil when nothing can be asked again.
func (d *decision) asksAgain() func() tea.Cmd {
	switch {
	case d.list != nil && d.list.done && (d.list.err != nil || d.list.check == nil):
		return func() tea.Cmd { d.list = &checklist{}; return d.verify() }
	case d.sends != nil && d.sends.done && (d.sends.err != nil || d.sends.plan == nil || d.sends.plan.Refused != ""):
		return func() tea.Cmd { d.sends = &outgoing{}; return d.look() }
	}
	return nil
}

// note keeps who decided on the task while the bar was open.
func (d *decision) note(m changedMsg) {
	for i := range m.Entries {
		en := &m.Entries[i]
		if en.Kind != amp.KindCommand || en.TaskID != d.prop.TaskID || d.sent != nil && en.ID == d.sent.ID {
			continue
		}
		if c, err := amp.DecodeBody[amp.Command](en); err == nil && c.Command != amp.NoteCommand {
			d.other = fmt.Sprintf("decided by %s at %s: %s", c.By, d.e.Clock(en.At), c.Command)
		}
	}
}

// command is the decision as the coordinator gets it.
func (d *decision) command(ev bar.Event) amp.Command {
	p := &d.prop
	c := amp.Command{Command: p.Command, By: d.e.Admin, TaskID: p.TaskID, Args: p.Args, Note: ev.Text}
	c.Args.Next = p.Next
	if d.bound.Status != "" {
		x := d.bound
		c.Expects = &x
	}
	c.Args.Undo = slices.Contains(undoable, p.Command)
	if a := d.bar.Ask(); a.Risk == bar.High || a.TypeDigits {
		c.Args.Digits = ev.Digits
	}
	if p.Command == amp.Approve {
		c.Args.Read, c.Args.Unread, c.Args.Parts = d.read, len(d.unread), d.parts
	}
	c.Args.TookMS = d.e.Now.Sub(d.opened).Milliseconds()
	if p.Command == amp.Answer && p.Args.Option == "" {
		c.Args.Option = ev.Text
	}
	return c
}

// send submits the decision. What is sent again unchanged keeps its id, so that it stays one decision.
func (d *decision) send(ev bar.Event) tea.Cmd {
	c := d.command(ev)
	if s := d.sent; s != nil && s.Note == c.Note && s.Args.Digits == c.Args.Digits && d.refused == "" {
		c.ID = s.ID
	} else {
		c.ID = d.e.newID()
	}
	c.At = d.e.Now.UTC().Truncate(time.Millisecond)
	cmd := d.e.Submit(c, d.answered)
	if cmd == nil { // said why
		return nil
	}
	d.sent, d.sending, d.refused = &c, true, ""
	d.refresh()
	return cmd
}

// answered takes the coordinator's answer. A refusal leaves the bar and the draft where they are.
func (d *decision) answered(en amp.Entry, err error) tea.Cmd {
	e := d.e
	d.sending = false
	refused, isRefusal := errors.AsType[*amp.RefusedError](err)
	switch {
	case err == nil:
		return d.taken(en)
	case errors.Is(err, context.Canceled):
		e.Toast(theme.Time, "you stopped waiting; if it arrived, the journal shows it, and sending it again is the same decision")
	case isRefusal:
		d.refused = problemsOf(refused)
		e.Toast(theme.Danger, d.prop.name()+" was refused: "+d.refused)
	default:
		e.Fail(err)
	}
	d.refresh()
	return nil
}

// taken closes the bar on a decision that is in the journal.
func (d *decision) taken(en amp.Entry) tea.Cmd {
	e := d.e
	e.desk.keep(d.prop.key(), "")
	if d.prop.guides() && d.sent != nil {
		e.desk.review(d.prop.TaskID).took(d.prop.key(), d.sent.Note)
	}
	if e.sheet == sheet(d) {
		e.CloseSheet()
	}
	text := strings.TrimSpace(d.prop.name() + " " + string(d.prop.TaskID))
	if slices.Contains(undoable, d.prop.Command) {
		e.desk.last = waitingOf(en)
		e.Toast(theme.Good, fmt.Sprintf("%s is entry %s: u takes it back for %s", text, seqName(en.Seq), seconds(e.undoTime())))
	} else {
		e.Toast(theme.Good, fmt.Sprintf("%s is entry %s", text, seqName(en.Seq)))
	}
	if d.after != nil {
		return d.after()
	}
	return nil
}

// waitingOf is the command of an entry, and when it takes effect: by its own body, or at once. It is nil when the entry is none.
func waitingOf(en amp.Entry) *amp.Waiting {
	c, err := amp.DecodeBody[amp.Command](&en)
	if err != nil {
		return nil
	}
	w := &amp.Waiting{Command: c, Seq: en.Seq, At: en.At, Due: en.At}
	if at := c.Args.EffectiveAt; at != nil {
		w.Due = *at
	}
	return w
}

// problemsOf is why something was refused, without the words of the machine around it.
func problemsOf(r *amp.RefusedError) string {
	parts := make([]string, len(r.Problems))
	for i, p := range r.Problems {
		parts[i] = p.Message
	}
	return strings.Join(parts, "; ")
}

// Height is what the bar needs.
func (d *decision) Height(w int) int { return d.bar.Height(d.e.Theme, w) }

// Render draws the bar, and again when it is armed.
func (d *decision) Render(w, h int) *ui.Block {
	if !d.sending { // the connection may have changed
		d.refresh()
	}
	if at := d.bar.ArmsAt(); d.e.Now.Before(at) {
		d.e.WakeAt(at)
	}
	return d.bar.Render(d.e.Theme, w, h, d.e.Now)
}

// Copy gives the content that the decision binds.
func (d *decision) Copy() (id, text string) { return string(d.prop.TaskID), d.bar.Ask().Content }
