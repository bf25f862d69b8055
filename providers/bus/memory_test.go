package bus

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"
)

func numbered(n int) (k Key) {
	binary.BigEndian.PutUint64(k[:], uint64(n))
	return k
}

// What is remembered has a bound, and the newest stay.
func TestMemory_bound(t *testing.T) {
	t.Parallel()
	m, now := newMemory(), time.Now()
	for n := range 2*maxSeen + maxSeen/2 {
		m.add(numbered(n), fmt.Sprint("x://", n%100), now)
	}
	if len(m.all) != maxSeen || len(m.ring) != maxSeen {
		t.Errorf("%d ids and %d places are held, want %d", len(m.all), len(m.ring), maxSeen)
	}
	for n, want := range map[int]bool{0: false, 3*maxSeen/2 - 1: false, 3 * maxSeen / 2: true, 5*maxSeen/2 - 1: true} {
		if _, known := m.get(numbered(n), time.Hour, now); known != want {
			t.Errorf("message %d: known is %v", n, known)
		}
	}
	last := numbered(5*maxSeen/2 - 1)
	if _, known := m.get(last, time.Hour, now.Add(time.Hour+time.Second)); known {
		t.Error("it is known after the window")
	}
	m.moved(last, "x://other")
	if to, known := m.holder(last); to != "x://other" || !known {
		t.Errorf("the holder is %q, %v", to, known)
	}
	m.forget(last)
	if _, known := m.get(last, time.Hour, now); known {
		t.Error("it is known after it was forgotten")
	}
}

// BenchmarkMemory says how many bytes are held for each id of a full memory that goes on.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := liveHeap()
		m := newMemory()
		for n := range 3 * maxSeen {
			m.add(numbered(n), fmt.Sprint("x://", n%100), time.Now())
		}
		b.ReportMetric(float64(liveHeap()-before)/maxSeen, "B/id")
		runtime.KeepAlive(m)
	}
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
