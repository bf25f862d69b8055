package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"arbiter/amp"
	"arbiter/providers/command/scripted"
	"arbiter/server"
	"arbiter/ssot/sqlite"
)

// perRound is how many messages each part of a round sends, and over how many connections at once.
const perRound, atOnce = 3000, 32

// BenchmarkBus compares, by turns in the same run, messages over the bus from the request to the reader with requests to a server that only
// answers, and with appends of records of the same size to a journal by as many producers.
func BenchmarkBus(b *testing.B) {
	r := serveLoad(b, "[bus]\nlisten = \"127.0.0.1:0\"\n")
	from, to, socket := r.speaker("from", server.ScopeExecutor), r.speaker("to", server.ScopeReviewer), r.speaker("socket", server.ScopeExecutor)
	bare := bareHTTP(b)
	journal := appends(b)
	reader, err := to.dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer reader.CloseNow()
	writer, err := socket.dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer writer.CloseNow()
	writer.CloseRead(b.Context())
	rates, n := map[string][]float64{}, 0
	measure := func(name string, f func()) {
		began := time.Now()
		f()
		rates[name] = append(rates[name], perRound/time.Since(began).Seconds())
	}
	for b.Loop() {
		n++
		measure("http", func() { everywhere(func(i int) { bare(from.message(strconv.Itoa(i), to.id)) }) })
		measure("append", func() { everywhere(func(i int) { journal(from.message(fmt.Sprint(n, "-", i), to.id)) }) })
		measure("rest", func() {
			all := make(chan error, 1)
			go func() {
				_, err := hear(b.Context(), reader, func(h *heard) bool { return len(h.ids) == perRound })
				all <- err
			}()
			if _, others := from.flood(perRound, atOnce, to.id, fmt.Sprint("r", n, "-")); len(others) > 0 {
				b.Fatal(others)
			}
			if err := <-all; err != nil {
				b.Fatal(err)
			}
		})
		measure("socket", func() {
			go func() {
				for i := range perRound {
					if err := writer.Write(b.Context(), websocket.MessageText, socket.message(fmt.Sprint("s", n, "-", i), to.id)); err != nil {
						b.Error(err)
						return
					}
				}
			}()
			if _, err := hear(b.Context(), reader, func(h *heard) bool { return len(h.ids) == perRound }); err != nil {
				b.Fatal(err)
			}
		})
	}
	for _, name := range []string{"http", "append", "rest", "socket"} {
		b.ReportMetric(median(rates[name]), name+"/s")
	}
	for _, name := range []string{"rest", "socket"} {
		b.ReportMetric(median(rates[name])/median(rates["http"]), name+"/http")
		b.ReportMetric(median(rates[name])/median(rates["append"]), name+"/append")
	}
	b.ReportMetric(r.spent().Seconds()*1e6/float64(2*n*perRound), "cpu-µs/message")
	b.ReportMetric(0, "ns/op")
}

// everywhere calls f for each message of a round, from as many goroutines as there are connections.
func everywhere(f func(i int)) {
	var wg sync.WaitGroup
	for w := range atOnce {
		wg.Go(func() {
			for i := w; i < perRound; i += atOnce {
				f(i)
			}
		})
	}
	wg.Wait()
}

func median[N cmp.Ordered](all []N) N {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// bareHTTP is a server on loopback that reads a body and answers.
func bareHTTP(b *testing.B) func(body []byte) {
	b.Helper()
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			_, _ = io.WriteString(w, `{"success":true}`)
		}
	})}
	go func() { _ = s.Serve(l) }()
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Cleanup(func() { c.CloseIdleConnections(); s.Close() })
	return func(body []byte) {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+l.Addr().String(), bytes.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		res, err := c.Do(req)
		if err != nil {
			b.Error(err)
			return
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
	}
}

