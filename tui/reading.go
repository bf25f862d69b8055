package tui

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// reading is what of a task's plan was on this screen. Marks belong to the text of a subtask, so that those of changed
// parts fall when a new revision comes.
type reading struct {
	seen  map[partKey]bool
	held  map[partKey]bool
	upTo  map[partKey]int // rows seen of a subtask that is longer than the screen
	spent time.Duration   // with the plan on the screen; gaps count up to a minute
	last  time.Time
}

// reading returns the marks of a task, never nil.
func (d *desk) reading(id amp.TaskID) *reading {
	r := d.reads[id]
	if r == nil {
		if d.reads == nil {
			d.reads = map[amp.TaskID]*reading{}
		}
		r = &reading{seen: map[partKey]bool{}}
		d.reads[id] = r
	}
	return r
}

// partKey names the text of a subtask.
type partKey struct {
	id    string
	lines int
	text  string
}

func subtaskKey(s amp.Subtask) partKey { return partKey{s.SubtaskID, s.EstimatedLines, s.Description} }

func (k partKey) compare(o partKey) int {
	return cmp.Or(cmp.Compare(k.id, o.id), cmp.Compare(k.lines, o.lines), cmp.Compare(k.text, o.text))
}

// MarshalText writes the key as the kept state has it.
func (k partKey) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s\x00%d\x00%s", k.id, k.lines, k.text), nil
}

// UnmarshalText reads what [partKey.MarshalText] wrote.
func (k *partKey) UnmarshalText(b []byte) error {
	parts := strings.SplitN(string(b), "\x00", 3)
	if len(parts) != 3 {
		return errors.New("the name of a subtask needs three parts")
	}
	lines, err := strconv.Atoi(parts[1])
	*k = partKey{parts[0], lines, parts[2]}
	return err
}

func (r *reading) has(s amp.Subtask) bool { return r.seen[subtaskKey(s)] }

func (r *reading) mark(s amp.Subtask, on bool) { r.seen[subtaskKey(s)] = on }

// longestGap is how much of a pause between two frames counts as reading.
const longestGap = time.Minute

// look notes that the plan is on the screen now.
func (r *reading) look(now time.Time) {
	if !r.last.IsZero() {
		r.spent += min(max(now.Sub(r.last), 0), longestGap)
	}
	r.last = now
}

// away notes that the plan left the screen.
func (r *reading) away() { r.last = time.Time{} }

// unread are the short names of the subtasks that were not read, in order.
func (r *reading) unread(p *amp.Plan) []string {
	var out []string
	for i, s := range p.Subtasks {
		if !r.has(s) {
			out = append(out, "S"+strconv.Itoa(i+1))
		}
	}
	return out
}

// said is the coverage as the command carries it: "read 5/5 in 3m 12s".
func (r *reading) said(parts, unread int) string {
	return fmt.Sprintf("read %d/%d in %s", parts-unread, parts, span(int(r.spent/time.Second)))
}

// readGate says why a plan of this risk may not be approved yet, "" when it may (AMP-059).
func readGate(p *amp.Plan, unread []string) string {
	if p.RiskLevel == amp.Low || len(unread) == 0 {
		return ""
	}
	const few = 4
	names := strings.Join(unread[:min(few, len(unread))], " ")
	if len(unread) > few {
		names += " …"
	}
	return fmt.Sprintf("%s unread (%s)", plural(len(unread), "subtask"), names)
}

// hold keeps a mark that a person took away from coming back because the text still is on the screen; release ends it.
func (r *reading) hold(s amp.Subtask) {
	if r.held == nil {
		r.held = map[partKey]bool{}
	}
	r.held[subtaskKey(s)] = true
}

func (r *reading) release(s amp.Subtask) { delete(r.held, subtaskKey(s)) }

// saw notes that the whole text of a subtask was on the screen.
func (r *reading) saw(s amp.Subtask) {
	if k := subtaskKey(s); !r.held[k] {
		r.seen[k] = true
	}
}

// scrolled notes that the rows from..to of a subtask of n rows were on the screen; it counts as read when they were all
// seen from the first to the last.
func (r *reading) scrolled(s amp.Subtask, from, to, n int) {
	k := subtaskKey(s)
	if r.upTo == nil {
		r.upTo = map[partKey]int{}
	}
	if from <= r.upTo[k] {
		r.upTo[k] = max(r.upTo[k], to)
	}
	if r.upTo[k] >= n {
		r.saw(s)
	}
}
