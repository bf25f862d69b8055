package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

func entryKind() pageKind {
	return pageKind{
		Kind: KindEntry, Title: "Entry", Dense: true,
		Make: func(e *env, at Place) page { return newEntryPage(e, at.Seq) },
		Deeds: func(e *env) []deed {
			do := func(id, title, short string, rank int, keys ...string) deed {
				return deed{Action: action.Action{ID: id, Scope: string(KindEntry), Title: title, Short: short, Keys: keys, Rank: rank}}
			}
			neighbour := func(d deed, why string, seq func(p *entryPage) uint64) deed {
				d.Disabled = offFor(e, func(p *entryPage) string {
					if seq(p) == 0 {
						return why
					}
					return ""
				})
				return d
			}
			return []deed{
				neighbour(do("entry.prev", "the entry before it of the same task", "] in the task", 10, "["), "it is the first of its task",
					func(p *entryPage) uint64 { return p.facts.prev }),
				neighbour(do("entry.next", "the entry behind it of the same task", "", 0, "]"), "it is the newest of its task",
					func(p *entryPage) uint64 { return p.facts.next }),
				neighbour(do("entry.before", "the entry before it in the journal", "} in the journal", 11, "{"), "it is the first entry", (*entryPage).before),
				neighbour(do("entry.after", "the entry behind it in the journal", "", 0, "}"), "it is the newest entry",
					(*entryPage).after),
				do("entry.raw", "the exact bytes, or indented", "raw", 12, "r"),
				do("entry.wrap", "wrap long lines or cut them", "wrap", 13, "w"),
				do("entry.hit_next", "next match", "", 0, "n"),
				do("entry.hit_prev", "previous match", "", 0, "N"),
			}
		},
	}
}

// before and after are the neighbours in the journal, 0 for none; they do not wait until the entry was read.
func (p *entryPage) before() uint64 { return max(p.seq, 1) - 1 }

func (p *entryPage) after() uint64 {
	if p.seq >= max(p.facts.head, p.e.Board.Head.Seq) {
		return 0
	}
	return p.seq + 1
}

// entryPlace is where an entry itself is shown, its bytes and its place in the chain.
func entryPlace(seq uint64) Place { return Place{Kind: KindEntry, Seq: seq} }

// entryPage is one entry of the journal: its envelope, whose references open, and its body.
type entryPage struct {
	e      *env
	seq    uint64
	ctx    context.Context
	cancel context.CancelFunc
	facts  entryFacts
	state  string // why there is nothing to show, "" when there is
	links  scroller
	onBody bool
	raw    bool
	body   *ui.Pager
	find   *ui.Field
	typing bool

	linksAt, linksH int
}

type entryMsg struct {
	seq   uint64
	facts entryFacts
	err   error
}

func newEntryPage(e *env, seq uint64) *entryPage {
	p := &entryPage{e: e, seq: seq, onBody: true, body: ui.NewPager(e.Theme), find: ui.NewField("search")}
	p.body.Wrap(true)
	p.ctx, p.cancel = e.Context()
	p.state = "reading …"
	return p
}

func (p *entryPage) load() tea.Cmd {
	s, ctx, seq := p.e.Session, p.ctx, p.seq
	return p.e.To(p, func() tea.Msg {
		f, err := readEntry(ctx, s, seq, true)
		if ctx.Err() != nil {
			return nil
		}
		return entryMsg{seq, f, err}
	})
}

