package postgres

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
	"arbiter/ssot/postgres/pgtest"
	"arbiter/ssot/projection"
	"arbiter/ssot/ssottest"
)

// unordered is a group commit as fast as PostgreSQL takes it: entries with numbers of a sequence, which have no order that a reader
// could follow, no chain and no fold, and a row of each task; one statement after the other in one round trip.
type unordered struct {
	conn  *pgx.Conn
	queue *group.Queue
	ended chan struct{}
}

const looseTables = `CREATE TABLE IF NOT EXISTS loose (seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task BIGINT NOT NULL,
	at BIGINT NOT NULL, id BYTEA NOT NULL UNIQUE, kind TEXT NOT NULL, role BYTEA NOT NULL, actor BYTEA NOT NULL, body BYTEA NOT NULL);
	CREATE INDEX IF NOT EXISTS loose_task ON loose (task, seq);
	CREATE TABLE IF NOT EXISTS loose_task_row (task BIGINT PRIMARY KEY, state BYTEA NOT NULL) WITH (fillfactor = 50)`

// openUnordered starts the writer. quick says that it writes lists as ours does, in place of as the library does.
func openUnordered(b *testing.B, s *pgtest.Server, state []byte, quick bool) *unordered {
	b.Helper()
	u := &unordered{conn: conn(b, s.URL("public")), queue: group.NewQueue(), ended: make(chan struct{})}
	run(b, u.conn, quickCompression)
	if quick {
		quickArrays(u.conn)
	}
	go func() {
		defer close(u.ended)
		u.queue.Serve(func(batch []*group.Request) error { return u.store(batch, state) }, nil)
	}()
	return u
}

func (u *unordered) store(batch []*group.Request, state []byte) error {
	var tasks, ats, keys []int64
	var kinds []string
	var ids, roles, actors, bodies, states [][]byte
	for _, r := range batch {
		for i := range r.Records {
			e := &r.Records[i]
			task, _ := strconv.ParseInt(string(e.TaskID[7:]), 10, 64)
			tasks, ats, kinds = append(tasks, task), append(ats, e.At.UnixMilli()), append(kinds, string(e.Kind))
			ids, roles, actors = append(ids, []byte(e.ID)), append(roles, []byte(e.Role)), append(actors, []byte(e.Actor))
			bodies = append(bodies, e.Body)
			if !slices.Contains(keys, task) {
				keys, states = append(keys, task), append(states, state)
			}
		}
		r.Out = make([]ssot.Appended, len(r.Records))
	}
	slices.Sort(keys) // several writers lock them in one order
	q := &pgx.Batch{}
	q.Queue("BEGIN")
	q.Queue(`INSERT INTO loose (task, at, id, kind, role, actor, body)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[])`,
		tasks, ats, ids, kinds, roles, actors, bodies)
	q.Queue(`INSERT INTO loose_task_row (task, state) SELECT * FROM unnest($1::bigint[], $2::bytea[])
		ON CONFLICT (task) DO UPDATE SET state = excluded.state`, keys, states)
	q.Queue("COMMIT")
	return u.conn.SendBatch(context.Background(), q).Close()
}

func (u *unordered) close() {
	u.queue.Close()
	<-u.ended
}

