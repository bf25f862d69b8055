package diffview

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a unified diff as git prints it. It reads anything: what is no diff becomes notes.
func Parse(text string) *Diff {
	p := parser{d: &Diff{Bytes: len(text)}, text: text}
	for p.at < len(text) {
		p.line()
	}
	p.cur = len(text)
	p.closeFile()
	return p.d
}

type parser struct {
	d    *Diff
	text string
	// cur is where the line begins that is being read, at where the next one does.
	cur, at int

	file      *File
	fileStart int
	hunk      *Hunk
	hunkStart int
	// left are the lines that the hunk still has by its head.
	oldLeft, newLeft int
	old, new         int
	index            string
	// marked says that lines named the two sides, so that Path is settled.
	marked bool
}

// maxNotes bounds what is kept of text that is no diff.
const maxNotes = 50

func (p *parser) line() {
	start := p.at
	p.cur = start
	end := strings.IndexByte(p.text[start:], '\n')
	if end < 0 {
		end = len(p.text)
		p.at = end
	} else {
		end += start
		p.at = end + 1
	}
	l := p.text[start:end]
	if p.hunk != nil && p.hunkLine(l) {
		return
	}
	if p.hunk != nil && !strings.HasPrefix(l, "diff --") && !strings.HasPrefix(l, "@@ ") && !strings.HasPrefix(l, "… ") && l != "" &&
		p.oldLeft+p.newLeft > 0 {
		p.note(l) // the hunk is broken
		return
	}
	switch {
	case strings.HasPrefix(l, "diff --"):
		p.closeFile()
		p.open(start, l)
	case strings.HasPrefix(l, "@@ "):
		p.openHunk(start, l)
	case p.file == nil:
		if l != "" && len(p.d.Notes) < maxNotes {
			p.d.Notes = append(p.d.Notes, l)
		}
	default:
		p.header(l)
	}
}

// open begins a file at its first line: diff --git a/x b/y.
func (p *parser) open(start int, l string) {
	p.file = &File{Status: 'M'}
	p.fileStart, p.index, p.marked = start, "", false
	rest, git := strings.CutPrefix(l, "diff --git ")
	if !git {
		_, name, _ := strings.Cut(strings.TrimPrefix(l, "diff --"), " ")
		p.file.Path = unquote(name)
		p.note("a merge of several parents: " + l)
		return
	}
	old, name := splitNames(rest)
	p.file.Path = cutPrefixes(name)
	if o := cutPrefixes(old); o != p.file.Path {
		p.file.Old = o
	}
}

// splitNames splits "a/x b/y". Names with blanks are not quoted; where both are the same, the middle is known.
func splitNames(s string) (old, name string) {
	if strings.HasPrefix(s, `"`) {
		if end := quoteEnd(s); end > 0 {
			return unquote(s[:end]), unquote(strings.TrimPrefix(s[end:], " "))
		}
	}
	if n := len(s) / 2; len(s)%2 == 1 && s[n] == ' ' && cutPrefixes(s[:n]) == cutPrefixes(s[n+1:]) {
		return s[:n], s[n+1:]
	}
	if i := strings.Index(s, ` "`); i > 0 {
		return s[:i], unquote(s[i+1:])
	}
	if i := strings.LastIndex(s, " b/"); i > 0 {
		return s[:i], s[i+1:]
	}
	old, name, _ = strings.Cut(s, " ")
	return old, name
}

// cutPrefixes takes the a/ or b/ away that git puts before a name.
func cutPrefixes(s string) string {
	if len(s) > 2 && s[1] == '/' && (s[0] == 'a' || s[0] == 'b') {
		return s[2:]
	}
	return s
}

// header reads a line between a file's first line and its first hunk.
func (p *parser) header(l string) {
	f := p.file
	word := func(prefix string) (string, bool) { return strings.CutPrefix(l, prefix) }
	switch {
	case l == "":
	case strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "+++ "):
		p.side(l)
	case strings.HasPrefix(l, "new file mode "):
		f.Status, f.NewMode, f.Old = 'A', l[len("new file mode "):], ""
	case strings.HasPrefix(l, "deleted file mode "):
		f.Status, f.OldMode, f.Old = 'D', l[len("deleted file mode "):], ""
	case strings.HasPrefix(l, "Binary files "), l == "GIT binary patch":
		f.Binary = true
	case strings.HasPrefix(l, "similarity index "), strings.HasPrefix(l, "dissimilarity index "):
	default:
		if v, ok := word("old mode "); ok {
			f.OldMode = v
		} else if v, ok := word("new mode "); ok {
			f.NewMode = v
		} else if v, ok := word("rename from "); ok {
			f.Status, f.Old = 'R', unquote(v)
		} else if v, ok := word("rename to "); ok {
			f.Status, f.Path, p.marked = 'R', unquote(v), true
		} else if v, ok := word("copy from "); ok {
			f.Status, f.Old = 'C', unquote(v)
		} else if v, ok := word("copy to "); ok {
			f.Status, f.Path, p.marked = 'C', unquote(v), true
		} else if v, ok := word("index "); ok {
			p.index = v
		} else if !f.Binary {
			p.note(l)
		}
	}
}

