package diffview

import "strings"

// Source is the file as it is after the change, or before it when it was deleted; false when not all of it is known: [View.Fill]
// brings the rest.
func (v *View) Source(file int) (text string, ok bool) {
	if file < 0 || file >= len(v.diff.Files) {
		return "", false
	}
	f := &v.diff.Files[file]
	if f.Binary || len(f.Hunks) == 0 {
		return "", false
	}
	var b strings.Builder
	ok = true
	put := func(lines []Line) {
		for i := range lines {
			switch l := &lines[i]; {
			case l.Kind == Note:
				ok = false
			case l.Kind == Removed && f.Status != 'D', l.Kind == Added && f.Status == 'D':
			default:
				b.WriteString(l.Text)
				if !l.NoEnd {
					b.WriteByte('\n')
				}
			}
		}
	}
	for h := range len(f.Hunks) + 1 {
		lines, known := v.fills[fill{file, h}]
		if !known && v.gapSize(file, h) != 0 {
			return "", false
		}
		put(lines)
		if h < len(f.Hunks) {
			put(f.Hunks[h].Lines)
		}
	}
	return b.String(), ok
}
