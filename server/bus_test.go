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
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers/bus"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
)

// busRig is a bus with its doors on loopback.
type busRig struct {
	bus    *bus.Bus
	tokens *Tokens
	addr   string
	keys   map[string]string

	mu      sync.Mutex
	records []amp.Record
}

func serveBus(t *testing.T, tcp TCP, change func(*bus.Config, *BusConfig)) *busRig {
	t.Helper()
	r := &busRig{tokens: NewTokens(t.TempDir()), keys: map[string]string{}}
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	cfg := bus.Config{Logger: logger, Append: func(_ context.Context, records []amp.Record) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.records = append(r.records, records...)
		return nil
	}}
	doors := BusConfig{Tokens: r.tokens, Logger: logger, Heartbeat: 50 * time.Millisecond}
	if change != nil {
		change(&cfg, &doors)
	}
	r.bus = bus.New(cfg, nil)
	doors.Bus = r.bus
	tcp.Addr = "127.0.0.1:0"
	l, err := ListenTCP(t.Context(), tcp)
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.bus.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		if err := NewBus(doors).Serve(ctx, l); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return r
}

// agent makes a token for an agent, and registers it.
func (r *busRig) agent(t *testing.T, id string, scope Scope) {
	t.Helper()
	_, secret, err := r.tokens.New(strings.TrimPrefix(id, "x://"), scope, "mira", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.keys[id] = secret
	if status, body := r.ask(t, id, "POST", "/agents/register", `{"agent_descriptor":{"agent_id":"`+id+`","framework":"x"}}`); status != http.StatusOK {
		t.Fatalf("register %s: %d %s", id, status, body)
	}
}

func (r *busRig) ask(t *testing.T, who, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Agent-Api-Key", r.keys[who])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

func (r *busRig) dial(t *testing.T, key, id string) *websocket.Conn {
	t.Helper()
	c, res, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/?agent_id="+id, &websocket.DialOptions{HTTPHeader: http.Header{"X-Agent-Api-Key": {key}}})
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	if res.Body != nil {
		res.Body.Close()
	}
	c.SetReadLimit(1 << 20)
	t.Cleanup(func() { c.CloseNow() })
	return c
}

func (r *busRig) refusals() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.records {
		if r.records[i].Kind == amp.KindRefusal {
			n++
		}
	}
	return n
}

func busMessage(id, from, to, typ string) string {
	return fmt.Sprintf(`{"message_id":%q,"timestamp":"2026-11-22T08:00:00Z","sender":{"agent_id":%q,"framework":"x"},"recipient":{"agent_id":%q,"framework":"x"},`+
		`"message_type":%q,"priority":"medium","payload":{"text":"ä  \u00e4"},"routing":{"timeout":"60s","retry_policy":{"max_retries":2,"backoff":"linear"},"delivery_mode":"async"}}`,
		id, from, to, typ)
}

func readID(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	typ, data, err := c.Read(ctx)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	var m bus.Message
	if err := json.Unmarshal(data, &m); err != nil || typ != websocket.MessageText {
		t.Fatalf("%s: %v", data, err)
	}
	return m.MessageID
}

// What waited is sent when the socket opens at the root path with an id that is not encoded (BUS-067, BUS-069), one text frame each (BUS-070), garbage is ignored and the socket stays open (BUS-071), a frame is routed on as it came
// (BUS-072), and what waited while nobody was there comes with the next socket (BUS-073).
func TestBusSocket_BUS069(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	if status, body := r.ask(t, "x://a", "POST", "/messages/send", busMessage("m1", "x://a", "x://b", "task_request")); status != 200 || body != `{"success":true}` {
		t.Fatalf("send: %d %s", status, body)
	}
	b := r.dial(t, r.keys["x://b"], "x://b")
	if id := readID(t, b); id != "m1" {
		t.Errorf("got %s", id)
	}
	a := r.dial(t, r.keys["x://a"], "x://a")
	raw := busMessage("m2", "x://a", "x://b", "gossip")
	for _, frame := range []string{"garbage\xff", "", "[]", raw, busMessage("m2", "x://b", "x://a", "task_request"), busMessage("m2", "x://a", "x://c", "task_request")} {
		if err := a.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	good := busMessage("m3", "x://a", "x://b", "task_request")
	if err := a.Write(t.Context(), websocket.MessageText, []byte(good)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, data, err := b.Read(ctx); err != nil || string(data) != good {
		t.Errorf("read %s, %v; want it as it came", data, err)
	}
	if n := r.refusals(); n != 6 {
		t.Errorf("%d refusals are kept", n)
	}
	b.CloseNow()
	if status, _ := r.ask(t, "x://a", "POST", "/messages/send", busMessage("m4", "x://a", "x://b", "task_request")); status != 200 {
		t.Fatal(status)
	}
	again := r.dial(t, r.keys["x://b"], "x://b")
	for id := readID(t, again); id != "m4"; id = readID(t, again) { // one that was read as the socket broke may come again
		if id != "m3" && id != "m1" {
			t.Fatalf("got %s", id)
		}
	}
}

// Who may not, and how it is closed.
func TestBusSocket_BUS068(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	closed := func(c *websocket.Conn, code websocket.StatusCode, reason string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, _, err := c.Read(ctx)
		if e, ok := errors.AsType[websocket.CloseError](err); !ok || e.Code != code || !strings.Contains(e.Reason, reason) {
			t.Errorf("closed with %v, want %d %s", err, code, reason)
		}
	}
	closed(r.dial(t, r.keys["x://a"], "x://stranger"), 1008, "Agent not registered")
	closed(r.dial(t, r.keys["x://a"], "x://b"), 1008, "another token")
	dial := func(agent string) *websocket.Conn { // a dial returns before the bus has the socket, which is open when it gets a message
		c := r.dial(t, r.keys[agent], agent)
		if status, body := r.ask(t, agent, "POST", "/messages/send", busMessage("open", agent, agent, "status_update")); status != 200 {
			t.Fatal(body)
		}
		readID(t, c)
		return c
	}
	first := dial("x://a")
	second := r.dial(t, r.keys["x://a"], "x://a")
	closed(first, 1000, "newer connection")
	if _, err := r.tokens.Revoke("a"); err != nil {
		t.Fatal(err)
	}
	closed(second, 1008, "not valid any more")
	third := dial("x://b")
	if status, body := r.ask(t, "x://b", "DELETE", "/agents/x%3A%2F%2Fb", ""); status != 200 || body != `{"success":true}` { // BUS-062
		t.Errorf("remove: %d %s", status, body)
	}
	closed(third, 1000, "removed")
	for _, key := range []string{"", "arbiter_x_y", r.keys["x://a"]} {
		_, res, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/?agent_id=x://a", &websocket.DialOptions{HTTPHeader: http.Header{"X-Agent-Api-Key": {key}}})
		if err == nil || res == nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a socket with the key %q: %v", key, err)
		}
	}
}

// Every answer to what is refused is as documented.
func TestBusREST_refuses(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, func(c *bus.Config, _ *BusConfig) { c.QueueMessages = 2 })
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	_, r.keys["reader"], _ = r.tokens.New("reader", ScopeReader, "mira", time.Now(), nil)
	soon := time.Now().Add(time.Hour)
	_, expired, err := r.tokens.New("old", ScopeExecutor, "mira", time.Now().Add(-2*time.Hour), &soon)
	if err != nil {
		t.Fatal(err)
	}
	r.keys["nobody"], r.keys["wrong"] = "", expired+"x"
	for _, tc := range []struct {
		name, who, method, path, body string
		status                        int
		want                          string
	}{
		{"B02 no token", "nobody", "GET", "/metrics", "", 401, `"success":false`},
		{"wrong token", "wrong", "GET", "/metrics", "", 401, `"success":false`},
		{"reader", "reader", "GET", "/metrics", "", 403, "role reader"},
		{"BUS-064 metrics", "x://a", "GET", "/metrics", "", 200, `"registered_agents":2`},
		{"nowhere", "x://a", "GET", "/v1/status", "", 404, "no part of the bus"},
		{"garbage", "x://a", "POST", "/messages/send", "garbage", 400, "BUS-001"},
		{"B01 unknown recipient", "x://a", "POST", "/messages/send", busMessage("1", "x://a", "x://c", "error"), 400, "BUS-072"},
		{"heartbeat", "x://a", "POST", "/messages/send", busMessage("1", "x://a", "system", "heartbeat"), 200, `"success":true`},
		{"another's name", "x://a", "POST", "/messages/send", busMessage("1", "x://b", "x://a", "error"), 400, "BUS-066"},
		{"oversized", "x://a", "POST", "/messages/send", strings.Repeat(" ", bus.MaxMessage+1), 413, "larger than"},
		{"first", "x://a", "POST", "/messages/send", busMessage("1", "x://a", "x://b", "error"), 200, `"success":true`},
		{"replayed", "x://a", "POST", "/messages/send", busMessage("1", "x://a", "x://b", "error"), 200, `"duplicate":true`},
		{"second", "x://a", "POST", "/messages/send", busMessage("2", "x://a", "x://b", "error"), 200, `"success":true`},
		{"full", "x://a", "POST", "/messages/send", busMessage("3", "x://a", "x://b", "error"), 503, "is full"},
		{"another's queue", "x://a", "GET", "/messages?agent_id=x://b", "", 400, "another token"},
		{"fetch", "x://b", "GET", "/messages?agent_id=x://b&max=1", "", 200, `"message_id":"1"`},
		{"ack of another", "x://a", "POST", "/messages/ack", `{"agent_id":"x://b","message_ids":["1"]}`, 400, "another token"},
		{"ack", "x://b", "POST", "/messages/ack", `{"agent_id":"x://b","message_ids":["1","2"]}`, 200, `"acknowledged":1`},
		{"remove another", "x://a", "DELETE", "/agents/x%3A%2F%2Fb", "", 400, "another token"},
		{"remove nobody", "x://a", "DELETE", "/agents/x%3A%2F%2Fz", "", 200, `"success":false`},
		{"BUS-065 health", "nobody", "GET", "/health", "", 200, `"status":"healthy"`},
	} {
		if status, body := r.ask(t, tc.who, tc.method, tc.path, tc.body); status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %s; want %d %s", tc.name, status, body, tc.status, tc.want)
		}
	}
}

