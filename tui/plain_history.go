package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/ui/diffview"
)

var errUnanswered = errors.New("the coordinator has not answered; try again")

// pagedMsg is the answer to [plain.ask1], still to be taken.
type pagedMsg struct{ take func() }

// ask1 runs a query beside the conversation and gives its answer to take in the conversation's own goroutine.
func (p *plain) ask1(q amp.Query, take func(amp.Page, error)) {
	s, ctx := p.e.Session, p.ctx
	p.launch(func() tea.Msg {
		page, err := s.Query(ctx, q)
		return pagedMsg{func() { take(page, err) }}
	})
}

// historyRoom lists entries, newest first: of a task, or those that a search finds.
type historyRoom struct {
	query string
	task  amp.TaskID
	log   []amp.Entry
	more  bool
}

func (*historyRoom) at() Place { return Place{} }

func (r *historyRoom) tell(p *plain) {
	r.log = nil
	if !r.read(p) {
		return
	}
	switch {
	case r.task != "":
		p.say("Timeline of %s, newest first. A number opens an entry.", r.task)
	case r.query != "":
		p.say("Entries found by %s, newest first: %d%s. A number opens one.", quoted(r.query), len(r.log), map[bool]string{true: " and more", false: ""}[r.more])
	default:
		p.say("The newest entries of the journal. A number opens one; a slash and words, as /retry, searches.")
	}
	if len(r.log) == 0 {
		p.say("There is none.")
	}
}

// read reads the next page; false when it could not, which it says.
func (r *historyRoom) read(p *plain) bool {
	f, err := amp.ParseSearch(r.query, p.e.Now.In(p.e.Zone))
	if err != nil {
		p.say("The search is not understood: %s", sentence(err.Error()))
		return false
	}
	f.Limit = onPage
	if r.task != "" {
		f.TaskID = r.task
	}
	if n := len(r.log); n > 0 {
		f.Before = r.log[n-1].Seq
	}
	page, err := p.query(amp.Query{Kind: amp.QueryEntries, Filter: f})
	if err != nil {
		p.say("The entries could not be read: %s", sentence(err.Error()))
		return false
	}
	r.log, r.more = append(r.log, page.Entries...), page.More
	return true
}

func (r *historyRoom) choices(p *plain) []way {
	out := p.entryWays(r.log)
	if r.more {
		out = append(out, way{text: "Older entries.", do: func() error {
			p.from = len(r.log) / onPage * onPage
			r.read(p)
			return nil
		}})
	}
	return append(out, way{text: "Search.", do: func() error {
		text, given, err := p.text("words to look for", r.query, nil, true)
		if err == nil && given {
			p.enter(&historyRoom{query: text, task: r.task})
		}
		return err
	}}, way{text: "Back.", do: func() error { p.back(); return nil }})
}

// entryWays are choices that open entries.
func (p *plain) entryWays(entries []amp.Entry) []way {
	out := make([]way, 0, len(entries)+3)
	for i := range entries {
		seq := entries[i].Seq
		out = append(out, way{text: p.entryWords(&entries[i]), do: func() error { p.enter(&entryRoom{seq: seq}); return nil }})
	}
	return out
}

// entryRoom is one entry, whole.
type entryRoom struct {
	seq  uint64
	task amp.TaskID
	body []string
	from int
}

func (*entryRoom) at() Place { return Place{} }

func (r *entryRoom) tell(p *plain) {
	r.body, r.from = nil, 0
	page, err := p.query(amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: r.seq - 1, Before: r.seq + 1, Limit: 1}})
	switch {
	case err != nil:
		p.say("The entry could not be read: %s", sentence(err.Error()))
		return
	case len(page.Entries) == 0:
		p.say("There is no entry %s; the journal ends at %s.", seqName(r.seq), seqName(page.Head.Seq))
		return
	}
	en := &page.Entries[0]
	r.task = en.TaskID
	p.say("%s", p.entryWords(en))
	p.say("Written %s by %s.", p.ago(en.At), quoted(en.Actor))
	r.body = []string{
		"id " + en.ID, "hash " + en.Hash.String(), "hash of the entry before " + en.PrevHash.String(), "role " + string(en.Role),
		"time " + amp.FormatTime(en.At),
	}
	var body bytes.Buffer
	if json.Indent(&body, en.Body, "", "  ") != nil {
		body.Write(en.Body)
	}
	r.body = append(r.body, strings.Split(strings.TrimRight(body.String(), "\n"), "\n")...)
}

func (r *entryRoom) choices(p *plain) []way {
	out := p.linesWay(&r.body, &r.from)
	if r.task != "" {
		out = append(out, way{text: "The task " + string(r.task) + ".", do: func() error { p.enter(&taskRoom{id: r.task}); return nil }})
	}
	return append(out, way{text: "Back.", do: func() error { p.back(); return nil }})
}

// linesWay is the choice to hear the next lines of a text, while there are any.
func (p *plain) linesWay(lines *[]string, from *int) []way {
	if *from >= len(*lines) {
		return nil
	}
	end := min(*from+onPage, len(*lines))
	return []way{{text: fmt.Sprintf("Lines %d to %d of %d.", *from+1, end, len(*lines)), do: func() error {
		for _, l := range (*lines)[*from:end] {
			p.line(hanging, l)
		}
		*from = end
		return nil
	}}}
}

// diffRoom is the diff of a task's branch, in words.
type diffRoom struct {
	id    amp.TaskID
	lines []string
	from  int
}

func (*diffRoom) at() Place { return Place{} }

func (r *diffRoom) tell(p *plain) {
	r.lines, r.from = nil, 0
	page, err := p.query(amp.Query{Kind: amp.QueryDiff, TaskID: r.id})
	switch {
	case err != nil:
		p.say("The diff could not be read: %s", sentence(err.Error()))
		return
	case strings.TrimSpace(page.Text) == "":
		p.say("There is no difference.")
		return
	}
	r.lines = diffWords(page.Text)
	p.say("Diff of %s, %s.", r.id, counted(len(r.lines), "line"))
}

// diffWords is a unified diff with a word before each line for its sign.
func diffWords(text string) []string {
	d := diffview.Parse(text)
	var out []string
	for _, f := range d.Files {
		name := "File " + quoted(f.Path)
		if f.Old != "" && f.Old != f.Path {
			name += ", before " + quoted(f.Old)
		}
		out = append(out, fmt.Sprintf("%s: %d added, %d removed.", name, f.Added, f.Removed))
		for _, h := range f.Hunks {
			out = append(out, fmt.Sprintf("From line %d:", h.New))
			for _, l := range h.Lines {
				out = append(out, map[diffview.Kind]string{diffview.Added: "added: ", diffview.Removed: "removed: ", diffview.Same: "same: "}[l.Kind]+
					quoted(l.Text))
			}
		}
		for _, n := range f.Notes {
			out = append(out, "Note: "+quoted(n))
		}
	}
	for _, n := range d.Notes {
		out = append(out, "Note: "+quoted(n))
	}
	return out
}

func (r *diffRoom) choices(p *plain) []way {
	return append(p.linesWay(&r.lines, &r.from), way{text: "Back.", do: func() error { p.back(); return nil }})
}
