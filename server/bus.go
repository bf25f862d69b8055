package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers/bus"

	"github.com/go-json-experiment/json"
)

// BusConfig is what the doors of an AgentMessage bus need.
type BusConfig struct {
	Bus *bus.Bus
	// Tokens let agents in by x-agent-api-key; nil lets in everybody, which only a loopback listener may do.
	Tokens *Tokens
	// Hosts reports by which names a request may call the bus; nil takes every name.
	Hosts  func(host string) bool
	Logger *slog.Logger
	// Heartbeat is how often an open socket is tried, and its token looked at again; 0 means 15 s.
	Heartbeat time.Duration
}

// Bus serves an AgentMessage bus over REST and WebSocket (BUS-060 to BUS-073).
type Bus struct {
	cfg                BusConfig
	addresses, bearers *rates
}

// The limits of a bus: what one token or one address may send in a second, and how long who fetches or waits for an answer is kept waiting.
const (
	busRate, busBurst = 5000, 10_000
	maxWait           = 90 * time.Second
	maxFetch          = 256
)

// NewBus returns doors that do nothing until Serve.
func NewBus(cfg BusConfig) *Bus {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	return &Bus{cfg: cfg, addresses: newRates(busRate, busBurst), bearers: newRates(busRate, busBurst)}
}

// Serve answers on l until ctx ends, then closes its sockets and l. It returns nil after an orderly end.
func (b *Bus) Serve(ctx context.Context, l net.Listener) error {
	return serveHTTP(ctx, l, b.handler, b.cfg.Logger, "the bus")
}

func (b *Bus) handler(streams context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /health", b.answer(b.health))
	mux.Handle("GET /metrics", b.admitted(func(*http.Request, bus.Caller) (any, error) { return b.cfg.Bus.Metrics(), nil }))
	mux.Handle("POST /agents/register", b.admitted(b.register))
	mux.Handle("DELETE /agents/{id...}", b.admitted(b.remove))
	mux.Handle("POST /messages/send", http.HandlerFunc(b.send))
	mux.Handle("GET /messages", b.answer(b.fetch))
	mux.Handle("POST /messages/ack", b.admitted(b.acknowledge))
	b.repositoryRoutes(mux)
	mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			b.socket(streams, w, r)
			return
		}
		b.write(w, http.StatusNotFound, failed{Error: clip(r.Method, 20) + " " + clip(r.URL.Path, 100) + " is no part of the bus"})
	}))
	return mux
}

// failed is the answer to what was not done.
type failed struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
}

// done is the answer to what was.
type done struct {
	Success bool   `json:"success"`
	AgentID string `json:"agent_id,omitzero"`
}

type busHealth struct {
	Status string `json:"status"`
	Uptime int64  `json:"uptime"`
}

func (b *Bus) health(*http.Request) (any, error) {
	return busHealth{"healthy", b.cfg.Bus.Uptime().Milliseconds()}, nil
}

// caller finds out who asks, and refuses browsers, strangers and floods. The id is that of the token.
func (b *Bus) caller(r *http.Request) (who bus.Caller, token string, err error) {
	p, now := peerOf(r.Context()), time.Now()
	who.Source = "bus"
	if ok, after := b.addresses.take(p.addr, 1, now); !ok {
		return who, "", &limitedError{after}
	}
	page := r.Header.Get("Origin") // which a page may leave out where it only loads something
	if site := r.Header.Get("Sec-Fetch-Site"); site != "none" {
		page += site
	}
	if b.cfg.Hosts != nil && !b.cfg.Hosts(r.Host) || page != "" {
		return who, "", &Error{Code: "forbidden", What: "this name, or a page in a browser, may not use this bus"}
	}
	if b.cfg.Tokens == nil {
		return who, "", nil
	}
	key := r.Header.Get("X-Agent-Api-Key")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); key == "" && ok {
		key = bearer
	}
	if key == "" {
		return who, "", unauthorized("the header x-agent-api-key is missing")
	}
	t, err := b.cfg.Tokens.Check(strings.TrimSpace(key), now)
	if err != nil {
		return who, "", err
	}
	if t == nil {
		b.addresses.drain(p.addr, failureCost, now)
		return who, "", unauthorized("the token is not known, was revoked, or has expired")
	}
	if !Speakers.allows(t.Scope) {
		return who, "", &Error{Code: "forbidden", What: "a token with the role " + string(t.Scope) + " may not use the bus"}
	}
	if ok, after := b.bearers.take(t.ID, 1, now); !ok {
		return who, "", &limitedError{after}
	}
	who.Name, who.Role, who.Admin = t.Name, t.Scope.role(), t.Scope == ScopeAdmin
	return who, t.ID, nil
}

// still refuses a token that ended while its bearer waited.
func (b *Bus) still(token string) error {
	if b.cfg.Tokens != nil && !b.cfg.Tokens.valid(token, time.Now()) {
		return unauthorized("the token was revoked, or has expired")
	}
	return nil
}

// limitedError says that somebody sends too much at once.
type limitedError struct{ after time.Duration }

func (e *limitedError) Error() string { return "too many requests" }

func (b *Bus) admitted(f func(*http.Request, bus.Caller) (any, error)) http.Handler {
	return b.answer(func(r *http.Request) (any, error) {
		who, _, err := b.caller(r)
		if err != nil {
			return nil, err
		}
		return f(r, who)
	})
}

func (b *Bus) answer(f func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		v, err := f(r.WithContext(ctx))
		if err != nil {
			b.fail(w, err)
			return
		}
		b.write(w, http.StatusOK, v)
	})
}

