package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"arbiter/amp"
	"arbiter/providers/command/scripted"
	"arbiter/server"
)

// What each coordinator of a round gets: messages over REST and as many over a socket, and meanwhile wishes whose events go to readers.
const (
	pairMessages = 1500
	pairWishes   = 100
	pairReaders  = 10
)

// side is a coordinator with a journal of its own, and who speaks to it.
type side struct {
	*loadRig
	from, to, socket *speaker
	reader, writer   *websocket.Conn
	repo             string
	got              chan time.Duration
}

func serveSide(b *testing.B) *side {
	b.Helper()
	s := &side{loadRig: serveLoad(b, "[listen]\ntcp = \"127.0.0.1:0\"\n[bus]\nlisten = \"127.0.0.1:0\"\n"), got: make(chan time.Duration, 4096)}
	s.from, s.to, s.socket = s.speaker("from", server.ScopeExecutor), s.speaker("to", server.ScopeReviewer), s.speaker("socket", server.ScopeExecutor)
	for _, c := range []struct {
		to **websocket.Conn
		of *speaker
	}{{&s.reader, s.to}, {&s.writer, s.socket}} {
		conn, err := c.of.dial(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.CloseNow() })
		*c.to = conn
	}
	s.writer.CloseRead(b.Context())
	s.repo = filepath.Join(b.TempDir(), "repo")
	if err := scripted.Repository(s.repo); err != nil {
		b.Fatal(err)
	}
	token := s.token("reader", server.ScopeReader)
	for range pairReaders {
		s.follow("SSE", token, s.got)
	}
	return s
}

// round is the load of one round; it says how long the messages took, and how long the events, all of them delivered.
func (s *side) round(name string) (messages, events time.Duration) {
	s.Helper()
	began := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, others := s.from.flood(pairMessages, atOnce/2, s.to.id, name+"r-"); len(others) > 0 {
			s.Error(others)
		}
	})
	wg.Go(func() {
		for i := range pairMessages {
			if err := s.writer.Write(s.Context(), websocket.MessageText, s.socket.message(fmt.Sprint(name, "s-", i), s.to.id)); err != nil {
				s.Error(err)
				return
			}
		}
	})
	wg.Go(func() {
		if _, err := hear(s.Context(), s.reader, func(h *heard) bool { return len(h.ids) == 2*pairMessages }); err != nil {
			s.Error(err)
		}
		messages = time.Since(began)
	})
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < pairWishes; i += 4 {
				_, err := s.client.Submit(s.Context(), amp.Command{
					ID: name + "wish-" + strconv.Itoa(i), Command: amp.Submit, By: "ada", At: time.Now(),
					Args: amp.Args{Wish: &amp.Wish{Text: "say hello", Repo: s.repo, Branch: fmt.Sprint("feature/", name, i)}},
				})
				if err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for range pairReaders * pairWishes {
			<-s.got
		}
		events = time.Since(began)
	})
	wg.Wait()
	return messages, events
}

// BenchmarkCoordinators gives one coordinator, and two at once on the same machine, messages of the bus and wishes whose events are followed, and
// compares what all of them deliver in a second with bare HTTP and with the appends of a journal, measured by turns in the same run.
func BenchmarkCoordinators(b *testing.B) {
	sides := []*side{serveSide(b), serveSide(b)}
	bare, journal := bareHTTP(b), appends(b)
	rates, n := map[string][]float64{}, 0
	measure := func(name string, count int, took time.Duration) {
		rates[name] = append(rates[name], float64(count)/took.Seconds())
	}
	for b.Loop() {
		n++
		body := func(i int) []byte { return sides[0].from.message(fmt.Sprint(n, "-", i), sides[0].to.id) }
		began := time.Now()
		everywhere(func(i int) { bare(body(i)) })
		measure("http", perRound, time.Since(began))
		began = time.Now()
		everywhere(func(i int) { journal(body(i)) })
		measure("append", perRound, time.Since(began))
		for count, name := range []string{"one", "two"} {
			at := sides[:count+1]
			messages, events := make([]time.Duration, len(at)), make([]time.Duration, len(at))
			var wg sync.WaitGroup
			for k, s := range at {
				wg.Go(func() { messages[k], events[k] = s.round(fmt.Sprint(name, n, "-")) })
			}
			wg.Wait()
			var bus, out float64
			for k := range at {
				bus += 2 * pairMessages / messages[k].Seconds()
				out += pairReaders * pairWishes / events[k].Seconds()
			}
			rates[name+"-bus"], rates[name+"-events"] = append(rates[name+"-bus"], bus), append(rates[name+"-events"], out)
		}
		if b.Failed() {
			return
		}
	}
	for _, name := range []string{"http", "append"} {
		b.ReportMetric(median(rates[name]), name+"/s")
	}
	for _, name := range []string{"one-bus", "one-events", "two-bus", "two-events"} {
		b.ReportMetric(median(rates[name]), name+"/s")
		b.ReportMetric(median(rates[name])/median(rates["http"]), name+"/http")
		b.ReportMetric(median(rates[name])/median(rates["append"]), name+"/append")
	}
	b.ReportMetric(float64(max(sides[0].most(), sides[1].most())>>20), "MB")
	b.ReportMetric(0, "ns/op")
}
