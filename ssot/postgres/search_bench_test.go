package postgres

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// BenchmarkSearch measures what a search of 50 entries takes, with the index and without it, in a journal of as many entries as
// ARBITER_BENCH_ENTRIES says, 20,000 when it says nothing. Words are as unevenly common as those of people.
func BenchmarkSearch(b *testing.B) {
	n := 20_000
	if text := os.Getenv("ARBITER_BENCH_ENTRIES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	s := syncing(b)
	log := open(b, Options{URL: s.URL("ours")})
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 20_000)
	records := make([]amp.Record, 0, 500)
	for i := range n {
		var text strings.Builder
		for range 40 {
			fmt.Fprintf(&text, "word%d ", zipf.Uint64())
		}
		if i == n/3 {
			text.WriteString("needle")
		}
		records = append(records, ssottest.Note(fmt.Sprint("n", i), ssottest.Task(1+i%64), text.String()))
		if len(records) == cap(records) || i == n-1 {
			put(b, log, records...)
			records = records[:0]
		}
	}
	searches := []string{"word3", "word900", "needle", "word7 needle", "nothing", `"word1 word2"`}
	report := map[string]float64{} // the loop forgets what was reported before it
	measure := func(name string) {
		for _, text := range searches {
			f := ssottest.Search(b, text)
			f.Newest, f.Limit = true, 50
			var took []float64
			for range 5 {
				began := time.Now()
				if _, err := log.Read(b.Context(), f); err != nil {
					b.Fatal(err)
				}
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			report["ms/"+name+"/"+strings.ReplaceAll(strings.Trim(text, `"`), " ", "_")] = median(took)
		}
	}
	measure("scan")
	began := time.Now()
	indexing := open(b, Options{URL: s.URL("ours"), Index: true})
	for indexing.Indexed() < uint64(n) {
		time.Sleep(10 * time.Millisecond)
	}
	report["indexed/s"] = float64(n) / time.Since(began).Seconds()
	var size int64
	if err := conn(b, s.URL("ours")).QueryRow(b.Context(), "SELECT pg_total_relation_size('search_chunk') + pg_total_relation_size('search_sheet')").Scan(&size); err != nil {
		b.Fatal(err)
	}
	report["B/entry"] = float64(size) / float64(n)
	for b.Loop() {
		measure("index")
	}
	for name, v := range report {
		b.ReportMetric(v, name)
	}
	b.ReportMetric(0, "ns/op")
}
