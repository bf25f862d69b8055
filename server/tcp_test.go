package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/server/tlstest"
)

// remote serves f over TCP and returns the address, and a client for each scope.
func remote(t *testing.T, f *fake, tcp TCP, change func(*Config)) (addr string, tokens *Tokens, as func(Scope) *Client) {
	t.Helper()
	if tcp.Addr == "" {
		tcp.Addr = "127.0.0.1:0"
	}
	l, err := ListenTCP(t.Context(), tcp)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := tcp.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	tokens = NewTokens(t.TempDir())
	cfg := Config{Coordinator: f, Tokens: tokens, Hosts: hosts, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- New(cfg).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return l.Addr().String(), tokens, func(s Scope) *Client {
		t.Helper()
		_, secret, err := tokens.New("the "+string(s), s, "mira", time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewRemote("http://"+l.Addr().String(), secret, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.transport.CloseIdleConnections)
		return c
	}
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func status(amp.Query) (amp.Page, error) {
	return amp.Page{Status: &amp.CoordinatorState{PID: 7}}, nil
}

// Each scope may do what it is for, and nothing else.
func TestScopes(t *testing.T) {
	t.Parallel()
	var by string
	var spoke amp.Received
	f := &fake{
		submit:  func(c amp.Command) (amp.Entry, error) { by = c.By; return chain(1)[0], nil },
		receive: func(r amp.Received) (amp.Receipt, error) { spoke = r; return amp.Receipt{Entry: chain(1)[0]}, nil },
		query:   status,
	}
	_, _, as := remote(t, f, TCP{}, nil)
	const no = "forbidden"
	for scope, want := range map[Scope]struct{ decide, speak, read, log, tokens, end string }{
		ScopeAdmin:       {"", "request", "", "", no, no}, // an admin says for whom
		ScopeReader:      {no, no, "", "", no, no},
		ScopeCoordinator: {no, "", "", no, no, no},
		ScopeExecutor:    {no, "", "", no, no, no},
		ScopeReviewer:    {no, "", "", no, no, no},
	} {
		c := as(scope)
		_, decide := c.Submit(t.Context(), amp.Command{ID: "c", Command: amp.Approve, By: "root"})
		if decide == nil && by != "the "+string(scope) {
			t.Errorf("%s decided as %q", scope, by)
		}
		_, speak := c.Receive(t.Context(), amp.Received{Raw: []byte("{}"), Actor: "somebody else"})
		if speak == nil && (spoke.As != scope.role() || spoke.Actor != "the "+string(scope) || spoke.Source != "tcp") {
			t.Errorf("%s spoke as %+v", scope, spoke)
		}
		_, read := c.Status(t.Context())
		_, log := c.Query(t.Context(), amp.Query{Kind: amp.QueryLog})
		_, tokens := c.NewToken(t.Context(), NewToken{Name: "x", Scope: ScopeAdmin})
		end := c.Shutdown(t.Context())
		got := struct{ decide, speak, read, log, tokens, end string }{codeOf(decide), codeOf(speak), codeOf(read), codeOf(log), codeOf(tokens), codeOf(end)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", scope, got, want)
		}
		if me, err := c.Me(t.Context()); err != nil || me.Name != "the "+string(scope) || me.Role != string(scope) {
			t.Errorf("%s: Me = %+v, %v", scope, me, err)
		}
	}
	if _, err := as(ScopeExecutor).Receive(t.Context(), amp.Received{Raw: []byte("{}"), As: amp.Reviewer}); codeOf(err) != no {
		t.Errorf("an executor spoke for the reviewer: %v", err)
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	addr, tokens, _ := remote(t, &fake{query: status}, TCP{}, nil)
	_, good, err := tokens.New("ada", ScopeReader, "mira", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		host, auth, origin string
		want               int
	}{
		"right":              {"", "Bearer " + good, "", 200},
		"localhost":          {"localhost:7700", "Bearer " + good, "", 200},
		"no token":           {"", "", "", 401},
		"another scheme":     {"", "Basic " + good, "", 401},
		"wrong token":        {"", "Bearer arbiter_aaaaaaaa_BBBB", "", 401},
		"rebound name":       {"evil.example", "Bearer " + good, "", 403},
		"a page":             {"", "Bearer " + good, "http://localhost:7700", 403},
		"a page of no place": {"", "Bearer " + good, "null", 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tc.host
		req.Header.Set("Authorization", tc.auth)
		if tc.origin != "" {
			req.Header.Set("Origin", tc.origin)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != tc.want {
			t.Errorf("%s: %s, want %d\n%s", name, res.Status, tc.want, body)
		}
		if tc.want == 401 && !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: WWW-Authenticate is %q", name, res.Header.Get("WWW-Authenticate"))
		}
		if bytes.Contains(body, []byte(good)) {
			t.Errorf("%s: the answer holds the token", name)
		}
	}
}

// A flood of wrong tokens is slowed down long before it guesses anything.
func TestAdmit_flood(t *testing.T) {
	t.Parallel()
	addr, _, _ := remote(t, &fake{query: status}, TCP{}, nil)
	c, err := NewRemote("http://"+addr, "arbiter_aaaaaaaa_wrong", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.transport.CloseIdleConnections()
	seen := map[string]int{}
	for range 200 {
		_, err := c.Status(t.Context())
		seen[codeOf(err)]++
	}
	if seen["unauthorized"]+seen["limited"] != 200 || seen["limited"] == 0 {
		t.Errorf("answers: %v", seen)
	}
}

// The streams of a token end with it.
func TestJournal_endsWithItsToken(t *testing.T) {
	t.Parallel()
	entries := chain(1)
	f := &fake{follow: func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
		if err := batch(entries[after:]); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	_, tokens, as := remote(t, f, TCP{}, func(c *Config) { c.Heartbeat = time.Millisecond })
	c := as(ScopeReader)
	c.Patience = -1
	err := c.Follow(t.Context(), 0, func([]amp.Entry) error {
		_, err := tokens.Revoke("the reader")
		return err
	})
	if err == nil || codeOf(err) == "forbidden" {
		t.Errorf("Follow = %v", err)
	}
	if err := c.Follow(t.Context(), 1, nil); codeOf(err) != "unauthorized" {
		t.Errorf("Follow with a revoked token = %v", err)
	}
}

// More connections than there is room for are answered and closed; those that are there go on, and room that gets free is used.
func TestListenTCP_bounded(t *testing.T) {
	t.Parallel()
	addr, _, as := remote(t, &fake{query: status}, TCP{MaxConns: 20}, nil)
	var open []net.Conn
	var d net.Dialer
	for range 20 {
		c, err := d.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for range 200 {
		c, err := d.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") || !strings.Contains(string(answer), "Retry-After: 5\r\n") {
			t.Fatalf("a connection too many read %q, %v", answer, err)
		}
		c.Close()
	}
	for _, c := range open {
		c.Close()
	}
	c := as(ScopeReader)
	for {
		_, err := c.Status(t.Context())
		if err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("after the others left: %v", err)
		}
	}
}

func TestListenTCP_tls(t *testing.T) {
	t.Parallel()
	cert, key := tlstest.SelfSigned(t, "arbiter.test")
	addr, tokens, _ := remote(t, &fake{query: status}, TCP{Cert: cert, Key: key}, nil)
	_, secret, err := tokens.New("ada", ScopeReader, "mira", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewRemote("https://"+addr, secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.transport.CloseIdleConnections()
	if _, err := c.Status(t.Context()); func() bool { _, ok := errors.AsType[*UnreachedError](err); return !ok }() {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
	pool := x509.NewCertPool()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(pair.Leaf)
	c.transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	if s, err := c.Status(t.Context()); err != nil || s.PID != 7 {
		t.Errorf("Status = %+v, %v", s, err)
	}
}

func TestListenTCP_refuses(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "arbiter.example:0"} {
		if l, err := ListenTCP(t.Context(), TCP{Addr: addr}); !errors.Is(err, ErrPlain) {
			t.Errorf("%s: %v, %v; want ErrPlain", addr, l, err)
		}
	}
	hosts, err := TCP{}.Hosts()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"127.0.0.1:7700": true, "localhost": true, "[::1]:7700": true, "10.0.0.1": true, "": false, "localhost.evil.example": false, "evil.example:7700": false,
	} {
		if got := hosts(host); got != want {
			t.Errorf("hosts(%q) = %v, want %v", host, got, want)
		}
	}
	for _, url := range []string{"", "127.0.0.1:7700", "ftp://127.0.0.1", "http://10.0.0.1:7700", "https://a:b@h", "https://h/x", "http://localhost.evil.example"} {
		if c, err := NewRemote(url, "t", nil); err == nil {
			t.Errorf("NewRemote(%q) = %v", url, c)
		}
	}
}
