package bar

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

var t0 = time.Date(2026, 3, 1, 14, 32, 7, 0, time.UTC)

const content = "9f3c71d044be0d17c2f8b35e07a4d9e681b3f25ce60c9a372d1f48b05be2a91c"

func key(name string) tea.KeyMsg {
	switch name {
	case "enter":
		return tea.KeyMsg{Type: tea.KeyEnter}
	case "esc":
		return tea.KeyMsg{Type: tea.KeyEsc}
	case "tab":
		return tea.KeyMsg{Type: tea.KeyTab}
	case "shift+tab":
		return tea.KeyMsg{Type: tea.KeyShiftTab}
	case "left":
		return tea.KeyMsg{Type: tea.KeyLeft}
	case "right":
		return tea.KeyMsg{Type: tea.KeyRight}
	case "up":
		return tea.KeyMsg{Type: tea.KeyUp}
	case "down":
		return tea.KeyMsg{Type: tea.KeyDown}
	case "backspace":
		return tea.KeyMsg{Type: tea.KeyBackspace}
	case "ctrl+c":
		return tea.KeyMsg{Type: tea.KeyCtrlC}
	case "ctrl+j":
		return tea.KeyMsg{Type: tea.KeyCtrlJ}
	case "space":
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	if rest, ok := strings.CutPrefix(name, "alt+"); ok {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rest), Alt: true}
	}
	if rest, ok := strings.CutPrefix(name, "paste:"); ok {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rest), Paste: true}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

func low() Ask {
	return Ask{
		Title: "Resume T-2026-040?", Confirm: "Resume", Risk: Low, After: "runs 10 s after that, u takes it back",
		Rows: []Row{
			{"will", []string{"epoch 2", "task_dispatch again to codex"}},
			{"will not", []string{"merge", "push"}},
			{"expects", []string{"status suspended", "revision 9"}},
		},
	}
}

func high() Ask {
	a := low()
	a.Title, a.Confirm, a.Risk, a.Content, a.Of = "Approve T-2026-051 r4?", "Approve", High, content, "content"
	a.Note = "read 5/5 in 3m 12s"
	return a
}

func batch() Ask {
	a := low()
	a.Title, a.Confirm, a.Count, a.Verb = "Approve 6 plans?", "Approve", 6, "approve"
	return a
}

// later is a moment when the bar has been left alone for long.
func later(n int) time.Time { return t0.Add(time.Duration(n) * time.Second) }

// run presses keys a second apart and returns the last event.
func run(b *Bar, keys ...string) Event {
	var e Event
	for i, k := range keys {
		e = b.Key(key(k), later(i+1))
	}
	return e
}

func TestBar_keys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ask  Ask
		keys []string
		want Kind
		why  string // part of it
	}{
		"cancel has the focus":             {low(), []string{"enter"}, Cancelled, ""},
		"tab, enter":                       {low(), []string{"tab", "enter"}, Confirmed, ""},
		"right, enter":                     {low(), []string{"right", "enter"}, Confirmed, ""},
		"and back":                         {low(), []string{"right", "left", "enter"}, Cancelled, ""},
		"arrows do not go around":          {low(), []string{"left", "left", "enter"}, Cancelled, ""},
		"esc":                              {low(), []string{"tab", "esc"}, Cancelled, ""},
		"ctrl+c":                           {low(), []string{"tab", "ctrl+c"}, Cancelled, ""},
		"space does not press":             {low(), []string{"tab", "space"}, Ignored, ""},
		"y does not press":                 {low(), []string{"tab", "y"}, Ignored, ""},
		"A does not press":                 {low(), []string{"tab", "A"}, Ignored, ""},
		"ctrl+j does not press":            {low(), []string{"tab", "ctrl+j"}, Ignored, ""},
		"a paste does not press":           {low(), []string{"tab", "paste:\r"}, Ignored, "pasting"},
		"a burst does not press":           {low(), []string{"tab", "AAA"}, NotArmed, "typed ahead"},
		"high: digits are needed":          {high(), []string{"right", "enter"}, Refused, "type the last four digits of content"},
		"high: three are too few":          {high(), []string{"a", "9", "1", "right", "enter"}, Refused, "type the last"},
		"high: wrong ones":                 {high(), []string{"a", "9", "1", "d", "right", "enter"}, Refused, "not those of content"},
		"high: right ones":                 {high(), []string{"a", "9", "1", "c", "right", "enter"}, Confirmed, ""},
		"high: capitals are digits too":    {high(), []string{"A", "9", "1", "C", "right", "enter"}, Confirmed, ""},
		"high: corrected":                  {high(), []string{"a", "9", "2", "backspace", "1", "c", "right", "enter"}, Confirmed, ""},
		"high: pasted digits do not count": {high(), []string{"paste:a91c", "right", "enter"}, Refused, "type"},
		"high: a burst of digits does not": {high(), []string{"a91c", "right", "enter"}, Refused, "type"},
		"high: a fifth digit is refused":   {high(), []string{"a", "9", "1", "c", "c"}, Ignored, "backspace"},
		"high: enter on cancel leaves":     {high(), []string{"a", "9", "1", "c", "enter"}, Cancelled, ""},
		"batch: phrase":                    {batch(), []string{"a", "p", "p", "r", "o", "v", "e", "space", "6", "right", "enter"}, Confirmed, ""},
		"batch: another count":             {batch(), []string{"a", "p", "p", "r", "o", "v", "e", "space", "7", "right", "enter"}, Refused, "type: approve 6"},
		"batch: nothing typed":             {batch(), []string{"right", "enter"}, Refused, "approve 6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := run(Open(tc.ask, "", t0), tc.keys...)
			if e.Kind != tc.want || !strings.Contains(e.Why, tc.why) {
				t.Errorf("%v gave %v %q, want %v %q", tc.keys, e.Kind, e.Why, tc.want, tc.why)
			}
			if e.Kind == Confirmed && tc.ask.Risk == High && e.Digits != "a91c" {
				t.Errorf("the digits are %q, want a91c", e.Digits)
			}
		})
	}
}

