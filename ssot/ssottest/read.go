package ssottest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
)

// fill appends a mix of facts and returns the entries.
func fill(t *testing.T, log ssot.Log) []amp.Entry {
	t.Helper()
	var records []amp.Record
	for n := 1; n <= 4; n++ {
		records = append(records, Submit(fmt.Sprintf("submit-%d", n), Task(n)), Propose(fmt.Sprintf("plan-%d", n), Task(n), "Größe 100%_ A"),
			Turn(fmt.Sprintf("turn-%d", n), Task(n), fmt.Sprintf("run-%d", n), amp.TurnStarted),
			Refusal(fmt.Sprintf("refusal-%d", n), Task(n+2), []byte("nonsense")))
	}
	records = append(records, Raw("no-task", "", []byte("Straße KELVIN \u212a ÄÖÜ 50%_off\x00hidden Text")), Raw("bytes", "", []byte{0xff, 'A', 0xfe}))
	return appendAll(t, log, records...)
}

func testFilters(t *testing.T, log ssot.Log) {
	all := fill(t, log)
	for name, f := range map[string]amp.Filter{
		"all":               {},
		"after":             {After: 5},
		"before":            {Before: 5},
		"between":           {After: 3, Before: 9},
		"after_end":         {After: 1000},
		"before_first":      {Before: 1},
		"empty_range":       {After: 5, Before: 6},
		"crossed":           {After: 9, Before: 3},
		"task":              {TaskID: Task(3)},
		"unknown_task":      {TaskID: Task(77)},
		"other_form":        {TaskID: "T-2026-0001"},
		"kind":              {Kinds: []amp.Kind{amp.KindPlan}},
		"kinds":             {Kinds: []amp.Kind{amp.KindPlan, amp.KindRefusal}},
		"unknown_kind":      {Kinds: []amp.Kind{"rumour"}},
		"task_and_kind":     {TaskID: Task(3), Kinds: []amp.Kind{amp.KindRefusal}},
		"id":                {ID: "plan-2"},
		"unknown_id":        {ID: "plan-22"},
		"id_and_other_task": {ID: "plan-2", TaskID: Task(1)},
		"id_after":          {ID: "plan-2", After: 20},
		"id_and_text":       {ID: "plan-2", Text: "größe"},
		"text":              {Text: "hello"},
		"text_case":         {Text: "HELLO"},
		"text_wildcards":    {Text: "100%_"},
		"text_percent":      {Text: "%"},
		"text_beyond_ascii": {Text: "GRÖSSE"},
		"text_umlaut":       {Text: "äöü"},
		"text_ascii_only":   {Text: "kelvin k"},
		"text_after_nul":    {Text: "HIDDEN text"},
		"text_no_utf8":      {Text: "a"},
		"text_and_task":     {Text: "größe", TaskID: Task(2)},
		"text_nowhere":      {Text: "not to be found"},
		"text_range":        {Text: "hello", After: 2, Before: 12},
	} {
		for _, newest := range []bool{false, true} {
			for _, limit := range []int{0, 1, 2, 3, 5000} {
				f := f
				f.Newest, f.Limit = newest, limit
				got, err := log.Read(t.Context(), f)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if d := cmp.Diff(selected(all, f), got); d != "" {
					t.Errorf("%s, newest %v, limit %d (-want +got):\n%s", name, newest, limit, d)
				}
			}
		}
	}
}

// selected is what a filter must give.
func selected(all []amp.Entry, f amp.Filter) []amp.Entry {
	var out []amp.Entry
	for _, e := range all {
		if ssot.Match(&f, &e) {
			out = append(out, e)
		}
	}
	if f.Newest {
		slices.Reverse(out)
	}
	return out[:min(len(out), ssot.Limit(&f))]
}

func testLimit(t *testing.T, log ssot.Log) {
	const n = ssot.MaxPage + 50
	records := make([]amp.Record, n)
	for i := range records {
		records[i] = Raw(fmt.Sprintf("r%d", i), Task(1+i%2), []byte("x"))
	}
	appendAll(t, log, records...)
	for name, c := range map[string]struct {
		f     amp.Filter
		n     int
		first uint64
	}{
		"none":     {amp.Filter{}, ssot.MaxPage, 1},
		"negative": {amp.Filter{Limit: -1}, ssot.MaxPage, 1},
		"too_much": {amp.Filter{Limit: 100000}, ssot.MaxPage, 1},
		"most":     {amp.Filter{Limit: ssot.MaxPage, Newest: true}, ssot.MaxPage, n},
		"ten":      {amp.Filter{Limit: 10, After: 7}, 10, 8},
		"rest":     {amp.Filter{After: ssot.MaxPage}, 50, ssot.MaxPage + 1},
		"text":     {amp.Filter{Text: "X"}, ssot.MaxPage, 1},
	} {
		got, err := log.Read(t.Context(), c.f)
		if err != nil || len(got) != c.n || got[0].Seq != c.first {
			t.Errorf("%s: %d entries, %v; want %d from %d", name, len(got), err, c.n, c.first)
		}
	}
}

