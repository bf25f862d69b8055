package events

import (
	"fmt"
	"math/rand/v2"
	"slices"
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