// side reads "--- a/x" or "+++ b/x". A rename has said its names already; a tab ends a name with blanks.
func (p *parser) side(l string) {
	name := strings.TrimSuffix(l[4:], "\t")
	if name == "/dev/null" || p.marked {
		return
	}
	name = cutPrefixes(unquote(name))
	switch {
	case l[0] == '+', p.file.Status == 'D':
		p.file.Path = name
		if p.file.Old == name {
			p.file.Old = ""
		}
	case p.file.Status == 'M' && p.file.Old != "":
		p.file.Old = name
	}
}

func (p *parser) note(l string) {
	if len(p.file.Notes) < maxNotes {
		p.file.Notes = append(p.file.Notes, l)
	}
}

// openHunk reads "@@ -1,2 +3,4 @@ section".
func (p *parser) openHunk(start int, l string) {
	p.closeHunk()
	if p.file == nil { // a plain diff without git's lines
		p.file = &File{Status: 'M'}
		p.fileStart = start
	}
	ranges, section, ok := strings.Cut(l[3:], " @@")
	old, rest, ok2 := strings.Cut(ranges, " ")
	h := Hunk{Section: strings.TrimPrefix(section, " ")}
	okOld := parseRange(old, '-', &h.Old, &h.OldLines)
	okNew := parseRange(rest, '+', &h.New, &h.NewLines)
	if !ok || !ok2 || !okOld || !okNew {
		p.note(l)
		return
	}
	p.hunk, p.hunkStart = &h, start
	p.oldLeft, p.newLeft, p.old, p.new = h.OldLines, h.NewLines, h.Old, h.New
}

// maxLineNumber keeps sums of hostile numbers from overflowing.
const maxLineNumber = 1 << 30

func parseRange(s string, sign byte, first, n *int) bool {
	if s == "" || s[0] != sign {
		return false
	}
	a, b, many := strings.Cut(s[1:], ",")
	x, err := strconv.ParseUint(a, 10, 31)
	if err != nil {
		return false
	}
	y := uint64(1)
	if many {
		if y, err = strconv.ParseUint(b, 10, 31); err != nil {
			return false
		}
	}
	*first, *n = int(x), int(y)
	return x <= maxLineNumber && y <= maxLineNumber
}

// hunkLine reads a line of a hunk; false when the hunk is over.
func (p *parser) hunkLine(l string) bool {
	h := p.hunk
	if strings.HasPrefix(l, `\`) { // "\ No newline at end of file"
		if n := len(h.Lines); n > 0 {
			h.Lines[n-1].NoEnd = true
		}
		return true
	}
	if p.oldLeft <= 0 && p.newLeft <= 0 {
		return false
	}
	line := Line{mate: -1}
	kind := Kind(' ')
	if l != "" {
		kind, line.Text = Kind(l[0]), l[1:]
	}
	switch {
	case kind == Same && p.oldLeft > 0 && p.newLeft > 0:
		line.Old, line.New = p.old, p.new
		p.old, p.new, p.oldLeft, p.newLeft = p.old+1, p.new+1, p.oldLeft-1, p.newLeft-1
	case kind == Removed && p.oldLeft > 0:
		line.Old = p.old
		p.old, p.oldLeft = p.old+1, p.oldLeft-1
		p.file.Removed++
	case kind == Added && p.newLeft > 0:
		line.New = p.new
		p.new, p.newLeft = p.new+1, p.newLeft-1
		p.file.Added++
	case strings.HasPrefix(l, "… "):
		h.Lines = append(h.Lines, Line{Kind: Note, Text: l, mate: -1})
		p.oldLeft, p.newLeft = 0, 0
		return true
	default:
		return false
	}
	line.Kind = kind
	h.Lines = append(h.Lines, line)
	return true
}

func (p *parser) closeHunk() {
	if p.hunk == nil {
		return
	}
	p.hunk.Text = p.text[p.hunkStart:p.cur]
	pair(p.hunk.Lines)
	p.d.Lines += len(p.hunk.Lines)
	p.file.Hunks = append(p.file.Hunks, *p.hunk)
	p.hunk = nil
}

func (p *parser) closeFile() {
	p.closeHunk()
	if p.file == nil {
		return
	}
	f := p.file
	f.Text = p.text[p.fileStart:p.cur]
	f.Key = p.key()
	if f.Status == 'M' && f.Old != "" && f.Old != f.Path {
		f.Status = 'R'
	}
	p.d.Files = append(p.d.Files, *f)
	p.file = nil
}

// key names the change by the contents that git names, or by the text where it names none.
func (p *parser) key() string {
	f := p.file
	if ids, _, _ := strings.Cut(p.index, " "); len(ids) >= 82 { // two full names
		return f.Path + "\x00" + ids + "\x00" + f.OldMode + f.NewMode
	}
	return fmt.Sprintf("%s\x00%x", f.Path, sha256.Sum256([]byte(f.Text)))
}

// quoteEnd is the index behind the closing quotation mark of s, 0 for none.
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// unquote reads a name as git quotes it: "a\tb\303\274". What is not quoted is returned as it is.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || quoteEnd(s) != len(s) {
		return s
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c := strings.IndexByte("abtnvfr", s[i]); c >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r"[c])
			continue
		}
		if i+2 < len(s) && s[i] >= '0' && s[i] <= '3' {
			if n, err := strconv.ParseUint(s[i:i+3], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
