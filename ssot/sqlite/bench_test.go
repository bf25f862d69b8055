//go:build linux

package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// rawLog is the limit of the disk: a plain file, appended and synced in groups like the writer's.
type rawLog struct {
	f     *os.File
	queue chan rawRequest
	done  chan struct{}
}

type rawRequest struct {
	body []byte
	done chan struct{}
}

func openRaw(b *testing.B, dir string) *rawLog {
	f, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		b.Fatal(err)
	}
	l := &rawLog{f: f, queue: make(chan rawRequest, group.Len), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		var buf []byte
		for r := range l.queue {
			together := []rawRequest{r}
			for more := true; more && len(together) < group.Batch; {
				select {
				case r, more = <-l.queue:
					if more {
						together = append(together, r)
					}
				default:
					more = false
				}
			}
			buf = buf[:0]
			for _, r := range together {
				buf = append(buf, r.body...)
			}
			if _, err := f.Write(buf); err != nil {
				b.Error(err)
			}
			if err := unix.Fdatasync(int(f.Fd())); err != nil {
				b.Error(err)
			}
			for _, r := range together {
				close(r.done)
			}
		}
	}()
	return l
}

func (l *rawLog) append(body []byte) {
	r := rawRequest{body: body, done: make(chan struct{})}
	l.queue <- r
	<-r.done
}

func (l *rawLog) close() error {
	close(l.queue)
	<-l.done
	return l.f.Close()
}

// rate is how many calls of f per second n producers make in a slice of time.
func rate(n int, slice time.Duration, f func()) float64 {
	var count atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(start) < slice {
				f()
				count.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(count.Load()) / time.Since(start).Seconds()
}

// BenchmarkAppend compares durable appends with a plain file under the same sync policy, interleaved, and reports the median of
// the ratios. The gates: 0.75 with 1 producer, 0.6 with 8, 0.2 with 64; there also 5 times the rate of one transaction for each entry, which
// is what appends one after the other are. written/body is what the process wrote to files for each byte of a body. The index of searches has
// caught up when each measurement begins; what it costs appends that never rest, BenchmarkIndex says.
func BenchmarkAppend(b *testing.B) {
	for _, producers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			dir := b.TempDir()
			log, err := Open(b.Context(), dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			raw := openRaw(b, dir)
			var n atomic.Int64
			body := ssottest.Chatty(1).Body
			var mu, alone sync.Mutex
			var ratios, ours, lone, perBody, took []float64
			store := func() {
				start := time.Now()
				out, err := log.Append(b.Context(), []amp.Record{ssottest.Chatty(n.Add(1))})
				if err != nil || !out[0].Fresh {
					b.Errorf("%+v, %v", out, err)
				}
				mu.Lock()
				took = append(took, time.Since(start).Seconds()*1000)
				mu.Unlock()
			}
			const slice = 300 * time.Millisecond
			alike := func() { // what the index of searches put off is no matter of what comes next
				if err := log.Index(b.Context()); err != nil {
					b.Error(err)
				}
			}
			for b.Loop() {
				alike()
				r := rate(producers, slice, func() { raw.append(body) })
				before, stored := written(b), n.Load()
				o := rate(producers, slice, store)
				perBody = append(perBody, float64(written(b)-before)/float64(int64(len(body))*(n.Load()-stored)))
				ratios, ours = append(ratios, o/r), append(ours, o)
				if producers == 64 {
					alike()
					keep := took
					l := rate(producers, slice, func() {
						alone.Lock()
						defer alone.Unlock()
						store()
					})
					took = keep
					lone = append(lone, o/l)
				}
			}
			b.ReportMetric(median(ratios), "x_raw_file")
			b.ReportMetric(median(ours), "entries/s")
			slices.Sort(took)
			b.ReportMetric(took[(len(took)-1)*99/100], "p99-ms")
			b.ReportMetric(median(perBody), "written/body")
			if len(lone) > 0 {
				b.ReportMetric(median(lone), "x_one_by_one")
			}
			b.ReportMetric(0, "ns/op")
			if err := raw.close(); err != nil {
				b.Error(err)
			}
			if err := log.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// written is how many bytes the process has written so far.
func written(b *testing.B) (n int64) {
	b.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "wchar: %d", &n); err == nil {
			break
		}
	}
	return n
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

func benchSizes() []int {
	if os.Getenv("ARBITER_BENCH_LARGE") == "1" {
		return []int{100_000, 1_000_000}
	}
	return []int{100_000}
}

// filled is a closed journal of n entries about n/10 tasks, of 2 KB each.
func filled(b *testing.B, n int) string {
	b.Helper()
	dir := b.TempDir()
	log, err := Open(b.Context(), dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]amp.Record, 0, 500)
	for i := range n {
		task := ssottest.Task(1 + (i/1000)*100 + i%100)
		r := ssottest.Note(fmt.Sprintf("note-%s-%09d", task, i), task, ssottest.ChattyText)
		if i%10 == 0 {
			r = ssottest.Propose(fmt.Sprintf("plan-%s-%09d", task, i), task, "A title")
		}
		if batch = append(batch, r); len(batch) == cap(batch) || i == n-1 {
			if _, err := log.Append(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkOpen is the time from nothing to a writable log, and with its board.
func BenchmarkOpen(b *testing.B) {
	for _, n := range benchSizes() {
		dir := filled(b, n)
		for name, board := range map[string]bool{"open": false, "open_and_board": true} {
			b.Run(fmt.Sprintf("%s/entries=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					log, err := Open(b.Context(), dir, Options{})
					if err != nil {
						b.Fatal(err)
					}
					if board {
						got, err := log.Board(b.Context())
						if err != nil || len(got.Tasks) != n/10 {
							b.Fatalf("%d tasks, %v", len(got.Tasks), err)
						}
					}
					if err := log.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFold replays a journal: the whole verification, a rebuild, and the same entries from memory, which is the limit.
func BenchmarkFold(b *testing.B) {
	for _, n := range benchSizes() {
		log, err := Open(b.Context(), filled(b, n), Options{})
		if err != nil {
			b.Fatal(err)
		}
		fast := memory.New()
		for from := 0; from < n; {
			page, err := log.Read(b.Context(), amp.Filter{After: uint64(from)})
			if err != nil {
				b.Fatal(err)
			}
			records := make([]amp.Record, len(page))
			for i := range page {
				records[i] = page[i].Record
			}
			if _, err := fast.Append(b.Context(), records); err != nil {
				b.Fatal(err)
			}
			from += len(page)
		}
		for name, f := range map[string]func() error{
			"verify":  func() error { _, err := log.Verify(b.Context(), nil); return err },
			"rebuild": func() error { return log.Rebuild(b.Context(), nil) },
			"replay":  func() error { _, err := ssot.Replay(b.Context(), log); return err },
			"memory":  func() error { _, err := ssot.Replay(b.Context(), fast); return err },
		} {
			b.Run(fmt.Sprintf("%s/entries=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
			})
		}
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
