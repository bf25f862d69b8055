package coordinator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// choosy is a log that refuses every task_dispatch while it is closed to them.
type choosy struct {
	ssot.Log
	closed  atomic.Bool
	refused atomic.Int64
}

func (l *choosy) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if l.closed.Load() && len(records) == 1 && strings.HasPrefix(records[0].ID, string(amp.TaskDispatch)) {
		l.refused.Add(1)
		return []ssot.Appended{{Entry: amp.Entry{Record: records[0]}, Err: ssot.ErrInvalid}}, nil
	}
	return l.Log.Append(ctx, records)
}

// A record of ours that the store refuses is tried again once a second, not as fast as the machine can: requests are judged
// meanwhile, and everything goes on when the store takes it.
func TestStall_refusedRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log *choosy
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			log = &choosy{Log: c.Log}
			c.Log = log
		})
		log.closed.Store(true)
		id := r.task()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.want(id, amp.Dispatched)
		if n := log.refused.Load(); n < 5 || n > 15 {
			t.Errorf("refused %d times in 10 s, want about one a second", n)
		}
		log.closed.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}
