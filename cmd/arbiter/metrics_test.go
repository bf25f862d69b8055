package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/notify"
	"arbiter/providers/bus"
	"arbiter/ssot"
)

// answers is a coordinator of fixed answers.
type answers struct {
	board  *amp.Board
	status *amp.CoordinatorState
	asked  int
}

func (a *answers) Query(_ context.Context, q amp.Query) (amp.Page, error) {
	a.asked++
	if a.board == nil {
		return amp.Page{}, errors.New("no answer")
	}
	return amp.Page{Board: a.board, Status: a.status, Head: a.board.Head}, nil
}

type position uint64

func (p position) Position() (uint64, time.Time) { return uint64(p), time.Time{} }

func scrape(t *testing.T, m *metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.route().Stream(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s", w.Code, w.Header().Get("Content-Type"))
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, size := range map[string]int{"journal.db": 4096, "journal.db-wal": 100} {
		if err := os.WriteFile(filepath.Join(home, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := newMetrics(home, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	if text := scrape(t, m); !strings.Contains(text, "\narbiter_up 0\n") || !strings.Contains(text, "\narbiter_journal_bytes 4096\n") {
		t.Errorf("without a coordinator:\n%s", text)
	}
	past := time.Now().Add(-time.Hour)
	b := amp.NewBoard()
	b.Head.Seq, b.Waits, b.Refusals = 100, 3, 2
	b.Tasks["T-2026-001"] = &amp.Task{
		ID: "T-2026-001", Status: amp.Executing, Questions: make([]amp.QuestionState, 2),
		Open:        []amp.Obligation{{Type: amp.TaskDispatch, SentAt: past, TimeoutSec: 300}, {Type: amp.ReviewRequest, SentAt: past, TimeoutSec: 360000}},
		Escalations: []amp.EscalationState{{Severity: amp.Critical}, {Severity: amp.Warning, ResolvedSeq: 7, Resolution: amp.Resume}},
	}
	coord := &answers{board: b, status: &amp.CoordinatorState{Turns: 1, Slots: 4, Queued: 5, Stopped: true, Indexed: 90}}
	m.state.coord = coord
	m.state.follow("github", position(60))
	turn := func(u amp.Turn) amp.Entry {
		return amp.Entry{Record: amp.Record{Kind: amp.KindTurn, Body: amp.EncodeBody(u)}}
	}
	m.stored(coordinator.Stored{Took: 3 * time.Millisecond, Entries: []amp.Entry{
		turn(amp.Turn{Event: amp.TurnStarted, Role: amp.Executor, Agent: "codex"}),
		turn(amp.Turn{Event: amp.TurnEnded, Role: amp.Executor, Agent: "codex", Outcome: amp.TurnOK, Tokens: 1200, CostUSD: 0.25, TookMS: 61000}),
	}})
	m.stored(coordinator.Stored{Took: time.Millisecond, Err: ssot.ErrFull})
	m.request("GET /v1/status", 200, time.Millisecond)
	m.bus.read = func() bus.Metrics {
		return bus.Metrics{
			TotalMessages: 9, Queued: 4, Bytes: 4096, Dead: 1, Buried: 2, Delivered: 5, Failures: 3, HandedOver: 1, Refused: 6, Full: 7, Duplicates: 8, Heartbeats: 10,
			Longest: 3, Oldest: 1500, ActiveSessions: 2, Healthy: 2, Unhealthy: 1, Absent: 3,
		}
	}
	m.notify.read = func() []notify.Channel {
		long := time.Now().Add(-241 * time.Hour)
		return []notify.Channel{
			{Name: "telegram", Delivered: 11, Last: time.Now().Add(time.Hour), Began: long},
			{Name: "webhook ops", Failed: 12, Waiting: 13, Began: long, Failing: long},
		}
	}
	text := scrape(t, m)
	for _, late := range []string{"success_age_seconds", "failing_seconds"} {
		if !strings.Contains(text, "\narbiter_notify_"+late+`{channel="webhook ops"} 86`) {
			t.Errorf("%s of a channel that is out for ten days is not there", late)
		}
	}
	for _, want := range []string{
		`arbiter_up 1`, `arbiter_journal_head 100`, `arbiter_journal_wal_bytes 100`, `arbiter_search_index_lag_entries 10`,
		`arbiter_tasks{status="executing"} 1`, `arbiter_tasks{status="held"} 0`, `arbiter_escalations_open{severity="critical"} 1`,
		`arbiter_escalations_open{severity="warning"} 0`, `arbiter_questions_open 2`, `arbiter_ack_timers_open{type="task_dispatch"} 1`,
		`arbiter_ack_timers_overdue 1`, `arbiter_turns_live 1`, `arbiter_turn_slots 4`, `arbiter_turns_queued 5`, `arbiter_stopped 1`, `arbiter_waits 3`,
		`arbiter_refusals 2`, `arbiter_follower_lag_entries{follower="github"} 40`, `arbiter_journal_entries_total{kind="turn"} 2`,
		`arbiter_journal_append_failures_total{cause="full"} 1`, `arbiter_journal_append_failures_total{cause="unreachable"} 0`,
		`arbiter_journal_append_failures_total{cause="other"} 0`, `arbiter_journal_append_seconds_bucket{le="0.005"} 2`,
		`arbiter_journal_append_seconds_count 2`, `arbiter_turns_ended_total{agent="codex",outcome="ok",role="executor"} 1`,
		`arbiter_tokens_total{agent="codex"} 1200`, `arbiter_cost_usd_total{agent="codex"} 0.25`, `arbiter_turn_seconds_bucket{role="executor",le="60"} 0`,
		`arbiter_api_request_seconds_count{route="GET /v1/status",status="200"} 1`,
		`arbiter_bus_messages_total 9`, `arbiter_bus_delivered_total 5`, `arbiter_bus_failed_deliveries_total 3`, `arbiter_bus_handed_over_total 1`,
		`arbiter_bus_dead_letters_total 2`, `arbiter_bus_dead_letters 1`, `arbiter_bus_refused_total 6`, `arbiter_bus_full_total 7`,
		`arbiter_bus_duplicates_total 8`, `arbiter_bus_heartbeats_total 10`, `arbiter_bus_queued 4`, `arbiter_bus_queued_bytes 4096`,
		`arbiter_bus_queue_longest 3`, `arbiter_bus_queue_oldest_seconds 1.5`, `arbiter_bus_sessions 2`, `arbiter_bus_agents{state="healthy"} 2`,
		`arbiter_bus_agents{state="unhealthy"} 1`, `arbiter_bus_agents{state="absent"} 3`,
		`arbiter_notify_delivered_total{channel="telegram"} 11`, `arbiter_notify_failed_total{channel="webhook ops"} 12`,
		`arbiter_notify_waiting{channel="webhook ops"} 13`, `arbiter_notify_failing_seconds{channel="telegram"} 0`,
		`arbiter_notify_success_age_seconds{channel="telegram"} 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is not there", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	scrape(t, m)
	if coord.asked != 2 {
		t.Errorf("three scrapes in a row asked %d times, want board and status once", coord.asked)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "arbiter_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// docs/operations.md names every metric, and none that is not there.
func TestDocs_metrics(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	m := newMetrics(t.TempDir(), slog.New(slog.DiscardHandler))
	descs := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(descs)
	close(descs)
	known := map[string]bool{}
	name := regexp.MustCompile(`arbiter_[a-z_]+`)
	for d := range descs {
		if n := name.FindString(d.String()); n != "" {
			known[n] = true
		}
	}
	if len(known) < 20 {
		t.Fatalf("only %d metrics", len(known))
	}
	for n := range known {
		if !strings.Contains(string(doc), n) {
			t.Errorf("docs/operations.md does not name %s", n)
		}
	}
	for _, n := range name.FindAllString(string(doc), -1) {
		if !known[n] {
			t.Errorf("docs/operations.md names %s, which is no metric", n)
		}
	}
}
