package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"arbiter/server"
)

// The variables that ask for the numbers of a release: of messages in each flood, as 300000, and of kills in the middle of one, as 50.
const (
	loadMessages = "ARBITER_LOAD_MESSAGES"
	loadKills    = "ARBITER_LOAD_KILLS"
)

// speaker is an agent on the bus of a rig.
type speaker struct {
	*loadRig
	id, key string
	http    *http.Client
}

// speaker makes an agent and registers it.
func (r *loadRig) speaker(name string, scope server.Scope) *speaker {
	r.Helper()
	s := &speaker{loadRig: r, id: "x://" + name, key: r.token(name, scope), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	r.Cleanup(s.http.CloseIdleConnections)
	status, body, err := s.post(r.Context(), "/agents/register", []byte(`{"agent_descriptor":{"agent_id":"`+s.id+`","framework":"x"}}`))
	if err != nil || status != http.StatusOK {
		r.Fatalf("register %s: %d %s %v", name, status, body, err)
	}
	return s
}

func (s *speaker) post(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.bus+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("X-Agent-Api-Key", s.key)
	res, err := s.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// message is one to another agent, of about 1 KB.
func (s *speaker) message(id, to string) []byte {
	return fmt.Appendf(nil, `{"message_id":%q,"timestamp":"2026-11-22T08:00:00Z","sender":{"agent_id":%q,"framework":"x"},"recipient":{"agent_id":%q,"framework":"x"},`+
		`"message_type":"status_update","priority":"medium","payload":{"notes":%q},"metadata":{"task_id":"t"},`+
		`"routing":{"timeout":"60s","retry_policy":{"max_retries":2,"backoff":"linear"},"delivery_mode":"async"}}`, id, s.id, to, strings.Repeat("n", 600))
}

// dial opens the socket of the agent.
func (s *speaker) dial(ctx context.Context) (*websocket.Conn, error) {
	c, res, err := websocket.Dial(ctx, "ws://"+s.bus+"/?agent_id="+s.id, &websocket.DialOptions{HTTPHeader: http.Header{"X-Agent-Api-Key": {s.key}}})
	if err != nil {
		return nil, err
	}
	if res.Body != nil {
		res.Body.Close()
	}
	c.SetReadLimit(1 << 20)
	return c, nil
}

// flood posts n messages over several connections, as fast as they go, and returns the ids that were taken and how often each other answer came.
func (s *speaker) flood(n, connections int, to, prefix string) (taken []string, others map[int]int) {
	others = map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range connections {
		wg.Go(func() {
			for i := w; i < n; i += connections {
				id := prefix + strconv.Itoa(i)
				status, _, err := s.post(s.Context(), "/messages/send", s.message(id, to))
				mu.Lock()
				switch {
				case err != nil:
					others[0]++
				case status == http.StatusOK:
					taken = append(taken, id)
				default:
					others[status]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return taken, others
}

// heard are the messages that came over a socket.
type heard struct {
	known map[string]bool
	ids   []string // in the order in which they came first
}

// hear reads until enough came.
func hear(ctx context.Context, c *websocket.Conn, enough func(*heard) bool) (*heard, error) {
	h := &heard{known: map[string]bool{}}
	for !enough(h) {
		_, data, err := c.Read(ctx)
		if err != nil {
			return h, fmt.Errorf("after %d messages: %w", len(h.ids), err)
		}
		var m struct {
			MessageID string `json:"message_id"`
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return h, err
		}
		if !h.known[m.MessageID] {
			h.known[m.MessageID] = true
			h.ids = append(h.ids, m.MessageID)
		}
	}
	return h, nil
}

// has is until a message came.
func has(id string) func(*heard) bool { return func(h *heard) bool { return h.known[id] } }

// wantAll fails unless exactly the messages that were taken came.
func (r *loadRig) wantAll(taken []string, h *heard) {
	r.Helper()
	lost := slices.DeleteFunc(slices.Clone(taken), func(id string) bool { return h.known[id] })
	if len(lost) > 0 || len(h.ids) != len(taken) {
		r.Errorf("%d messages were taken and %d delivered; lost are %d: %.100q", len(taken), len(h.ids), len(lost), lost)
	}
}

// insist sends a message until it is taken.
func (s *speaker) insist(id, to string) {
	s.Helper()
	for {
		status, body, err := s.post(s.Context(), "/messages/send", s.message(id, to))
		if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests {
			s.Fatalf("%d %s %v", status, body, err)
		}
		if status == http.StatusOK {
			return
		}
	}
}

// A flood to one queue over REST: what finds no room is answered 503, what comes too fast 429, every other message is delivered.
func TestLoad_floodREST(t *testing.T) {
	t.Parallel()
	n := number(t, loadMessages, 1500)
	r := serveLoad(t, "[bus]\nlisten = \"127.0.0.1:0\"\n")
	a, b := r.speaker("a", server.ScopeExecutor), r.speaker("b", server.ScopeReviewer)
	before := r.resident()
	watched, began := r.watchAdmin(), time.Now()
	absent := min(n, 12_000) // while b is not there
	taken, others := a.flood(absent, 32, b.id, "absent-")
	t.Logf("nobody reads: %d taken, others %v, in %s; memory %d MB, then at most %d MB", len(taken), others, time.Since(began).Round(time.Millisecond), before>>20, r.most()>>20)
	if room := min(absent, 10_000); len(taken) != room || others[http.StatusServiceUnavailable]+others[http.StatusTooManyRequests] != absent-room {
		t.Errorf("%d messages taken, others %v; a queue holds 10,000", len(taken), others)
	}
	c, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	h, err := hear(t.Context(), c, func(h *heard) bool { return len(h.ids) == len(taken) })
	if err != nil {
		t.Fatal(err)
	}
	r.wantAll(taken, h)

	all := make(chan *heard, 1)
	const last = "the last" // it comes behind all others
	go func() {
		h, err := hear(t.Context(), c, has(last))
		if err != nil {
			t.Error(err)
		}
		all <- h
	}()
	began = time.Now()
	taken, others = a.flood(n, 32, b.id, "there-")
	took := time.Since(began)
	a.insist(last, b.id)
	h = <-all
	answers, longest := watched()
	t.Logf("one reads: %d of %d taken, others %v, %.0f a second; memory at most %d MB; the unix socket answered %d times, the slowest in %s",
		len(taken), n, others, float64(n)/took.Seconds(), r.most()>>20, answers, longest.Round(time.Millisecond))
	r.wantAll(append(taken, last), h)
	if others[0] > 0 || len(taken)+others[http.StatusServiceUnavailable]+others[http.StatusTooManyRequests] != n {
		t.Errorf("%d taken, others %v; want nothing but 503 and 429", len(taken), others)
	}
	if r.most() > before+floodMemory {
		t.Errorf("memory grew from %d to %d bytes", before, r.most())
	}
}

// floodMemory is how much memory a flood may take.
const floodMemory = 400 << 20

// A flood over WebSocket is slowed down to what the journal takes. All of it is delivered in order, also to who began to read late, and others
// are served meanwhile.
func TestLoad_floodWebSocket(t *testing.T) {
	t.Parallel()
	n := number(t, loadMessages, 1500)
	r := serveLoad(t, "[bus]\nlisten = \"127.0.0.1:0\"\n")
	a, b, c := r.speaker("a", server.ScopeExecutor), r.speaker("b", server.ScopeReviewer), r.speaker("c", server.ScopeReviewer)
	before := r.resident()
	from, err := a.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer from.CloseNow()
	to, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer to.CloseNow()
	from.CloseRead(t.Context()) // pings are answered
	watched, began := r.watchAdmin(), time.Now()
	written := make(chan error, 1)
	go func() {
		for i := range n {
			if err := from.Write(t.Context(), websocket.MessageText, a.message(strconv.Itoa(i), b.id)); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	c.insist("between", c.id) // another queue is not held up by it
	h, err := hear(t.Context(), to, func(h *heard) bool { return len(h.ids) == n })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for i, id := range h.ids {
		if id != strconv.Itoa(i) {
			t.Fatalf("message %d is %s", i, id)
		}
	}
	answers, longest := watched()
	t.Logf("%d messages, %.0f a second; memory %d MB, then at most %d MB; the unix socket answered %d times, the slowest in %s",
		n, float64(n)/time.Since(began).Seconds(), before>>20, r.most()>>20, answers, longest.Round(time.Millisecond))
	if r.most() > before+floodMemory {
		t.Errorf("memory grew from %d to %d bytes", before, r.most())
	}
}

// What was answered with success before the program was killed is delivered after the next start.
func TestLoad_floodKilled(t *testing.T) {
	t.Parallel()
	r := serveLoad(t, "[bus]\nlisten = \"127.0.0.1:0\"\n")
	a, b := r.speaker("a", server.ScopeExecutor), r.speaker("b", server.ScopeReviewer)
	const connections, early = 16, 200
	for round := range number(t, loadKills, 1) {
		done := make(chan []string, 1)
		go func() {
			taken, _ := a.flood(4000, connections, b.id, fmt.Sprint("round-", round, "-"))
			done <- taken
		}()
		to, err := b.dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first, err := hear(t.Context(), to, func(h *heard) bool { return len(h.ids) == early })
		if err != nil {
			t.Fatal(err)
		}
		r.kill()
		to.CloseNow()
		taken := <-done
		r.start()
		last := fmt.Sprint("last-", round)
		a.insist(last, b.id)
		if to, err = b.dial(t.Context()); err != nil {
			t.Fatal(err)
		}
		rest, err := hear(t.Context(), to, has(last))
		if err != nil {
			t.Fatal(err)
		}
		to.CloseNow()
		lost := slices.DeleteFunc(slices.Clone(taken), func(id string) bool { return first.known[id] || rest.known[id] })
		t.Logf("%d messages were taken, %d came before the kill, %d after it", len(taken), len(first.ids), len(rest.ids))
		if len(lost) > 0 || len(taken) < early-connections { // of each connection one may have come without its answer
			t.Errorf("of %d messages that were taken %d are lost: %.100q", len(taken), len(lost), lost)
		}
	}
}
