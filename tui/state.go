package tui

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
)

// The state of the screens outlives the program: the place, filters, sorts, splits, drafts, read marks. It is kept per data
// directory, see [stateFile], in parts that have a name and a value. Something gets a part in one of two ways:
//
//   - A page is a [keeper]: Keep names its part and returns what to keep. Its constructor takes it back with [env.Kept].
//   - What is no page adds a line to [stateParts], with what it keeps and how it takes that back.
//
// Keep is asked when the person has rested for a second after a key or a click, when the page is left for good and when the
// program ends; a nil value forgets the part. Values are structs of JSON with omitzero fields: fields may be added, never
// given another meaning. What was kept is only a wish: it may be old, name tasks that are gone, or be edited by hand, so whoever
// takes it back checks it.

// keeper is a page with state that outlives the program. It is another optional ability of a page.
type keeper interface {
	Keep() (part string, value any)
}

// statePart is state that belongs to no page.
type statePart struct {
	name string
	keep func(m *model) any
	take func(m *model)
}

// stateParts is the table of what is kept besides the parts of pages.
func stateParts() []statePart {
	return []statePart{
		{"place", (*model).keepWay, func(*model) {}}, // taken back when there is a board: see openFirst
		{"palette", (*model).keepPalette, (*model).takePalette},
		{"splits", (*model).keepSplits, (*model).takeSplits},
		{"export", (*model).keepExport, (*model).takeExport},
		{"drafts", (*model).keepDrafts, (*model).takeDrafts},
		{"reads", (*model).keepReads, (*model).takeReads},
		{"refusals", (*model).keepSeen, (*model).takeSeen},
		{"searches", (*model).keepSearches, (*model).takeSearches},
	}
}

// stateAfter is how long a person rests before the state is written.
const stateAfter = time.Second

// saved is the state of the screens in memory. Without a file it keeps what pages leave behind until the program ends.
type saved struct {
	file    *stateFile // nil: nothing is written
	parts   map[string]jsontext.Value
	changed map[string]bool // since the program began: other programs may write the same file
	unsaved bool
	ticking bool // a stateMsg is on its way
	writes  int  // counts up with each write that is asked for
	failed  bool // that it can not be written was said
}

type (
	// stateMsg says that the person rested long enough.
	stateMsg struct{}
	// stateWrittenMsg is the end of a write.
	stateWrittenMsg struct{ err error }
)

// put sets a part; nil forgets it. A value that JSON has no form for is a defect of this program; what was kept stays.
func (e *env) put(name string, value any) {
	s := &e.saved
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		e.Fail(fmt.Errorf("keep %s: %w", name, err))
		return
	}
	if t := string(raw); t == "{}" || t == "null" {
		raw = nil
	}
	if bytes.Equal(s.parts[name], raw) {
		return
	}
	if s.parts == nil {
		s.parts, s.changed = map[string]jsontext.Value{}, map[string]bool{}
	}
	if s.changed == nil {
		s.changed = map[string]bool{}
	}
	if raw == nil {
		delete(s.parts, name)
	} else {
		s.parts[name] = raw
	}
	s.changed[name], s.unsaved = true, true
}

// Kept reads the part of that name into v and reports whether there was one that fits.
func (e *env) Kept(part string, v any) bool {
	raw, ok := e.saved.parts[part]
	return ok && json.Unmarshal(raw, v) == nil
}

// retain takes over what a page wants to be kept.
func (e *env) retain(p page) {
	if k, ok := p.(keeper); ok {
		name, value := k.Keep()
		e.put(name, value)
	}
}

// stirred notes that the person did something: the state is looked at when they rest.
func (m *model) stirred() tea.Cmd {
	s := &m.env.saved
	if s.file == nil || s.ticking {
		return nil
	}
	s.ticking = true
	return tea.Tick(stateAfter, func(time.Time) tea.Msg { return stateMsg{} })
}

// collect asks everyone for what they keep.
func (m *model) collect() {
	if m.synced { // before that the screen shows nothing that a person left so
		for _, p := range m.nav.pages() {
			m.env.retain(p)
		}
		for _, p := range stateParts() {
			m.env.put(p.name, p.keep(m))
		}
	}
}

// write returns the command that writes the state, nil when it is written.
func (m *model) write() tea.Cmd {
	m.env.saved.ticking = false
	m.collect()
	s := &m.env.saved
	if !s.unsaved || s.file == nil {
		return nil
	}
	s.unsaved = false
	s.writes++
	n, parts, now := s.writes, s.own(), m.env.Now
	return func() tea.Msg { return stateWrittenMsg{s.file.write(n, parts, now)} }
}

// own are the parts that this program changed; one without a value is forgotten.
func (s *saved) own() map[string]jsontext.Value {
	out := map[string]jsontext.Value{}
	for name := range s.changed {
		out[name] = bytes.Clone(s.parts[name])
	}
	return out
}

