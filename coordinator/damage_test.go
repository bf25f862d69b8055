package coordinator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// A coordinator whose store is not the journal any more that it folded ends and says so: it waits for no better answer, and writes nothing
// upon it. Others, who see no damage, go on.
func TestTeam_damagedStore(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(k *crew, m *member){
		"the store says so": func(_ *crew, m *member) {
			m.gate.cut(errors.Join(ssot.ErrFailed, &ssot.DamagedError{Path: "postgres://h/d", Seq: 3, Why: "2 entries are missing at its end"}))
		},
		"another journal answers": func(k *crew, m *member) {
			other := memory.New()
			for i := range 100 { // longer than the one that was folded
				if _, err := other.Append(k.t.Context(), []amp.Record{ssottest.Submit("other"+string(rune('A'+i)), ssottest.Task(500+i))}); err != nil {
					k.t.Fatal(err)
				}
			}
			m.gate.mu.Lock()
			defer m.gate.mu.Unlock()
			m.gate.log = other
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newCrew(t, 2, everybody(works), everybody(judges(amp.Approved)))
				k.until(k.approved(0, 1), amp.StatusApproved)
				m := k.members[0]
				spoil(k, m)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				select {
				case err := <-m.done:
					m.dead = true
					if _, ok := errors.AsType[*ssot.DamagedError](err); !ok {
						t.Errorf("it ended with %v", err)
					}
				default:
					t.Error("it goes on")
				}
				k.until(k.approved(1, 1), amp.StatusApproved)
			})
		})
	}
}
