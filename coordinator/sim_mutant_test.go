package coordinator

import (
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
)

// each lets f change what a coordinator believes of its tasks; the journal stays as it is.
func each(f func(n *simNode, t *amp.Task)) func(*simNode) {
	return func(n *simNode) {
		for _, id := range n.c.board.Order {
			f(n, n.c.board.Task(id))
		}
	}
}

// TestSimulation_broken: a coordinator without one of its rules is found out, by the property that is about this rule. Without this
// the simulation would prove nothing.
func TestSimulation_broken(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		how  simSetting
		want string
	}{
		"no ACK is ever overdue": {want: "acks", how: simSetting{sabotage: each(func(_ *simNode, t *amp.Task) {
			for i := range t.Open {
				t.Open[i].TimeoutSec = 1e8
			}
		})}},
		"a fence holds nobody": {want: "suspended", how: simSetting{sabotage: each(func(n *simNode, t *amp.Task) {
			if t.Turn == nil {
				return
			}
			t.Turn.Epoch = t.Epoch
			if l := n.c.live[t.Turn.TurnID]; l != nil {
				l.Epoch = t.Epoch
			}
		})}},
		"what a dead coordinator left lives on": {want: "one owner", how: simSetting{unreaped: true}},
		"an approval binds nothing": {want: "approval", how: simSetting{sabotage: each(func(_ *simNode, t *amp.Task) {
			if t.Approval != nil && t.Next != "" {
				p := *t.Plan
				p.Subtasks = slices.Clone(p.Subtasks)
				p.Subtasks[0].Description = "something better"
				t.Plan = &p
			}
		})}},
		"rejects do not count": {want: "one dispatch", how: simSetting{sabotage: each(func(_ *simNode, t *amp.Task) {
			t.RejectCount = 0
		})}},
		"a dispatch is forgotten": {want: "one dispatch", how: simSetting{sabotage: each(func(_ *simNode, t *amp.Task) {
			if t.Status == amp.Dispatched && t.Dispatch != nil && t.Turn == nil {
				t.Dispatch, t.Next = nil, amp.DispatchStart
			}
		})}},
		"a task comes to a clone without its branch": {want: "clones", how: simSetting{members: 3, clones: true, sabotage: func(n *simNode) {
			n.clone.stiff = true
		}}},
		"fixes are on the branch before they count": {want: "fixes", how: simSetting{sabotage: each(func(_ *simNode, t *amp.Task) {
			if t.Fix != "" {
				t.Commit, t.Behind = t.Fix, "early"
			}
		})}},
		"a store does not look at what an append was judged on": {want: "rounds", how: simSetting{members: 3, blind: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken.how.members, broken.how.home, broken.how.lax = max(1, broken.how.members), t.TempDir(), map[string]bool{"board": true}
			for seed := range uint64(100) {
				failed := runSeed(t, broken.how, seed).failed
				if failed == nil {
					continue
				}
				if !strings.HasPrefix(failed.Error(), broken.want+": ") {
					t.Errorf("seed %d: found by another property than %q: %v", seed, broken.want, failed)
				}
				t.Logf("seed %d: %v", seed, failed)
				return
			}
			t.Error("nobody found out")
		})
	}
}
