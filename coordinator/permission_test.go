package coordinator

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// asks is an executor that asks for what it was given, one after the other, and says what it was told.
func asks(said *[]string, requests ...amp.Permission) play {
	return func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
		emit(agenttest.Accept(turn))
		for _, p := range requests {
			d := turn.Ask(ctx, p)
			word := "no"
			if d.Allow {
				word = "yes"
			}
			*said = append(*said, word+" "+d.Reason)
		}
		if ctx.Err() != nil {
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
		}
		return agenttest.Final(resultOf(turn, amp.Complete)), nil
	}
}

func run(command string) amp.Permission { return amp.Permission{Type: amp.PermitRun, Command: command} }

// TestPermission_answers: a request is in the journal before it is shown, the turn goes on with the answer, and the clocks stand meanwhile.
func TestPermission_answers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ option, note, want string }{
		"allow": {amp.OptionAllow, "", "yes "}, "deny": {amp.OptionDeny, "use go vet", "no use go vet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said []string
				r := newRig(t, asks(&said, run("go generate ./...")), judges(amp.Approved), func(c *Config) { c.AskTimeout = 24 * time.Hour })
				id := r.task()
				task := r.want(id, amp.Executing)
				if len(task.Questions) != 1 || task.Questions[0].Request != "run go generate ./..." || task.Questions[0].Agent != "codex" {
					t.Fatalf("questions = %+v", task.Questions)
				}
				time.Sleep(3 * time.Hour) // a person sleeps; the heartbeat must not count it
				synctest.Wait()
				r.want(id, amp.Executing)
				q := task.Questions[0].QuestionID
				if _, err := r.try(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: q, Option: "allow always"}}); err == nil {
					t.Error("an answer that was not offered was taken")
				}
				r.submit(amp.Command{Command: amp.Answer, TaskID: id, Note: tc.note, Args: amp.Args{Question: q, Option: tc.option}})
				synctest.Wait()
				r.want(id, amp.StatusApproved)
				if !slices.Equal(said, []string{tc.want}) {
					t.Errorf("the agent was told %q, want %q", said, tc.want)
				}
				if _, err := r.try(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: q, Option: amp.OptionAllow}}); err == nil {
					t.Error("a question was answered twice")
				}
				if s := r.get(id).Spent.WallSec; s > 60 {
					t.Errorf("waiting for an answer counts as %d s of work", s)
				}
			})
		})
	}
}

// TestPermission_silence: silence is a no (P: silence never means yes), and the turn goes on with it.
func TestPermission_silence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		r := newRig(t, asks(&said, run("curl x")), judges(amp.Approved))
		id := r.task()
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		if !slices.Equal(said, []string{"no nobody answered in time"}) {
			t.Errorf("the agent was told %q", said)
		}
	})
}

// TestPermission_grant: an answer for the task holds for exactly the same request, until its time is over.
func TestPermission_grant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		r := newRig(t, asks(&said, run("make gen"), run("make gen"), run("make gen; rm x")), judges(amp.Approved))
		id := r.task()
		q := r.get(id).Questions[0].QuestionID
		r.submit(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: q, Option: amp.OptionAllowTask}})
		synctest.Wait()
		task := r.want(id, amp.Executing)
		if len(said) != 2 || !strings.HasPrefix(said[1], "yes mira allowed it in #") || len(task.Questions) != 1 {
			t.Fatalf("told %q, questions %+v", said, task.Questions)
		}
		if g := task.Granted(&amp.Permission{Type: amp.PermitRun, Command: "make gen"}, time.Now().Add(time.Hour)); g != nil {
			t.Errorf("the grant holds beyond its time: %+v", g)
		}
	})
}

// TestPermission_escalates_AMP_172: what exceeds the plan's authority is denied and suspends the task.
func TestPermission_escalates_AMP_172(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		r := newRig(t, asks(&said, amp.Permission{Type: amp.PermitWrite, Paths: []string{"/etc/passwd"}}), judges(amp.Approved))
		id := r.task()
		task := r.want(id, amp.Suspended)
		if !task.HasOpen(amp.PermissionDenied) || len(task.Questions) != 0 || len(said) != 1 || !strings.HasPrefix(said[0], "no it would change files outside") {
			t.Errorf("told %q, %+v", said, task.Escalations)
		}
	})
}

// TestPermission_endedTurn: what a turn asked waits no more when the turn was stopped, and a restart leaves no question behind.
func TestPermission_endedTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		r := newRig(t, asks(&said, run("make gen")), judges(amp.Approved))
		id := r.task()
		q := r.get(id).Questions[0].QuestionID
		r.submit(amp.Command{Command: amp.StopAll})
		synctest.Wait()
		if task := r.get(id); len(task.Questions) != 0 || task.Turn != nil {
			t.Errorf("questions %+v, turn %+v", task.Questions, task.Turn)
		}
		if _, err := r.try(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: q, Option: amp.OptionAllow}}); err == nil {
			t.Error("the question of an ended turn was answered")
		}
		if len(r.c.asks) != 0 {
			t.Errorf("still waiting: %v", r.c.asks)
		}
	})
}

// TestPermission_withdrawn: what nobody waits for any more leaves the Inbox while the turn goes on, and is answered by nobody.
func TestPermission_withdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		restart := make(chan struct{})
		r := newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			first, stop := context.WithCancel(ctx)
			go func() { <-restart; stop() }()
			for _, ctx := range []context.Context{first, ctx} {
				d := turn.Ask(ctx, run("make gen"))
				said = append(said, map[bool]string{true: "yes", false: "no"}[d.Allow]+" "+d.Reason)
			}
			return agenttest.Final(resultOf(turn, amp.Complete)), nil
		}, judges(amp.Approved))
		id := r.task()
		q := r.want(id, amp.Executing).Questions[0].QuestionID
		close(restart)
		synctest.Wait()
		task := r.want(id, amp.Executing)
		if len(task.Questions) != 1 || task.Questions[0].QuestionID == q {
			t.Fatalf("questions = %+v", task.Questions)
		}
		if _, err := r.try(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: q, Option: amp.OptionAllow}}); err == nil {
			t.Error("a withdrawn question was answered")
		}
		r.submit(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: task.Questions[0].QuestionID, Option: amp.OptionAllow}})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		if want := []string{"no the run that asked has ended", "yes "}; !slices.Equal(said, want) {
			t.Errorf("the agent was told %q, want %q", said, want)
		}
		if len(r.c.asks) != 0 {
			t.Errorf("still waiting: %v", r.c.asks)
		}
	})
}

// TestPermission_flood: a turn cannot heap up questions, and nobody is asked what nobody can read.
func TestPermission_flood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := make(chan providers.Decision, 20)
		r := newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			refused <- turn.Ask(ctx, run(strings.Repeat("x", maxRequest+1)))
			for i := range maxAsked + 2 {
				go func() { refused <- turn.Ask(ctx, run("make "+strings.Repeat("y", i))) }()
			}
			<-ctx.Done()
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
		}, judges(amp.Approved))
		id := r.task()
		if n := len(r.get(id).Questions); n != maxAsked {
			t.Errorf("%d questions wait, want %d", n, maxAsked)
		}
		if len(refused) != 3 {
			t.Errorf("%d were refused at once, want 3", len(refused))
		}
	})
}
