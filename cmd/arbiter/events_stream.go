package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot/events"
)

// begin reads from where, and of which types, a stream is.
func (d *eventsDoor) begin(r *http.Request, lastID string) (from events.Position, types []string, err error) {
	q := r.URL.Query()
	if v := q.Get("types"); v != "" {
		types = strings.Split(v, ",")
	}
	for _, t := range types {
		if !events.Pattern(t) {
			return from, nil, &server.Error{Code: "request", What: "types names what is no type of event", Means: "Nothing was done.", Next: "GET /v1/events/schemas lists them."}
		}
	}
	if lastID != "" {
		found, err := d.publisher.Find(r.Context(), lastID)
		if err != nil {
			if _, ok := errors.AsType[*events.UnknownError](err); ok {
				return from, nil, &server.Error{Code: "not_found", What: err.Error(), Means: "It is not known after what to go on.", Next: "Begin with after=0, or with now."}
			}
			return from, nil, err
		}
		return found.At, types, nil
	}
	if v := q.Get("after"); v != "" {
		if from.Seq, err = strconv.ParseUint(v, 10, 64); err != nil {
			return from, nil, &server.Error{Code: "request", What: "after is no seq", Means: "Nothing was done."}
		}
		return from, types, nil
	}
	page, err := d.coord.Query(r.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{Newest: true, Limit: 1}})
	from.Seq = page.Head.Seq
	return from, types, err
}

// healthEvery is how often a stream says how this process is.
const healthEvery = time.Minute

// stream hands events to send until it fails or ctx ends; alive is called now and then. Its error is why the journal is followed no longer.
func (d *eventsDoor) stream(ctx context.Context, from events.Position, types []string, send func(e *events.Published, id string) error, flush, alive func() error) error {
	d.streams.Add(1)
	defer d.streams.Add(-1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, followed := make(chan []events.Delivery), make(chan error, 1) // one send, which must not wait for a handler that left
	go func() {
		followed <- server.Firm(d.logger, "a stream of events", func() error {
			return d.publisher.Subscribe(ctx, from, types, func(all []events.Delivery, _ events.Position) error {
				select {
				case batches <- all:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		})
	}()
	heartbeat, pulse := time.NewTicker(15*time.Second), time.NewTicker(healthEvery)
	defer heartbeat.Stop()
	defer pulse.Stop()
	own := func(e events.Event) error {
		if !events.Match(types, e.Type) {
			return nil
		}
		return errors.Join(send(&events.Published{Event: e}, ""), flush())
	}
	err := own(d.started)
	for err == nil {
		select {
		case all := <-batches:
			for i := range all {
				if err = send(&all[i].Published, all[i].ID); err != nil {
					break
				}
			}
			if err == nil {
				err = flush()
			}
		case <-heartbeat.C:
			err = alive()
		case <-pulse.C:
			err = own(d.health(ctx))
		case err = <-followed:
			if err != nil && ctx.Err() == nil {
				d.logger.Error("a stream of events ended", "err", err)
			}
			return err
		}
	}
	cancel()
	if err := <-followed; err != nil { // it ended since the stream did
		d.logger.Debug("a stream of events ended", "err", err)
	}
	return nil
}

// refuse answers that a stream cannot begin.
func refuseStream(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*server.Error](err); ok {
		server.Fail(w, e)
		return
	}
	server.Fail(w, &server.Error{Code: "unavailable", What: "the events could not be read", Means: "Nothing was done.", Next: "Try again."})
}

func (d *eventsDoor) sse(w http.ResponseWriter, r *http.Request) {
	from, types, err := d.begin(r, r.Header.Get("Last-Event-ID"))
	if err != nil {
		refuseStream(w, err)
		return
	}
	out := server.NewEventStream(w)
	if out.Begin() != nil {
		return // the client went away
	}
	_ = d.stream(r.Context(), from, types, func(e *events.Published, id string) error { // its end is all that a client is told
		data, err := e.Encode()
		if err != nil {
			return err
		}
		return out.Add(id, e.Type, data)
	}, out.Flush, func() error { return out.Comment("alive") })
}

func (d *eventsDoor) webSocket(w http.ResponseWriter, r *http.Request) {
	from, types, err := d.begin(r, r.URL.Query().Get("after_id"))
	if err != nil {
		refuseStream(w, err)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has answered why
	}
	defer func() { _ = c.CloseNow() }()
	ctx := c.CloseRead(r.Context()) // what a receiver says is not read: events come in through POST
	timed := func(f func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		return f(ctx)
	}
	err = d.stream(ctx, from, types, func(e *events.Published, _ string) error {
		data, err := e.Encode()
		if err != nil {
			return err
		}
		return timed(func(ctx context.Context) error { return c.Write(ctx, websocket.MessageText, data) })
	}, func() error { return nil }, func() error { return timed(c.Ping) })
	code, reason := websocket.StatusGoingAway, "the stream ended"
	if errors.Is(err, server.ErrFault) {
		code, reason = websocket.StatusInternalError, "not now; connect again"
	}
	_ = c.Close(code, reason) // who is gone need not be told
}
