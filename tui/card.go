package tui

import (
	"fmt"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// cardPage is one item of the Inbox in full: an escalation, a question, what is held, or a decision that was not
// carried out.
type cardPage struct {
	e    *env
	id   amp.TaskID
	seq  uint64
	was  need // as it was when it waited last
	view scroller
	top  int
}

func newCardPage(e *env, id amp.TaskID, seq uint64) *cardPage {
	p := &cardPage{e: e, id: id, seq: seq, view: scroller{lazy: true}}
	p.card()
	return p
}

// card is the item, or nothing when it was decided.
func (p *cardPage) card() (need, *amp.Task) {
	t := p.e.Board.Task(p.id)
	if n, ok := p.e.findNeed(t, p.seq); ok {
		p.was = n
		return n, t
	}
	return p.was, nil
}

// Update handles one message.
func (p *cardPage) Update(msg tea.Msg) tea.Cmd {
	if cmd, ok := p.e.keepUp(p, p.id, msg); ok {
		return cmd
	}
	switch msg := msg.(type) {
	case clickMsg:
		p.view.click(msg.Y - p.top)
	case wheelMsg:
		p.view.roll(msg.By)
		p.view.into()
	case intent:
		if p.view.intent(msg.ID) {
			return nil
		}
		n, t := p.card()
		if msg.ID == openItem {
			if i, ok := cutPrefixNumber(p.view.id, "o"); ok && t != nil { // enter stages like the number; it never decides
				cmd, _ := p.e.cardIntent(stagePrefix+strconv.Itoa(i), &n, t)
				return cmd
			}
			return p.e.Go(Place{Kind: KindTask, ID: string(p.id), Seq: p.seq})
		}
		cmd, _ := p.e.cardIntent(msg.ID, &n, t)
		return cmd
	}
	return nil
}

// Off says why an action does nothing here.
func (p *cardPage) Off(id string) string {
	switch id {
	case paneNext, panePrev:
		return onePane
	case zoomPane:
		return noZoom
	case filterList:
		return noFilter
	}
	return ""
}

// Scopes are those of a card with its numbers.
func (p *cardPage) Scopes() []string {
	n, t := p.card()
	if t == nil {
		return []string{string(KindEscalation), cardScope}
	}
	return cardScopes(KindEscalation, len(p.e.options(&n, t)))
}

// Title names the page.
func (p *cardPage) Title() string { return seqName(p.seq) + " " + p.was.What }

// Subject is the task of the item.
func (p *cardPage) Subject() amp.TaskID { return p.id }

// Copy gives the entry and its text.
func (p *cardPage) Copy() (id, text string) { return seqName(p.seq), p.was.Text }

// Render draws the card; what was decided meanwhile says by whom.
func (p *cardPage) Render(w, h int) *ui.Block {
	e, th := p.e, p.e.Theme
	n, t := p.card()
	b := ui.NewBlock(th, w)
	if t == nil {
		b.Add(" " + th.S(theme.Muted, "Inbox ›") + " " + th.S(theme.Strong, seqName(p.seq)) + "  " + string(p.id))
		b.Blank(1).Add("  " + e.resolution(p.id, p.seq))
		return b.Say(theme.Muted, "  esc goes back; T opens the timeline of the task.").Fit(h)
	}
	sign, role := e.needSign(&n)
	b.Spread(fmt.Sprintf(" %s %s %s  %s", th.S(theme.Muted, "Inbox ›"), th.S(theme.Strong, seqName(n.Seq)), ui.Safe(n.What), string(t.ID)),
		e.statusText(t.Status, false)+rejects(t)+" · "+th.S(role, sign)+" "+string(n.Severity)+" "+e.Age(n.At)+" ")
	p.top = b.Height()
	c := e.newColumn(w)
	e.drawCard(c, &n, t, p.view.id, true)
	return b.Append(p.view.show(c, max(h-b.Height(), 0))).Fit(h)
}

func rejects(t *amp.Task) string {
	if t.RejectCount == 0 {
		return ""
	}
	return fmt.Sprintf(" %d/%d", t.RejectCount, t.LockAt())
}

// resolution says what became of an item that does not wait any more.
func (e *env) resolution(id amp.TaskID, seq uint64) string {
	t := e.Board.Task(id)
	if t == nil {
		return "There is no task " + string(id) + " any more."
	}
	for i := range t.Escalations {
		if s := &t.Escalations[i]; s.Seq == seq && !s.Open() {
			return fmt.Sprintf("Decided by %s at %s: %s (%s).", ui.Safe(s.ResolvedBy), e.Clock(s.ResolvedAt), s.Resolution, seqName(s.ResolvedSeq))
		}
	}
	return "It does not wait any more: the task is " + statusWord(t.Status) + " since " + e.Clock(t.Since) + "."
}
