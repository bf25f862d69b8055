package github

import (
	"context"
	"fmt"
	"strings"

	"arbiter/amp"
)

// pastHead is what a commit of the history says the head was.
type pastHead struct {
	commit string
	hash   amp.Hash
}

// history reads the heads of all commits, the newest first, by entry. What it says of itself has to fit: the head never goes back and no
// segment is written twice, unless the mirror was begun anew.
func (x *comparison) history(ctx context.Context) (map[uint64][]pastHead, error) {
	c := x.clone
	heads := map[uint64][]pastHead{}
	note := func(format string, args ...any) {
		x.report.Notes = append(x.report.Notes, fmt.Sprintf(format, args...))
	}
	if c.git == nil {
		note("there is no history in %s: that the mirror was never set back is not proven", c.Dir)
		return heads, nil
	}
	if c.Shallow {
		note("the clone has a part of the history only: git fetch --unshallow")
	}
	out, err := c.git.run(ctx, "rev-list", "--parents", c.Commit)
	if err != nil {
		return nil, &Difference{What: "the history of the clone cannot be read: " + err.Error()}
	}
	objects, err := c.git.objects(ctx)
	if err != nil {
		return nil, err
	}
	defer objects.Close()
	past := map[string]Head{}
	for row := range strings.Lines(out) {
		commit, _, _ := strings.Cut(strings.TrimSpace(row), " ")
		data, err := objects.blob(commit+":"+headFile, maxHead)
		if err != nil {
			return nil, &Difference{What: err.Error(), Where: "commit " + commit}
		}
		if data == nil {
			continue // from before the mirror, or without its files
		}
		h, err := decodeHead(data)
		if err != nil {
			return nil, &Difference{What: err.Error(), Where: "commit " + commit}
		}
		h.Withheld = nil
		past[commit] = h
		if h.Seq > 0 {
			heads[h.Seq] = append(heads[h.Seq], pastHead{commit, h.Hash})
		}
	}
	x.report.Commits = len(past)
	if h := past[c.Commit]; h.Journal() != x.head.Journal() {
		return nil, &Difference{
			Seq: min(h.Seq, x.head.Seq), Where: headFile,
			What: fmt.Sprintf("the files in the folder say that the mirror ends at entry %d, its commit says %d", x.head.Seq, h.Seq),
		}
	}
	anew := map[string]bool{}
	for row := range strings.Lines(out) {
		words := strings.Fields(row)
		h, is := past[words[0]]
		for _, parent := range words[1:] {
			switch before, was := past[parent]; {
			case was && is && h.Begun > before.Begun:
				note("the mirror was written anew after entry %d (commit %.12s)", before.Seq, words[0])
				anew[words[0]] = true
			case was && (!is || h.Seq < before.Seq || h.Begun < before.Begun):
				return nil, &Difference{
					Seq: h.Seq + 1, Where: "commit " + words[0],
					What: fmt.Sprintf("the mirror reached entry %d and was set back to %d: it was shortened", before.Seq, h.Seq),
				}
			}
		}
	}
	if err := x.seen(ctx); err != nil {
		return nil, err
	}
	return heads, x.rewritten(ctx, anew)
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
func (x *comparison) rewritten(ctx context.Context, anew map[string]bool) error {
	c := x.clone
	out, err := c.git.run(ctx, "log", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--diff-filter=MDT", "--name-status", "--format=%x01%H", c.Commit, "--",
		entriesDir, releasedDir)
	if err != nil {
		return &Difference{What: "the history of the clone cannot be read: " + err.Error()}
	}
	for block := range strings.SplitSeq(out, "\x01") {
		head, rest, _ := strings.Cut(block, "\x00")
		commit := strings.TrimSpace(head)
		if commit == "" || anew[commit] {
			continue
		}
		fields := strings.FieldsFunc(rest, func(r rune) bool { return r == 0 || r == '\n' })
		if len(fields) < 2 {
			continue
		}
		return &Difference{Seq: seqOf(fields[1]), What: fmt.Sprintf("%.200s was changed or removed later", plain(fmt.Errorf("%s", fields[1]))), Where: "commit " + commit}
	}
	return nil
}
