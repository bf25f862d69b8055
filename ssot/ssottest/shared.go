package ssottest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
)

// long is a lease that does not lapse during a test, brief one that has nearly lapsed when it is given out.
const (
	long  = time.Hour
	brief = time.Millisecond
)

// RunShared tests what a store promises to several coordinators, beside what Run tests. open returns two handles on one empty
// journal of its own for each call, as two coordinators have them, and closes them when the test ends; they may be the same.
func RunShared(t *testing.T, open func(t *testing.T) (a, b ssot.Shared)) {
	for name, test := range map[string]func(t *testing.T, a, b ssot.Shared){
		"Append/one_order":             testOneOrder,
		"Append/both_fold":             testBothFold,
		"AppendJudged/fresh":           testJudged,
		"AppendJudged/stale":           testStale,
		"AppendJudged/stale_for_all":   testStaleForAll,
		"AppendJudged/stale_no_task":   testStaleNoTask,
		"AppendJudged/fenced":          testFenced,
		"AppendJudged/fenced_by_lapse": testFencedByLapse,
		"AppendJudged/sent_again":      testSentAgain,
		"AppendJudged/sent_in_part":    testSentInPart,
		"AppendJudged/other_entry":     testOtherEntry,
		"AppendJudged/one_wins":        testOneWins,
		"AppendJudged/bad_records":     testJudgedBad,
		"AppendJudged/cancelled":       testJudgedCancelled,
		"Grown/waits":                  testGrown,
		"Grown/follows":                testGrownFollows,
		"Leases/take":                  testTake,
		"Leases/limit":                 testTakeLimit,
		"Leases/lapse":                 testLapse,
		"Leases/renew":                 testRenew,
		"Leases/release":               testRelease,
		"Leases/owners":                testOwners,
		"Leases/above_the_journal":     testEpochAboveJournal,
		"Leases/rivals":                testRivals,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			test(t, a, b)
		})
	}
}

// take wants owner to get a lease on every one of the tasks.
func take(t *testing.T, log ssot.Leases, owner string, ttl time.Duration, tasks ...amp.TaskID) []ssot.Lease {
	t.Helper()
	got, err := log.Take(t.Context(), owner, ttl, len(tasks), tasks)
	if err != nil || len(got) != len(tasks) {
		t.Fatalf("%s took %d leases of %v, %v; want all", owner, len(got), tasks, err)
	}
	for i, l := range got {
		if l.Task != tasks[i] || l.Owner != owner || l.Epoch == 0 {
			t.Fatalf("%s took %+v, want a lease on %s", owner, l, tasks[i])
		}
	}
	return got
}

// takeLapsed takes a lease that another owner let lapse; when that is, only the store's clock says.
func takeLapsed(t *testing.T, log ssot.Leases, owner string, ttl time.Duration, task amp.TaskID) ssot.Lease {
	t.Helper()
	for {
		got, err := log.Take(t.Context(), owner, ttl, 1, []amp.TaskID{task})
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 1 {
			return got[0]
		}
	}
}

// judged appends records judged at seq under leases, each of which must be stored and fresh.
func judged(t *testing.T, log ssot.Shared, seq uint64, held []ssot.Lease, records ...amp.Record) []amp.Entry {
	t.Helper()
	out, err := log.AppendJudged(t.Context(), under(seq, held...), records)
	if err != nil || len(out) != len(records) {
		t.Fatalf("AppendJudged at %d: %d answers, %v", seq, len(out), err)
	}
	entries := make([]amp.Entry, len(out))
	for i, a := range out {
		if a.Err != nil || !a.Fresh {
			t.Fatalf("record %s: fresh %v, err %v", records[i].ID, a.Fresh, a.Err)
		}
		entries[i] = a.Entry
	}
	return entries
}

func under(seq uint64, held ...ssot.Lease) ssot.Judged {
	j := ssot.Judged{Seq: seq, Epochs: map[amp.TaskID]uint64{}}
	for _, l := range held {
		j.Epochs[l.Task] = l.Epoch
	}
	return j
}

