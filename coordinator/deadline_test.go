package coordinator

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
)

// clockTasks is how many tasks have a clock that runs, as many as the loop is made for.
const clockTasks = 10_000

// TestDeadlines_10000: of each of ten thousand clocks the one that is due fires, once, in its moment, and all of them need one timer:
// ACKs that are redelivered and then escalated, agents that are silent, questions that nobody answers, commands whose undo time ends.
func TestDeadlines_10000(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		start := time.Now().UTC()
		k := &clocks{t: t, log: log, start: start}
		for i := range clockTasks {
			k.task(i)
		}
		k.flush()
		var mu sync.Mutex
		ids := 0
		r := &rig{t: t, log: log, git: newFakeGit(), counts: &counts{n: map[string]int{}}, cfg: Config{
			Log: log, Git: newFakeGit(), Home: home, Agents: map[string]AgentConfig{"outsider": {Vendor: "z"}},
			Roles: map[amp.Role]string{amp.Coordinator: "outsider", amp.Executor: "outsider", amp.Reviewer: "outsider"},
			NewID: func() string { mu.Lock(); defer mu.Unlock(); ids++; return fmt.Sprintf("id-%06d", ids) },
		}}
		r.start()
		synctest.Wait()
		if err := r.c.view(t.Context(), func(*amp.Board) {
			if n := len(r.c.works) + len(r.c.live); n > 0 || len(r.c.deadlines) != clockTasks {
				t.Errorf("%d works wait beside the loop, which knows of %d clocks", n, len(r.c.deadlines))
			}
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		synctest.Wait()
		r.stop()
		k.check()
	})
}

// clocks writes tasks with a clock into a journal, and knows what each has to come to.
type clocks struct {
	t       *testing.T
	log     *memory.Log
	start   time.Time
	records []amp.Record
	want    map[string]int
	ids     int
}

func (k *clocks) flush() {
	got, err := k.log.Append(k.t.Context(), k.records)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, a := range got {
		if a.Err != nil {
			k.t.Fatal(a.Err)
		}
	}
	k.records = nil
}

func (k *clocks) add(kind amp.Kind, id amp.TaskID, role amp.Role, recordID string, at time.Time, body []byte) {
	k.ids++
	if recordID == "" {
		recordID = fmt.Sprintf("given-%06d", k.ids)
	}
	k.records = append(k.records, amp.Record{Kind: kind, TaskID: id, Role: role, Actor: "given", At: at, ID: recordID, Body: body})
}

// expect counts what is to happen a while after the start.
func (k *clocks) expect(what string, after time.Duration) {
	if k.want == nil {
		k.want = map[string]int{}
	}
	k.want[fmt.Sprintf("%s after %s", what, after)]++
}

