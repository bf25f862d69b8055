package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/server"
)

// loadConnections is the variable that asks for the number of connections of a release, as 10000.
const loadConnections = "ARBITER_LOAD_CONNECTIONS"

// perConnection is how much memory one connection may take, beside what the program needs for a while anyhow.
const (
	perConnection = 160 << 10
	beside        = 48 << 20
)

// opened opens n connections, a few at once, and keeps them until the test ends.
func (r *loadRig) opened(n int, open func(ctx context.Context, i int) (net.Conn, error)) (all []net.Conn) {
	r.Helper()
	all = make([]net.Conn, n)
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w; i < n; i += 16 {
				c, err := open(r.Context(), i)
				if err != nil {
					r.Errorf("connection %d: %v", i, err)
					return
				}
				all[i] = c
			}
		})
	}
	wg.Wait()
	r.Cleanup(func() {
		for _, c := range all {
			if c != nil {
				c.Close()
			}
		}
	})
	return all
}

func dialed(addr string) func(context.Context, int) (net.Conn, error) {
	return func(ctx context.Context, _ int) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
}

// upgrade asks for a WebSocket.
const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

// Where there is room for them, connections of each kind are held with little memory each, and the admin's socket answers meanwhile.
func TestLoad_connectionsAbsorbed(t *testing.T) {
	t.Parallel()
	n := number(t, loadConnections, 200)
	room := fmt.Sprintf("max_connections = %d\n", n+100)
	streams := func(path, more string) func(*loadRig) func(context.Context, int) (net.Conn, error) {
		return func(r *loadRig) func(context.Context, int) (net.Conn, error) {
			var tokens []string
			for i := range n/100 + 1 {
				tokens = append(tokens, r.token(fmt.Sprintf("reader %d", i), server.ScopeReader))
			}
			return func(ctx context.Context, i int) (net.Conn, error) {
				c, res, err := r.patient(ctx, r.api, "GET "+path+" HTTP/1.1\r\nHost: "+r.api+"\r\nAuthorization: Bearer "+tokens[i/100]+"\r\n"+more+"\r\n")
				if err == nil && res.StatusCode != 200 && res.StatusCode != 101 {
					err = fmt.Errorf("%s", res.Status)
				}
				return c, err
			}
		}
	}
	for name, tc := range map[string]struct {
		config string
		open   func(*loadRig) func(context.Context, int) (net.Conn, error)
	}{
		"idle": {"[listen]\ntcp = \"127.0.0.1:0\"\n" + room, func(r *loadRig) func(context.Context, int) (net.Conn, error) { return dialed(r.api) }},
		"slow header": {"[listen]\ntcp = \"127.0.0.1:0\"\n" + room, func(r *loadRig) func(context.Context, int) (net.Conn, error) {
			return func(ctx context.Context, i int) (net.Conn, error) {
				c, err := dialed(r.api)(ctx, i)
				if err == nil {
					_, err = io.WriteString(c, "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX-A: "+strings.Repeat("a", 1000))
				}
				return c, err
			}
		}},
		"entries over SSE":      {"[listen]\ntcp = \"127.0.0.1:0\"\n" + room, streams("/v1/journal?after=1000000", "")},
		"entries over TLS":      {"[listen]\ntcp = \"127.0.0.1:0\"\n" + room + certified(t), streams("/v1/journal?after=1000000", "")},
		"events over SSE":       {"[listen]\ntcp = \"127.0.0.1:0\"\n" + room, streams("/v1/events", "")},
		"events over WebSocket": {"[listen]\ntcp = \"127.0.0.1:0\"\n" + room, streams("/v1/events/ws", upgrade)},
		"bus": {"[bus]\nlisten = \"127.0.0.1:0\"\nauthentication = \"none\"\n" + room, func(r *loadRig) func(context.Context, int) (net.Conn, error) {
			return func(ctx context.Context, i int) (net.Conn, error) {
				body := fmt.Sprintf(`{"agent_descriptor":{"agent_id":"x://%d","framework":"x"}}`, i)
				c, res, err := r.patient(ctx, r.bus, fmt.Sprintf("POST /agents/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
				if err != nil || res.StatusCode != 200 {
					return nil, fmt.Errorf("register: %v, %w", res, err)
				}
				c.Close()
				c, res, err = r.patient(ctx, r.bus, fmt.Sprintf("GET /?agent_id=x://%d HTTP/1.1\r\nHost: localhost\r\n%s\r\n", i, upgrade))
				if err == nil && res.StatusCode != 101 {
					err = fmt.Errorf("%s", res.Status)
				}
				return c, err
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if n <= 1000 {
				t.Parallel()
			}
			r := serveLoad(t, tc.config)
			open := tc.open(r)
			before := r.resident()
			watched, began := r.watchAdmin(), time.Now()
			r.opened(n, open)
			took := time.Since(began)
			if _, err := r.client.Status(t.Context()); err != nil {
				t.Error(err)
			}
			after := r.resident()
			answers, longest := watched()
			t.Logf("%d connections in %s: %d MB, then %d MB, %.1f KB each; %d answers on the unix socket, the slowest in %s",
				n, took.Round(time.Millisecond), before>>20, after>>20, float64(after-before)/float64(n)/1024, answers, longest.Round(100*time.Microsecond))
			if most := before + beside + int64(n)*perConnection; after > most && !raceDetector {
				t.Errorf("%d bytes of memory, more than %d", after, most)
			}
		})
	}
}

// Where there is none, a connection too many is told so and closed, at once, with little memory; those that are there go on, the unix socket
// answers, and room that gets free is used.
func TestLoad_connectionsRefused(t *testing.T) {
	t.Parallel()
	const room = 50
	n := number(t, loadConnections, 500)
	r := serveLoad(t, fmt.Sprintf("[listen]\ntcp = \"127.0.0.1:0\"\nmax_connections = %d\n[bus]\nlisten = \"127.0.0.1:0\"\nmax_connections = %[1]d\n", room))
	token := r.token("reader", server.ScopeReader)
	for name, addr := range map[string]string{"api": r.api, "bus": r.bus} {
		request := "GET /v1/journal?after=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n"
		if name == "bus" {
			request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
		}
		held := r.opened(room, func(ctx context.Context, _ int) (net.Conn, error) {
			c, res, err := r.patient(ctx, addr, request)
			if err == nil && res.StatusCode != 200 {
				err = fmt.Errorf("%s", res.Status)
			}
			return c, err
		})
		before := r.resident()
		watched := r.watchAdmin()
		r.opened(n, func(ctx context.Context, i int) (net.Conn, error) {
			c, err := dialed(addr)(ctx, i)
			if err != nil {
				return nil, err
			}
			_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
			said, err := io.ReadAll(c)
			if err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 503 ") || !strings.Contains(string(said), `"code":"unavailable"`) {
				return c, fmt.Errorf("it read %q, %w", said, err)
			}
			return c, nil
		})
		answers, longest := watched()
		t.Logf("%s: %d connections too many: %d MB, then %d MB; the unix socket answered %d times, the slowest in %s", name, n, before>>20, r.resident()>>20, answers, longest)
		if after := r.resident(); after > before+beside {
			t.Errorf("%s: %d bytes of memory before, %d after", name, before, after)
		}
		if name == "bus" { // a connection that was there still is
			_, err := io.WriteString(held[0], request)
			if res, err2 := http.ReadResponse(bufio.NewReader(held[0]), nil); err != nil || err2 != nil || res.StatusCode != 200 {
				t.Errorf("a connection that is there: %v, %v", err, err2)
			}
		}
		for _, c := range held {
			c.Close()
		}
		for { // the room is free as soon as the program has seen that
			c, res, err := r.ask(t.Context(), addr, request)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
			if res.StatusCode == 200 {
				break
			}
		}
	}
}
