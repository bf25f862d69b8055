package diffview

import (
	"slices"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"arbiter/tui/theme"
)

// The sizes above which nothing is highlighted.
const (
	MaxColorLines = 20_000
	MaxColorBytes = 2 << 20
)

// Plain says why the lines have no colours of their language, "" when they have.
func (d *Diff) Plain() string {
	if d.Lines > MaxColorLines || d.Bytes > MaxColorBytes {
		return "too large for colours"
	}
	return ""
}

const (
	maxColorLine = 600 // bytes; longer lines are generated
	leadIn       = 40  // lines above the screen that the language is read from
	maxJob       = 400 // lines of one job
)

// Job is a part of a file that waits for the colours of its language.
type Job struct {
	path  string
	lines []string
	spots []spot
}

// Colors are what a [Job] found.
type Colors struct {
	spots []spot
	found [][]stretch
}

// Wants returns what of the lines on a screen of h rows, and one screen below it, has no colours yet, nil when nothing does. It
// answers each line once.
func (v *View) Wants(h int) *Job {
	if v.diff.Plain() != "" || v.th.Profile() == theme.Mono {
		return nil
	}
	if v.h > 0 {
		v.show()
		v.settle()
	}
	end := min(v.top+2*h, len(v.elems))
	for i := v.top; i < end; i++ {
		e := &v.elems[i]
		if e.part != line || v.asked[v.newSide(e)] || v.newSide(e).at < 0 {
			continue
		}
		return v.job(e, end-i)
	}
	return nil
}

// newSide is the place of the line after the change, at -1 when there is none.
func (v *View) newSide(e *elem) spot {
	s := e.spot()
	if v.split {
		s.at = e.right
	}
	if l := v.lineAt(e, int(s.at)); l == nil || l.Kind == Removed || l.Kind == Note {
		s.at = -1
	}
	return s
}

// job takes about n lines of the new side from an element on, and some above it.
func (v *View) job(e *elem, n int) *Job {
	j := &Job{path: v.diff.Files[e.file].Path}
	lines := v.linesOf(e)
	from := max(int(v.newSide(e).at)-leadIn, 0)
	for k := from; k < len(lines) && len(j.lines) < min(n+leadIn, maxJob); k++ {
		if lines[k].Kind == Removed || lines[k].Kind == Note {
			continue
		}
		s := spot{e.file, e.hunk, int32(k), e.filled}
		text := ""
		if len(lines[k].Text) <= maxColorLine {
			text = safe(lines[k].Text, maxColorLine)
		}
		j.lines, j.spots = append(j.lines, text), append(j.spots, s)
		v.asked[s] = true
	}
	return j
}

// Run reads the language of the lines. It may run in any goroutine, and takes its time.
func (j *Job) Run() (c Colors) {
	defer func() {
		if recover() != nil { // a defect of a lexer costs the colours, nothing else
			c = Colors{}
		}
	}()
	lexer := lexers.Match(j.path)
	if lexer == nil {
		return Colors{}
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(nil, strings.Join(j.lines, "\n")+"\n")
	if err != nil {
		return Colors{}
	}
	c = Colors{spots: j.spots, found: make([][]stretch, len(j.lines))}
	n, col := 0, 0
	for t := tokens(); t != chroma.EOF; t = tokens() {
		role, styled := roleOf(t.Type)
		for i, part := range strings.Split(t.Value, "\n") {
			if i > 0 {
				n, col = n+1, 0
			}
			if n >= len(j.lines) {
				return c
			}
			if styled && strings.TrimSpace(part) != "" {
				c.found[n] = append(c.found[n], stretch{col, col + len(part), role})
			}
			col += len(part)
		}
	}
	return c
}

// Paint takes the colours of a job.
func (v *View) Paint(c Colors) {
	v.changes++
	for i, s := range c.spots {
		v.colors[s] = slices.Clip(c.found[i])
	}
}

// roleOf is the role of a kind of token; false for those that look like the rest of the line.
func roleOf(t chroma.TokenType) (theme.Role, bool) {
	switch {
	case t == chroma.KeywordType, t == chroma.NameBuiltin, t == chroma.NameClass, t == chroma.NameFunction, t == chroma.NameTag,
		t == chroma.NameAttribute, t == chroma.NameDecorator:
		return theme.Name, true
	case t.InCategory(chroma.Keyword), t == chroma.OperatorWord:
		return theme.Keyword, true
	case t.InSubCategory(chroma.LiteralString):
		return theme.String, true
	case t.InSubCategory(chroma.LiteralNumber):
		return theme.Number, true
	case t.InCategory(chroma.Comment):
		return theme.Comment, true
	}
	return theme.Text, false
}
