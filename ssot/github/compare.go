package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
	"arbiter/forge"
	"arbiter/ssot"
)

// Checks are what a comparison takes into account besides the journal.
type Checks struct {
	// Known is a commit that the history has to hold when it reaches as far as KnownSeq: the last one that was seen in the mirror.
	Known    string
	KnownSeq uint64
	// Current says that the clone was made just now: it ends before KnownSeq only when the mirror was set back.
	Current bool
	// Version is of this program; files of tasks that another one wrote are noted and not held against the mirror.
	Version  string
	Progress func(done, total uint64)
}

// Report is what a comparison found.
type Report struct {
	// Journal and Mirror are the heads of both.
	Journal amp.Head `json:"journal"`
	Mirror  amp.Head `json:"mirror"`
	// Agree is how many entries are the same in both, from the first one on.
	Agree uint64 `json:"agree"`
	// Withheld are the first entries whose content is not in the mirror; their hashes and their places were compared, not the content.
	Withheld      []amp.WithheldEntry `json:"withheld,omitzero"`
	WithheldCount int                 `json:"withheld_count,omitzero"`
	// Tasks is how many files of tasks were compared, Commits how many heads of the history were.
	Tasks   int `json:"tasks"`
	Commits int `json:"commits"`
	// Difference is the first thing that is wrong, nil when nothing is. Notes are what a person should know all the same.
	Difference *Difference `json:"difference,omitzero"`
	Notes      []string    `json:"notes"`
}

// Compare holds a clone against a journal: every entry of the mirror is that of the journal, every earlier head in the history is a
// beginning of it, no segment was written twice, and the files of the tasks are their state. It asks nobody.
func Compare(ctx context.Context, log ssot.Log, c *Clone, checks Checks) (r Report, err error) {
	r.Notes = []string{}
	x := comparison{log: log, clone: c, checks: checks, report: &r, board: amp.NewBoard(), files: expected{}}
	err = x.run(ctx)
	if d, ok := errors.AsType[*Difference](err); ok {
		r.Difference = d
		return r, nil
	}
	return r, err
}

// comparison is one under way.
type comparison struct {
	log    ssot.Log
	clone  *Clone
	checks Checks
	report *Report
	head   Head
	page   []amp.Entry
	board  *amp.Board
	// late is the fold up to the end, while the files of tasks are on their way there in several commits.
	late *amp.Board
	// files are those that the mirror may have besides entries.
	files expected
}

func (x *comparison) run(ctx context.Context) (err error) {
	if x.report.Journal, err = x.log.Head(ctx); err != nil {
		return err
	}
	head, err := x.clone.MirrorHead(ctx)
	if errors.Is(err, ErrNoMirror) {
		return err
	}
	if err != nil {
		return &Difference{What: err.Error(), Where: headFile}
	}
	x.head, x.report.Mirror = head, head.Journal()
	if head.Tasks < head.Seq {
		x.late = amp.NewBoard()
	}
	past, heads, err := x.history(ctx)
	if err != nil {
		return err
	}
	if err := x.entries(ctx, past, heads); err != nil {
		return err
	}
	if err := x.tasks(ctx); err != nil {
		return err
	}
	for _, dir := range []string{tasksDir, releasedDir} {
		if err := x.strays(ctx, dir); err != nil {
			return err
		}
	}
	if err := x.clone.checkedOut(ctx); err != nil {
		return err
	}
	return x.judge(ctx, past)
}

// local is the next entry of the journal, nil at its end.
func (x *comparison) local(ctx context.Context, after uint64) (*amp.Entry, error) {
	if len(x.page) == 0 {
		var err error
		if x.page, err = x.log.Read(ctx, amp.Filter{After: after, Limit: readLen}); err != nil || len(x.page) == 0 {
			return nil, err
		}
	}
	e := &x.page[0]
	x.page = x.page[1:]
	return e, nil
}

