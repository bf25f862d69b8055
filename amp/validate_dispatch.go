package amp

import (
	"regexp"
	"strconv"
	"strings"
)

// dispatch reports on a task_dispatch, AMP-044 to AMP-062.
func (r *report) dispatch(m *Message, p *Dispatch) {
	r.text("AMP-044", "payload.description", p.Description)
	if !absolute(p.Repo) {
		r.refuse("AMP-045", "payload.repo", "is %s, expected the absolute path of a local repository", quoted(p.Repo))
	}
	r.branch(p.Branch)
	if len(p.Subtasks) == 0 {
		r.refuse("AMP-054", "payload.subtasks", "is empty, expected at least one subtask")
	}
	first := make(map[string]int, len(p.Subtasks))
	for i, s := range p.Subtasks {
		field := at("payload.subtasks", i)
		r.text("AMP-051", field+".subtask_id", s.SubtaskID)
		if j, twice := first[s.SubtaskID]; twice {
			r.refuse("AMP-052", field+".subtask_id", "is %s, which is already that of subtask %d", quoted(s.SubtaskID), j)
		} else {
			first[s.SubtaskID] = i
		}
		if s.SubtaskID != "" && !conventional(m.TaskID, s.SubtaskID) {
			r.warn("AMP-052", field+".subtask_id", "is %s, the convention is %s-S%d", quoted(s.SubtaskID), m.TaskID, i+1)
		}
		r.text("AMP-051", field+".description", s.Description)
		r.count("AMP-053", field+".estimated_lines", s.EstimatedLines)
	}
	if len(p.AcceptanceCriteria) == 0 {
		r.refuse("AMP-056", "payload.acceptance_criteria",
			"is empty; without a criterion nobody can tell when the work is complete: add at least one that can be verified")
	}
	for i, c := range p.AcceptanceCriteria {
		if strings.TrimSpace(c) == "" {
			r.warn("AMP-057", at("payload.acceptance_criteria", i), "is empty, so it cannot be verified")
		}
	}
	oneOf(r, "AMP-058", "payload.risk_level", p.RiskLevel, Low, Medium, High)
}

// branch refuses main and master, however they are written, and what git would not take for a name. The repository's own default
// branch and symbolic refs are seen by the git guard, which knows the repository.
func (r *report) branch(name string) {
	const field = "payload.branch"
	n := PlainBranch(name)
	switch {
	case n == "":
		r.refuse("AMP-047", field, "is %s, expected the name of a feature branch", quoted(name))
	case n == name && (n == "main" || n == "master"):
		r.refuse("AMP-048", field, "is %s; agents work on a feature branch, never on %s", quoted(name), n)
	case n == "main" || n == "master":
		r.refuse("AMP-049", field, "is %s, which is %s; agents work on a feature branch", quoted(name), n)
	case illegalBranch.MatchString(name):
		r.refuse("AMP-047", field, "is %s, which git does not take for the name of a branch", quoted(name))
	}
}

// illegalBranch are the names that git check-ref-format refuses, and those that git programs take for an option.
var illegalBranch = regexp.MustCompile(`^[-/.]|^@$|\.\.|//|/\.|@\{|[\x00-\x20\x7f~^:?*\[\\]|\.lock(?:/|$)|[/.]$`)

// remotePrefix is what may stand before a branch's own name.
var remotePrefix = regexp.MustCompile(`^(?:(?:refs/)?heads/|(?:refs/)?remotes/[^/]*(?:/|$)|origin/|upstream/|\s+)`)

// PlainBranch is a branch name without spaces around it and without refs/heads/, refs/remotes/{remote}/ and the usual remotes
// origin/ and upstream/ before it (AMP-049, A22). It knows no repository: other remotes and symbolic refs are resolved by the git
// guard.
func PlainBranch(name string) string {
	n := strings.TrimSpace(name)
	for {
		i := remotePrefix.FindStringIndex(n)
		if i == nil {
			return n
		}
		n = n[i[1]:]
	}
}

// absolute reports whether a path is absolute on some system: this one may only be passing it on.
func absolute(path string) bool {
	if strings.HasPrefix(path, "/") {
		return true
	}
	drive := len(path) >= 3 && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z') && path[1] == ':'
	return drive && (path[2] == '/' || path[2] == '\\')
}

// conventional reports whether a subtask id is {task_id}-S{n}.
func conventional(task TaskID, id string) bool {
	n, ok := strings.CutPrefix(id, string(task)+"-S")
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(n, 10, 32)
	return err == nil
}
