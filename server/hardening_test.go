package server

import (
	"bytes"
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
