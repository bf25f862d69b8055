package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// The bounds of requests.
const (
	// maxCommand is the most bytes of a command or query: a plan of a thousand subtasks is far below.
	maxCommand = 4 << 20
	// maxMessage is the most bytes of a message that are kept: one more than the protocol allows, so that the coordinator refuses what was cut and
	// writes it to the error log. maxRest is how much of the rest is read and thrown away, so that its sender gets to read why.
	maxMessage = amp.MaxMessage + 1
	maxRest    = 16 << 20
	// requestTime bounds a request that does not follow; a query may diff a large branch.
	requestTime = 2 * time.Minute
	// writeTime bounds how long a follower may leave one batch unread before it is cut off; it then resumes by seq.
	writeTime = 30 * time.Second
)

// Config is what a Server needs.
type Config struct {
	Coordinator Coordinator
	// Shutdown is called, once the answer is written, when a client asks the coordinator to end. It must not block.
	Shutdown func()
	// Sentinels are the errors without data that keep their identity over the wire.
	Sentinels Sentinels
	// Heartbeat is how often a silent journal stream sends a comment; 0 means 15 s.
	Heartbeat time.Duration
	// Marker names the environment variable that marks the processes of agents. One that carries another value than this process
	// decides nothing, even if it is not below this process any more.
	Marker string
	// TurnOf is the turn that runs and for whose process is reports true, "" when there is none: an agent can choose its mark, not where its process
	// stands. Without it no process of an agent sends messages.
	TurnOf func(ctx context.Context, is func(pid int) bool) (turnID string, err error)
	// AllowChildren lets processes below this one decide. It is for a program whose children are no agents.
	AllowChildren bool
	// Listen is the address that the client API has over TCP, for the status; "" is none.
	Listen string
	// Version is that of the program, for the description of the API.
	Version string
	// Tokens let others than the owner of the socket in; nil lets in nobody over TCP.
	Tokens *Tokens
	// Hosts reports by which names a request over TCP may call this coordinator; nil takes every name.
	Hosts func(host string) bool
	// Note writes down that a token was made or revoked; nil keeps no note.
	Note func(ctx context.Context, by string, a amp.Access) error
	// Observe is told of each request that was answered: by which route, how, and how long it took. Nil is nobody.
	Observe func(route string, status int, took time.Duration)
	// Routes are served beside the client API's own.
	Routes []Route
	Logger *slog.Logger
	// NewID gives each request its id; nil means UUIDv7.
	NewID func() string
}

// Server serves one coordinator.
type Server struct {
	cfg                       Config
	version                   string
	addresses, bearers, hooks *rates
	lines                     lines

	mu      sync.Mutex
	streams map[string]int // by token
}

// New returns a server that does nothing until Serve.
func New(cfg Config) *Server {
	if cfg.Heartbeat <= 0 {
		cfg.Heartbeat = 15 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	return &Server{
		cfg: cfg, version: cfg.Version, streams: map[string]int{},
		addresses: newRates(addressRate, addressBurst), bearers: newRates(tokenRate, tokenBurst),
		hooks: newRates(hookRate, hookBurst),
	}
}

// Serve answers on l until ctx ends, then lets requests under way finish for up to five seconds, ends streams at once, and
// closes l. It returns nil after an orderly end.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	return serveHTTP(ctx, l, s.handler, s.cfg.Logger, "the client API")
}

// serveHTTP serves what as [Server.Serve] says.
func serveHTTP(ctx context.Context, l net.Listener, handler func(streams context.Context) http.Handler, logger *slog.Logger, what string) error {
	streams, stop := context.WithCancel(ctx)
	defer stop()
	h := &http.Server{
		Handler:           sturdy(handler(streams), logger),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       requestTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1) // one send, so that the goroutine ends whether or not it is received
	go func() { served <- h.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", what, err)
	case <-ctx.Done():
	}
	stop()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := h.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.Close()
	}
	if got := <-served; !errors.Is(got, http.ErrServerClosed) {
		err = errors.Join(err, got)
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", what, err)
	}
	return nil
}

// handler routes requests; streams ends when the server stops.
func (s *Server) handler(streams context.Context) http.Handler {
	mux := http.NewServeMux()
	for _, rt := range s.routes() {
		mux.Handle(rt.Method+" "+rt.Path, s.guarded(streams, &rt))
	}
	mux.Handle("/", s.answer(func(r *http.Request) (any, error) {
		return nil, &Error{
			Code: "not_found", What: fmt.Sprintf("%s %s is no part of the client API", clip(r.Method, 20), clip(r.URL.Path, 200)),
			Means: "Nothing was done.", Next: "Use a client of the same version as the coordinator.",
		}
	}))
	return s.identified(mux)
}

// identified gives each request one id, which the answer and the log carry, and turns strangers away.
func (s *Server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := s.cfg.NewID()
		w.Header().Set("X-Request-Id", id)
		begin := time.Now()
		p := peerOf(r.Context())
		if p.remote() {
			var err error
			if p, err = s.admit(w, r, p); err != nil {
				s.fail(w, err)
				s.cfg.Logger.Debug("refused", "request", id, "method", r.Method, "path", r.URL.Path, "addr", p.addr, "err", err)
				return
			}
			r = r.WithContext(context.WithValue(r.Context(), peerKey{}, p))
		} else if !p.admitted() {
			s.fail(w, &Error{Code: "forbidden", What: p.name + " may not use this coordinator", Means: "It belongs to another user."})
			return
		}
		seen := &seenWriter{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		if s.cfg.Observe != nil {
			s.cfg.Observe(r.Pattern, seen.answered(), time.Since(begin))
		}
		s.cfg.Logger.Debug("request", "request", id, "method", r.Method, "path", r.URL.Path, "peer", p.name, "pid", p.pid, "addr", p.addr,
			"dur", time.Since(begin))
	})
}

