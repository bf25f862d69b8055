package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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

// resent names the receivers that took an event now.
type resent struct {
	Sinks []string `json:"sinks"`
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
