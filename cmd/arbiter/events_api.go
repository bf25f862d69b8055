package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/events"
)

// eventsDoor serves events, and takes in those of others.
type eventsDoor struct {
	coord     *coordinator.Coordinator
	publisher *events.Publisher
	outbox    *events.Outbox
	registry  *events.Registry
	logger    *slog.Logger
	started   events.Event
	begun     time.Time
	streams   atomic.Int64

	pulse    sync.Mutex
	healthy  events.Event
	examined time.Time
}

// newEventsDoor joins events to a coordinator. New webhooks begin at head, the journal's present end.
func newEventsDoor(home string, c *config, configDir string, coord *coordinator.Coordinator, head uint64, log ssot.Log, logger *slog.Logger) (*eventsDoor, error) {
	hooks, err := c.Events.hooks(configDir)
	if err != nil {
		return nil, err
	}
	d := &eventsDoor{coord: coord, publisher: events.NewPublisher(log.Read, events.FollowFunc(follower(coord))), registry: events.NewRegistry(), logger: logger, begun: time.Now()}
	d.publisher.Logger = logger
	if d.outbox, err = events.NewOutbox(home, d.publisher, hooks, http.DefaultTransport, head, logger); err != nil {
		return nil, err
	}
	if c.Store.URL != "" {
		d.outbox.Share(events.Shared{
			Duty: coord.Duty,
			Note: func(ctx context.Context, name string, at events.Position) error {
				return coord.NoteReached(ctx, amp.Reached{Duty: name, Seq: at.Seq, N: at.N})
			},
			Noted: func(ctx context.Context, name string) (events.Position, error) {
				r, err := coord.Reached(ctx, name)
				return events.Position{Seq: r.Seq, N: r.N}, err
			},
		})
	}
	host, _ := os.Hostname() // a name that is not known is empty
	d.started = d.own("system.service_started", map[string]any{"service_id": "arbiter", "version": version(), "environment": "local", "hostname": host})
	return d, nil
}

// process is the correlation id of what this process says of itself.
var process = uuid.NewString()

// own is an event about this process. It has no entry, so its id is random and no receiver can go on after it.
func (d *eventsDoor) own(typ string, data map[string]any) events.Event {
	return events.Event{
		ID: uuid.NewString(), Type: typ, Source: "arbiter", CorrelationID: process, Data: data,
		Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), Metadata: map[string]any{"schema_version": events.SchemaVersion, "producer": "arbiter"},
	}
}

// health says how this process is, the same for all streams that ask at about the same time.
func (d *eventsDoor) health(ctx context.Context) events.Event {
	d.pulse.Lock()
	defer d.pulse.Unlock()
	if time.Since(d.examined) > healthEvery/4 {
		d.healthy, d.examined = d.examine(ctx), time.Now()
	}
	return d.healthy
}

func (d *eventsDoor) examine(ctx context.Context) events.Event {
	status, queued := "healthy", 0
	page, err := d.coord.Query(ctx, amp.Query{Kind: amp.QueryStatus})
	if err != nil {
		status = "unhealthy"
	} else if page.Status != nil {
		queued = page.Status.Queued
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	var use syscall.Rusage
	cpu := 0.0
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) == nil {
		spent := time.Duration(use.Utime.Nano() + use.Stime.Nano())
		cpu = 100 * spent.Seconds() / max(time.Since(d.begun).Seconds(), 1)
	}
	return d.own("system.service_health", map[string]any{
		"service_id": "arbiter", "status": status, "dependencies": map[string]any{"journal": status},
		"metrics": map[string]any{
			"cpu_usage_percent": cpu, "memory_usage_mb": float64(mem.Sys) / (1 << 20), "active_connections": d.streams.Load(), "message_queue_depth": queued,
		},
	})
}

// routes are the operations; of nil they are described and cannot be served.
func (d *eventsDoor) routes() []server.Route {
	types := server.Param{In: "query", Name: "types", Text: `types of events with commas between, or domains as "task.*"; left out is all`}
	after := []server.Param{
		types,
		{In: "query", Name: "after", Text: "the seq of an entry after whose events to begin, 0 for the beginning of the journal; left out is now"},
		{In: "header", Name: "Last-Event-ID", Text: "the id of an event after which to go on; it wins"},
	}
	return []server.Route{
		{
			Method: "GET", Path: "/v1/events", Access: server.Anyone, Tag: "events", Summary: "Follow the journal as typed events, over server-sent events.",
			Text: "The id of each is the event's, its name the type, its data the envelope on one line. What this process says of itself (system.service_…) " +
				"has no id: nobody can go on after it.",
			Params: after, Out: events.Event{}, OutType: "text/event-stream", Stream: d.sse,
		},
		{
			Method: "GET", Path: "/v1/events/ws", Access: server.Anyone, Tag: "events", Summary: "The same over WebSocket, one envelope in a text frame.",
			Params: append(after[:2:2], server.Param{In: "query", Name: "after_id", Text: "the id of an event after which to go on; it wins"}), Stream: d.webSocket,
		},
		{
			Method: "POST", Path: "/v1/events", Access: server.Speakers, Tag: "events", Summary: "Hand in an event of another system, or a batch.",
			Text: "It is judged, kept once, and never an instruction. The same id with the same bytes changes nothing; of a batch each message is judged by itself.",
			In:   events.Event{}, Out: takenEvents{}, Answer: d.take,
		},
		{
			Method: "GET", Path: "/v1/events/schemas", Access: server.Anyone, Tag: "events", Summary: "List the types of events and the versions of their schemas.",
			Out: []events.Schema{}, Answer: func(*http.Request) (any, error) { return d.registry.List(), nil },
		},
		{
			Method: "GET", Path: "/v1/events/schemas/{type}", Access: server.Anyone, Tag: "events", Summary: "One schema, the newest or that of a version.",
			Params: []server.Param{
				{In: "path", Name: "type", Text: "a type of event", Required: true}, {In: "query", Name: "version", Text: "its version; left out is the newest"},
			},
			Out: events.Schema{}, Answer: d.schema,
		},
		{
			Method: "GET", Path: "/v1/events/webhooks", Access: server.People, Tag: "events", Summary: "How the webhooks stand.",
			Out: []events.SinkState{}, Answer: func(*http.Request) (any, error) { return d.outbox.States(), nil },
		},
		{
			Method: "GET", Path: "/v1/events/dead", Access: server.People, Tag: "events", Summary: "The events that receivers refused.",
			Out: []events.DeadLetter{}, Answer: func(*http.Request) (any, error) { return d.outbox.Dead(), nil },
		},
		{
			Method: "POST", Path: "/v1/events/dead/{id}/resend", Access: server.Admins, Tag: "events", Summary: "Deliver a refused event once more.",
			Params: []server.Param{{In: "path", Name: "id", Text: "the id of the event", Required: true}}, Out: resent{}, Answer: d.resend,
		},
	}
}

