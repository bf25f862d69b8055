package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
)

// commitClaim compares the claimed commit with the branch's tip (AMP-084). An agent that committed and left more behind is told
// so; one that claims nothing is only wrong when it could have.
func (v *verification) commitClaim(ctx context.Context, claimed string, left settled) (amp.Claim, error) {
	tip, agent := v.c.Commit, v.rec.AgentTip
	c := amp.Claim{
		Name: "commit", Finding: amp.Refuted, Blocking: true, Claimed: claimed, Found: short(tip), Evidence: "git rev-parse " + v.w.Branch,
	}
	hash := strings.ToLower(strings.TrimSpace(claimed))
	switch {
	case hash == "" && agent == v.rec.Tip && left.files > 0:
		c.Finding, c.Found = amp.Confirmed, short(tip)+", committed by the coordinator"
	case hash == "" && tip == v.rec.Tip:
		c.Finding, c.Found = amp.Inconclusive, "nothing was committed, nothing was left to commit"
	case hash == "":
		c.Finding, c.Found = amp.Inconclusive, short(tip)+" is the tip; the report names no commit"
	case !isHex(hash) || len(hash) < 7 || len(hash) > 64:
		c.Found = "that is no commit name; the tip is " + short(tip)
	case tip == "":
		c.Found = "there is no branch"
	case strings.HasPrefix(tip, hash):
		c.Finding = amp.Confirmed
	case agent != tip && strings.HasPrefix(agent, hash):
		c.Finding = amp.Inconclusive
		c.Found = fmt.Sprintf("%s was the tip, but %s were left uncommitted; the coordinator committed them as %s", short(agent),
			plural(left.files, "file"), short(tip))
	default:
		full, err := v.r.commit(ctx, hash)
		if err != nil {
			return c, err
		}
		c.Found = "no such commit; the tip is " + short(tip)
		if full != "" {
			c.Found = "that commit exists, but the tip is " + short(tip)
		}
	}
	return c, nil
}

// claimedPath makes a path that an agent wrote comparable with git's.
func (v *verification) claimedPath(p string) string {
	p = strings.TrimSpace(p)
	for _, dir := range []string{v.wt.dir, v.r.root} {
		if rest, ok := strings.CutPrefix(p, dir+string(filepath.Separator)); ok {
			p = rest
		}
	}
	return path.Clean(filepath.ToSlash(p))
}

// filesClaim compares the claimed set of files with git's. A rename may be named by its new name alone, or by both.
func (v *verification) filesClaim(ctx context.Context, claimed []string, turn []change) (amp.Claim, error) {
	c := amp.Claim{
		Name: "files", Finding: amp.Confirmed, Blocking: true, Claimed: list(claimed), Found: list(paths(turn)),
		Evidence: "git diff --raw -M " + short(v.rec.Tip) + " " + short(v.c.Commit),
	}
	must, may := map[string]bool{}, map[string]bool{}
	for _, ch := range turn {
		must[ch.path], may[ch.path] = true, true
		if ch.status == 'R' {
			may[ch.from] = true
		}
	}
	var missing, invented []string
	said := map[string]bool{}
	for _, p := range claimed {
		name := p
		if !may[name] { // a name that begins with a space is taken as it stands
			name = v.claimedPath(p)
		}
		said[name] = true
		if !may[name] {
			invented = append(invented, name)
		}
	}
	for name := range must {
		if !said[name] {
			missing = append(missing, name)
		}
	}
	if len(missing)+len(invented) == 0 {
		return c, nil
	}
	slices.Sort(missing)
	slices.Sort(invented)
	c.Finding = amp.Refuted
	var why []string
	if len(invented) > 0 {
		why = append(why, "claimed but unchanged: "+list(invented))
	}
	if len(missing) > 0 {
		why = append(why, "changed but not claimed: "+list(missing))
	}
	c.Found = strings.Join(why, "; ")
	return c, nil
}

// linesClaim compares the claimed line counts with git's; with renames, those of the whole files are right too.
func (v *verification) linesClaim(ctx context.Context, d amp.DiffSummary, turn []change) (amp.Claim, error) {
	added, removed := lines(turn)
	c := amp.Claim{
		Name: "lines", Finding: amp.Confirmed, Claimed: fmt.Sprintf("+%d -%d", d.LinesAdded, d.LinesRemoved),
		Found: fmt.Sprintf("+%d -%d", added, removed), Evidence: "git diff --numstat -M " + short(v.rec.Tip) + " " + short(v.c.Commit),
	}
	if d.LinesAdded == added && d.LinesRemoved == removed {
		return c, nil
	}
	c.Finding = amp.Refuted
	if !slices.ContainsFunc(turn, func(ch change) bool { return ch.status == 'R' }) {
		return c, nil
	}
	plain, err := v.r.changes(ctx, v.rec.Tip, v.c.Commit, false)
	if err != nil {
		return c, err
	}
	if a, r := lines(plain); a == d.LinesAdded && r == d.LinesRemoved {
		c.Finding, c.Found = amp.Confirmed, fmt.Sprintf("+%d -%d with renamed files counted whole", a, r)
	}
	return c, nil
}

