package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// exporter is a page that hands out its rows whole, not only those on the screen. It is another optional ability of a page;
// of one without it the drawn view is exported.
type exporter interface {
	Export() export
}

// export is a view that is written to a file.
type export struct {
	// Title names the view, Query says how it is narrowed and ordered, "" for not at all.
	Title, Query string
	// Columns name the cells of the rows; in JSON they are the names of the fields, in lower case.
	Columns []string
	// Next returns the next rows, none at the end. It is called from a command: it reads no page and no board, but may ask the
	// session with the ctx, which the person can cancel.
	Next func(ctx context.Context) ([]exportRow, error)
	// Total is how many rows there will be, 0 when nobody knows.
	Total int
}

// exportRow is one row: its cells, of any origin, and what stands for it in JSON; nil is an object of the cells.
type exportRow struct {
	Cells []string
	Value any
}

// rowsOf is the Next of rows that are known.
func rowsOf(rows []exportRow) func(context.Context) ([]exportRow, error) {
	return func(context.Context) ([]exportRow, error) {
		out := rows
		rows = nil
		return out, nil
	}
}

// exportEntries is the export of the entries of a filter, oldest first; pages that list entries use it.
func (e *env) exportEntries(title, query string, f amp.Filter) export {
	const page = 500
	s := e.Session
	f.Limit, f.Newest = page, false
	more := true
	return export{
		Title: title, Query: query, Columns: []string{"SEQ", "AT", "TASK", "KIND", "WHO", "WHAT", "TEXT"},
		Next: func(ctx context.Context) ([]exportRow, error) {
			if !more {
				return nil, nil
			}
			got, err := s.Query(ctx, amp.Query{Kind: amp.QueryEntries, TaskID: f.TaskID, Filter: f})
			if err != nil {
				return nil, err
			}
			more = got.More
			rows := make([]exportRow, 0, len(got.Entries))
			for i := range got.Entries {
				entry := &got.Entries[i]
				f.After = entry.Seq
				l := describe(entry)
				rows = append(rows, exportRow{[]string{
					seqName(entry.Seq), entry.At.UTC().Format(time.RFC3339), string(entry.TaskID), string(entry.Kind), l.who(), l.What, l.Text,
				}, entry})
			}
			return rows, nil
		},
	}
}

// exportForms are the forms of an export, in the order of the picker.
var exportForms = []struct{ ext, text string }{
	{"txt", "text, as a table"},
	{"md", "Markdown"},
	{"json", "JSON, the data of each row"},
	{"ansi", "the drawn view with its colours: cat shows it"},
}

// keptExport is how the last export was made.
type keptExport struct {
	Folder string `json:"folder,omitzero"`
}

const chooseFolder = "folder"

// openExport lets the person choose the form of an export.
func (m *model) openExport() tea.Cmd {
	e := m.env
	var choices []ui.Choice
	for _, f := range exportForms {
		choices = append(choices, ui.Choice{ID: f.ext, Text: f.ext + ": " + f.text})
	}
	folder := e.exportFolder()
	choices = append(choices, ui.Choice{ID: chooseFolder, Text: "another folder…", Hint: ui.Safe(folder)})
	return e.choose("Export "+m.nav.top().page.Title()+" to "+ui.Safe(folder), choices, func(id string) tea.Cmd {
		if id == chooseFolder {
			return m.openFolder(folder)
		}
		return m.export(id)
	})
}

// openFolder asks for another folder, and then for the form again.
func (m *model) openFolder(now string) tea.Cmd {
	e := m.env
	return e.write("Folder for exports", "a folder that is there", "export folder", now, func(text string) tea.Cmd {
		e.desk.keep("export folder", "")
		dir := expandHome(strings.TrimSpace(text))
		if !filepath.IsAbs(dir) {
			e.Toast(theme.Danger, "a folder begins with / or ~")
			return m.openFolder(text)
		}
		e.exports = dir
		return m.openExport()
	})
}

// exportFolder is where exports go: what was chosen here, or what the program was started with.
func (e *env) exportFolder() string { return cmp.Or(e.exports, e.Exports, os.TempDir()) }

// expandHome reads the ~ that a person types.
func expandHome(dir string) string {
	if dir != "~" && !strings.HasPrefix(dir, "~/") {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return dir
	}
	return filepath.Join(home, dir[1:])
}

// exportedMsg is the end of an export.
type exportedMsg struct {
	path  string
	rows  int
	bytes int64
	err   error
}

// export writes the view on the screen in a form.
func (m *model) export(form string) tea.Cmd {
	e := m.env
	page := m.nav.top().page
	at := m.nav.top().at
	var x export
	if p, ok := page.(exporter); ok && form != "ansi" {
		x = p.Export()
	} else {
		x = m.drawn(form == "ansi")
	}
	if x.Title == "" {
		x.Title = page.Title()
	}
	head := exportHead{
		Title: x.Title, Query: x.Query, At: e.Now.UTC().Truncate(time.Second), Admin: e.Admin,
		Head: fmt.Sprintf("#%d %x", e.Board.Head.Seq, e.Board.Head.Hash[:4]),
	}
	name := exportName(at, e.Now.In(e.Zone))
	dir := e.exportFolder()
	return e.Await(e.ctx, nil, "the disk", "export of "+x.Title, func(ctx context.Context, r *request) tea.Msg {
		return writeExport(ctx, r, dir, name, form, head, x)
	})
}

// exportName is the name of a file without its end: "arbiter-task-T-2026-004-20260301-143207".
func exportName(at Place, now time.Time) string {
	name := "arbiter-" + string(at.Kind)
	if at.ID != "" {
		name += "-" + at.ID
	}
	if at.Seq != 0 {
		name += fmt.Sprintf("-%d", at.Seq)
	}
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
	return safe[:min(len(safe), 120)] + "-" + now.Format("20060102-150405")
}

const drawnRows = 2000 // more rows than that of a drawn view are cut, and the file says so

// drawn is the view as it is drawn, as long as it is.
func (m *model) drawn(styles bool) export {
	page := m.nav.top().page
	rows := page.Render(m.w, drawnRows).Rows()
	m.gate.urgent() // it is drawn again in its own size
	if !styles {
		for i, row := range rows {
			rows[i] = ansi.Strip(row)
		}
	}
	blank := func(row string) bool {
		return strings.Trim(ansi.Strip(row), " "+m.env.Theme.Signs.Bar+m.env.Theme.Signs.Rule) == ""
	}
	for len(rows) > 0 && blank(rows[len(rows)-1]) {
		rows = rows[:len(rows)-1]
	}
	out := make([]exportRow, len(rows))
	for i, row := range rows {
		out[i] = exportRow{Cells: []string{strings.TrimRight(row, " ")}}
	}
	return export{Columns: []string{""}, Next: rowsOf(out), Total: len(out)}
}

// exported says where the file is.
func (m *model) exported(msg exportedMsg) {
	e := m.env
	m.gate.urgent()
	switch {
	case errors.Is(msg.err, context.Canceled):
		e.Toast(theme.Time, "the export was cancelled; nothing was written")
	case msg.err != nil:
		e.report(failure{What: msg.err.Error(), Means: "Nothing was written.", Next: "Choose another folder with ctrl+e."})
	default:
		dir, name := filepath.Split(msg.path)
		text := fmt.Sprintf("%s: %s, %s, in %s", name, plural(msg.rows, "row"), plural(int(msg.bytes), "byte"), dir)
		e.Toast(theme.Good, text)
	}
}
