package gitops

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"arbiter/amp"
)

// maxFixLines is the most lines that one direct fix may change (AMP-133, A15).
const maxFixLines = 4

func describeFixes(fixes []amp.DirectFix) string {
	all := make([]string, len(fixes))
	for i, f := range fixes {
		all[i] = fmt.Sprintf("%s in %s, %s", f.ChangeType, f.File, plural(f.DiffLines, "line"))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, "; ")
}

// measure says why the changes in the review's worktree are not the direct fixes of the verdict, "" when they are.
func (l *closing) measure(ctx context.Context, tree string, changed []change) (string, error) {
	if len(changed) == 0 {
		return "approved_with_fix, but nothing was changed", nil
	}
	listed := map[string][]amp.DirectFix{}
	for _, f := range l.v.DirectFixes {
		name := f.File
		if !slices.ContainsFunc(changed, func(ch change) bool { return ch.path == name }) {
			name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(name), l.wt.dir+"/"), "./")
		}
		listed[name] = append(listed[name], f)
	}
	for _, ch := range changed {
		fixes := listed[ch.path]
		delete(listed, ch.path)
		if why := plainChange(ch); why != "" {
			return ch.path + " " + why, nil
		}
		if len(fixes) == 0 {
			return ch.path + " was changed, but is no direct fix of the verdict", nil
		}
		hunks, err := l.r.hunks(ctx, want(l.w), tree, ch.path)
		if err != nil {
			return "", err
		}
		if why := matchFixes(hunks, fixes); why != "" {
			return ch.path + ": " + why, nil
		}
	}
	for name := range listed {
		return name + " is listed as a direct fix, but was not changed", nil
	}
	return "", nil
}

// plainChange says why a change can be no direct fix, whatever its type.
func plainChange(ch change) string {
	switch {
	case ch.status == 'A':
		return "is a new file, which is no direct fix"
	case ch.status == 'D':
		return "was deleted, which is no direct fix"
	case ch.status != 'M' || ch.oldMode != ch.mode:
		return "changed its mode or kind, which is no direct fix"
	case ch.binary:
		return "is binary, so its lines cannot be counted"
	}
	return ""
}

// hunk is one run of changed lines.
type hunk struct{ old, new []string }

// size is how many lines the hunk changes: a line that is replaced counts once.
func (h hunk) size() int { return max(len(h.old), len(h.new)) }

// hunks reads how one file differs between two trees, without context.
func (r *repo) hunks(ctx context.Context, from, to, file string) ([]hunk, error) {
	args := append([]string{"--literal-pathspecs", "diff", "-U0", "--no-renames", "--inter-hunk-context=0"}, diffFlags...)
	out, err := r.git(ctx, append(args, from, to, "--", file)...)
	if err != nil {
		return nil, fmt.Errorf("compare %s: %w", file, err)
	}
	var all []hunk
	for line := range strings.Lines(out) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "@@ "):
			all = append(all, hunk{})
		case len(all) == 0:
		case line[0] == '-':
			all[len(all)-1].old = append(all[len(all)-1].old, text[1:])
		case line[0] == '+':
			all[len(all)-1].new = append(all[len(all)-1].new, text[1:])
		}
	}
	return all, nil
}

// matchFixes says why hunks of one file are not its fixes, "" when they are: each hunk is small and of a listed type, and in all there
// are not more lines than so many fixes may change.
func matchFixes(hunks []hunk, fixes []amp.DirectFix) string {
	total := 0
	for _, h := range hunks {
		total += h.size()
		if h.size() > maxFixLines {
			return fmt.Sprintf("%s changed in one place; a direct fix has fewer than %d (AMP-133)", plural(h.size(), "line"), maxFixLines+1)
		}
		if !slices.ContainsFunc(fixes, func(f amp.DirectFix) bool { return h.is(f.ChangeType) }) {
			return fmt.Sprintf("the change is not what %s means (AMP-132): %s", types(fixes), h.sample())
		}
	}
	if total > maxFixLines*len(fixes) {
		return fmt.Sprintf("%s changed by %s; each has fewer than %d (AMP-133)", plural(total, "line"),
			map[bool]string{true: "1 direct fix", false: fmt.Sprintf("%d direct fixes", len(fixes))}[len(fixes) == 1], maxFixLines+1)
	}
	return ""
}

