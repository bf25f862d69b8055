package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"arbiter/amp"
)

// maxLeftovers is how much of what an agent left uncommitted is committed for it, in bytes: beyond that it is no source text.
const maxLeftovers = 100 << 20

// settled says what became of uncommitted files.
type settled struct {
	// files is how many were committed for the agent.
	files int
	claim *amp.Claim
}

// settle commits what the agent left uncommitted to the branch, or pins it when the worktree is not on the branch.
func (v *verification) settle(ctx context.Context, onBranch bool) (settled, error) {
	if v.rec.Left != "" && v.rec.Left == v.c.Commit { // an earlier call committed them
		n, err := v.r.changes(ctx, v.rec.AgentTip, v.c.Commit, false)
		switch {
		case err != nil:
		case len(v.state.changed) > 0:
			err = v.wt.reset(ctx, v.w.Branch, v.c.Commit)
		default:
			err = v.wt.useKeptIndex(v.c.Commit)
		}
		return settled{files: len(n)}, err
	}
	if len(v.state.changed) == 0 {
		return settled{}, nil
	}
	if !onBranch {
		head := v.state.head
		if head == "" {
			head = v.rec.Tip // the branch was deleted
		}
		ref, err := v.wt.pinFiles(ctx, v.w.TaskID, head, "left outside the branch by turn "+v.rec.Turn)
		if bad, is := errors.AsType[*unfitError](err); is {
			return settled{claim: v.unfitClaim(bad)}, nil
		}
		if err != nil || ref == "" {
			return settled{}, err
		}
		return settled{claim: &amp.Claim{
			Name: "leftovers", Finding: amp.Inconclusive, Found: plural(len(v.state.changed), "uncommitted file") + " pinned to " + ref,
		}}, nil
	}
	if size := v.wt.sizeOf(v.state.changed); size > maxLeftovers {
		return settled{claim: &amp.Claim{
			Name: "leftovers", Finding: amp.Refuted, Blocking: true,
			Found: fmt.Sprintf("%s of %d MB left uncommitted; files that are no part of the work must be ignored or removed",
				plural(len(v.state.changed), "file"), size>>20),
		}}, nil
	}
	err := v.commitLeftovers(ctx)
	if bad, is := errors.AsType[*unfitError](err); is {
		return settled{claim: v.unfitClaim(bad)}, nil
	}
	return settled{files: len(v.state.changed)}, err
}

// sizeOf is how many bytes files of the worktree take.
func (wt *worktree) sizeOf(names []string) int64 {
	var size int64
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(wt.dir, filepath.FromSlash(name))); err == nil {
			size += info.Size()
		}
	}
	return size
}

func (v *verification) commitLeftovers(ctx context.Context) error {
	tree, err := v.wt.tree(ctx)
	if err != nil {
		return err
	}
	c := v.r.at()
	c.write, c.as = true, &identity{"arbiter executor", string(v.w.TaskID) + agentDomain}
	c.stdin = message("Work left uncommitted by "+string(v.w.TaskID), trailers(v.w, "Turn: "+v.rec.Turn))
	out, err := v.g.run(ctx, c, "commit-tree", tree, "-p", v.c.Commit, "-F", "-")
	if err != nil {
		return fmt.Errorf("commit what turn %s left: %w", v.rec.Turn, err)
	}
	commit := strings.TrimSpace(out)
	v.rec.Left = commit
	if err := v.g.save(v.rec); err != nil {
		return err
	}
	if err := v.r.setRef(ctx, "refs/heads/"+v.w.Branch, commit, v.c.Commit, "work left uncommitted"); err != nil {
		return err
	}
	v.c.Commit = commit
	return v.wt.reset(ctx, v.w.Branch, commit)
}

// unfitClaim refutes a result with files that git does not take in.
func (v *verification) unfitClaim(bad *unfitError) *amp.Claim {
	return &amp.Claim{
		Name: "leftovers", Finding: amp.Refuted, Blocking: true,
		Found: plural(len(v.state.changed), "uncommitted file") + " could not be committed: " + bad.Error() + "; remove or ignore what is no part of the work",
	}
}
