package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// keeping is a still model over the scene that keeps its state in dir.
func keeping(t *testing.T, dir string) *model {
	t.Helper()
	return stillWith(t, tuitest.Scene(), 80, 24, theme.Default(), func(p *parts) { p.state = openState(dir, "/data/a") })
}

// rest lets the person rest, so that the state is written.
func rest(t *testing.T, m *model) error {
	t.Helper()
	_, cmd := m.Update(stateMsg{})
	var err error
	run(cmd, func(msg tea.Msg) {
		if w, ok := msg.(stateWrittenMsg); ok {
			err = w.err
			m.Update(w)
		}
	})
	return err
}

// run does a command and all that it is made of.
func run(cmd tea.Cmd, each func(tea.Msg)) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			run(c, each)
		}
	default:
		each(msg)
	}
}

func press(m *model, keys ...string) {
	for _, k := range keys {
		m.Update(key(k))
	}
}

func TestState_comesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := keeping(t, dir)
	press(m, "2", "s", "/", "w", "a", "l", "enter")
	m.env.desk.keep("approve T-2026-011", "not yet\nsure")
	sub := m.env.Board.Task("T-2026-011").Plan.Subtasks[0]
	m.env.desk.reading("T-2026-011").saw(sub)
	m.env.desk.reading("T-2026-011").spent = 90 * time.Second
	m.env.Go(Place{Kind: KindTask, ID: "T-2026-012"})
	m.history = []string{"#12"}
	if err := rest(t, m); err != nil {
		t.Fatal(err)
	}

	m = keeping(t, dir)
	if got := m.nav.top().at; got != (Place{Kind: KindTask, ID: "T-2026-012"}) {
		t.Errorf("it begins at %+v", got)
	}
	press(m, "esc")
	if rows := m.View(); !strings.Contains(rows, "Tasks 1 of 16") || !strings.Contains(rows, "id ▾") {
		t.Errorf("filter and order are gone:\n%s", rows)
	}
	if got := m.env.desk.draft("approve T-2026-011"); got != "not yet\nsure" {
		t.Errorf("the draft is %q", got)
	}
	if r := m.env.desk.reading("T-2026-011"); !r.has(sub) || r.spent != 90*time.Second {
		t.Errorf("the read marks are %+v", r)
	}
	if len(m.history) != 1 || m.history[0] != "#12" {
		t.Errorf("the palette remembers %q", m.history)
	}
	if other := openState(dir, "/data/b"); other.parts != nil || other.damage != nil {
		t.Errorf("another data directory has %v, %v", other.parts, other.damage)
	}
}

// A change of the plan's text makes its mark worthless, also over a restart.
func TestState_readMarksAreOfTheText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := keeping(t, dir)
	sub := m.env.Board.Task("T-2026-011").Plan.Subtasks[0]
	m.env.desk.reading("T-2026-011").saw(sub)
	if err := rest(t, m); err != nil {
		t.Fatal(err)
	}
	sub.Description += " and delete everything"
	if keeping(t, dir).env.desk.reading("T-2026-011").has(sub) {
		t.Error("a changed subtask counts as read")
	}
}

// The repository of a wish that is not sent yet goes with its words; without words it is that of the folder of the start.
func TestState_repositoryOfAWish(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := func(repo string) *model {
		return stillWith(t, tuitest.Scene(), 80, 24, theme.Default(), func(p *parts) { p.state = openState(dir, "/data/a") },
			func(c *Config) { c.Repo = repo })
	}
	shown := func(m *model) string { return m.env.sheet.(*wishForm).fields[wishRepo].Text() }
	for _, c := range []struct{ repo, write, want string }{
		{"/src/a", "", "/src/a"},
		{"/src/b", "x", "/src/b"},
		{"/src/c", "", "/src/b"},
	} {
		m := from(c.repo)
		press(m, "n")
		if got := shown(m); got != c.want {
			t.Errorf("started in %s the form names %q, want %s", c.repo, got, c.want)
		}
		for _, k := range c.write {
			press(m, string(k))
		}
		press(m, "esc")
		if err := rest(t, m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestState_openWins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := keeping(t, dir)
	press(m, "2")
	if err := rest(t, m); err != nil {
		t.Fatal(err)
	}
	m = stillWith(t, tuitest.Scene(), 80, 24, theme.Default(), func(p *parts) { p.state = openState(dir, "/data/a") },
		func(c *Config) { c.Open = "plans" })
	if got := m.nav.top().at.Kind; got != KindPlans {
		t.Errorf("--open plans begins at %s", got)
	}
}

func TestState_damaged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"no JSON":       {"{\"version\":1,", "does not parse"},
		"empty":         {"", "does not parse"},
		"newer":         {`{"version":2,"homes":{}}`, "has version 2, this program knows 1"},
		"twice a name":  {`{"version":1,"homes":{"/data/a":{"parts":{}},"/data/a":{}}}`, "does not parse"},
		"another shape": {`{"version":1,"homes":[]}`, "does not parse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, stateName)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			m := keeping(t, dir)
			if !strings.Contains(m.View(), "[1 Now]") || len(m.env.errors) != 1 || !strings.Contains(m.env.errors[0].What, c.says) {
				t.Errorf("it says %+v", m.env.errors)
			}
			press(m, "2")
			if err := rest(t, m); err != nil {
				t.Error(err)
			}
			if err := m.saveNow(); err != nil || len(m.env.errors) != 1 {
				t.Error(err, m.env.errors)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != c.text {
				t.Errorf("the file became %q, %v", got, err)
			}
		})
	}
}