// appends is a journal that is appended to durably, one record at a time from each producer.
func appends(b *testing.B) func(body []byte) {
	b.Helper()
	log, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	return func(body []byte) {
		id := strconv.Itoa(int(time.Now().UnixNano())) + string(body[15:30])
		_, err := log.Append(b.Context(), []amp.Record{{
			Kind: amp.KindBus, Role: amp.System, Actor: "bus", At: time.Now().UTC().Truncate(time.Millisecond), ID: id, Body: amp.EncodeBody(string(body)),
		}})
		if err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkFanOut lets 100 readers follow while wishes come in as fast as they are taken, and reports how many events a second they got, how
// long each took from the entry to the reader, and what the program spent for each.
func BenchmarkFanOut(b *testing.B) {
	const readers, wishes = 100, 300
	for _, how := range []string{"none", "entries", "SSE", "WebSocket"} {
		b.Run(how, func(b *testing.B) {
			r := serveLoad(b, "[listen]\ntcp = \"127.0.0.1:0\"\n")
			token := r.token("reader", server.ScopeReader)
			repo := filepath.Join(b.TempDir(), "repo")
			if err := scripted.Repository(repo); err != nil {
				b.Fatal(err)
			}
			got := make(chan time.Duration, 4096)
			for range readers {
				if how != "none" {
					r.follow(how, token, got)
				}
			}
			var took []time.Duration
			var spent, wall time.Duration
			n := 0
			for b.Loop() {
				before, began := r.spent(), time.Now()
				var wg sync.WaitGroup
				for w := range 8 {
					wg.Go(func() {
						for i := w; i < wishes; i += 8 {
							_, err := r.client.Submit(b.Context(), amp.Command{
								ID: fmt.Sprint("wish-", n, "-", i), Command: amp.Submit, By: "ada", At: time.Now(),
								Args: amp.Args{Wish: &amp.Wish{Text: "say hello", Repo: repo, Branch: fmt.Sprint("feature/hello-", n, "-", i)}},
							})
							if err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				if how != "none" {
					for range readers * wishes {
						took = append(took, <-got)
					}
				}
				wg.Wait()
				n++
				spent, wall = spent+r.spent()-before, wall+time.Since(began)
			}
			if how != "none" {
				slices.Sort(took)
				b.ReportMetric(float64(len(took))/wall.Seconds(), "delivered/s")
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			}
			b.ReportMetric(spent.Seconds()*1e6/float64(n*wishes), "cpu-µs/wish")
			b.ReportMetric(float64(r.most()>>20), "MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// follow opens a stream and tells got how long each recorded wish took to come.
func (r *loadRig) follow(how, token string, got chan<- time.Duration) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	var wg sync.WaitGroup
	r.Cleanup(func() { cancel(); wg.Wait() })
	see := func(data []byte) {
		var e struct {
			Kind      amp.Kind  `json:"kind"`
			At        time.Time `json:"at"`
			Type      string    `json:"type"`
			Timestamp time.Time `json:"timestamp"`
		}
		now := time.Now()
		if json.Unmarshal(data, &e) != nil {
			return
		}
		if e.Type == "project.created" {
			e.At = e.Timestamp
		} else if e.Kind != amp.KindCommand {
			return
		}
		select {
		case got <- now.Sub(e.At):
		case <-ctx.Done():
		}
	}
	if how == "WebSocket" {
		c, res, err := websocket.Dial(ctx, "ws://"+r.api+"/v1/events/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
		if err != nil {
			r.Fatal(err)
		}
		if res.Body != nil {
			res.Body.Close()
		}
		c.SetReadLimit(1 << 20)
		wg.Go(func() {
			defer c.CloseNow()
			for {
				_, data, err := c.Read(ctx)
				if err != nil {
					return
				}
				see(data)
			}
		})
		return
	}
	path := map[string]string{"entries": "/v1/journal?after=1", "SSE": "/v1/events"}[how]
	c, res, err := r.patient(ctx, r.api, "GET "+path+" HTTP/1.1\r\nHost: "+r.api+"\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	if err != nil || res.StatusCode != http.StatusOK {
		r.Fatalf("%v, %v", res, err)
	}
	_ = c.SetDeadline(time.Time{})
	context.AfterFunc(ctx, func() { c.Close() })
	wg.Go(func() {
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				see(data)
			}
		}
	})
}