// refused wants an AppendJudged to fail and to store nothing.
func refused(t *testing.T, log ssot.Shared, j ssot.Judged, want error, records ...amp.Record) {
	t.Helper()
	before := headOf(t, log)
	out, err := log.AppendJudged(t.Context(), j, records)
	wantErr(t, fmt.Sprintf("AppendJudged at %d under %v", j.Seq, j.Epochs), err, want)
	if err != nil && out != nil {
		t.Errorf("a refused append answered %+v", out)
	}
	if after := headOf(t, log); after != before {
		t.Errorf("a refused append moved the head from %d to %d", before.Seq, after.Seq)
	}
}

// What was judged on an entry that the journal does not have is not stored.
func testOtherEntry(t *testing.T, a, b ssot.Shared) {
	all := appendAll(t, a, Submit("s", Task(1)), Note("n", Task(1), "x"), Note("n2", Task(1), "y"))
	for i, e := range all {
		j := ssot.Judged{Seq: e.Seq, Hash: e.Hash}
		j.Hash[0]++
		before := headOf(t, b)
		_, err := b.AppendJudged(t.Context(), j, []amp.Record{Submit(fmt.Sprint("wrong-", i), Task(20+i))})
		if x, ok := errors.AsType[*ssot.DamagedError](err); !ok || x.Seq != e.Seq {
			t.Errorf("judged on another entry %d: %v", e.Seq, err)
		}
		if after := headOf(t, b); after != before {
			t.Errorf("it moved the head from %d to %d", before.Seq, after.Seq)
		}
		j.Hash = e.Hash
		if _, err := a.AppendJudged(t.Context(), j, []amp.Record{Submit(fmt.Sprint("right-", i), Task(30+i))}); err != nil {
			t.Errorf("judged on entry %d: %v", e.Seq, err)
		}
	}
}

