// Command river runs tasks of four durable steps on River, to compare with: it prints how many tasks a second it ended.
//
//	river URL SECONDS IN_FLIGHT
//
// A step is a job with 2 KB of arguments that is completed in one transaction with the insert of the next one, as River recommends it.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const steps = 4

// stepArgs are the arguments of a step of a task.
type stepArgs struct {
	Task int64  `json:"task"`
	Step int    `json:"step"`
	Text string `json:"text"`
}

func (stepArgs) Kind() string { return "step" }

type worker struct {
	river.WorkerDefaults[stepArgs]
	pool  *pgxpool.Pool
	ended *sync.Map // of task to the channel that is told
}

func (w *worker) Work(ctx context.Context, job *river.Job[stepArgs]) error {
	a := job.Args
	err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		if a.Step+1 < steps {
			next := a
			next.Step++
			if _, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, next, nil); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err != nil || a.Step+1 < steps {
		return err
	}
	if c, waited := w.ended.LoadAndDelete(a.Task); waited {
		close(c.(chan struct{}))
	}
	return nil
}

func run(url, seconds, inFlight string) error {
	length, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	producers, err := strconv.Atoi(inFlight)
	if err != nil {
		return err
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	w := &worker{pool: pool, ended: &sync.Map{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	client, err := river.NewClient(driver, &river.Config{
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: producers}},
		Workers:       workers,
		FetchCooldown: time.Millisecond, FetchPollInterval: 2 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	text := strings.Repeat("what was said about it, ", 80)
	var numbers, count atomic.Int64
	numbers.Store(time.Now().UnixNano())
	failed := make(chan error, producers)
	var wg sync.WaitGroup
	start := time.Now()
	slice := time.Duration(length * float64(time.Second))
	for range producers {
		wg.Go(func() {
			for time.Since(start) < slice {
				a, c := stepArgs{Task: numbers.Add(1), Text: text}, make(chan struct{})
				w.ended.Store(a.Task, c)
				if _, err := client.Insert(ctx, a, nil); err != nil {
					failed <- err
					return
				}
				<-c
				count.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(start).Seconds()
	select {
	case err := <-failed:
		return err
	default:
	}
	if err := client.Stop(ctx); err != nil {
		return err
	}
	_, err = fmt.Println(float64(count.Load()) / took)
	return err
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "river URL SECONDS IN_FLIGHT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
