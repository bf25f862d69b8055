package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// exported is the text of the only file in a folder with that end.
func exported(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exporting is a screen whose exports go to the folder.
func exporting(t *testing.T, s *tuitest.Script, w, h int) (*seat, string) {
	t.Helper()
	dir := t.TempDir()
	return start(t, s, w, h, func(c *Config) { c.Exports = dir }), dir
}

// as exports the view on the screen.
func (s *seat) as(form string) *seat {
	s.t.Helper()
	s.Press("ctrl+e").WaitFor("Export ")
	s.Burst(form)
	s.Press("enter")
	return s
}

func TestExport_everyForm(t *testing.T) {
	t.Parallel()
	s, dir := exporting(t, tuitest.Scene(), 140, 16) // fewer rows than tasks: an export is not what fits
	s.Press("2").WaitFor("[2 Tasks")
	s.as("txt").WaitFor("✓ arbiter-tasks-20260226-143207.txt: 16 rows, ")
	text := exported(t, dir, "*.txt")
	for _, want := range []string{
		"arbiter: tasks\nquery: order work\nexported: 2026-02-26T14:32:07Z, journal head #193 4827b1bc, by mira\n",
		"\nTASK        STATUS ", "\nT-2026-001  ", "\nT-2026-016  ", "Watch breathing timer",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	s.as("json").WaitFor("143207.json")
	var got struct {
		View  string              `json:"view"`
		Query string              `json:"query"`
		Rows  []map[string]string `json:"rows"`
	}
	data := exported(t, dir, "*.json")
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatalf("%v:\n%s", err, data)
	}
	if len(got.Rows) != 16 || got.View != "tasks" || got.Query != "order work" || got.Rows[0]["task"] == "" || got.Rows[0]["title"] == "" {
		t.Errorf("the JSON is %+v", got)
	}
	s.as("md:").WaitFor("143207.md")
	if md := exported(t, dir, "*.md"); strings.Count(md, "\n| T") != 17 || !strings.Contains(md, "| --- |") {
		t.Errorf("the Markdown is:\n%s", md)
	}
	s.as("ansi").WaitFor("143207.ansi")
	if drawn := exported(t, dir, "*.ansi"); !strings.Contains(drawn, "\x1b[") || !strings.Contains(ansi.Strip(drawn), "T-2026-001") {
		t.Errorf("the drawn view is:\n%s", drawn)
	}
	s.as("txt").WaitFor("143207-2.txt") // nothing is overwritten
	if again := exported(t, dir, "*207.txt"); again != text {
		t.Error("the first file changed")
	}
}

func TestExport_drawnView(t *testing.T) {
	t.Parallel()
	s, dir := exporting(t, tuitest.Scene(), 80, 16)
	s.goTo(Place{Kind: KindPlan, ID: "T-2026-007"}).WaitFor("Plans › T-2026-007")
	before := s.Text()
	s.as("txt").WaitFor("rows, ")
	text := exported(t, dir, "arbiter-plan-*.txt")
	if !strings.Contains(text, "─ Contract") || !strings.Contains(text, "─ Why high") || strings.Contains(text, "\x1b") {
		t.Errorf("the drawn view is:\n%s", text)
	}
	if strings.Contains(before, "─ Why high") {
		t.Error("the screen shows the whole plan, so this proves nothing")
	}
}

// The journal of a task is read page by page, all of it.
func TestExport_longTask(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	task := script.NewTask("Long history").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
	for range 1200 {
		task.Says("still at it")
	}
	s, dir := exporting(t, script, 100, 30)
	s.open(task.ID)
	s.as("json").WaitFor("rows, ")
	text := exported(t, dir, "*.json")
	if n := strings.Count(text, `"kind":"turn"`); n < 1200 {
		t.Errorf("%d turns are in the file", n)
	}
	if !strings.Contains(text, `"seq":1,`) {
		t.Errorf("the first entry is missing:\n%.600s", text)
	}
}

func TestExport_cancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	x := export{Title: "x", Columns: []string{"A", "B"}, Next: func(context.Context) ([]exportRow, error) {
		if n++; n == 3 {
			cancel()
		}
		return []exportRow{{Cells: []string{"a", "b"}}}, nil
	}}
	r := &request{}
	msg := writeExport(ctx, r, dir, "name", "txt", exportHead{Title: "x"}, x).(exportedMsg)
	if msg.err == nil || msg.path != "" {
		t.Errorf("a cancelled export gives %+v", msg)
	}
	if p := r.progress.Load(); p == nil || *p != "2 rows written" {
		t.Errorf("its progress is %v", p)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestExport_nowhere(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 24, func(c *Config) { c.Exports = filepath.Join(t.TempDir(), "gone") })
	s.as("txt").WaitFor("create the file of an export")
	dir := t.TempDir()
	s.Press("ctrl+e").WaitFor("Export now to")
	s.Burst("another")
	s.Press("enter").WaitFor("Folder for exports")
	s.Press("ctrl+u")
	s.Paste(dir)
	s.Press("ctrl+s").WaitFor("Export now to " + dir[:20])
	s.Burst("txt")
	s.Press("enter").WaitFor("rows, ")
	exported(t, dir, "*.txt")
}

// No text of an agent is live in a file: not for a terminal, not for Markdown.
func TestExport_hostile(t *testing.T) {
	t.Parallel()
	evil := "a\x1b[2Jb\x1b]0;t\x07 ![x](http://x/y) <script> |c| \u202e~~~~~~~~\r\nrow"
	dir := t.TempDir()
	for _, form := range []string{"txt", "md", "json"} {
		x := export{Title: evil, Query: evil, Columns: []string{"A", "B"}, Next: rowsOf([]exportRow{{Cells: []string{evil, evil}}})}
		msg := writeExport(t.Context(), &request{}, dir, "n", form, exportHead{Title: evil, Query: evil, Admin: evil}, x).(exportedMsg)
		if msg.err != nil {
			t.Fatal(msg.err)
		}
		text := exported(t, dir, "*."+form)
		if strings.ContainsAny(text, "\x1b\x07\r") || form != "json" && strings.Contains(text, "\u202e") {
			t.Errorf("%s has a control: %q", form, text)
		}
		if form == "md" && (strings.Contains(text, "![") || strings.Contains(text, "<script") || strings.Contains(text, "http:")) {
			t.Errorf("Markdown has markup: %s", text)
		}
	}
	name := exportName(Place{Kind: "task", ID: "../../etc/\x00passwd", Seq: 4}, tuitest.SceneEnd)
	if name != "arbiter-task-_____etc__passwd-4-20260226-143207" && strings.ContainsAny(name, "/\x00.") {
		t.Errorf("the name is %q", name)
	}
}

// What waits and the plans are exported whole, not only the rows on the screen, and as they are narrowed.
func TestExport_lists(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keys []string
		file string
		want []string
		not  string
	}{
		{[]string{"1"}, "now", []string{"ENTRY", "IF_IDLE", "hallucination_lock", "T-2026-011", "plan r1"}, ""},
		{[]string{"3"}, "inbox", []string{"hallucination_lock", "stays locked"}, "plan r1"},
		{[]string{"4"}, "plans", []string{"T-2026-007", "T-2026-011", "CONTENT", "0/2"}, "hallucination_lock"},
	} {
		s, dir := exporting(t, tuitest.Scene(), 100, 16)
		s.Press(tc.keys...).Settle()
		s.as("txt").WaitFor("rows, ")
		text := exported(t, dir, "*"+tc.file+"*.txt")
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", tc.file, want, text)
			}
		}
		if tc.not != "" && strings.Contains(text, tc.not) {
			t.Errorf("%s has %q:\n%s", tc.file, tc.not, text)
		}
	}
	s, dir := exporting(t, tuitest.Scene(), 100, 16)
	s.Press("4", "/")
	s.Burst("t-2026-011").Press("enter")
	s.as("json").WaitFor("1 row")
	var got struct {
		Rows []amp.Plan `json:"rows"`
	}
	if text := exported(t, dir, "*.json"); !strings.Contains(text, `"task_id"`) {
		t.Errorf("the plan is not in the JSON:\n%s", text)
	} else if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Rows) != 1 || got.Rows[0].TaskID != "T-2026-011" {
		t.Errorf("rows %+v, %v", got.Rows, err)
	}
}