// fail answers what was not done: 400, unless the bus was not the one that refused it.
func (b *Bus) fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if _, ok := errors.AsType[*bus.RefusedError](err); ok || errors.Is(err, bus.ErrNotRegistered) {
		status = http.StatusBadRequest
	} else if errors.Is(err, bus.ErrNotOpen) {
		status = http.StatusConflict
	} else if _, ok := errors.AsType[*bus.FullError](err); ok || errors.Is(err, bus.ErrClosed) {
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	} else if e, ok := errors.AsType[*limitedError](err); ok {
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(e.after.Seconds()))))
	} else if e, ok := errors.AsType[*Error](err); ok {
		if status = statusOf(e.Code); status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="arbiter"`)
		}
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusServiceUnavailable
	}
	letGo(w, err)
	text := err.Error()
	if status == http.StatusInternalServerError {
		b.cfg.Logger.Error("a request to the bus failed", "err", err)
		status, text = http.StatusServiceUnavailable, "not now; nothing was taken"
		w.Header().Set("Retry-After", "1")
	}
	b.write(w, status, failed{Error: text})
}

func (b *Bus) write(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		b.cfg.Logger.Error("write an answer of the bus", "err", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime)) // a test's recorder has none
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client went away: there is nobody to tell
}

func (b *Bus) register(r *http.Request, who bus.Caller) (any, error) {
	data, err := readAll(r, 1<<20)
	if err != nil {
		return nil, err
	}
	d, err := b.cfg.Bus.Register(r.Context(), who, data)
	if err != nil {
		return nil, err
	}
	return done{true, d.AgentID}, nil
}

func (b *Bus) remove(r *http.Request, who bus.Caller) (any, error) {
	was, err := b.cfg.Bus.Remove(r.Context(), who, r.PathValue("id"))
	return done{Success: was}, err
}

// sent is the answer to a message that was taken.
type sent struct {
	Success   bool   `json:"success"`
	Duplicate bool   `json:"duplicate,omitzero"`
	Delivered bool   `json:"delivered,omitzero"`
	Error     string `json:"error,omitzero"`
	// Response is the reply to a synchronous task_request.
	Response amp.Raw  `json:"response,omitzero"`
	Warnings []string `json:"warnings,omitzero"`
}

func (b *Bus) send(w http.ResponseWriter, r *http.Request) {
	who, token, err := b.caller(r)
	if err != nil {
		b.fail(w, err)
		return
	}
	data, err := readAll(r, bus.MaxMessage)
	if err != nil {
		b.fail(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	a, err := b.cfg.Bus.SendSync(ctx, who, data, maxWait)
	if err != nil {
		b.fail(w, err)
		return
	}
	if a.Reply != nil {
		if err := b.still(token); err != nil {
			_ = a.Close(context.WithoutCancel(ctx), false) // nothing is confirmed, so nothing can fail
			b.fail(w, err)
			return
		}
	}
	out := sent{Success: true, Duplicate: a.Duplicate, Delivered: a.Delivered}
	for _, p := range a.Warnings {
		out.Warnings = append(out.Warnings, p.String())
	}
	if a.Reply != nil {
		out.Response = a.Reply.Raw
	} else if m := a.Message; m.Routing.DeliveryMode == bus.Sync && m.Type == bus.TaskRequest && !a.Consumed {
		out.Error = "no response yet; it will wait in the queue of " + clip(m.Sender.AgentID, 100)
	}
	b.write(w, http.StatusOK, out)
	if err := a.Close(context.WithoutCancel(ctx), ctx.Err() == nil); err != nil {
		b.cfg.Logger.Warn("an answer was not confirmed", "err", err)
	}
}

// fetched are messages for an agent that has no socket.
type fetched struct {
	Success  bool      `json:"success"`
	Messages []amp.Raw `json:"messages"`
}

func (b *Bus) fetch(r *http.Request) (any, error) {
	who, token, err := b.caller(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	n := 16
	if v := q.Get("max"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil || n < 1 || n > maxFetch {
			return nil, badRequest("max is %q, want a number from 1 to %d", clip(v, 20), maxFetch)
		}
	}
	wait := time.Duration(0)
	if v := q.Get("wait"); v != "" {
		var err error
		if wait, err = bus.ParseTimeout(v); err != nil {
			return nil, badRequest("wait: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), min(wait, maxWait))
	defer cancel()
	got, err := b.cfg.Bus.Fetch(ctx, who, agentOf(r), n)
	if err == nil {
		err = b.still(token)
	}
	if err != nil {
		return nil, err
	}
	out := fetched{Success: true, Messages: []amp.Raw{}}
	for _, d := range got {
		out.Messages = append(out.Messages, d.Message.Raw)
	}
	return out, nil
}

type taken struct {
	AgentID    string   `json:"agent_id"`
	MessageIDs []string `json:"message_ids"`
}

type confirmed struct {
	Success      bool `json:"success"`
	Acknowledged int  `json:"acknowledged"`
}

func (b *Bus) acknowledge(r *http.Request, who bus.Caller) (any, error) {
	var in taken
	if err := readJSON(r, &in); err != nil {
		return nil, err
	}
	n, err := b.cfg.Bus.Acknowledge(r.Context(), who, in.AgentID, in.MessageIDs)
	return confirmed{err == nil, n}, err
}

// agentOf is the agent_id of a query, which adapters do not encode (BUS-067).
func agentOf(r *http.Request) string {
	for part := range strings.SplitSeq(r.URL.RawQuery, "&") {
		if v, ok := strings.CutPrefix(part, "agent_id="); ok {
			if plain, err := url.PathUnescape(v); err == nil {
				return plain
			}
			return v
		}
	}
	return ""
}
