package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// benchEntries is how long the journal of BenchmarkSearch is; ARBITER_BENCH_ENTRIES=1000000 is the length that is promised. It is kept
// in the temporary directory for the next run.
func benchEntries(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("ARBITER_BENCH_ENTRIES"))
	if err != nil {
		return 50_000
	}
	return n
}

func longJournal(b *testing.B, n int) *Log {
	b.Helper()
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("arbiter-bench-search-%d", n))
	log, err := Open(b.Context(), dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	})
	last, err := log.lastSeq(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s, start := newSample(), time.Now()
	for from := int(last); from < n; from += 1000 {
		records := make([]amp.Record, 1000)
		var wg sync.WaitGroup
		for w := range runtime.NumCPU() {
			wg.Go(func() {
				for i := w; i < len(records); i += runtime.NumCPU() {
					records[i] = s.record(from + i)
				}
			})
		}
		wg.Wait()
		out, err := log.Append(b.Context(), records)
		if err != nil {
			b.Fatal(err)
		}
		for _, a := range out {
			if a.Err != nil || !a.Fresh {
				b.Fatalf("%s: fresh %v, %v", a.Entry.ID, a.Fresh, a.Err)
			}
		}
	}
	if int(last) < n {
		b.Logf("the journal was built in %v", time.Since(start).Round(time.Second))
	}
	before, start := log.Indexed(), time.Now()
	if err := log.Index(b.Context()); err != nil {
		b.Fatal(err)
	}
	if left := uint64(n) - before; left > 1000 {
		b.Logf("the last %d entries were indexed at %.0f/s", left, float64(left)/time.Since(start).Seconds())
	}
	return log
}

// BenchmarkSearch looks for what is common, rare, long ago and nowhere in a long journal. Each is compared with a page of the newest
// entries, the cheapest thing that a screen reads; the gate at a million entries is 5 ms.
func BenchmarkSearch(b *testing.B) {
	n := benchEntries(b)
	log := longJournal(b, n)
	s := newSample()
	size := func(name string) float64 {
		st, err := os.Stat(filepath.Join(filepath.Dir(log.path), name))
		if err != nil {
			b.Fatal(err)
		}
		return float64(st.Size()) / float64(n)
	}
	page := func() float64 {
		var took []float64
		for range 50 {
			start := time.Now()
			if _, err := log.Read(b.Context(), amp.Filter{Newest: true, Limit: 50}); err != nil {
				b.Fatal(err)
			}
			took = append(took, float64(time.Since(start)))
		}
		return median(took)
	}
	day := ssottest.Start.Add(time.Duration(n/2) * 8 * time.Second).Format(time.DateOnly)
	rare := slices.MaxFunc(s.words[15000:15100], func(x, y string) int { return len(x) - len(y) })
	for _, c := range []struct{ name, text string }{
		{"page", ""},
		{"common", s.words[0]},
		{"common_two", s.words[0] + " " + s.words[1]},
		{"beginning", s.words[0][:2]},
		{"rare", rare},
		{"common_and_rare", s.words[0] + " " + rare},
		{"phrase", `"` + s.words[30] + " " + s.words[31] + `"`},
		{"phrase_common", `"` + s.words[0] + " " + s.words[1] + `"`},
		{"phrase_nowhere", `"` + s.words[5] + " " + s.words[600] + " " + s.words[3] + `"`},
		{"field", "type:review_verdict"},
		{"field_word", "type:review_verdict from:claude " + s.words[3]},
		{"held", "is:held"},
		{"kind", "kind:refusal"},
		{"without", "-kind:turn"},
		{"task", "task:" + string(ssottest.Task(7))},
		{"day_long_ago", s.words[0] + " since:" + day + " until:" + day},
		{"day_alone", "since:" + day + " until:" + day},
		{"nothing", "xyzzy"},
		{"nothing_field", "is:late"},
		{"short", "k"},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := ssottest.Search(b, c.text)
			f.Limit = 50
			var took []float64
			var got amp.Page
			for b.Loop() {
				start := time.Now()
				var err error
				if got, err = ssot.Page(b.Context(), log, f); err != nil {
					b.Fatal(err)
				}
				took = append(took, float64(time.Since(start)))
			}
			b.ReportMetric(median(took)/page(), "x/page")
			b.ReportMetric(median(took)/1e6, "p50-ms")
			slices.Sort(took)
			b.ReportMetric(took[(len(took)-1)*99/100]/1e6, "p99-ms")
			b.ReportMetric(float64(len(got.Entries)), "entries")
			b.ReportMetric(float64(got.Count), "count")
			b.ReportMetric(size(searchName)/size(fileName), "index/journal")
		})
	}
	b.Logf("%d entries: journal %.0f B, index %.0f B per entry", n, size(fileName), size(searchName))
}

// BenchmarkIndex makes the index of a journal anew and reports entries per second, and what appends lose while it follows them.
func BenchmarkIndex(b *testing.B) {
	b.Run("build", func(b *testing.B) {
		log := longJournal(b, min(benchEntries(b), 50_000))
		last, _ := log.lastSeq(b.Context())
		for b.Loop() {
			log.index.renew()
			if err := log.Index(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(last)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	})
	for _, producers := range []int{1, 64} {
		b.Run(fmt.Sprintf("appends/producers=%d", producers), func(b *testing.B) {
			s := newSample()
			records := make([]amp.Record, 4096)
			for i := range records {
				records[i] = s.record(i)
			}
			open := func(on bool) *Log {
				log, err := Open(b.Context(), b.TempDir(), Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = log.Close() })
				if !on {
					if err := log.index.close(); err != nil {
						b.Fatal(err)
					}
					log.index.stop = nil
				}
				return log
			}
			with, without := open(true), open(false)
			var n atomic.Int64
			run := func(log *Log, long time.Duration) float64 {
				return rate(producers, long, func() {
					k := n.Add(1)
					r := ssottest.Chatty(k)
					r.Body = records[k%4096].Body
					if r.Kind != records[k%4096].Kind {
						r = ssottest.Raw("r"+strconv.FormatInt(k, 10), ssottest.Task(int(1+k%64)), r.Body)
					}
					if out, err := log.Append(b.Context(), []amp.Record{r}); err != nil || out[0].Err != nil {
						b.Error(err, out)
					}
				})
			}
			var ratios, behind []float64
			for b.Loop() {
				off := run(without, 3*time.Second)
				run(with, 2*time.Second) // so that what is left to do when it is measured is what is left at the end
				ratios = append(ratios, run(with, 6*time.Second)/off)
				last, _ := with.lastSeq(b.Context())
				behind = append(behind, float64(last-with.Indexed()))
				if err := with.Index(b.Context()); err != nil { // or it would be in the way of the other one
					b.Fatal(err)
				}
			}
			b.ReportMetric(median(ratios), "on/off")
			b.ReportMetric(slices.Max(behind), "behind")
		})
	}
}
