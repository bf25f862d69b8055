package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// wishNew is the id of the action that states a wish.
const wishNew = "wish.new"

func wishDeeds(e *env) []deed {
	return []deed{{Action: action.Action{
		ID: wishNew, Scope: action.Global, Title: "new wish: a task from your own words…", Short: "new", Keys: []string{"n"},
		Disabled: e.Off,
	}, Run: e.newWish}}
}

// The fields of a wish, in the order of tab.
const (
	wishText = iota
	wishRepo
	wishBranch
	wishRisk
	wishFields
)

// wishRisks are what the risk of a wish can be; the planner may raise it, never lower it.
var wishRisks = []amp.RiskLevel{"", amp.Low, amp.Medium, amp.High}

// wishForm states a wish: the same submit command as on the command line. Its words are kept on esc. It is a [sheet].
type wishForm struct {
	e      *env
	fields [wishRisk]*ui.Field
	focus  int
	risk   int
	// wrong is what is wrong with a field, by its number; of the last one with none in particular.
	wrong [wishFields + 1]string
	// looking is set while the repository is looked at, sending while the command is on its way.
	looking, sending bool
	sent             *amp.Command
}

// preparedMsg is the wish with what its repository adds, or why it cannot be worked in.
type preparedMsg struct {
	wish amp.Wish
	err  error
}

// wroteWishMsg is the text of the wish as it came back from the editor.
type wroteWishMsg struct {
	text []byte
	err  error
}

// newWish opens the form with what was typed before.
func (e *env) newWish() tea.Cmd {
	f := &wishForm{e: e}
	f.fields = [wishRisk]*ui.Field{ui.NewArea("wish"), ui.NewField("repository"), ui.NewField("branch")}
	for i := range f.fields {
		f.fields[i].SetText(e.desk.draft(wishDraft(i)))
	}
	if !f.fields[wishText].Filled() || !f.fields[wishRepo].Filled() { // the repository of a draft goes with its words
		f.fields[wishRepo].SetText(e.usualRepo())
	}
	f.fields[wishBranch].Placeholder = "one named after the task"
	f.risk = max(slices.Index(wishRisks, amp.RiskLevel(e.desk.draft(wishDraft(wishRisk)))), 0)
	e.OpenSheet(f)
	return nil
}

func wishDraft(field int) string { return fmt.Sprintf("wish %d", field) }

// usualRepo is the repository of the wish before, else that of the folder that the program was started in, else that of the newest
// task.
func (e *env) usualRepo() string {
	if repo := cmp.Or(e.desk.wished, e.Repo); repo != "" {
		return repo
	}
	for _, id := range slices.Backward(e.Board.Order) {
		if t := e.Board.Task(id); t.Wish != nil && t.Wish.Repo != "" {
			return t.Wish.Repo
		}
	}
	return ""
}

// keep stores what was typed.
func (f *wishForm) keep() {
	for i, field := range f.fields {
		f.e.desk.keep(wishDraft(i), field.Text())
	}
	f.e.desk.keep(wishDraft(wishRisk), string(wishRisks[f.risk]))
}

// wish is what the form says.
func (f *wishForm) wish() amp.Wish {
	text := func(i int) string { return strings.TrimSpace(f.fields[i].Text()) }
	return amp.Wish{Text: text(wishText), Repo: text(wishRepo), Branch: text(wishBranch), Risk: wishRisks[f.risk]}
}

// Key edits the form; ctrl+s alone sends it.
func (f *wishForm) Key(k tea.KeyMsg) tea.Cmd {
	switch name := k.String(); {
	case name == "esc", name == "ctrl+c":
		f.keep()
		if f.e.busy != nil && f.sending {
			f.e.busy.cancel()
		}
		f.e.CloseSheet()
		return nil
	case f.looking, f.sending:
		return nil
	case name == "ctrl+s":
		return f.send()
	case name == "ctrl+o":
		return f.e.edit("wish.txt", []byte(f.fields[wishText].Text()), 0, func(got []byte, err error) tea.Msg {
			return pageMsg{f, wroteWishMsg{got, err}}
		})
	case name == "tab", name == "enter" && f.focus != wishText:
		f.focus = (f.focus + 1) % wishFields
	case name == "shift+tab":
		f.focus = (f.focus + wishFields - 1) % wishFields
	case f.focus == wishRisk && (name == "left" || name == "right" || name == " "):
		step := map[bool]int{true: len(wishRisks) - 1, false: 1}[name == "left"]
		f.risk = (f.risk + step) % len(wishRisks)
		f.wrong[wishRisk] = ""
	case f.focus != wishRisk:
		if f.fields[f.focus].Key(k) {
			f.wrong[f.focus] = ""
		}
	}
	f.keep()
	return nil
}

// send looks at the repository first: what cannot be worked in is said at its field before anything is stored.
func (f *wishForm) send() tea.Cmd {
	w := f.wish()
	f.wrong = [wishFields + 1]string{}
	switch {
	case f.e.Off() != "":
		f.wrong[wishFields] = f.e.Off()
		return nil
	case w.Text == "":
		f.blame(wishText, "say what you want done")
		return nil
	case w.Repo == "":
		f.blame(wishRepo, "name the repository to work in")
		return nil
	}
	prepare, ctx := f.e.Prepare, f.e.ctx
	f.looking = true
	return f.e.To(f, func() tea.Msg {
		var err error
		if prepare != nil {
			err = prepare(ctx, &w)
		}
		return preparedMsg{w, err}
	})
}

// blame puts what is wrong at a field, and the cursor there.
func (f *wishForm) blame(field int, why string) {
	f.wrong[field] = why
	if field < wishFields {
		f.focus = field
	}
}

