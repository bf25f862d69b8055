package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/providers/bus"

	"github.com/coder/websocket"
)

// faulty is a log that breaks off with a panic where a word is said, as a fault of the program would; what else is said it keeps.
type faulty struct {
	slog.Handler
	at string
}

func (f faulty) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == f.at {
		panic("a fault at: " + f.at)
	}
	return f.Handler.Handle(ctx, r)
}

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A panic in what serves a socket ends that socket, and is in the log with where it was; the others go on, and its agent may come back.
func TestBusSocket_panic(t *testing.T) {
	t.Parallel()
	log := &safeBuffer{}
	r := serveBus(t, TCP{}, func(cfg *bus.Config, doors *BusConfig) {
		text := slog.NewTextHandler(log, nil)
		cfg.Logger, doors.Logger = slog.New(faulty{text, "the bus refused a message"}), slog.New(text)
	})
	for _, id := range []string{"x://a", "x://b"} {
		r.agent(t, id, ScopeExecutor)
	}
	first, other := r.dial(t, r.keys["x://a"], "x://a"), r.dial(t, r.keys["x://b"], "x://b")
	write := func(c *websocket.Conn, text string) {
		t.Helper()
		if err := c.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(c *websocket.Conn) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, data, err := c.Read(ctx)
		return string(data), err
	}
	write(first, "{}")
	if _, err := read(first); websocket.CloseStatus(err) != websocket.StatusInternalError {
		t.Fatalf("the socket ended with %v", err)
	}
	for _, word := range []string{"a request ended in a panic", "the socket of x://a", "a fault at: the bus refused a message", "bus.(*Bus).refuse"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not say %q:\n%s", word, log.String())
		}
	}
	again := r.dial(t, r.keys["x://a"], "x://a")
	write(again, busMessage("msg_1_a", "x://a", "x://b", "status_update"))
	if got, err := read(other); err != nil || !strings.Contains(got, "msg_1_a") {
		t.Errorf("the other socket read %q, %v", got, err)
	}
}

// Whatever part of a socket a fault is in, it is an error there.
func TestFirm(t *testing.T) {
	t.Parallel()
	log := &safeBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	if err := Firm(logger, "x", func() error { panic("x") }); err != ErrFault { //nolint:errorlint // it is that
		t.Errorf("Firm = %v", err)
	}
	if err := Firm(logger, "x", func() error { return errExpired }); err != errExpired { //nolint:errorlint // it is that
		t.Errorf("Firm = %v", err)
	}
	if said := log.String(); strings.Count(said, "ended in a panic") != 1 || !strings.Contains(said, "TestFirm") {
		t.Errorf("the log says\n%s", said)
	}
}
