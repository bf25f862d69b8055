package amp

import "strconv"

// PullDraft is what a pull request says of the task that it delivers.
type PullDraft struct {
	TaskID   TaskID
	Title    string
	Plan     *Plan
	Approval *Approval
	// Claims are those of the last result, Checks their sums over all rounds, CI what the gates said.
	Claims  []Claim
	Checks  CheckState
	CI      map[string]string
	Verdict *Verdict
	// VerdictSeq is the entry of the verdict, Head the end of the journal when the delivery was begun, By who ordered it.
	VerdictSeq uint64
	Head       Head
	By         string
}

// PullPlan is what a delivery by pull request would send, and where, before anything is sent.
type PullPlan struct {
	// Repo is owner/name, At the address that is pushed to.
	Repo string `json:"repo,omitzero"`
	At   string `json:"at,omitzero"`
	// Commit is set as Branch there, and the request asks to merge it into Base. Commits is how many commits it brings to the base branch
	// as it is here.
	Branch  string `json:"branch"`
	Base    string `json:"base"`
	Commit  string `json:"commit"`
	Commits int    `json:"commits"`
	Title   string `json:"title"`
	// BodyBytes is how long the text of the request is.
	BodyBytes int `json:"body_bytes,omitzero"`
	// Refused says why nothing would be sent, and Next what to do about it; both are empty when it would be tried.
	Refused string `json:"refused,omitzero"`
	Next    string `json:"next,omitzero"`
}

// Count is how many commits it brings, in words.
func (p *PullPlan) Count() string {
	if p.Commits == 1 {
		return "1 commit"
	}
	return strconv.Itoa(p.Commits) + " commits"
}
