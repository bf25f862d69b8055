package github_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/github"
)

// longLog is a journal of any length that holds nothing but the hashes of its entries: their content follows from their seq.
type longLog struct {
	ssot.Log
	hashes []amp.Hash
}

func newLongLog(n int) *longLog {
	l := &longLog{hashes: make([]amp.Hash, 1, n+1)}
	for seq := 1; seq <= n; seq++ {
		l.hashes = append(l.hashes, amp.Head{Seq: uint64(seq - 1), Hash: l.hashes[seq-1]}.Chain(l.record(seq)).Hash)
	}
	return l
}

var longBody = strings.Repeat("a quiet word or two of what an agent says all day; ", 16)

func (l *longLog) record(seq int) amp.Record {
	body := fmt.Sprintf(`{"type":"bus","n":%d,"text":%q}`, seq, longBody[seq%100:])
	return bus("long-"+strconv.Itoa(seq), body)
}

func (l *longLog) Head(context.Context) (amp.Head, error) {
	n := len(l.hashes) - 1
	return amp.Head{Seq: uint64(n), Hash: l.hashes[n]}, nil
}

func (l *longLog) Read(_ context.Context, f amp.Filter) (out []amp.Entry, err error) {
	limit := f.Limit
	if limit == 0 {
		limit = ssot.MaxPage
	}
	for seq := int(f.After) + 1; seq < len(l.hashes) && len(out) < limit && (f.Before == 0 || seq < int(f.Before)); seq++ {
		out = append(out, amp.Head{Seq: uint64(seq - 1), Hash: l.hashes[seq-1]}.Chain(l.record(seq)))
	}
	return out, nil
}

// Board is the fold of all of it: nothing but the head, since no entry has a task.
func (l *longLog) Board(ctx context.Context) (*amp.Board, error) {
	b := amp.NewBoard()
	var err error
	b.Head, err = l.Head(ctx)
	return b, err
}

// backlogVar is how many entries the backlog of the test has; 1000000 takes minutes.
const backlogVar = "ARBITER_MIRROR_BACKLOG"

// A backlog of any length is caught up with a bounded number of requests, each of a bounded size, and in bounded memory.
func TestMirror_backlog(t *testing.T) {
	t.Parallel()
	n := 10_000
	if v := os.Getenv(backlogVar); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	w.log = newLongLog(n)
	w.cfg.Log, w.cfg.Logger = w.log, nil
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	w.cfg.Changed = func(amp.MirrorState) {
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
	}
	m := w.mirror()
	begin := time.Now()
	w.push(m)
	took := time.Since(begin)
	requests, largest, written := w.hub.Requests(), 0, 0
	for _, r := range requests {
		largest = max(largest, r.Size)
		if r.Written && r.Method != http.MethodGet {
			written += r.Size
		}
	}
	perThousand := float64(len(requests)) * 1000 / float64(n)
	t.Logf("%d entries of %d bytes: %d requests, %.2f for 1,000 entries; the largest has %d bytes, all %d MB; heap at most %d MB above the start; %s",
		n, len(l0(w).Body), len(requests), perThousand, largest, written>>20, peak>>20, took.Round(time.Millisecond))
	if len(requests) > 10+n/1000 { // ten to begin with, and less than one for 1,000 entries
		t.Errorf("%d requests for a backlog of %d entries", len(requests), n)
	}
	if largest > 6<<20 {
		t.Errorf("a request has %d bytes", largest)
	}
	files, err := w.repo.Files("main")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]int{}
	for name, data := range files {
		folders[name[:max(0, strings.LastIndex(name, "/"))]]++
		if strings.HasPrefix(name, "entries/") && len(data) > 1<<20+1<<16 {
			t.Errorf("%s has %d bytes", name, len(data))
		}
	}
	for dir, count := range folders {
		if count > 1000 {
			t.Errorf("%s has %d rows", dir, count)
		}
	}
	dir := w.repo.Dir
	r, err := github.Compare(t.Context(), w.log, w.open(dir), github.Checks{})
	if err != nil || r.Difference != nil || r.Agree != uint64(n) {
		t.Errorf("%+v %v", r, err)
	}
}

func l0(w *world) amp.Record { return w.log.(*longLog).record(1) }

// An entry of the greatest size goes out, and comes back.
func TestMirror_greatEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.grow(1)
	w.append(bus("great", strings.Repeat("\x01\"", 1<<20)), bus("great too", strings.Repeat("\xff", 3<<20)))
	w.grow(1)
	w.push(w.mirror())
	w.compare()
	if missing, err := w.open(w.repo.Dir).Missing(t.Context(), nil); err != nil || missing != nil {
		t.Errorf("a restore: %v, %v", missing, err)
	}
}