// rate is how many calls of f per second n producers make in a slice of time; each is told its number.
func rate(n int, slice time.Duration, f func(producer int)) float64 {
	var count atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for p := range n {
		wg.Go(func() {
			for time.Since(start) < slice {
				f(p)
				count.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(count.Load()) / time.Since(start).Seconds()
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// BenchmarkAppend compares appends with a group commit without order, chain and fold, interleaved, on a server that syncs, with 64
// producers. The gates: 0.75 with one coordinator, 0.35 with four. x_quick compares with the same group commit whose lists are written as ours are.
func BenchmarkAppend(b *testing.B) {
	s := syncing(b)
	var logs [5]*Log // one with a journal of its own, four with one
	for i := range logs {
		logs[i] = open(b, Options{URL: s.URL([]string{"one", "four"}[min(i, 1)])})
	}
	for i := range ssottest.ChattyTasks {
		for _, log := range logs[:2] {
			put(b, log, ssottest.Submit(fmt.Sprint("s", i), ssottest.Task(1+i)))
		}
	}
	board, err := logs[0].Board(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	run(b, conn(b, s.URL("public")), looseTables)
	state := []byte(projection.Task(board.Tasks[ssottest.Task(1)]))
	plain, quick := openUnordered(b, s, state, false), openUnordered(b, s, state, true)
	defer plain.close()
	defer quick.close()
	var n atomic.Int64
	const producers, slice = 64, 500 * time.Millisecond
	ours := func(logs []*Log) float64 {
		return rate(producers, slice, func(p int) {
			// A task is written by one coordinator, as that has its lease.
			out, err := logs[p%len(logs)].Append(b.Context(), []amp.Record{ssottest.Chatty(n.Add(1)*64 + int64(p))})
			if err != nil || !out[0].Fresh {
				b.Errorf("%+v, %v", out, err)
			}
		})
	}
	theirs := func(u *unordered) float64 {
		return rate(producers, slice, func(int) {
			if err := u.queue.Do(b.Context(), &group.Request{Records: []amp.Record{ssottest.Chatty(n.Add(1))}}); err != nil {
				b.Error(err)
			}
		})
	}
	seen := map[string][]float64{}
	for b.Loop() {
		raw, fast, one, four := theirs(plain), theirs(quick), ours(logs[:1]), ours(logs[1:])
		for unit, x := range map[string]float64{
			"x_unordered/1_coordinator": one / raw, "x_unordered/4_coordinators": four / raw, "x_quick/1_coordinator": one / fast, "x_quick/4_coordinators": four / fast,
			"entries/s/1": one, "entries/s/4": four, "entries/s/unordered": raw, "entries/s/quick": fast,
		} {
			seen[unit] = append(seen[unit], x)
		}
	}
	for unit, all := range seen {
		b.ReportMetric(median(all), unit)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTask is the rate of whole tasks of four durable messages, each waited for and judged, under a lease once the task is there, 64
// in flight, on a server that syncs. Leases are taken for 50 tasks at once. With the program of testdata/river in ARBITER_BENCH_RIVER
// it is compared with tasks of four jobs of River, by turns on the same server. The gate: 5.
func BenchmarkTask(b *testing.B) {
	s := syncing(b)
	log := open(b, Options{URL: s.URL("ours")})
	rival := os.Getenv("ARBITER_BENCH_RIVER")
	var n atomic.Int64
	var rates, rivals, ratios []float64
	for b.Loop() {
		ours := taskRate(b, log, &n)
		rates = append(rates, ours)
		if rival == "" {
			continue
		}
		out, err := exec.CommandContext(b.Context(), rival, s.URL("public"), "4", "64").Output()
		if err != nil {
			b.Fatal(err)
		}
		theirs, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			b.Fatal(err)
		}
		rivals, ratios = append(rivals, theirs), append(ratios, ours/theirs)
	}
	b.ReportMetric(median(rates), "tasks/s")
	if rival != "" {
		b.ReportMetric(median(rivals), "tasks/s/river")
		b.ReportMetric(median(ratios), "x_river")
	}
	b.ReportMetric(0, "ns/op")
}

// taskRate runs tasks for a while; n is the number of the last one that there is.
func taskRate(b *testing.B, log *Log, n *atomic.Int64) float64 {
	b.Helper()
	var queues [64][]ssot.Lease
	return rate(len(queues), 4*time.Second, func(p int) {
		if len(queues[p]) == 0 {
			tasks := make([]amp.TaskID, 50)
			for i := range tasks {
				tasks[i] = amp.TaskID(fmt.Sprintf("T-2026-%06d", n.Add(1)))
			}
			held, err := log.Take(b.Context(), "bench", time.Hour, len(tasks), tasks)
			if err != nil || len(held) != len(tasks) {
				b.Errorf("%v, %v", held, err)
				return
			}
			queues[p] = held
		}
		held := queues[p][0]
		queues[p] = queues[p][1:]
		var j ssot.Judged
		for step := range 4 {
			r := ssottest.Note(fmt.Sprint(held.Task, "-", step), held.Task, ssottest.ChattyText)
			if step == 0 {
				r = ssottest.Submit(fmt.Sprint(held.Task, "-0"), held.Task)
				r.Body = bytes.Replace(r.Body, []byte("say hello"), []byte(ssottest.ChattyText), 1)
			}
			out, err := log.AppendJudged(b.Context(), j, []amp.Record{r})
			if err != nil || !out[0].Fresh {
				b.Errorf("%+v, %v", out, err)
				return
			}
			j = ssot.Judged{Seq: out[0].Entry.Seq, Epochs: map[amp.TaskID]uint64{held.Task: held.Epoch}}
		}
	})
}
