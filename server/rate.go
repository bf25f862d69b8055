package server

import (
	"sync"
	"time"
)

// rates are token buckets by name: each one refills at rate a second, up to burst. Names that were silent long enough to be full
// are forgotten, and never more than maxBuckets are kept.
type rates struct {
	rate, burst float64

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the memory for strangers: 100,000 addresses take about 10 MB.
const maxBuckets = 100_000

func newRates(rate, burst float64) *rates {
	return &rates{rate: rate, burst: burst, buckets: map[string]*bucket{}}
}

// take takes n from a bucket, or says how long it takes until n are there. A name for which no bucket can be kept gets nothing.
func (r *rates) take(name string, n float64, now time.Time) (ok bool, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[name]
	if b == nil {
		if len(r.buckets) >= maxBuckets {
			r.forget(now)
		}
		if len(r.buckets) >= maxBuckets {
			return false, time.Second
		}
		b = &bucket{left: r.burst, at: now}
		r.buckets[name] = b
	}
	b.left = min(r.burst, b.left+r.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.left < n || b.left < 0 {
		return false, time.Duration((n - b.left) / r.rate * float64(time.Second))
	}
	b.left -= n
	return true, 0
}

// forget drops the buckets that are full by now.
func (r *rates) forget(now time.Time) {
	for name, b := range r.buckets {
		if b.left+r.rate*now.Sub(b.at).Seconds() >= r.burst {
			delete(r.buckets, name)
		}
	}
}

// drain takes n from a bucket, below zero when need be, so that the next ones wait.
func (r *rates) drain(name string, n float64, now time.Time) {
	if ok, _ := r.take(name, 0, now); !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.buckets[name]; b != nil {
		b.left = max(b.left-n, -r.burst)
	}
}
