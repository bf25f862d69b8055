package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"arbiter/providers/bus"

	"github.com/coder/websocket"
)

const (
	// socketBatch is how many messages are written before the peer has to show that it reads.
	socketBatch = 64
	// socketUnproven is how many such batches are on their way at once: written, and not yet answered for and in the journal.
	socketUnproven = 8
	// socketWindow is how many frames of a peer are on their way to the journal at once.
	socketWindow = 256
	// fullPatience is how long a peer is not read while there is no room for its message.
	fullPatience = 10 * time.Second
)

// socket serves the WebSocket of an agent. A message is delivered when the peer has answered the ping that was written behind it: that answer
// is only given when everything before it was read.
func (b *Bus) socket(streams context.Context, w http.ResponseWriter, r *http.Request) {
	who, token, err := b.caller(r)
	if err != nil {
		b.fail(w, err)
		return
	}
	who.Source = "bus socket"
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		b.cfg.Logger.Debug("no socket", "err", err)
		return
	}
	defer c.CloseNow() //nolint:errcheck // it is closed either way
	c.SetReadLimit(bus.MaxMessage)
	agent := agentOf(r)
	s, err := b.cfg.Bus.Open(who, agent)
	if err != nil {
		reason := "Agent not registered" // BUS-068
		if !errors.Is(err, bus.ErrNotRegistered) {
			reason = "Agent registered by another token"
		}
		_ = c.Close(websocket.StatusPolicyViolation, reason) // the peer may be gone
		return
	}
	defer s.Close()
	b.cfg.Logger.Info("an agent connected to the bus", "agent", clip(agent, 100))
	ctx, cancel := context.WithCancelCause(streams)
	defer cancel(nil)
	var wg sync.WaitGroup
	wg.Go(func() { cancel(b.firm(agent, func() error { return b.hear(ctx, c, who, agent) })) })
	wg.Go(func() { cancel(b.firm(agent, func() error { return b.beat(ctx, streams, c, s, token) })) })
	cancel(b.firm(agent, func() error { return b.speak(ctx, streams, c, s) }))
	why := context.Cause(ctx)
	b.bye(streams, c, why)
	wg.Wait()
	b.cfg.Logger.Info("an agent disconnected from the bus", "agent", clip(agent, 100), "why", why)
}

// firm runs a part of an agent's socket: a panic in it ends that socket alone.
func (b *Bus) firm(agent string, f func() error) error {
	return Firm(b.cfg.Logger, "the socket of "+clip(agent, 100), f)
}

// bye closes a socket with the code that says why.
func (b *Bus) bye(streams context.Context, c *websocket.Conn, why error) {
	code, reason := websocket.StatusGoingAway, "the bus ends"
	switch {
	case streams.Err() != nil:
	case errors.Is(why, bus.ErrReplaced), errors.Is(why, bus.ErrRemoved):
		code, reason = websocket.StatusNormalClosure, why.Error()
	case errors.Is(why, ErrFault):
		code, reason = websocket.StatusInternalError, "not now; connect again"
	case errors.Is(why, errExpired):
		code, reason = websocket.StatusPolicyViolation, errExpired.Error()
	default:
		_ = c.CloseNow() // the peer is gone, or broke the protocol and was told
		return
	}
	_ = c.Close(code, reason) // the peer may be gone
}

// speak writes the messages of the queue until ctx ends. While a batch waits for the peer's answer and for the journal, the next ones are
// written. What is being written when ctx ends is written: a frame that breaks off closes the socket, and the peer does not learn why.
func (b *Bus) speak(ctx, streams context.Context, c *websocket.Conn, s *bus.Session) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	window := make(chan struct{}, socketUnproven)
	for {
		select {
		case window <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		got, err := s.Next(ctx, socketBatch)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
		keys := make([]bus.Key, 0, len(got))
		for _, d := range got {
			keys = append(keys, d.Key)
			if err := write(streams, c, d.Message.Raw); err != nil {
				s.Fail(keys...) // those behind were never written: closing the session gives them back
				return err
			}
		}
		wg.Go(func() {
			defer func() { <-window }()
			if err := b.firm(s.Agent(), func() error { return b.prove(ctx, streams, c, s, keys) }); err != nil {
				cancel(err)
			}
		})
	}
}

// prove waits until the peer has read what was written, and writes that down.
func (b *Bus) prove(ctx, streams context.Context, c *websocket.Conn, s *bus.Session, keys []bus.Key) error {
	if err := ping(ctx, streams, c); err != nil {
		s.Fail(keys...)
		return err
	}
	return s.Confirm(context.WithoutCancel(ctx), keys...)
}

func write(ctx context.Context, c *websocket.Conn, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.Write(ctx, websocket.MessageText, data)
}

// ping waits for the answer to a ping until ctx ends; the ping itself is written whole.
func ping(ctx, streams context.Context, c *websocket.Conn) error {
	answered := make(chan error, 1)
	go func() {
		bounded, cancel := context.WithTimeout(streams, writeTime)
		defer cancel()
		answered <- c.Ping(bounded)
	}()
	select {
	case err := <-answered:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beat finds out whether the peer is still there, and whether its token is still valid.
func (b *Bus) beat(ctx, streams context.Context, c *websocket.Conn, s *bus.Session, token string) error {
	tick := time.NewTicker(b.cfg.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Ended():
			return s.Why()
		case <-tick.C:
		}
		if b.cfg.Tokens != nil && !b.cfg.Tokens.valid(token, time.Now()) {
			return errExpired
		}
		if err := ping(ctx, streams, c); err != nil {
			return err
		}
	}
}

// hear takes the frames of the peer. What is refused is kept in the error log, and the socket stays open (BUS-071).
func (b *Bus) hear(ctx context.Context, c *websocket.Conn, who bus.Caller, agent string) error {
	window := make(chan *bus.Submitted, socketWindow)
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := range window {
			err := b.firm(agent, func() error { _, err := s.Wait(); return err })
			if err != nil {
				b.cfg.Logger.Error("a frame was not taken", "from", who.Name, "err", err)
				_ = c.CloseNow() // the peer must not believe that it was: it connects again, and sends again what had no answer
			}
		}
	})
	defer wg.Wait()
	defer close(window)
	for {
		_, data, err := c.Read(context.WithoutCancel(ctx)) // what ends it is that the socket is closed, with the code that says why
		if err != nil {
			return err
		}
		s, err := b.take(ctx, who, data)
		if err != nil {
			return err
		}
		if s != nil {
			window <- s
		}
	}
}

// take submits a frame. While there is no room the peer is not read; a peer that waited long enough is closed, and keeps its message.
func (b *Bus) take(ctx context.Context, who bus.Caller, data []byte) (*bus.Submitted, error) {
	for began := time.Now(); ; {
		s, err := b.cfg.Bus.Submit(ctx, who, data)
		var wait time.Duration
		if _, full := errors.AsType[*bus.FullError](err); full && time.Since(began) < fullPatience {
			wait = 100 * time.Millisecond
		} else if _, refused := errors.AsType[*bus.RefusedError](err); refused {
			return nil, nil
		} else {
			return s, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// errExpired ends the socket of a token that was revoked or has expired.
var errExpired = errors.New("the token is not valid any more")
