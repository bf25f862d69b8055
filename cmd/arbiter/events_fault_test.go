package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot/events"
)

// A panic in what follows the journal for a stream of events ends that stream, which says so, and is in the log with where it was.
func TestEvents_panic(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	d := &eventsDoor{
		publisher: events.NewPublisher(
			func(context.Context, amp.Filter) ([]amp.Entry, error) { return nil, nil },
			func(context.Context, uint64, func([]amp.Entry) error) error { panic("a fault of the program") },
		),
		logger: slog.New(slog.NewTextHandler(log, nil)), registry: events.NewRegistry(), begun: time.Now(),
	}
	d.started = d.own("system.service_started", map[string]any{"service_id": "arbiter", "version": "1", "environment": "local", "hostname": "x"})
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", d.webSocket)
	mux.HandleFunc("/sse", d.sse)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	c, res, err := websocket.Dial(ctx, s.URL+"/ws?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		defer res.Body.Close()
	}
	defer c.CloseNow()
	for err == nil {
		_, _, err = c.Read(ctx)
	}
	if websocket.CloseStatus(err) != websocket.StatusInternalError {
		t.Errorf("the socket ended with %v", err)
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/sse?after=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if data, err := io.ReadAll(got.Body); err != nil || !strings.HasPrefix(string(data), ": following") {
		t.Errorf("the stream was %q, %v", data, err)
	}
	if said := log.String(); strings.Count(said, "a request ended in a panic") != 2 || !strings.Contains(said, "events_fault_test.go") ||
		!strings.Contains(said, server.ErrFault.Error()) {
		t.Errorf("the log says\n%s", said)
	}
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
