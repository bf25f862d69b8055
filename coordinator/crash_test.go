package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// crash is the death of a coordinator at one of its appends, before or after it was stored.
type crash struct {
	at    int
	after bool
}

// A coordinator that dies before or after any append, however often, ends every task as it would have ended, with no message
// lost or doubled (design, sections 1 and 11).
func TestCrash_anywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		second := rapid.SampledFrom([]amp.SecondAdmin{amp.SecondNever, amp.SecondAlways}).Draw(r, "second")
		edits := second == amp.SecondNever && rapid.Bool().Draw(r, "edits")
		rejects := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 3).Draw(r, "rejects")
		crashes := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) crash {
			return crash{at: rapid.IntRange(1, 40).Draw(r, "at"), after: rapid.Bool().Draw(r, "after")}
		}), 0, 4).Draw(r, "crashes")
		var err error
		synctest.Test(t, func(t *testing.T) { err = survive(t, second, edits, rejects, crashes) })
		if err != nil {
			r.Fatal(err)
		}
	})
}

// survive runs one task for each number of rejects through the crashes, as an admin who repeats what was not acknowledged.
func survive(t *testing.T, second amp.SecondAdmin, edits bool, rejects []int, crashes []crash) error {
	log := memory.New()
	r := &rig{t: t, git: newFakeGit(), edits: edits, counts: &counts{n: map[string]int{}}}
	r.planner, r.exec = counted(r.counts, "p", plans), counted(r.counts, "e", works)
	r.rev = counted(r.counts, "r", func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
		emit(agenttest.Accept(turn))
		d := amp.Approved
		if rejectsSoFar(log, turn.Task) < rejects[taskNumber(turn.Task)-1] {
			d = amp.Rejected
		}
		return agenttest.Final(verdictOf(d, 0.95)), nil
	})
	home := t.TempDir()
	for life := 0; ; life++ {
		plan := ssottest.Plan{Dead: true}
		if life < len(crashes) {
			died := map[int]error{crashes[life].at: errors.New("killed")}
			if crashes[life].after {
				plan.FailAfter = died
			} else {
				plan.FailBefore = died
			}
		}
		r.log = ssottest.Flaky(log, plan)
		r.cfg = Config{Log: r.log, Git: r.git, Home: home, Policy: amp.Policy{SecondAdmin: second}, Agents: map[string]AgentConfig{
			"planner": {Agent: r.planner, Vendor: "p"}, "codex": {Agent: r.exec, Vendor: "x"}, "claude": {Agent: r.rev, Vendor: "y"},
		}, Roles: map[amp.Role]string{amp.Coordinator: "planner", amp.Executor: "codex", amp.Reviewer: "claude"}}
		done, err := r.life(len(rejects), log)
		if err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		if done {
			break
		}
		if life > len(crashes) {
			return fmt.Errorf("nothing ends any more")
		}
	}
	board, err := ssot.Fold(context.Background(), log)
	if err != nil {
		return err
	}
	r.log = log
	for i, want := range rejects {
		if err := r.judge(board.Task(amp.TaskID(fmt.Sprintf("T-2000-%03d", i+1))), want); err != nil {
			return err
		}
	}
	return nil
}

// life runs one coordinator until every task is approved, or until it dies.
func (r *rig) life(tasks int, log ssot.Log) (done bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := New(ctx, r.cfg)
	if err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for range 200 {
		synctest.Wait()
		select {
		case <-ended:
			return false, nil
		default:
		}
		board, err := ssot.Fold(ctx, log)
		if err != nil {
			return false, err
		}
		cmd, todo := r.decide(board, tasks)
		if !todo {
			cancel()
			return true, <-ended
		}
		if cmd == nil {
			return false, fmt.Errorf("the admin has nothing to decide and nothing moves: %s", r.story("T-2000-001"))
		}
		if _, err := c.Submit(ctx, *cmd); err != nil {
			if _, refused := errors.AsType[*amp.RefusedError](err); refused {
				return false, fmt.Errorf("%s of %s: %w", cmd.Command, cmd.TaskID, err)
			}
		}
	}
	return false, fmt.Errorf("200 decisions and no end")
}