// Frames that come faster than the journal takes them are not read meanwhile; all of them are delivered, in their order, though the queue has
// room for a few only.
func TestBusSocket_flood(t *testing.T) {
	t.Parallel()
	const all = 3000
	r := serveBus(t, TCP{}, func(c *bus.Config, d *BusConfig) { c.QueueMessages, d.Heartbeat = 700, time.Minute })
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	a, b := r.dial(t, r.keys["x://a"], "x://a"), r.dial(t, r.keys["x://b"], "x://b")
	go func() { _, _, _ = a.Read(context.WithoutCancel(t.Context())) }() // pings are answered
	go func() {
		for i := range all {
			if err := a.Write(context.WithoutCancel(t.Context()), websocket.MessageText, []byte(busMessage(fmt.Sprint(i), "x://a", "x://b", "status_update"))); err != nil {
				return
			}
		}
	}()
	for i := range all {
		if id := readID(t, b); id != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, id)
		}
	}
}

// While a peer has not shown that it read, further messages are written, but none counts as delivered; when it goes, all of them come again.
func TestBusSocket_unproven(t *testing.T) {
	t.Parallel()
	const all = 3*socketBatch + 10
	r := serveBus(t, TCP{}, func(_ *bus.Config, d *BusConfig) { d.Heartbeat = time.Minute })
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	for i := range all {
		if status, body := r.ask(t, "x://a", "POST", "/messages/send", busMessage(fmt.Sprint(i), "x://a", "x://b", "status_update")); status != 200 {
			t.Fatalf("send: %d %s", status, body)
		}
	}
	mute, res, err := websocket.Dial(t.Context(), "ws://"+r.addr+"/?agent_id=x://b", &websocket.DialOptions{
		HTTPHeader:     http.Header{"X-Agent-Api-Key": {r.keys["x://b"]}},
		OnPingReceived: func(context.Context, []byte) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Body != nil {
		res.Body.Close()
	}
	defer mute.CloseNow()
	for i := range all {
		if id := readID(t, mute); id != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, id)
		}
	}
	if m := r.bus.Metrics(); m.Queued != all || m.Delivered != 0 {
		t.Errorf("%d wait and %d are delivered, though nobody said so", m.Queued, m.Delivered)
	}
	mute.CloseNow()
	b, known := r.dial(t, r.keys["x://b"], "x://b"), map[string]bool{}
	for len(known) < all {
		known[readID(t, b)] = true
	}
}

