package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/forge"
)

// pastHead is what a commit of the history says the head was.
type pastHead struct {
	commit string
	hash   amp.Hash
}

// past is the history of a clone.
type past struct {
	// order are the commits, the newest first, with their parents.
	order   []string
	parents map[string][]string
	trees   map[string]string
	// heads are what they say the head was; wrong are those that say nonsense.
	heads map[string]Head
	wrong map[string]error
	// anew are commits that begin the mirror from the first entry; closed are those before them, which they replace.
	anew, closed map[string]bool
}

// history reads the heads of all commits, and returns what they name by entry.
func (x *comparison) history(ctx context.Context) (*past, map[uint64][]pastHead, error) {
	c := x.clone
	byEntry := map[uint64][]pastHead{}
	p := &past{parents: map[string][]string{}, trees: map[string]string{}, heads: map[string]Head{}, wrong: map[string]error{}, anew: map[string]bool{}, closed: map[string]bool{}}
	if c.repo == nil {
		x.note("there is no history in %s: that the mirror was never set back is not proven", c.Dir)
		return p, byEntry, nil
	}
	if c.Shallow {
		x.note("the clone has a part of the history only: git fetch --unshallow")
	}
	if err := x.commits(ctx, p); err != nil {
		return nil, nil, err
	}
	for _, commit := range p.order {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		at, ok, err := c.repo.objects.find(p.trees[commit], headFile)
		var data []byte
		if ok && err == nil && !at.isFile() {
			err = fmt.Errorf("%s is no file", headFile)
		}
		if ok && err == nil {
			data, err = c.repo.objects.read(at.id, "blob", maxHead)
		}
		if err != nil {
			return nil, nil, &Difference{What: err.Error(), Where: "commit " + commit}
		}
		if data == nil {
			continue // from before the mirror, or without its files
		}
		h, err := decodeHead(data)
		if err != nil {
			p.wrong[commit] = err
			continue
		}
		h.Withheld = nil
		p.heads[commit] = h
		if h.Seq > 0 {
			byEntry[h.Seq] = append(byEntry[h.Seq], pastHead{commit, h.Hash})
		}
	}
	x.report.Commits = len(p.heads)
	p.begun()
	return p, byEntry, nil
}

// maxCommits bounds a history: one commit every 30 seconds for four years.
const maxCommits = 1 << 22

// commits reads the commits of the history and brings them into their order.
func (x *comparison) commits(ctx context.Context, p *past) error {
	children := map[string]int{}
	for todo := []string{x.clone.Commit}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, known := p.trees[id]; known {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at, err := x.clone.repo.objects.commit(id)
		if err == nil && len(p.trees) == maxCommits {
			err = fmt.Errorf("it has more than %d commits", maxCommits)
		}
		if err != nil {
			return &Difference{What: "the history of the clone cannot be read: " + err.Error(), Where: "commit " + id}
		}
		if x.clone.repo.shallow[id] {
			at.parents = nil
		}
		p.trees[id], p.parents[id] = at.tree, at.parents
		for _, parent := range at.parents {
			children[parent]++
		}
		todo = append(todo, at.parents...)
	}
	for ready := []string{x.clone.Commit}; len(ready) > 0; {
		id := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		p.order = append(p.order, id)
		for _, parent := range p.parents[id] {
			if children[parent]--; children[parent] == 0 {
				ready = append(ready, parent)
			}
		}
	}
	return nil
}

// begun finds the commits that begin anew: their count is above that of everything before them.
func (p *past) begun() {
	most := map[string]int{}
	for _, commit := range slices.Backward(p.order) {
		before := 0
		for _, parent := range p.parents[commit] {
			before = max(before, most[parent])
		}
		h := p.heads[commit]
		if before > 0 && h.Begun > before {
			p.anew[commit] = true
		}
		most[commit] = max(before, h.Begun)
	}
	for _, commit := range p.order { // a commit comes before its parents
		if p.anew[commit] || p.closed[commit] {
			for _, parent := range p.parents[commit] {
				p.closed[parent] = true
			}
		}
	}
}

// judge says what is wrong with the history by itself: the head goes back, or a file was written twice. What a commit that begins anew has
// replaced since is a note.
func (x *comparison) judge(ctx context.Context, p *past) error {
	if x.clone.repo == nil {
		return nil
	}
	if h := p.heads[x.clone.Commit]; h.Journal() != x.head.Journal() {
		return &Difference{
			Seq: min(h.Seq, x.head.Seq) + 1, Where: headFile,
			What: fmt.Sprintf("the files in the folder say that the mirror ends at entry %d, its commit says %d", x.head.Seq, h.Seq),
		}
	}
	for _, commit := range p.order {
		if err := x.found(p, commit, p.fault(commit)); err != nil {
			return err
		}
		if p.anew[commit] {
			x.note("the mirror was written anew from the first entry in commit %.12s", commit)
		}
	}
	if err := x.seen(p); err != nil {
		return err
	}
	return x.rewritten(ctx, p)
}

