package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
)

// journal streams entries as server-sent events. A client that stops reading stops the follower behind it and nobody else; one
// that leaves a batch unread for too long is cut off and resumes by seq.
func (s *Server) journal(w http.ResponseWriter, r *http.Request) {
	after, err := position(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()

	batches, followed := make(chan []amp.Entry), make(chan error, 1) // one send, which must not wait for a handler that left
	go func() {
		followed <- Firm(s.cfg.Logger, "a stream of the journal", func() error {
			return s.cfg.Coordinator.Follow(ctx, after, func(batch []amp.Entry) error {
				select {
				case batches <- batch:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
	}()
	out := NewEventStream(w)
	if err = out.Begin(); err == nil {
		err = s.stream(out, batches, followed)
	}
	cancel()
	if err == nil {
		return // followed was received
	}
	cause := <-followed
	s.cfg.Logger.Debug("journal stream ended", "request", w.Header().Get("X-Request-Id"), "err", err, "follower", cause)
}

// stream writes until following ends, which gives nil, or writing fails.
func (s *Server) stream(out *EventStream, batches <-chan []amp.Entry, followed <-chan error) error {
	tick := time.NewTicker(s.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case batch := <-batches:
			if err := out.batch(batch, &s.lines); err != nil {
				return err
			}
		case <-tick.C:
			if err := out.Comment("alive"); err != nil {
				return err
			}
		case err := <-followed:
			if err != nil && !errors.Is(err, context.Canceled) {
				f, _ := newFault(err, s.cfg.Sentinels)
				out.fault(f)
			}
			return nil
		}
	}
}

// position is the seq after which the client wants to read. Last-Event-ID, which a reconnecting reader sets by itself, wins.
func position(r *http.Request) (uint64, error) {
	v := r.Header.Get("Last-Event-ID")
	if v == "" {
		v = r.URL.Query().Get("after")
	}
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		return 0, badRequest("after is %q, want a seq", clip(v, 40))
	}
	return n, nil
}

// EventStream writes server-sent events. It cuts off who leaves what was written unread for half a minute.
type EventStream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

// NewEventStream returns a stream that writes the answer w.
func NewEventStream(w http.ResponseWriter) *EventStream {
	return &EventStream{w: w, rc: http.NewResponseController(w)}
}

// Begin answers at once, so that the client knows that it is connected.
func (e *EventStream) Begin() error {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	return e.Comment("following")
}

// Add puts an event behind those that wait for Flush; what is empty of id and name is left out. data is one line.
func (e *EventStream) Add(id, name string, data []byte) error {
	if id != "" {
		fmt.Fprintf(&e.buf, "id: %s\n", id)
	}
	if name != "" {
		fmt.Fprintf(&e.buf, "event: %s\n", name)
	}
	fmt.Fprintf(&e.buf, "data: %s\n\n", data)
	if e.buf.Len() >= 256<<10 {
		return e.Flush()
	}
	return nil
}

func (e *EventStream) batch(batch []amp.Entry, lines *lines) error {
	for i := range batch {
		data, err := lines.of(&batch[i])
		if err != nil {
			return fmt.Errorf("write entry %d: %w", batch[i].Seq, err)
		}
		if err := e.Add(strconv.FormatUint(batch[i].Seq, 10), "", data); err != nil {
			return err
		}
	}
	return e.Flush()
}

// Comment writes a line that readers skip: it keeps the connection alive.
func (e *EventStream) Comment(text string) error {
	fmt.Fprintf(&e.buf, ": %s\n\n", text)
	return e.Flush()
}

// fault tells the client why the stream ends; that it may not arrive changes nothing.
func (e *EventStream) fault(f fault) {
	if data, err := json.Marshal(&f); err == nil && e.Add("", "fault", data) == nil {
		_ = e.Flush()
	}
}

// Flush writes what waits.
func (e *EventStream) Flush() error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := e.buf.WriteTo(e.w); err != nil {
		return err
	}
	return e.rc.Flush()
}
