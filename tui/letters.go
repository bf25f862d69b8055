package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// The ids of the actions on dead letters.
const (
	letterResend = "letters.resend"
	letterDrop   = "letters.drop"
	letterMark   = "letters.mark"
)

func lettersKind() pageKind {
	return pageKind{
		Kind: KindLetters, Title: "Dead letters", Dense: true,
		Make: func(e *env, _ Place) page { return newLettersPage(e) },
		Deeds: func(e *env) []deed {
			here := func(id, title, short string, rank int, key string, danger action.Danger) deed {
				return deed{Action: action.Action{
					ID: id, Scope: string(KindLetters), Title: title, Short: short, Keys: []string{key}, Rank: rank, Danger: danger,
					Disabled: offFor(e, func(p *lettersPage) string { return p.off(id) }),
				}}
			}
			return []deed{
				here(letterResend, "send the marked ones again, or the one under the cursor", "send again", 10, "P", action.Low),
				here(letterDrop, "give the marked ones up, or the one under the cursor…", "give up…", 11, "D", action.High),
				here(letterMark, "mark, or take the mark away", "mark", 12, "space", action.None),
				{Action: action.Action{
					ID: "agents.letters", Scope: string(KindAgents), Title: "dead letters of the bus", Short: "dead letters", Keys: []string{"b"}, Rank: 13,
					Disabled: func() string {
						if e.Letters == nil || e.State == nil || e.State.Bus == nil {
							return "the coordinator has no bus: listen under [bus] opens one"
						}
						return ""
					},
				}, Run: func() tea.Cmd { return e.Go(Place{Kind: KindLetters}) }},
			}
		},
	}
}

// lettersPage lists the messages of the bus that could not be delivered, the newest first.
type lettersPage struct {
	e      *env
	ctx    context.Context
	cancel context.CancelFunc

	all    []Letter
	marked map[string]bool
	known  bool
	err    error
	// asking says that a list is on its way, again that it is old already; sending that a change is.
	asking, again, sending bool

	list      *ui.List
	cols      *ui.Columns
	colsW     int
	view      scroller
	shown     string
	listTop   int
	listH     int
	onCard    bool
	unsettled string // why the last change was refused
}

// lettersMsg is the answer to [lettersPage.ask].
type lettersMsg struct {
	all []Letter
	err error
}

// lettersDoneMsg says what became of a change.
type lettersDoneMsg struct {
	what string
	n    int
	err  error
}

func newLettersPage(e *env) *lettersPage {
	p := &lettersPage{e: e, marked: map[string]bool{}}
	p.ctx, p.cancel = e.Context()
	p.list = ui.NewList(e.Theme, ui.Source{
		Len: func() int { return len(p.all) },
		ID:  func(i int) string { return p.all[i].Key },
		Version: func(i int) uint64 {
			return uint64(p.all[i].Dead.UnixNano())<<1 | map[bool]uint64{true: 1}[p.marked[p.all[i].Key]]
		},
		Lines: func(i, w int, selected bool) []ui.Line { return []ui.Line{p.line(&p.all[i], w, selected)} },
		Live:  func(i int) string { return ui.PadLeft(p.e.Age(p.all[i].Dead), 4) },
	})
	return p
}

// ask reads the list anew, one question at a time.
func (p *lettersPage) ask() tea.Cmd {
	if p.e.Letters == nil {
		return nil
	}
	if p.asking {
		p.again = true
		return nil
	}
	p.asking, p.again = true, false
	from := p.e.Letters
	return p.e.Await(p.ctx, p, theCoordinator, "dead letters", func(ctx context.Context, _ *request) tea.Msg {
		all, err := from.Dead(ctx)
		return lettersMsg{all, err}
	})
}

// took shows a list.
func (p *lettersPage) took(m lettersMsg) tea.Cmd {
	p.asking = false
	if m.err != nil {
		p.err = m.err
		if !p.known {
			p.e.Fail(m.err)
		}
		return nil
	}
	p.known, p.err = true, nil
	p.all = slices.Clone(m.all)
	slices.Reverse(p.all)
	there := map[string]bool{}
	for i := range p.all {
		there[p.all[i].Key] = true
	}
	for key := range p.marked {
		if !there[key] {
			delete(p.marked, key)
		}
	}
	if p.again {
		return p.ask()
	}
	return nil
}

// current is the letter under the cursor, nil for none.
func (p *lettersPage) current() *Letter {
	if _, i, ok := p.list.Cursor(); ok {
		return &p.all[i]
	}
	return nil
}

// chosen are the marked letters, or the one under the cursor.
func (p *lettersPage) chosen() (all []*Letter) {
	for i := range p.all {
		if p.marked[p.all[i].Key] {
			all = append(all, &p.all[i])
		}
	}
	if x := p.current(); len(all) == 0 && x != nil {
		all = append(all, x)
	}
	return all
}

