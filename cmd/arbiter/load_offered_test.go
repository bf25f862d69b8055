package main

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"arbiter/server"
)

// Messages are offered to one queue at offeredRate a second, whether or not those before them were answered, by as many senders as there is room
// for connections nearly. One who finds all of them waiting gives up.
const (
	offeredRate    = 5000
	offeredSenders = 900
)

// A flood of 5,000 messages a second to one queue is absorbed as far as the journal goes; the rest is answered 503 or 429. Memory is bounded, the
// unix socket answers, and what was taken is delivered.
func TestLoad_floodOffered(t *testing.T) {
	t.Parallel()
	n := number(t, loadMessages, 1500)
	r := serveLoad(t, "[bus]\nlisten = \"127.0.0.1:0\"\n")
	a, b := r.speaker("a", server.ScopeExecutor), r.speaker("b", server.ScopeReviewer)
	senders := min(offeredSenders, n/10)
	a.http.Transport = &http.Transport{MaxIdleConnsPerHost: senders, MaxConnsPerHost: senders}
	to, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer to.CloseNow()
	const last = "the last"
	all := r.hearing(to, last)
	before := r.resident()
	watched := r.watchAdmin()
	var mu sync.Mutex
	var taken []string
	others, unsent := map[int]int{}, 0
	offers := make(chan string)
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for id := range offers {
				status, _, err := a.post(t.Context(), "/messages/send", a.message(id, b.id))
				mu.Lock()
				switch {
				case err != nil:
					t.Error(err)
				case status == http.StatusOK:
					taken = append(taken, id)
				default:
					others[status]++
				}
				mu.Unlock()
			}
		})
	}
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	for i := 0; i < n; <-tick.C {
		for due := int(time.Since(began).Seconds() * offeredRate); i < min(n, due); i++ {
			select {
			case offers <- strconv.Itoa(i):
			default:
				unsent++
			}
		}
	}
	tick.Stop()
	offered := time.Since(began)
	close(offers)
	wg.Wait()
	took := time.Since(began)
	a.insist(last, b.id)
	h := <-all
	answers, longest := watched()
	t.Logf("%d offered, %.0f a second; %d taken, %.0f a second; others %v; %d not sent since all %d senders waited; %d delivered; memory %d MB, then at most %d MB; the unix socket answered %d times, the slowest in %s",
		n, float64(n)/offered.Seconds(), len(taken), float64(len(taken))/took.Seconds(), others, unsent, senders, len(h.ids)-1, before>>20, r.most()>>20, answers, longest.Round(time.Millisecond))
	r.wantAll(append(taken, last), h)
	if len(taken) == 0 || len(taken)+others[http.StatusServiceUnavailable]+others[http.StatusTooManyRequests]+unsent != n {
		t.Errorf("%d taken, others %v, %d not sent of %d; want nothing but 503 and 429", len(taken), others, unsent, n)
	}
	if r.most() > before+floodMemory {
		t.Errorf("memory grew from %d to %d bytes", before, r.most())
	}
}
