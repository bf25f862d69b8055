package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
)

// Side is the answer to requests that are no part of a conversation.
const Side = "A title"

// maxBody is the most of a request that is read.
const maxBody = 256 << 20

// Request is one request that was made, in the order of arrival.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Script and Step are what it was answered with; both are -1 for side requests, lists of models and counts of tokens. Step is
	// the number of steps behind the last one.
	Script int
	Step   int
}

// Model answers requests by scripts. It is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	talks    []*conversation
	requests []Request
	changed  chan struct{} // closed and replaced with every request
	closing  chan struct{}
	once     sync.Once
}

// New is a model that plays the scripts; a handler for a server of the caller's own, or for [Transport].
func New(scripts ...Script) *Model {
	m := &Model{changed: make(chan struct{}), closing: make(chan struct{})}
	for _, s := range scripts {
		m.talks = append(m.talks, &conversation{script: s, failed: map[int]int{}, given: map[int][]string{}})
	}
	return m
}

// Requests are all requests so far.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Request(nil), m.requests...)
}

// Await waits until the requests are as wanted, or ctx ends.
func (m *Model) Await(ctx context.Context, want func([]Request) bool) error {
	for {
		m.mu.Lock()
		seen, changed := append([]Request(nil), m.requests...), m.changed
		m.mu.Unlock()
		if want(seen) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("await the model's requests, %d so far: %w", len(seen), ctx.Err())
		}
	}
}

// Close ends what hangs.
func (m *Model) Close() { m.once.Do(func() { close(m.closing) }) }

// ServeHTTP answers one request. Only loopback is served.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && !net.ParseIP(host).IsLoopback() {
		http.Error(w, "loopback only", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req := Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body, Script: -1, Step: -1,
	}
	end := path.Base(r.URL.Path)
	switch {
	case r.Method == http.MethodPost && end == "responses":
		m.talk(w, r, req, responses{})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		m.talk(w, r, req, chat{})
	case r.Method == http.MethodPost && end == "messages":
		m.talk(w, r, req, messages{})
	case r.Method == http.MethodPost && (strings.HasSuffix(end, ":generateContent") || strings.HasSuffix(end, ":streamGenerateContent")):
		m.talk(w, r, req, gemini{})
	default:
		m.record(req)
		m.serveRest(w, r, end, len(body))
	}
}

// serveRest answers what is no conversation.
func (m *Model) serveRest(w http.ResponseWriter, r *http.Request, end string, size int) {
	model := object{"id": "scripted", "object": "model", "type": "model", "display_name": "scripted", "created": 1767225600, "owned_by": "modeltest"}
	google := object{"name": "models/scripted", "supportedGenerationMethods": []string{"generateContent", "countTokens"}}
	switch {
	case r.Method == http.MethodHead:
	case end == "count_tokens":
		send(w, http.StatusOK, object{"input_tokens": size / 4})
	case strings.HasSuffix(end, ":countTokens"):
		send(w, http.StatusOK, object{"totalTokens": size / 4})
	case end == "models" && strings.Contains(r.URL.Path, "/v1beta"):
		send(w, http.StatusOK, object{"models": []object{google}})
	case end == "models" && r.URL.Query().Has("client_version"):
		send(w, http.StatusOK, object{"models": []any{}}) // codex has a form of its own
	case end == "models":
		send(w, http.StatusOK, object{"object": "list", "data": []object{model}, "has_more": false})
	default:
		send(w, http.StatusNotFound, object{"error": object{"message": "modeltest does not speak " + r.Method + " " + r.URL.Path}})
	}
}

// record adds a request and says so. The caller does not hold the lock.
func (m *Model) record(r Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(r)
}

func (m *Model) add(r Request) {
	m.requests = append(m.requests, r)
	close(m.changed)
	m.changed = make(chan struct{})
}

