package ssot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/go-json-experiment/json"

	"arbiter/amp"
)

const (
	// maxLine bounds one line of an export: a body of MaxBody bytes, each escaped, and its header.
	maxLine = 6*MaxBody + 1<<16
	// maxGaps is how many gaps a report lists.
	maxGaps = 50
)

// LineError says which line of an export is wrong.
type LineError struct {
	Line int
	Why  string
	// Newer says that a newer version of Arbiter may have written the line: this one does not know its form or its kind.
	Newer bool
}

// Error names the line and the reason.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Why) }

// Gap is a run of entries of the journal that an export of a part leaves out.
type Gap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// ExportReport is what [VerifyExport] found in an export in which nothing is wrong.
type ExportReport struct {
	ExportEnd
	// Gaps are the runs of entries before, between and behind those of a part, at most 50 of them; GapCount is how many there are,
	// Missing how many entries they leave out. What an entry behind a gap says was before it cannot be checked from the file.
	Gaps     []Gap  `json:"gaps"`
	GapCount int    `json:"gap_count"`
	Missing  uint64 `json:"missing"`
}

func (r *ExportReport) gap(from, to uint64) {
	r.GapCount++
	r.Missing += to - from + 1
	if len(r.Gaps) < maxGaps {
		r.Gaps = append(r.Gaps, Gap{from, to})
	}
}

// VerifyExport reads an export without a journal: every entry has the hash of its header, its body and the hash before it, each one
// follows the one before, or a gap that a part may have, and the last line agrees with all of them. The first line that is wrong is
// a *[LineError]. It cannot know that a whole file was made anew: compare Head with one that was noted elsewhere.
//
// Its memory is bounded by a few of the longest lines. progress, if not nil, is called now and then with the entries and the bytes read.
func VerifyExport(ctx context.Context, r io.Reader, progress func(entries int, size int64)) (ExportReport, error) {
	return ReadExport(ctx, r, progress, func(*amp.Entry) error { return nil })
}

// ReadExport verifies an export and hands on each entry as soon as it is known to be whole and in its place, but for what only the
// last line can tell. An error of each is that of its line.
func ReadExport(ctx context.Context, r io.Reader, progress func(int, int64), each func(*amp.Entry) error) (ExportReport, error) {
	x := exportReader{tally: newTally(), report: ExportReport{Gaps: []Gap{}}, oneTask: true}
	var stopped error // by a line, and not by the reading
	err := exportLines(ctx, r, func(l *exportLine) error {
		x.line++
		x.size += int64(len(l.text)) + 1
		if stopped = x.next(l, each); stopped != nil {
			return stopped
		}
		if progress != nil && x.line%MaxPage == 0 {
			progress(x.n, x.size)
		}
		return nil
	})
	switch {
	case stopped != nil:
		return x.report, stopped
	case ctx.Err() != nil:
		return x.report, ctx.Err()
	case errors.Is(err, bufio.ErrTooLong):
		return x.report, &LineError{Line: x.line + 1, Why: fmt.Sprintf("it is longer than %d bytes, which no entry is", maxLine)}
	case err != nil:
		return x.report, fmt.Errorf("read the export behind line %d: %w", x.line, err)
	case !x.ended:
		return x.report, &LineError{Line: x.line + 1, Why: "the export ends without its last line: it was cut off"}
	}
	return x.report, nil
}

// exportReader is one reading under way.
type exportReader struct {
	tally
	report ExportReport
	line   int
	size   int64
	ended  bool
	// gapLine is the first line behind a gap.
	gapLine int
	// What a part says of its entries is known at the end only.
	task            amp.TaskID
	oneTask         bool
	earliest, later time.Time
}

func (x *exportReader) wrong(format string, args ...any) error {
	return &LineError{Line: x.line, Why: fmt.Sprintf(format, args...)}
}

