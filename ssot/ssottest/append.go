package ssottest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
)

func testEmpty(t *testing.T, log ssot.Log) {
	head, err := log.Head(t.Context())
	if err != nil || head != (amp.Head{}) {
		t.Errorf("Head of an empty log = %v, %v; want the zero head", head, err)
	}
	check(t, log)
}

func testChain(t *testing.T, log ssot.Log) {
	var head amp.Head
	for i := range 20 {
		var batch []amp.Record
		for j := range i%4 + 1 {
			batch = append(batch, Note(fmt.Sprintf("n-%d-%d", i, j), Task(1+i%3), "x"))
		}
		for _, e := range appendAll(t, log, batch...) {
			if e.Seq != head.Seq+1 || e.PrevHash != head.Hash || e.Hash != e.Sum() {
				t.Fatalf("entry %d after %d: prev %s, hash %s, sum %s", e.Seq, head.Seq, e.PrevHash, e.Hash, e.Sum())
			}
			head = amp.Head{Seq: e.Seq, Hash: e.Hash}
		}
		if got, err := log.Head(t.Context()); err != nil || got != head {
			t.Fatalf("Head = %v, %v; want %v", got, err, head)
		}
	}
	check(t, log)
}

func testBytes(t *testing.T, log ssot.Log) {
	bodies := map[string][]byte{
		"empty":   {},
		"nul":     []byte("a\x00b\x00"),
		"no_utf8": {0xff, 0xfe, 0x00, 0x80},
		"spaces":  []byte(" { \"b\" : 1.0 ,\n\t\"a\":\"\\u00e9\" } \r\n"),
		"big":     bytes.Repeat([]byte("0123456789abcdef"), 1<<16),
		"page":    bytes.Repeat([]byte("x"), 8192),
	}
	for name, body := range bodies {
		e := appendAll(t, log, Raw(name, Task(1), body))[0]
		if !bytes.Equal(e.Body, body) {
			t.Errorf("%s: Append answered %d other bytes", name, len(e.Body))
		}
	}
	for name, body := range bodies {
		got, err := log.Read(t.Context(), amp.Filter{ID: name})
		if err != nil || len(got) != 1 || !bytes.Equal(got[0].Body, body) {
			t.Errorf("%s: read back %d entries, %v; want the %d bytes that were stored", name, len(got), err, len(body))
		}
	}
	check(t, log)
}

func testHeader(t *testing.T, log ssot.Log) {
	zone := time.FixedZone("UTC+5:30", 19800)
	r := amp.Record{
		Kind: amp.KindBus, TaskID: "T-2026-0001", Role: "réviseur", Actor: "a\x00b\n\u202e", ID: "weird id ☃",
		At: time.Date(2026, 12, 31, 23, 59, 59, 987654321, zone), Body: []byte("b"),
	}
	first := appendAll(t, log, r)[0]
	appendAll(t, log, amp.Record{Kind: amp.KindBus, ID: "bare", Body: []byte("b")})
	got, err := log.Read(t.Context(), amp.Filter{ID: r.ID})
	if err != nil || len(got) != 1 {
		t.Fatalf("Read = %d entries, %v", len(got), err)
	}
	want := r
	want.At = time.Date(2026, 12, 31, 18, 29, 59, 987000000, time.UTC)
	if d := cmp.Diff(want, got[0].Record); d != "" {
		t.Errorf("the record that was read (-want +got):\n%s", d)
	}
	if d := cmp.Diff(first, got[0]); d != "" {
		t.Errorf("Append and Read disagree (-append +read):\n%s", d)
	}
	check(t, log)
}

func testRepeat(t *testing.T, log ssot.Log) {
	r := Note("once", Task(1), "hello")
	first := appendAll(t, log, r, Note("between", Task(1), ""))[0]
	again := r
	again.At, again.Actor = r.At.Add(time.Hour), "somebody else"
	out, err := log.Append(t.Context(), []amp.Record{again, Note("new", Task(1), ""), r})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 2} {
		if out[i].Fresh || out[i].Err != nil {
			t.Errorf("repeat %d: fresh %v, err %v; want a known entry", i, out[i].Fresh, out[i].Err)
		}
		if d := cmp.Diff(first, out[i].Entry); d != "" {
			t.Errorf("repeat %d is not the first entry (-first +got):\n%s", i, d)
		}
	}
	if !out[1].Fresh || out[1].Entry.Seq != 3 {
		t.Errorf("the new record between two repeats: fresh %v, seq %d; want true, 3", out[1].Fresh, out[1].Entry.Seq)
	}
	twice, err := log.Append(t.Context(), []amp.Record{Note("twin", Task(1), ""), Note("twin", Task(1), "")})
	if err != nil || !twice[0].Fresh || twice[1].Fresh || twice[0].Entry.Seq != twice[1].Entry.Seq {
		t.Errorf("the same record twice in one call: %+v, %v; want fresh, then known, at one seq", twice, err)
	}
	check(t, log)
}

