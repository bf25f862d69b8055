package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

func init() {
	roles["append"] = playAppend
	roles["work"] = playWork
}

// times is how often a loop runs: n times, or what an environment variable says.
func times(t *testing.T, env string, n int) int {
	t.Helper()
	if said, err := strconv.Atoi(os.Getenv(env)); err == nil {
		t.Logf("%s: %d instead of %d", env, said, n)
		return said
	}
	return n
}

// TestRestart ends the server without a checkpoint while two coordinators append, again and again. Every append comes through, and
// what was acknowledged is there once.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := syncing(t)
	rounds := times(t, "ARBITER_POSTGRES_RESTARTS", 2)
	opts := Options{URL: s.URL("restart"), Patience: 10 * time.Minute}
	logs := []*Log{open(t, opts), open(t, opts)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	acked := map[uint64]string{}
	more := make(chan int, 1)
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprint(p, "-", i)
				out, err := logs[p%2].Append(context.WithoutCancel(ctx), []amp.Record{ssottest.Note(id, ssottest.Task(1+p), "x")})
				if err != nil || !out[0].Fresh || out[0].Err != nil {
					t.Errorf("append %s: %+v, %v", id, out, err)
					return
				}
				mu.Lock()
				acked[out[0].Entry.Seq] = id
				n := len(acked)
				mu.Unlock()
				select {
				case more <- n:
				case <-more: // the newest count
				}
			}
		})
	}
	grown := func() {
		t.Helper()
		mu.Lock()
		want := len(acked) + 40
		mu.Unlock()
		for n := 0; n < want; n = <-more {
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	for range rounds {
		grown()
		s.Stop()
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	grown()
	cancel()
	wg.Wait()
	stored(t, logs[0], acked)
	t.Logf("%d acknowledged appends, %d restarts", len(acked), rounds)
}

// stored wants a journal to be whole, and to hold what was acknowledged.
func stored(t *testing.T, log *Log, acked map[uint64]string) {
	t.Helper()
	whole(t, log)
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	for seq, id := range acked {
		if seq > uint64(len(all)) || all[seq-1].ID != id {
			t.Fatalf("entry %d was acknowledged as %s and is not stored", seq, id)
		}
	}
}

// childVersion is the version that other processes of a test show the database.
const childVersion = "child"

// left waits until the database has ended what killed processes of this test had sent: a commit may still be on its way.
func left(t *testing.T, log *Log) {
	t.Helper()
	for n := 1; n > 0; {
		err := log.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", "arbiter "+childVersion).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// playAppend appends with several producers until it is killed, and prints each acknowledgement.
func playAppend(args []string) error {
	log, err := Open(context.Background(), Options{URL: args[0], Version: childVersion})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", args[1], p, i)
				out, err := log.Append(context.Background(), []amp.Record{ssottest.Note(id, ssottest.Task(1+p), strings.Repeat("x", i%3000))})
				if err != nil || !out[0].Fresh {
					fmt.Fprintf(os.Stderr, "%s: %+v, %v\n", id, out, err)
					os.Exit(1)
				}
				mu.Lock()
				fmt.Println(out[0].Entry.Seq, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

// TestKill kills two writers with SIGKILL while they append, again and again.
func TestKill(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	log := open(t, Options{URL: url})
	acked := map[uint64]string{}
	var mu sync.Mutex
	for round := range times(t, "ARBITER_POSTGRES_KILLS", 3) {
		var wg sync.WaitGroup
		for w := range 2 {
			c := start(t, "append", url, fmt.Sprint("w", round, "-", w))
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(w)))
				for left := 20 + r.IntN(60); ; left-- {
					line, ok := c.line()
					if !ok {
						break
					}
					var seq uint64
					var id string
					if _, err := fmt.Sscan(line, &seq, &id); err != nil {
						t.Errorf("acknowledgement %q: %v", line, err)
					}
					mu.Lock()
					acked[seq] = id
					mu.Unlock()
					if left == 0 {
						c.kill(t)
					}
				}
				c.killed(t)
			})
		}
		wg.Wait()
	}
	left(t, log)
	stored(t, log, acked)
	if len(acked) < 20 {
		t.Errorf("only %d appends were acknowledged: the loop proves nothing", len(acked))
	}
}

// child is another process that plays a role.
type child struct {
	cmd *exec.Cmd
	out *bufio.Reader
	err strings.Builder
}

func start(t *testing.T, role string, args ...string) *child {
	t.Helper()
	c := &child{cmd: exec.CommandContext(t.Context(), os.Args[0], args...)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+role)
	c.cmd.Stderr = &c.err
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// line is the next whole line that the child printed; false when there is none any more. A line without its end says nothing.
func (c *child) line() (string, bool) {
	line, err := c.out.ReadString('\n')
	return strings.TrimSpace(line), err == nil
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// killed wants the child to have died of SIGKILL, and not of something that it found.
func (c *child) killed(t *testing.T) {
	t.Helper()
	err := c.cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Errorf("the child ended by itself: %v, %s", err, &c.err)
		return
	}
	if st, ok := exit.Sys().(syscall.WaitStatus); !ok || st.Signal() != syscall.SIGKILL {
		t.Errorf("the child did not die of SIGKILL: %v, %s", err, &c.err)
	}
}

// worker takes jobs by leases and does them: a job is a task, begun by an entry start-… and done by an entry result-…
type worker struct {
	log  *Log
	name string
	jobs int
	ttl  time.Duration
	seq  uint64
	// begun counts the starts of each job, done has those with a result.
	begun map[amp.TaskID]int
	done  map[amp.TaskID]bool
}

// playWork works until all jobs are done. It prints what became of each: done, stale, or fenced.
func playWork(args []string) error {
	jobs, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	w := &worker{name: args[1], jobs: jobs, ttl: 300 * time.Millisecond, begun: map[amp.TaskID]int{}, done: map[amp.TaskID]bool{}}
	if w.log, err = Open(context.Background(), Options{URL: args[0], Patience: 10 * time.Minute, Version: childVersion}); err != nil {
		return err
	}
	for {
		if err := w.catchUp(); err != nil {
			return err
		}
		if len(w.done) == jobs {
			return w.log.Close()
		}
		if err := w.work(); err != nil {
			return err
		}
	}
}

func (w *worker) catchUp() error {
	for {
		page, err := w.log.Read(context.Background(), amp.Filter{After: w.seq})
		if err != nil {
			return err
		}
		for i := range page {
			switch e := &page[i]; {
			case strings.HasPrefix(e.ID, "start-"):
				w.begun[e.TaskID]++
			case strings.HasPrefix(e.ID, "result-"):
				w.done[e.TaskID] = true
			}
			w.seq = page[i].Seq
		}
		if len(page) < ssot.MaxPage {
			return nil
		}
	}
}

// work takes one job and does it.
func (w *worker) work() error {
	ctx := context.Background()
	var open []amp.TaskID
	first := rand.IntN(w.jobs)
	for i := range w.jobs {
		if task := ssottest.Task(1 + (first+i)%w.jobs); !w.done[task] {
			open = append(open, task)
		}
	}
	// A job that was begun before has longer to go: on a machine that is busy enough, no step is done within the shortest lease.
	got, err := w.log.Take(ctx, w.name, w.ttl<<min(w.begun[open[0]], 8), 1, open[:min(len(open), 20)])
	if err != nil {
		return err
	}
	if len(got) == 0 { // the others are at it, or lie dead until their leases lapse
		wait, cancel := context.WithTimeout(ctx, w.ttl/3)
		defer cancel()
		if err := w.log.Grown(wait, w.seq); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil
	}
	held := got[0]
	for _, step := range []string{"start", "result"} {
		// A job in ten that nobody has begun is paused in until its lease is lost, as a process is that is stopped.
		if number := int(held.Task[len(held.Task)-1] - '0'); step == "result" && number%10 == 7 && w.begun[held.Task] == 1 {
			if err := w.pause(held); err != nil {
				return err
			}
		}
		if gone, err := w.step(held, step); err != nil || gone {
			return err
		}
		if err := w.catchUp(); err != nil {
			return err
		}
	}
	return w.log.Release(ctx, []ssot.Lease{held})
}

// step stores a step of a job, judged on what is known, and reports whether the job is another's, or done.
func (w *worker) step(held ssot.Lease, step string) (gone bool, err error) {
	for {
		if w.done[held.Task] {
			return true, nil
		}
		r := ssottest.Note(fmt.Sprintf("%s-%s-%d", step, held.Task, held.Epoch), held.Task, w.name)
		out, err := w.log.AppendJudged(context.Background(), ssot.Judged{Seq: w.seq, Epochs: map[amp.TaskID]uint64{held.Task: held.Epoch}}, []amp.Record{r})
		switch {
		case errors.Is(err, ssot.ErrFenced):
			fmt.Println("fenced", step, held.Task)
			return true, nil
		case errors.Is(err, ssot.ErrStale):
			fmt.Println("stale", step, held.Task)
			if err := w.catchUp(); err != nil {
				return false, err
			}
			continue
		case err != nil:
			return false, err
		case out[0].Err != nil || !out[0].Fresh:
			return false, fmt.Errorf("%s: %+v", r.ID, out[0])
		}
		fmt.Println(step, held.Task, out[0].Entry.Seq)
		return false, nil
	}
}

// pause waits until the lease has lapsed.
func (w *worker) pause(held ssot.Lease) error {
	for {
		live, err := w.log.Owners(context.Background())
		if err != nil {
			return err
		}
		lapsed := true
		for _, l := range live {
			lapsed = lapsed && (l.Task != held.Task || l.Epoch != held.Epoch)
		}
		if lapsed {
			return nil
		}
	}
}

// TestLeases lets six processes do jobs under leases of 300 ms while they are killed and paused: every job has one result, and what
// a paused process had to say is refused.
func TestLeases(t *testing.T) {
	t.Parallel()
	s := server(t)
	url := s.URL(s.Schema())
	log := open(t, Options{URL: url})
	jobs := times(t, "ARBITER_POSTGRES_JOBS", 30)
	kills := jobs / 15
	var mu sync.Mutex
	counts, killed := map[string]int{}, 0
	lines := 0
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for n := 0; ; n++ {
				c := start(t, "work", url, fmt.Sprint("owner-", w, "-", n), strconv.Itoa(jobs))
				ours := false
				for {
					line, ok := c.line()
					if !ok {
						break
					}
					word, _, _ := strings.Cut(line, " ")
					mu.Lock()
					counts[word]++
					if lines++; lines%15 == 0 && killed < kills && !ours {
						killed++
						ours = true
						c.kill(t)
					}
					mu.Unlock()
				}
				if ours {
					_, _ = io.Copy(io.Discard, c.out)
					if c.cmd.Wait() == nil { // it was done in the same moment
						return
					}
					continue
				}
				if err := c.cmd.Wait(); err != nil {
					t.Errorf("a worker: %v, %s", err, &c.err)
				}
				return
			}
		})
	}
	wg.Wait()
	left(t, log)
	whole(t, log)
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	starts, results := map[amp.TaskID]int{}, map[amp.TaskID]int{}
	for _, e := range all {
		if strings.HasPrefix(e.ID, "start-") {
			starts[e.TaskID]++
		} else {
			results[e.TaskID]++
		}
	}
	for n := 1; n <= jobs; n++ {
		if task := ssottest.Task(n); results[task] != 1 || starts[task] < 1 {
			t.Errorf("task %s was begun %d times and has %d results, want 1", task, starts[task], results[task])
		}
	}
	again := 0
	for _, n := range starts {
		again += n - 1
	}
	t.Logf("%d jobs, %d kills: %d results, %d begun again, %d late words refused, %d judged again", jobs, killed, len(results), again,
		counts["fenced"], counts["stale"])
	if counts["fenced"] == 0 {
		t.Error("no late word was refused: the epochs were not used")
	}
}
