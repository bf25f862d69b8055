package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"arbiter/providers/bus"

	"github.com/coder/websocket"
)

// Whatever an agent sends in a frame is routed on as it came, or ignored: the socket stays open, and the next message is delivered.
func FuzzBusSocket(f *testing.F) {
	for _, frame := range []string{
		"", "{}", "[]", "null", "garbage\xff\x00", strings.Repeat("[", 100_000), busMessage("x", "x://a", "x://b", "heartbeat"), busMessage("good", "x://a", "x://b", "error"),
		busMessage("x", "x://b", "x://a", "error"), busMessage("x", "x://a", "amp://coordinator", "task_response"), busMessage("x", "amp://coordinator", "x://b", "task_request"),
		strings.Replace(busMessage("x", "x://a", "x://b", "error"), `"payload"`, `"payload":1,"payload"`, 1),
	} {
		f.Add([]byte(frame), false)
		f.Add([]byte(frame), true)
	}
	f.Fuzz(func(t *testing.T, frame []byte, binary bool) {
		if len(frame) > bus.MaxMessage {
			return
		}
		r := serveBus(t, TCP{}, func(_ *bus.Config, d *BusConfig) { d.Heartbeat = time.Minute })
		r.agent(t, "x://a", ScopeExecutor)
		r.agent(t, "x://b", ScopeReviewer)
		a, b := r.dial(t, r.keys["x://a"], "x://a"), r.dial(t, r.keys["x://b"], "x://b")
		go func() { _, _, _ = a.Read(context.WithoutCancel(t.Context())) }() // pings are answered
		typ := websocket.MessageText
		if binary {
			typ = websocket.MessageBinary
		}
		last := busMessage("last-of-all", "x://a", "x://b", "error")
		for _, data := range [][]byte{frame, []byte(last)} {
			if err := a.Write(t.Context(), typ, data); err != nil {
				t.Fatal(err)
			}
			typ = websocket.MessageText
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for {
			_, data, err := b.Read(ctx)
			if err != nil {
				t.Fatalf("after %q: %v", frame, err)
			}
			if string(data) == last {
				return
			}
			if !bytes.Equal(data, frame) {
				t.Fatalf("%q came as %q", frame, data)
			}
		}
	})
}

// Bytes that are no frames end the socket that they come over, and no other one.
func TestBusSocket_noFrames(t *testing.T) {
	t.Parallel()
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	r.agent(t, "x://b", ScopeReviewer)
	b := r.dial(t, r.keys["x://b"], "x://b")
	for seed := range uint64(40) {
		c := dialTCP(t, r.addr)
		fmt.Fprintf(c, "GET /?agent_id=x://a HTTP/1.1\r\nHost: localhost\r\nX-Agent-Api-Key: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", r.keys["x://a"])
		rnd := rand.New(rand.NewPCG(seed, 1))
		garbage := make([]byte, 1+rnd.IntN(4000))
		for i := range garbage {
			garbage[i] = byte(rnd.Uint32())
		}
		garbage[0] |= 0x70 // bits that are reserved
		if _, err := c.Write(garbage); err == nil {
			_, err = io.Copy(io.Discard, c) // until it is closed
			if err != nil && strings.Contains(err.Error(), "timeout") {
				t.Errorf("seed %d: the socket stays open", seed)
			}
		}
		c.Close()
	}
	if status, body := r.ask(t, "x://a", "POST", "/messages/send", busMessage("m", "x://a", "x://b", "error")); status != 200 {
		t.Fatal(status, body)
	}
	if id := readID(t, b); id != "m" {
		t.Errorf("got %s", id)
	}
}

// Bodies that are too large are answered 413, whether they say so or come in chunks, and tokens whose time is over 401, at both doors.
func TestDoors_tooLargeAndExpired(t *testing.T) {
	t.Parallel()
	api, tokens, _ := remote(t, &fake{query: status}, TCP{}, nil)
	r := serveBus(t, TCP{}, nil)
	r.agent(t, "x://a", ScopeExecutor)
	for _, door := range []struct {
		addr, path, header string
		tokens             *Tokens
	}{{api, "/v1/query", "Authorization: Bearer ", tokens}, {r.addr, "/messages/send", "X-Agent-Api-Key: ", r.tokens}} {
		_, good, err := door.tokens.New("good", ScopeExecutor, "mira", time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		over := time.Now().Add(-time.Hour)
		_, old, err := door.tokens.New("old", ScopeExecutor, "mira", over.Add(-time.Hour), &over)
		if err != nil {
			t.Fatal(err)
		}
		chunk := strings.Repeat(" ", 1<<20)
		for name, tc := range map[string]struct {
			token, rest string
			want        string
		}{
			"declared":        {good, fmt.Sprintf("Content-Length: %d\r\n\r\n", 1<<40), "413"},
			"in chunks":       {good, "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+chunk+"\r\n", 4) + "1\r\n \r\n", "413"},
			"expired":         {old, "Content-Length: 2\r\n\r\n{}", "401"},
			"expired, socket": {old, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "401"},
			"no token":        {"", "Content-Length: 2\r\n\r\n{}", "401"},
		} {
			method, path := http.MethodPost, door.path
			if strings.Contains(name, "socket") && door.addr == r.addr {
				method, path = http.MethodGet, "/?agent_id=x://a"
			}
			c := dialTCP(t, door.addr)
			if _, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n%s", method, path, door.header, tc.token, tc.rest); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			head := make([]byte, 12)
			if _, err := io.ReadFull(c, head); err != nil || string(head) != "HTTP/1.1 "+tc.want {
				t.Errorf("%s %s: %q, %v; want %s", door.path, name, head, err, tc.want)
			}
			c.Close()
		}
	}
}
