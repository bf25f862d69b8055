package tui

import (
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/textsafe"
)

const (
	refusalBatch  = 100       // entries of one page: a refusal may hold 1 MiB
	refusalLimit  = 20_000    // refusals that are kept to be counted
	refusalHead   = 2 << 10   // bytes of the raw message that are kept with each
	refusalReason = 160       // bytes of a reason that a row shows at most
	noRule        = "no rule" // of a refusal that names none
)

// refusalItem is one refusal of the journal, light: of the raw bytes only the beginning.
type refusalItem struct {
	amp.Refusal
	Seq   uint64
	At    time.Time
	Actor string
	Role  amp.Role
	kept  int // how many raw bytes the journal has
	match string
}

// refusalKey is what refusals are grouped by.
type refusalKey struct{ Rule, Actor, What string }

func (k refusalKey) String() string { return k.Rule + "\x00" + k.Actor + "\x00" + k.What }

func (it *refusalItem) key() refusalKey { return refusalKey{it.rule(), it.Actor, it.What} }

func (it *refusalItem) rule() string {
	if r := it.Rule(); r != "" {
		return r
	}
	return noRule
}

// whole reports whether the raw bytes at hand are all that the journal has.
func (it *refusalItem) whole() bool { return len(it.Raw) == it.kept }

// why is the reason in one line.
func (it *refusalItem) why() string {
	if len(it.Problems) == 0 {
		return "no reason was kept"
	}
	p := it.Problems[0]
	field, _ := strings.CutPrefix(p.Field, "payload.")
	text := p.Message
	if field != "" {
		text = field + ": " + text
	}
	if n := len(it.Problems) - 1; n > 0 {
		text += " +" + textsafe.Thousands(n)
	}
	return text
}

// refusalsOf decodes refusals and drops all but the beginning of their raw bytes. A body that cannot be read is an item too.
func refusalsOf(entries []amp.Entry) []refusalItem {
	var out []refusalItem
	for i := range entries {
		en := &entries[i]
		if en.Kind != amp.KindRefusal {
			continue
		}
		it := refusalItem{Seq: en.Seq, At: en.At, Actor: en.Actor, Role: en.Role}
		r, err := amp.DecodeBody[amp.Refusal](en)
		if err != nil {
			r = amp.Refusal{What: "refusal", TaskID: en.TaskID, Problems: []amp.Problem{{Message: "cannot be read: " + err.Error()}}, Raw: en.Body, RawLen: len(en.Body)}
		}
		it.Refusal, it.kept = r, len(r.Raw)
		it.Raw = slices.Clone(r.Raw[:min(len(r.Raw), refusalHead)])
		why := it.why()
		it.match = strings.ToLower(strings.Join([]string{
			seqName(it.Seq), it.What, it.Actor, string(it.Role), it.rule(), string(it.TaskID), why[:min(len(why), refusalReason)],
		}, " "))
		out = append(out, it)
	}
	return out
}

// refusalGroup are the refusals of one kind, newest first, as indexes of the log.
type refusalGroup struct {
	key   refusalKey
	items []int
	fresh int // how many are new since last seen
}

// refusalLog are the newest refusals of the journal, newest first, as far as they were read.
type refusalLog struct {
	items []refusalItem
	more  bool          // the journal has older ones
	known bool          // the first page is there
	fresh []refusalItem // what came before that
}

// olderQuery asks for the page before what is there.
func (l *refusalLog) olderQuery() amp.Query {
	f := amp.Filter{Kinds: []amp.Kind{amp.KindRefusal}, Newest: true, Limit: refusalBatch}
	if n := len(l.items); n > 0 {
		f.Before = l.items[n-1].Seq
	}
	return amp.Query{Kind: amp.QueryEntries, Filter: f}
}

// older takes the answer to an olderQuery.
func (l *refusalLog) older(items []refusalItem, more bool) {
	l.items = append(l.items, items...)
	l.more = more
	if !l.known { // what came while the first page was read
		l.known = true
		fresh := l.fresh
		l.fresh = nil
		l.newer(fresh)
	}
	if len(l.items) >= refusalLimit {
		l.items, l.more = l.items[:refusalLimit:refusalLimit], false
	}
}

// newer takes refusals that were just appended, oldest first.
func (l *refusalLog) newer(items []refusalItem) {
	if !l.known {
		l.fresh = append(l.fresh, items...)
		return
	}
	for i := range items {
		if len(l.items) == 0 || items[i].Seq > l.items[0].Seq {
			l.items = slices.Insert(l.items, 0, items[i])
		}
	}
	if over := len(l.items) - refusalLimit; over > 0 {
		l.items = l.items[:refusalLimit:refusalLimit]
	}
}

// groups gathers what keep lets through: by kind, or one by one; the newest first.
func (l *refusalLog) groups(s *seenMarks, together bool, keep func(*refusalItem) bool) []refusalGroup {
	var out []refusalGroup
	at := map[refusalKey]int{}
	for i := range l.items {
		it := &l.items[i]
		if !keep(it) {
			continue
		}
		k := it.key()
		g, known := at[k]
		if !known || !together {
			g = len(out)
			at[k] = g
			out = append(out, refusalGroup{key: k})
		}
		out[g].items = append(out[g].items, i)
		if s.isNew(it) {
			out[g].fresh++
		}
	}
	return out
}

// seenMarks say which refusals an admin has seen. They are plain data, to be kept from one run to the next.
type seenMarks struct {
	// All is the entry up to which everything is seen.
	All uint64 `json:"all,omitzero"`
	// Count is how many refusals are seen.
	Count int `json:"count,omitzero"`
	// Groups are the kinds of refusals that are seen further than that.
	Groups map[string]seenRun `json:"groups,omitzero"`
}

// seenRun are the entries From..Upto of one group; they are counted.
type seenRun struct {
	From uint64 `json:"from"`
	Upto uint64 `json:"upto"`
}

func (s *seenMarks) isNew(it *refusalItem) bool {
	return it.Seq > s.All && it.Seq > s.Groups[it.key().String()].Upto
}

// markAll says that all refusals of the board were seen.
func (s *seenMarks) markAll(b *amp.Board) { *s = seenMarks{All: b.Head.Seq, Count: b.Refusals} }

// mark says that the refusals of a group were seen, up to one entry.
func (s *seenMarks) mark(l *refusalLog, k refusalKey, upto uint64) {
	run, known := s.Groups[k.String()]
	run.Upto = max(run.Upto, upto)
	for i := range l.items {
		it := &l.items[i]
		if it.Seq > upto || it.Seq <= s.All || it.key() != k {
			continue
		}
		if s.isNew(it) {
			s.Count++
		}
		if !known || it.Seq < run.From {
			run.From, known = it.Seq, true
		}
	}
	if s.Groups == nil {
		s.Groups = map[string]seenRun{}
	}
	s.Groups[k.String()] = run
}

// older counts refusals of marked groups that were read after their mark.
func (s *seenMarks) older(items []refusalItem) {
	for i := range items {
		it := &items[i]
		k := it.key().String()
		if run, ok := s.Groups[k]; ok && it.Seq > s.All && it.Seq < run.From {
			run.From = it.Seq
			s.Groups[k] = run
			s.Count++
		}
	}
}

func (m *model) keepSeen() any { return m.env.desk.seen }

func (m *model) takeSeen() { m.env.Kept("refusals", &m.env.desk.seen) }

// newRefusals is how many refusals of the journal were not seen.
func (e *env) newRefusals() int { return max(e.Board.Refusals-e.desk.seen.Count, 0) }
