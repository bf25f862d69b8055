package tui

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/term"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
)

// sheets asks for what the model has opened, one after the other, until nothing is open: a choice, a text, a decision.
func (p *plain) sheets() error {
	for p.e.sheet != nil {
		var err error
		switch s := p.e.sheet.(type) {
		case *decision:
			err = p.decide(s)
		case *chooser:
			err = p.choose(s)
		case *writer:
			err = p.write(s)
		case *wishForm:
			err = p.wish(s)
		default:
			p.e.CloseSheet()
			p.say("This is asked on the screens only; nothing was done.")
		}
		if err != nil {
			p.e.CloseSheet()
			return err
		}
		p.settle()
	}
	return nil
}

// choose asks which of some things is meant.
func (p *plain) choose(c *chooser) error {
	p.tellNews()
	p.blank()
	p.say("%s:", c.pick.Title)
	var on, off []ui.Choice
	for _, o := range c.pick.All() {
		if o.Off != "" {
			off = append(off, o)
			continue
		}
		on = append(on, o)
		text := spoken(o.Text)
		if o.Hint != "" {
			text += ", " + spoken(o.Hint)
		}
		p.item(len(on), sentence(text))
	}
	if len(off) > 0 {
		p.say("%s off now; off says why.", capital(counted(len(off), "more choice")+map[bool]string{true: " is", false: " are"}[len(off) == 1]))
	}
	for {
		answer, err := p.ask("Which one? An empty line chooses none:")
		if err != nil {
			return err
		}
		n, wrong := strconv.Atoi(strings.TrimSuffix(answer, "."))
		switch {
		case answer == "" || strings.EqualFold(answer, "cancel") || strings.EqualFold(answer, "back"):
			p.e.CloseSheet()
			p.say("None was chosen.")
			return nil
		case strings.EqualFold(answer, "off"):
			for _, o := range off {
				p.say("%s is off: %s", spoken(o.Text), sentence(spoken(o.Off)))
			}
		case wrong != nil || n < 1 || n > len(on):
			p.say("There is no choice %s.", quoted(answer))
		default:
			p.e.CloseSheet()
			p.launch(c.then(on[n-1].ID))
			return nil
		}
	}
}

// write asks for a text.
func (p *plain) write(w *writer) error {
	text, given, err := p.text(w.title+", "+w.hint, w.field.Text(), nil, true)
	if err != nil {
		return err
	}
	p.e.CloseSheet()
	if !given {
		p.say("Nothing was written.")
		return nil
	}
	p.e.desk.keep(w.key, text)
	p.launch(w.done(text))
	return nil
}

// text asks for one line of text. An empty line takes the draft, or no text where none is required; given is false when the person
// would rather not.
func (p *plain) text(label, draft string, templates []string, required bool) (text string, given bool, err error) {
	for i, t := range templates {
		p.item(i+1, t)
	}
	if draft != "" {
		p.quote("Kept from before, an empty line takes it:", draft, 0)
	}
	how := "type it in one line"
	if len(templates) > 0 {
		how += ", or a number for one of these sentences"
	}
	if required {
		how += ", or cancel:"
	} else {
		how += ", or an empty line for none:"
	}
	for {
		a, err := p.askRaw(capital(label) + ": " + how)
		if err != nil {
			return draft, false, err
		}
		text = strings.TrimSpace(a.Text)
		n, noNumber := strconv.Atoi(text)
		switch {
		case a.Raw:
			p.say("That line held keys that are no text, such as arrows. Type it again.")
		case strings.EqualFold(text, "cancel"):
			return draft, false, nil
		case text == "" && required && draft == "":
			p.say("%s is required.", capital(label))
		case text == "":
			return draft, true, nil
		case noNumber == nil && n >= 1 && n <= len(templates):
			return templates[n-1], true, nil
		default:
			return text, true, nil
		}
	}
}

// decide says what a decision will do, asks for what it demands, and for the word that sends it. What it says and demands is what the
// bar of the screens shows.
func (p *plain) decide(d *decision) error {
	text := d.bar.Draft()
	asked := false // the text
	var told *bar.Ask
	for {
		p.settle()
		p.tellNews()
		d.refresh()
		a := d.bar.Ask()
		said := a
		said.Off = ""
		if told == nil || !told.Equal(&said) {
			told = &said
			p.blank()
			p.tellAsk(&a, p.task(d.prop.TaskID))
		}
		if a.Off != "" {
			again, err := p.decideOff(d, &a)
			if err != nil || !again {
				return err
			}
			continue
		}
		if a.Text != "" && !asked {
			var given bool
			var err error
			text, given, err = p.text(a.Text, text, a.Templates, a.Required)
			p.e.desk.keep(d.prop.key(), text)
			if err != nil || !given {
				return p.leaveDecision(d, err)
			}
			asked = true
		}
		typed, err := p.typed(&a, text)
		if err != nil || typed == nil {
			return p.leaveDecision(d, err)
		}
		yes, err := p.sure(strings.ToLower(a.Confirm), cmp.Or(string(d.prop.TaskID), "everything"))
		if err != nil || !yes {
			return p.leaveDecision(d, err)
		}
		if now := d.ask(); !now.Equal(&a) {
			p.say("It changed while you answered. Nothing was sent; this is how it stands now.")
			continue
		}
		p.launch(d.send(bar.Event{Kind: bar.Confirmed, Text: strings.TrimSpace(text), Digits: *typed}))
		p.settle()
		if p.e.sheet != sheet(d) {
			return nil
		}
		if d.sending {
			p.say("Whether it arrived is not known; it will be seen in the journal.")
			p.e.CloseSheet()
			return nil
		}
		if d.refused == "" {
			p.tellNews()
			p.say("Whether it arrived is not known. Sent again it stays the same decision.")
		}
	}
}

