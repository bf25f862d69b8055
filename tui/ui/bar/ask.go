package bar

import (
	"fmt"
	"strings"
)

// Risk is how much friction a decision has.
type Risk uint8

// The risks. High asks for typed digits.
const (
	Low Risk = iota
	Medium
	High
)

// String returns the word that the bar shows.
func (r Risk) String() string {
	switch r {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "HIGH"
	default:
		return "?"
	}
}

// Row is one fact of the bar: a label such as "will", "will not", "expects", "author", and its items. Items are
// made safe while drawing and joined with "·".
type Row struct {
	Label string
	Items []string
}

// Ask is everything a decision shows and demands. It is a value: the bar compares it to see whether what a
// person reads has changed.
type Ask struct {
	Title   string // "Approve T-2026-051 r4?"
	Rows    []Row
	Risk    Risk
	Confirm string // the word on the button that acts, "Approve"
	Cancel  string // the word on the other button; "" is "Cancel"

	// Content is the hash or commit in hex that the decision binds, shown whole. With Risk High, or with
	// TypeDigits, its last four digits must be typed. Of names it: "content", "commit".
	Content    string
	Of         string
	TypeDigits bool

	// Count, when above 0, makes a batch: the phrase "<Verb> <Count>", "approve 6", must be typed.
	Count int
	Verb  string

	// Text, when not "", labels a text field: "Reason", "Note". Required makes it a condition.
	Text      string
	Required  bool
	Templates []string // offered as alt+1 … alt+9

	// Note stands at the left of the buttons ("read 5/5 in 3m 12s"); After says when it takes effect
	// ("runs 10 s after that, u takes it back", "acts at once, no undo").
	Note  string
	After string

	// Off says why the action is not allowed now; the bar shows it and never confirms.
	Off string

	// ActIsSafe puts the focus on the button that acts first. It is for stop-all alone, where the safe side is
	// to stop.
	ActIsSafe bool
}

// digits returns what must be typed of the content, "" for nothing.
func (a *Ask) digits() string {
	if a.Count > 0 || !a.TypeDigits && a.Risk != High {
		return ""
	}
	hex := strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return r
		}
		return -1
	}, a.Content)
	if len(hex) < 4 {
		return ""
	}
	return strings.ToLower(hex[len(hex)-4:])
}

// phrase returns what must be typed for a batch, "" for nothing.
func (a *Ask) phrase() string {
	if a.Count <= 0 {
		return ""
	}
	return fmt.Sprintf("%s %d", a.Verb, a.Count)
}

// undecidable says why an ask can never be confirmed, "" if it can: a decision that demands digits of a content
// that has none would otherwise pass without them.
func (a *Ask) undecidable() string {
	switch {
	case a.Off != "":
		return a.Off
	case a.Count <= 0 && (a.Risk == High || a.TypeDigits) && a.digits() == "":
		return "there is no content to type digits of"
	case a.Count > 0 && a.Risk != Low:
		return "a batch is for low risk only"
	case a.Count > MaxBatch:
		return fmt.Sprintf("a batch is %d at most", MaxBatch)
	}
	return ""
}

// Missing returns the first condition that is open with this text and these typed digits or phrase, "" when the decision may
// be confirmed.
func (a *Ask) Missing(text, typed string) string {
	switch {
	case a.undecidable() != "":
		return a.undecidable()
	case a.lacksText(text):
		return strings.ToLower(a.Text) + " is required"
	case a.phrase() != "" && typed != a.phrase():
		return a.Typed()
	case a.digits() != "" && len(typed) < 4:
		return a.Typed()
	case a.digits() != "" && typed != a.digits():
		return "the digits are not those of " + a.What()
	}
	return ""
}

// lacksText reports that a required text is missing.
func (a *Ask) lacksText(text string) bool {
	return a.Text != "" && a.Required && strings.TrimSpace(text) == ""
}

// Typed says what must be typed besides the text, "" for nothing.
func (a *Ask) Typed() string {
	switch {
	case a.phrase() != "":
		return "type: " + a.phrase()
	case a.digits() != "":
		return "type the last four digits of " + a.What()
	}
	return ""
}

// What names the content: "content", "commit".
func (a *Ask) What() string {
	if a.Of == "" {
		return "content"
	}
	return a.Of
}

// MaxBatch is the largest number of decisions in one batch.
const MaxBatch = 10

// Equal reports whether both asks show the same.
func (a *Ask) Equal(o *Ask) bool {
	return fmt.Sprintf("%#v", *a) == fmt.Sprintf("%#v", *o)
}
