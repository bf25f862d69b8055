//go:build linux

package sqlite

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	"arbiter/ssot/ssottest"
)

// The benchmarks of this file are the promises about a journal of a million entries and ten thousand tasks, which
// ARBITER_BENCH_ENTRIES=1000000 makes; docs/benchmarks.md has the limits and the figures.

func init() { roles["left"] = playLeft }

// playLeft appends to a journal and stays, to be killed with a write-ahead log that nobody folded in.
func playLeft(args []string) error {
	log, err := Open(context.Background(), args[0], Options{Unindexed: true})
	if err != nil {
		return err
	}
	for i := range 300 {
		r := ssottest.Chatty(time.Now().UnixNano()/1000 + int64(i))
		if _, err := log.Append(context.Background(), []amp.Record{r}); err != nil {
			return err
		}
	}
	fmt.Println("left")
	return wait()
}

// copyJournal copies a journal, without its index of searches.
func copyJournal(b *testing.B, log *Log) string {
	b.Helper()
	dir := b.TempDir()
	if err := log.writeBackup(b.Context(), filepath.Join(dir, fileName), b.Context().Err); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkReady opens a long journal: again, after its pages were dropped from memory, and after a process that wrote it was killed.
// x_empty compares with opening a journal of one entry.
func BenchmarkReady(b *testing.B) {
	dir := copyJournal(b, longJournal(b, benchEntries(b)))
	small := b.TempDir()
	if err := few(small); err != nil {
		b.Fatal(err)
	}
	open := func(dir string, board bool) float64 {
		start := time.Now()
		log, err := Open(b.Context(), dir, Options{Unindexed: true})
		if err != nil {
			b.Fatal(err)
		}
		if board {
			if _, err := log.Board(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		took := time.Since(start)
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
		return took.Seconds() * 1000
	}
	for _, c := range []struct {
		name   string
		limit  float64
		before func()
		board  bool
	}{
		{"warm", 10, func() {}, false},
		{"cold", 100, func() { forget(b, filepath.Join(dir, fileName)) }, false},
		{"killed", 50, func() { leave(b, dir) }, false},
		{"board", 0, func() {}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var long, short []float64
			for b.Loop() {
				c.before()
				long, short = append(long, open(dir, c.board)), append(short, open(small, false))
			}
			b.ReportMetric(median(long), "p50-ms")
			b.ReportMetric(median(long)/median(short), "x_empty")
			b.ReportMetric(c.limit, "limit-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// forget drops a file from the memory of the system.
func forget(b *testing.B, path string) {
	b.Helper()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		b.Fatal(err)
	}
}

// leave lets a process write the journal and kills it.
func leave(b *testing.B, dir string) {
	b.Helper()
	c := child(b.Context(), "left", dir)
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	line := make([]byte, 16)
	if n, err := out.Read(line); string(line[:n]) != "left\n" {
		b.Fatalf("%q, %v", line[:n], err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
}

// BenchmarkScreen asks what screens ask of a journal, beside the board that they hold, alone and while 64 producers saturate the writer. The limits are 1 ms, and 5 ms for the
// slowest of a hundred beside the producers; x_row compares with the cheapest statement, one row by its seq.
func BenchmarkScreen(b *testing.B) {
	log := longJournal(b, benchEntries(b))
	n := benchEntries(b)
	task := newSample().task(n / 2) // making a sample takes longer than what is measured
	queries := map[string]func() error{
		"task_page": func() error {
			_, err := log.Read(b.Context(), amp.Filter{TaskID: task, Newest: true, Limit: 50})
			return err
		},
		"deadlines": func() error {
			return each(b, log, "SELECT task, due, msg_id FROM open_ack ORDER BY due LIMIT 100")
		},
		"keyset_page": func() error {
			_, err := log.Read(b.Context(), amp.Filter{Before: uint64(n / 2), Newest: true, Limit: 50})
			return err
		},
	}
	row := func() error {
		return each(b, log, "SELECT id, kind, actor FROM entry WHERE seq = 77")
	}
	for name, query := range queries {
		for _, producers := range []int{0, 64} {
			b.Run(fmt.Sprintf("%s/producers=%d", name, producers), func(b *testing.B) {
				ctx, stop := context.WithCancel(b.Context())
				var wg sync.WaitGroup
				var k atomic.Int64
				k.Store(time.Now().UnixNano() / 1000)
				for range producers {
					wg.Go(func() {
						for ctx.Err() == nil {
							if _, err := log.Append(b.Context(), []amp.Record{ssottest.Chatty(k.Add(1))}); err != nil {
								b.Error(err)
							}
						}
					})
				}
				var took, rows []float64
				for b.Loop() {
					for _, x := range []struct {
						to *[]float64
						f  func() error
					}{{&took, query}, {&rows, row}} {
						start := time.Now()
						if err := x.f(); err != nil {
							b.Fatal(err)
						}
						*x.to = append(*x.to, time.Since(start).Seconds()*1000)
					}
				}
				stop()
				wg.Wait()
				b.ReportMetric(median(took), "p50-ms")
				b.ReportMetric(took[(len(took)-1)*99/100], "p99-ms")
				b.ReportMetric(median(took)/median(rows), "x_row")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// each reads all rows of a statement.
func each(b *testing.B, log *Log, q string) error {
	rows, err := log.reader.QueryContext(b.Context(), q)
	if err != nil {
		return err
	}
	defer rows.Close()
	var x [3]any
	for rows.Next() {
		if err := rows.Scan(&x[0], &x[1], &x[2]); err != nil {
			return err
		}
	}
	return rows.Err()
}

// BenchmarkVerify verifies a long journal and compares with reading and hashing the same entries, at most 2, and with reading and
// hashing the bytes of the file.
func BenchmarkVerify(b *testing.B) {
	log := longJournal(b, min(benchEntries(b), 200_000))
	file := filepath.Join(copyJournal(b, log), fileName)
	var toRead, toFile []float64
	for b.Loop() {
		start := time.Now()
		r, err := log.Verify(b.Context(), nil)
		if err != nil || r.Err("journal") != nil {
			b.Fatalf("%+v, %v", r, err)
		}
		verified := time.Since(start)
		start = time.Now()
		for after := uint64(0); ; {
			page, err := log.Read(b.Context(), amp.Filter{After: after})
			if err != nil {
				b.Fatal(err)
			}
			for i := range page {
				if page[i].Sum() != page[i].Hash {
					b.Fatal(page[i].Seq)
				}
				after = page[i].Seq
			}
			if len(page) < ssot.MaxPage {
				break
			}
		}
		read := time.Since(start)
		toRead = append(toRead, verified.Seconds()/read.Seconds())
		toFile = append(toFile, verified.Seconds()/hashFile(b, file).Seconds())
	}
	b.ReportMetric(median(toRead), "x_read_and_hash")
	b.ReportMetric(2, "limit")
	b.ReportMetric(median(toFile), "x_file")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGrowth appends about new tasks to a journal of a thousand entries and to a long one by turns: the rates are the same within 10 %.
func BenchmarkGrowth(b *testing.B) {
	long := longJournal(b, benchEntries(b))
	short := benchLog(b, 1000)
	var k atomic.Int64
	k.Store(time.Now().UnixNano() / 1000)
	var ratios []float64
	for b.Loop() {
		var rates [2]float64
		for i, log := range []*Log{short, long} {
			rates[i] = rate(8, 300*time.Millisecond, func() {
				r := ssottest.Chatty(k.Add(1))
				r.TaskID = amp.TaskID("T-2027-" + string(r.TaskID[len(r.TaskID)-3:])) // new ones in both: a task costs with what it went through
				if out, err := log.Append(b.Context(), []amp.Record{r}); err != nil || out[0].Err != nil {
					b.Error(out, err)
				}
			})
		}
		ratios = append(ratios, rates[1]/rates[0])
	}
	b.ReportMetric(median(ratios), "long/short")
	b.ReportMetric(0.9, "limit")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSize reports the bytes on the disk for each byte of a body: at most 1.35 for the journal with bodies of 2 KB; and those of
// the index of searches.
func BenchmarkSize(b *testing.B) {
	for name, record := range map[string]func(int) amp.Record{
		"bodies=2KB": uneven, "bodies=sample": newSample().record,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				dir := b.TempDir()
				log, err := Open(b.Context(), dir, Options{})
				if err != nil {
					b.Fatal(err)
				}
				bodies, n := 0, min(benchEntries(b), 50_000)
				for part := range slices.Chunk(numbers(n), 500) {
					records := make([]amp.Record, len(part))
					for i, k := range part {
						records[i] = record(k)
						bodies += len(records[i].Body)
					}
					if _, err := log.Append(b.Context(), records); err != nil {
						b.Fatal(err)
					}
				}
				if err := log.Index(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := log.Close(); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(size(filepath.Join(dir, fileName)))/float64(bodies), "journal/bodies")
				b.ReportMetric(float64(size(filepath.Join(dir, searchName)))/float64(bodies), "index/bodies")
				b.ReportMetric(float64(bodies)/float64(n), "B/body")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// uneven is a record with a body of 2 KB on average, of which few are very long, as those of agents are.
func uneven(n int) amp.Record {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	length := int(1700 * math.Exp(0.6*r.NormFloat64()))
	task := ssottest.Task(1 + n%64)
	return ssottest.Note(ssottest.Chatty(int64(n)).ID, task, strings.Repeat(ssottest.ChattyText, 1+length/len(ssottest.ChattyText))[:length])
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