// pathsClaim says whether every file that the branch changes is one that the plan allows.
func pathsClaim(allowed []string, whole []change) amp.Claim {
	c := amp.Claim{Name: "paths", Finding: amp.Confirmed, Blocking: true, Claimed: list(allowed), Found: "every changed file is allowed"}
	if len(allowed) == 0 {
		c.Claimed, c.Found = "any file", "the plan allows every file"
		return c
	}
	outside := slices.DeleteFunc(paths(whole), func(p string) bool {
		return slices.ContainsFunc(allowed, func(pattern string) bool { return amp.MatchPath(pattern, p) })
	})
	if len(outside) > 0 {
		c.Finding, c.Found = amp.Refuted, "outside the plan: "+list(outside)
	}
	return c
}

// criteriaClaim counts what the agent says of the acceptance criteria; git cannot tell whether it is so (AMP-079).
func criteriaClaim(result *amp.Result) amp.Claim {
	var yes, no, open int
	for _, m := range result.SelfAssessment.CriteriaMet {
		switch {
		case m == nil:
			open++
		case *m:
			yes++
		default:
			no++
		}
	}
	c := amp.Claim{
		Name: "criteria", Finding: amp.Inconclusive, Claimed: fmt.Sprintf("%d met, %d not met, %d not verified", yes, no, open),
		Found: "left to the reviewer",
	}
	if result.CompletionStatus == amp.Complete && no > 0 {
		c.Found = fmt.Sprintf("reported complete, though it says that %d of %d are not met", no, yes+no+open)
	}
	return c
}

// workLogClaim says whether the files that the work log names were changed or at least exist (AMP-082). One that is nowhere may have
// been made and removed again, so git cannot tell.
func (v *verification) workLogClaim(log []amp.WorkItem, changed []string) amp.Claim {
	c := amp.Claim{Name: "work_log", Finding: amp.Confirmed, Claimed: plural(len(log), "line"), Found: "every file that it names was changed or exists"}
	var unknown []string
	for _, item := range log {
		if strings.TrimSpace(item.File) == "" {
			continue
		}
		name := v.claimedPath(item.File)
		if slices.Contains(changed, name) || name == "." || v.exists(name) {
			continue
		}
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		c.Finding, c.Found = amp.Inconclusive, "neither changed nor there: "+list(slices.Compact(unknown))
	}
	return c
}

// exists looks for a file below the worktree, never through a link that leads out of it.
func (v *verification) exists(name string) bool {
	root, err := os.OpenRoot(v.wt.dir)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Lstat(filepath.FromSlash(name))
	return err == nil
}

// strangeFiles names repositories inside the repository: their files are in no diff that a reviewer sees. A submodule that is named in the
// open is none.
func (v *verification) strangeFiles(ctx context.Context, turn []change) (c amp.Claim, ok bool, err error) {
	c = amp.Claim{Name: "contents", Finding: amp.Refuted, Blocking: true, Evidence: "git diff --raw"}
	var nested []string
	for _, ch := range turn {
		if ch.mode == "160000" && ch.oldMode != "160000" {
			nested = append(nested, ch.path)
		}
	}
	if len(nested) == 0 {
		return c, false, nil
	}
	out, err := v.r.git(ctx, "config", "--blob", v.c.Commit+":.gitmodules", "-z", "--get-regexp", `^submodule\..*\.path$`)
	if _, failed := errors.AsType[*exitError](err); failed {
		out, err = "", nil // there is none, or none that git reads
	}
	named := map[string]bool{}
	for entry := range strings.SplitSeq(out, "\x00") {
		_, name, _ := strings.Cut(entry, "\n")
		named[name] = true
	}
	nested = slices.DeleteFunc(nested, func(name string) bool { return named[name] })
	c.Found = "a repository of its own, whose files are not part of the commit: " + list(nested)
	return c, len(nested) > 0, err
}

// list is names for a person, at most 20 of them, each in quotes when it has strange characters.
func list(names []string) string {
	more := ""
	if len(names) > 20 {
		more = fmt.Sprintf(" and %d more", len(names)-20)
		names = names[:20]
	}
	shown := make([]string, len(names))
	for i, n := range names {
		shown[i] = n
		if q := fmt.Sprintf("%q", n); q != `"`+n+`"` || strings.ContainsAny(n, ", ") {
			shown[i] = q
		}
	}
	if len(shown) == 0 {
		return "none"
	}
	return strings.Join(shown, ", ") + more
}
