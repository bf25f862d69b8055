package coordinator

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
)

// newTestTeam is a member of a team on a store in memory.
func newTestTeam(owner string, log ssot.Shared) *team {
	return newTeam(&Config{Owner: owner, Lease: 30 * time.Second, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, log)
}

// takes asks the store for tasks, as one does who is about to work on them.
func (m *team) takes(t *testing.T, ids ...amp.TaskID) {
	t.Helper()
	sent := time.Now()
	got, err := m.log.Take(t.Context(), m.owner, m.ttl, len(ids), ids)
	if err != nil || len(got) != len(ids) {
		t.Fatalf("took %v of %v: %v", got, ids, err)
	}
	m.enter(got, sent, time.Now())
}

// owners are who has which task, as the store has it.
func (m *team) owners(t *testing.T) (list []string) {
	t.Helper()
	all, err := m.log.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		list = append(list, string(l.Task)+" "+l.Owner)
	}
	slices.Sort(list)
	return list
}

// A task that is taken again before its lease went back to the store is not given away behind the back of its work.
func TestTenure_takenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newTestTeam("a", memory.New())
		m.takes(t, "T-1", "T-2")
		m.leave("T-1")
		m.leave("T-2")
		m.takes(t, "T-1")
		if err := m.giveBack(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := m.owners(t); !slices.Equal(got, []string{"T-1 a"}) || m.tenure("T-1") == nil || m.tenure("T-2") != nil {
			t.Errorf("the store says %v; held here: %v; want T-1 by both", got, m.tasks())
		}
		if err := m.quit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A lease that lapsed here stays lost, whatever a renewal says that was under way; taking the task brings it back.
func TestTenure_renewedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newTestTeam("a", memory.New())
		m.takes(t, "T-1")
		first := m.tenure("T-1")
		time.Sleep(27 * time.Second)
		synctest.Wait()
		sent := time.Now()
		kept, err := m.log.Renew(t.Context(), m.ttl, []ssot.Lease{first.Lease})
		if err != nil || len(kept) != 1 {
			t.Fatalf("the store renews %v, %v, want one: it is not over there", kept, err)
		}
		m.prolong(kept, sent, time.Now())
		if m.tenure("T-1") != nil || first.ctx.Err() == nil || !slices.Equal(m.changed(), []amp.TaskID{"T-1"}) {
			t.Error("the task is held again, without having been taken")
		}
		m.takes(t, "T-1")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if h := m.tenure("T-1"); h == nil || h.Epoch != first.Epoch {
			t.Errorf("taken again: %+v, want the lease of before", h)
		}
		if err := m.quit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// On a machine that stood still the timers of its leases may fire after everything else: what lapsed meanwhile is lost all the same.
func TestTenure_stoodStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newTestTeam("a", memory.New())
		m.takes(t, "T-1")
		h := m.tenure("T-1")
		h.timer.Stop()
		time.Sleep(24 * time.Second)
		if m.tenure("T-1") != h || h.lost() {
			t.Error("it is lost before its time")
		}
		time.Sleep(time.Second)
		if m.tenure("T-1") != nil || !h.lost() || len(m.tasks()) > 0 {
			t.Error("it is held after its time")
		}
		m.lapse(h)
		if got := m.changed(); !slices.Equal(got, []amp.TaskID{"T-1"}) {
			t.Errorf("the loop looks at %v", got)
		}
		if err := m.quit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
