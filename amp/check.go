package amp

// CheckSubject is what a check entry verified.
type CheckSubject string

// The subjects of a check.
const (
	// CheckResult compares a task_result with git.
	CheckResult CheckSubject = "result"
	// CheckCI is the outcome of the repository's own check commands.
	CheckCI CheckSubject = "ci"
	// CheckReview measures what a reviewer changed in its disposable worktree.
	CheckReview CheckSubject = "review"
	// CheckFix records that the branch follows to the direct fixes of a verdict that counts.
	CheckFix CheckSubject = "fix"
	// CheckSuspension proves that a suspension holds: processes gone, epoch fenced, timers frozen.
	CheckSuspension CheckSubject = "suspension"
	// CheckResume is the checklist before a resume or unlock.
	CheckResume CheckSubject = "resume"
	// CheckCommand records whether a command with an undo time was carried out.
	CheckCommand CheckSubject = "command"
	// CheckWorkspace records what gitops did for a command: rollback or deliver.
	CheckWorkspace CheckSubject = "workspace"
	// CheckRelease records that the worktree of an ended task was removed, its work pinned.
	CheckRelease CheckSubject = "release"
)

// Finding is the result of checking one claim.
type Finding string

// The findings. Inconclusive means that git and exit codes cannot tell.
const (
	Confirmed    Finding = "CONFIRMED"
	Refuted      Finding = "REFUTED"
	Inconclusive Finding = "INCONCLUSIVE"
)

// Claim is one line of the claims ledger.
type Claim struct {
	// Name is a short word: commit, files, lines, branch, base, paths, criteria, work_log, refs, tests.
	Name    string  `json:"name"`
	Finding Finding `json:"finding"`
	// Claimed is what the agent said, Found what git or an exit code says.
	Claimed string `json:"claimed,omitzero"`
	Found   string `json:"found,omitzero"`
	// Blocking says that with this claim refuted no review is worth having.
	Blocking bool `json:"blocking,omitzero"`
	// Evidence is the command or comparison that found it, or the end of its output.
	Evidence string `json:"evidence,omitzero"`
}

// Check is the body of a check entry: a verification, each claim with its evidence.
type Check struct {
	Subject CheckSubject `json:"subject"`
	TaskID  TaskID       `json:"task_id"`
	// For is the msg_id, turn id or command id that was checked.
	For    string  `json:"for"`
	Claims []Claim `json:"claims"`
	// Commit is the branch's tip after the check: of a result the commit that the reviewer will see.
	Commit string `json:"commit,omitzero"`
	Base   string `json:"base,omitzero"`
	// Fix is the commit of a reviewer's direct fixes, on no branch until its verdict counts.
	Fix string `json:"fix,omitzero"`
	// Files, Added and Removed are what git counts between base and commit.
	Files   []string `json:"files,omitzero"`
	Added   int      `json:"added,omitzero"`
	Removed int      `json:"removed,omitzero"`
	// CI is the ci_status of the next review_request; Output is the end of the failed command's output.
	CI     map[string]string `json:"ci,omitzero"`
	Output string            `json:"output,omitzero"`
	// Escalate asks for an escalation of this type: a branch or permission violation was found.
	Escalate EscalationType `json:"escalate,omitzero"`
	// Checkpoint is the number of the checkpoint that was set or restored.
	Checkpoint int `json:"checkpoint,omitzero"`
	// Pull is the pull request that a delivery opened or found.
	Pull *PullState `json:"pull,omitzero"`
	// Text says in one line what happened.
	Text string `json:"text,omitzero"`
}

// Count returns how many claims were confirmed, refuted and inconclusive.
func (c *Check) Count() (confirmed, refuted, inconclusive int) {
	for _, cl := range c.Claims {
		switch cl.Finding {
		case Confirmed:
			confirmed++
		case Refuted:
			refuted++
		default:
			inconclusive++
		}
	}
	return confirmed, refuted, inconclusive
}

// Blocked reports whether a blocking claim was refuted.
func (c *Check) Blocked() bool {
	for _, cl := range c.Claims {
		if cl.Blocking && cl.Finding == Refuted {
			return true
		}
	}
	return false
}
