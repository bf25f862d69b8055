//go:build linux

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// soakGrowth is how much the live heap may grow from the second third of a soak of three minutes and more to the last, by their medians: the
// index of searches holds the terms of up to 32,768 entries while it merges them. In the first third caches fill, with the tasks of 8 MB of
// JSON. The journal itself is not in it: each connection of SQLite holds 2 MB of pages at most.
const soakGrowth = 1.25

// TestSoak lets 2,000 entries a second, or ARBITER_STORE_SOAK_RATE, come in for as long as ARBITER_STORE_SOAK says, as 10m, while clients poll and a follower follows; with
// ARBITER_STORE_SOAK_LONG=1 one reader also takes ten seconds, once a minute, as a backup does. It reports how long appends took, how late they
// were called after they were due, which is the machine's and not the journal's, how far the write-ahead log grew and how much memory was
// resident; what is live after a collection does not grow. ARBITER_STORE_SOAK_HOME names a journal to go on with.
func TestSoak(t *testing.T) {
	t.Parallel()
	life, err := time.ParseDuration(os.Getenv("ARBITER_STORE_SOAK"))
	if err != nil {
		t.Skip("NOT RUN: ARBITER_STORE_SOAK says no time, as 10m")
	}
	dir := os.Getenv("ARBITER_STORE_SOAK_HOME")
	if dir == "" {
		dir = t.TempDir()
	}
	log := openLog(t, dir)
	first, err := log.lastSeq(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), life)
	defer stop()
	var readers, appends sync.WaitGroup
	polled := poll(ctx, t, log, &readers)
	var took, late, allTook, allLate spans // of the time since the last report, and of all
	var busy atomic.Int64
	var most [3]int64 // in the write-ahead log, in each third
	var live [3][]int64
	began := time.Now()
	records := sampled(ctx, &readers, int(first), fmt.Sprint("soak-", began.Unix()))
	rate := 2000 // entries a second, whether or not those before them are stored
	if said, err := strconv.Atoi(os.Getenv("ARBITER_STORE_SOAK_RATE")); err == nil {
		rate = said
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	reported, n := began, 0
	for ctx.Err() == nil {
		<-tick.C
		for due := int(time.Since(began).Seconds() * float64(rate)); n < due && ctx.Err() == nil; n++ {
			r, more := <-records
			if !more {
				break
			}
			at := began.Add(time.Duration(n) * time.Second / time.Duration(rate))
			appends.Go(func() {
				called := time.Now()
				out, err := log.Append(context.WithoutCancel(ctx), []amp.Record{r})
				if errors.Is(err, ssot.ErrBusy) {
					busy.Add(1)
					return
				}
				if err != nil || out[0].Err != nil {
					t.Errorf("%+v, %v", out, err)
				}
				took.add(time.Since(called))
				late.add(called.Sub(at))
			})
		}
		third := min(2, int(3*time.Since(began)/life))
		most[third] = max(most[third], size(log.path+"-wal"))
		if time.Since(reported) >= min(time.Minute, life/12) || ctx.Err() != nil {
			reported = time.Now()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			live[third] = append(live[third], int64(m.HeapAlloc))
			last, err := log.lastSeq(t.Context())
			if err != nil {
				t.Error(err)
			}
			t.Logf("%v: appends %s, called late %s; write-ahead log %d MB, live %d MB, resident %d MB, index %d behind", time.Since(began).Round(time.Second), &took,
				&late, size(log.path+"-wal")>>20, m.HeapAlloc>>20, resident(t)>>10, int64(last)-int64(log.Indexed()))
			took.into(&allTook)
			late.into(&allLate)
		}
	}
	appends.Wait()
	readers.Wait()
	took.into(&allTook)
	late.into(&allLate)
	var least, middle, largest [3]int64
	for i, all := range live {
		if slices.Sort(all); len(all) > 0 {
			least[i], middle[i], largest[i] = all[0], all[len(all)/2], all[len(all)-1]
		}
	}
	t.Logf("in all: %d entries: appends %s, called late %s; %d were told that the journal is busy; %d reads, %s; in the thirds: live %d to %d, %d to %d and %d to %d MB, medians %d, %d, %d; write-ahead log at most %d, %d, %d MB",
		allTook.count(), &allTook, &allLate, busy.Load(), polled.count(), polled, least[0]>>20, largest[0]>>20, least[1]>>20, largest[1]>>20, least[2]>>20, largest[2]>>20, middle[0]>>20, middle[1]>>20, middle[2]>>20, most[0]>>20, most[1]>>20, most[2]>>20)
	if life >= 3*time.Minute && float64(middle[2]) > soakGrowth*float64(middle[1]) {
		t.Errorf("the live heap grew from %d to %d bytes", middle[1], middle[2])
	}
	r, err := log.Verify(t.Context(), nil)
	if err != nil || r.Err(dir) != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if wal := slices.Max(most[:]); wal > LargeLog {
		t.Errorf("the write-ahead log had %d bytes", wal)
	}
}

