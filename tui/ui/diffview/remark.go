package diffview

import (
	"slices"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// Remark is what somebody said about a line: a reviewer's finding, a comment.
type Remark struct {
	ID string
	// Path is the file, Line the line, of the side before the change when Old. Line 0 is the whole file.
	Path string
	Line int
	Old  bool
	// Sign and Head open the first row, Facts stand at its end; they are plain and need not be safe.
	Sign, Head, Facts string
	Role              theme.Role
	// Body is quoted below, each part in a row of its own.
	Body []string
}

// Remarks shows remarks under their lines. What is about a line that is not shown stands under the line of its file, what is about
// another file above all.
func (v *View) Remarks(all []Remark) {
	v.remarks = all
	v.layout()
}

// Brief shows the first row of remarks alone: what they say stands elsewhere.
func (v *View) Brief(on bool) {
	if v.brief != on {
		v.brief = on
		v.reveal = true
	}
}

// GotoRemark puts the cursor on a remark.
func (v *View) GotoRemark(id string) bool {
	return v.cur < len(v.elems) && (v.isRemark(v.cur, id) || v.seek(true, func(i int) bool { return v.isRemark(i, id) }, false) ||
		v.seek(false, func(i int) bool { return v.isRemark(i, id) }, false))
}

func (v *View) isRemark(i int, id string) bool {
	return v.elems[i].part == remark && v.remarks[v.elems[i].at].ID == id
}

// place finds where each remark stands.
func (v *View) place() {
	v.homeless, v.atHead, v.onLine = nil, map[int][]int{}, map[int32]map[int][]int{}
	for n := range v.remarks {
		r := &v.remarks[n]
		file := v.fileOf(r)
		switch {
		case file < 0:
			v.homeless = append(v.homeless, n)
		case !v.visible(file, r):
			v.atHead[file] = append(v.atHead[file], n)
		default:
			on := v.onLine[int32(file)]
			if on == nil {
				on = map[int][]int{}
				v.onLine[int32(file)] = on
			}
			key := r.Line
			if r.Old {
				key = -key
			}
			on[key] = append(on[key], n)
		}
	}
}

func (v *View) fileOf(r *Remark) int {
	return slices.IndexFunc(v.diff.Files, func(f File) bool { return f.Path == r.Path || r.Old && f.Old == r.Path })
}

// visible reports whether the line of a remark is in a hunk or in an open gap.
func (v *View) visible(file int, r *Remark) bool {
	if r.Line <= 0 {
		return false
	}
	has := func(lines []Line) bool {
		return slices.ContainsFunc(lines, func(l Line) bool { return r.Old && l.Old == r.Line || !r.Old && l.New == r.Line })
	}
	f := &v.diff.Files[file]
	for h := range f.Hunks {
		if has(f.Hunks[h].Lines) {
			return true
		}
	}
	for h := range len(f.Hunks) + 1 {
		if at := (fill{file, h}); v.open[at] && has(v.fills[at]) {
			return true
		}
	}
	return false
}

// maxBody is how many rows of each part of a remark are shown.
const maxBody = 8

// remarkRows draws a remark.
func (v *View) remarkRows(n int) *ui.Block {
	r := &v.remarks[n]
	indent := min(v.prefix(v.w)-2, v.w/4)
	if v.split {
		indent = 4
	}
	b := ui.NewBlock(v.th, v.w)
	pad := ui.Pad("", indent)
	b.Spread(pad+v.th.S(r.Role, ui.Safe(r.Sign+" "+r.Head)), v.th.S(theme.Muted, ui.Safe(r.Facts))+" ")
	if v.brief {
		return b
	}
	for _, t := range r.Body {
		if t != "" {
			b.Quote(indent, t, maxBody)
		}
	}
	return b
}