func TestBar_never(t *testing.T) {
	t.Parallel()
	noContent := high()
	noContent.Content = ""
	off := low()
	off.Off = "task moved: r5 arrived"
	big, riskyBatch := batch(), batch()
	big.Count, riskyBatch.Risk = 11, Medium
	for name, tc := range map[string]struct {
		ask Ask
		why string
	}{
		"high without content": {noContent, "no content"}, "off": {off, "r5 arrived"}, "batch of 11": {big, "10 at most"},
		"batch of medium risk": {riskyBatch, "low risk only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := Open(tc.ask, "", t0)
			if e := run(b, "right", "enter"); e.Kind != Refused || !strings.Contains(e.Why, tc.why) {
				t.Errorf("it gave %v %q, want a refusal with %q", e.Kind, e.Why, tc.why)
			}
			if text := screen(b, 80, 20, later(9)); !strings.Contains(text, tc.why) {
				t.Errorf("the bar does not say %q:\n%s", tc.why, text)
			}
		})
	}
}

func TestBar_arms(t *testing.T) {
	t.Parallel()
	ms := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Millisecond) }
	b := Open(low(), "", t0)
	for _, tc := range []struct {
		at   int
		key  string
		want Kind
	}{
		{0, "tab", NotArmed}, {399, "enter", NotArmed}, // the delay starts again
		{798, "tab", NotArmed}, {1198, "tab", Changed}, {1199, "enter", Confirmed},
	} {
		if e := b.Key(key(tc.key), ms(tc.at)); e.Kind != tc.want {
			t.Errorf("%s at %d ms gave %v, want %v", tc.key, tc.at, e.Kind, tc.want)
		}
	}
	if e := Open(low(), "", t0).Key(key("esc"), t0); e.Kind != Cancelled {
		t.Errorf("esc before it is armed gave %v, want cancelled: the safe side is always open", e.Kind)
	}
}

func TestBar_changeDisarms(t *testing.T) {
	t.Parallel()
	b := Open(high(), "", t0)
	run(b, "a", "9", "1", "c", "right")
	changed := high()
	changed.Rows = append(changed.Rows, Row{"expects", []string{"r5"}})
	if b.Update(high(), later(6)) {
		t.Error("the same ask counts as a change")
	}
	if !b.Update(changed, later(6)) {
		t.Fatal("another ask is no change")
	}
	if e := b.Key(key("enter"), later(6).Add(ArmDelay-time.Millisecond)); e.Kind != NotArmed {
		t.Errorf("enter after the change gave %v", e.Kind)
	}
	if b.Focused() != "Cancel" {
		t.Errorf("the focus is on %s", b.Focused())
	}
	b.Key(key("right"), later(8))
	if e := b.Key(key("enter"), later(9)); e.Kind != Refused {
		t.Errorf("the digits of the former content still count: %v", e.Kind)
	}
}