func headOf(t *testing.T, log ssot.Log) amp.Head {
	t.Helper()
	h, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func testOneOrder(t *testing.T, a, b ssot.Shared) {
	const producers, each = 4, 25
	var wg sync.WaitGroup
	for p := range producers {
		for w, log := range []ssot.Shared{a, b} {
			wg.Go(func() {
				for i := range each {
					id := fmt.Sprintf("%d-%d-%d", w, p, i)
					out, err := log.Append(t.Context(), []amp.Record{Note(id, Task(1+i%5), "x"), Note("same-"+fmt.Sprint(i), Task(9), "")})
					if err != nil || !out[0].Fresh || out[0].Err != nil || out[1].Err != nil {
						t.Errorf("%s: %+v, %v", id, out, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	if h := headOf(t, a); h != headOf(t, b) || h.Seq != 2*producers*each+each {
		t.Errorf("the heads are %v and %v, want %d entries", h, headOf(t, b), 2*producers*each+each)
	}
	check(t, a)
	check(t, b)
}

// testBothFold lets two writers take turns on the same tasks, so that each folds onto what the other wrote.
func testBothFold(t *testing.T, a, b ssot.Shared) {
	logs := []ssot.Shared{a, b}
	for n := 1; n <= 3; n++ {
		at := Start.Add(time.Duration(n) * time.Minute)
		for i, r := range []amp.Record{
			Submit(fmt.Sprintf("s%d", n), Task(n)), Propose(fmt.Sprintf("p%d", n), Task(n), "Plan"), Approve(fmt.Sprintf("a%d", n), Task(n)),
			Dispatch(Task(n), at), Turn(fmt.Sprintf("t%d", n), Task(n), "run", amp.TurnStarted), Result(Task(n), at.Add(time.Second)),
			Alarm(Task(n), at.Add(2*time.Second)), Everything(fmt.Sprintf("thaw%d", n), amp.Thaw, at.Add(3*time.Second)),
			Turn(fmt.Sprintf("e%d", n), Task(n), "run", amp.TurnEnded), Note(fmt.Sprintf("n%d", n), Task(1), ""),
			Refusal(fmt.Sprintf("r%d", n), Task(50+n), []byte("x")), Submit(fmt.Sprintf("late%d", n), Task(50+n)),
		} {
			appendAll(t, logs[(i+n)%2], r)
			check(t, logs[i%2])
		}
	}
	check(t, a)
	check(t, b)
}

func testJudged(t *testing.T, a, b ssot.Shared) {
	held := take(t, a, "ada", long, Task(1), Task(2))
	e := judged(t, a, 0, held, Submit("s", Task(1)), Note("n", Task(1), ""), Submit("s2", Task(2)))
	if e[2].Seq != 3 {
		t.Errorf("the third record is entry %d", e[2].Seq)
	}
	// Records of one call are no reason to refuse each other, nor are entries of other tasks or of none, nor a refusal of another.
	appendAll(t, b, Note("other", Task(3), ""), Raw("none", "", []byte("x")), Refusal("r", Task(4), []byte("x")))
	judged(t, a, 3, held[:1], Note("n2", Task(1), ""))
	judged(t, b, 7, nil, Note("admin", Task(1), "by another coordinator, without a lease"))
	judged(t, b, 0, nil, Raw("bus", "", []byte("of no task")))
	check(t, b)
}

func testStale(t *testing.T, a, b ssot.Shared) {
	held := take(t, a, "ada", long, Task(1))
	judged(t, a, 0, held, Submit("s", Task(1)))
	appendAll(t, b, Note("note", Task(1), "by an admin elsewhere"))
	refused(t, a, under(1, held...), ssot.ErrStale, Note("new", Task(1), ""))
	refused(t, a, under(1, held...), ssot.ErrStale, Note("free", Task(2), ""), Note("new", Task(1), ""))
	judged(t, a, 2, held, Note("free", Task(2), ""), Note("new", Task(1), ""))
	refused(t, a, under(3, held...), ssot.ErrStale, Note("again", Task(1), "its own entry is one too"))
	check(t, a)
}

func testStaleForAll(t *testing.T, a, b ssot.Shared) {
	appendAll(t, a, Submit("s", Task(1)))
	at := Start.Add(time.Minute)
	for i, r := range []amp.Record{
		Everything("stop", amp.StopAll, at), Everything("stop again", amp.StopAll, at), Everything("thaw", amp.Thaw, at.Add(time.Minute)),
		Alarm(Task(7), at.Add(2*time.Minute)), Everything("thaw2", amp.Thaw, at.Add(3*time.Minute)),
	} {
		seq := headOf(t, a).Seq
		appendAll(t, b, r)
		refused(t, a, under(seq), ssot.ErrStale, Note(fmt.Sprintf("n%d", i), Task(1), ""))
		refused(t, a, under(seq), ssot.ErrStale, Note(fmt.Sprintf("m%d", i), Task(30), "a task that is not known yet"))
		judged(t, a, seq+1, nil, Note(fmt.Sprintf("n%d", i), Task(1), ""))
	}
	check(t, a)
}

// testStaleNoTask: an entry that no board shows a task for is one about that task all the same.
func testStaleNoTask(t *testing.T, a, b ssot.Shared) {
	appendAll(t, b, Refusal("r", Task(5), []byte("x")))
	refused(t, a, under(0), ssot.ErrStale, Submit("s", Task(5)))
	judged(t, a, 1, nil, Submit("s", Task(5)))
	check(t, a)
}

func testFenced(t *testing.T, a, b ssot.Shared) {
	old := take(t, a, "ada", brief, Task(1))[0]
	won := takeLapsed(t, b, "bob", long, Task(1))
	if won.Epoch <= old.Epoch {
		t.Errorf("the next owner has epoch %d after %d", won.Epoch, old.Epoch)
	}
	refused(t, a, under(0, old), ssot.ErrFenced, Submit("s", Task(1)))
	// The lease counts, whatever the records are about, and who is fenced is told so before it is told that it is stale.
	refused(t, a, under(0, old), ssot.ErrFenced, Submit("s", Task(2)))
	judged(t, b, 0, []ssot.Lease{won}, Submit("s", Task(1)))
	refused(t, a, under(0, old), ssot.ErrFenced, Note("n", Task(1), ""))
	never := ssot.Lease{Task: Task(3), Owner: "ada", Epoch: won.Epoch + 10}
	refused(t, a, under(1, never), ssot.ErrFenced, Note("n", Task(3), ""))
	refused(t, a, under(1, won, never), ssot.ErrFenced, Note("n", Task(1), ""))
	check(t, b)
}

// testFencedByLapse: a lease that lapsed is not held, also while nobody else wants it.
func testFencedByLapse(t *testing.T, a, _ ssot.Shared) {
	old := take(t, a, "ada", brief, Task(1))[0]
	for {
		live, err := a.Owners(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(live) == 0 {
			break
		}
	}
	refused(t, a, under(0, old), ssot.ErrFenced, Submit("s", Task(1)))
}

func testSentAgain(t *testing.T, a, b ssot.Shared) {
	held := take(t, a, "ada", long, Task(1))
	judged(t, a, 0, held, Submit("s", Task(1)), Note("n", Task(1), ""))
	if err := a.Release(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	won := take(t, b, "bob", long, Task(1))
	judged(t, b, 2, won, Note("later", Task(1), ""))
	appendAll(t, b, Everything("stop", amp.StopAll, Start))
	out, err := a.AppendJudged(t.Context(), under(0, held...), []amp.Record{Submit("s", Task(1)), Note("n", Task(1), "")})
	if err != nil {
		t.Fatalf("the same records again, after the lease was lost: %v", err)
	}
	for i, a := range out {
		if a.Fresh || a.Err != nil || a.Entry.Seq != uint64(i)+1 {
			t.Errorf("record %d sent again: %+v, want entry %d, known", i, a, i+1)
		}
	}
	out, err = a.AppendJudged(t.Context(), under(0, held...), []amp.Record{Note("n", Task(1), "other bytes")})
	if err != nil || !errors.Is(out[0].Err, ssot.ErrConflict) || out[0].Entry.Seq != 2 {
		t.Errorf("the id with other bytes: %+v, %v; want a conflict with entry 2", out, err)
	}
	check(t, a)
}

// testSentInPart: records of which only some are stored are judged, and all or none of the others are stored.
func testSentInPart(t *testing.T, a, b ssot.Shared) {
	judged(t, a, 0, nil, Submit("s", Task(1)))
	appendAll(t, b, Note("other", Task(1), ""))
	refused(t, a, under(0), ssot.ErrStale, Submit("s", Task(1)), Note("n", Task(1), ""))
	out, err := a.AppendJudged(t.Context(), under(2), []amp.Record{Submit("s", Task(1)), Note("n", Task(1), ""), Note("n", Task(1), "")})
	if err != nil || out[0].Fresh || !out[1].Fresh || out[2].Fresh || out[1].Entry.Seq != 3 || out[2].Entry.Seq != 3 {
		t.Errorf("a known record, a new one and the same again: %+v, %v", out, err)
	}
	check(t, a)
}

// testOneWins lets many judge at the same head: exactly one of them is stored, and the others are told.
func testOneWins(t *testing.T, a, b ssot.Shared) {
	const judges, rounds = 6, 8
	for n := range rounds {
		seq := headOf(t, a).Seq
		won := make([]bool, judges)
		var wg sync.WaitGroup
		for i := range judges {
			log := []ssot.Shared{a, b}[i%2]
			wg.Go(func() {
				out, err := log.AppendJudged(t.Context(), under(seq), []amp.Record{Note(fmt.Sprintf("%d-%d", n, i), Task(1), "")})
				if err != nil && !errors.Is(err, ssot.ErrStale) {
					t.Errorf("judge %d: %v", i, err)
				}
				won[i] = err == nil && out[0].Fresh
			})
		}
		wg.Wait()
		count := 0
		for _, w := range won {
			if w {
				count++
			}
		}
		if count != 1 {
			t.Fatalf("round %d: %d of %d judgements at entry %d were stored, want 1", n, count, judges, seq)
		}
	}
	check(t, a)
}

func testJudgedBad(t *testing.T, a, _ ssot.Shared) {
	out, err := a.AppendJudged(t.Context(), under(0), []amp.Record{
		{Kind: amp.KindPlan, TaskID: Task(1), ID: "bad", Body: []byte("[]")}, Submit("s", Task(1)), {ID: "no kind"},
	})
	if err != nil || !errors.Is(out[0].Err, ssot.ErrInvalid) || !out[1].Fresh || !errors.Is(out[2].Err, ssot.ErrInvalid) {
		t.Errorf("a record between two that do not fold: %+v, %v", out, err)
	}
	check(t, a)
}

func testJudgedCancelled(t *testing.T, a, _ ssot.Shared) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.AppendJudged(ctx, under(0), []amp.Record{Note("n", Task(1), "")}); err == nil {
		t.Error("AppendJudged with a cancelled context succeeded")
	}
	wantErr(t, "Grown with a cancelled context", a.Grown(ctx, 0), context.Canceled)
	_, err := a.Take(ctx, "ada", long, 1, []amp.TaskID{Task(1)})
	wantErr(t, "Take with a cancelled context", err, context.Canceled)
	check(t, a)
}

func testGrown(t *testing.T, a, b ssot.Shared) {
	appendAll(t, a, Note("n", Task(1), ""))
	if err := b.Grown(t.Context(), 0); err != nil {
		t.Errorf("Grown behind the head: %v", err)
	}
	grown := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for headOf(t, b).Seq < 2 { // it may return early
			if err := b.Grown(ctx, 1); err != nil {
				grown <- err
				return
			}
		}
		grown <- nil
	}()
	appendAll(t, a, Note("n2", Task(1), ""))
	if err := <-grown; err != nil {
		t.Errorf("Grown at the head: %v", err)
	}
	go func() { grown <- b.Grown(ctx, 1000) }()
	cancel()
	if err := <-grown; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Grown with a context that ends: %v", err)
	}
}

// testGrownFollows lets a reader of one handle see everything that is written by the other.
func testGrownFollows(t *testing.T, a, b ssot.Shared) {
	const n = 60
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := range n {
			if _, err := a.Append(t.Context(), []amp.Record{Note(fmt.Sprint(i), Task(1), "")}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer writing.Wait()
	var all []amp.Entry
	for len(all) < n {
		if err := b.Grown(t.Context(), uint64(len(all))); err != nil {
			t.Fatal(err)
		}
		page, err := b.Read(t.Context(), amp.Filter{After: uint64(len(all))})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
	}
	if err := CheckChain(all); err != nil {
		t.Error(err)
	}
}

func testTake(t *testing.T, a, b ssot.Shared) {
	held := take(t, a, "ada", long, Task(1), Task(2))
	got, err := b.Take(t.Context(), "bob", long, 10, []amp.TaskID{Task(1), Task(2), Task(3)})
	if err != nil || len(got) != 1 || got[0].Task != Task(3) {
		t.Errorf("bob took %+v, %v; want the free one", got, err)
	}
	again := take(t, a, "ada", 2*long, Task(1))[0]
	if again.Epoch != held[0].Epoch || !again.Until.After(held[0].Until) {
		t.Errorf("a lease that is taken again is %+v, want epoch %d and longer than %s", again, held[0].Epoch, held[0].Until)
	}
	if got, err := a.Take(t.Context(), "ada", long, 5, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing to take: %+v, %v", got, err)
	}
	twice, err := a.Take(t.Context(), "ada", long, 5, []amp.TaskID{Task(8), Task(8)})
	if err != nil || len(twice) == 0 || twice[0].Epoch != twice[len(twice)-1].Epoch {
		t.Errorf("a task that is named twice: %+v, %v; want one epoch", twice, err)
	}
}

func testTakeLimit(t *testing.T, a, b ssot.Shared) {
	take(t, b, "bob", long, Task(1))
	got, err := a.Take(t.Context(), "ada", long, 2, []amp.TaskID{Task(1), Task(4), Task(2), Task(3)})
	if err != nil || len(got) != 2 || got[0].Task != Task(4) || got[1].Task != Task(2) {
		t.Errorf("ada took %+v, %v; want the first two that are free", got, err)
	}
	if got, err := a.Take(t.Context(), "ada", long, 0, []amp.TaskID{Task(3)}); err != nil || len(got) != 0 {
		t.Errorf("none of one: %+v, %v", got, err)
	}
}

func testLapse(t *testing.T, a, b ssot.Shared) {
	last := uint64(0)
	for i := range 5 {
		log, owner := a, "ada"
		if i%2 == 1 {
			log, owner = b, "bob"
		}
		l := takeLapsed(t, log, owner, brief, Task(1))
		if l.Epoch <= last {
			t.Errorf("lease %d has epoch %d after %d", i, l.Epoch, last)
		}
		last = l.Epoch
	}
	// The same owner too gets a new epoch once its lease has lapsed: what it did not prolong it has lost.
	for range 2 {
		for {
			live, err := a.Owners(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(live) == 0 {
				break
			}
		}
		l := takeLapsed(t, a, "ada", brief, Task(1))
		if l.Epoch <= last {
			t.Errorf("a lapsed lease was taken again with epoch %d after %d", l.Epoch, last)
		}
		last = l.Epoch
	}
}

func testRenew(t *testing.T, a, b ssot.Shared) {
	kept := take(t, a, "ada", long, Task(1), Task(2))
	lost := take(t, a, "ada", brief, Task(3))[0]
	takeLapsed(t, b, "bob", long, Task(3))
	forged := kept[1]
	forged.Epoch++
	other := kept[1]
	other.Owner = "bob"
	got, err := a.Renew(t.Context(), 2*long, []ssot.Lease{kept[0], lost, forged, other, {Task: Task(9), Owner: "ada", Epoch: 1}})
	if err != nil || len(got) != 1 || got[0].Task != Task(1) || got[0].Epoch != kept[0].Epoch || !got[0].Until.After(kept[0].Until) {
		t.Errorf("renewed %+v, %v; want the first one only, and longer", got, err)
	}
	if got, err := a.Renew(t.Context(), long, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing to renew: %+v, %v", got, err)
	}
}

func testRelease(t *testing.T, a, b ssot.Shared) {
	held := take(t, a, "ada", long, Task(1), Task(2))
	if err := a.Release(t.Context(), held[:1]); err != nil {
		t.Fatal(err)
	}
	won := take(t, b, "bob", long, Task(1))[0]
	if won.Epoch <= held[0].Epoch {
		t.Errorf("after a release the epoch is %d, it was %d", won.Epoch, held[0].Epoch)
	}
	if err := a.Release(t.Context(), held[:1]); err != nil { // it is bob's now
		t.Fatal(err)
	}
	if err := a.Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	judged(t, b, 0, []ssot.Lease{won}, Submit("s", Task(1)))
	refused(t, a, under(1, held[0]), ssot.ErrFenced, Note("n", Task(1), ""))
}

func testOwners(t *testing.T, a, b ssot.Shared) {
	want := []ssot.Lease{take(t, b, "bob", long, Task(2))[0], take(t, a, "ada", long, Task(3))[0]}
	want = append(take(t, a, "ada", long, Task(1)), want...)
	gone := take(t, a, "ada", long, Task(4))
	if err := a.Release(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	got, err := b.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the owners (-want +got):\n%s", d)
	}
}

// testEpochAboveJournal: an epoch that the journal tells of is never given out again.
func testEpochAboveJournal(t *testing.T, a, b ssot.Shared) {
	started := amp.Turn{TurnID: "run", Event: amp.TurnStarted, TaskID: Task(1), Role: amp.Executor, Agent: "scripted", Epoch: 4711}
	appendAll(t, a, Submit("s", Task(1)), record(amp.KindTurn, amp.Executor, "scripted", "t", Task(1), started))
	got := take(t, b, "bob", long, Task(2), Task(1))
	if got[1].Epoch <= 4711 {
		t.Errorf("the lease has epoch %d, the journal tells of 4711", got[1].Epoch)
	}
}

// testRivals lets many owners take, write and give back: no lease is ever held twice.
func testRivals(t *testing.T, a, b ssot.Shared) {
	const owners, rounds = 6, 15
	var mu sync.Mutex
	last, taken := map[amp.TaskID]uint64{}, 0
	var wg sync.WaitGroup
	for i := range owners {
		log := []ssot.Shared{a, b}[i%2]
		wg.Go(func() {
			for range rounds {
				got, err := log.Take(t.Context(), fmt.Sprint("owner-", i), long, 2, []amp.TaskID{Task(1 + i%3), Task(1 + (i+1)%3), Task(3)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, l := range got {
					if l.Epoch <= last[l.Task] {
						t.Errorf("task %s was given out with epoch %d after %d", l.Task, l.Epoch, last[l.Task])
					}
					last[l.Task] = l.Epoch
					taken++
				}
				mu.Unlock()
				if err := log.Release(t.Context(), got); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if taken == 0 {
		t.Error("no lease was given out")
	}
}
