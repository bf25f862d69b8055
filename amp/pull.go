package amp

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
