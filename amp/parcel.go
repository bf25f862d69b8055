package amp

// Parcel is what a bundle of commits is said to hold: the result of a turn that ran on another machine.
type Parcel struct {
	// Tip is the commit at which the branch is to be. Left, when it is not empty, is a commit on top of it whose files are those that were
	// left uncommitted.
	Tip  string `json:"tip"`
	Left string `json:"left,omitzero"`
	// SHA256 and Bytes are of the bundle; both are empty when the branch is where it was and nothing was left.
	SHA256 string `json:"sha256,omitzero"`
	Bytes  int64  `json:"bytes,omitzero"`
}

// Head is the commit that holds all of it.
func (p *Parcel) Head() string {
	if p.Left != "" {
		return p.Left
	}
	return p.Tip
}

// ParcelError says why commits from another machine were not taken. Nothing of them is in the repository.
type ParcelError struct{ Why string }

// Error is one sentence.
func (e *ParcelError) Error() string { return "the commits were not taken: " + e.Why }