func TestBar_askIsACopy(t *testing.T) {
	t.Parallel()
	a := low()
	b := Open(a, "", t0)
	a.Rows[0].Items[0] = "merge to main"
	if !b.Update(a, later(1)) {
		t.Error("a change in the caller's slice goes unseen")
	}
}

func TestBar_text(t *testing.T) {
	t.Parallel()
	a := low()
	a.Text, a.Required, a.Templates = "Reason", true, []string{"split S3", "tests are missing"}
	b := Open(a, "", t0)
	if e := run(b, "right", "enter"); e.Kind != Refused || !strings.Contains(e.Why, "reason is required") {
		t.Errorf("without a reason it gave %v %q", e.Kind, e.Why)
	}
	b = Open(a, "", t0)
	run(b, "shift+tab")
	if !b.Typing() {
		t.Fatalf("the focus is on %s, want the text", b.Focused())
	}
	now := later(10)
	for _, k := range []string{"alt+1", "space", "y", "paste:\rA\r", "enter", "jjj"} {
		if e := b.Key(key(k), now); e.Kind != Changed {
			t.Errorf("%q in the text gave %v", k, e.Kind)
		}
	}
	b.Key(key("tab"), now)
	b.Key(key("tab"), now)
	e := b.Key(key("enter"), now)
	if want := "split S3 y\nA\n\njjj"; e.Kind != Confirmed || e.Text != want {
		t.Errorf("it gave %v %q, want confirmed %q", e.Kind, e.Text, want)
	}
	if again := Open(a, b.Draft(), t0); again.Draft() != b.Draft() {
		t.Error("the draft is lost")
	}
}

func TestBar_stopAll(t *testing.T) {
	t.Parallel()
	a := low()
	a.ActIsSafe, a.Confirm = true, "Stop"
	b := Open(a, "", t0)
	if e := b.Key(key("enter"), t0); e.Kind != NotArmed {
		t.Errorf("even stop-all has the delay, it gave %v", e.Kind)
	}
	if e := b.Key(key("enter"), later(2)); e.Kind != Confirmed {
		t.Errorf("enter gave %v, want the stop", e.Kind)
	}
}

func TestBar_mouse(t *testing.T) {
	t.Parallel()
	if e := Open(low(), "", t0).Mouse(); e.Kind != Ignored {
		t.Errorf("a click gave %v", e.Kind)
	}
}

func screen(b *Bar, w, h int, now time.Time) string {
	return ansi.Strip(strings.Join(b.Render(theme.Default(), w, h, now).Rows(), "\n"))
}

func TestBar_render(t *testing.T) {
	t.Parallel()
	b := Open(high(), "", t0)
	text := screen(b, 80, 20, t0)
	for _, want := range []string{
		"─ Approve T-2026-051 r4? ─", "armed in 0.4 s ─", "  will      epoch 2 · task_dispatch again to codex",
		"  will not  merge · push", "  content   9f3c71d0 44be0d17", "risk HIGH: type the last four digits of content   _ _ _ _",
		"  read 5/5 in 3m 12s", "[ Cancel ]   Approve", "tab choose · ↵ confirm · esc cancel · runs 10 s after that, u takes it back",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the bar does not show %q:\n%s", want, text)
		}
	}
	b.Key(key("a"), later(1))
	b.Key(key("9"), later(2))
	b.Key(key("right"), later(3))
	text = screen(b, 80, 20, later(4))
	for _, want := range []string{"armed ● ─", "a 9 _ _", "Cancel   [ Approve ]"} {
		if !strings.Contains(text, want) {
			t.Errorf("the bar does not show %q:\n%s", want, text)
		}
	}
}

// TestBar_unread: what does not fit must have been on the screen before anything is confirmed.
func TestBar_unread(t *testing.T) {
	t.Parallel()
	a := low()
	for range 20 {
		a.Rows = append(a.Rows, Row{"will", []string{"delete one more file"}})
	}
	b := Open(a, "", t0)
	b.Render(theme.Default(), 80, 12, later(1))
	b.Key(key("right"), later(1))
	if e := b.Key(key("enter"), later(2)); e.Kind != Refused || !strings.Contains(e.Why, "not on the screen") {
		t.Fatalf("enter on unread rows gave %v %q", e.Kind, e.Why)
	}
	for i := range 20 {
		b.Key(key("down"), later(3+i))
		b.Render(theme.Default(), 80, 12, later(3+i))
	}
	if e := b.Key(key("enter"), later(40)); e.Kind != Confirmed {
		t.Errorf("after scrolling it gave %v %q", e.Kind, e.Why)
	}
}