// play finds the step of a request and makes its answer; both are nil for a side request.
func (m *Model) play(r *Request, h *heard) (*Step, *reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.add(*r) }()
	for n, c := range m.talks {
		if !strings.Contains(string(r.Body), c.script.Match) || len(h.offered) == 0 && !c.script.Plain {
			continue
		}
		i := c.next(n, h.said)
		r.Script, r.Step = n, i
		if i >= len(c.script.Steps) {
			return &Step{}, c.answer(n, i, *r, h)
		}
		s := c.script.Steps[i]
		if s.fails() {
			c.failed[i]++
			h := *h
			return &s, (&conversation{script: c.script, given: map[int][]string{}}).answer(n, i, *r, &h)
		}
		return &s, c.answer(n, i, *r, h)
	}
	return nil, nil
}

// talk answers one request of a conversation.
func (m *Model) talk(w http.ResponseWriter, r *http.Request, req Request, d dialect) {
	h, err := d.hear(r, req.Body)
	if err != nil {
		m.record(req)
		send(w, http.StatusBadRequest, d.fail(http.StatusBadRequest, "the request is no JSON: "+err.Error()))
		return
	}
	s, a := m.play(&req, &h)
	if s == nil {
		s, a = &Step{}, &reply{id: "mt_side", model: h.model, text: Side, usage: Usage{Input: 20, Output: 2}}
	}
	if s.Until != nil {
		select {
		case <-s.Until:
		case <-r.Context().Done():
			return
		}
	}
	maps.Copy(w.Header(), s.Header)
	switch {
	case s.Hang && !s.Cut:
		m.hang(r.Context())
	case s.Status != 0 && s.Body != "":
		w.WriteHeader(s.Status)
		io.WriteString(w, s.Body) //nolint:errcheck // the client may have gone
	case s.Status != 0:
		send(w, s.Status, d.fail(s.Status, first(s.Message, http.StatusText(s.Status))))
	case h.stream:
		m.stream(w, r, s, d.stream(a))
	default:
		m.whole(w, r, s, d.whole(a))
	}
}

func (m *Model) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-m.closing:
	}
	panic(http.ErrAbortHandler)
}

// breakOff ends an answer in its middle.
func (m *Model) breakOff(w http.ResponseWriter, r *http.Request, s *Step) {
	http.NewResponseController(w).Flush() //nolint:errcheck // the client may have gone
	if s.Hang {
		m.hang(r.Context())
	}
	panic(http.ErrAbortHandler)
}

func (m *Model) stream(w http.ResponseWriter, r *http.Request, s *Step, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	array := strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && r.URL.Query().Get("alt") != "sse"
	if array {
		w.Header().Set("Content-Type", "application/json")
	}
	for i, e := range events {
		if s.Cut && i == (len(events)+1)/2 {
			m.breakOff(w, r, s)
		}
		data, plain := e.data.(string)
		if !plain {
			data = string(encode(e.data))
		}
		switch {
		case array:
			data = map[bool]string{true: "[", false: ",\n"}[i == 0] + data
			if i == len(events)-1 {
				data += "]"
			}
		case e.name != "":
			data = "event: " + e.name + "\ndata: " + data + "\n\n"
		default:
			data = "data: " + data + "\n\n"
		}
		if _, err := io.WriteString(w, data); err != nil {
			return
		}
		http.NewResponseController(w).Flush() //nolint:errcheck // the client may have gone
	}
	if s.Cut { // one event has no middle
		m.breakOff(w, r, s)
	}
}

func (m *Model) whole(w http.ResponseWriter, r *http.Request, s *Step, answer any) {
	body := encode(answer)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if s.Cut {
		w.Write(body[:len(body)/2]) //nolint:errcheck // the client may have gone
		m.breakOff(w, r, s)
	}
	w.Write(body) //nolint:errcheck // the client may have gone
}

func send(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(answer)) //nolint:errcheck // the client may have gone
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("modeltest: an answer: " + err.Error())
	}
	return b
}
