package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/providers/bus"
)

// A token that is revoked while its bearer waits for messages gets none of those that come then; they wait on.
func TestBusFetch_endsWithItsToken(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	type answer struct {
		status int
		body   string
	}
	got := make(chan answer, 1)
	go func() {
		status, body := r.ask(t, "x://b", "GET", "/messages?agent_id=x://b&wait=60s", "")
		got <- answer{status, body}
	}()
	for r.bus.Metrics().ActiveSessions == 0 { // until it waits
		if status, body := r.ask(t, "x://a", "GET", "/metrics", ""); status != http.StatusOK {
			t.Fatalf("metrics: %d %s", status, body)
		}
	}
	if _, err := r.tokens.Revoke("b"); err != nil {
		t.Fatal(err)
	}
	if status, body := r.ask(t, "x://a", "POST", "/messages/send", busMessage("m1", "x://a", "x://b", "task_request")); status != http.StatusOK {
		t.Fatalf("send: %d %s", status, body)
	}
	if a := <-got; a.status != http.StatusUnauthorized || strings.Contains(a.body, "m1") {
		t.Errorf("a revoked token fetched %d %s", a.status, a.body)
	}
	if all := r.bus.Queue("x://b"); len(all) != 1 {
		t.Errorf("%d messages wait", len(all))
	}
}

// A page in a browser is refused also where it sends no Origin, as for a picture or a script; without tokens that is all that keeps it out.
func TestBus_refusesPages(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, func(c *bus.Config, d *BusConfig) { c.Open, d.Tokens = true, nil })
	for site, want := range map[string]int{"": 200, "none": 200, "cross-site": 403, "same-site": 403, "same-origin": 403} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.addr+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if site != "" {
			req.Header.Set("Sec-Fetch-Site", site)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("Sec-Fetch-Site %q: %s, want %d", site, res.Status, want)
		}
	}
}

// A handler that panics ends its own connection, says so loudly, and the server goes on.
func TestServe_panic(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	addr, tokens, as := remote(t, &fake{query: status}, TCP{}, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		c.Routes = []Route{{Method: "GET", Path: "/v1/broken", Answer: func(*http.Request) (any, error) { panic("of a test") }}}
	})
	c := as(ScopeReader)
	_, secret, err := tokens.New("ada", ScopeReader, "mira", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/v1/broken", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
		res.Body.Close()
		t.Errorf("it is answered %s", res.Status)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if said := log.String(); !strings.Contains(said, "of a test") || !strings.Contains(said, "hardening_test.go") || strings.Contains(said, secret) {
		t.Errorf("the log says %q", said)
	}
}

// syncBuffer is a buffer for many.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// No door of the bus is open to who bears no token, one that is wrong, expired or revoked, or one of another role.
func TestBus_everyDoor_BUS066(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	now, past := time.Now(), time.Now().Add(-time.Hour)
	for name, tc := range map[string]struct {
		scope   Scope
		now     time.Time
		expires *time.Time
	}{"reader": {ScopeReader, now, nil}, "expired": {ScopeExecutor, past.Add(-time.Hour), &past}, "revoked": {ScopeExecutor, now, nil}, "b": {ScopeReviewer, now, nil}} {
		var err error
		if _, r.keys[name], err = r.tokens.New(name, tc.scope, "mira", tc.now, tc.expires); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.tokens.Revoke("revoked"); err != nil {
		t.Fatal(err)
	}
	r.keys["wrong"] = "arbiter_aaaaaaaa_AAAAAAAA"
	sum := strings.Repeat("a", 64)
	for door, body := range map[string]string{
		"GET /metrics": "", "POST /agents/register": `{"agent_descriptor":{"agent_id":"x://c","framework":"x"}}`, "DELETE /agents/x%3A%2F%2Fa": "",
		"POST /messages/send": busMessage("m1", "x://a", "x://a", "task_request"), "GET /messages?agent_id=x://a": "",
		"POST /messages/ack": `{"agent_id":"x://a","message_ids":["m1"]}`, "POST /requests/m1/repository?agent_id=x://a": `{}`,
		"GET /requests/m1/bundles/" + sum + "?agent_id=x://a": "", "PUT /requests/m1/bundles/" + sum + "?agent_id=x://a&offset=0&size=1": "x",
		"GET /?agent_id=x://a": "",
	} {
		method, path, _ := strings.Cut(door, " ")
		for who, want := range map[string]int{"": 401, "wrong": 401, "expired": 401, "revoked": 401, "reader": 403, "b": 400} {
			if who == "b" && (path == "/metrics" || path == "/agents/register" || strings.HasPrefix(path, "/?")) { // its own right; a socket is refused with a code of its own
				continue
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.addr+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if who != "" {
				req.Header.Set("X-Agent-Api-Key", r.keys[who])
			}
			if strings.HasPrefix(path, "/?") {
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", "websocket")
				req.Header.Set("Sec-Websocket-Version", "13")
				req.Header.Set("Sec-Websocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s with a token that is %q: %s, want %d", door, who, res.Status, want)
			}
		}
	}
	if got := r.bus.Agents(); len(got) != 1 || len(r.bus.Queue("")) != 0 {
		t.Errorf("agents %+v", got)
	}
}

// Who is there gets a message now, who is not finds it later (BUS-063), and the counts have the names that clients read (BUS-064).
func TestBusREST_BUS063_BUS064(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	send := func(id string) {
		t.Helper()
		if status, body := r.ask(t, "x://a", "POST", "/messages/send", busMessage(id, "x://a", "x://b", "task_request")); status != 200 || body != `{"success":true}` {
			t.Fatalf("send: %d %s", status, body)
		}
	}
	send("offline")
	c := r.dial(t, r.keys["x://b"], "x://b")
	if id := readID(t, c); id != "offline" {
		t.Errorf("first %s", id)
	}
	send("online")
	if id := readID(t, c); id != "online" {
		t.Errorf("then %s", id)
	}
	_, body := r.ask(t, "x://a", "GET", "/metrics", "")
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"total_messages": 2, "active_sessions": 1, "registered_agents": 2, "error_rate": 0} {
		if m[name] != want {
			t.Errorf("%s = %v, want %v", name, m[name], want)
		}
	}
	for _, name := range []string{"average_response_time", "uptime", "throughput"} {
		if n, ok := m[name].(float64); !ok || n < 0 {
			t.Errorf("%s = %v", name, m[name])
		}
	}
}