// A connection too many is refused, and none of those before it is lost.
func TestBus_connections(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{MaxConns: 8}, nil)
	var held []net.Conn
	refused := 0
	for range 200 {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for _, c := range held[8:] {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		data, _ := io.ReadAll(c)
		if bytes.Contains(data, []byte("503")) {
			refused++
		}
		c.Close()
	}
	if refused < 190 {
		t.Errorf("%d of 192 connections too many were refused", refused)
	}
	fmt.Fprintf(held[0], "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	_ = held[0].SetReadDeadline(time.Now().Add(time.Minute))
	if data, _ := io.ReadAll(held[0]); !bytes.Contains(data, []byte("healthy")) {
		t.Errorf("an early connection is answered %s", data)
	}
	for _, c := range held[:8] {
		c.Close()
	}
}

// An adapter that connects before it registers is told so at each of its five tries, is not taken for a flood, and gets at the next one what came
// for it meanwhile (BUS-074).
func TestBusSocket_fiveTries_BUS074(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, func(cfg *bus.Config, _ *BusConfig) { cfg.Members = map[string]bus.Member{"x://late": {Name: "late"}} })
	r.agent(t, "x://a", ScopeExecutor)
	_, secret, err := r.tokens.New("late", ScopeReviewer, "mira", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.keys["x://late"] = secret
	for try := range 5 {
		if status, body := r.ask(t, "x://a", "POST", "/messages/send", busMessage(fmt.Sprintf("m%d", try), "x://a", "x://late", "task_request")); status != 200 {
			t.Fatalf("send: %d %s", status, body)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, _, err := r.dial(t, secret, "x://late").Read(ctx)
		cancel()
		if e, ok := errors.AsType[websocket.CloseError](err); !ok || e.Code != 1008 || e.Reason != "Agent not registered" {
			t.Fatalf("try %d ended with %v", try+1, err)
		}
	}
	if status, body := r.ask(t, "x://late", "POST", "/agents/register", `{"agent_descriptor":{"agent_id":"x://late","framework":"x"}}`); status != 200 {
		t.Fatalf("register: %d %s", status, body)
	}
	c := r.dial(t, secret, "x://late")
	for n := range 5 {
		if id := readID(t, c); id != fmt.Sprintf("m%d", n) {
			t.Errorf("got %s, want m%d", id, n)
		}
	}
}
