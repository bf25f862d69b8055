package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/tuitest"
)

// walker is a model without a program whose commands are run at once.
type walker struct {
	*model
	script *tuitest.Script
	left   bool // the program was told to end
}

func walk(t *testing.T, s *tuitest.Script, w, h int, change ...func(*Config)) *walker {
	t.Helper()
	k := &walker{model: still(t, s, w, h, change...), script: s}
	k.env.copied = func(text string) string { return "copied " + text }
	return k
}

// do hands in a message and runs what follows from it, a few steps far: clocks would go on for ever.
func (k *walker) do(msg tea.Msg) {
	_, cmd := k.Update(msg)
	k.follow(cmd, 6)
}

func (k *walker) follow(cmd tea.Cmd, deep int) {
	if cmd == nil || deep == 0 {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			k.follow(c, deep)
		}
	case tea.QuitMsg:
		k.left = true
	case frameMsg, wakeMsg, nil:
	default:
		k.left = k.left || fmt.Sprintf("%T", msg) == "tea.execMsg" // an editor was opened
		_, next := k.Update(msg)
		k.follow(next, deep-1)
	}
}

func (k *walker) to(at Place) {
	k.follow(k.env.Go(at), 6)
	k.do(nil)
}

func (k *walker) press(keys ...string) *walker {
	for _, name := range keys {
		k.do(namedKey(name))
	}
	return k
}

// namedKey is the message of a key by its name.
func namedKey(name string) tea.KeyMsg {
	for t := tea.KeyType(-120); t <= 127; t++ {
		if k := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && k.String() == name {
			return k
		}
	}
	if name == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// seen is all that a key can change: the place, the frame without passing messages, what is open over it, and what was sent.
func (k *walker) seen() string {
	k.env.toasts.Clear()
	k.gate.urgent()
	k.do(nil)
	return fmt.Sprint(k.nav.top().at, k.left, k.overlay != nil, k.env.sheet != nil, len(k.script.Sent()), len(k.env.requests), k.script.Queries(amp.QueryDiff), "\n", k.View())
}

// said are the passing messages on the screen.
func (k *walker) said() string {
	var all []string
	for _, o := range k.env.toasts.Take() {
		all = append(all, o.Text)
	}
	return strings.Join(all, "; ")
}

func (k *walker) offers() []action.Hint {
	if k.sink() != nil {
		return nil // a text field has the keys
	}
	return k.offered(k.keyHeight())
}

// screenStates are the states that a screen can be in when it offers its keys.
var screenStates = []struct {
	name string
	make func() *tuitest.Script
	then func(k *walker)
}{
	{"nothing yet", func() *tuitest.Script { return tuitest.NewScript(begin) }, nil},
	{"full", busy, nil},
	{"refusals", refusals, nil},
	{"diffs", func() *tuitest.Script {
		s := busy()
		for _, id := range s.Board().Order {
			s.SetDiff(id, plainDiff)
		}
		return s
	}, nil},
	{"one", func() *tuitest.Script {
		s := tuitest.NewScript(begin)
		s.NewTask("One plan").Propose()
		return s
	}, nil},
	{"at the end", busy, func(k *walker) { k.press("G") }},
	{"the other pane", busy, func(k *walker) { k.press("tab") }},
	{"no match", busy, func(k *walker) { k.press("/", "z", "z", "q", "z", "enter") }},
	{"a match", busy, func(k *walker) { k.press("/", "t", "h", "e", "enter") }},
	{"offline", busy, func(k *walker) { k.connected(connState{phase: offline}) }},
	{"read-only", busy, func(k *walker) { k.press("!") }},
	{"everything stopped", func() *tuitest.Script {
		s := busy()
		s.Append(amp.KindCommand, "", amp.Admin, "mira", amp.EncodeBody(&amp.Command{ID: "s", Command: amp.StopAll, By: "mira"}))
		return s
	}, nil},
}

// plainDiff is of files that no highlighter knows: those keep clocks that outlive a test.
const plainDiff = "diff --git a/one.zzz b/one.zzz\nindex 1111111..2222222 100644\n--- a/one.zzz\n+++ b/one.zzz\n" +
	"@@ -3,3 +3,4 @@\n the first line\n-old line\n+new line\n+one more\n the last line\n" +
	"diff --git a/two.zzz b/two.zzz\nindex 1111111..2222222 100644\n--- a/two.zzz\n+++ b/two.zzz\n@@ -1 +1 @@\n-a\n+b\n"

// screenPlaces are the places of a script: every tab, and what can be opened from them.
func screenPlaces(s *tuitest.Script) []Place {
	all := []Place{
		{Kind: KindNow},
		{Kind: KindTasks},
		{Kind: KindInbox},
		{Kind: KindPlans},
		{Kind: KindHistory},
		{Kind: KindAgents},
		{Kind: KindErrors},
		{Kind: KindFailures},
		{Kind: KindEscalations},
		{Kind: KindLetters},
	}
	if h := s.Board().Head.Seq; h > 0 {
		all = append(all, Place{Kind: KindEntry, ID: "1", Seq: 1}, Place{Kind: KindEntry, Seq: h})
	}
	once := map[string]bool{} // one of each sort is enough
	add := func(sort string, at Place) {
		if !once[sort] {
			once[sort] = true
			all = append(all, at)
		}
	}
	for _, id := range s.Board().Order {
		t := s.Task(id)
		for _, n := range t.Needs() {
			add(string(n.Kind)+n.What, newNeed(n).Place())
		}
		add("diff", Place{Kind: KindDiff, ID: string(id)})
		if t.Turn != nil {
			add("turn", turnPlace(id, t.Turn.TurnID))
		}
		if slices.Contains([]amp.Status{amp.Drafting, amp.Executing, amp.Reviewing, amp.Locked, amp.Delivered}, t.Status) {
			add("task "+string(t.Status), Place{Kind: KindTask, ID: string(id)})
		}
		if t.Plan != nil && t.Status == amp.Executing {
			add("plan", Place{Kind: KindPlan, ID: string(id)})
		}
	}
	return all
}

// What a footer offers does something, on every screen in every state: a key that leads nowhere is not offered.
func TestOffer_everyKeyDoesSomething(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {140, 40}} {
		for _, state := range screenStates {
			t.Run(fmt.Sprintf("%s/%d", state.name, size[0]), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					script := state.make()
					for _, at := range screenPlaces(script) {
						pressAll(t, at, func() *walker {
							if len(script.Sent()) > 0 {
								script = state.make()
							}
							k := walk(t, script, size[0], size[1], func(c *Config) { c.Letters = threeLetters() })
							k.to(at)
							if state.then != nil {
								state.then(k)
							}
							k.seen() // what is offered follows what is drawn
							return k
						})
					}
				})
			})
		}
	}
}

// pressAll presses each key that a screen offers, every time on a screen of its own.
func pressAll(t *testing.T, at Place, fresh func() *walker) {
	t.Helper()
	for i, h := range fresh().offers() {
		k := fresh()
		before := k.seen()
		k.do(namedKey(strings.Fields(h.Key)[0]))
		said := k.said()
		if after := k.seen(); after == before && !strings.HasPrefix(said, "copied") && !strings.HasPrefix(said, "no other") {
			t.Errorf("%v offers %q (%s, the %d.): nothing changed; it said %q", at, h.Key, h.Text, i+1, said)
		}
	}
}
