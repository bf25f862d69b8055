package ssot

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"runtime"
	"sync"

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

// exportBlock is a run of lines; they are read when done is closed.
type exportBlock struct {
	lines []exportLine
	err   error // what ended the reading behind them
	done  chan struct{}
}

func (b *exportBlock) read() {
	defer close(b.done)
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

// exportLines calls f with the lines of an export in order, which as many workers as there are processors have read meanwhile: reading
// JSON is what most of the time is spent with. An error of f ends it.
func exportLines(ctx context.Context, r io.Reader, f func(*exportLine) error) error {
	ctx, stop := context.WithCancel(ctx)
	workers := min(runtime.GOMAXPROCS(0), 4)
	order, work := make(chan *exportBlock, workers), make(chan *exportBlock)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		defer close(order)
		defer close(work)
		splitExport(r, func(b *exportBlock) bool {
			for _, to := range []chan *exportBlock{order, work} {
				select {
				case to <- b:
				case <-ctx.Done():
					return false
				}
			}
			return true
		})
	})
	for range workers {
		wg.Go(func() {
			for b := range work {
				b.read()
			}
		})
	}
	for b := range order {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		for i := range b.lines {
			if err := f(&b.lines[i]); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
	}
	return ctx.Err()
}

// splitExport hands on blocks of lines until put says no.
func splitExport(r io.Reader, put func(*exportBlock) bool) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), maxLine)
	in.Split(wholeLines)
	for more := true; more; {
		b := &exportBlock{done: make(chan struct{})}
		for size := 0; size < blockSize && len(b.lines) < blockLines; {
			if more = in.Scan(); !more {
				b.err = in.Err()
				break
			}
			b.lines = append(b.lines, exportLine{text: bytes.Clone(in.Bytes())})
			size += len(in.Bytes())
		}
		if !put(b) {
			return
		}
	}
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