// task writes one task whose clocks run, in one of ten moments.
func (k *clocks) task(i int) {
	id := amp.TaskID(fmt.Sprintf("T-2000-%05d", i+1))
	late := time.Duration(i%10) * 7 * time.Second
	at := k.start.Add(late)
	k.add(amp.KindCommand, id, amp.Admin, "", at, amp.EncodeBody(amp.Command{
		ID: "submit", Command: amp.Submit, By: "mira", At: at, TaskID: id, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}},
	}))
	p := amp.Plan{
		TaskID: id, Revision: 1, Title: "x", Author: "planner", Description: "x", Repo: "/repo", Branch: "feature/x", BaseBranch: "main",
		BaseCommit: "0123456789abcdef", RiskLevel: amp.Low, AcceptanceCriteria: []string{"it is right"},
		Subtasks: []amp.Subtask{{SubtaskID: string(id) + "-S1", Description: "x", EstimatedLines: 5}},
	}
	p.Hash = p.ContentHash()
	k.add(amp.KindPlan, id, amp.Coordinator, "", at, amp.EncodeBody(p))
	k.add(amp.KindCommand, id, amp.Admin, "", at, amp.EncodeBody(amp.Command{ID: "approve", Command: amp.Approve, By: "mira", At: at, TaskID: id}))
	msg := amp.NewMsgID(amp.TaskDispatch, id, at, nil)
	k.add(amp.KindMessage, id, amp.Coordinator, msg, at, jsonOf(map[string]any{
		"msg_id": msg, "protocol_version": amp.Version, "type": amp.TaskDispatch, "from": "coordinator", "to": "executor", "task_id": id,
		"timestamp": amp.FormatTime(at), "requires_ack": true, "payload": map[string]any{
			"description": "x", "repo": p.Repo, "branch": p.Branch, "subtasks": p.Subtasks, "acceptance_criteria": p.AcceptanceCriteria,
			"risk_level": p.RiskLevel,
		},
	}))
	k.add(amp.KindTurn, id, amp.Executor, "", at, amp.EncodeBody(amp.Turn{
		TurnID: "turn-" + string(id), Event: amp.TurnStarted, TaskID: id, Role: amp.Executor, Agent: "outsider", For: msg, Epoch: 1,
	}))
	if i%4 == 0 { // nobody acknowledges
		k.expect("redelivered", late+150*time.Second)
		k.expect(string(amp.AckTimeoutEsc), late+300*time.Second)
		return
	}
	k.add(amp.KindAck, id, amp.Executor, "", at, amp.EncodeBody(amp.Ack{AckFor: msg, TaskID: id, By: amp.Executor, AckedAt: at, Status: amp.AckAccepted}))
	switch i % 4 {
	case 1: // it says nothing
		k.expect(string(amp.HeartbeatTimeout), late+30*time.Minute)
	case 2: // it asks, and nobody answers; then it says nothing
		ends := at.Add(20 * time.Minute)
		k.add(amp.KindQuestion, id, amp.Executor, "", at, amp.EncodeBody(amp.Question{
			QuestionID: "q-" + string(id), TaskID: id, Type: amp.QuestionPermission, TurnID: "turn-" + string(id), Agent: "outsider",
			Role: amp.Executor, Request: "x", Options: []string{amp.OptionAllow, amp.OptionDeny}, Expires: &ends,
		}))
		k.expect("silence", late+20*time.Minute)
		k.expect(string(amp.HeartbeatTimeout), late+50*time.Minute)
	case 3: // it is to end, after the undo time
		due := at.Add(10 * time.Second)
		k.add(amp.KindCommand, id, amp.Admin, "end-"+string(id), at, amp.EncodeBody(amp.Command{
			ID: "end-" + string(id), Command: amp.Terminate, By: "mira", At: at, TaskID: id, Args: amp.Args{EffectiveAt: &due},
		}))
		k.expect("carried out", late+10*time.Second)
	}
}

// check compares what happened, and when, with what was to happen.
func (k *clocks) check() {
	got := map[string]int{}
	given := uint64(0)
	for {
		page, err := k.log.Read(k.t.Context(), amp.Filter{After: given, Limit: ssot.MaxPage})
		if err != nil {
			k.t.Fatal(err)
		}
		for i := range page {
			if what := k.what(&page[i]); what != "" {
				got[fmt.Sprintf("%s after %s", what, page[i].At.Sub(k.start))]++
			}
		}
		if len(page) < ssot.MaxPage {
			break
		}
		given = page[len(page)-1].Seq
	}
	for what, n := range k.want {
		if got[what] != n {
			k.t.Errorf("%s: %d times, want %d", what, got[what], n)
		}
		delete(got, what)
	}
	for what, n := range got {
		k.t.Errorf("%s: %d times, want none", what, n)
	}
}

// what is the clock that an entry tells of, "" for none.
func (k *clocks) what(e *amp.Entry) string {
	if e.Actor == "given" {
		return ""
	}
	switch e.Kind {
	case amp.KindTurn:
		if u, err := amp.DecodeBody[amp.Turn](e); err == nil && u.Event == amp.TurnRedelivered {
			return "redelivered"
		}
	case amp.KindQuestion:
		if q, err := amp.DecodeBody[amp.Question](e); err == nil && q.Answer != nil {
			return q.Answer.By
		}
	case amp.KindMessage:
		if m, _, err := amp.Decode(e.Body); err == nil && m.Type == amp.EscalationMsg {
			return string(m.Payload.(*amp.Escalation).EscalationType)
		}
	case amp.KindCheck:
		if c, err := amp.DecodeBody[amp.Check](e); err == nil && c.Subject == amp.CheckCommand {
			return c.Text
		}
	case amp.KindAck, amp.KindCommand, amp.KindPlan, amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside:
	}
	return ""
}
