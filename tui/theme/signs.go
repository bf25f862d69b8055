package theme

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Signs is a set of signs. Every sign of a set is one cell wide, but the critical severity, which is two, and
// Enter, which is the word where there is no sign.
// Pages may also write the UTF-8 signs as literals: [Signs.Plain] puts the ASCII ones in their place at the end.
type Signs struct {
	Name string // "utf8" or "ascii"

	Gutter, Rule, Bar                           string // selection, horizontal and vertical line
	TeeDown, TeeUp, TeeLeft, TeeRight, Cross    string // ┬ ┴ ┤ ├ ┼
	CornerTL, CornerTR, CornerBL, CornerBR      string
	Full, Empty                                 string // the cells of a gauge
	Live, Retry, Off                            string // connection
	Yes, No, Open                               string // true, false, null
	Dot, Arrow, Ellipsis, QuoteOpen, QuoteClose string
	Enter, Up, Down, Sort                       string

	status, severity, timeline map[string]string
	spark, spin                []string
	plain                      map[rune]string // nil when signs stay as they are
	textASCII                  bool
}

// UTF8 is the set for terminals that show UTF-8 with one cell for ambiguous signs.
var UTF8 = &Signs{
	Name: "utf8", Gutter: "▌", Rule: "─", Bar: "│",
	TeeDown: "┬", TeeUp: "┴", TeeLeft: "┤", TeeRight: "├", Cross: "┼",
	CornerTL: "╭", CornerTR: "╮", CornerBL: "╰", CornerBR: "╯",
	Full: "▰", Empty: "▱", Live: "●", Retry: "◌", Off: "○",
	Yes: "✓", No: "✗", Open: "·", Dot: "·", Arrow: "→", Ellipsis: "…", QuoteOpen: "«", QuoteClose: "»",
	Enter: "↵", Up: "↑", Down: "↓", Sort: "▾",
	status: map[string]string{
		"drafting": "○", "awaiting_approval": "◇", "dispatched": "→", "executing": "●", "verifying": "◐",
		"reviewing": "◎", "held": "◆", "suspended": "‖", "locked": "■", "approved": "✓", "delivered": "»",
		"terminated": "✗",
	},
	severity: map[string]string{"critical": "▲▲", "warning": "▲", "info": "·"},
	timeline: map[string]string{
		"sent": "→", "received": "←", "escalation": "▲", "accepted": "✓", "refused": "✗", "command": "◇",
		"check": "◐", "turn": "●", "question": "?", "refusal": "✗", "plan": "◇", "note": "·",
	},
	spark: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, spin: []string{"◐", "◓", "◑", "◒"},
}

// plainSigns maps each UTF-8 sign of the chrome to one ASCII character.
var plainSigns = map[rune]string{
	'▌': ">", '─': "-", '│': "|", '┬': "+", '┴': "+", '┤': "+", '├': "+", '┼': "+", '╭': "+", '╮': "+", '╰': "+",
	'╯': "+", '▰': "#", '▱': ".", '◌': "o", '✓': "+", '✗': "x", '·': ".", '→': ">", '←': "<", '…': "~", '«': "\"",
	'»': "\"", '↵': "^", '↑': "^", '↓': "v", '▾': "v", '▸': ">", '○': "o", '◇': "?", '●': "*", '◐': "%", '◎': "&",
	'◆': "~", '‖': "=", '■': "#", '▲': "!", '×': "x", '›': ">", '−': "-", '±': "+", '–': "-", '▏': "|", '█': "#",
	'▁': "_", '▂': "_", '▃': ".", '▄': "-", '▅': "=", '▆': "+", '▇': "*", '░': ":", '�': "?", '’': "'", '“': "\"", '”': "\"",
	'¶': "$", '≥': ">", '≤': "<", '≠': "!",
}

// ASCII is the set for terminals without UTF-8: text that is not ASCII becomes "?".
var ASCII = asciiSigns("ascii", true)

// Narrow is the set for terminals that show UTF-8 but give ambiguous signs two cells: signs are ASCII, text stays.
var Narrow = asciiSigns("narrow", false)