func (x *exportReader) next(l *exportLine, each func(*amp.Entry) error) error {
	switch {
	case x.ended:
		return x.wrong("it stands behind the last line")
	case bytes.HasPrefix(l.text, endMark):
		return x.end(l.text)
	case l.bad != nil:
		return x.wrong("it is no entry: %v", l.bad)
	}
	if err := x.follows(&l.entry, l.whole); err != nil {
		return err
	}
	if err := each(&l.entry); err != nil {
		_, newer := errors.AsType[*amp.UnknownKindError](err)
		return &LineError{Line: x.line, Why: err.Error(), Newer: newer}
	}
	return nil
}

// follows checks an entry, whole or not, against the one before it.
func (x *exportReader) follows(e *amp.Entry, whole bool) error {
	switch {
	case e.Seq == 0 || e.Seq <= x.head.Seq:
		return x.wrong("entry %d comes after entry %d", e.Seq, x.head.Seq)
	case !whole:
		return x.wrong("the content of entry %d does not have its hash", e.Seq)
	case e.Seq == x.head.Seq+1 && e.PrevHash != x.head.Hash:
		return x.wrong("entry %d does not follow entry %d with hash %s", e.Seq, x.head.Seq, x.head.Hash)
	case e.Seq > x.head.Seq+1:
		if x.report.gap(x.head.Seq+1, e.Seq-1); x.gapLine == 0 {
			x.gapLine = x.line
		}
	}
	if x.n == 0 {
		x.task, x.earliest, x.later = e.TaskID, e.At, e.At
	}
	x.oneTask = x.oneTask && e.TaskID == x.task
	if e.At.Before(x.earliest) {
		x.earliest = e.At
	}
	if e.At.After(x.later) {
		x.later = e.At
	}
	x.count(e)
	return nil
}

// newerForm is a form that a newer version may write.
var newerForm = regexp.MustCompile(`^arbiter/\d{1,9}$`)

// end compares the last line with what came before it.
func (x *exportReader) end(line []byte) error {
	var form struct {
		Export string `json:"export"`
	}
	if err := json.Unmarshal(line, &form); err == nil && form.Export != ExportForm {
		return &LineError{
			Line: x.line, Newer: newerForm.MatchString(form.Export),
			Why: fmt.Sprintf("the export has the form %.40q, this program reads %q", form.Export, ExportForm),
		}
	}
	var end ExportEnd
	if err := json.Unmarshal(line, &end, json.RejectUnknownMembers(true)); err != nil {
		return x.wrong("it is no last line of an export: %v", err)
	}
	switch p := &end.Part; {
	case end.Whole() && x.gapLine != 0:
		return &LineError{Line: x.gapLine, Why: fmt.Sprintf("entries %d to %d are missing before it", x.report.Gaps[0].From, x.report.Gaps[0].To)}
	case end.Entries != x.n || end.First != x.first || end.Last != x.head.Seq || end.Sum != x.sum():
		return x.wrong("it tells of %d entries, %d to %d with the sum %s; the file has %d, %d to %d with %s", end.Entries, end.First, end.Last,
			end.Sum, x.n, x.first, x.head.Seq, x.sum())
	case end.Whole() && end.Head != x.head, end.Head.Seq < x.head.Seq, end.Head.Seq == x.head.Seq && end.Head != x.head:
		return x.wrong("it names the head %d with hash %s, the last entry is %d with %s", end.Head.Seq, end.Head.Hash, x.head.Seq, x.head.Hash)
	case x.n > 0 && p.Task != "" && (!x.oneTask || x.task != p.Task):
		return x.wrong("it tells of a part of task %s, and other entries are there", p.Task)
	case x.n > 0 && (p.After >= x.first || !p.Since.IsZero() && x.earliest.Before(p.Since) || !p.Until.IsZero() && !x.later.Before(p.Until)):
		return x.wrong("it tells of a part in which some of the entries are not")
	}
	if end.Head.Seq > x.head.Seq {
		x.report.gap(x.head.Seq+1, end.Head.Seq)
	}
	x.report.ExportEnd, x.ended = end, true
	return nil
}
