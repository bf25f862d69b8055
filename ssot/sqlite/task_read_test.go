package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// Pages of a task are what a look at each entry gives, in a journal of several buckets: with and without what the tables do not have yet, for
// who writes and for who only reads.
func TestReadTask_buckets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 3<<bucketBits + 100
	var all []amp.Entry
	log, err := Open(t.Context(), dir, Options{Unindexed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	for from := 0; from < n; from += 500 {
		records := make([]amp.Record, min(500, n-from))
		for i := range records {
			k := from + i
			task := ssottest.Task(1 + k%3) // in every bucket
			switch {
			case k < 50 || k/(1<<bucketBits) == 2 && k%7 == 0:
				task = ssottest.Task(8) // in the first and the third
			case k == n-1 || k == n-900:
				task = ssottest.Task(9) // at the end
			}
			records[i] = ssottest.Raw(fmt.Sprint("id", k), task, fmt.Append(nil, "text ", k%5))
			if k%101 == 0 {
				records[i] = ssottest.Note(fmt.Sprint("id", k), task, "text")
			}
		}
		out, err := log.Append(t.Context(), records)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range out {
			all = append(all, a.Entry)
		}
	}
	read, err := OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	for _, flushed := range []bool{false, true} {
		if flushed {
			if err := log.writer.alone(t.Context(), (*writer).flush); err != nil {
				t.Fatal(err)
			}
		}
		for _, task := range []int{1, 8, 9, 10} {
			for _, f := range []amp.Filter{
				{},
				{Newest: true},
				{Limit: 60},
				{Newest: true, Limit: 60},
				{After: 40, Limit: 60},
				{Before: 40, Newest: true, Limit: 60},
				{After: 1 << bucketBits, Before: 3 << bucketBits},
				{After: 1<<bucketBits - 1, Before: 2<<bucketBits + 1, Newest: true},
				{After: n - 20},
				{Before: n - 20, Newest: true, Limit: 10},
				{After: n},
				{Before: 1},
				{Kinds: []amp.Kind{amp.KindCommand}, Newest: true, Limit: 30},
				{Text: "T 3", Limit: 90},
				{Text: "t 3", Kinds: []amp.Kind{amp.KindBus}},
			} {
				f.TaskID = ssottest.Task(task)
				for who, l := range map[string]*Log{"writer": log, "reader": read} {
					got, err := l.Read(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					if want := seqsIn(all, &f); !slices.Equal(seqsIn(got, &amp.Filter{}), want) {
						t.Errorf("%s, flushed %v, %+v: %d entries %v, want %d: %v", who, flushed, f, len(got), seqsIn(got, &amp.Filter{}), len(want), want)
					}
				}
			}
		}
	}
	before := dump(t, log)
	if r, err := log.Verify(t.Context(), nil); err != nil || r.Err(dir) != nil {
		t.Errorf("%+v, %v", r, err)
	}
	err = log.writer.alone(t.Context(), func(w *writer) error { return w.rebuild(context.Background(), true, nil) })
	if err != nil || dump(t, log) != before {
		t.Errorf("the tables made anew are others: %v", err)
	}
}

// seqsIn are the entries that a filter selects, in its order.
func seqsIn(all []amp.Entry, f *amp.Filter) (seqs []uint64) {
	if f.Newest {
		all = slices.Clone(all)
		slices.Reverse(all)
	}
	for i := range all {
		if ssot.Match(f, &all[i]) && len(seqs) < ssot.Limit(f) {
			seqs = append(seqs, all[i].Seq)
		}
	}
	return seqs
}

// What is remembered of the last entries is all of them or nothing, also when it begins anew and when the oldest are forgotten.
func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	rows := func(from, to uint64) (rows []tailRow) {
		for seq := from; seq < to; seq++ {
			rows = append(rows, tailRow{seq: seq, task: seq % 3})
		}
		return rows
	}
	check := func(low, high uint64, ok bool) {
		t.Helper()
		seqs, is := r.of(1, low, high)
		var want []uint64
		for seq := low + 1; ok && seq < high; seq++ {
			if seq%3 == 1 {
				want = append(want, seq)
			}
		}
		if is != ok || !slices.Equal(seqs, want) {
			t.Errorf("between %d and %d: %v, %v; want %v, %v", low, high, seqs, is, want, ok)
		}
	}
	check(0, 2, false)
	r.add(rows(10, 20))
	r.add(rows(15, 20)) // known
	r.add(nil)
	check(9, 20, true)
	check(12, 16, true)
	check(8, 20, false)
	check(9, 21, false)
	r.add(rows(15, 30))
	check(9, 30, true)
	r.add(rows(40, 50)) // a gap
	check(39, 50, true)
	check(38, 50, false)
	for from := uint64(50); from < 50+3*mostRecent; from += 1000 {
		r.add(rows(from, from+1000))
	}
	end := r.first + uint64(len(r.tasks))
	check(end-mostRecent-1, end, true)
	if len(r.tasks) > 2*mostRecent {
		t.Errorf("%d are kept", len(r.tasks))
	}
}
