package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
)

// motion is one ref that is not where it was when the turn started, or was moved and put back.
type motion struct {
	ref, before, after string
	lines              []reflogLine
	protected          bool
	// symbolic is the ref that it names since, when it was made a symbolic one.
	symbolic string
	// blame says that the turn is at fault, why in words.
	blame bool
	why   string
}

// String says what moved, from where to where, and why that counts.
func (m motion) String() string {
	switch {
	case m.symbolic != "":
		return m.ref + " was made a symbolic ref to " + m.symbolic + ": " + m.why
	case m.before == m.after:
		return m.ref + " was moved and put back: " + m.why
	case m.before == "":
		return fmt.Sprintf("%s was created at %s: %s", m.ref, short(m.after), m.why)
	case m.after == "":
		return fmt.Sprintf("%s was deleted (it was at %s): %s", m.ref, short(m.before), m.why)
	}
	return fmt.Sprintf("%s moved from %s to %s: %s", m.ref, short(m.before), short(m.after), m.why)
}

// judge compares all refs with those before the turn. A move by another identity that does not hold the turn's new commits is noted
// and blames nobody: several tasks work in one repository, and people commit meanwhile. What Arbiter and the agents of other
// tasks did to refs of their own is left out.
func (g *Git) judge(ctx context.Context, r *repo, rec *turnRecord, tip string) ([]motion, error) {
	after, symbolic, err := r.refsAndHead(ctx)
	if err != nil {
		return nil, err
	}
	sizes, err := reflogSizes(r.common)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for ref, hash := range after {
		names[ref] = rec.Refs[ref] != hash
	}
	for ref := range rec.Refs {
		names[ref] = names[ref] || after[ref] == ""
	}
	for ref, size := range sizes { // moved and moved back
		names[ref] = names[ref] || size != rec.Logs[ref]
	}
	j := judge{g: g, r: r, rec: rec, tip: tip, after: after}
	found, err := j.turned(symbolic)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		names[m.ref] = false
	}
	for _, ref := range slices.Sorted(maps.Keys(names)) {
		if !names[ref] || j.ours(ref) {
			continue
		}
		m, noted, err := j.ref(ctx, ref)
		if err != nil {
			return nil, err
		}
		if noted {
			found = append(found, m)
		}
	}
	return found, nil
}

type judge struct {
	g     *Git
	r     *repo
	rec   *turnRecord
	tip   string
	after map[string]string
	// news are the commits that the turn added, read when first needed.
	news map[string]bool
}

// ours reports whether the turn may move a ref.
func (j *judge) ours(ref string) bool {
	if ref == "refs/heads/"+j.rec.Branch && !j.rec.Review {
		return true
	}
	return strings.HasPrefix(ref, "refs/bisect/") || strings.HasPrefix(ref, "refs/worktree/") || strings.HasPrefix(ref, "refs/rewritten/")
}

// ref judges one ref; noted is false when nothing about it is worth a word.
func (j *judge) ref(ctx context.Context, ref string) (m motion, noted bool, err error) {
	m = motion{ref: ref, before: j.rec.Refs[ref], after: j.after[ref]}
	m.protected = isBranchRef(ref) && j.g.isProtected(j.r, ref, j.rec.Default)
	if m.lines, err = newLines(j.r.common, ref, j.rec.Logs[ref], j.rec.At); err != nil {
		return m, false, err
	}
	mine := string(j.rec.Task) + agentDomain
	for _, l := range m.lines {
		if l.email == mine {
			m.blame, m.why = true, fmt.Sprintf("by this turn's agent (%s)", l.message)
			if strings.HasPrefix(ref, "refs/remotes/") && !strings.Contains(l.message, "push") {
				m.blame, m.why = false, "fetched by this turn's agent"
			}
			return m, true, nil
		}
	}
	if m.before == m.after {
		return m, false, nil
	}
	last, explained, err := j.mover(m)
	if err != nil {
		return m, false, err
	}
	if strings.HasPrefix(ref, "refs/arbiter/") {
		if followed, err := j.followed(ctx, m); err != nil || followed {
			return m, false, err
		}
		return j.bookkeeping(m, explained && last.email == arbiter.Email)
	}
	holds, err := j.holdsNews(ctx, m)
	if err != nil {
		return m, false, err
	}
	switch {
	case holds && !(explained && strings.HasPrefix(ref, "refs/remotes/")):
		m.blame, m.why = true, "it holds commits that this turn made"
	case explained && last.email == arbiter.Email:
		return m, false, nil
	case explained && strings.HasSuffix(last.email, agentDomain) && !m.protected:
		return m, false, nil // another task's agent: that task's own check says whether it may
	case explained:
		m.why = "by " + last.who()
	default:
		err = j.unexplained(ctx, &m)
	}
	return m, true, err
}

