package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot"
)

// Three coordinators, commands through any of them: every task ends once, and each did some of the work.
func TestTeam_shares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 3, everybody(slowly(time.Minute, works)), everybody(slowly(time.Minute, judges(amp.Approved))),
			func(_ int, c *Config) { c.Slots = 2 })
		var ids []amp.TaskID
		for i := range 9 {
			ids = append(ids, k.approved(i%3, (i+1)%3))
		}
		owners := map[string]bool{}
		for _, id := range ids {
			got := k.until(id, amp.StatusApproved)
			owners[got.Owner] = true
			if got.Round != 1 || len(got.Escalations) > 0 || !slices.Equal(k.ends(id), []amp.TurnOutcome{amp.TurnOK, amp.TurnOK}) {
				t.Errorf("%s: round %d, escalations %v, turns %v\n%s", id, got.Round, got.Escalations, k.ends(id), k.story(id))
			}
		}
		if len(owners) != 3 {
			t.Errorf("the work was done by %v, want all three", owners)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		held, err := k.log.(ssot.Shared).Owners(t.Context())
		if err != nil || len(held) != 3 {
			t.Errorf("leases %+v, %v; want the three of presence: nothing is to be done", held, err)
		}
		k.check()
	})
}

// An owner that is killed in a turn: another one ends the turn as lost and starts it once more.
func TestTeam_killed(t *testing.T) {
	t.Parallel()
	for _, role := range []amp.Role{amp.Executor, amp.Reviewer} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newCrew(t, 3, everybody(slowly(time.Minute, works)), everybody(slowly(time.Minute, judges(amp.Approved))))
				id := k.approved(0, 1)
				dead := k.owner(id, role)
				dead.kill()
				got := k.until(id, amp.StatusApproved)
				want := []amp.TurnOutcome{amp.TurnLost, amp.TurnOK, amp.TurnOK}
				if role == amp.Reviewer {
					want = []amp.TurnOutcome{amp.TurnOK, amp.TurnLost, amp.TurnOK}
				}
				if ends := k.ends(id); !slices.Equal(ends, want) || got.Owner == dead.name || len(got.Escalations) > 0 {
					t.Errorf("turns %v of %s, owner %s, want %v and another owner; escalations %v\n%s", ends, id, got.Owner, want, got.Escalations, k.story(id))
				}
				k.check()
			})
		})
	}
}

// An owner that is started again under its name goes on at once with what it held.
func TestTeam_restarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 2, everybody(slowly(time.Minute, works)), everybody(slowly(time.Minute, judges(amp.Approved))))
		id := k.approved(0, 1)
		dead := k.owner(id, amp.Executor)
		dead.kill()
		dead.gate.cut(nil)
		began := time.Now()
		dead.start(t)
		for k.get(id).Spent.Turns < 3 && time.Since(began) < time.Hour {
			time.Sleep(100 * time.Millisecond)
		}
		if got := k.get(id); got.Owner != dead.name || time.Since(began) > 10*time.Second {
			t.Errorf("%s goes on after %s, want %s at once", got.Owner, time.Since(began), dead.name)
		}
		k.until(id, amp.StatusApproved)
		k.check()
	})
}

// pause lets the owner of a turn hang beyond its lease while its agent finishes, and returns when everything stands still again.
func pause(t *testing.T, role amp.Role, blind bool) (k *crew, id amp.TaskID, paused *member) {
	t.Helper()
	finish := make(chan string, 1)
	// stubborn gives its answer although it was told to stop.
	stubborn := func(p play) func(string) play {
		return func(who string) play {
			return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
				emit(agenttest.Accept(turn))
				if n == 1 {
					finish <- who
					time.Sleep(20 * time.Second)
				}
				return p(ctx, turn, n, func(providers.Event) {})
			}
		}
	}
	exec, rev := everybody(works), everybody(judges(amp.Approved))
	if role == amp.Executor {
		exec = stubborn(works)
	} else {
		rev = stubborn(judges(amp.Approved))
	}
	k = newCrew(t, 3, exec, rev)
	id = k.approved(0, 1)
	paused = k.owner(id, role)
	<-finish
	synctest.Wait()
	paused.gate.blind = blind
	release := paused.gate.hold()
	time.Sleep(50 * time.Second) // beyond the lease; its answer waits for the store since the 20th second
	k.until(id, amp.StatusApproved)
	release()
	time.Sleep(time.Minute)
	synctest.Wait()
	return k, id, paused
}

