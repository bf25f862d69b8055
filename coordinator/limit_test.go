package coordinator

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// fails is an executor whose first turns fail so.
func fails(with ...*providers.TurnError) play {
	return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		if n <= len(with) {
			emit(agenttest.Accept(turn))
			return providers.Outcome{Usage: with[n-1].Usage}, with[n-1] // adapters say it in both
		}
		return works(ctx, turn, n, emit)
	}
}

// TestLimit_rate: a rate limit pauses until the time that the service named, and counts as no attempt.
func TestLimit_rate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := &providers.TurnError{Failure: providers.FailRate, Text: "too many requests", Retry: 50 * time.Minute, Usage: providers.Usage{Tokens: 7}}
		r := newRig(t, fails(limit, limit, limit), judges(amp.Approved))
		id := r.task()
		task := r.get(id)
		if len(task.Pauses) != 1 || task.Pauses[0].Until == nil || task.Attempts != 0 || task.Usage.Tokens != 7 {
			t.Fatalf("task = %+v", task)
		}
		time.Sleep(49 * time.Minute) // beyond the heartbeat: an agent at its limit is not silent
		synctest.Wait()
		if task := r.want(id, amp.Executing); task.Turn != nil {
			t.Error("it was tried before its time")
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if task := r.want(id, amp.StatusApproved); len(task.Pauses) != 0 {
			t.Errorf("pauses = %+v", task.Pauses)
		}
	})
}

// A provider is believed for a day. One that asks for more, by mistake or to hold the task up, is the admin's to decide on, and one that asks for
// less than nothing is tried again as if it had said nothing. Afterwards every deadline acts again (AMP-041, AMP-170).
func TestLimit_absurdWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		retry time.Duration
		wait  time.Duration // 0: the admin is asked
	}{
		"nothing":            {0, 30 * time.Second},
		"less than nothing":  {-99999999 * time.Second, 30 * time.Second},
		"the least there is": {math.MinInt64, 30 * time.Second},
		"a day":              {24 * time.Hour, 24 * time.Hour},
		"a day and a bit":    {24*time.Hour + 1, 0},
		"three years":        {99999999 * time.Second, 0},
		"the most there is":  {math.MaxInt64, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns := 0
				r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					if turns++; turns == 1 { // nobody has acknowledged yet
						return providers.Outcome{}, &providers.TurnError{Failure: providers.FailRate, Text: "too many requests", Retry: tc.retry}
					}
					return idleTurn(ctx, turn, n, emit)
				}, judges(amp.Approved))
				began := time.Now()
				id := r.task()
				task := r.get(id)
				if tc.wait == 0 {
					if len(task.Questions) != 1 || !strings.Contains(task.Questions[0].Request, "to be left alone") {
						t.Fatalf("questions %+v, pauses %+v: the task waits and nobody is asked", task.Questions, task.Pauses)
					}
					r.submit(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: task.Questions[0].QuestionID, Option: amp.OptionTryAgain}})
				}
				time.Sleep(tc.wait + time.Second)
				synctest.Wait()
				if turns != 2 {
					t.Fatalf("%d turns after %s, pauses %+v", turns, time.Since(began), task.Pauses)
				}
				time.Sleep(10 * time.Minute) // the executor does not acknowledge
				synctest.Wait()
				r.want(id, amp.Suspended)
				if got := r.alarms(id); len(got) != 1 || got[0] != amp.AckTimeoutEsc {
					t.Errorf("escalations %v", got)
				}
			})
		})
	}
}

// TestLimit_auth: a missing key is the admin's to mend: one question, no blind tries, and "try again" goes on.
func TestLimit_auth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fails(&providers.TurnError{Failure: providers.FailAuth, Text: "the key is refused"}), judges(amp.Approved))
		id := r.task()
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		task := r.want(id, amp.Executing)
		if len(task.Questions) != 1 || task.Questions[0].Type != amp.QuestionLimit || !strings.Contains(task.Questions[0].Request, "the key is refused") {
			t.Fatalf("questions = %+v", task.Questions)
		}
		r.submit(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: task.Questions[0].QuestionID, Option: amp.OptionTryAgain}})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// TestLimit_fallback: another agent takes over at once, with a session of its own.
