//go:build linux

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
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

// TestSoak lets 2,000 entries a second, or ARBITER_STORE_SOAK_RATE, come in for as long as ARBITER_STORE_SOAK says, as 10m, while clients poll and a follower follows; with
// ARBITER_STORE_SOAK_LONG=1 one reader also takes ten seconds, once a minute, as a backup does. It reports how long appends took from when they were due, how far the write-ahead log grew
// and how much memory was resident. ARBITER_STORE_SOAK_HOME names a journal to go on with.
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
	var readers sync.WaitGroup
	polled := poll(ctx, t, log, &readers)
	var mu sync.Mutex
	var took []time.Duration // of the minute under way
	var all []time.Duration
	var busy atomic.Int64
	var appends sync.WaitGroup
	s, began := newSample(), time.Now()
	minute := began
	rate := 2000 // entries a second, whether or not those before them are stored
	if said, err := strconv.Atoi(os.Getenv("ARBITER_STORE_SOAK_RATE")); err == nil {
		rate = said
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	n := int(first)
	for ctx.Err() == nil {
		<-tick.C
		for due := int(time.Since(began).Seconds()*float64(rate)) + int(first); n < due; n++ {
			r := s.record(n)
			r.ID = fmt.Sprint("soak-", began.Unix(), "-", n)
			at := began.Add(time.Duration(n-int(first)) * time.Second / time.Duration(rate))
			appends.Go(func() {
				out, err := log.Append(context.WithoutCancel(ctx), []amp.Record{r})
				if errors.Is(err, ssot.ErrBusy) {
					busy.Add(1)
					return
				}
				if err != nil || out[0].Err != nil {
					t.Errorf("%+v, %v", out, err)
				}
				mu.Lock()
				took = append(took, time.Since(at))
				mu.Unlock()
			})
		}
		if time.Since(minute) >= time.Minute || ctx.Err() != nil {
			mu.Lock()
			t.Logf("%v: %s, write-ahead log %d MB, resident %d MB, index %d behind", time.Since(began).Round(time.Second), percentiles(took),
				size(log.path+"-wal")>>20, resident(t)>>10, int64(n)-int64(log.Indexed()))
			all, took = append(all, took...), nil
			mu.Unlock()
			minute = time.Now()
		}
	}
	appends.Wait()
	readers.Wait()
	t.Logf("in all: %d entries, %s; %d were told that the journal is busy; %d reads, %s", len(all), percentiles(all), busy.Load(), len(*polled), percentiles(*polled))
	r, err := log.Verify(t.Context(), nil)
	if err != nil || r.Err(dir) != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if wal := size(log.path + "-wal"); wal > LargeLog {
		t.Errorf("the write-ahead log has %d bytes", wal)
	}
}

// poll reads what four screens do, ten times a second each, follows the journal, and reads long.
func poll(ctx context.Context, t *testing.T, log *Log, wg *sync.WaitGroup) *[]time.Duration {
	var mu sync.Mutex
	polled, s := &[]time.Duration{}, newSample()
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
				mu.Lock()
				*polled = append(*polled, time.Since(began))
				mu.Unlock()
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

func percentiles(took []time.Duration) string {
	if len(took) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(took))
	at := func(p float64) time.Duration {
		return sorted[int(float64(len(sorted)-1)*p)].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, longest %v", at(0.5), at(0.99), at(0.999), at(1))
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
