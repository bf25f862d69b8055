package amp

// DiffOptions say how a difference is shown. The zero value is git's own way: every file, three unchanged lines around a change,
// blanks count.
type DiffOptions struct {
	// Path is the one file to show, by its name now; empty shows all.
	Path string `json:"path,omitzero"`
	// Context is how many unchanged lines stand around a change; 0 means 3.
	Context int `json:"context,omitzero"`
	// IgnoreSpace leaves out what differs in blanks alone.
	IgnoreSpace bool `json:"ignore_space,omitzero"`
}

// Diff is what changed between two commits of a task's branch.
type Diff struct {
	// From and To are the full names of the two commits; Commits is how many To has that From has not.
	From    string `json:"from"`
	To      string `json:"to"`
	Commits int    `json:"commits"`
	// Files are the changed files in git's order. Those behind the first 5,000 are only counted in MoreFiles.
	Files     []DiffFile `json:"files,omitzero"`
	MoreFiles int        `json:"more_files,omitzero"`
	// Text is the unified diff. It is bounded for each file and in all; where something was cut, a line that begins with "…"
	// says how much.
	Text string `json:"-"`
}

// DiffFile is one changed file of a [Diff], as git counts it: also when its text was cut.
type DiffFile struct {
	Path string `json:"path"`
	// From is its name before, when it was renamed or copied.
	From    string `json:"from,omitzero"`
	Added   int    `json:"added,omitzero"`
	Removed int    `json:"removed,omitzero"`
	Binary  bool   `json:"binary,omitzero"`
	// Planned says that the plan's allowed paths cover its names, old and new.
	Planned bool `json:"planned,omitzero"`
}