// seenWriter remembers the status of an answer.
type seenWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status and passes it on.
func (w *seenWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets a response controller reach what is below.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *seenWriter) answered() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// answer wraps a request that has one JSON answer.
func (s *Server) answer(f func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		v, err := f(r.WithContext(ctx))
		if err != nil {
			s.fail(w, err)
			return
		}
		status := http.StatusOK
		if a, ok := v.(WithStatus); ok {
			status, v = a.Status, a.Value
		}
		written, ok := v.(io.WriterTo)
		if !ok {
			data, err := json.Marshal(v)
			if err != nil {
				s.fail(w, fmt.Errorf("write the answer: %w", err))
				return
			}
			written = bytes.NewReader(data)
		}
		w.Header().Set("Content-Type", "application/json")
		s.hurry(w)
		w.WriteHeader(status)
		if _, err := written.WriteTo(w); err != nil {
			s.cfg.Logger.Debug("the client went away", "request", w.Header().Get("X-Request-Id"), "err", err)
		}
		if r.URL.Path == "/v1/shutdown" && s.cfg.Shutdown != nil {
			s.cfg.Shutdown()
		}
	})
}

// hurry cuts off who does not read an answer.
func (s *Server) hurry(w http.ResponseWriter) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTime)); err != nil {
		s.cfg.Logger.Debug("an answer has no deadline", "err", err)
	}
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	letGo(w, err)
	f, status := newFault(err, s.cfg.Sentinels)
	if status == http.StatusInternalServerError {
		s.cfg.Logger.Error("request failed", "request", w.Header().Get("X-Request-Id"), "err", err)
	}
	w.Header().Set("Content-Type", "application/json")
	s.hurry(w)
	w.WriteHeader(status)
	if data, err := json.Marshal(&f); err == nil {
		_, _ = w.Write(data) // the client went away: there is nobody to tell
	}
}

func (s *Server) command(r *http.Request) (any, error) {
	p := peerOf(r.Context())
	var c amp.Command
	if err := readJSON(r, &c); err != nil {
		return nil, err
	}
	if c.ID == "" || c.Command == "" {
		return nil, badRequest("a command needs an id and a command")
	}
	if p.known {
		c.By = p.name
	}
	if c.By == "" {
		return nil, badRequest("a command needs by: who decided")
	}
	return s.cfg.Coordinator.Submit(r.Context(), c)
}

// person refuses agents, processes that the coordinator started, what only a person may do.
func (s *Server) person(p peer, what string) error {
	if p.remote() || !p.known || !s.agent(p.pid) {
		return nil // who came over TCP was judged by the token
	}
	return &Error{
		Code: "forbidden", What: fmt.Sprintf("process %d may not %s: the coordinator started it", p.pid, what),
		Means: "An agent has no authority; only a person decides (A09). Nothing was done.",
		Next:  "Run the command in a terminal of your own.",
	}
}

func (s *Server) query(r *http.Request) (any, error) {
	var q amp.Query
	if err := readJSON(r, &q); err != nil {
		return nil, err
	}
	if q.Kind == amp.QueryLog { // what agents and the coordinator print is for people
		if err := allowed(peerOf(r.Context()), People, "logs"); err != nil {
			return nil, err
		}
	}
	if c, ok := s.cfg.Coordinator.(writer); ok {
		if w, err := c.Written(r.Context(), q); err != nil || w != nil {
			return w, err
		}
	}
	return s.cfg.Coordinator.Query(r.Context(), q)
}

// writer is a coordinator that may know the JSON form of an answer without making the answer: a board of many tasks.
type writer interface {
	Written(ctx context.Context, q amp.Query) (io.WriterTo, error)
}

func (s *Server) status(r *http.Request) (any, error) {
	page, err := s.cfg.Coordinator.Query(r.Context(), amp.Query{Kind: amp.QueryStatus})
	if err != nil {
		return nil, err
	}
	if page.Status == nil {
		return nil, errors.New("the coordinator says nothing of itself")
	}
	page.Status.Listen = s.cfg.Listen
	return page.Status, nil
}

func (s *Server) shutdown(*http.Request) (any, error) { return Ended{os.Getpid()}, nil }

func readJSON(r *http.Request, v any) error {
	data, err := readAll(r, maxCommand)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		return badRequest("the request is no %T: %v", v, err)
	}
	return nil
}

func readAll(r *http.Request, limit int64) ([]byte, error) {
	tooLarge := &Error{Code: "too_large", What: fmt.Sprintf("the request is larger than %d bytes", limit), Means: "Nothing of it was kept."}
	if r.ContentLength > limit {
		return nil, tooLarge // nothing of it is read
	}
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, badRequest("read the request: %v", err)
	}
	return data, nil
}