func TestLimit_fallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		session := "?"
		r := newRig(t, func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			emit(providers.Event{Type: providers.EventProgress, Session: "s-1", Text: "session"})
			return providers.Outcome{Session: "s-1"}, &providers.TurnError{Failure: providers.FailQuota, Text: "nothing left"}
		}, judges(amp.Approved), func(c *Config) {
			codex := c.Agents["codex"]
			codex.Fallback = []string{"second"}
			c.Agents["codex"] = codex
			c.Agents["second"] = AgentConfig{Roles: []amp.Role{amp.Executor}, Vendor: "w", Agent: &agenttest.Fake{
				RunFunc: func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
					session = turn.Session
					return works(ctx, turn, 1, emit)
				},
			}}
		})
		id := r.task()
		if task := r.want(id, amp.StatusApproved); session != "" || len(task.Pauses) != 1 {
			t.Errorf("session %q, pauses %+v", session, task.Pauses)
		}
	})
}

// TestClarification: a question ends the turn, waits as long as it takes, and the answer goes on in the same session.
func TestClarification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got providers.Turn
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			if n == 1 {
				emit(agenttest.Accept(turn))
				return providers.Outcome{Question: "Which port?", Session: "s-1", Answer: []byte(`{"thought":"hm","status":"clarification_needed","data":{},"message":"Which port?"}`)}, nil
			}
			got = turn
			return works(ctx, turn, n, emit)
		}, judges(amp.Approved))
		id := r.task()
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		task := r.want(id, amp.Executing)
		if len(task.Questions) != 1 || task.Questions[0].Type != amp.QuestionClarification || task.Attempts != 0 {
			t.Fatalf("questions = %+v", task.Questions)
		}
		q := task.Questions[0].QuestionID
		if _, err := r.try(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: q}}); err == nil {
			t.Error("an answer without words was taken")
		}
		r.submit(amp.Command{Command: amp.Answer, TaskID: id, Note: "8080", Args: amp.Args{Question: q}})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		if got.Session != "s-1" || got.Reply == nil || got.Reply.Answer != "8080" || got.Reply.Question != "Which port?" {
			t.Errorf("the next turn has session %q and reply %+v", got.Session, got.Reply)
		}
		if task := r.get(id); task.Reply != nil {
			t.Errorf("the reply stays: %+v", task.Reply)
		}
		thought := false
		for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindTurn}}) {
			u, err := amp.DecodeBody[amp.Turn](&e)
			thought = thought || err == nil && strings.Contains(string(u.Answer), `"hm"`)
		}
		if !thought {
			t.Error("the thought of the answer is not in the journal")
		}
	})
}

// TestBudget_cost: tokens are priced by the configuration, and a bound of the task or the day pauses and asks.
func TestBudget_cost(t *testing.T) {
	t.Parallel()
	spends := func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		out, err := works(ctx, turn, n, emit)
		out.Usage = providers.Usage{Model: "m-1-large", Input: 1_000_000, Cached: 500_000, Output: 100_000, Tokens: 1_100_000, CostUSD: 99}
		return out, err
	}
	prices := func(c *Config) {
		c.Prices = map[string]providers.Price{"m-1*": {Input: 2, Cached: 0.5, Output: 10}, "m*": {Input: 900}}
	}
	t.Run("task", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, spends, judges(amp.Approved), prices, func(c *Config) { c.Budget.CostUSD = 2 })
			id := r.task()
			task := r.get(id)
			if task.Usage.CostUSD != 2.25 {
				t.Errorf("cost = %v, want 2.25", task.Usage.CostUSD)
			}
			if len(task.Questions) != 1 || task.Questions[0].Request != "$2.25 of $2.00 cost are used" {
				t.Fatalf("questions = %+v", task.Questions)
			}
			r.submit(amp.Command{Command: amp.RaiseLimit, TaskID: id, Args: amp.Args{Limits: &amp.Budget{CostUSD: 5}}})
			synctest.Wait()
			r.want(id, amp.StatusApproved)
		})
	})
	t.Run("day", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, spends, judges(amp.Approved), prices, func(c *Config) { c.DayBudget.Tokens = 1_000_000 })
			id := r.task()
			task := r.get(id)
			if len(task.Questions) != 1 || task.Questions[0].Expires == nil {
				t.Fatalf("questions = %+v", task.Questions)
			}
			second := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Another one", Repo: "/repo"}}}).TaskID
			synctest.Wait()
			if q := r.get(second).Questions; len(q) != 1 {
				t.Errorf("the second task goes on: %+v", q)
			}
			r.submit(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: task.Questions[0].QuestionID, Option: amp.OptionToday}})
			synctest.Wait()
			r.want(id, amp.StatusApproved)
			time.Sleep(25 * time.Hour) // another day
			synctest.Wait()
			r.want(second, amp.AwaitingApproval)
		})
	})
}

