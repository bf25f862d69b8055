package forge

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	tr := &Transport{Base: http.DefaultTransport, Host: u.Host}
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
