package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
)

// The bounds of a batch that Follow hands on, and of one event on the wire: the largest body that the journal takes, each byte
// escaped.
const (
	batchEntries = 256
	batchBytes   = 1 << 20
	maxEvent     = 6*(16<<20) + 64<<10
)

// Follow calls batch with the entries after seq, in order and without gaps, until ctx ends, batch fails, or the coordinator
// cannot be reached for c.Patience. It resumes a broken stream after the last entry that batch took. A batch holds at most 256
// entries.
func (c *Client) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	patience := c.Patience
	if patience == 0 {
		patience = 15 * time.Second
	}
	lost, pause := time.Now(), 50*time.Millisecond
	for {
		f := &following{after: after, batch: batch}
		err := c.follow(ctx, f)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if f.after > after || f.alive {
			after, lost, pause = f.after, time.Now(), 50*time.Millisecond
		}
		if !passing(err) {
			return err
		}
		if c.Patience < 0 || time.Since(lost) > patience {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, 2*time.Second)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// brokenError is a stream that ended for no reason that trying again would not mend.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "follow the journal: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

func passing(err error) bool {
	if errors.Is(err, ErrNotRunning) || errors.Is(err, ErrShuttingDown) || errors.Is(err, ErrBroken) {
		return true
	}
	if _, unreached := errors.AsType[*UnreachedError](err); unreached {
		return true
	}
	_, broken := errors.AsType[*brokenError](err)
	return broken
}

// following is one stream.
type following struct {
	after   uint64 // the last seq that batch took
	alive   bool   // something came
	pending []amp.Entry
	size    int
	batch   func([]amp.Entry) error
}

func (c *Client) follow(ctx context.Context, f *following) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A stream that is silent for longer than several heartbeats is dead, whatever the socket believes.
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()
	res, err := c.open(ctx, http.MethodGet, "/v1/journal?after="+strconv.FormatUint(f.after, 10), nil)
	if errors.Is(err, context.Canceled) { // by silence; when the caller did it, the caller looks at its own context
		return &brokenError{err}
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()

	return f.read(res.Body, c.known, func() { silence.Reset(streamSilence) })
}

// read takes events until the stream ends, which is an error too. heard is called for each line.
func (f *following) read(body io.Reader, known Sentinels, heard func()) error {
	r := bufio.NewReaderSize(body, 64<<10)
	ev := event{}
	for {
		line, err := readLine(r)
		if err != nil {
			if flushErr := f.flush(); flushErr != nil {
				return flushErr
			}
			return &brokenError{err}
		}
		heard()
		f.alive = true
		if len(line) > 0 {
			ev.add(line)
			continue
		}
		if err := f.take(&ev, known); err != nil {
			return err
		}
		ev = event{}
		if r.Buffered() == 0 || len(f.pending) >= batchEntries || f.size >= batchBytes {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
}

// streamSilence is how long a stream may say nothing, not even a heartbeat.
const streamSilence = time.Minute

// readLine reads one line without its end, at most maxEvent bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && long == nil {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if long = append(long, part...); len(long) > maxEvent {
			return nil, fmt.Errorf("an event is longer than %d bytes", maxEvent)
		}
		if err == nil {
			return bytes.TrimRight(long, "\r\n"), nil
		}
	}
}

// event is one server-sent event under way.
type event struct {
	name string
	data []byte
}

func (e *event) add(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
}

// take handles a whole event: an entry, the reason of the stream's end, or a comment.
func (f *following) take(ev *event, known Sentinels) error {
	if ev.data == nil {
		return nil
	}
	if ev.name == "fault" {
		var got fault
		if err := json.Unmarshal(ev.data, &got); err != nil {
			return &brokenError{err}
		}
		if err := f.flush(); err != nil {
			return err
		}
		return got.err(known)
	}
	var e amp.Entry
	if err := json.Unmarshal(ev.data, &e); err != nil {
		return &brokenError{err}
	}
	want := f.after + uint64(len(f.pending)) + 1
	switch {
	case e.Seq < want:
		return nil // seen already
	case e.Seq > want:
		return &brokenError{fmt.Errorf("entry %d came where %d was due", e.Seq, want)}
	}
	f.pending = append(f.pending, e)
	f.size += len(ev.data)
	return nil
}

func (f *following) flush() error {
	if len(f.pending) == 0 {
		return nil
	}
	batch := f.pending
	f.pending, f.size = nil, 0
	if err := f.batch(batch); err != nil {
		return err
	}
	f.after = batch[len(batch)-1].Seq
	return nil
}
