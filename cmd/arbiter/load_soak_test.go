package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"arbiter/server"
)

// How much the live heap may grow from the first third of a soak to the last, beside what is remembered of each message against duplicates.
const (
	soakGrowth    = 1.25
	perRemembered = 112
)

// TestLoad_soak lets messages cross the bus, at 200 a second, for as long as ARBITER_SOAK says, as 10m, while 20 readers follow the journal and 20
// the events. What the program holds does not grow: what is left when its garbage is collected, in the last third against the first. What is
// resident beside that is garbage that is not collected yet, pages of the program and of files, and the journal's own pages.
func TestLoad_soak(t *testing.T) {
	life, err := time.ParseDuration(os.Getenv("ARBITER_SOAK"))
	if err != nil {
		t.Skip("NOT RUN: ARBITER_SOAK says no time, as 10m")
	}
	const rate = 200
	t.Setenv(heapDoor, filepath.Join(t.TempDir(), "heap"))
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
	all := r.hearing(to, last)
	type third struct {
		live     []int64
		messages int // when it ended
		most     int64
	}
	var thirds [3]third
	var taken []string
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	began, looked := time.Now(), time.Now()
	for time.Since(began) < life {
		<-tick.C
		ids, others := a.flood(rate, 8, b.id, fmt.Sprint(len(taken), "-"))
		if len(others) > 0 {
			t.Fatalf("answers %v", others)
		}
		taken = append(taken, ids...)
		in := &thirds[min(2, int(3*time.Since(began)/life))]
		in.most, in.messages = max(in.most, r.resident()), len(taken)
		if time.Since(looked) > life/30 {
			looked = time.Now()
			h := r.heap()
			in.live = append(in.live, h.Live)
			t.Logf("%s: %d messages; live %.1f MB, free in the heap %.1f, of the runtime in all %.1f; resident %d MB, of that %d MB of files; %s of processors",
				time.Since(began).Round(time.Second), len(taken), mega(h.Live), mega(h.Idle), mega(h.Go), r.resident()>>20, r.statusOf("RssFile:")>>20, r.spent())
		}
	}
	a.insist(last, b.id)
	r.wantAll(append(taken, last), <-all)
	first, end := median(thirds[0].live), median(thirds[2].live)
	t.Logf("%d messages in %s; live %.1f, %.1f, %.1f MB in the thirds, resident at most %d, %d, %d MB; %s of processors", len(taken),
		time.Since(began).Round(time.Second), mega(first), mega(median(thirds[1].live)), mega(end),
		thirds[0].most>>20, thirds[1].most>>20, thirds[2].most>>20, r.spent())
	remembered := int64(min(thirds[2].messages-thirds[0].messages/2, 250_000)) * perRemembered
	if float64(end-remembered) > soakGrowth*float64(first) {
		t.Errorf("the live heap grew from %d to %d bytes, %d of them for ids", first, end, remembered)
	}
}

func mega(bytes int64) float64 { return float64(bytes) / (1 << 20) }

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