// decide is the admin: the next decision, nil when none is due, and whether anything is left to do.
func (r *rig) decide(b *amp.Board, tasks int) (cmd *amp.Command, todo bool) {
	if n := len(b.Order); n < tasks {
		return &amp.Command{ID: fmt.Sprintf("submit-%d", n+1), Command: amp.Submit, By: "mira", Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}, true
	}
	for _, id := range b.Order {
		t := b.Task(id)
		key := fmt.Sprintf("%s-%d", id, t.Revision)
		switch t.Status {
		case amp.AwaitingApproval:
			by := "mira"
			if t.First != nil {
				by = "jan"
			}
			cmd := &amp.Command{ID: "approve-" + key, Command: amp.Approve, By: by, TaskID: id, Expects: &amp.Expects{Hash: t.Plan.Hash}}
			if r.edits {
				cmd.Args.Plan = edited(t, by)
			}
			return cmd, true
		case amp.Locked:
			return &amp.Command{ID: "unlock-" + key, Command: amp.Unlock, By: "mira", TaskID: id, Note: "again", Args: amp.Args{Next: amp.Redispatch}}, true
		case amp.StatusApproved:
		default:
			todo = true
		}
	}
	return nil, todo
}

func (r *rig) judge(t *amp.Task, rejects int) error {
	if t == nil || t.Status != amp.StatusApproved || t.RejectTotal != rejects || t.Round != rejects+1 || t.Turn != nil || len(t.Open) != 0 {
		return fmt.Errorf("want approved after %d rejects, have %+v\n%s", rejects, t, r.story("T-2000-001"))
	}
	if two := t.Plan.TwoAdmins(); two != (t.First != nil) || two && (t.First.By != "mira" || t.Approval.By != "jan") {
		return fmt.Errorf("%s: two admins %v, approved by %+v and %+v", t.ID, two, t.First, t.Approval)
	}
	if r.edits && (t.Plan.Author != "mira" || t.Plan.Revision != 2 || t.Approval.Hash != t.Plan.Hash) {
		return fmt.Errorf("%s: r%d by %s, approved %+v", t.ID, t.Plan.Revision, t.Plan.Author, t.Approval)
	}
	count := map[amp.MessageType]int{}
	for _, typ := range []amp.MessageType{amp.TaskDispatch, amp.TaskResult, amp.ReviewRequest, amp.ReviewVerdict, amp.EscalationMsg} {
		count[typ] = len(r.messages(t.ID, typ))
	}
	want := map[amp.MessageType]int{
		amp.TaskDispatch: rejects + 1, amp.TaskResult: rejects + 1, amp.ReviewRequest: rejects + 1,
		amp.ReviewVerdict: rejects + 1, amp.EscalationMsg: rejects / 3,
	}
	for typ, n := range want {
		if count[typ] != n {
			return fmt.Errorf("%s: %d of %s, want %d\n%s", t.ID, count[typ], typ, n, r.story(t.ID))
		}
	}
	return nil
}

func taskNumber(id amp.TaskID) int {
	var y, n int
	if _, err := fmt.Sscanf(string(id), "T-%d-%d", &y, &n); err != nil {
		panic(err)
	}
	return n
}

func rejectsSoFar(log ssot.Log, id amp.TaskID) int {
	entries, err := log.Read(context.Background(), amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindMessage}})
	if err != nil {
		panic(err)
	}
	n := 0
	for _, e := range entries {
		var m struct {
			Payload struct {
				Decision amp.Decision `json:"decision"`
			} `json:"payload"`
		}
		if json.Unmarshal(e.Body, &m) == nil && m.Payload.Decision == amp.Rejected {
			n++
		}
	}
	return n
}

// A full disk stops nothing for good: what could not be stored is done again when there is space (performance, section 8).
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 24; n++ {
		t.Run(fmt.Sprint("append ", n), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				full := map[int]error{n: ssot.ErrFull, n + 1: ssot.ErrFull}
				var log ssot.Log
				r := newRig(t, works, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
					d := amp.Approved
					if rejectsSoFar(log, turn.Task) == 0 {
						d = amp.Rejected
					}
					return judges(d)(ctx, turn, 1, emit)
				}, func(c *Config) {
					log = ssottest.Flaky(c.Log, ssottest.Plan{FailBefore: full})
					c.Log = log
				})
				r.log = log
				for range 40 {
					synctest.Wait()
					board, err := ssot.Fold(t.Context(), r.log)
					if err != nil {
						t.Fatal(err)
					}
					cmd, todo := r.decide(board, 1)
					if !todo {
						break
					}
					if cmd != nil {
						_, err = r.c.Submit(t.Context(), *cmd)
					}
					if cmd == nil || err != nil {
						time.Sleep(2 * time.Second)
					}
				}
				if got := r.want("T-2000-001", amp.StatusApproved); got.RejectTotal != 1 {
					t.Errorf("rejects %d", got.RejectTotal)
				}
			})
		})
	}
}
