package tui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
)

// desk is what an admin has in hand at this screen: drafts, read marks, and what was read of the journal for the cards.
// It ends with the program. The zero value is ready.
type desk struct {
	drafts map[string]string
	// wished is the repository of the last wish. The next one is likely for the same, but not after a start in another folder.
	wished string
	reads  map[amp.TaskID]*reading
	pasts  map[amp.TaskID]*past
	// searches are those of History.
	searches searches
	// reviews are the comments and marks on the changes of tasks.
	reviews map[amp.TaskID]*review
	// edit runs the person's editor on a text; nil is the real one.
	edit func(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd
	// opened is the editor that has the terminal, until what it left was delivered.
	opened *editing
	// head is the last entry that follow has seen.
	head uint64
	// last is the decision with an undo time that was taken last.
	last *amp.Waiting
	// seen are the refusals that were looked at.
	seen seenMarks
	// pace is how this admin has decided lately.
	pace pace
}

// draft returns the text that was kept under a name.
func (d *desk) draft(key string) string { return d.drafts[key] }

// keep stores a draft; an empty one is forgotten.
func (d *desk) keep(key, text string) {
	if text == "" {
		delete(d.drafts, key)
		return
	}
	if d.drafts == nil {
		d.drafts = map[string]string{}
	}
	d.drafts[key] = text
}

// tooLate says why nothing can be taken back: nothing waits, and what became of the decision that did.
func (d *desk) tooLate(e *env) string {
	l := d.last
	if l == nil || e.Now.Before(l.Due) {
		return "no decision waits"
	}
	out := "it ran at " + e.Clock(l.Due)
	if t := e.Board.Task(l.Command.TaskID); t != nil {
		for _, c := range compensations[l.Command.Command] {
			if whyNot(t, c) == "" {
				return out + "; now: " + string(c)
			}
		}
	}
	return out
}

// compensations are the commands that undo the effect of another one once it ran, the mildest first.
var compensations = map[amp.CommandName][]amp.CommandName{
	amp.Approve:    {amp.Reject, amp.Terminate}, // the first of two approvals has sent nothing yet
	amp.Reject:     {amp.Revise},
	amp.Resume:     {amp.Terminate},
	amp.Unlock:     {amp.Terminate},
	amp.Redispatch: {amp.Terminate},
	amp.Reassign:   {amp.Terminate},
	amp.Split:      {amp.Revise, amp.Terminate},
	amp.Accept:     {amp.Rollback, amp.Redispatch, amp.Terminate},
	amp.Override:   {amp.Rollback, amp.Redispatch, amp.Terminate},
	amp.Rollback:   {amp.Redispatch, amp.Terminate},
}

// past is what was read of a task's journal for its cards, oldest first.
type past struct {
	upTo    uint64
	asked   time.Time // zero when nothing is asked
	entries []amp.Entry
	err     error
	known   *pastFacts // what they say, nil until somebody asks
}

// pastMsg is the answer to [env.readPast].
type pastMsg struct {
	id      amp.TaskID
	upTo    uint64
	entries []amp.Entry
	err     error
}

const (
	pastEntries  = 400             // the newest entries that a card is drawn from
	pastPatience = 5 * time.Second // an answer that takes longer is asked for again
)

// past returns what is known of a task's journal, never nil.
func (d *desk) past(id amp.TaskID) *past {
	p := d.pasts[id]
	if p == nil {
		if d.pasts == nil {
			d.pasts = map[amp.TaskID]*past{}
		}
		p = &past{}
		d.pasts[id] = p
	}
	return p
}

// readPast asks for the newest entries of a task that its card is drawn from, unless they are known up to now. The
// answer is a pastMsg to the asker, who hands it to [desk.took].
func (e *env) readPast(asker any, id amp.TaskID) tea.Cmd {
	t := e.Board.Task(id)
	if t == nil {
		return nil
	}
	p := e.desk.past(id)
	if p.upTo >= t.LastSeq || !p.asked.IsZero() && e.Now.Sub(p.asked) < pastPatience {
		return nil
	}
	p.asked = e.Now
	s, ctx, upTo := e.Session, e.ctx, t.LastSeq
	return e.To(asker, func() tea.Msg {
		q := amp.Query{Kind: amp.QueryEntries, TaskID: id, Filter: amp.Filter{
			TaskID: id, Newest: true, Limit: pastEntries,
			Kinds: []amp.Kind{amp.KindMessage, amp.KindPlan, amp.KindCommand, amp.KindCheck, amp.KindRefusal, amp.KindTurn},
		}}
		page, err := s.Query(ctx, q)
		return pastMsg{id, upTo, page.Entries, err}
	})
}

// keepUp handles the messages by which a page about one task keeps what it knows of the task's past; ok says that msg was one.
func (e *env) keepUp(asker page, id amp.TaskID, msg tea.Msg) (cmd tea.Cmd, ok bool) {
	switch msg := msg.(type) {
	case shownMsg:
		return e.readPast(asker, id), true
	case changedMsg:
		e.desk.follow(msg)
		if msg.All || slices.ContainsFunc(msg.Entries, func(en amp.Entry) bool { return en.TaskID == id }) {
			return e.readPast(asker, id), true
		}
	case pastMsg:
		e.desk.took(msg)
	default:
		return nil, false
	}
	return nil, true
}

// took keeps the answer to a question for a task's past.
func (d *desk) took(m pastMsg) {
	p := d.past(m.id)
	p.asked, p.err = time.Time{}, m.err
	if m.err != nil {
		return
	}
	p.upTo, p.known = m.upTo, nil
	p.entries = slices.Clone(m.entries)
	slices.SortFunc(p.entries, func(a, b amp.Entry) int { return int(int64(a.Seq) - int64(b.Seq)) })
}

// follow adds new entries to the pasts that are known. Pages that draw cards call it with every change.
func (d *desk) follow(m changedMsg) {
	if len(m.Entries) > 0 && m.Entries[len(m.Entries)-1].Seq <= d.head && !m.All {
		return // another page was told first
	}
	if m.All || len(m.Entries) > 0 && m.Entries[0].Seq > d.head+1 {
		for _, p := range d.pasts { // entries were missed: they are read again when a card needs them
			p.upTo = 0
		}
	}
	for _, en := range m.Entries {
		if p := d.pasts[en.TaskID]; p != nil && p.upTo > 0 && en.Seq > p.upTo {
			p.entries, p.upTo = append(p.entries, en), en.Seq
			if len(p.entries) > 2*pastEntries {
				p.entries, p.known = slices.Clone(p.entries[len(p.entries)-pastEntries:]), nil
			}
		}
		d.head = max(d.head, en.Seq)
	}
}
