package theme

// Role says what a piece of text is; a theme says how that looks. Pages name roles, never colours.
type Role uint8

// The roles. Colour never carries meaning alone: what has a role also has a sign or a word.
const (
	Text     Role = iota // running text, in the terminal's own colours
	Muted                // captions, column heads, what is of second importance
	Line                 // rule lines, frames, separators
	Strong               // what a person looks for first: names, the selected row
	Title                // section titles
	Accent               // the one accent: selection, focus, links
	Time                 // amber, only for time and for "one reject before the lock"
	Danger               // red, only for what is broken or destructive
	Good                 // passed, confirmed, live
	Disabled             // cannot be used now; the reason stands beside it
	Key                  // a key in the footer, in help and in hints
	Quote                // text of an agent
	Hit                  // a search hit
	Added                // a line added
	Removed              // a line removed
	Emph                 // the changed words inside an added or removed line
	Button               // a button without focus
	Focus                // the focused button or field
	Cursor               // the cell under a text cursor
	Alert                // amber and bold: under ten seconds, LATE
	Keyword              // of a programming language, like the four below
	Name                 // of a function or a type
	String               // a literal
	Number               // a literal
	Comment              // of the code

	roleCount
)

var roleNames = [roleCount]string{
	"text", "muted", "line", "strong", "title", "accent", "time", "danger", "good", "disabled", "key", "quote",
	"hit", "added", "removed", "emph", "button", "focus", "cursor", "alert",
	"keyword", "name", "string", "number", "comment",
}

// String returns the name of the role as it stands in goldens.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "role?"
}

// Roles returns every role in the order of its constants.
func Roles() []Role {
	all := make([]Role, roleCount)
	for i := range all {
		all[i] = Role(i)
	}
	return all
}