// takenEvents is what became of events that came in.
type takenEvents struct {
	Accepted   []string       `json:"accepted"`
	Duplicates []string       `json:"duplicates"`
	Expired    []string       `json:"expired"`
	Refused    []takenProblem `json:"refused"`
}

// takenProblem says why a message of a batch was refused.
type takenProblem struct {
	Index    int           `json:"index"`
	Seq      uint64        `json:"seq,omitzero"`
	Problems []amp.Problem `json:"problems"`
}

// resent names the receivers that took an event now.
type resent struct {
	Sinks []string `json:"sinks"`
}

// take takes in an event or a batch.
func (d *eventsDoor) take(r *http.Request) (any, error) {
	data, err := io.ReadAll(io.LimitReader(r.Body, events.MaxEvent+1)) // one byte more is enough to be refused for its length
	if err != nil {
		return nil, &server.Error{Code: "request", What: "the request could not be read", Means: "Nothing was done."}
	}
	by, _, _ := server.Caller(r.Context())
	out := takenEvents{Accepted: []string{}, Duplicates: []string{}, Expired: []string{}, Refused: []takenProblem{}}
	e, errs, _ := events.Decode(data)
	if len(errs) == 0 && e.Type == events.Batch {
		for i, raw := range events.Messages(data) {
			if err := d.arrive(r.Context(), by, raw, i, &out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if err := d.arrive(r.Context(), by, data, 0, &out); err != nil {
		return nil, err
	}
	if len(out.Refused) > 0 {
		return nil, &amp.RefusedError{What: "event", Seq: out.Refused[0].Seq, Problems: out.Refused[0].Problems, Next: "Mend each of the problems."}
	}
	return out, nil
}

// arrive judges one event and keeps it.
func (d *eventsDoor) arrive(ctx context.Context, by string, raw []byte, index int, out *takenEvents) error {
	e, errs, _ := events.Decode(raw)
	if len(errs) == 0 && e.Type == events.Batch {
		errs = []amp.Problem{{Rule: "EVT-101", Field: "type", Message: "is a batch in a batch"}}
	}
	if len(errs) == 0 && e.Expired(time.Now()) { // EVT-104
		d.logger.Info("an event came after its time to live", "event", e.ID, "type", e.Type, "actor", by)
		out.Expired = append(out.Expired, e.ID)
		return nil
	}
	if len(errs) == 0 {
		_, fresh, err := d.coord.Arrive(ctx, by, amp.Arrived{ID: strings.ToLower(e.ID), Type: e.Type, Source: e.Source, Raw: string(raw)})
		switch {
		case errors.Is(err, ssot.ErrConflict):
			errs = []amp.Problem{{Rule: "EVT-003", Field: "id", Message: "stands for another event already"}}
		case err != nil:
			return err
		case fresh:
			out.Accepted = append(out.Accepted, e.ID)
			return nil
		default:
			out.Duplicates = append(out.Duplicates, e.ID)
			return nil
		}
	}
	err := d.coord.Refuse(ctx, by, amp.Refusal{What: "event", Source: "events", Problems: errs, Raw: raw})
	refused, ok := errors.AsType[*amp.RefusedError](err)
	if !ok {
		return err
	}
	out.Refused = append(out.Refused, takenProblem{Index: index, Seq: refused.Seq, Problems: errs})
	return nil
}

func (d *eventsDoor) schema(r *http.Request) (any, error) {
	typ, v := r.PathValue("type"), r.URL.Query().Get("version")
	s, ok := d.registry.Schema(typ, v)
	if !ok {
		return nil, &server.Error{Code: "not_found", What: "there is no such schema", Means: "Nothing was done.", Next: "GET /v1/events/schemas lists them."}
	}
	return s, nil
}

func (d *eventsDoor) resend(r *http.Request) (any, error) {
	sinks, err := d.outbox.Resend(r.Context(), strings.ToLower(r.PathValue("id")))
	if _, ok := errors.AsType[*events.UnknownError](err); ok {
		return nil, &server.Error{Code: "not_found", What: err.Error() + " among the dead letters", Means: "Nothing was sent.", Next: "List them: arbiter events dead"}
	}
	if _, ok := errors.AsType[*events.ResendError](err); ok {
		return nil, &server.Error{Code: "unavailable", What: err.Error(), Means: "It stays among the dead letters.", Next: "Mend the receiver, then try again."}
	}
	return resent{Sinks: sinks}, err
}

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
