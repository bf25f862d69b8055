package tui

import (
	"fmt"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// entryLink is a row of an envelope that opens something.
type entryLink struct {
	id, label, text string
	at              Place // its Kind is "" when there is nothing to open
}

// entryLinks are what the envelope leads to: the timeline, the ACK, the references, the entry before it in the chain.
func (p *entryPage) entryLinks() []entryLink {
	f := &p.facts
	en := &f.entry
	var out []entryLink
	if en.TaskID != "" {
		text := string(en.TaskID)
		if t := p.e.Board.Task(en.TaskID); t != nil {
			text += "  " + titleOf(t)
		}
		out = append(out, entryLink{"task", "task", text, Place{Kind: KindTask, ID: string(en.TaskID), Seq: en.Seq}})
	}
	if f.ack != nil {
		text := fmt.Sprintf("%s  %s +%s by %s", seqName(f.ackSeq), f.ack.Status, ui.Clock(f.ackAfter), f.ack.By)
		out = append(out, entryLink{"ack", "ACK", text, entryPlace(f.ackSeq)})
	}
	for _, r := range f.refs {
		l := entryLink{id: "ref " + r.id, label: r.what, text: r.id}
		if r.seq > 0 {
			l.text, l.at = seqName(r.seq)+"  "+r.id, entryPlace(r.seq)
		}
		out = append(out, l)
	}
	if before := p.before(); before > 0 {
		out = append(out, entryLink{"prev", "prev_hash", seqName(before) + "  " + en.PrevHash.String(), entryPlace(before)})
	}
	return out
}

const envelopeLabel = 14

// envelope is the header of the entry.
func (p *entryPage) envelope(w int) *column {
	e, f := p.e, &p.facts
	en, l := &f.entry, &f.line
	c := e.newColumn(w)
	c.Add("  " + e.styledSign(*l) + " " + e.Theme.S(theme.Strong, ui.Safe(l.What)) + "  " + e.Theme.S(l.Role, e.lineText(*l)))
	links := p.entryLinks()
	link := func(l entryLink, seal string) {
		c.item(l.id, func() {
			role := theme.Accent
			if l.at.Kind == "" {
				role = theme.Muted
			}
			gutter := ui.Gutter(e.Theme, p.links.id == l.id || p.links.id == "" && l.id == links[0].id)
			c.Add(gutter + e.Theme.S(theme.Muted, ui.Pad(ui.Safe(l.label), envelopeLabel)) + " " + seal + e.Theme.S(role, ui.Safe(l.text)))
		})
	}
	field := func(label, text string) { c.Field(envelopeLabel, label, text) }
	if len(links) > 0 && links[0].id == "task" {
		link(links[0], "")
	}
	who := string(en.Role)
	if en.Actor != "" {
		who = en.Actor + ", as " + string(en.Role)
	}
	if l.To != "" {
		who += " → " + l.To
	}
	field("from", ui.Safe(who))
	field("at", en.At.In(e.Zone).Format("2006-01-02 15:04:05.000 MST")+e.Theme.S(theme.Muted, " · "+ui.Age(e.Now.Sub(en.At))+" ago"))
	for _, l := range links {
		if l.id != "task" && l.id != "prev" {
			link(l, "")
		}
	}
	field("id", ui.Safe(en.ID))
	c.Add("  " + e.Theme.S(theme.Muted, ui.Pad("hash", envelopeLabel)) + " " + e.holds(f.whole, "not of these bytes:") + en.Hash.String())
	if last := len(links) - 1; last >= 0 && links[last].id == "prev" {
		link(links[last], e.holds(f.chained, "not that of"))
	}
	return c
}

// holds is the sign before a hash that is what it should be, or what is wrong with it.
func (e *env) holds(ok bool, wrong string) string {
	if ok {
		return e.Theme.S(theme.Good, e.Theme.Signs.Yes) + " "
	}
	return e.Theme.S(theme.Danger, e.Theme.Signs.No+" "+wrong) + " "
}

// Render draws the envelope above the body.
func (p *entryPage) Render(w, h int) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w)
	title := fmt.Sprintf("%s %s", seqName(p.seq), p.facts.entry.Kind)
	if p.facts.entry.Seq != p.seq {
		b.Rule(seqName(p.seq), "")
		return b.Say(theme.Muted, "  "+p.state).Fit(h)
	}
	of := string(p.facts.entry.TaskID)
	if of == "" {
		of = "of no task"
	}
	b.RuleStyled(p.focus(ui.Safe(title), !p.onBody), ui.Safe(of)+" · "+e.entryFactsLine(&p.facts))
	c := p.envelope(w)
	p.linksAt, p.linksH = b.Height(), max(min(c.Height(), (h-2)/2), 1)
	b.Append(p.links.show(c, p.linksH))
	mode := "indented"
	if p.raw {
		mode = "exact bytes"
	}
	if p.body.Wrapped() {
		mode += ", wrapped"
	}
	b.RuleStyled(p.focus("Body", p.onBody), mode+" · "+plural(p.body.Lines(), "line"))
	if p.typing {
		b.Add(" " + e.Theme.S(theme.Accent, "/") + " " + p.find.Row(e.Theme, max(w-4, 1), true))
	}
	return b.Append(p.body.Render(w, max(h-b.Height(), 0))).Fit(h)
}

// focus is the title of a pane: in brackets when it has the keys.
func (p *entryPage) focus(title string, has bool) string {
	if has {
		title = "[" + title + "]"
	}
	return p.e.Theme.S(theme.Title, title)
}