// entries walks both side by side.
func (x *comparison) entries(ctx context.Context, p *past, heads map[uint64][]pastHead) error {
	w, err := x.clone.walker(ctx)
	if err != nil {
		return err
	}
	for {
		before := w.head.Seq
		l, err := w.next(ctx)
		if err != nil {
			return err
		}
		if l == nil {
			break
		}
		e, err := x.local(ctx, before)
		if err != nil {
			return err
		}
		if e == nil {
			return &Difference{
				Seq: l.Seq, Where: w.path,
				What: fmt.Sprintf("the mirror has it and the journal here ends at entry %d: the journal lost entries, or is an older copy", before),
			}
		}
		if err := x.pair(e, l, w.path); err != nil {
			return err
		}
		for _, h := range heads[l.Seq] {
			if err := x.claimed(p, l.Seq, h, e.Hash); err != nil {
				return err
			}
		}
		delete(heads, l.Seq)
		if tell := x.checks.Progress; tell != nil && l.Seq%ssot.MaxPage == 0 {
			tell(l.Seq, x.head.Seq)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if w.head != x.head.Journal() {
		return &Difference{Seq: w.head.Seq, What: fmt.Sprintf("the entries of the mirror end here, its head says %d with hash %.16s", x.head.Seq, x.head.Hash), Where: headFile}
	}
	return x.beyond(ctx, p, heads)
}

// beyond compares the heads of the history that the mirror has not reached again since it was begun anew.
func (x *comparison) beyond(ctx context.Context, p *past, heads map[uint64][]pastHead) error {
	for _, seq := range slices.Sorted(maps.Keys(heads)) {
		e, err := x.log.Read(ctx, amp.Filter{After: seq - 1, Before: seq + 1, Limit: 1})
		if err != nil {
			return err
		}
		var hash amp.Hash
		if len(e) > 0 {
			hash = e[0].Hash
		}
		for _, h := range heads[seq] {
			if err := x.claimed(p, seq, h, hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimed compares what an earlier head of the mirror claims with the journal.
func (x *comparison) claimed(p *past, seq uint64, h pastHead, hash amp.Hash) error {
	if h.hash == hash {
		return nil
	}
	what := fmt.Sprintf("an earlier head of the mirror names hash %.16s, the journal has %.16s", h.hash, hash)
	return x.found(p, h.commit, &Difference{Seq: seq, What: what, Where: "commit " + h.commit})
}

// pair compares one entry of the journal with its line in the mirror.
func (x *comparison) pair(e *amp.Entry, l *line, where string) error {
	wrong := func(format string, args ...any) error {
		return &Difference{Seq: l.Seq, What: fmt.Sprintf(format, args...), Where: where}
	}
	switch {
	case e.Seq != l.Seq:
		return wrong("the journal here has entry %d in its place", e.Seq)
	case e.Sum() != e.Hash:
		return wrong("its content in the journal here does not have its hash; the mirror has %.16s", l.Hash)
	case e.Hash != l.Hash:
		return wrong("the journal here has %s by %s with hash %.16s, the mirror %s by %s with %.16s", e.Kind, e.Actor, e.Hash, l.Kind, l.Actor, l.Hash)
	}
	if l.rule != "" {
		x.report.WithheldCount++
		if len(x.report.Withheld) < maxNamed {
			x.report.Withheld = append(x.report.Withheld, amp.WithheldEntry{Seq: l.Seq, Rule: l.rule})
		}
	}
	if l.rule != "" || l.released {
		x.files.add(releasedPath(l.Seq))
	}
	if e.TaskID != "" {
		x.files.add(taskPath(e.TaskID))
	}
	x.report.Agree = l.Seq
	if x.late != nil {
		if err := x.late.Apply(*e); err != nil {
			return err
		}
	}
	if e.Seq <= x.head.Tasks {
		return x.board.Apply(*e)
	}
	return nil
}

// tasks compares the files of the tasks with the fold of the journal up to where they say they are.
func (x *comparison) tasks(ctx context.Context) error {
	stale := 0
	for _, id := range x.board.Order {
		t, file := x.board.Tasks[id], taskPath(id)
		x.files.add(file)
		got, err := x.clone.files.read(ctx, file, maxTask)
		if err != nil {
			return &Difference{What: fmt.Sprintf("the file of task %s cannot be read: %v", id, err), Where: file}
		}
		if got == nil {
			return &Difference{What: fmt.Sprintf("the file of task %s is missing in the mirror", id), Where: file}
		}
		is, err := isState(got, t)
		if err == nil && !is && x.late != nil {
			is, err = isState(got, x.late.Task(id))
		}
		if err != nil {
			return err
		}
		if is {
			x.report.Tasks++
			continue
		}
		if x.head.Version == x.checks.Version {
			return &Difference{What: fmt.Sprintf("the file of task %s is not the state that its entries give", id), Where: file}
		}
		stale++
	}
	if stale > 0 {
		x.note("%d files of tasks prove nothing: they are other than this version of Arbiter (%s) writes them; version %.40s wrote them last",
			stale, x.checks.Version, forge.Plain(errors.New(x.head.Version)))
	}
	return nil
}

// isState reports the file of a task that is its state, or says that this is withheld.
func isState(data []byte, t *amp.Task) (bool, error) {
	want, err := pretty(t)
	return bytes.Equal(data, want) || withholds(data, t), err
}

// withholds reports the file of a task that says that the state is withheld, and nothing else.
func withholds(data []byte, t *amp.Task) bool {
	var w withheldTask
	if json.Unmarshal(data, &w, json.RejectUnknownMembers(true)) != nil {
		return false
	}
	return w.Withheld != "" && len(w.Withheld) <= maxRule && (w.TaskID == "" || w.TaskID == t.ID) && w.LastSeq == t.LastSeq
}

// expected are files, and the folders that they are in.
type expected map[string]bool

func (e expected) add(file string) {
	for at := file; !e[at]; at = path.Dir(at) {
		e[at] = true
	}
}

// strays wants no files in a folder of the mirror but those that entries account for: what nobody wrote is no part of the journal.
func (x *comparison) strays(ctx context.Context, dir string) error {
	names, err := x.clone.files.names(ctx, dir)
	if err != nil {
		return &Difference{What: "the mirror cannot be read: " + err.Error(), Where: dir}
	}
	for _, name := range names {
		at, isDir := strings.CutSuffix(dir+"/"+name, "/")
		if !x.files[at] {
			return &Difference{Seq: seqOf(at), What: "the mirror has a file or folder that no entry accounts for", Where: at}
		}
		if isDir {
			if err := x.strays(ctx, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxTask bounds the file of a task.
const maxTask = 256 << 20
