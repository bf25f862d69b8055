package coordinator

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// otherPast is a shared store that lost entries and got others in their place once moved is set, as a server does that was restored from an
// older copy while others went on.
type otherPast struct {
	ssot.Shared
	moved atomic.Bool
}

func (o *otherPast) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	page, err := o.Shared.Read(ctx, f)
	if o.moved.Load() {
		for i := range page {
			page[i].PrevHash[0]++
		}
	}
	return page, err
}

// A coordinator does not go on over a journal with another past than the one that it knows, whatever the numbers of entries say.
func TestCatchUp_otherPast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 1, everybody(works), everybody(judges(amp.Approved)))
		k.stop()
		past := &otherPast{Shared: k.log.(ssot.Shared)}
		m := k.members[0]
		m.cfg.Log = past
		m.start(t)
		synctest.Wait()
		before, _ := past.Head(t.Context())
		past.moved.Store(true)
		if _, err := past.Append(t.Context(), []amp.Record{ssottest.Note("other", "", "of another past")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case err := <-m.done:
			if d, is := errors.AsType[*ssot.DamagedError](err); !is || d.Seq != before.Seq+1 {
				t.Errorf("it ended with %v", err)
			}
			m.done <- nil
		default:
			t.Error("it goes on")
		}
	})
}