// testSparse looks for needles in a journal that is longer than what a store looks through at once.
func testSparse(t *testing.T, log ssot.Log) {
	const n = 12000
	needles := []uint64{3, 1999, 2000, 2001, 4999, 5000, 5001, 5002, 6999, 7000, 7001, n}
	newest := slices.Clone(needles)
	slices.Reverse(newest)
	for from := 0; from < n; from += 2000 {
		records := make([]amp.Record, 2000)
		for i := range records {
			records[i] = Raw(fmt.Sprintf("r%d", from+i), "", []byte("hay"))
			if k := uint64(from + i + 1); slices.Contains(needles, k) {
				records[i] = Note(fmt.Sprintf("needle-%d", k), Task(1), "Nädle")
			}
		}
		appendAll(t, log, records...)
	}
	for name, c := range map[string]struct {
		f    amp.Filter
		want []uint64
	}{
		"kind":        {amp.Filter{Kinds: []amp.Kind{amp.KindCommand}}, needles},
		"kind_newest": {amp.Filter{Kinds: []amp.Kind{amp.KindCommand}, Newest: true}, newest},
		"limit":       {amp.Filter{Kinds: []amp.Kind{amp.KindCommand}, Newest: true, Limit: 2}, newest[:2]},
		"text":        {amp.Filter{Text: "NÄDLE", After: 3}, needles[1:]},
		"ascii":       {amp.Filter{Text: "DLE", Before: 5002}, needles[:7]},
		"task":        {amp.Filter{TaskID: Task(1)}, needles},
		"task_newest": {amp.Filter{TaskID: Task(1), Newest: true, Before: n}, newest[1:]},
		"task_text":   {amp.Filter{TaskID: Task(1), Text: "nädle", Limit: 3, After: 2000}, needles[3:6]},
		"nothing":     {amp.Filter{Text: "pin", Newest: true}, nil},
	} {
		got, err := log.Read(t.Context(), c.f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var seqs []uint64
		for _, e := range got {
			seqs = append(seqs, e.Seq)
		}
		if !slices.Equal(seqs, c.want) {
			t.Errorf("%s: found %v, want %v", name, seqs, c.want)
		}
	}
}

func testClose(t *testing.T, log ssot.Log) {
	appendAll(t, log, Note("n", Task(1), ""))
	if err := log.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	wantErr(t, "second Close", log.Close(), ssot.ErrClosed)
	_, err := log.Append(t.Context(), []amp.Record{Note("m", Task(1), "")})
	wantErr(t, "Append after Close", err, ssot.ErrClosed)
	_, err = log.Read(t.Context(), amp.Filter{})
	wantErr(t, "Read after Close", err, ssot.ErrClosed)
	_, err = log.Head(t.Context())
	wantErr(t, "Head after Close", err, ssot.ErrClosed)
	if b, ok := log.(ssot.Boarder); ok {
		_, err = b.Board(t.Context())
		wantErr(t, "Board after Close", err, ssot.ErrClosed)
	}
}

// testCloseWaits closes a log under its producers: each append either ended well before, or says that the log is closed.
func testCloseWaits(t *testing.T, log ssot.Log) {
	started := make(chan struct{}, 8)
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				out, err := log.Append(t.Context(), []amp.Record{Note(fmt.Sprintf("p%d-%d", p, i), Task(1), "")})
				if err != nil {
					wantErr(t, "Append beside Close", err, ssot.ErrClosed)
					return
				}
				if !out[0].Fresh {
					t.Errorf("an acknowledged record is not fresh: %+v", out[0])
				}
				if i == 2 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 8 {
		<-started
	}
	if err := log.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	wg.Wait()
}

func testBoard(t *testing.T, log ssot.Log) {
	check(t, log)
	fill(t, log)
	check(t, log)
	appendAll(t, log, Turn("end", Task(1), "run-1", amp.TurnEnded), Submit("late", Task(3)), Raw("x", Task(9), nil))
	check(t, log)
}

func testEverything(t *testing.T, log ssot.Log) {
	for n := 1; n <= 5; n++ {
		appendAll(t, log, Submit(fmt.Sprintf("s%d", n), Task(n)))
	}
	appendAll(t, log, Turn("t1", Task(2), "run", amp.TurnStarted))
	appendAll(t, log, Note("a", Task(1), ""), Everything("stop", amp.StopAll, Start.Add(time.Minute)), Note("b", Task(1), ""))
	check(t, log)
	appendAll(t, log, Everything("thaw", amp.Thaw, Start.Add(time.Hour)))
	check(t, log)
	appendAll(t, log, Everything("stop2", amp.StopAll, Start.Add(2*time.Hour)), Everything("thaw2", amp.Thaw, Start.Add(3*time.Hour)))
	check(t, log)
}

// testRound takes tasks through the messages of a round.
func testRound(t *testing.T, log ssot.Log) {
	at := Start
	for n := 1; n <= 3; n++ {
		task := Task(n)
		d := Dispatch(task, at)
		appendAll(t, log, Submit(fmt.Sprint("s", n), task), Propose(fmt.Sprint("p", n), task, "Hello"), Approve(fmt.Sprint("a", n), task))
		appendAll(t, log, d)
		check(t, log)
		if n == 2 {
			continue // its dispatch stays open
		}
		appendAll(t, log, Ack(fmt.Sprint("ack", n), task, d.ID, amp.Executor))
		check(t, log)
		appendAll(t, log, Result(task, at.Add(time.Second)))
		check(t, log)
	}
	board, err := ssot.Fold(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	if one, two := board.Task(Task(1)), board.Task(Task(2)); one.Status != amp.Verifying || two.Status != amp.Dispatched ||
		len(two.Open) != 1 {
		t.Errorf("the tasks are %s and %s with %d open ACKs; want verifying and dispatched with one", one.Status, two.Status,
			len(two.Open))
	}
	appendAll(t, log, Alarm(Task(3), at.Add(time.Minute)))
	check(t, log)
	appendAll(t, log, Everything("thaw", amp.Thaw, at.Add(time.Hour)))
	check(t, log)
}

func testBoardOwned(t *testing.T, log ssot.Log) {
	b, ok := log.(ssot.Boarder)
	if !ok {
		t.Skip("the store keeps no projection")
	}
	fill(t, log)
	board, err := b.Board(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	board.Tasks[Task(1)].Title = "changed by its owner"
	delete(board.Tasks, Task(2))
	board.Order = nil
	check(t, log)
}

// testPrefix appends random facts in random batches: at each point the board is the fold of all entries.
func testPrefix(t *testing.T, log ssot.Log) {
	r := rand.New(rand.NewPCG(1, 2))
	at := Start
	for i := range 60 {
		var batch []amp.Record
		for j := range 1 + r.IntN(5) {
			at = at.Add(time.Duration(1+r.IntN(3)) * time.Millisecond)
			f := Any(r, fmt.Sprintf("f-%d-%d", i, j), at)
			batch = append(batch, f)
		}
		if _, err := log.Append(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			check(t, log)
		}
	}
}

func testFollow(t *testing.T, log ssot.Log) {
	const n = 300
	wake := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(wake)
		for i := range n {
			if _, err := log.Append(t.Context(), []amp.Record{Raw(fmt.Sprintf("r%d", i), "", []byte("x"))}); err != nil {
				t.Error(err)
				return
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	})
	last := uint64(0)
	err := ssot.Follow(t.Context(), log, 0, wake, func(page []amp.Entry) error {
		for _, e := range page {
			if last++; e.Seq != last {
				t.Errorf("entry %d came, want %d", e.Seq, last)
			}
		}
		return nil
	})
	wg.Wait()
	if err != nil || last != n {
		t.Errorf("the follower ended at %d with %v, want %d", last, err, n)
	}
}

func testFollowEnds(t *testing.T, log ssot.Log) {
	fill(t, log)
	stop := errors.New("enough")
	calls := 0
	err := ssot.Follow(t.Context(), log, 2, nil, func(page []amp.Entry) error {
		if calls++; page[0].Seq != 3 {
			t.Errorf("the first entry after 2 is %d", page[0].Seq)
		}
		return stop
	})
	if wantErr(t, "Follow whose batch fails", err, stop); calls != 1 {
		t.Errorf("batch was called %d times after its error", calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = ssot.Follow(ctx, log, 0, nil, func([]amp.Entry) error { cancel(); return nil })
	wantErr(t, "Follow with a cancelled context", err, context.Canceled)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	err = ssot.Follow(t.Context(), log, 0, nil, func([]amp.Entry) error { return nil })
	wantErr(t, "Follow of a closed log", err, ssot.ErrClosed)
}