func types(fixes []amp.DirectFix) string {
	var names []string
	for _, f := range fixes {
		names = append(names, string(f.ChangeType))
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " or ")
}

// sample is the first changed line.
func (h hunk) sample() string {
	for _, l := range slices.Concat(h.new, h.old) {
		if r := []rune(strings.TrimSpace(l)); len(r) > 0 {
			return fmt.Sprintf("%q", string(r[:min(len(r), 80)]))
		}
	}
	return "an empty line"
}

// is reports whether a hunk is of a change type (AMP-132, A14).
func (h hunk) is(t amp.ChangeType) bool {
	switch t {
	case amp.Whitespace:
		return strip(h.old) == strip(h.new)
	case amp.ImportOrder:
		return h.imports()
	case amp.Typo:
		return h.typo()
	case amp.Lint:
		return true
	}
	return false
}

// strip removes all white space.
func strip(lines []string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.Join(lines, ""))
}

// importLine is a line that names something to include, in the languages that people use; a bare string is a line of Go's import block.
var importLine = regexp.MustCompile(`^\s*(` +
	`(static\s+)?import\b.*|export\s+.*\bfrom\s+['"].*|from\s+\S+\s+import\b.*|(pub(\([a-z]+\))?\s+)?use\s+.*|using\s+[\w.=\s]+;|#\s*(include|import)\b.*|` +
	`@import\b.*|require(_relative)?\b.*|(const|let|var)\s+.*=\s*require\(.*|package\s+[\w.]+;?|` +
	`([\w.]+\s+)?"[^"]+"\s*(//.*)?|[\w*]+(\s+as\s+\w+)?,?|[(){}]|import\s*\(` +
	`)?\s*$`)

// imports reports whether all lines name imports; one at least must be more than a bracket or a name.
func (h hunk) imports() bool {
	strong := false
	for _, l := range slices.Concat(h.old, h.new) {
		if !importLine.MatchString(l) {
			return false
		}
		strong = strong || strings.ContainsAny(l, `"'`) || len(strings.Fields(l)) > 1
	}
	return strong
}

// typo reports whether each line keeps its words but for small edits in some of them.
func (h hunk) typo() bool {
	if len(h.old) != len(h.new) || len(h.old) == 0 {
		return false
	}
	for i := range h.old {
		if !typoLine(h.old[i], h.new[i]) {
			return false
		}
	}
	return true
}

// typoLine compares two lines word by word, where a word is a run of letters, digits and _. A word may have small edits; of what stands
// between, only spaces and the punctuation of prose may differ, so that no operator becomes another. Words that were written as one,
// or twice, are typos too.
func typoLine(a, b string) bool {
	x, y := words(a), words(b)
	if len(x) != len(y) {
		x, y = slices.Compact(strings.Fields(a)), slices.Compact(strings.Fields(b))
		return prose(strings.Join(x, "")) == prose(strings.Join(y, ""))
	}
	for i := range x {
		if x[i] != y[i] && !typoWord(x[i], y[i]) {
			return false
		}
	}
	return true
}

func typoWord(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) == 0 || len(y) == 0 || !isWord(x[0]) || !isWord(y[0]) {
		return prose(a) == prose(b)
	}
	if len(x) == 1 && len(y) == 1 || isNumber(a) || isNumber(b) {
		return false
	}
	limit := min(3, max(1, len(x)/3))
	return distance(a, b, limit) <= limit
}

// prose is a text without spaces and the punctuation of prose.
func prose(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(",.;:'\"`’“”", r) {
			return -1
		}
		return r
	}, s)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// isNumber reports whether a word is a number: another number is no typo, but another meaning.
func isNumber(w string) bool { return w != "" && w[0] >= '0' && w[0] <= '9' }

// words cuts a line into words and what is between them.
func words(s string) []string {
	var all []string
	kind := -1
	start := 0
	for i, r := range s {
		k := 0
		if isWord(r) {
			k = 1
		}
		if k != kind && i > start {
			all = append(all, s[start:i])
			start = i
		}
		kind = k
	}
	return append(all, s[start:])
}

// distance is the number of single-character edits (two neighbours swapped count as one) between two strings, or limit+1 when it is
// more than limit.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	older, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		best := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], older[j-2]+1)
			}
			best = min(best, cur[j])
		}
		if best > limit {
			return limit + 1
		}
		older, prev, cur = prev, cur, older
	}
	return min(prev[len(y)], limit+1)
}
