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
	p := &past{parents: map[string][]string{}, heads: map[string]Head{}, wrong: map[string]error{}, anew: map[string]bool{}, closed: map[string]bool{}}
	if c.git == nil {
		x.note("there is no history in %s: that the mirror was never set back is not proven", c.Dir)
		return p, byEntry, nil
	}
	if c.Shallow {
		x.note("the clone has a part of the history only: git fetch --unshallow")
	}
	out, err := c.git.run(ctx, "rev-list", "--topo-order", "--parents", c.Commit)
	if err != nil {
		return nil, nil, &Difference{What: "the history of the clone cannot be read: " + err.Error()}
	}
	objects, err := c.git.objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = objects.Close() }() // how it ended was seen while reading
	for row := range strings.Lines(out) {
		words := strings.Fields(row)
		commit := words[0]
		p.order, p.parents[commit] = append(p.order, commit), words[1:]
		data, err := objects.blob(commit+":"+headFile, maxHead)
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
	if x.clone.git == nil {
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
	if err := x.seen(ctx); err != nil {
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
func (x *comparison) seen(ctx context.Context) error {
	if x.checks.Known == "" || x.head.Seq < x.checks.KnownSeq {
		return nil
	}
	if _, err := x.clone.git.run(ctx, "merge-base", "--is-ancestor", x.checks.Known, x.clone.Commit); err != nil && !x.clone.Shallow {
		return &Difference{
			Seq: x.checks.KnownSeq, Where: "commit " + x.checks.Known,
			What: "the commit that was written when the mirror had reached it is not in the history any more: the history was rewritten",
		}
	}
	return nil
}

// rewritten looks for commits that changed or removed what is never written twice.
func (x *comparison) rewritten(ctx context.Context, p *past) error {
	c := x.clone
	out, err := c.git.run(ctx, "log", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--diff-filter=MDT", "--name-status", "--format=%x01%H", c.Commit, "--",
		entriesDir, releasedDir)
	if err != nil {
		return &Difference{What: "the history of the clone cannot be read: " + err.Error()}
	}
	for block := range strings.SplitSeq(out, "\x01") {
		head, rest, _ := strings.Cut(block, "\x00")
		commit := strings.TrimSpace(head)
		fields := strings.FieldsFunc(rest, func(r rune) bool { return r == 0 || r == '\n' })
		if len(fields) < 2 || p.anew[commit] {
			continue
		}
		d := &Difference{Seq: seqOf(fields[1]), What: fmt.Sprintf("%.200s was changed or removed after it was written", forge.Plain(errors.New(fields[1]))), Where: "commit " + commit}
		if err := x.found(p, commit, d); err != nil {
			return err
		}
	}
	return nil
}