func asciiSigns(name string, text bool) *Signs {
	s := &Signs{
		Name: name, Gutter: ">", Rule: "-", Bar: "|",
		TeeDown: "+", TeeUp: "+", TeeLeft: "+", TeeRight: "+", Cross: "+",
		CornerTL: "+", CornerTR: "+", CornerBL: "+", CornerBR: "+",
		Full: "#", Empty: ".", Live: "*", Retry: "o", Off: "o",
		Yes: "+", No: "x", Open: ".", Dot: ".", Arrow: ">", Ellipsis: "~", QuoteOpen: "\"", QuoteClose: "\"",
		Enter: "enter", Up: "^", Down: "v", Sort: "v",
		status: map[string]string{
			"drafting": "o", "awaiting_approval": "?", "dispatched": ">", "executing": "*", "verifying": "%",
			"reviewing": "&", "held": "~", "suspended": "=", "locked": "#", "approved": "+", "delivered": "^",
			"terminated": "x",
		},
		severity: map[string]string{"critical": "!!", "warning": "!", "info": "."},
		timeline: map[string]string{
			"sent": ">", "received": "<", "escalation": "!", "accepted": "+", "refused": "x", "command": "?",
			"check": "%", "turn": "*", "question": "?", "refusal": "x", "plan": "?", "note": ".",
		},
		spark: []string{"_", "_", ".", "-", "=", "+", "*", "#"}, spin: []string{"|", "/", "-", "\\"},
		plain: plainSigns, textASCII: text,
	}
	return s
}

// Status returns the sign of a task status by its word, "?" for a word it does not know.
func (s *Signs) Status(word string) string { return lookup(s.status, word) }

// Severity returns the sign of a severity by its word; critical is two cells wide.
func (s *Signs) Severity(word string) string { return lookup(s.severity, word) }

// Timeline returns the sign of a kind of row: sent, received, escalation, accepted, refused, command, check,
// turn, question, refusal, plan, note.
func (s *Signs) Timeline(kind string) string { return lookup(s.timeline, kind) }

// Statuses returns the words that [Signs.Status] knows, in the order of a task's life.
func Statuses() []string {
	return []string{
		"drafting", "awaiting_approval", "dispatched", "executing", "verifying", "reviewing", "held",
		"suspended", "locked", "approved", "delivered", "terminated",
	}
}

func lookup(m map[string]string, word string) string {
	if sign, ok := m[word]; ok {
		return sign
	}
	return "?"
}

// Spark returns the eight signs of a sparkline from low to high.
func (s *Signs) Spark() []string { return s.spark }

// Spin returns the sign that turns while something is waited for, at a step counted from 0.
func (s *Signs) Spin(step int) string { return s.spin[max(step, 0)%len(s.spin)] }

// IsASCII reports that the set's signs are ASCII.
func (s *Signs) IsASCII() bool { return s.plain != nil }

// Plain returns s as this set of signs shows it, with the same width: signs of the chrome become their ASCII
// characters and, where the terminal has no UTF-8, other text becomes "?". Escape sequences stay. The UTF-8 set
// returns s itself.
func (s *Signs) Plain(text string) string {
	if s.plain == nil {
		return text
	}
	i := strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
	if i < 0 {
		return text
	}
	i = max(i-1, 0) // what is not ASCII may be a mark on the character before
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(text[:i])
	for i < len(text) {
		if text[i] < utf8.RuneSelf && (i+1 == len(text) || text[i+1] < utf8.RuneSelf) {
			b.WriteByte(text[i])
			i++
			continue
		}
		cluster, w := ansi.FirstGraphemeCluster(text[i:], ansi.GraphemeWidth)
		b.WriteString(s.cluster(cluster, w))
		i += len(cluster)
	}
	return b.String()
}

// cluster returns one character of w cells in this set of signs.
func (s *Signs) cluster(cluster string, w int) string {
	r, n := utf8.DecodeRuneInString(cluster)
	switch sign, known := s.plain[r]; {
	case n == len(cluster) && r < utf8.RuneSelf:
		return cluster
	case known && n == len(cluster) && w == 1:
		return sign
	case !s.textASCII:
		return cluster
	case r < utf8.RuneSelf && w > 0:
		return cluster[:n] + strings.Repeat("?", w-1)
	default:
		return strings.Repeat("?", w)
	}
}