// An owner whose calls hang beyond its lease while its agent finishes: the result comes too late, is kept and not acted on.
func TestTeam_paused(t *testing.T) {
	t.Parallel()
	for _, role := range []amp.Role{amp.Executor, amp.Reviewer} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k, id, paused := pause(t, role, false)
				got := k.get(id)
				if got.Late != 1 || got.Round != 1 || got.Owner == paused.name || len(got.Escalations) > 0 {
					t.Errorf("late reports %d, round %d, owner %s, escalations %v; want one, 1, not %s, none\n%s",
						got.Late, got.Round, got.Owner, got.Escalations, paused.name, k.story(id))
				}
				if r := k.refusals(id); len(r) != 1 || r[0].Problems[0].Rule != amp.RuleEpoch {
					t.Errorf("refusals %+v, want one by %s", r, amp.RuleEpoch)
				}
				k.check()
			})
		})
	}
}

// Without the check of the lease and of what was judged, the same pause doubles a result, and the check of the journal says so. A verdict is
// judged once more before, on the board of then, so that the same pause alone doubles none.
func TestTeam_unfenced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, id, _ := pause(t, amp.Executor, true)
		if found := k.breaches(); len(found) == 0 {
			t.Errorf("nothing is found in a journal that was not fenced\n%s", k.story(id))
		}
	})
}

// A coordinator that writes alone asks nothing of a shared store that only several need.
func TestTeam_alone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g *gate
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			g = &gate{log: c.Log.(ssot.Shared)}
			c.Log = g
		})
		r.want(r.task(), amp.StatusApproved)
		if g.shared != 0 {
			t.Errorf("%d calls for leases and news, want none", g.shared)
		}
	})
}

// disturbance is one thing that goes wrong with one coordinator, for a time.
type disturbance struct {
	member, kind int
	after, lasts time.Duration
}

// Whatever happens to the coordinators of a team, and however often: every task ends as it would have, nothing is lost or doubled.
func TestTeam_anything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		seconds := func(name string, low, high int) time.Duration {
			return time.Duration(rapid.IntRange(low*10, high*10).Draw(r, name)) * 100 * time.Millisecond
		}
		took := seconds("turn", 0, 60)
		disturbed := rapid.SliceOfN(rapid.Custom(func(*rapid.T) disturbance {
			return disturbance{
				member: rapid.IntRange(0, 2).Draw(r, "member"), kind: rapid.IntRange(0, 2).Draw(r, "kind"),
				after: seconds("after", 0, 40), lasts: seconds("lasts", 0, 90),
			}
		}), 0, 8).Draw(r, "disturbances")
		rejects := rapid.IntRange(0, 1).Draw(r, "rejects")
		failed := ""
		synctest.Test(t, func(t *testing.T) { failed = survived(t, took, rejects, disturbed) })
		if failed != "" {
			r.Fatal(failed)
		}
	})
}

// survived runs three tasks through the disturbances and says what is wrong in the end.
func survived(t *testing.T, took time.Duration, rejects int, disturbed []disturbance) string {
	var k *crew
	rev := func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		d := amp.Approved
		if rejectsSoFar(k.log, turn.Task) < rejects {
			d = amp.Rejected
		}
		return judges(d)(ctx, turn, 1, emit)
	}
	k = newCrew(t, 3, everybody(slowly(took, works)), everybody(slowly(took, rev)), func(_ int, c *Config) { c.Slots = 2 })
	var ids []amp.TaskID
	for range 3 {
		ids = append(ids, k.approved(0, 0))
	}
	for _, d := range disturbed {
		time.Sleep(d.after)
		m := k.members[d.member]
		switch d.kind {
		case 0:
			m.kill()
			time.Sleep(d.lasts)
			m.gate.cut(nil)
			m.start(t)
		case 1:
			release := m.gate.hold()
			time.Sleep(d.lasts)
			release()
		case 2:
			m.gate.cut(errCut)
			time.Sleep(d.lasts)
			m.gate.cut(nil)
		}
	}
	for _, id := range ids {
		got := k.until(id, amp.StatusApproved)
		if got.Round != rejects+1 || got.RejectTotal != rejects || len(got.Escalations) > 0 {
			return fmt.Sprintf("%s: round %d, rejects %d, escalations %+v\n%s", id, got.Round, got.RejectTotal, got.Escalations, k.story(id))
		}
	}
	if found := k.breaches(); len(found) > 0 {
		return fmt.Sprint(found, "\n", k.story(ids[0]), "\n", k.story(ids[1]), "\n", k.story(ids[2]))
	}
	return ""
}