// logLead is how long before the record of a turn a move may have been logged and still not have been seen in it: git writes the
// reflog first and the ref after it, so a record made between the two knows the line and not the move.
const logLead = 5 * time.Second

// mover is the line of the reflog that tells of the move to where the ref is now. A ref that moved on since the refs were read
// has newer lines behind it.
func (j *judge) mover(m motion) (line reflogLine, found bool, err error) {
	lines := m.lines
	for range 2 {
		for _, l := range slices.Backward(lines) {
			if m.after != "" && l.new == m.after {
				return l, true, nil
			}
		}
		if lines, err = newLines(j.r.common, m.ref, math.MaxInt64, j.rec.At.Add(-logLead)); err != nil {
			return line, false, err
		}
	}
	return line, false, nil
}

// bookkeeping judges the refs that this package keeps: those of other tasks are checked by their own turns.
func (j *judge) bookkeeping(m motion, byUs bool) (motion, bool, error) {
	parts := strings.Split(m.ref, "/")
	if byUs || len(parts) < 4 || parts[3] != string(j.rec.Task) {
		return m, false, nil
	}
	m.blame, m.why = true, "checkpoints and recovery refs of the task are the coordinator's alone"
	return m, true, nil
}

// followed reports whether a ref is one that kept direct fixes and went as it has to, which leaves no reflog: they are on the task's branch
// by now, or pinned.
func (j *judge) followed(ctx context.Context, m motion) (bool, error) {
	if m.after != "" || !strings.HasPrefix(m.ref, fixPrefix(j.rec.Task)) {
		return false, nil
	}
	for ref, commit := range j.after {
		if commit == m.before && strings.HasPrefix(ref, recoveryPrefix(j.rec.Task)) {
			return true, nil
		}
	}
	tip := j.after["refs/heads/"+j.rec.Branch]
	if tip == "" {
		return false, nil
	}
	on, err := j.r.ancestor(ctx, m.before, tip)
	if _, ok := errors.AsType[*exitError](err); ok {
		return false, nil // the commit is gone
	}
	return on, err
}