// Update takes the answers to the form's own commands.
func (f *wishForm) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case wroteWishMsg:
		if msg.err != nil {
			f.e.Fail(msg.err)
		} else {
			f.fields[wishText].SetText(strings.TrimRight(string(msg.text), "\n"))
			f.keep()
		}
		return f.e.repaint()
	case preparedMsg:
		f.looking = false
		if msg.err != nil {
			f.failed(msg.err)
			return nil
		}
		return f.submit(msg.wish)
	}
	return nil
}

func (f *wishForm) submit(w amp.Wish) tea.Cmd {
	c := amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &w}, ID: f.e.newID()}
	if s := f.sent; s != nil && *s.Args.Wish == w { // sent again unchanged it is the same wish
		c.ID = s.ID
	}
	cmd := f.e.Submit(c, f.answered)
	f.sent, f.sending = &c, cmd != nil
	return cmd
}

// answered takes the coordinator's answer; what it refuses is said at its field, and the words stay.
func (f *wishForm) answered(en amp.Entry, err error) tea.Cmd {
	f.sending = false
	if err != nil {
		f.failed(err)
		return nil
	}
	f.e.desk.wished = f.fields[wishRepo].Text()
	for i := range wishFields {
		f.e.desk.keep(wishDraft(i), "")
	}
	if f.e.sheet == sheet(f) {
		f.e.CloseSheet()
	}
	f.e.Toast(theme.Good, fmt.Sprintf("%s is entry %s: its plan will need you, in Plans", en.TaskID, seqName(en.Seq)))
	return nil
}

// failed says what is wrong at the field that it is about.
func (f *wishForm) failed(err error) {
	if errors.Is(err, context.Canceled) {
		f.wrong[wishFields] = "you stopped waiting; if it arrived the task is listed, and sending it again is the same wish"
		return
	}
	if g, ok := errors.AsType[*amp.GuardError](err); ok {
		f.blame(map[bool]int{true: wishRepo, false: wishBranch}[g.Branch == ""], g.Why)
		return
	}
	if r, ok := errors.AsType[*amp.RefusedError](err); ok {
		for _, p := range r.Problems {
			f.blame(wishField(p.Field), p.Message)
		}
		return
	}
	why := err.Error()
	if f.e.Explain != nil {
		what, _, next := f.e.Explain(err)
		why = strings.TrimSpace(what + ". " + next)
	}
	f.wrong[wishFields] = why
	f.e.Fail(err)
}

// wishField is the field that a problem names.
func wishField(name string) int {
	switch {
	case strings.HasSuffix(name, "repo"):
		return wishRepo
	case strings.HasSuffix(name, "branch"):
		return wishBranch
	case strings.HasSuffix(name, "risk_level"):
		return wishRisk
	case strings.HasSuffix(name, "wish"), strings.HasSuffix(name, "text"):
		return wishText
	}
	return wishFields
}

// Typing reports that letters go into the fields.
func (f *wishForm) Typing() bool { return f.focus != wishRisk }

// Height is the text of the wish, the other fields and the frame.
func (f *wishForm) Height(w int) int {
	text := len(ui.Wrap(f.fields[wishText].Text(), max(w-6, 1)))
	return min(max(text, 3), 10) + 6
}

// Render draws the fields, each with what is wrong with it; on a low screen only the one with the focus.
func (f *wishForm) Render(w, h int) *ui.Block {
	th := f.e.Theme
	b := ui.NewBlock(th, w).Rule("New wish", f.state())
	hint := " tab field · ctrl+o $EDITOR · ctrl+s send · esc keeps it as a draft"
	if h < 8 {
		f.field(b, f.focus, max(h-2, 1))
		return b.Fit(max(h-1, 0)).Say(theme.Muted, hint).Fit(h)
	}
	for i := range wishFields {
		f.field(b, i, h-6)
	}
	if why := f.wrong[wishFields]; why != "" {
		b.Say(theme.Danger, "  "+why)
	}
	return b.Fit(h-1).Say(theme.Muted, hint).Fit(h)
}

// state is what the form does now.
func (f *wishForm) state() string {
	switch {
	case f.looking:
		return "looking at the repository"
	case f.sending:
		return "sending"
	}
	return "a planner makes a plan of it; nothing starts before you approve that"
}

// field draws one field in at most rows rows.
func (f *wishForm) field(b *ui.Block, i, rows int) {
	th, on := f.e.Theme, f.focus == i
	gutter := ui.Gutter(th, on)
	wrong := ""
	if f.wrong[i] != "" {
		wrong = "  " + th.S(theme.Danger, th.Signs.No+" "+ui.Safe(f.wrong[i]))
	}
	switch i {
	case wishText:
		for n, row := range f.fields[i].Rows(th, max(b.Width()-4, 1), max(rows, 1), on) {
			if n > 0 {
				gutter = "  "
			}
			b.Add(gutter + th.S(theme.Line, th.Signs.Bar) + " " + row)
		}
		if wrong != "" {
			b.Add(wrong)
		}
	case wishRisk:
		var all []string
		for n, r := range wishRisks {
			word := cmp.Or(string(r), "planner says")
			if n == f.risk {
				word = "[" + th.S(theme.Strong, word) + "]"
			}
			all = append(all, word)
		}
		b.Add(gutter + ui.Pad("risk", 11) + strings.Join(all, "  ") + wrong)
	default:
		b.Add(gutter + ui.Pad(f.fields[i].Label, 11) + f.fields[i].Row(th, max(b.Width()-15-min(ui.Width(wrong), b.Width()/2), 8), on) + wrong)
	}
}
