package ssot

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"arbiter/amp"
)

const (
	// blockLines and blockSize are about how much of an export one worker reads at once.
	blockLines = 256
	blockSize  = 256 << 10
)

// exportLine is a line of an export. Of an entry it is read, and its hash computed.
type exportLine struct {
	text  []byte
	entry amp.Entry
	bad   error // why it is no entry
	whole bool  // the entry has its hash
}

// exportBlock is a run of lines.
type exportBlock struct {
	lines []exportLine
	err   error // what ended the reading behind them
}

func (b *exportBlock) read() {
	for i := range b.lines {
		l := &b.lines[i]
		if bytes.HasPrefix(l.text, endMark) {
			continue
		}
		if l.bad = l.entry.UnmarshalJSON(l.text); l.bad == nil {
			l.whole = l.entry.Hash == l.entry.Sum()
		}
	}
}

// exportLines calls f with the lines of an export in order, which several workers have read: reading JSON is what most of the time is
// spent with. An error of f ends it.
func exportLines(ctx context.Context, r io.Reader, f func(*exportLine) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), maxLine)
	in.Split(wholeLines)
	more := true
	return InOrder(ctx, func() (*exportBlock, bool) {
		if !more {
			return nil, false
		}
		b := &exportBlock{}
		for size := 0; size < blockSize && len(b.lines) < blockLines; {
			if more = in.Scan(); !more {
				b.err = in.Err()
				break
			}
			b.lines = append(b.lines, exportLine{text: bytes.Clone(in.Bytes())})
			size += len(in.Bytes())
		}
		return b, true
	}, (*exportBlock).read, func(b *exportBlock) error {
		for i := range b.lines {
			if err := f(&b.lines[i]); err != nil {
				return err
			}
		}
		return b.err
	})
}

// wholeLines splits at line ends. What is behind the last one is a line that was cut off, and is handed on as one.
func wholeLines(data []byte, atEOF bool) (int, []byte, error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
