package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// reflogLine is one move of a ref: who moved it is the committer identity of the git that did.
type reflogLine struct {
	old, new, name, email, message string
	at                             time.Time
}

// who is the mover as people write it.
func (l reflogLine) who() string {
	return strings.ToValidUTF8(strings.TrimSpace(l.name+" <"+l.email+">"), "�")
}

// maxReflog is how much of the end of a reflog is read.
const maxReflog = 4 << 20

// newLines returns the lines that were added to a ref's reflog since it was from bytes long. When the file was rewritten meanwhile
// (expired by gc), the lines count by their time instead.
func newLines(common, ref string, from int64, since time.Time) ([]reflogLine, error) {
	f, err := openPlain(filepath.Join(common, "logs", filepath.FromSlash(ref)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotPlain) { // a folder, or what an agent put there
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the reflog of %s: %w", ref, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	byTime := from > info.Size()
	if !byTime && from > 0 {
		last := make([]byte, 1)
		_, err := f.ReadAt(last, from-1)
		byTime = err != nil || last[0] != '\n'
	}
	start := from
	if byTime {
		start = 0
	}
	start = max(start, info.Size()-maxReflog)
	b, err := io.ReadAll(io.NewSectionReader(f, start, info.Size()-start))
	if err != nil {
		return nil, fmt.Errorf("read the reflog of %s: %w", ref, err)
	}
	var lines []reflogLine
	for raw := range bytes.Lines(b) {
		l, ok := parseReflog(strings.TrimSuffix(string(raw), "\n"))
		if ok && (!byTime || !l.at.Before(since.Truncate(time.Second))) {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// parseReflog reads "old new Name <email> seconds zone\tmessage".
func parseReflog(s string) (reflogLine, bool) {
	head, message, _ := strings.Cut(s, "\t")
	var l reflogLine
	var rest string
	var ok bool
	if l.old, rest, ok = strings.Cut(head, " "); !ok {
		return l, false
	}
	if l.new, rest, ok = strings.Cut(rest, " "); !ok || !isHex(l.old) || !isHex(l.new) {
		return l, false
	}
	end := strings.LastIndex(rest, "> ")
	begin := strings.LastIndex(rest[:max(end, 0)], "<")
	if end < 0 || begin < 0 {
		return l, false
	}
	l.name, l.email, l.message = strings.TrimSpace(rest[:begin]), rest[begin+1:end], message
	seconds, _, _ := strings.Cut(rest[end+2:], " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	l.at = time.Unix(n, 0)
	return l, err == nil
}