// sampled makes records ahead of those who append them, until ctx ends.
func sampled(ctx context.Context, wg *sync.WaitGroup, from int, prefix string) <-chan amp.Record {
	c := make(chan amp.Record, 1000)
	wg.Go(func() {
		defer close(c)
		for s, n := endless(), from; ; n++ {
			r := s.record(n)
			r.ID = fmt.Sprint(prefix, "-", n)
			select {
			case c <- r:
			case <-ctx.Done():
				return
			}
		}
	})
	return c
}

// endless is a sample whose tasks end after a hundred entries for ever: what an entry costs grows with what its task went through.
func endless() *sample {
	s := newSample()
	s.tasks = math.MaxInt
	return s
}

// poll reads what four screens do, ten times a second each, follows the journal, and reads long.
func poll(ctx context.Context, t *testing.T, log *Log, wg *sync.WaitGroup) *spans {
	polled, s := &spans{}, endless()
	for c := range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				head, err := log.Head(t.Context())
				if err == nil {
					_, err = log.Read(t.Context(), amp.Filter{Newest: true, Limit: 50})
				}
				if err == nil {
					_, err = log.Read(t.Context(), amp.Filter{TaskID: s.task(max(0, int(head.Seq)-1-c)), Newest: true, Limit: 20})
				}
				if err != nil {
					t.Error(err)
				}
				polled.add(time.Since(began))
				pause(ctx, 100*time.Millisecond)
			}
		})
	}
	wg.Go(func() {
		head, _ := log.Head(t.Context())
		for after := head.Seq; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
			page, err := log.Read(t.Context(), amp.Filter{After: after})
			if err != nil {
				t.Error(err)
			}
			if len(page) > 0 {
				after = page[len(page)-1].Seq
			}
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil && os.Getenv("ARBITER_STORE_SOAK_LONG") == "1" {
			if err := long(ctx, log); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			pause(ctx, 50*time.Second)
		}
	})
	return polled
}

// long reads as of one moment for ten seconds, as a backup of a large journal does. No append folds the write-ahead log in meanwhile.
func long(ctx context.Context, log *Log) (err error) {
	tx, err := log.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := head(ctx, tx); err != nil {
		return err
	}
	pause(ctx, 10*time.Second)
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// spans counts how long things took, in buckets a sixteenth apart, so that it takes the same memory however many there are.
type spans struct {
	mu      sync.Mutex
	n       [64 * 16]int64
	all     int64
	longest time.Duration
}

func (t *spans) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[bucket(d)]++
	t.all++
	t.longest = max(t.longest, d)
}

// bucket is that of a time; those of 16 ns and more have the power of two and the four bits behind the first.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 16 {
		return int(v)
	}
	power := bits.Len64(v) - 1
	return power*16 + int(v>>(power-4)&15)
}

// into adds all that was counted to another, and begins anew.
func (t *spans) into(all *spans) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, n := range t.n {
		all.n[i] += n
	}
	all.all += t.all
	all.longest = max(all.longest, t.longest)
	t.n, t.all, t.longest = [64 * 16]int64{}, 0, 0
}

func (t *spans) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

// String has percentiles, each the lower end of its bucket.
func (t *spans) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == 0 {
		return "none"
	}
	at := func(part float64) time.Duration {
		left := int64(part * float64(t.all-1))
		for i, n := range t.n {
			if left -= n; left < 0 {
				if i < 64 {
					return time.Duration(i)
				}
				return time.Duration(uint64(16+i%16) << (i/16 - 4)).Round(10 * time.Microsecond)
			}
		}
		return t.longest
	}
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, longest %v", at(0.5), at(0.99), at(0.999), t.longest.Round(10*time.Microsecond))
}

func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// resident is the memory of the process in KB.
func resident(t *testing.T) (kb int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			return kb
		}
	}
	return 0
}
