package amp

// Plan is the body of a plan entry: one revision of the contract between admin and executor. An approval binds its Hash.
type Plan struct {
	TaskID TaskID `json:"task_id"`
	// Revision counts from 1 and is set by the coordinator.
	Revision int    `json:"revision"`
	Title    string `json:"title"`
	Wish     string `json:"wish,omitzero"`
	// Author is who wrote this revision: an agent's or an admin's name.
	Author string `json:"author"`
	// Reasons is why the author planned it so; it binds nothing.
	Reasons string `json:"reasons,omitzero"`
	// Hash is the content hash of what an approval binds, in hex; see [Plan.ContentHash].
	Hash string `json:"hash"`

	Description        string    `json:"description"`
	Repo               string    `json:"repo"`
	Branch             string    `json:"branch"`
	BaseBranch         string    `json:"base_branch"`
	BaseCommit         string    `json:"base_commit"`
	Subtasks           []Subtask `json:"subtasks"`
	AcceptanceCriteria []string  `json:"acceptance_criteria"`
	RiskLevel          RiskLevel `json:"risk_level"`
	// AllowedPaths are patterns of the files that may change, relative to the repository, with ** for any depth. Empty allows
	// every file.
	AllowedPaths     []string       `json:"allowed_paths,omitzero"`
	ForbiddenActions []string       `json:"forbidden_actions,omitzero"`
	TechConstraints  map[string]any `json:"tech_constraints,omitzero"`
	// Checks are the commands of the local CI, each an argv; empty takes the repository's configured ones.
	Checks   [][]string `json:"checks,omitzero"`
	Executor string     `json:"executor,omitzero"`
	Reviewer string     `json:"reviewer,omitzero"`
	Budget   Budget     `json:"budget,omitzero"`
	Policy   Policy     `json:"policy,omitzero"`
}