// fault is what is wrong with the head of a commit.
func (p *past) fault(commit string) *Difference {
	if err := p.wrong[commit]; err != nil {
		return &Difference{What: err.Error(), Where: "commit " + commit}
	}
	h, is := p.heads[commit]
	for _, parent := range p.parents[commit] {
		before, was := p.heads[parent]
		if was && !p.anew[commit] && (!is || h.Seq < before.Seq || h.Begun < before.Begun) {
			return &Difference{
				Seq: h.Seq + 1, Where: "commit " + commit,
				What: fmt.Sprintf("the mirror reached entry %d and was set back to %d: it was shortened", before.Seq, h.Seq),
			}
		}
	}
	return nil
}

// found returns what was found in a commit, or notes it when it was replaced since.
func (x *comparison) found(p *past, commit string, d *Difference) error {
	switch {
	case d == nil:
		return nil
	case p.closed[commit]:
		x.note("before the mirror was written anew: %s", d.Error())
		return nil
	}
	return d
}

func (x *comparison) note(format string, args ...any) {
	if len(x.report.Notes) < maxNamed {
		x.report.Notes = append(x.report.Notes, fmt.Sprintf(format, args...))
	}
}

// seen wants the commit that was seen last in the mirror to be a part of the history, when that reaches as far.
func (x *comparison) seen(p *past) error {
	if x.checks.Known == "" {
		return nil
	}
	if _, ok := p.trees[x.checks.Known]; ok {
		return nil
	}
	switch {
	case x.head.Seq < x.checks.KnownSeq && x.checks.Current:
		return &Difference{
			Seq: x.head.Seq + 1, Where: "commit " + x.checks.Known,
			What: fmt.Sprintf("the mirror had reached entry %d and ends at %d now: it was set back", x.checks.KnownSeq, x.head.Seq),
		}
	case x.head.Seq < x.checks.KnownSeq:
		x.note("the clone ends at entry %d, the mirror had reached %d: the clone is older, or the mirror was set back; git pull, then compare again", x.head.Seq, x.checks.KnownSeq)
		return nil
	case x.clone.Shallow:
		x.note("that the history holds the commit %.12s, which was seen in the mirror at entry %d, is not proven", x.checks.Known, x.checks.KnownSeq)
		return nil
	}
	return &Difference{
		Seq: x.checks.KnownSeq, Where: "commit " + x.checks.Known,
		What: "the commit that was written when the mirror had reached it is not in the history any more: the history was rewritten",
	}
}

// rewritten looks for commits that changed or removed what is never written twice.
func (x *comparison) rewritten(ctx context.Context, p *past) error {
	r := rewrites{objects: x.clone.repo.objects, seen: map[[2]string]bool{}}
	for _, commit := range p.order {
		for _, parent := range p.parents[commit] {
			if err := ctx.Err(); err != nil {
				return err
			}
			if p.anew[commit] {
				continue
			}
			path, err := r.first(p.trees[parent], p.trees[commit])
			if err != nil {
				return &Difference{What: "the history of the clone cannot be read: " + err.Error(), Where: "commit " + commit}
			}
			if path == "" {
				continue
			}
			d := &Difference{Seq: seqOf(path), What: fmt.Sprintf("%.200s was changed or removed after it was written", forge.Plain(errors.New(path))), Where: "commit " + commit}
			if err := x.found(p, commit, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxSeen bounds the pairs that are remembered.
const maxSeen = 1 << 16

// rewrites finds what is other in a tree than in one before it, of what is written once.
type rewrites struct {
	objects *objects
	// seen are pairs of trees in which everything of the first is in the second: a history compares most of them often.
	seen map[[2]string]bool
}

// first is the path of the first file that is not any more what it was, empty when there is none.
func (r *rewrites) first(before, after string) (string, error) {
	for _, dir := range []string{entriesDir, releasedDir} {
		was, ok, err := r.objects.find(before, dir)
		if err != nil || !ok {
			if err != nil {
				return "", err
			}
			continue
		}
		is, _, err := r.objects.find(after, dir)
		if err != nil {
			return "", err
		}
		if path, err := r.below(was, is, dir); path != "" || err != nil {
			return path, err
		}
	}
	return "", nil
}

// below compares what was at a path with what is there.
func (r *rewrites) below(was, is treeRow, path string) (string, error) {
	pair := [2]string{was.id, is.id}
	switch {
	case was.id == is.id && was.mode == is.mode || was.isDir() && r.seen[pair]:
		return "", nil
	case !was.isDir() || strings.Count(path, "/") > strings.Count(segmentPath(1), "/"):
		return path, nil
	}
	old, err := r.objects.tree(was.id)
	if err != nil {
		return "", err
	}
	var rows []treeRow
	if is.isDir() {
		if rows, err = r.objects.tree(is.id); err != nil {
			return "", err
		}
	}
	now := map[string]treeRow{}
	for _, row := range rows {
		now[row.name] = row
	}
	for _, row := range old {
		if found, err := r.below(row, now[row.name], path+"/"+row.name); found != "" || err != nil {
			return found, err
		}
	}
	if !is.isDir() {
		return path, nil
	}
	if len(r.seen) == maxSeen {
		clear(r.seen)
	}
	r.seen[pair] = true
	return "", nil
}
