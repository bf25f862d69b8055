package amp

import "fmt"

// Workspace is what git work needs to know of a task.
type Workspace struct {
	TaskID TaskID `json:"task_id"`
	// Repo is the absolute path of the repository's top folder.
	Repo       string `json:"repo"`
	Branch     string `json:"branch"`
	BaseBranch string `json:"base_branch"`
	BaseCommit string `json:"base_commit"`
	// Commit is the tip that the journal recorded last, empty before the first result: then the branch is at BaseCommit.
	Commit string `json:"commit,omitzero"`
	// AllowedPaths are the plan's patterns, PlanHash its content hash, Dispatch the msg_id at work: they go into trailers.
	AllowedPaths []string `json:"allowed_paths,omitzero"`
	PlanHash     string   `json:"plan_hash,omitzero"`
	Dispatch     string   `json:"dispatch,omitzero"`
}

// RepoFacts is what a repository is, before any work in it.
type RepoFacts struct {
	Root          string `json:"root"`
	DefaultBranch string `json:"default_branch"`
	// Head is the commit of the default branch, the base of new work.
	Head     string `json:"head"`
	Detached bool   `json:"detached,omitzero"`
	Dirty    bool   `json:"dirty,omitzero"`
	// BranchExists and BranchCommit are about the feature branch that was asked for.
	BranchExists bool   `json:"branch_exists,omitzero"`
	BranchCommit string `json:"branch_commit,omitzero"`
	// Files is the number of tracked files.
	Files int `json:"files"`
}

// Prepared is a worktree that is ready for a turn.
type Prepared struct {
	Dir        string
	Checkpoint int
	// Tip is the commit that the turn starts from.
	Tip string
	// Env is added to the agent's environment: it makes git refuse to touch other refs, and carries no credentials.
	Env []string
}

// Delivery is how an approved branch is delivered.
type Delivery struct {
	// Merge merges into the base branch; otherwise the branch is only prepared: trailers and a ref for the admin to push.
	Merge    bool
	Title    string
	Trailers []string
}

// GuardError says that a branch or repository must not be worked on. Type is branch_violation for a protected branch, unknown
// for a repository that cannot be used (AMP-046, AMP-048, AMP-049).
type GuardError struct {
	Type   EscalationType
	Repo   string
	Branch string
	Why    string
}

// Error is one sentence.
func (e *GuardError) Error() string {
	if e.Branch == "" {
		return fmt.Sprintf("repository %s: %s", e.Repo, e.Why)
	}
	return fmt.Sprintf("branch %s of %s: %s", e.Branch, e.Repo, e.Why)
}