// leaveDecision closes a decision that was not made. What was typed is kept.
func (p *plain) leaveDecision(d *decision, err error) error {
	if p.e.sheet == sheet(d) {
		p.e.CloseSheet()
	}
	if err == nil {
		p.say("Cancelled: nothing was decided.")
	}
	return err
}

// typed asks for the digits or the phrase of a decision; nil when they were not given.
func (p *plain) typed(a *bar.Ask, text string) (*string, error) {
	typed := ""
	for range 3 {
		want := a.Typed()
		if want == "" {
			return &typed, nil
		}
		answer, err := p.ask(capital(want) + ", or cancel:")
		if err != nil {
			return nil, err
		}
		typed = strings.ToLower(strings.TrimSpace(answer))
		if typed == "" || typed == "cancel" {
			return nil, nil
		}
		why := a.Missing(text, typed)
		if why == "" {
			return &typed, nil
		}
		p.say("%s", sentence(why))
	}
	return nil, nil
}

// tellAsk says a decision: what it will do and will not do, what it expects, its author, content and risk.
func (p *plain) tellAsk(a *bar.Ask, t *amp.Task) {
	p.say("%s", spoken(a.Title))
	for _, r := range a.Rows {
		items := make([]string, len(r.Items))
		for i, it := range r.Items {
			items[i] = spoken(inQuotes(it, t))
		}
		label := map[string]string{
			"will": "It will", "will not": "It will not", "expects": "It expects:", "author": "Author:", "checks": "Checked now:",
			"refused": "The coordinator refused it:", "answers": "It answers the suggestion", "changes": "It changes:",
		}[r.Label]
		if label == "" {
			label = capital(spoken(r.Label)) + ":"
		}
		p.say("%s %s.", label, strings.Join(items, "; "))
	}
	if a.Content != "" {
		p.say("%s: %s.", capital(a.What()), strings.Join(inEights(a.Content), " "))
	}
	p.say("Risk: %s.", strings.ToLower(a.Risk.String()))
	if a.Note != "" {
		p.say("Coverage: %s.", a.Note)
	}
	if a.After != "" {
		p.say("It %s.", spoken(a.After))
	}
}

// inQuotes is an item of a decision; what a planner wrote stands in quotation marks.
func inQuotes(item string, t *amp.Task) string {
	switch {
	case t == nil || t.Plan == nil:
	case slices.Contains(t.Plan.ForbiddenActions, item):
		return quoted(item)
	case len(t.Plan.AllowedPaths) > 0 && item == "write in "+pathsOf(t.Plan):
		return "write in " + quotedAll(t.Plan.AllowedPaths)
	}
	return item
}

// inEights is a hash in groups that can be compared.
func inEights(s string) []string {
	var out []string
	for len(s) > 8 {
		out, s = append(out, s[:8]), s[8:]
	}
	return append(out, s)
}

// decideOff says why a decision can not be made, and what can be done about it; again means that it is worth another look.
func (p *plain) decideOff(d *decision, a *bar.Ask) (again bool, err error) {
	t := p.task(d.prop.TaskID)
	if conn := p.e.Conn; conn.phase != live {
		p.say("Nothing was sent: %s What you typed is kept.", sentence(a.Off))
		answer, err := p.ask("An empty line tries again, anything else cancels:")
		if err != nil || answer != "" {
			return false, p.leaveDecision(d, err)
		}
		return true, nil
	}
	if t != nil && d.moved(t) != "" {
		p.say("The task has moved: %s Nothing was sent, and what you typed is kept.", sentence(spoken(d.moved(t))))
		answer, err := p.ask("Type again to decide it on the state of now, anything else leaves it:")
		if err != nil || !strings.EqualFold(answer, "again") {
			return false, p.leaveDecision(d, err)
		}
		p.e.CloseSheet()
		return false, p.restage(d)
	}
	p.say("It can not be confirmed now: %s", sentence(spoken(a.Off)))
	if again := d.asksAgain(); again != nil {
		answer, err := p.ask("An empty line has it checked again, anything else cancels:")
		if err != nil || answer != "" {
			return false, p.leaveDecision(d, err)
		}
		p.launch(again())
		return true, nil
	}
	p.e.CloseSheet()
	return false, nil
}

// restage opens a decision again on the state of now; what a new plan says is heard first.
func (p *plain) restage(d *decision) error {
	if d.prop.Command != amp.Approve || d.prop.Args.Plan != nil {
		p.launch(p.e.stage(d.prop))
		return nil
	}
	if r, ok := p.way[len(p.way)-1].(*planRoom); ok && r.id == d.prop.TaskID {
		p.blank()
		r.tell(p)
		return r.approve(p)
	}
	p.enter(&planRoom{id: d.prop.TaskID})
	return nil
}

// edit runs the person's editor on a text, for the pages of the model. Nobody reads the input meanwhile: no question is asked before it ends.
func (p *plain) edit(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
	in, out := term.Standard()
	x := &editing{name: name, text: text, line: line, stdin: in, stdout: out, stderr: out}
	p.e.opens(x)
	if !p.terminal { // an editor must not take the answers of a pipe for its own
		x.stdin, x.stdout = nil, io.Discard
	}
	return func() tea.Msg {
		return x.end(x.Run(), done)
	}
}
