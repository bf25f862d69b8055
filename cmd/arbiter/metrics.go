package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/server"
	"arbiter/ssot"
)

// metrics are the numbers that an operator watches, in Prometheus' text form. Counters begin at 0 with the process; what is open now
// is read from the board when it is asked for. No label has a value that an agent chose.
type metrics struct {
	registry *prometheus.Registry
	logger   *slog.Logger

	entries  *prometheus.CounterVec
	appends  prometheus.Histogram
	batch    prometheus.Histogram
	failures *prometheus.CounterVec
	turns    *prometheus.CounterVec
	turnTime *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	requests *prometheus.HistogramVec
	hooks    *prometheus.CounterVec
	state    *stateCollector
	bus      *busCollector
	notify   *notifyCollector
}

// newMetrics returns the metrics of a data directory.
func newMetrics(home string, logger *slog.Logger) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), logger: logger, state: newStateCollector(home), bus: newBusCollector(), notify: newNotifyCollector()}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "arbiter_" + name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	m.entries = counter("journal_entries_total", "Entries appended by this process, by kind.", "kind")
	m.failures = counter("journal_append_failures_total", "Appends that stored nothing, by cause.", "cause")
	for _, c := range causes { // a counter that begins with its first failure shows no increase
		m.failures.WithLabelValues(c.word)
	}
	m.failures.WithLabelValues(otherCause)
	m.turns = counter("turns_ended_total", "Turns of agents that ended, by role, agent and outcome.", "role", "agent", "outcome")
	m.tokens = counter("tokens_total", "Tokens that agents reported, by agent.", "agent")
	m.cost = counter("cost_usd_total", "US dollars that turns cost, as reported or by the configured prices, by agent.", "agent")
	m.hooks = counter("hooks_total", "Webhooks that came in, by source and what became of them.", "source", "outcome")
	m.appends = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "arbiter_journal_append_seconds", Help: "How long an append took until it was durable.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	})
	m.batch = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "arbiter_journal_append_entries", Help: "How many entries an append stored.", Buckets: []float64{1, 2, 4, 8, 16, 64, 256, 1000},
	})
	m.turnTime = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "arbiter_turn_seconds", Help: "How long turns of agents took, by role.", Buckets: []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600},
	}, []string{"role"})
	m.requests = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "arbiter_api_request_seconds", Help: "How long requests of the client API took, by route and status; streams until they ended.",
		Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60},
	}, []string{"route", "status"})
	m.registry.MustRegister(
		m.appends, m.batch, m.turnTime, m.requests, m.state, m.bus, m.notify, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// stored counts an append of the loop.
func (m *metrics) stored(s coordinator.Stored) {
	m.appends.Observe(s.Took.Seconds())
	if s.Err != nil {
		m.failures.WithLabelValues(causeOf(s.Err)).Inc()
		return
	}
	m.batch.Observe(float64(len(s.Entries)))
	for i := range s.Entries {
		e := &s.Entries[i]
		m.entries.WithLabelValues(string(e.Kind)).Inc()
		m.logger.Debug("stored", "seq", e.Seq, "task", e.TaskID, "kind", e.Kind, "id", e.ID, "role", e.Role, "actor", e.Actor)
		if e.Kind == amp.KindTurn {
			m.turn(e)
		}
	}
}

func (m *metrics) turn(e *amp.Entry) {
	u, err := amp.DecodeBody[amp.Turn](e)
	if err != nil || u.Event != amp.TurnEnded {
		return
	}
	m.turns.WithLabelValues(string(u.Role), u.Agent, string(u.Outcome)).Inc()
	m.turnTime.WithLabelValues(string(u.Role)).Observe(float64(u.TookMS) / 1000)
	m.tokens.WithLabelValues(u.Agent).Add(float64(max(u.Tokens, 0)))
	m.cost.WithLabelValues(u.Agent).Add(max(u.CostUSD, 0))
}

func causeOf(err error) string {
	for _, c := range causes {
		if errors.Is(err, c.is) {
			return c.word
		}
	}
	return otherCause
}

// causes are why an append may store nothing. An error that is several of them is the first.
var causes = []struct {
	word string
	is   error
}{{"full", ssot.ErrFull}, {"unreachable", ssot.ErrUnreachable}, {"busy", ssot.ErrBusy}, {"closed", ssot.ErrClosed}, {"failed", ssot.ErrFailed}}

const otherCause = "other"

// hook counts a webhook that came in.
func (m *metrics) hook(source, outcome string) { m.hooks.WithLabelValues(source, outcome).Inc() }

// request counts a request of the client API.
func (m *metrics) request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Observe(took.Seconds())
}

// route serves the metrics.
func (m *metrics) route() server.Route {
	rt := server.Route{
		Method: "GET", Path: "/metrics", Access: server.People, Tag: "operations", Summary: "The metrics in Prometheus' text form.", OutType: "text/plain",
	}
	if m != nil {
		h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
		rt.Stream = h.ServeHTTP
	}
	return rt
}

// lagger is a follower of the journal that says how far it has come.
type lagger interface {
	// Position is the last entry that it dealt with, and since when it has failed to go on; zero when it does not fail.
	Position() (seq uint64, failing time.Time)
}

// mirrorPosition is how far a mirror has come.
type mirrorPosition func() amp.MirrorState

// Position is the last entry that is in the mirror; a mirror in trouble fails since the oldest entry that it lacks.
func (p mirrorPosition) Position() (uint64, time.Time) {
	s := p()
	if s.Trouble == "" {
		return s.Head.Seq, time.Time{}
	}
	return s.Head.Seq, s.Oldest
}

