package amp

import "time"

// MirrorState is what the mirror of the journal says of itself: how far it is, and what it waits for.
type MirrorState struct {
	// Repo is "owner/name".
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	// Head is the last entry that is in the mirror.
	Head Head `json:"head"`
	// Behind is how many entries are not in it yet, Oldest is when the first of them was written.
	Behind uint64    `json:"behind"`
	Oldest time.Time `json:"oldest,omitzero"`
	// Commit is the last commit that was made or found, CommitAt when that was.
	Commit   string    `json:"commit,omitzero"`
	CommitAt time.Time `json:"commit_at,omitzero"`
	// Trouble is why it does not go on, Next what the admin can do about it, Until when it tries again. Stopped says that trying again
	// mends nothing: the admin has to decide.
	Trouble string    `json:"trouble,omitzero"`
	Next    string    `json:"next,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Stopped bool      `json:"stopped,omitzero"`
	// Public says that everybody may read the repository, when GitHub was asked last: not everything that is secret is found.
	Public bool `json:"public,omitzero"`
	// Withheld are the newest entries whose content was not sent since it holds what looks like a secret; WithheldCount is how many.
	Withheld      []WithheldEntry `json:"withheld,omitzero"`
	WithheldCount int             `json:"withheld_count,omitzero"`
	// Requests counts what was asked of GitHub since the mirror runs; Left is how many more it takes in this hour, as far as it said so.
	Requests int `json:"requests"`
	Left     int `json:"left,omitzero"`
	// At is when this was said.
	At time.Time `json:"at"`
}

// WithheldEntry is an entry whose content is not in the mirror, and the name of the rule that kept it back.
type WithheldEntry struct {
	Seq  uint64 `json:"seq"`
	Rule string `json:"rule"`
}

// Lag is for how long entries have been waiting for the mirror, by the clock of now; zero when none does.
func (s *MirrorState) Lag(now time.Time) time.Duration {
	if s.Behind == 0 || s.Oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Oldest))
}
