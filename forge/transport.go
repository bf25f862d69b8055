package forge

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	// maxAnswer bounds one answer of the service.
	maxAnswer = 64 << 20
	// maxKept bounds an answer that is kept for a conditional request, maxTags how many are by default.
	maxKept = 64 << 10
	maxTags = 16
	// patience is how long one request may take.
	patience = 2 * time.Minute
)

// Transport gives each request the token, asks conditionally for what it has seen before, keeps writes apart, and bounds what comes back.
type Transport struct {
	Base http.RoundTripper
	// Origin is the only site that gets the token, with its scheme: an answer may redirect anywhere.
	Origin string
	// Gap is the least time between two writes, Tags how many answers are kept for conditional requests (16).
	Gap  time.Duration
	Tags int

	mu       sync.Mutex
	token    string
	tags     map[string]kept
	wrote    time.Time
	requests int
	left     int
}

// kept is an answer with its ETag.
type kept struct {
	tag  string
	body []byte
}

// Origin is the scheme and the host of an address.
func Origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

// RedirectError says that an answer leads to another site, which is not followed.
type RedirectError struct{ To string }

// Error names the other site.
func (e *RedirectError) Error() string {
	return "the service wants to be asked at " + e.To + ", which is not followed: nobody knows who is there"
}

// maxRedirects is how often one question is asked again elsewhere.
const maxRedirects = 5

// Client asks through the transport. What asks again elsewhere on the same site is followed; what writes is sent once, to where it was sent; and
// another site, or the same one without TLS, is a *[RedirectError].
func (t *Transport) Client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if to := Origin(r.URL); to != t.Origin {
			return &RedirectError{to}
		}
		if via[0].Method != http.MethodGet || len(via) >= maxRedirects {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// SetToken sets the token of the requests from now on.
func (t *Transport) SetToken(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = token
}

// rotated reports whether requests were sent with another token than this one.
func (t *Transport) rotated(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token != "" && token != "" && t.token != token
}

// Count is how many requests were sent, and how many more the service takes in this hour as far as it said so.
func (t *Transport) Count() (requests, left int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests, t.left
}

// RoundTrip sends one request, and gives it its time.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	resp, err := t.send(r.Clone(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = bounded{resp.Body, closer{resp.Body, cancel}}
	return resp, nil
}

func (t *Transport) send(r *http.Request) (*http.Response, error) {
	key := r.URL.String()
	t.mu.Lock()
	if t.token != "" && Origin(r.URL) == t.Origin {
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	known := t.tags[key]
	due := t.wrote.Add(t.Gap)
	t.requests++
	t.mu.Unlock()
	read := r.Method == http.MethodGet
	if read && known.tag != "" {
		r.Header.Set("If-None-Match", known.tag)
	}
	if !read {
		if err := Sleep(r.Context(), time.Until(due)); err != nil {
			return nil, err
		}
	}
	resp, err := t.Base.RoundTrip(r)
	t.noted(read, resp)
	if err != nil {
		return nil, err
	}
	resp.Body = bounded{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	if !read {
		return resp, nil
	}
	return t.conditional(key, known, resp)
}

// noted takes what an answer says beside its body, nil when there is none.
func (t *Transport) noted(read bool, resp *http.Response) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !read {
		t.wrote = time.Now()
	}
	if resp == nil {
		return
	}
	if n, err := strconv.Atoi(resp.Header.Get("X-Ratelimit-Remaining")); err == nil {
		t.left = n
	}
}

// conditional answers from what was kept when nothing changed, and keeps small answers. No lock is held while an answer is read: a slow one
// holds up no other request.
func (t *Transport) conditional(key string, known kept, resp *http.Response) (*http.Response, error) {
	if resp.StatusCode == http.StatusNotModified && known.tag != "" {
		resp.Body.Close()
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(known.body)), int64(len(known.body))
		return resp, nil
	}
	tag := resp.Header.Get("Etag")
	if resp.StatusCode != http.StatusOK || tag == "" {
		return resp, nil
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxKept+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(start) > maxKept {
		resp.Body = bounded{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	t.keep(key, kept{tag: tag, body: start})
	resp.Body = io.NopCloser(bytes.NewReader(start))
	return resp, nil
}

func (t *Transport) keep(key string, k kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tags) >= cmp.Or(t.Tags, maxTags) || t.tags == nil {
		t.tags = map[string]kept{}
	}
	t.tags[key] = k
}

// bounded reads a part of what it closes.
type bounded struct {
	io.Reader
	io.Closer
}

// closer ends the time of a request with its answer.
type closer struct {
	io.Closer
	cancel context.CancelFunc
}

func (c closer) Close() error {
	defer c.cancel()
	return c.Closer.Close()
}

// Sleep waits, or ends with the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