// An owner that cannot reach the store stops its turns before its leases lapse; the others take over, and it goes on with other work
// when the store answers again.
func TestTeam_partitioned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := map[amp.TaskID]int{}, 0
		watched := func(p play) play {
			return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
				mu.Lock()
				running[turn.Task]++
				most = max(most, running[turn.Task])
				mu.Unlock()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					running[turn.Task]--
				}()
				return p(ctx, turn, n, emit)
			}
		}
		k := newCrew(t, 3, everybody(watched(slowly(5*time.Minute, works))), everybody(watched(slowly(time.Minute, judges(amp.Approved)))))
		id := k.approved(0, 1)
		lost := k.owner(id, amp.Executor)
		lost.gate.cut(errCut)
		i := slices.Index(k.members, lost)
		time.Sleep(5 * time.Second)
		if _, err := k.at(i).try(amp.Command{Command: amp.NoteCommand, TaskID: id, Note: "hello"}); !errors.Is(err, ssot.ErrUnreachable) {
			t.Errorf("a command while the store is out of reach: %v, want %v", err, ssot.ErrUnreachable)
		}
		time.Sleep(time.Minute)
		if next := k.owner(id, amp.Executor); next == lost {
			t.Errorf("%s still owns the turn", lost.name)
		}
		lost.gate.cut(nil)
		got := k.until(id, amp.StatusApproved)
		if most != 1 || got.Round != 1 || len(got.Escalations) > 0 {
			t.Errorf("%d agents at once, round %d, escalations %v\n%s", most, got.Round, got.Escalations, k.story(id))
		}
		e := k.at(i).submit(amp.Command{Command: amp.NoteCommand, TaskID: id, Note: "back again"})
		if e.Seq == 0 {
			t.Error("the note was not stored")
		}
		k.check()
	})
}

// A renewal that the store carries out after the lease has lapsed here, and before it has there, gives the task back to this coordinator:
// it goes on with it, although everything about the task was looked at meanwhile and it was nobody's.
func TestTeam_renewedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 2, everybody(slowly(time.Minute, works)), everybody(judges(amp.Approved)), func(_ int, c *Config) { c.Slots = 1 })
		id := k.approved(0, 1)
		m := k.owner(id, amp.Executor)
		m.gate.mu.Lock()
		m.gate.renewing = 17 * time.Second // the lease lapses here 5 seconds before it does at the store
		m.gate.mu.Unlock()
		time.Sleep(20 * time.Second)
		m.gate.taking(errCut)
		time.Sleep(10 * time.Second)
		m.gate.taking(nil)
		if got := k.until(id, amp.StatusApproved); got.Round != 1 || len(got.Escalations) > 0 {
			t.Errorf("round %d, escalations %v, want one and none\n%s", got.Round, got.Escalations, k.story(id))
		}
		k.check()
	})
}

// A short outage loses no turn: what an agent said meanwhile is written when the store answers, under the same lease.
func TestTeam_outage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 3, everybody(slowly(10*time.Second, works)), everybody(judges(amp.Approved)))
		id := k.approved(0, 1)
		k.owner(id, amp.Executor)
		for _, m := range k.members {
			m.gate.cut(errCut)
		}
		time.Sleep(18 * time.Second)
		for _, m := range k.members {
			m.gate.cut(nil)
		}
		k.until(id, amp.StatusApproved)
		if ends := k.ends(id); !slices.Equal(ends, []amp.TurnOutcome{amp.TurnOK, amp.TurnOK}) {
			t.Errorf("turns %v, want one of each role\n%s", ends, k.story(id))
		}
		k.check()
	})
}

// Two admins decide on one task at once, through two machines: one is refused with what changed.
func TestTeam_rivals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 3, everybody(works), everybody(judges(amp.Approved)))
		id := k.at(0).submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		k.until(id, amp.AwaitingApproval)
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for i, cmd := range []amp.Command{
			{Command: amp.Approve, TaskID: id, By: "mira", Expects: &amp.Expects{Status: amp.AwaitingApproval}},
			{Command: amp.Terminate, TaskID: id, By: "jan", Expects: &amp.Expects{Status: amp.AwaitingApproval}},
			{Command: amp.Reject, TaskID: id, By: "ada", Note: "no", Expects: &amp.Expects{Status: amp.AwaitingApproval}},
		} {
			wg.Go(func() { _, errs[i] = k.members[i].c.Submit(t.Context(), cmd) })
		}
		wg.Wait()
		stored := 0
		for _, err := range errs {
			if err == nil {
				stored++
				continue
			}
			refusedBy(t, err, amp.RuleExpects)
		}
		if stored != 1 {
			t.Errorf("%d of the decisions were taken (%v), want one", stored, errs)
		}
		k.check()
	})
}