// stateCollector reads what is open now. The board is read at most once in boardEvery, however often it is asked for.
type stateCollector struct {
	home  string
	coord querier

	mu        sync.Mutex
	followers map[string]lagger
	page      amp.Page
	status    *amp.CoordinatorState
	at        time.Time

	up, head, bytes, wal, index, tasks, escalations, questions, acks, overdue, live, slots, queued, stopped, waits, refused, lag, failing, unindexed *prometheus.Desc
}

// boardEvery bounds how often scrapes read the board: of a large journal it takes a while.
const boardEvery = 5 * time.Second

func newStateCollector(home string) *stateCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("arbiter_"+name, help, labels, nil)
	}
	return &stateCollector{
		home: home, followers: map[string]lagger{},
		up:          desc("up", "1 when the board could be read."),
		head:        desc("journal_head", "The seq of the last entry."),
		bytes:       desc("journal_bytes", "The size of the journal's file."),
		wal:         desc("journal_wal_bytes", "The size of the journal's write-ahead log."),
		index:       desc("search_index_bytes", "The size of the index of searches."),
		unindexed:   desc("search_index_lag_entries", "Entries that are not in the index of searches yet."),
		tasks:       desc("tasks", "Tasks by status.", "status"),
		escalations: desc("escalations_open", "Escalations that nobody has resolved, by severity.", "severity"),
		questions:   desc("questions_open", "Questions of agents that wait for an answer."),
		acks:        desc("ack_timers_open", "Messages whose acknowledgement is due, by type.", "type"),
		overdue:     desc("ack_timers_overdue", "Those of them whose time is over."),
		live:        desc("turns_live", "Turns of agents that run now."),
		slots:       desc("turn_slots", "How many turns may run at once."),
		queued:      desc("turns_queued", "Tasks that wait for a free slot."),
		stopped:     desc("stopped", "1 while everything stands still after stop-all."),
		waits:       desc("waits", "Things that need the admin."),
		refused:     desc("refusals", "Refused messages in the journal."),
		lag:         desc("follower_lag_entries", "Entries that a follower of the journal has not dealt with.", "follower"),
		failing:     desc("follower_failing_seconds", "For how long a follower has failed to go on; 0 when it does not.", "follower"),
	}
}

// follow adds a follower of the journal whose lag is to be watched.
func (c *stateCollector) follow(name string, f lagger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followers[name] = f
}

// Describe names every metric.
func (c *stateCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.up, c.head, c.bytes, c.wal, c.index, c.tasks, c.escalations, c.questions, c.acks, c.overdue, c.live, c.slots, c.queued, c.stopped, c.waits,
		c.refused, c.lag, c.failing, c.unindexed,
	} {
		out <- d
	}
}

// Collect reads what is open now.
func (c *stateCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for name, d := range map[string]*prometheus.Desc{"journal.db": c.bytes, "journal.db-wal": c.wal, "search.db": c.index} {
		if info, err := os.Stat(filepath.Join(c.home, name)); err == nil {
			gauge(d, float64(info.Size()))
		}
	}
	if c.read() != nil {
		gauge(c.up, 0)
		return
	}
	gauge(c.up, 1)
	b, s := c.page.Board, c.status
	gauge(c.head, float64(b.Head.Seq))
	if s.Indexed > 0 {
		gauge(c.unindexed, float64(b.Head.Seq-min(s.Indexed, b.Head.Seq)))
	}
	gauge(c.live, float64(s.Turns))
	gauge(c.slots, float64(s.Slots))
	gauge(c.queued, float64(s.Queued))
	gauge(c.stopped, flag(s.Stopped))
	gauge(c.waits, float64(b.Waits))
	gauge(c.refused, float64(b.Refusals))
	c.collectTasks(b, gauge)
	for name, f := range c.followers {
		seq, since := f.Position()
		gauge(c.lag, float64(b.Head.Seq-min(seq, b.Head.Seq)), name)
		failing := 0.0
		if !since.IsZero() {
			failing = time.Since(since).Seconds()
		}
		gauge(c.failing, failing, name)
	}
}

func (c *stateCollector) collectTasks(b *amp.Board, gauge func(*prometheus.Desc, float64, ...string)) {
	tasks, open, acks := map[amp.Status]int{}, map[amp.Severity]int{}, map[amp.MessageType]int{}
	questions, overdue, now := 0, 0, time.Now()
	for _, t := range b.Tasks {
		tasks[t.Status]++
		for _, e := range t.OpenEscalations() {
			open[e.Severity]++
		}
		questions += len(t.Questions)
		for i := range t.Open {
			acks[t.Open[i].Type]++
			if now.After(t.Open[i].Deadline()) {
				overdue++
			}
		}
	}
	for _, s := range amp.Statuses {
		gauge(c.tasks, float64(tasks[s]), string(s))
	}
	for _, s := range []amp.Severity{amp.Info, amp.Warning, amp.Critical} {
		gauge(c.escalations, float64(open[s]), string(s))
	}
	for _, typ := range []amp.MessageType{amp.TaskDispatch, amp.TaskResult, amp.ReviewRequest, amp.ReviewVerdict} {
		gauge(c.acks, float64(acks[typ]), string(typ))
	}
	gauge(c.questions, float64(questions))
	gauge(c.overdue, float64(overdue))
}

// read brings board and status up to date.
func (c *stateCollector) read() error {
	if c.coord == nil {
		return coordinator.ErrNotRunning
	}
	if c.status != nil && time.Since(c.at) < boardEvery {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	status, err := c.coord.Query(ctx, amp.Query{Kind: amp.QueryStatus})
	if err != nil {
		return err
	}
	page, err := c.coord.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil {
		return err
	}
	c.page, c.status, c.at = page, status.Status, time.Now()
	return nil
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
