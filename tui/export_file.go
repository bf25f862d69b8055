package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/tui/ui"
)

// exportHead is what an export says of itself: what it shows, when it was made, by whom, and up to which entry.
type exportHead struct {
	Title string    `json:"view"`
	Query string    `json:"query,omitzero"`
	At    time.Time `json:"at"`
	Admin string    `json:"by,omitzero"`
	Head  string    `json:"journal_head"`
}

// lines are the head in sentences.
func (h exportHead) lines() []string {
	out := []string{"arbiter: " + ui.Safe(h.Title)}
	if h.Query != "" {
		out = append(out, "query: "+ui.Safe(h.Query))
	}
	line := "exported: " + h.At.Format(time.RFC3339) + ", journal head " + h.Head
	if h.Admin != "" {
		line += ", by " + ui.Safe(h.Admin)
	}
	return append(out, line)
}

// form writes a view in one way. begin and end may do nothing.
type form interface {
	begin(w io.Writer, h exportHead, columns []string) error
	row(w io.Writer, columns []string, r exportRow) error
	end(w io.Writer) error
}

func newForm(ext string) form {
	switch ext {
	case "md":
		return &markdownForm{}
	case "json":
		return &jsonForm{}
	default:
		return &textForm{styled: ext == "ansi"}
	}
}

// writeExport writes a view into a new file; none is ever overwritten. After an error, or when ctx ends, there is no file.
func writeExport(ctx context.Context, r *request, dir, name, ext string, head exportHead, x export) tea.Msg {
	f, err := newFile(dir, name, ext)
	if err != nil {
		return exportedMsg{err: err}
	}
	w := bufio.NewWriter(f)
	rows, err := copyRows(ctx, r, w, newForm(ext), head, x)
	if err == nil {
		err = w.Flush()
	}
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return exportedMsg{err: errors.Join(fmt.Errorf("export to %s: %w", f.Name(), err), os.Remove(f.Name()))}
	}
	return exportedMsg{path: f.Name(), rows: rows, bytes: info.Size()}
}

// newFile creates a file with a name that nothing has.
func newFile(dir, name, ext string) (*os.File, error) {
	for n := 1; ; n++ {
		path := filepath.Join(dir, name+"."+ext)
		if n > 1 {
			path = filepath.Join(dir, name+"-"+strconv.Itoa(n)+"."+ext)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create the file of an export: %w", err)
		}
		return f, nil
	}
}

func copyRows(ctx context.Context, r *request, w io.Writer, f form, head exportHead, x export) (int, error) {
	if err := f.begin(w, head, x.Columns); err != nil {
		return 0, err
	}
	n := 0
	for {
		rows, err := x.Next(ctx)
		if err != nil || len(rows) == 0 {
			return n, errors.Join(err, f.end(w))
		}
		for _, row := range rows {
			if ctx.Err() != nil {
				return n, ctx.Err()
			}
			if err := f.row(w, x.Columns, row); err != nil {
				return n, err
			}
			n++
		}
		if x.Total > 0 {
			r.say("%d of %d rows written", n, x.Total)
		} else {
			r.say("%d rows written", n)
		}
	}
}

// textForm is a table whose columns are as wide as the first rows want them, or the drawn view.
type textForm struct {
	styled bool
	widths []int
	held   []exportRow
}

// heldRows are looked at before the widths are set.
const heldRows = 500

func (f *textForm) begin(w io.Writer, h exportHead, _ []string) error {
	_, err := fmt.Fprintf(w, "%s\n\n", strings.Join(h.lines(), "\n"))
	return err
}

func (f *textForm) row(w io.Writer, columns []string, r exportRow) error {
	if len(columns) == 1 { // drawn: it is safe, and has its widths
		_, err := fmt.Fprintln(w, r.Cells[0])
		return err
	}
	if f.held == nil {
		f.held = append(f.held, exportRow{Cells: columns})
	}
	if f.widths == nil {
		f.held = append(f.held, r)
		if len(f.held) <= heldRows {
			return nil
		}
		return f.end(w)
	}
	return f.put(w, r)
}

func (f *textForm) end(w io.Writer) error {
	for _, r := range f.held {
		for i, c := range r.Cells {
			if i == len(f.widths) {
				f.widths = append(f.widths, 0)
			}
			f.widths[i] = max(f.widths[i], min(ansi.StringWidth(ui.Safe(c)), 60))
		}
	}
	for _, r := range f.held {
		if err := f.put(w, r); err != nil {
			return err
		}
	}
	f.held = f.held[:0:0]
	return nil
}

func (f *textForm) put(w io.Writer, r exportRow) error {
	var b strings.Builder
	for i, c := range r.Cells {
		c = ui.Safe(c)
		b.WriteString(c)
		if i < len(r.Cells)-1 && i < len(f.widths) {
			b.WriteString(strings.Repeat(" ", max(f.widths[i]-ansi.StringWidth(c), 0)+2))
		}
	}
	_, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	return err
}

// markdownForm is a table, or the drawn view in a fence.
type markdownForm struct{ drawn bool }

func (f *markdownForm) begin(w io.Writer, h exportHead, columns []string) error {
	lines := h.lines()
	if _, err := fmt.Fprintf(w, "# %s\n\n", markdown(lines[0])); err != nil {
		return err
	}
	for _, l := range lines[1:] {
		if _, err := fmt.Fprintf(w, "%s  \n", markdown(l)); err != nil {
			return err
		}
	}
	if f.drawn = len(columns) == 1; f.drawn {
		_, err := fmt.Fprintln(w, "\n~~~~~~~~")
		return err
	}
	_, err := fmt.Fprintf(w, "\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	return err
}

func (f *markdownForm) row(w io.Writer, _ []string, r exportRow) error {
	if f.drawn {
		text := r.Cells[0]
		if strings.HasPrefix(strings.TrimSpace(text), "~~~") { // an agent's text must not end the fence
			text = "|" + text
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	cells := make([]string, len(r.Cells))
	for i, c := range r.Cells {
		cells[i] = markdown(ui.Safe(c))
	}
	_, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	return err
}

func (f *markdownForm) end(w io.Writer) error {
	if !f.drawn {
		return nil
	}
	_, err := fmt.Fprintln(w, "~~~~~~~~")
	return err
}

// markdown takes the meaning from every sign that has one: no link, picture or markup of an agent's text is live.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]()<>#+!|~&@:/", r) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// jsonForm is one object with the head and the rows, one row a line.
type jsonForm struct{ rows int }

func (f *jsonForm) begin(w io.Writer, h exportHead, _ []string) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s,\"rows\":[", data[:len(data)-1])
	return err
}

func (f *jsonForm) row(w io.Writer, columns []string, r exportRow) error {
	value := r.Value
	if value == nil && len(columns) == 1 {
		value = r.Cells[0]
	}
	if value == nil {
		fields := map[string]string{}
		for i, c := range columns {
			if i < len(r.Cells) {
				fields[strings.ToLower(c)] = r.Cells[i]
			}
		}
		value = fields
	}
	data, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	sep := ",\n"
	if f.rows == 0 {
		sep = "\n"
	}
	f.rows++
	_, err = fmt.Fprintf(w, "%s%s", sep, data)
	return err
}

func (f *jsonForm) end(w io.Writer) error {
	_, err := fmt.Fprintln(w, "\n]}")
	return err
}