// unexplained judges a move that no reflog tells of. Git keeps no reflog of tags and removes that of a deleted branch, so what loses
// nothing is only noted: a new tag, a pruned remote branch, a deleted branch whose commits are elsewhere.
func (j *judge) unexplained(ctx context.Context, m *motion) error {
	m.blame, m.why = true, "git has no record of who did it"
	switch {
	case strings.HasPrefix(m.ref, "refs/tags/") && m.before == "":
		m.blame = false
	case m.after == "" && strings.HasPrefix(m.ref, "refs/remotes/"):
		m.blame = false
	case m.after == "" && !m.protected && strings.HasPrefix(m.ref, "refs/heads/"):
		out, err := j.r.git(ctx, "for-each-ref", "--count=1", "--contains", m.before, "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
		if err == nil && strings.TrimSpace(out) != "" {
			m.blame, m.why = false, "git has no record of who did it; its commits are on "+strings.TrimSpace(out)+" too"
		}
		if _, ok := errors.AsType[*exitError](err); ok {
			err = nil // the commit is gone already
		}
		return err
	}
	return nil
}

// holdsNews reports whether a moved ref now holds commits that this turn made.
func (j *judge) holdsNews(ctx context.Context, m motion) (bool, error) {
	if m.after == "" || j.tip == "" || j.tip == j.rec.Tip {
		return false, nil
	}
	if j.news == nil {
		out, err := j.r.git(ctx, "rev-list", "--max-count=5000", j.tip, "^"+j.rec.Tip)
		if err != nil {
			return false, err
		}
		j.news = map[string]bool{}
		for c := range strings.FieldsSeq(out) {
			j.news[c] = true
		}
	}
	// walked from the moved ref down to where the turn started: one of the turn's commits is there, or none
	args := []string{"rev-list", "--max-count=20000", m.after, "^" + j.rec.Tip}
	if m.before != "" {
		args = append(args, "^"+m.before)
	}
	out, err := j.r.git(ctx, args...)
	if _, ok := errors.AsType[*exitError](err); ok {
		return false, nil // the ref names no commit
	}
	return slices.ContainsFunc(strings.Fields(out), func(c string) bool { return j.news[c] }), err
}

func isBranchRef(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/remotes/")
}

// refsClaim is the line of the ledger about refs other than the task's branch, from what moved and what the hooks refused, and the
// escalation that it asks for: branch_violation when a protected branch was touched or tried, else permission_denied (AMP-049,
// AMP-168). The moved protected refs are remembered for a rollback.
func (g *Git) refsClaim(ctx context.Context, r *repo, rec *turnRecord, tip string) (amp.Claim, amp.EscalationType, error) {
	c := amp.Claim{Name: "refs", Finding: amp.Confirmed, Blocking: true, Evidence: "git for-each-ref before and after the turn, reflogs, hooks"}
	moved, err := g.judge(ctx, r, rec, tip)
	if err != nil {
		return c, "", err
	}
	var blamed, noted []string
	var escalate amp.EscalationType
	raise := func(protected bool) {
		if protected {
			escalate = amp.BranchViolation
		} else if escalate == "" {
			escalate = amp.PermissionDenied
		}
	}
	rec.Moved = slices.DeleteFunc(rec.Moved, func(m movedRef) bool { return !m.Restored })
	for _, m := range moved {
		if !m.blame {
			noted = append(noted, m.String())
			continue
		}
		blamed = append(blamed, m.String())
		raise(m.protected)
		rec.remember(m)
	}
	tried, err := g.attempts(rec.Turn)
	if errors.Is(err, errAttemptsGone) {
		blamed, err = append(blamed, err.Error()), nil
		raise(false)
	}
	if err != nil {
		return c, "", err
	}
	for _, a := range tried {
		if a.harmless() {
			noted = append(noted, "refused: "+a.String())
			continue
		}
		blamed = append(blamed, "refused: tried to "+a.String())
		raise((isBranchRef(a.ref) || a.kind == "switch") && g.isProtected(r, a.ref, rec.Default))
	}
	switch {
	case len(blamed) > 0:
		c.Finding, c.Found = amp.Refuted, clip(blamed)
	case len(noted) > 0:
		c.Finding, c.Found = amp.Inconclusive, clip(noted)
	default:
		c.Found = "no ref but the task's branch was moved"
		if rec.Review {
			c.Found = "no ref was moved"
		}
	}
	return c, escalate, nil
}

// remember keeps where a protected branch was moved from and to, for a rollback.
func (rec *turnRecord) remember(m motion) {
	if m.protected && strings.HasPrefix(m.ref, "refs/heads/") && (m.before != m.after || m.symbolic != "") {
		rec.Moved = append(rec.Moved, movedRef{Ref: m.ref, Before: m.before, After: m.after, Symbolic: m.symbolic != ""})
	}
}

// harmless reports whether a refused attempt is what careful agents do too, and nothing came of it: a fetch, a stash, a note.
func (a attempt) harmless() bool {
	if a.kind != "ref" || strings.Contains(a.command, "push") {
		return false
	}
	fetch := strings.Contains(a.command, "fetch") || strings.Contains(a.command, "pull") || strings.Contains(a.command, "remote update")
	return a.ref == "refs/stash" || strings.HasPrefix(a.ref, "refs/notes/") || strings.HasPrefix(a.ref, "refs/remotes/") ||
		strings.HasPrefix(a.ref, "refs/tags/") && fetch
}

// clip joins sentences, at most ten of them.
func clip(all []string) string {
	all = slices.Compact(all)
	if len(all) > 10 {
		all = append(all[:10:10], fmt.Sprintf("and %d more", len(all)-10))
	}
	return strings.Join(all, "; ")
}