// Wishes submitted through three machines at once get ids of their own.
func TestTeam_submitsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 3, everybody(works), everybody(judges(amp.Approved)))
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				plan := amp.Plan{
					Title: "t", Description: "d", RiskLevel: amp.Low, AcceptanceCriteria: []string{"c"},
					Subtasks: []amp.Subtask{{Description: "s", EstimatedLines: 3}},
				}
				_, err := k.members[i%3].c.Submit(t.Context(), amp.Command{
					Command: amp.Submit, By: "mira", Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}, Plan: &plan},
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		b := k.board()
		if len(b.Order) != 30 {
			t.Fatalf("%d tasks, want 30", len(b.Order))
		}
		for _, id := range b.Order {
			if got := b.Task(id).Plan.Subtasks[0].SubtaskID; got != string(id)+"-S1" {
				t.Errorf("the subtask of %s is %s", id, got)
			}
		}
		k.check()
	})
}

// A machine whose clock is ahead or behind by minutes: its entries have the store's time, no ACK runs out, nothing is taken early.
func TestTeam_clocks(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{"ahead": 6 * time.Minute, "behind": -6 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newCrew(t, 3, everybody(slowly(time.Minute, works)), everybody(slowly(time.Minute, judges(amp.Rejected, amp.Approved))),
					func(i int, c *Config) {
						if i == 1 {
							c.Now = func() time.Time { return time.Now().Add(off) }
						}
					})
				ids := []amp.TaskID{k.approved(0, 1), k.approved(1, 0), k.approved(1, 1), k.approved(2, 1)}
				k.owner(ids[1], amp.Executor)
				for _, id := range ids {
					if got := k.until(id, amp.StatusApproved); len(got.Escalations) > 0 {
						t.Errorf("%s: escalations %v\n%s", id, got.Escalations, k.story(id))
					}
				}
				last := time.Time{}
				for _, e := range k.entries(amp.Filter{}) {
					if e.At.Before(last.Add(-time.Second)) || e.At.After(time.Now().Add(time.Second)) {
						t.Fatalf("entry %d is of %s, the one before of %s, now is %s", e.Seq, e.At, last, time.Now())
					}
					last = e.At
				}
				k.check()
			})
		})
	}
}

// A coordinator that is stopped gives back what it holds: another one goes on at once.
func TestTeam_stopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 2, everybody(slowly(time.Minute, works)), everybody(judges(amp.Approved)))
		id := k.approved(0, 1)
		m := k.owner(id, amp.Executor)
		m.cancel()
		if err := <-m.done; err != nil {
			t.Fatal(err)
		}
		m.dead = true
		began := time.Now()
		if next := k.owner(id, amp.Executor); next == m || time.Since(began) > 15*time.Second {
			t.Errorf("%s has the turn after %s", next.name, time.Since(began))
		}
		k.until(id, amp.StatusApproved)
		k.check()
	})
}

// A coordinator that cannot reach the store ends when it is told to; another one goes on with its work.
func TestTeam_stoppedWhileCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 2, everybody(slowly(time.Minute, works)), everybody(judges(amp.Approved)))
		id := k.approved(0, 1)
		m := k.owner(id, amp.Executor)
		m.gate.cut(errCut)
		time.Sleep(61 * time.Second) // its agent was stopped, and that cannot be written
		m.cancel()
		if err := <-m.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		m.dead = true
		if got := k.until(id, amp.StatusApproved); got.Owner == m.name {
			t.Errorf("%s went on", m.name)
		}
		k.check()
	})
}

// An emergency stop through one machine stops the agents of all of them.
func TestTeam_stopAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 3, everybody(slowly(time.Hour, works)), everybody(judges(amp.Approved)), func(_ int, c *Config) { c.Slots = 1 })
		ids := []amp.TaskID{k.approved(0, 0), k.approved(0, 0), k.approved(0, 0)}
		for _, id := range ids {
			k.owner(id, amp.Executor)
		}
		k.at(2).submit(amp.Command{Command: amp.StopAll, Note: "stop"})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, id := range ids {
			if got := k.get(id); got.Turn != nil {
				t.Errorf("%s still has a turn of %s", id, got.Turn.Owner)
			}
		}
		k.check()
	})
}