func testConflict(t *testing.T, log ssot.Log) {
	stored := appendAll(t, log, Note("id", Task(1), "hello"))[0]
	kind := Note("id", Task(1), "hello")
	kind.Kind = amp.KindBus
	out, err := log.Append(t.Context(), []amp.Record{
		Note("before", Task(1), ""), Note("id", Task(1), "other"), Note("after", Task(2), ""), kind,
		Note("after", Task(2), "changed"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 3, 4} {
		wantErr(t, fmt.Sprintf("record %d", i), out[i].Err, ssot.ErrConflict)
		if out[i].Fresh {
			t.Errorf("record %d is fresh in spite of its conflict", i)
		}
	}
	if d := cmp.Diff(stored, out[1].Entry); d != "" {
		t.Errorf("a conflict does not show what is stored (-stored +got):\n%s", d)
	}
	if !out[0].Fresh || !out[2].Fresh || out[0].Entry.Seq != 2 || out[2].Entry.Seq != 3 {
		t.Errorf("the records beside the conflict: %+v and %+v; want seq 2 and 3", out[0], out[2])
	}
	check(t, log)
}

func testInvalid(t *testing.T, log ssot.Log) {
	bad := map[string]amp.Record{
		"body":        {Kind: amp.KindCommand, TaskID: Task(1), ID: "bad-body", Body: []byte("{not json")},
		"two_bodies":  {Kind: amp.KindPlan, TaskID: Task(1), ID: "bad-two", Body: []byte("{}{}")},
		"AMP-001":     {Kind: amp.KindMessage, TaskID: Task(1), ID: "bad-message", Body: []byte(`{"msg_id":"x"}`)},
		"kind":        {Kind: "rumour", TaskID: Task(1), ID: "bad-kind", Body: []byte("{}")},
		"no_task":     {Kind: amp.KindPlan, ID: "bad-task", Body: []byte("{}")},
		"no_kind":     {TaskID: Task(1), ID: "bad-empty", Body: []byte("{}")},
		"no_id":       {Kind: amp.KindBus, TaskID: Task(1), Body: []byte("{}")},
		"actor":       {Kind: amp.KindBus, TaskID: Task(1), ID: "bad-actor", Actor: "\xff", Body: []byte("{}")},
		"id":          {Kind: amp.KindBus, TaskID: Task(1), ID: "\xff", Body: []byte("{}")},
		"year":        {Kind: amp.KindBus, TaskID: Task(1), ID: "bad-year", At: Start.AddDate(9000, 0, 0), Body: []byte("{}")},
		"body_length": {Kind: amp.KindBus, TaskID: Task(1), ID: "bad-len", Body: make([]byte, ssot.MaxBody+1)},
	}
	n := 0
	for name, r := range bad {
		n++
		good := []amp.Record{Submit(fmt.Sprintf("s-%d", n), Task(10+n)), Note(fmt.Sprintf("g-%d", n), Task(1), "")}
		out, err := log.Append(t.Context(), []amp.Record{good[0], r, r, good[1]})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, i := range []int{1, 2} {
			wantErr(t, name, out[i].Err, ssot.ErrInvalid)
		}
		if !out[0].Fresh || !out[3].Fresh {
			t.Errorf("%s: the records beside it were not stored: %+v, %+v", name, out[0], out[3])
		}
	}
	// A task that only invalid records named does not exist, and its first valid record starts it.
	out, err := log.Append(t.Context(), []amp.Record{
		{Kind: amp.KindPlan, TaskID: Task(99), ID: "bad", Body: []byte("[]")}, Submit("good", Task(99)),
	})
	if err != nil || out[0].Err == nil || !out[1].Fresh {
		t.Errorf("an invalid record and then a valid one of the same task: %+v, %v", out, err)
	}
	check(t, log)
}

func testNothing(t *testing.T, log ssot.Log) {
	if out, err := log.Append(t.Context(), nil); err != nil || len(out) != 0 {
		t.Errorf("Append of nothing = %v, %v", out, err)
	}
	check(t, log)
}

func testOwnBytes(t *testing.T, log ssot.Log) {
	body := []byte("abcdef")
	e := appendAll(t, log, Raw("r", Task(1), body))[0]
	body[0] = 'X'
	e.Body[1] = 'X'
	got, err := log.Read(t.Context(), amp.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	got[0].Body[2] = 'X'
	again, err := log.Read(t.Context(), amp.Filter{})
	if err != nil || string(again[0].Body) != "abcdef" {
		t.Errorf("after callers changed their slices the body is %q, %v", again[0].Body, err)
	}
}

func testConcurrent(t *testing.T, log ssot.Log) {
	const producers, each = 8, 40
	seqs := make([][]uint64, producers)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				batch := []amp.Record{Note(fmt.Sprintf("p%d-%d", p, i), Task(1+p%3), "a")}
				if i%3 == 0 {
					batch = append(batch, Note(fmt.Sprintf("p%d-%d+", p, i), Task(1+i%5), "b"))
				}
				out, err := log.Append(t.Context(), batch)
				if err != nil {
					t.Errorf("producer %d: %v", p, err)
					return
				}
				for k, a := range out {
					if !a.Fresh || a.Err != nil || a.Entry.ID != batch[k].ID {
						t.Errorf("producer %d: answer %d is %+v", p, k, a)
					}
					seqs[p] = append(seqs[p], a.Entry.Seq)
				}
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for p, list := range seqs {
		for i, s := range list {
			if seen[s] || i > 0 && s <= list[i-1] {
				t.Errorf("producer %d: seq %d is repeated or out of order", p, s)
			}
			seen[s] = true
		}
	}
	if head, err := log.Head(t.Context()); err != nil || int(head.Seq) != len(seen) {
		t.Errorf("head is %d, %v; %d records were acknowledged", head.Seq, err, len(seen))
	}
	check(t, log)
}

func testConcurrentRepeats(t *testing.T, log ssot.Log) {
	const producers, each = 8, 30
	var mu sync.Mutex
	fresh := map[string]int{}
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for i := range each {
				r := Note(fmt.Sprintf("same-%d", i), Task(1), "")
				out, err := log.Append(t.Context(), []amp.Record{r})
				if err != nil || out[0].Err != nil {
					t.Errorf("%s: %v, %+v", r.ID, err, out)
					return
				}
				if out[0].Fresh {
					mu.Lock()
					fresh[r.ID]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for id, n := range fresh {
		if n != 1 {
			t.Errorf("%s was fresh %d times", id, n)
		}
	}
	if len(fresh) != each {
		t.Errorf("%d ids were fresh, want %d", len(fresh), each)
	}
	check(t, log)
}

func testCancelled(t *testing.T, log ssot.Log) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Append(ctx, []amp.Record{Note("n", Task(1), "")}); err == nil {
		t.Error("Append with a cancelled context succeeded")
	}
	_, err := log.Read(ctx, amp.Filter{})
	wantErr(t, "Read with a cancelled context", err, context.Canceled)
	_, err = log.Head(ctx)
	wantErr(t, "Head with a cancelled context", err, context.Canceled)
	if head, err := log.Head(t.Context()); err != nil || head.Seq != 0 {
		t.Errorf("after a cancelled append the head is %d, %v; want 0", head.Seq, err)
	}
	appendAll(t, log, Note("n", Task(1), ""))
	check(t, log)
}

func testRefusal(t *testing.T, log ssot.Log) {
	raw := []byte("\xff\x00{\"msg_id\": " + strings.Repeat("[", 100))
	r := Refusal("refused-1", Task(7), raw)
	appendAll(t, log, r, Submit("s", Task(7)), Refusal("refused-2", Task(7), raw))
	got, err := log.Read(t.Context(), amp.Filter{Kinds: []amp.Kind{amp.KindRefusal}, TaskID: Task(7)})
	if err != nil || len(got) != 2 {
		t.Fatalf("the error log has %d refusals, %v; want 2", len(got), err)
	}
	f, err := amp.DecodeBody[amp.Refusal](&got[0])
	if err != nil || !bytes.Equal(f.Raw, raw) {
		t.Errorf("the raw bytes are %q, %v; want %q", f.Raw, err, raw)
	}
	check(t, log)
}
