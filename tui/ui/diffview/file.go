package diffview

// Diff is a parsed diff.
type Diff struct {
	Files []File
	// Notes are lines that belong to no file, such as what git says when something was cut.
	Notes []string
	// Lines is the number of lines of all hunks, Bytes the size of the text.
	Lines, Bytes int
}

// File is what changed in one file.
type File struct {
	// Path is its name, Old the name before where that differs.
	Path, Old string
	// Status is git's letter: A added, D deleted, M modified, R renamed, C copied.
	Status byte
	// OldMode and NewMode are set where the mode changed.
	OldMode, NewMode string
	Binary           bool
	Added, Removed   int
	Hunks            []Hunk
	// Notes say what is not shown, or could not be read.
	Notes []string
	// Text is its part of the diff, as it came.
	Text string
	// Key names the change: from one content of the file to another one. It stays the same however many unchanged lines are
	// shown, where git names the contents.
	Key string
}

// Hunk is one place where a file changed.
type Hunk struct {
	// Old and New are the first line numbers before and after, OldLines and NewLines how many lines there are.
	Old, OldLines, New, NewLines int
	// Section is what git found above it, often the head of a function.
	Section string
	Lines   []Line
	// Text is the hunk as it came.
	Text string
}

// Kind is what became of a line.
type Kind byte

// The kinds of lines.
const (
	Same    Kind = ' '
	Added   Kind = '+'
	Removed Kind = '-'
	// Note is a line about the diff itself.
	Note Kind = '\\'
)

// Line is one line of a hunk.
type Line struct {
	Kind Kind
	// Old and New are its numbers before and after, 0 where it is not there.
	Old, New int
	// Text is the line as it came, without its sign and without the newline.
	Text string
	// NoEnd says that the file ends here without a newline.
	NoEnd bool
	// mate is the index of the line that took its place or had it, -1 for none.
	mate int
}
