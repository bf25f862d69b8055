package coordinator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// undone are the entries that say of a command that it was not carried out.
func (r *rig) undone(id amp.TaskID, command string) (why []string) {
	for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindCheck}}) {
		ck, err := amp.DecodeBody[amp.Check](&e)
		if err != nil {
			r.t.Fatal(err)
		}
		if ck.For == command && ck.Blocked() {
			why = append(why, ck.Text)
		}
	}
	return why
}

// unsure is a reviewer whose verdicts are held.
func unsure(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
	emit(agenttest.Accept(turn))
	return agenttest.Final(verdictOf(amp.Approved, 0.5)), nil
}

// Design 4 and tui.md 6.2.16: a decision that still waits when its task ends was not carried out, and the journal says so, once.
func TestDecision_taskEnded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		waits, ends amp.CommandName
		want        amp.Status
	}{
		"a delivery, terminated":  {amp.Deliver, amp.Terminate, amp.Terminated},
		"a redispatch, delivered": {amp.Redispatch, amp.Deliver, amp.Delivered},
		"the end, delivered":      {amp.Terminate, amp.Deliver, amp.Delivered},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", started again"}[restart], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, works, judges(amp.Approved))
					id := r.task()
					r.submit(amp.Command{ID: "waits", Command: tc.waits, TaskID: id, Args: amp.Args{Undo: true}})
					r.submit(amp.Command{Command: tc.ends, TaskID: id})
					if restart {
						r.stop()
						r.start()
					}
					time.Sleep(time.Hour)
					synctest.Wait()
					task := r.want(id, tc.want)
					if why := r.undone(id, "waits"); len(why) != 1 || !strings.Contains(why[0], string(tc.want)) || len(task.Waiting) != 0 {
						t.Errorf("the journal says %q of the %s, and %d wait still\n%s", why, tc.waits, len(task.Waiting), r.story(id))
					}
				})
			})
		}
	}
}

// As [TestDecision_taskEnded], of a task that no coordinator of a team holds.
func TestTeam_decisionOfEndedTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 2, everybody(works), everybody(judges(amp.Approved)))
		id := k.at(0).submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count the words right", Repo: "/repo"}}}).TaskID
		k.until(id, amp.AwaitingApproval)
		k.at(1).submit(amp.Command{ID: "waits", Command: amp.Approve, TaskID: id, Args: amp.Args{Undo: true}})
		k.at(1).submit(amp.Command{Command: amp.Terminate, TaskID: id})
		time.Sleep(time.Hour)
		synctest.Wait()
		task := k.until(id, amp.Terminated)
		if why := k.undone(id, "waits"); len(why) != 1 || len(task.Waiting) != 0 {
			t.Errorf("the journal says %q, and %d wait still\n%s", why, len(task.Waiting), k.story(id))
		}
		k.check()
	})
}

// Design 1.8: a rollback whose task was suspended before it was written down is not carried out: its admin saw nothing of the escalation.
func TestDecision_suspendedDuringRollback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, unsure)
		id := r.task()
		r.want(id, amp.Held)
		begun, goOn, times := make(chan struct{}), make(chan struct{}), 0
		r.git.rolled = func() {
			if times++; times == 1 {
				close(begun)
				<-goOn
			}
		}
		e := r.submit(amp.Command{Command: amp.Rollback, TaskID: id, Args: amp.Args{Checkpoint: 1, Next: amp.Redispatch}, Note: "from the start"})
		<-begun
		r.says(id, warning(), 0)
		close(goOn)
		synctest.Wait()
		task := r.want(id, amp.Suspended)
		if why := r.undone(id, e.ID); len(why) != 1 || len(task.Failed) != 1 || times != 1 || task.Doing != nil {
			t.Errorf("rolled back %d times, the journal says %q, not carried out %+v\n%s", times, why, task.Failed, r.story(id))
		}
		if !task.HasOpen(amp.Conflict) {
			t.Error("an escalation that nobody has seen was resolved")
		}
		r.submit(amp.Command{Command: amp.Rollback, TaskID: id, Args: amp.Args{Checkpoint: 1}})
		synctest.Wait()
		r.want(id, amp.Held)
	})
}

// Design 3: unlock, resume and rollback may carry one follow-up. One that could not be taken is refused with its command, and never dropped.
func TestDecision_followUp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		exec, rev play
		cmd       amp.Command
		stop      bool // the task is suspended first
		want      amp.Status
		refused   bool
	}{
		"resume of what was held, redispatch":    {works, unsure, amp.Command{Command: amp.Resume, Args: amp.Args{Next: amp.Redispatch}}, true, amp.Held, false},
		"resume of what was held, accept":        {works, unsure, amp.Command{Command: amp.Resume, Args: amp.Args{Next: amp.Accept}}, true, amp.StatusApproved, false},
		"resume of what was at work, redispatch": {idleTurn, unsure, amp.Command{Command: amp.Resume, Args: amp.Args{Next: amp.Redispatch}}, true, amp.Suspended, true},
		"resume of what was at work, accept":     {idleTurn, unsure, amp.Command{Command: amp.Resume, Args: amp.Args{Next: amp.Accept}}, true, amp.Suspended, true},
		"resume of what was at work, split":      {idleTurn, unsure, amp.Command{Command: amp.Resume, Args: amp.Args{Next: amp.Split}}, true, amp.Suspended, true},
		"resume of what was at work, terminate":  {idleTurn, unsure, amp.Command{Command: amp.Resume, Args: amp.Args{Next: amp.Terminate}}, true, amp.Terminated, false},
		"rollback, accept":                       {works, unsure, amp.Command{Command: amp.Rollback, Args: amp.Args{Checkpoint: 1, Next: amp.Accept}}, false, amp.Held, true},
		"rollback, split":                        {works, unsure, amp.Command{Command: amp.Rollback, Args: amp.Args{Checkpoint: 1, Next: amp.Split}}, false, amp.AwaitingApproval, false},
		"accept, terminate":                      {works, unsure, amp.Command{Command: amp.Accept, Args: amp.Args{Next: amp.Terminate}}, false, amp.Held, true},
		"redispatch, split":                      {works, unsure, amp.Command{Command: amp.Redispatch, Args: amp.Args{Next: amp.Split}}, false, amp.Held, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, tc.exec, tc.rev)
				id := r.task()
				if tc.stop {
					r.says(id, warning(), 0)
				}
				tc.cmd.TaskID = id
				e, err := r.try(tc.cmd)
				synctest.Wait()
				r.want(id, tc.want)
				if tc.refused {
					refusedBy(t, err, "command")
				} else if err != nil {
					t.Errorf("%s: %v", e.ID, err)
				}
			})
		})
	}
}
