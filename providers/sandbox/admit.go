//go:build linux || darwin

package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// refusal is what a program is told in the model's place.
type refusal struct {
	status int
	why    string
}

// admit judges a request by its first line and headers, and returns where it goes.
func (p *proxy) admit(r *http.Request) (*url.URL, *refusal) {
	no := func(status int, format string, args ...any) (*url.URL, *refusal) {
		return nil, &refusal{status, fmt.Sprintf(format, args...)}
	}
	if why := p.reason(); why != "" {
		return no(http.StatusForbidden, "%s", why)
	}
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodGet:
		return no(http.StatusMethodNotAllowed, "only GET and POST lead to the model")
	case r.URL.Host != "" || r.URL.Scheme != "" || r.URL.Opaque != "":
		return no(http.StatusForbidden, "this is no proxy for other addresses")
	case r.Header.Get("Upgrade") != "":
		return no(http.StatusNotImplemented, "the protocol cannot be changed here")
	}
	below, ok := strings.CutPrefix(r.URL.Path, p.prefix+p.target.Path)
	if !ok || below != "" && below[0] != '/' || !plainPath(r.URL) {
		return no(http.StatusForbidden, "that path does not lead to the model")
	}
	if !allowed(below, p.model.Paths) {
		return no(http.StatusForbidden, "that path of the model is not allowed")
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return no(http.StatusBadRequest, "the query cannot be read")
	}
	for name := range query {
		if Secret(name) && !strings.EqualFold(name, "pageToken") {
			query.Del(name)
		}
	}
	if n := p.requests.Add(1); p.caps.Requests > 0 && n > int64(p.caps.Requests) {
		p.stop(&StoppedError{Reason: fmt.Sprintf("the turn made %d requests, which is all it may", p.caps.Requests)})
		return no(http.StatusForbidden, "%s", p.reason())
	}
	to := *p.target
	to.Path, to.RawQuery = p.target.Path+below, query.Encode()
	return &to, nil
}

// plainPath reports whether a path means the same to everybody: no way up, no empty part, nothing encoded that need not be.
func plainPath(u *url.URL) bool {
	clean := path.Clean(u.Path)
	if strings.HasSuffix(u.Path, "/") && clean != "/" {
		clean += "/"
	}
	return clean == u.Path && u.RawPath == "" && !strings.ContainsFunc(u.Path, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`\%;?#`, r)
	})
}

// allowed reports whether a path is among the patterns, or there are none.
func allowed(path string, patterns []string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		begin, open := strings.CutSuffix(pattern, "*")
		return path == pattern || open && strings.HasPrefix(path, begin)
	})
}

// strip removes what could carry a credential of the program's, or speak to a server in between.
func strip(h http.Header) {
	for name := range h {
		plain := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		switch {
		case Secret(plain), plain == "cookie", plain == "forwarded", plain == "via", plain == "accept-encoding",
			strings.HasPrefix(plain, "x-forwarded"), strings.HasPrefix(plain, "x-http-method"), strings.HasPrefix(plain, "x-original"),
			strings.HasPrefix(plain, "x-rewrite"), strings.HasPrefix(plain, "proxy-"):
			delete(h, name)
		}
	}
}

// answer is the response of one request; it counts.
type answer struct {
	http.ResponseWriter
	proxy  *proxy
	status int
	sent   int64
}

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Write counts what is sent against the cap; the rest of an answer that goes over it is cut.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.sent += int64(len(b))
	if err := a.proxy.count(len(b)); err != nil {
		return 0, err
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets the reverse proxy flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// refuse answers in the form that every vendor's client understands as an error.
func (a *answer) refuse(status int, why string) {
	kind := "permission_error"
	if status >= http.StatusInternalServerError {
		kind = "api_error"
	}
	body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // texts only
		"type": "error", "error": map[string]any{"type": kind, "code": kind, "message": "arbiter: " + why},
	})
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(status)
	n, _ := a.ResponseWriter.Write(append(body, '\n')) // a program that is gone needs no answer
	a.sent += int64(n)
}

// count adds bytes that went through and stops the cage at its cap.
func (p *proxy) count(n int) error {
	if total := p.bytes.Add(int64(n)); p.caps.Bytes > 0 && total > p.caps.Bytes {
		err := &StoppedError{Reason: fmt.Sprintf("the turn moved %d bytes, which is all it may", p.caps.Bytes)}
		p.stop(err)
		return err
	}
	return nil
}

// counted is a request's body.
type counted struct {
	io.ReadCloser
	proxy *proxy
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if over := c.proxy.count(n); over != nil {
		return 0, over
	}
	return n, err
}