// A part that makes no sense is as good as none; the others count.
func TestState_oddParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{"version":1,"homes":{"/data/a":{"parts":{
		"place":{"way":[{"kind":"tasks"},{"kind":"task","id":"T-2026-999"}]},"tasks":{"sort":"colour","filter":7},
		"drafts":["x"],"reads":{"T-2026-011":{"spent_s":-5,"upto":null}},"palette":{"history":["\u001b[2J"]},"later":{"a":1}}}}}`
	if err := os.WriteFile(filepath.Join(dir, stateName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := keeping(t, dir)
	if got := m.nav.top().at; got != (Place{Kind: KindTasks}) || len(m.env.errors) != 0 {
		t.Errorf("it begins at %+v with %v", got, m.env.errors)
	}
	press(m, ":", "x")
	m.Update(tea.KeyMsg{Type: tea.KeyUp})
	checkFrame(t, m, "palette")
	press(m, "esc")
	if err := rest(t, m); err != nil {
		t.Fatal(err)
	}
	if got := string(openState(dir, "/data/a").parts["later"]); got != `{"a":1}` {
		t.Errorf("a part of a later version became %q", got)
	}
}

func TestState_twoPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two, other := openState(dir, "/data/a"), openState(dir, "/data/a"), openState(dir, "/data/b")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, err := range []error{
		one.write(2, map[string]jsontext.Value{"x": jsontext.Value(`{"n":1}`)}, now),
		two.write(1, map[string]jsontext.Value{"y": jsontext.Value(`{"n":2}`)}, now),
		other.write(1, map[string]jsontext.Value{"x": jsontext.Value(`{"n":3}`)}, now),
		one.write(1, map[string]jsontext.Value{"x": jsontext.Value(`{"n":0}`)}, now), // overtaken
		two.write(2, map[string]jsontext.Value{"y": nil}, now),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := openState(dir, "/data/a").parts
	if len(got) != 1 || string(got["x"]) != `{"n":1}` || string(openState(dir, "/data/b").parts["x"]) != `{"n":3}` {
		t.Errorf("the file holds %s", got)
	}
	info, err := os.Stat(filepath.Join(dir, stateName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, stateName+".[0-9]*")); len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
}

func TestState_manyHomes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range maxHomes + 3 {
		f := openState(dir, filepath.Join("/data", string(rune('A'+i))))
		if err := f.write(1, map[string]jsontext.Value{"x": jsontext.Value(`1`)}, now.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if openState(dir, "/data/C").parts != nil || openState(dir, "/data/D").parts == nil {
		t.Error("not the data directory that was not used for longest was forgotten")
	}
}

// A folder that can not be written is said once, and the screens go on.
func TestState_unwritable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	m := keeping(t, filepath.Join(file, "sub")) // not there yet: nothing is wrong
	if len(m.env.errors) != 0 {
		t.Fatalf("it says %v", m.env.errors)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		press(m, "2", "s")
		if err := rest(t, m); err == nil {
			t.Error("it was written below a file")
		}
	}
	if len(m.env.errors) != 1 || !strings.Contains(m.env.errors[0].What, "keep the state of the screens") {
		t.Errorf("it says %+v", m.env.errors)
	}
}

// A second after the last of many keys the state is written once; then nothing ticks any more.
func TestState_debounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		m := keeping(t, dir)
		ticks := 0
		var due []tea.Cmd
		for range 20 {
			m.Update(key("j"))
			if cmd := m.stirred(); cmd != nil {
				t.Error("a second timer was started")
			}
		}
		m.env.saved.ticking = false
		if cmd := m.stirred(); cmd != nil {
			due = append(due, cmd)
		}
		begin := time.Now()
		for _, c := range due {
			if _, ok := c().(stateMsg); ok {
				ticks++
			}
		}
		if ticks != 1 || time.Since(begin) != stateAfter {
			t.Errorf("%d timers, after %v", ticks, time.Since(begin))
		}
		if err := rest(t, m); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(filepath.Join(dir, stateName))
		if err != nil {
			t.Fatal(err)
		}
		if _, cmd := m.Update(stateMsg{}); m.env.saved.unsaved {
			t.Errorf("nothing changed and it is unsaved: %v", cmd)
		}
		if err := rest(t, m); err != nil {
			t.Fatal(err)
		}
		if after, _ := os.Stat(filepath.Join(dir, stateName)); !os.SameFile(before, after) {
			t.Error("it was written though nothing changed")
		}
	})
}

func TestState_atTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := keeping(t, dir)
	m.env.desk.keep("k", "typed a moment ago")
	if err := m.saveNow(); err != nil {
		t.Fatal(err)
	}
	if got := keeping(t, dir).env.desk.draft("k"); got != "typed a moment ago" {
		t.Errorf("the draft is %q", got)
	}
	if got := amp.TaskID("T-2026-011"); keeping(t, dir).env.Board.Task(got) == nil {
		t.Error("the scene has no such task")
	}
}
