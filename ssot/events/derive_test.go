package events

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// journalOf stores records in a new journal.
func journalOf(t testing.TB, records ...amp.Record) (ssot.Log, []amp.Entry) {
	t.Helper()
	log := memory.New()
	for _, r := range records {
		if _, err := log.Append(t.Context(), []amp.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	return log, all
}

// types derives every entry and returns the types of the events.
func typesOf(t *testing.T, d *Deriver, entries []amp.Entry) (types []string, all []Event) {
	t.Helper()
	for i := range entries {
		events, err := d.Derive(t.Context(), &entries[i])
		if err != nil {
			t.Fatal(err)
		}
		for j := range events {
			if err := Check(&events[j]); err != nil {
				t.Errorf("entry %d: %v", entries[i].Seq, err)
			}
			line, err := events[j].Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, errs, warnings := Decode(line); len(errs)+len(warnings) > 0 { // what a receiver says of it
				t.Errorf("entry %d: %v %v", entries[i].Seq, errs, warnings)
			}
			types = append(types, events[j].Type)
		}
		all = append(all, events...)
	}
	return types, all
}

// A task's life as the table of the mapping says, each event complete (EVT-081, EVT-093).
func TestDerive_life(t *testing.T) {
	t.Parallel()
	at := ssottest.Start.Add(time.Minute)
	task := ssottest.Task(1)
	dispatch := ssottest.Dispatch(task, at)
	log, entries := journalOf(t,
		ssottest.Submit("c1", task), ssottest.Propose("p1", task, "Hello"), ssottest.Approve("c2", task), dispatch,
		ssottest.Turn("t1", task, "run", amp.TurnStarted), ssottest.Ack("a1", task, dispatch.ID, amp.Executor),
		ssottest.Turn("t2", task, "run", amp.TurnEnded), ssottest.Result(task, at.Add(time.Minute)), ssottest.Alarm(task, at.Add(2*time.Minute)),
	)
	d := NewDeriver(log.Read)
	got, all := typesOf(t, d, entries)
	want := []string{
		"project.created", "project.updated", "project.execution_started",
		"task.created", "workflow.started", "task.assigned", "agent.task_assigned",
		"agent.created", "agent.initialized", "model.execution_requested",
		"agent.state_changed", "task.status_changed",
		"model.execution_completed", "agent.state_changed",
		"workflow.step_completed", "system.error", "task.status_changed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	for i := range all {
		e := &all[i]
		if e.CorrelationID != Correlation(task) || e.Metadata["schema_version"] != SchemaVersion {
			t.Errorf("%s: correlation %s, metadata %v", e.Type, e.CorrelationID, e.Metadata)
		}
		if e.Type == "task.status_changed" && i < 15 && (e.Data["previous_status"] != "pending" || e.Data["new_status"] != "in_progress") {
			t.Errorf("the ACK of the dispatch: %v", e.Data)
		}
	}
	last := all[len(all)-1]
	if last.Data["new_status"] != "suspended" {
		t.Errorf("the escalation: %v", last.Data)
	}
}

// Whatever stands in a journal, its events are complete, have ids of their own, and are the same whichever entry is derived first, and
// whatever was derived before (EVT-090, EVT-096).
func TestDerive_again(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		log := memory.New()
		for i := range 200 {
			_, err := log.Append(t.Context(), []amp.Record{ssottest.Any(r, fmt.Sprintf("e%d", i), ssottest.Start.Add(time.Duration(i)*time.Second))})
			if err != nil {
				t.Fatal(err)
			}
		}
		entries, err := ssottest.All(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		_, want := typesOf(t, NewDeriver(log.Read), entries)
		ids := map[string]bool{}
		for _, e := range want {
			if ids[e.ID] {
				t.Fatalf("seed %d: the id %s twice", seed, e.ID)
			}
			ids[e.ID] = true
		}
		d, bySeq := NewDeriver(log.Read), map[uint64][]Event{}
		for _, i := range r.Perm(len(entries)) {
			if bySeq[entries[i].Seq], err = d.Derive(t.Context(), &entries[i]); err != nil {
				t.Fatal(err)
			}
		}
		var got []Event
		for i := range entries {
			got = append(got, bySeq[entries[i].Seq]...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: in another order (-want +got):\n%s", seed, diff)
		}
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	known := []string{"pending", "in_progress", "in_review", "blocked", "completed", "suspended", "locked", "delivered", "terminated"}
	for _, s := range amp.Statuses {
		if !slices.Contains(known, Word(s)) {
			t.Errorf("%s is %q", s, Word(s))
		}
	}
}

// A refused message is an event like an escalation is, with its rule and the reason (EVT-064, EVT-082): of its task when it names one that there
// is, else of nothing but itself.
func TestDerive_refusal(t *testing.T) {
	t.Parallel()
	task := ssottest.Task(1)
	long := ssottest.Refusal("e8c1f3a0-0000-4000-8000-000000000004", "", nil)
	long.Body = amp.EncodeBody(amp.Refusal{What: "event", Source: "events", RawLen: 5, Raw: []byte("<\xffaw>"), Problems: slices.Repeat([]amp.Problem{
		{Rule: "EVT-083", Field: strings.Repeat("f", 9000), Message: strings.Repeat("é", 9000)},
	}, 200)})
	log, entries := journalOf(t,
		ssottest.Submit("c1", task), ssottest.Refusal("e8c1f3a0-0000-4000-8000-000000000001", task, []byte("<raw>")),
		ssottest.Refusal("e8c1f3a0-0000-4000-8000-000000000002", "", []byte("<raw>")),
		ssottest.Refusal("e8c1f3a0-0000-4000-8000-000000000003", ssottest.Task(7), []byte("<raw>")), long,
	)
	_, all := typesOf(t, NewDeriver(log.Read), entries[1:])
	if len(all) != 4 {
		t.Fatalf("%d events of 4 refusals: %v", len(all), all)
	}
	for i := range all {
		e, entry := &all[i], &entries[i+1]
		about, _ := e.Metadata["amp"].(map[string]any)
		if e.Type != "system.error" || e.Data["error_id"] != entry.ID || e.Data["error_type"] != "refusal" || about["seq"] != float64(entry.Seq) {
			t.Errorf("entry %d: %s %v %v", entry.Seq, e.Type, e.Data, about)
		}
		line, err := e.Encode()
		if err != nil || len(line) > MaxEvent/4 || bytes.Contains(line, []byte("aw>")) {
			t.Errorf("entry %d: %d bytes, or what was refused is in it: %v", entry.Seq, len(line), err)
		}
	}
	of := all[0]
	context, _ := of.Data["context"].(map[string]any)
	if of.Data["message"] != "bytes refused: not a message (AMP-001)" || context["source"] != "socket" || context["raw_len"] != 5.0 {
		t.Errorf("the refusal says %v", of.Data)
	}
	if problems := cmp.Diff([]any{map[string]any{"rule": "AMP-001", "field": "", "message": "not a message"}}, context["problems"]); problems != "" {
		t.Errorf("its rules (-want +got):\n%s", problems)
	}
	if of.CorrelationID != Correlation(task) || of.Metadata["amp"].(map[string]any)["task_status"] != "drafting" {
		t.Errorf("the refusal of a task belongs to %s, %v", of.CorrelationID, of.Metadata)
	}
	if all[1].CorrelationID == all[3].CorrelationID || all[2].CorrelationID != Correlation(ssottest.Task(7)) {
		t.Error("EVT-099: refusals of no task belong together")
	}
	p := NewPublisher(log.Read, nil)
	for i := range all {
		if d, err := p.Find(t.Context(), all[i].ID); err != nil || d.At != (Position{Seq: uint64(i) + 2, N: 1}) {
			t.Errorf("a receiver cannot go on after the refusal %d: %v %v", i, d, err)
		}
	}
}

// Messages of the bus that could not be delivered are one event, which names them as arbiter bus resend takes them; nothing else of the bus is.
func TestDerive_deadLetter(t *testing.T) {
	t.Parallel()
	fact := func(id, body string) amp.Record {
		return amp.Record{Kind: amp.KindBus, Role: amp.System, Actor: "bus", At: ssottest.Start, ID: id, Body: []byte(body)}
	}
	many := strings.Repeat(`"0123456789abcdef",`, 300)
	log, entries := journalOf(t,
		fact("e8c1f3a0-0000-4000-8000-000000000001", `{"event":"message_queued","message":"{\"payload\":\"message_dead\"}"}`),
		fact("e8c1f3a0-0000-4000-8000-000000000002", `{"event":"message_dead","agent_id":"curl://critic","keys":["0123456789abcdef"],"why":"the agent was removed"}`),
		fact("e8c1f3a0-0000-4000-8000-000000000003", `{"event":"message_dead","keys":[`+many[:len(many)-1]+`],"why":"`+strings.Repeat("w", 90000)+`"}`),
	)
	_, all := typesOf(t, NewDeriver(log.Read), entries)
	if len(all) != 2 {
		t.Fatalf("%d events of 2 facts about dead letters: %v", len(all), all)
	}
	want := map[string]any{
		"error_id": entries[1].ID, "error_type": "dead_letter", "severity": "warning", "message": "not delivered: the agent was removed",
		"context": map[string]any{"why": "the agent was removed", "recipient": "curl://critic", "letters": []any{"0123456789abcdef"}, "letter_count": 1.0},
	}
	if diff := cmp.Diff(want, all[0].Data); all[0].Type != "system.error" || diff != "" {
		t.Errorf("%s (-want +got):\n%s", all[0].Type, diff)
	}
	if line, err := all[1].Encode(); err != nil || len(line) > MaxEvent/4 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	if d, err := NewPublisher(log.Read, nil).Find(t.Context(), all[0].ID); err != nil || d.At != (Position{Seq: 2, N: 1}) {
		t.Errorf("a receiver cannot go on after it: %v %v", d, err)
	}
}