func TestBar_exactSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		a := high()
		a.Title, a.Off = rapid.String().Draw(r, "title"), rapid.SampledFrom([]string{"", "task\x1b[2J moved"}).Draw(r, "off")
		a.Text = rapid.SampledFrom([]string{"", "Reason"}).Draw(r, "text")
		w, h := rapid.IntRange(1, 160).Draw(r, "w"), rapid.IntRange(1, 40).Draw(r, "h")
		b := Open(a, rapid.String().Draw(r, "draft"), t0)
		for i := range rapid.IntRange(0, 6).Draw(r, "keys") {
			b.Key(key(rapid.SampledFrom([]string{"tab", "right", "a", "enter", "down"}).Draw(r, "key")), later(i+1))
		}
		rows := b.Render(theme.Default(), w, h, later(9)).Rows()
		if len(rows) != h {
			r.Fatalf("%d rows, want %d", len(rows), h)
		}
		for _, row := range rows {
			if ui.Width(row) != w {
				r.Fatalf("a row of %d cells, want %d: %q", ui.Width(row), w, row)
			}
		}
	})
}

// TestBar_onlyEnter: whatever is pressed, nothing is confirmed but by enter on the button, armed, with the
// right digits typed one by one.
func TestBar_onlyEnter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := Open(high(), "", t0)
		now, quiet := t0, t0
		for range rapid.IntRange(1, 40).Draw(r, "n") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 100, 399, 400, 900}).Draw(r, "ms")) * time.Millisecond)
			k := rapid.SampledFrom([]string{"a", "9", "1", "c", "right", "left", "tab", "enter", "space", "y", "paste:a91c", "a91c", "backspace"}).Draw(r, "key")
			focus := b.Focused()
			e := b.Key(key(k), now)
			if e.Kind == NotArmed {
				quiet = now
			}
			if e.Kind == Cancelled {
				return
			}
			if e.Kind == Confirmed {
				if k != "enter" || focus != "Approve" || e.Digits != "a91c" || now.Sub(quiet) < ArmDelay {
					r.Fatalf("%s with the focus on %s confirmed %q %v after the last swallowed key", k, focus, e.Digits, now.Sub(quiet))
				}
				return
			}
		}
	})
}

// A template is one key from wherever the focus is, and a missing text says which key writes it.
func TestBar_templates(t *testing.T) {
	t.Parallel()
	ask := low()
	ask.Text, ask.Required, ask.Templates = "Reason", true, []string{"too large", "no tests"}
	b := Open(ask, "", t0)
	if e := run(b, "right", "enter"); !strings.Contains(e.Why, "reason is required: i writes it") {
		t.Errorf("without a reason: %+v", e)
	}
	if e := run(b, "alt+2", "tab", "tab", "enter"); e.Kind != Confirmed || b.Draft() != "no tests" {
		t.Errorf("with the second template: %+v, text %q", e, b.Draft())
	}
	b = Open(ask, "no tests", t0)
	if e := run(b, "alt+3"); e.Kind == Changed || b.Draft() != "no tests" {
		t.Errorf("a template that is not there: %+v, text %q", e, b.Draft())
	}
}

// What a decision leads to is never cut: where the row is too short, the keys that anybody guesses are left out.
func TestBar_hint(t *testing.T) {
	t.Parallel()
	ask := high()
	ask.Text = "Guidance"
	for w, want := range map[int]string{
		100: " i write · tab choose · ↵ confirm · esc cancel · runs 10 s after that, u takes it back ",
		80:  " i write · tab choose · ↵ confirm · runs 10 s after that, u takes it back ",
		60:  " i write · runs 10 s after that, u takes it back",
	} {
		if text := screen(Open(ask, "", t0), w, 24, t0); !strings.Contains(text, want) {
			t.Errorf("at %d cells %q is missing:\n%s", w, want, text)
		}
	}
}

// However few rows of the facts are on the screen, the bar says which.
func TestBar_fewRows(t *testing.T) {
	t.Parallel()
	for h, want := range map[int]string{7: "  rows 1-2 of 5 · ", 6: "  row 1 of 5 · ", 5: "  no row of 5 · "} {
		if text := screen(Open(high(), "", t0), 60, h, t0); !strings.Contains(text, want) {
			t.Errorf("with %d rows %q is missing:\n%s", h, want, text)
		}
	}
}