// written says once that the state can not be kept.
func (m *model) written(msg stateWrittenMsg) {
	s := &m.env.saved
	if msg.err == nil || s.failed {
		return
	}
	s.failed = true
	m.env.report(failure{
		What: msg.err.Error(), Means: "Filters, drafts and read marks of this screen end with it; decisions are not touched.",
		Next: "Make the folder writable to keep them.",
	})
	m.gate.urgent()
}

// saveNow writes the state when the program has ended.
func (m *model) saveNow() error {
	m.env.saved.unsaved = m.env.saved.unsaved || len(m.env.saved.changed) > 0 // a write may still be under way
	if cmd := m.write(); cmd != nil {
		return cmd().(stateWrittenMsg).err
	}
	return nil
}

// restore takes over what the file holds, before there are pages.
func (m *model) restore(f *stateFile) {
	if f == nil {
		return
	}
	s := &m.env.saved
	s.file = f
	s.parts = maps.Clone(f.parts)
	for _, p := range stateParts() {
		p.take(m)
	}
	if f.damage != nil {
		s.failed = true
		m.env.report(failure{
			What:  f.damage.Error(),
			Means: "It is left as it is. The screens begin without what they kept, and keep nothing this time.",
			Next:  "Mend or move the file.",
		})
	}
}

// keptWay is the way to the place on the screen, for the next time.
type keptWay struct {
	Way []keptPlace `json:"way,omitzero"`
}

type keptPlace struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id,omitzero"`
	Seq  uint64 `json:"seq,omitzero"`
}

func (m *model) keepWay() any {
	var k keptWay
	for _, s := range m.nav.way {
		k.Way = append(k.Way, keptPlace(s.at))
	}
	return k
}

// wayBack opens the places of the last time, as far as they still are there.
func (m *model) wayBack() tea.Cmd {
	var k keptWay
	if !m.env.Kept("place", &k) {
		return nil
	}
	var cmds []tea.Cmd
	for _, p := range k.Way {
		at := Place(p)
		if !m.isThere(at) {
			break
		}
		cmds = append(cmds, m.env.Go(at))
	}
	return tea.Batch(cmds...)
}

// isThere reports whether a kept place can be opened.
func (m *model) isThere(at Place) bool {
	k, ok := m.nav.kind(at.Kind)
	switch {
	case !ok:
		return false
	case k.Tab != "":
		return at == Place{Kind: at.Kind} || at == Place{Kind: KindHistory, ID: at.ID}
	case at.Kind == KindEntry:
		return at.Seq > 0 && at.Seq <= m.env.Board.Head.Seq
	case at.Kind == KindTask, at.Kind == KindPlan:
		t := m.env.Board.Task(amp.TaskID(at.ID))
		return t != nil && (at.Kind == KindTask || t.Plan != nil)
	}
	return false // what waited for a person then need not wait now
}

type keptPalette struct {
	History []string `json:"history,omitzero"`
}

func (m *model) keepPalette() any { return keptPalette{m.history} }

func (m *model) takePalette() {
	var k keptPalette
	if m.env.Kept("palette", &k) {
		m.history = k.History
	}
}

func (m *model) keepExport() any { return keptExport{m.env.exports} }

func (m *model) takeExport() {
	var k keptExport
	if m.env.Kept("export", &k) && filepath.IsAbs(k.Folder) {
		m.env.exports = k.Folder
	}
}

func (m *model) keepSearches() any { return m.env.desk.searches }

func (m *model) takeSearches() {
	var s searches
	if m.env.Kept("searches", &s) {
		m.env.desk.searches = s
	}
}

func (m *model) keepDrafts() any { return m.env.desk.drafts }

func (m *model) takeDrafts() {
	var drafts map[string]string
	if m.env.Kept("drafts", &drafts) {
		m.env.desk.drafts = drafts
	}
}

// keptReading is what of a plan was read.
type keptReading struct {
	Seen  []partKey       `json:"seen,omitzero"`
	Upto  map[partKey]int `json:"upto,omitzero"`
	Spent int             `json:"spent_s,omitzero"`
}

// keepReads keeps the marks of plans that may still be decided.
func (m *model) keepReads() any {
	out := map[amp.TaskID]keptReading{}
	for id, r := range m.env.desk.reads {
		if t := m.env.Board.Task(id); t == nil || t.Status.Ended() {
			continue
		}
		k := keptReading{Upto: r.upTo, Spent: int(r.spent / time.Second)}
		for s, on := range r.seen {
			if on {
				k.Seen = append(k.Seen, s)
			}
		}
		slices.SortFunc(k.Seen, partKey.compare)
		if k.Seen != nil || len(k.Upto) > 0 {
			out[id] = k
		}
	}
	return out
}

func (m *model) takeReads() {
	var reads map[amp.TaskID]keptReading
	if !m.env.Kept("reads", &reads) {
		return
	}
	for id, k := range reads {
		r := m.env.desk.reading(id)
		for _, s := range k.Seen {
			r.seen[s] = true
		}
		r.upTo, r.spent = k.Upto, time.Duration(max(k.Spent, 0))*time.Second
	}
}
