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
		followed <- s.cfg.Coordinator.Follow(ctx, after, func(batch []amp.Entry) error {
			select {
			case batches <- batch:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	out := &events{w: w, rc: http.NewResponseController(w)}
	if err = out.begin(); err == nil {
		err = s.stream(out, peerOf(r.Context()), batches, followed)
	}
	cancel()
	if err == nil {
		return // followed was received
	}
	cause := <-followed
	s.cfg.Logger.Debug("journal stream ended", "request", w.Header().Get("X-Request-Id"), "err", err, "follower", cause)
}

// stream writes until following ends, which gives nil, or writing fails.
func (s *Server) stream(out *events, p peer, batches <-chan []amp.Entry, followed <-chan error) error {
	tick := time.NewTicker(s.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case batch := <-batches:
			if err := out.batch(batch); err != nil {
				return err
			}
		case <-tick.C:
			if p.remote() && !s.cfg.Tokens.valid(p.token, time.Now()) {
				return errEnded
			}
			if err := out.comment("alive"); err != nil {
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

// errEnded ends the streams of a token that was revoked or has expired.
var errEnded = errors.New("the token is not valid any more")

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
		return 0, badRequest("after is %q, want a seq", v)
	}
	return n, nil
}

// events writes server-sent events.
type events struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

// begin answers at once, so that the client knows that it is connected.
func (e *events) begin() error {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	return e.comment("following")
}

func (e *events) batch(batch []amp.Entry) error {
	for i := range batch {
		data, err := json.Marshal(&batch[i])
		if err != nil {
			return fmt.Errorf("write entry %d: %w", batch[i].Seq, err)
		}
		fmt.Fprintf(&e.buf, "id: %d\ndata: %s\n\n", batch[i].Seq, data)
		if e.buf.Len() >= 256<<10 {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return e.flush()
}

func (e *events) comment(text string) error {
	fmt.Fprintf(&e.buf, ": %s\n\n", text)
	return e.flush()
}

// fault tells the client why the stream ends; that it may not arrive changes nothing.
func (e *events) fault(f fault) {
	if data, err := json.Marshal(&f); err == nil {
		fmt.Fprintf(&e.buf, "event: fault\ndata: %s\n\n", data)
		_ = e.flush()
	}
}

func (e *events) flush() error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	if _, err := e.buf.WriteTo(e.w); err != nil {
		return err
	}
	return e.rc.Flush()
}
