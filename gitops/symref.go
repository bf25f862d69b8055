package gitops

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// A symbolic ref has the commit of another one and moves it: git keeps no record of who made one, and by the commits alone it looks like
// any other ref.

// refsAndHead returns all refs, and what each symbolic one names, HEAD of the person's checkout among these.
func (r *repo) refsAndHead(ctx context.Context) (refs, symbolic map[string]string, err error) {
	if refs, symbolic, err = r.allRefs(ctx); err != nil {
		return nil, nil, err
	}
	head, err := r.symbolic(ctx, "HEAD")
	if head != "" {
		symbolic["HEAD"] = head
	}
	return refs, symbolic, err
}

// turned lists the refs that the turn made symbolic, or made to name another one.
func (j *judge) turned(now map[string]string) ([]motion, error) {
	if j.rec.Symbolic == nil {
		return nil, nil // recorded before they were
	}
	var found []motion
	for _, ref := range slices.Sorted(maps.Keys(now)) {
		if now[ref] == j.rec.Symbolic[ref] {
			continue
		}
		m := motion{
			ref: ref, before: j.rec.Refs[ref], after: j.after[ref], symbolic: now[ref], blame: true, why: "git has no record of who did it",
			protected: isBranchRef(ref) && j.g.isProtected(j.r, ref, j.rec.Default),
		}
		switch {
		case ref == "HEAD":
			lines, err := newLines(j.r.common, ref, j.rec.Logs[ref], j.rec.At)
			if err != nil {
				return nil, err
			}
			if len(lines) > 0 {
				continue // a switch, judged by who did it
			}
			m.blame = false
		case strings.HasPrefix(ref, "refs/remotes/") && strings.HasSuffix(ref, "/HEAD"):
			m.blame = false // a fetch sets it
		}
		found = append(found, m)
	}
	return found, nil
}
