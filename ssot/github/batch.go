package github

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
)

// What one segment and one commit hold at most; an entry that is larger stands alone. They bound the memory of the mirror.
const (
	segmentLen  = 1000
	segmentSize = 1 << 20
	commitLen   = 5 * segmentLen
	commitSize  = 4 << 20
	readLen     = 200
)

// batch is what one commit is to bring.
type batch struct {
	files    []file
	head     Head
	first    uint64
	entries  int
	size     int
	tasks    []amp.TaskID
	released []uint64
	// whole says that nothing was left behind.
	whole bool
}

// message tells a reader of the history what came, and anchors the head once more.
func (b *batch) message() string {
	var parts []string
	if b.entries > 0 {
		parts = append(parts, fmt.Sprintf("entries %d–%d", b.first, b.head.Seq))
	}
	if n := len(b.tasks); n > 0 {
		parts = append(parts, fmt.Sprintf("tasks: %d", n))
	}
	if n := len(b.released); n > 0 {
		parts = append(parts, fmt.Sprintf("released: %d", n))
	}
	return fmt.Sprintf("journal: %s\n\nJournal-Head: %d %s\n", strings.Join(parts, ", "), b.head.Seq, b.head.Hash)
}

// gather takes the next commit from the journal, nil when there is nothing to write.
func (m *Mirror) gather(ctx context.Context) (*batch, error) {
	scan, allowed, err := m.scanner(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.fold(ctx); err != nil {
		return nil, err
	}
	b := &batch{head: m.at.Head, first: m.at.Head.Seq + 1}
	b.head.Withheld = slices.Clone(b.head.Withheld)
	whole, err := m.segments(ctx, b, scan)
	if err != nil {
		return nil, err
	}
	if err := m.release(ctx, b, scan, allowed); err != nil {
		return nil, err
	}
	if whole {
		if err := m.states(b, scan); err != nil {
			return nil, err
		}
		b.whole = b.head.Tasks == b.head.Seq
	}
	if len(b.files) == 0 && b.head.Tasks == m.at.Head.Tasks {
		return nil, nil
	}
	b.head.Version = m.cfg.Version
	data, err := b.head.encode()
	if err != nil {
		return nil, err
	}
	b.files = append(b.files, file{headFile, data})
	if !m.at.Readme {
		b.files = append(b.files, file{readmeFile, []byte(readme)})
	}
	return b, nil
}

// segments takes entries until the commit is full, and reports whether none is left.
func (m *Mirror) segments(ctx context.Context, b *batch, scan *Scanner) (whole bool, err error) {
	var seg bytes.Buffer
	first, n := uint64(0), 0
	flush := func() {
		if n > 0 {
			b.files = append(b.files, file{segmentPath(first), bytes.Clone(seg.Bytes())})
		}
		seg.Reset()
		n = 0
	}
	defer func() {
		if err == nil {
			flush()
		}
	}()
	for {
		page, err := m.cfg.Log.Read(ctx, amp.Filter{After: b.head.Seq, Limit: readLen})
		if err != nil {
			return false, fmt.Errorf("read the journal after entry %d: %w", b.head.Seq, err)
		}
		for i := range page {
			e := &page[i]
			if b.entries >= commitLen || b.entries > 0 && b.size+len(e.Body) > commitSize {
				return false, nil
			}
			if e.Seq != b.head.Seq+1 || e.PrevHash != b.head.Hash {
				return false, &DivergedError{What: fmt.Sprintf("entry %d of the journal does not follow entry %d of the mirror", e.Seq, b.head.Seq)}
			}
			data, rule, err := scan.write(e)
			if err != nil {
				return false, fmt.Errorf("write entry %d: %w", e.Seq, err)
			}
			if n >= segmentLen || n > 0 && seg.Len()+len(data) > segmentSize {
				flush()
			}
			if n == 0 {
				first = e.Seq
			}
			seg.Write(data)
			seg.WriteByte('\n')
			n++
			b.entries++
			b.size += len(data)
			b.head.Seq, b.head.Hash, b.head.At = e.Seq, e.Hash, e.At
			if rule != "" {
				b.withhold(e.Seq, rule)
			}
			if err := m.apply(ctx, e); err != nil {
				return false, err
			}
		}
		if len(page) < readLen {
			return true, nil
		}
	}
}

func (b *batch) withhold(seq uint64, rule string) {
	b.head.WithheldCount++
	b.head.Withheld = append(b.head.Withheld, amp.WithheldEntry{Seq: seq, Rule: rule})
	if over := len(b.head.Withheld) - maxListed; over > 0 {
		b.head.Withheld = slices.Delete(b.head.Withheld, 0, over)
	}
}

// release sends entries that were withheld and are allowed since.
func (m *Mirror) release(ctx context.Context, b *batch, scan *Scanner, allowed []Allowed) error {
	for _, a := range allowed {
		i := slices.IndexFunc(b.head.Withheld, func(w amp.WithheldEntry) bool { return w.Seq == a.Seq })
		old := b.head.WithheldCount > len(b.head.Withheld) && a.Seq < b.head.Withheld[0].Seq
		if i < 0 && !old || m.released[a.Seq] || a.Seq > m.at.Head.Seq {
			continue
		}
		if b.size > commitSize {
			return nil
		}
		if old { // head.json does not name it any more: the tree says whether it is there
			done, err := m.remote.holds(ctx, m.at.Ours[releasedDir], releasedPath(a.Seq))
			if err != nil {
				return err
			}
			if m.released[a.Seq] = done; done {
				continue
			}
		}
		at, err := m.cfg.Log.Read(ctx, amp.Filter{After: a.Seq - 1, Before: a.Seq + 1, Limit: 1})
		if err != nil {
			return err
		}
		if len(at) != 1 {
			continue
		}
		if slices.ContainsFunc(scan.Find(at[0].Body), func(f Finding) bool { return f.Known }) {
			continue // it is a secret that is in use, whatever anybody said of it
		}
		data, err := at[0].MarshalJSON()
		if err != nil {
			return err
		}
		b.files = append(b.files, file{releasedPath(a.Seq), append(data, '\n')})
		b.size += len(data)
		b.released = append(b.released, a.Seq)
		b.head.WithheldCount--
		if i >= 0 {
			b.head.Withheld = slices.Delete(b.head.Withheld, i, i+1)
		}
	}
	return nil
}

// withheldTask stands in the place of a task whose state holds a secret.
type withheldTask struct {
	Withheld string     `json:"withheld"`
	TaskID   amp.TaskID `json:"task_id,omitzero"`
	LastSeq  uint64     `json:"last_seq"`
}

// states brings the files of tasks that changed, as many as fit.
func (m *Mirror) states(b *batch, scan *Scanner) error {
	if m.board.Head.Seq != b.head.Seq {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(m.dirty)) {
		t := m.board.Task(id)
		if t == nil {
			b.tasks = append(b.tasks, id)
			continue
		}
		if b.size > commitSize {
			return nil
		}
		data, err := taskFile(t, scan)
		if err != nil {
			return fmt.Errorf("write the state of task %s: %w", id, err)
		}
		b.files = append(b.files, file{taskPath(id), data})
		b.size += len(data)
		b.tasks = append(b.tasks, id)
	}
	b.head.Tasks = b.head.Seq
	return nil
}

// taskFile is the content of a task's file.
func taskFile(t *amp.Task, scan *Scanner) ([]byte, error) {
	data, err := pretty(t)
	if err != nil {
		return nil, err
	}
	found := scan.Find(data)
	if len(found) == 0 {
		return data, nil
	}
	w := withheldTask{Withheld: found[0].Rule, TaskID: t.ID, LastSeq: t.LastSeq}
	if len(scan.Find([]byte(t.ID))) > 0 {
		w.TaskID = ""
	}
	return pretty(&w)
}

// fold makes the board ready: it stands at the mirror's head or further on.
func (m *Mirror) fold(ctx context.Context) error {
	if m.board != nil {
		return nil
	}
	board, err := ssot.Fold(ctx, m.cfg.Log)
	if err != nil {
		return err
	}
	m.board = board
	if m.at.Head.Tasks == 0 {
		m.all(func(*amp.Task) bool { return true })
	}
	return nil
}

// apply folds an entry that is new to the board, and notes which tasks it changed.
func (m *Mirror) apply(ctx context.Context, e *amp.Entry) error {
	m.note(e)
	if e.Seq <= m.board.Head.Seq {
		return nil
	}
	for m.board.Head.Seq+1 < e.Seq { // another coordinator mirrored entries that were never read here
		page, err := m.cfg.Log.Read(ctx, amp.Filter{After: m.board.Head.Seq, Before: e.Seq, Limit: readLen})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return fmt.Errorf("fold the journal up to entry %d: it ends at %d", e.Seq, m.board.Head.Seq)
		}
		for i := range page {
			if err := m.board.Apply(page[i]); err != nil {
				return err
			}
			m.note(&page[i])
		}
	}
	return m.board.Apply(*e)
}