// TestRefused: the turn after a refused answer, or one that was no answer, is told what was wrong; later ones are not.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first func(turn providers.Turn) (providers.Outcome, error)
		want  string
	}{
		"refused": {func(turn providers.Turn) (providers.Outcome, error) {
			r := resultOf(turn, amp.Complete)
			r["self_assessment"] = map[string]any{"criteria_met": []any{}, "notes": []any{}}
			return agenttest.Final(r), nil
		}, "payload.self_assessment.criteria_met: has 0 entries, expected 1"},
		"no answer": {func(providers.Turn) (providers.Outcome, error) {
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailAnswer, Text: "its answer is no SACP object"}
		}, "its answer is no SACP object"},
		"crashed": {func(providers.Turn) (providers.Outcome, error) {
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailCrashed, Text: "boom"}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told [][]string
				r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					told = append(told, turn.Refused)
					if n == 1 {
						emit(agenttest.Accept(turn))
						return tc.first(turn)
					}
					return works(ctx, turn, n, emit)
				}, judges(amp.Rejected, amp.Approved))
				id := r.task()
				r.want(id, amp.StatusApproved)
				if len(told) != 3 || len(told[0]) != 0 || len(told[2]) != 0 || (len(told[1]) > 0) != (tc.want != "") ||
					tc.want != "" && !strings.Contains(told[1][0], tc.want) {
					t.Errorf("told %q, want %q", told, tc.want)
				}
			})
		})
	}
}

// TestLimit_transport: a network that comes back lets the work go on by itself; nothing is counted against the agent.
func TestLimit_transport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := &providers.TurnError{Failure: providers.FailTransport, Text: "the connection was cut"}
		r := newRig(t, fails(cut, cut, cut, cut), judges(amp.Approved))
		id := r.task()
		if task := r.want(id, amp.Executing); len(task.Pauses) != 1 || task.Attempts != 0 {
			t.Fatalf("task = %+v", task)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// TestLimit_clocks: no ACK runs out while the admin is asked or an agent is at its limit, and no message goes out that nobody may work on.
func TestLimit_clocks(t *testing.T) {
	t.Parallel()
	t.Run("budget before the review", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, works, judges(amp.Approved), func(c *Config) { c.Budget.Turns = 2 }) // the planner's and the executor's
			id := r.task()
			time.Sleep(48 * time.Hour)
			synctest.Wait()
			task := r.want(id, amp.Verifying)
			if task.Request != nil || len(task.Questions) != 1 {
				t.Fatalf("request %+v, questions %+v", task.Request, task.Questions)
			}
			r.submit(amp.Command{Command: amp.RaiseLimit, TaskID: id, Args: amp.Args{Limits: &amp.Budget{Turns: 9}}})
			synctest.Wait()
			r.want(id, amp.StatusApproved)
		})
	})
	for name, limit := range map[string]*providers.TurnError{
		"rate": {Failure: providers.FailRate, Text: "later", Retry: 3 * time.Hour}, "key": {Failure: providers.FailAuth, Text: "no key"},
	} {
		t.Run("a reviewer that could not acknowledge, "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					if n == 1 {
						return providers.Outcome{}, limit
					}
					return judges(amp.Approved)(ctx, turn, n, emit)
				})
				id := r.task()
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				task := r.want(id, amp.Reviewing)
				if len(task.Questions) > 0 {
					r.submit(amp.Command{Command: amp.Answer, TaskID: id, Args: amp.Args{Question: task.Questions[0].QuestionID, Option: amp.OptionTryAgain}})
				} else {
					time.Sleep(2 * time.Hour)
				}
				synctest.Wait()
				r.want(id, amp.StatusApproved)
			})
		})
	}
}
