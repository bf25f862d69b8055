package postgres

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/projection"
	"arbiter/ssot/ssottest"
)

// What was folded behind a transaction that is not stored is forgotten with it, and what was only folded, without it.
func TestCache_revert(t *testing.T) {
	t.Parallel()
	c := newCache()
	fold := func(records ...amp.Record) {
		t.Helper()
		c.begin()
		for i := range records {
			if _, err := c.fold(&records[i], amp.Parse(&records[i])); err != nil {
				t.Fatal(err)
			}
		}
	}
	one, two, three := ssottest.Task(1), ssottest.Task(2), ssottest.Task(3)
	fold(ssottest.Submit("a", one), ssottest.Submit("b", two))
	c.fly()
	c.commit()
	board, numbers, usage, everything := projection.Board(c.board), maps.Clone(c.board.Numbers), c.usage, c.everything

	fold(ssottest.Note("c", one, "sent"), ssottest.Submit("d", three))
	c.fly()
	sent := projection.Board(c.board)
	fold(ssottest.Note("e", two, "ahead"), ssottest.Note("f", three, "ahead"))
	c.next, c.folded = &question{}, 2
	c.revertAhead()
	if got := projection.Board(c.board); got != sent {
		t.Errorf("without what was folded ahead the board is\n%s, want\n%s", got, sent)
	}
	if c.open || c.next != nil || c.folded != 0 || c.flying == nil || len(c.flying.entries) != 2 {
		t.Errorf("open %v, next %v, folded %d, flying %+v", c.open, c.next, c.folded, c.flying)
	}
	if _, there := c.tasks[three]; there || c.isNew(three) {
		t.Error("a task that was sent and gone on with ahead is taken for known, or for new: it is to be read again")
	}
	if _, there := c.tasks[one]; !there || c.board.Tasks[one] == nil {
		t.Error("the task that only what was sent changed is gone")
	}

	fold(ssottest.Note("e", two, "ahead"))
	c.revert()
	if got := projection.Board(c.board); got != board || !maps.Equal(c.board.Numbers, numbers) || c.usage != usage || c.everything != everything {
		t.Errorf("the board is\n%s, want\n%s", got, board)
	}
	if len(c.tasks) != 0 || len(c.board.Tasks) != 0 {
		t.Errorf("%d tasks are left that were touched, and %d states: they are to be read again", len(c.tasks), len(c.board.Tasks))
	}
	if c.open || c.flying != nil || c.isNew(one) || !c.isNew(three) {
		t.Errorf("open %v, flying %v, the stored task is new %v, the other %v", c.open, c.flying, c.isNew(one), c.isNew(three))
	}
}

// A writer that folds ahead while another one takes its head away, with ids that come twice, tasks that are new, records that are refused and
// commands that concern every task: each is stored once, in the order in which each producer waits for them, and the projections are the fold.
func TestAhead(t *testing.T) {
	t.Parallel()
	s := server(t)
	opts := Options{URL: s.URL(s.Schema())}
	log, other := open(t, opts), open(t, opts)
	const producers, each = 16, 40
	for i := range producers {
		put(t, log, ssottest.Submit(fmt.Sprint("s", i), ssottest.Task(1+i)))
	}
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			last := uint64(0)
			for i := range each {
				r := ssottest.Note(fmt.Sprint("n-", p, "-", i), ssottest.Task(1+(p+i)%producers), "what was said")
				refused := false
				switch k := p*each + i; {
				case k%23 == 5:
					r = ssottest.Submit(r.ID, ssottest.Task(100+k))
				case k%29 == 7:
					r = ssottest.Note(fmt.Sprint("twice-", k/58), ssottest.Task(1), "twice")
				case k%31 == 3:
					r.Body, refused = []byte(`{"id":`), true
				case k%160 == 11:
					r = ssottest.Everything(r.ID, []amp.CommandName{amp.StopAll, amp.Thaw}[i%2], ssottest.Start)
				}
				out, err := log.Append(t.Context(), []amp.Record{r})
				if err != nil || (out[0].Err != nil) != refused {
					t.Errorf("%s: %+v, %v", r.ID, out, err)
					return
				}
				if out[0].Fresh && out[0].Entry.Seq <= last {
					t.Errorf("%s is entry %d, after %d was waited for", r.ID, out[0].Entry.Seq, last)
				}
				last = max(last, out[0].Entry.Seq)
			}
		})
	}
	for i := range 20 {
		put(t, other, ssottest.Note(fmt.Sprint("other-", i), ssottest.Task(1+i%producers), "from elsewhere"))
	}
	wg.Wait()
	whole(t, log)
	whole(t, other)
}