// Update handles one message.
func (p *entryPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		if p.facts.entry.Seq != p.seq {
			return p.load()
		}
	case entryMsg:
		p.took(msg)
	case changedMsg:
		return p.changed(msg)
	case clickMsg:
		p.onBody = msg.Y >= p.linksAt+p.linksH
		if !p.onBody {
			p.links.click(msg.Y - p.linksAt)
		}
	case wheelMsg:
		if msg.Y < p.linksAt+p.linksH {
			p.links.roll(msg.By)
			return nil
		}
		p.body.Scroll(msg.By)
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

func (p *entryPage) took(msg entryMsg) {
	if msg.seq != p.seq {
		return // the person went on
	}
	if msg.err != nil {
		p.state = msg.err.Error()
		p.e.Fail(msg.err)
		return
	}
	p.state, p.facts, p.links = "", msg.facts, scroller{}
	p.setBody()
}

// changed keeps the ACK and the neighbours current.
func (p *entryPage) changed(msg changedMsg) tea.Cmd {
	f := &p.facts
	if f.entry.Seq != p.seq { // nothing was read yet, or it failed
		if msg.All {
			return p.load()
		}
		return nil
	}
	f.head = max(f.head, p.e.Board.Head.Seq)
	if f.entry.TaskID == "" {
		return nil
	}
	for i := range msg.Entries {
		if en := &msg.Entries[i]; en.TaskID == f.entry.TaskID && (f.next == 0 || en.Kind == amp.KindAck && f.ack == nil) {
			return p.load()
		}
	}
	return nil
}

func (p *entryPage) setBody() {
	text := string(p.facts.entry.Body)
	if !p.raw {
		v := jsontext.Value(p.facts.entry.Body).Clone()
		err := v.Format(jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
		if err == nil {
			text = string(v)
		}
	}
	p.body.SetText(text)
}

// show goes to another entry in the place of this one.
func (p *entryPage) show(seq uint64) tea.Cmd {
	if seq == 0 {
		return nil
	}
	p.seq = seq
	p.e.nav.moved(p, entryPlace(seq))
	return p.load()
}

func (p *entryPage) intent(id string) tea.Cmd {
	switch id {
	case paneNext, panePrev:
		p.onBody = !p.onBody
		return nil
	case openItem:
		return p.follow()
	case filterList:
		p.typing = true
	case "entry.prev":
		return p.show(p.facts.prev)
	case "entry.next":
		return p.show(p.facts.next)
	case "entry.before":
		return p.show(p.before())
	case "entry.after":
		return p.show(p.after())
	case "entry.raw":
		p.raw = !p.raw
		p.setBody()
	case "entry.wrap":
		p.body.Wrap(!p.body.Wrapped())
	case "entry.hit_next", "entry.hit_prev":
		if !p.body.Next(id == "entry.hit_next") {
			p.e.Toast(theme.Text, "no other match")
		}
	}
	if !p.onBody && p.links.intent(id) {
		return nil
	}
	movePager(p.body, id)
	return nil
}

// Off says why an action does nothing here.
func (p *entryPage) Off(id string) string {
	if id == zoomPane {
		return noZoom
	}
	return ""
}

// follow opens what the cursor of the envelope stands on.
func (p *entryPage) follow() tea.Cmd {
	for _, l := range p.entryLinks() {
		if l.id == p.links.id {
			if l.at.Kind == "" {
				p.e.Toast(theme.Time, l.text+" is not in the journal")
				return nil
			}
			return p.e.Go(l.at)
		}
	}
	return nil
}

// Typing reports whether the search has the keys.
func (p *entryPage) Typing() bool { return p.typing }

// Key edits the search in the body.
func (p *entryPage) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		p.typing = false
		p.body.Search("")
	case "enter":
		p.typing, p.onBody = false, true
		n := p.body.Search(p.find.Text())
		p.body.Next(true)
		p.e.Toast(theme.Text, plural(n, "line")+" found")
	default:
		p.find.Key(k)
	}
	return nil
}

// Hints are the keys of the search.
func (p *entryPage) Hints() []ui.KeyHint {
	return []ui.KeyHint{{Key: p.e.Theme.Signs.Enter, Text: "search"}, {Key: "esc", Text: "leave"}}
}

// Back leaves the envelope.
func (p *entryPage) Back() bool {
	was := !p.onBody
	p.onBody = true
	return was
}

// Copy is the entry's id and its exact bytes.
func (p *entryPage) Copy() (id, text string) {
	if p.state != "" {
		return seqName(p.seq), ""
	}
	return p.facts.entry.ID, string(p.facts.entry.Body)
}

// Export hands out the entry.
func (p *entryPage) Export() export {
	return p.e.exportEntries("Entry "+seqName(p.seq), "", amp.Filter{After: p.seq - 1, Before: p.seq + 1})
}

// Close ends the query.
func (p *entryPage) Close() { p.cancel() }

// Scopes is the scope of the page.
func (p *entryPage) Scopes() []string { return []string{string(KindEntry)} }

// Title names the entry.
func (p *entryPage) Title() string { return "entry " + seqName(p.seq) }
