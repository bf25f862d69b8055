package sqlite

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
	"arbiter/ssot/ssottest"
)

// occupy keeps the writer busy until the returned function is called.
func occupy(t *testing.T, log *Log) (release func()) {
	t.Helper()
	stop, started, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- log.writer.alone(context.Background(), func(*writer) error {
			close(started)
			<-stop
			return nil
		})
	}()
	<-started
	return func() {
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestQueue_full(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := openLog(t, t.TempDir())
		release := occupy(t, log)
		waiting := make(chan error, group.Len)
		for i := range group.Len {
			go func() {
				out, err := log.Append(context.Background(), []amp.Record{ssottest.Raw(fmt.Sprint("q", i), "", nil)})
				if err == nil && !out[0].Fresh {
					err = fmt.Errorf("a queued append: %+v", out)
				}
				waiting <- err
			}()
		}
		synctest.Wait()
		start := time.Now()
		_, err := log.Append(t.Context(), []amp.Record{fact(1)})
		if took := time.Since(start); !errors.Is(err, ssot.ErrBusy) || took != group.BusyAfter {
			t.Errorf("Append to a full queue: %v after %v; want busy after %v", err, took, group.BusyAfter)
		}
		ctx, cancel := context.WithTimeout(t.Context(), group.BusyAfter/2)
		defer cancel()
		if _, err := log.Append(ctx, []amp.Record{fact(2)}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Append to a full queue with a deadline: %v", err)
		}
		release()
		for range group.Len {
			if err := <-waiting; err != nil {
				t.Fatal(err)
			}
		}
		if head, err := log.Head(t.Context()); err != nil || head.Seq != group.Len {
			t.Errorf("Head = %v, %v; want the queued appends and nothing else", head, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestQueue_takenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := openLog(t, t.TempDir())
		release := occupy(t, log)
		ctx, cancel := context.WithCancel(t.Context())
		answers := make(chan error, 3)
		for i, ctx := range []context.Context{t.Context(), ctx, t.Context()} {
			go func() {
				_, err := log.Append(ctx, []amp.Record{fact(10 + i)})
				answers <- err
			}()
			synctest.Wait() // queued, in this order
		}
		cancel()
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Errorf("the append that was taken back: %v", err)
		}
		release()
		if err := errors.Join(<-answers, <-answers); err != nil {
			t.Errorf("the appends around it: %v", err)
		}
		all, err := log.Read(t.Context(), amp.Filter{})
		if err != nil || len(all) != 2 || all[0].ID != fact(10).ID || all[1].ID != fact(12).ID {
			t.Errorf("stored %v, %v; want the first and the third", all, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}
