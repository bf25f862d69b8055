package forge

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// An answer that comes slowly holds up no other request, and the token goes to its own host alone.
func TestTransport_slowAnswer(t *testing.T) {
	t.Parallel()
	goOn, began := make(chan struct{}), make(chan struct{})
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host got the token")
		}
		_, _ = io.WriteString(w, "elsewhere")
	}))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Error("the host got no token")
		}
		switch r.URL.Path {
		case "/slow":
			w.Header().Set("Etag", `"1"`)
			_, _ = io.WriteString(w, "begin ")
			_ = http.NewResponseController(w).Flush()
			close(began)
			<-goOn
			_, _ = io.WriteString(w, "end")
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		default:
			_, _ = io.WriteString(w, "fast")
		}
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	tr := &Transport{Base: http.DefaultTransport, Origin: Origin(u)}
	tr.SetToken("secret")
	c := &http.Client{Transport: tr}
	get := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Error(err)
			return ""
		}
		res, err := c.Do(req)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	slow := make(chan string)
	go func() { slow <- get("/slow") }()
	<-began
	if got := get("/fast"); got != "fast" {
		t.Errorf("beside it: %q", got)
	}
	if n, _ := tr.Count(); n != 2 {
		t.Errorf("%d requests", n)
	}
	close(goOn)
	if got := <-slow; got != "begin end" {
		t.Errorf("the slow one: %q", got)
	}
	if got := get("/away"); got != "elsewhere" {
		t.Errorf("away: %q", got)
	}
}

// The token goes to its own site alone, which another scheme on the same host is not; and what writes goes nowhere else.
func TestTransport_redirects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method, to string
		status     int
		sent       []string
		elsewhere  bool
	}{
		"another host":         {"GET", "https://other.example/x", 302, []string{"https://api.example/start"}, true},
		"without TLS":          {"GET", "http://api.example/x", 301, []string{"https://api.example/start"}, true},
		"another port":         {"GET", "https://api.example:8443/x", 307, []string{"https://api.example/start"}, true},
		"the same site":        {"GET", "/x", 301, []string{"https://api.example/start", "https://api.example/x"}, false},
		"a write":              {"POST", "/x", 307, []string{"https://api.example/start"}, false},
		"a write, moved":       {"POST", "/x", 301, []string{"https://api.example/start"}, false},
		"a write, without TLS": {"PATCH", "http://api.example/x", 308, []string{"https://api.example/start"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent []string
			base := roundTrip(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r.URL.String())
				if got := r.Header.Get("Authorization"); got != "Bearer secret" || Origin(r.URL) != "https://api.example" {
					t.Errorf("%s got the token %q", r.URL, got)
				}
				resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}
				if r.URL.Path == "/start" {
					resp.StatusCode = tc.status
					resp.Header.Set("Location", tc.to)
				}
				return resp, nil
			})
			tr := &Transport{Base: base, Origin: "https://api.example"}
			tr.SetToken("secret")
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://api.example/start", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.Client().Do(req)
			if resp != nil {
				resp.Body.Close()
			}
			if _, ok := errors.AsType[*RedirectError](err); ok != tc.elsewhere {
				t.Errorf("it ended with %v", err)
			}
			if !slices.Equal(sent, tc.sent) {
				t.Errorf("sent to %v, want %v", sent, tc.sent)
			}
		})
	}
}

// The transport itself gives the token to no other scheme, whatever client uses it.
func TestTransport_scheme(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"https://api.example/x": "Bearer secret", "http://api.example/x": "", "https://api.example.org/x": "", "https://api.example:444/": ""} {
		got := "not sent"
		tr := &Transport{Origin: "https://api.example", Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.Header.Get("Authorization")
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		})}
		tr.SetToken("secret")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got != want {
			t.Errorf("%s got %q, want %q", address, got, want)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
