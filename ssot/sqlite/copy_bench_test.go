//go:build linux

package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	driver "modernc.org/sqlite"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// copyEntries is how long the journal of the benchmarks below is, 20,000 entries, or what ARBITER_BENCH_COPY says.
func copyEntries() int {
	if n, err := strconv.Atoi(os.Getenv("ARBITER_BENCH_COPY")); err == nil {
		return n
	}
	return 20_000
}

func benchLog(b *testing.B, n int) *Log {
	b.Helper()
	log, err := Open(b.Context(), b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	})
	for from := 0; from < n; from += 500 {
		records := make([]amp.Record, 0, 500)
		for i := from; i < min(from+500, n); i++ {
			records = append(records, ssottest.Chatty(int64(i)))
		}
		if _, err := log.Append(b.Context(), records); err != nil {
			b.Fatal(err)
		}
	}
	return log
}

// hashFile is the limit: the same bytes, read and hashed.
func hashFile(b *testing.B, path string) time.Duration {
	b.Helper()
	start := time.Now()
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(sha256.New(), f); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkExport exports, verifies, imports and copies a journal, each as a ratio to reading and hashing the bytes of the export.
func BenchmarkExport(b *testing.B) {
	n := copyEntries()
	log := longJournal(b, n)
	path := filepath.Join(b.TempDir(), "all.jsonl")
	took := map[string]time.Duration{}
	timed := func(name string, f func() error) {
		start := time.Now()
		if err := f(); err != nil {
			b.Fatal(name, err)
		}
		took[name] += time.Since(start)
	}
	for b.Loop() {
		out, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		timed("export", func() error {
			_, err := ssot.Export(b.Context(), log, out, ssot.Part{}, nil)
			return err
		})
		if err := out.Close(); err != nil {
			b.Fatal(err)
		}
		took["hash"] += hashFile(b, path)
		in, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		timed("verify", func() error {
			_, err := ssot.VerifyExport(b.Context(), in, nil)
			return err
		})
		timed("import", func() error {
			to, err := Open(b.Context(), b.TempDir(), Options{Unindexed: true})
			if err != nil {
				return err
			}
			if _, err := in.Seek(0, io.SeekStart); err != nil {
				return err
			}
			if _, err := ssot.Import(b.Context(), to, in, nil); err != nil {
				return err
			}
			return to.Close()
		})
		timed("copy", func() error {
			to, err := Open(b.Context(), b.TempDir(), Options{Unindexed: true})
			if err != nil {
				return err
			}
			if _, _, err := ssot.Copy(b.Context(), log, to, nil); err != nil {
				return err
			}
			return to.Close()
		})
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for _, name := range []string{"export", "verify", "import", "copy"} {
		b.ReportMetric(float64(n*b.N)/took[name].Seconds(), name+"/s")
		b.ReportMetric(float64(took[name])/float64(took["hash"]), name+"/hash")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBackup writes backups by SQLite's backup API and by VACUUM INTO while 4 producers append, and reports the appends meanwhile
// as a ratio to those without a backup, the longest append, and how far the write-ahead log grew.
func BenchmarkBackup(b *testing.B) {
	log := benchLog(b, copyEntries())
	alone, _ := appendsDuring(b, log, 1_000_000, func() error { time.Sleep(2 * time.Second); return nil })
	for name, backup := range map[string]func(string) error{
		"backup":      func(path string) error { return log.writeBackup(b.Context(), path, b.Context().Err) },
		"one_read":    func(path string) error { return log.copyPages(b.Context(), path) },
		"vacuum_into": func(path string) error { return vacuumInto(b.Context(), log.path, path) },
	} {
		b.Run(name, func(b *testing.B) {
			var rate float64
			var longest, took time.Duration
			i := 0
			for b.Loop() {
				i++
				path := filepath.Join(b.TempDir(), fmt.Sprint(i))
				start := time.Now()
				r, l := appendsDuring(b, log, 2_000_000+1_000_000*(i+len(name)*100), func() error { return backup(path) })
				took += time.Since(start)
				rate, longest = rate+r, max(longest, l)
			}
			b.ReportMetric(rate/float64(b.N)/alone, "appends/alone")
			b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
			b.ReportMetric(took.Seconds()/float64(b.N), "s/backup")
			if st, err := os.Stat(log.path + "-wal"); err == nil {
				b.ReportMetric(float64(st.Size()>>20), "wal-MB")
			}
		})
	}
}

// appendsDuring appends with 4 producers until f returns: how many a second, and the longest append.
func appendsDuring(b *testing.B, log *Log, from int, f func() error) (rate float64, longest time.Duration) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for p := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				start := time.Now()
				if _, err := log.Append(b.Context(), []amp.Record{ssottest.Chatty(int64(from + p + 4*i))}); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				n++
				longest = max(longest, time.Since(start))
				mu.Unlock()
			}
		})
	}
	start := time.Now()
	err := f()
	took := time.Since(start)
	stop()
	wg.Wait()
	if err != nil {
		b.Fatal(err)
	}
	return float64(n) / took.Seconds(), longest
}

// vacuumInto is the other way of a backup.
func vacuumInto(ctx context.Context, from, to string) error {
	db, err := sql.Open("sqlite", dsn(from, "mode=ro&_busy_timeout=2000"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// copyPages is the backup API in one read transaction.
func (l *Log) copyPages(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(l.path, "mode=ro&_busy_timeout=2000"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	if _, err := head(ctx, c); err != nil { // the first read fixes the moment
		return err
	}
	err = c.Raw(func(raw any) error {
		b, err := raw.(interface {
			NewBackup(to string) (*driver.Backup, error)
		}).NewBackup(dsn(path, ""))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = b.Step(1024); err == nil {
				err = ctx.Err()
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		return err
	}
	_, err = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return err
}
