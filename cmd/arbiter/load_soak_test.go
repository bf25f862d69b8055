package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"arbiter/server"
)

// TestLoad_soak lets messages cross the bus, at 200 a second, for as long as ARBITER_SOAK says, as 10m, while 20 readers follow the journal and 20
// the events: memory does not grow once the first third is over, but by the ids that are remembered.
func TestLoad_soak(t *testing.T) {
	life, err := time.ParseDuration(os.Getenv("ARBITER_SOAK"))
	if err != nil {
		t.Skip("NOT RUN: ARBITER_SOAK says no time, as 10m")
	}
	const rate = 200
	r := serveLoad(t, "[listen]\ntcp = \"127.0.0.1:0\"\n[bus]\nlisten = \"127.0.0.1:0\"\n")
	token := r.token("reader", server.ScopeReader)
	got := make(chan time.Duration, 4096)
	for range 20 {
		r.follow("entries", token, got)
		r.follow("SSE", token, got)
	}
	a, b := r.speaker("a", server.ScopeExecutor), r.speaker("b", server.ScopeReviewer)
	to, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer to.CloseNow()
	const last = "the last"
	all := make(chan *heard, 1)
	go func() {
		h, err := hear(t.Context(), to, has(last))
		if err != nil {
			t.Error(err)
		}
		all <- h
	}()
	var most [3]int64 // of each third
	var taken []string
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began := time.Now()
	for time.Since(began) < life {
		<-tick.C
		ids, others := a.flood(rate, 8, b.id, fmt.Sprint(len(taken), "-"))
		if len(others) > 0 {
			t.Fatalf("answers %v", others)
		}
		taken = append(taken, ids...)
		third := min(2, int(3*time.Since(began)/life))
		most[third] = max(most[third], r.resident())
		if len(taken)%(rate*30) == 0 {
			t.Logf("%s: %d messages, %d MB, %s of processors", time.Since(began).Round(time.Second), len(taken), r.resident()>>20, r.spent())
		}
	}
	a.insist(last, b.id)
	r.wantAll(append(taken, last), <-all)
	t.Logf("%d messages in %s; at most %d, %d, %d MB in the thirds; %s of processors", len(taken), time.Since(began).Round(time.Second), most[0]>>20, most[1]>>20, most[2]>>20, r.spent())
	remembered := int64(len(taken)/3) * 256
	if most[2] > most[1]+most[1]/8+remembered+8<<20 {
		t.Errorf("memory grew from %d to %d bytes", most[1], most[2])
	}
}

// Who does not read what it asked for holds up nobody and takes little memory: neither a follower of the journal nor of the events, nor an agent.
func TestLoad_slowReader(t *testing.T) {
	t.Parallel()
	n := number(t, loadMessages, 1500)
	r := serveLoad(t, "[listen]\ntcp = \"127.0.0.1:0\"\n[bus]\nlisten = \"127.0.0.1:0\"\n")
	token := r.token("reader", server.ScopeReader)
	a, b, slow := r.speaker("a", server.ScopeExecutor), r.speaker("b", server.ScopeReviewer), r.speaker("slow", server.ScopeReviewer)
	asleep := func(addr, request string) {
		t.Helper()
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 12)
		if _, err := io.ReadFull(c, head); err != nil || !strings.HasPrefix(string(head), "HTTP/1.1 ") || string(head[9:]) != "200" && string(head[9:]) != "101" {
			t.Fatalf("it is answered %q, %v", head, err)
		}
	}
	bearer := "Host: localhost\r\nAuthorization: Bearer " + token + "\r\n"
	for range 10 {
		asleep(r.api, "GET /v1/journal?after=0 HTTP/1.1\r\n"+bearer+"\r\n")
		asleep(r.api, "GET /v1/events?after=0 HTTP/1.1\r\n"+bearer+"\r\n")
		asleep(r.api, "GET /v1/events/ws?after=0 HTTP/1.1\r\n"+bearer+upgrade+"\r\n")
	}
	asleep(r.bus, "GET /?agent_id="+slow.id+" HTTP/1.1\r\nHost: localhost\r\nX-Agent-Api-Key: "+slow.key+"\r\n"+upgrade+"\r\n")
	to, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer to.CloseNow()
	before := r.resident()
	watched := r.watchAdmin()
	all := make(chan *heard, 1)
	go func() {
		h, err := hear(t.Context(), to, func(h *heard) bool { return len(h.ids) == n/2 })
		if err != nil {
			t.Error(err)
		}
		all <- h
	}()
	forSlow, _ := a.flood(n/2, 16, slow.id, "slow-")
	taken, others := a.flood(n/2, 16, b.id, "b-")
	if len(others) > 0 || len(forSlow) == 0 {
		t.Errorf("%d for who does not read; answers %v", len(forSlow), others)
	}
	r.wantAll(taken, <-all)
	head, err := r.client.Bus(context.WithoutCancel(t.Context()))
	if err != nil || head.Metrics.Queued == 0 {
		t.Errorf("nothing waits for who does not read: %+v, %v", head.Metrics, err)
	}
	answers, longest := watched()
	t.Logf("memory %d MB, then %d MB; %s on the unix socket, the slowest in %s", before>>20, r.most()>>20, strconv.Itoa(answers), longest.Round(time.Millisecond))
	if r.most() > before+floodMemory {
		t.Errorf("memory grew from %d to %d bytes", before, r.most())
	}
}