// note marks the tasks whose state an entry changes, or more.
func (m *Mirror) note(e *amp.Entry) {
	if e.TaskID != "" {
		m.dirty[e.TaskID] = struct{}{}
	}
	switch e.Kind {
	case amp.KindCommand: // a stop fences every turn, a thaw moves every deadline
		if c, err := amp.DecodeBody[amp.Command](e); err == nil && (c.Command == amp.StopAll || c.Command == amp.Thaw) {
			m.all(func(t *amp.Task) bool { return c.Command == amp.Thaw || t.Turn != nil || !t.Status.Ended() })
		}
	case amp.KindMessage: // so does a critical escalation of the system
		if bytes.Contains(e.Body, []byte("critical")) {
			m.all(func(t *amp.Task) bool { return t.Turn != nil || !t.Status.Ended() })
		}
	case amp.KindAck, amp.KindPlan, amp.KindTurn, amp.KindQuestion, amp.KindCheck, amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside:
	}
}

func (m *Mirror) all(which func(*amp.Task) bool) {
	for id, t := range m.board.Tasks {
		if which(t) {
			m.dirty[id] = struct{}{}
		}
	}
}

// recollect finds the tasks whose files are behind the entries of the mirror, after a start.
func (m *Mirror) recollect(ctx context.Context) error {
	m.board = nil
	m.dirty = map[amp.TaskID]struct{}{}
	if err := m.fold(ctx); err != nil {
		return err
	}
	for at := m.at.Head.Tasks; m.at.Head.Tasks > 0 && at < m.at.Head.Seq; {
		page, err := m.cfg.Log.Read(ctx, amp.Filter{After: at, Before: m.at.Head.Seq + 1, Limit: readLen})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			m.note(&page[i])
		}
		at = page[len(page)-1].Seq
	}
	return nil
}
