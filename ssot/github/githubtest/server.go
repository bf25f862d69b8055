// Package githubtest is a GitHub that a test can have: the endpoints of the Git Data API over bare repositories on the disk, so that what
// a client made is cloned and checked by plain git, with faults on demand. It is an [http.Handler] for a socket on loopback, and a
// RoundTripper without any socket for tests in a bubble of time.
package githubtest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Request is one request that came in.
type Request struct {
	Method, Path string
	// Size is how long its body was.
	Size int
	At   time.Time
	// Status is what it was answered with, 0 when the connection was cut.
	Status int
	// Written reports a request that tries to write.
	Written bool
}

// Fault is what becomes of a request instead of, or besides, its answer.
type Fault struct {
	// Status answers without doing anything, with Header and Message.
	Status  int
	Header  http.Header
	Message string
	// Link is the documentation_url of the answer, by which clients tell limits apart.
	Link string
	// Cut ends the connection without an answer. With After the request is carried out first.
	Cut, After bool
	// Delay is how long the server takes for it; with After it is the answer that takes so long.
	Delay time.Duration
	// Then, if not nil, is called when nothing is missing any more but the answer.
	Then func()
}

// Server is the fake. Its fields are set before it is used, but for those behind methods.
type Server struct {
	dir string
	mux *http.ServeMux

	mu       sync.Mutex
	repos    map[string]*Repository
	token    string
	limit    int
	left     int
	reset    time.Time
	fault    func(*http.Request) *Fault
	requests []Request
	readOnly bool
}

// New makes a server whose repositories lie below dir, and which admits everybody until SetToken.
func New(dir string) *Server {
	s := &Server{dir: dir, mux: http.NewServeMux(), repos: map[string]*Repository{}, limit: 5000, left: 5000}
	s.routes()
	return s
}

// Add makes a repository without a commit.
func (s *Server) Add(owner, name string) (*Repository, error) {
	r, err := newRepository(s.dir, owner, name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[owner+"/"+name] = r
	return r, nil
}

// Remove takes a repository away, as one that was deleted or that the token does not see.
func (s *Server) Remove(owner, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.repos, owner+"/"+name)
}

// SetToken sets the one token that is admitted.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// SetReadOnly makes the token one without the right to write.
func (s *Server) SetReadOnly(only bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readOnly = only
}

// SetLimit sets how many requests are left until a time.
func (s *Server) SetLimit(left int, reset time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.reset = left, reset
}

// Break lets f decide about every request from now on; nil, or what returns nil, leaves it alone.
func (s *Server) Break(f func(*http.Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Requests are the requests since the start, or since Forget.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Forget begins counting requests anew.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Handle adds an endpoint, as [http.ServeMux.Handle] does; faults, the token and the limits come before it.
func (s *Server) Handle(pattern string, h http.Handler) { s.mux.Handle(pattern, h) }

// cutError is a connection that ended without an answer.
type cutError struct{}

func (cutError) Error() string { return "connection reset by peer" }

// ServeHTTP answers over a socket. A connection that is to be cut is.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	if err := s.serve(rec, r); err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), rec.Header())
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// Transport reaches the server without a socket.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ s *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	if err := t.s.serve(rec, in); err != nil {
		return nil, err
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

func (s *Server) serve(w *httptest.ResponseRecorder, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.mu.Lock()
	faulty := s.fault
	s.mu.Unlock()
	var f *Fault
	if faulty != nil {
		f = faulty(r)
	}
	if f == nil {
		f = &Fault{}
	}
	if !f.After {
		if err := pause(r, f.Delay); err != nil {
			return err
		}
	}
	switch {
	case f.Status != 0:
		for k, v := range f.Header {
			w.Header()[http.CanonicalHeaderKey(k)] = v
		}
		s.limits(w, r, f.Header.Get("X-Ratelimit-Remaining") == "")
		fail(w, f.Status, f.Message, f.Link)
	case !f.Cut || f.After:
		s.admit(w, r)
	}
	q := Request{Method: r.Method, Path: r.URL.Path, Size: len(body), At: time.Now(), Status: w.Code, Written: r.Method != http.MethodGet}
	if f.Cut {
		q.Status = 0
	}
	s.mu.Lock()
	s.requests = append(s.requests, q)
	s.mu.Unlock()
	return f.ending(r)
}

// ending is what follows when a request was carried out, or was not.
func (f *Fault) ending(r *http.Request) error {
	if f.Then != nil {
		f.Then()
	}
	if f.Cut {
		return cutError{}
	}
	if f.After {
		return pause(r, f.Delay)
	}
	return nil
}

func pause(r *http.Request, d time.Duration) error {
	if d == 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// limits counts a request and writes the headers that tell of it.
func (s *Server) limits(w http.ResponseWriter, _ *http.Request, write bool) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reset.IsZero() || !time.Now().Before(s.reset) {
		s.reset = time.Now().Add(time.Hour)
		s.left = s.limit
	}
	left = s.left
	s.left = max(0, s.left-1)
	if write {
		w.Header().Set("X-Ratelimit-Limit", strconv.Itoa(s.limit))
		w.Header().Set("X-Ratelimit-Remaining", strconv.Itoa(s.left))
		w.Header().Set("X-Ratelimit-Reset", strconv.FormatInt(s.reset.Unix(), 10))
	}
	return left
}

// admit checks the token and the limit, then answers.
func (s *Server) admit(w *httptest.ResponseRecorder, r *http.Request) {
	s.mu.Lock()
	token, readOnly := s.token, s.readOnly
	s.mu.Unlock()
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, ok := r.BasicAuth(); ok {
		given = password
	}
	switch {
	case token != "" && given != token:
		w.Header().Set("Www-Authenticate", `Basic realm="GitHub"`)
		fail(w, http.StatusUnauthorized, "Bad credentials", "")
		return
	case s.limits(w, r, true) == 0:
		w.Header().Set("X-Ratelimit-Remaining", "0")
		fail(w, http.StatusForbidden, "API rate limit exceeded", "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api")
		return
	case readOnly && r.Method != http.MethodGet:
		fail(w, http.StatusForbidden, "Resource not accessible by personal access token", "")
		return
	}
	s.mux.ServeHTTP(w, r)
	if w.Code == http.StatusNotModified {
		s.mu.Lock()
		s.left++ // a conditional request that changed nothing is free
		s.mu.Unlock()
	}
}

// fail answers with an error as GitHub words it.
func fail(w http.ResponseWriter, code int, message, link string) {
	if message == "" {
		message = http.StatusText(code)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message, "documentation_url": link, "status": fmt.Sprint(code)})
}