func (p *lettersPage) off(id string) string {
	switch {
	case p.current() == nil:
		return "there is no dead letter"
	case id == letterMark:
		return ""
	case p.sending:
		return "the last change is on its way"
	}
	return p.e.Off()
}

// Update handles one message.
func (p *lettersPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		return p.ask()
	case changedMsg:
		if msg.All || slices.ContainsFunc(msg.Entries, changesLetters) {
			return p.ask()
		}
	case lettersMsg:
		return p.took(msg)
	case lettersDoneMsg:
		return p.done(msg)
	case clickMsg:
		p.onCard = msg.Y >= p.listTop+p.listH
		if !p.onCard {
			p.list.Click(msg.Y - p.listTop)
		}
	case wheelMsg:
		if msg.Y >= p.listTop+p.listH {
			p.view.roll(msg.By)
			return nil
		}
		p.list.Move(msg.By)
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

// changesLetters reports whether an entry is about dead letters.
func changesLetters(e amp.Entry) bool {
	if e.Kind != amp.KindBus {
		return false
	}
	f, err := amp.DecodeBody[struct {
		Event string `json:"event"`
	}](&e)
	return err == nil && slices.Contains([]string{"message_dead", "message_resent", "message_dropped", "message_withdrawn"}, f.Event)
}

func (p *lettersPage) intent(id string) tea.Cmd {
	switch id {
	case paneNext, panePrev:
		p.onCard = !p.onCard
	case letterMark:
		x := p.current()
		if p.marked[x.Key] = !p.marked[x.Key]; !p.marked[x.Key] {
			delete(p.marked, x.Key)
		}
		p.list.Move(1)
	case letterResend:
		return p.change("sent again", Letters.Resend)
	case letterDrop:
		p.e.OpenSheet(newDropSheet(p))
	case openItem:
		if x := p.current(); x != nil && p.e.Board.Task(amp.TaskID(x.Task)) != nil {
			return p.e.Go(Place{Kind: KindTask, ID: x.Task})
		}
	default:
		if p.onCard {
			p.view.intent(id)
			return nil
		}
		moveList(p.list, id)
	}
	return nil
}

// Off says why an action does nothing here.
func (p *lettersPage) Off(id string) string {
	switch x := p.current(); id {
	case openItem:
		return unless(x != nil && p.e.Board.Task(amp.TaskID(x.Task)) != nil, "it belongs to no task")
	case paneNext, panePrev:
		return unless(x != nil, nothingSelected)
	case zoomPane:
		return noZoom
	case filterList:
		return noFilter
	}
	return ""
}

// change sends what is to be done with the chosen letters.
func (p *lettersPage) change(what string, do func(Letters, context.Context, []string) error) tea.Cmd {
	var keys []string
	for _, x := range p.chosen() {
		keys = append(keys, x.Key)
	}
	return p.changeThese(what, keys, do)
}

func (p *lettersPage) changeThese(what string, keys []string, do func(Letters, context.Context, []string) error) tea.Cmd {
	if len(keys) == 0 || p.sending {
		return nil
	}
	p.sending, p.unsettled = true, ""
	to := p.e.Letters
	return p.e.Await(p.e.ctx, p, theCoordinator, what, func(ctx context.Context, _ *request) tea.Msg {
		return lettersDoneMsg{what, len(keys), do(to, ctx, keys)}
	})
}

// done says what became of a change, and reads the list anew.
func (p *lettersPage) done(m lettersDoneMsg) tea.Cmd {
	p.sending = false
	if m.err != nil {
		p.unsettled = p.e.explained(m.err).What
		p.e.Fail(m.err)
		return p.ask()
	}
	clear(p.marked)
	p.e.Toast(theme.Good, plural(m.n, "dead letter")+" "+m.what)
	return p.ask()
}

// Back leaves the card, then the marks.
func (p *lettersPage) Back() bool {
	was := p.onCard || len(p.marked) > 0
	if !p.onCard {
		clear(p.marked)
	}
	p.onCard = false
	return was
}

// Scopes is the scope of the page.
func (p *lettersPage) Scopes() []string { return []string{string(KindLetters)} }

// Title names the page.
func (p *lettersPage) Title() string { return "dead letters" }

// Copy gives the id of the message, and all of it in words.
func (p *lettersPage) Copy() (id, text string) {
	x := p.current()
	if x == nil {
		return "", ""
	}
	return ui.Safe(x.MessageID), ui.Safe(strings.Join([]string{x.MessageID, x.Type, x.Priority, x.From + " → " + x.To, x.Task, x.Why}, " "))
}

// Close ends its queries.
func (p *lettersPage) Close() { p.cancel() }

// count says how many there are and how many are marked.
func (p *lettersPage) count() string {
	text := plural(len(p.all), "message")
	if n := len(p.marked); n > 0 {
		text += fmt.Sprintf(" · %d marked", n)
	}
	return text
}
