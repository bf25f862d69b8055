package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

func TestLog(t *testing.T) {
	t.Parallel()
	ssottest.Run(t, func(*testing.T) ssot.Log { return memory.New() })
}

func TestLog_shared(t *testing.T) {
	t.Parallel()
	ssottest.RunShared(t, func(*testing.T) (a, b ssot.Shared) {
		log := memory.New()
		return log, log
	})
}

func TestLog_leasesInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		task := ssottest.Task(1)
		first, err := log.Take(t.Context(), "ada", 30*time.Second, 1, []amp.TaskID{task})
		if err != nil || len(first) != 1 {
			t.Fatal(first, err)
		}
		time.Sleep(20 * time.Second)
		first, err = log.Renew(t.Context(), 30*time.Second, first)
		if err != nil || len(first) != 1 {
			t.Fatal(first, err)
		}
		time.Sleep(30*time.Second - time.Nanosecond)
		if got, err := log.Take(t.Context(), "bob", time.Minute, 1, []amp.TaskID{task}); err != nil || len(got) != 0 {
			t.Errorf("bob took %v, %v before the lease lapsed", got, err)
		}
		if _, err := log.AppendJudged(t.Context(), ssot.Judged{Epochs: map[amp.TaskID]uint64{task: first[0].Epoch}},
			[]amp.Record{ssottest.Submit("s", task)}); err != nil {
			t.Errorf("an append under a lease: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if got, err := log.Renew(t.Context(), time.Minute, first); err != nil || len(got) != 0 {
			t.Errorf("a lapsed lease was renewed: %v, %v", got, err)
		}
		next, err := log.Take(t.Context(), "bob", time.Minute, 1, []amp.TaskID{task})
		if err != nil || len(next) != 1 || next[0].Epoch <= first[0].Epoch {
			t.Errorf("bob took %v, %v after it lapsed", next, err)
		}
		grown := make(chan error)
		go func() { grown <- log.Grown(t.Context(), 1) }()
		synctest.Wait()
		select {
		case err := <-grown:
			t.Fatalf("Grown at the head returned %v", err)
		default:
		}
		if _, err := log.Append(t.Context(), []amp.Record{ssottest.Note("n", task, "")}); err != nil {
			t.Fatal(err)
		}
		if err := <-grown; err != nil {
			t.Error(err)
		}
		go func() { grown <- log.Grown(t.Context(), 2) }()
		synctest.Wait()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-grown; !errors.Is(err, ssot.ErrClosed) {
			t.Errorf("Grown of a log that is closed: %v", err)
		}
	})
}

func TestLog_inBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		wake := make(chan struct{})
		var got []string
		go func() {
			defer close(wake)
			for _, id := range []string{"a", "b"} {
				time.Sleep(24 * time.Hour)
				if _, err := log.Append(t.Context(), []amp.Record{ssottest.Note(id, "", "")}); err != nil {
					t.Error(err)
				}
				wake <- struct{}{}
			}
		}()
		err := ssot.Follow(t.Context(), log, 0, wake, func(page []amp.Entry) error {
			for _, e := range page {
				got = append(got, e.ID)
			}
			return nil
		})
		if err != nil || len(got) != 2 {
			t.Errorf("followed %v, %v; want a and b", got, err)
		}
	})
}

func TestLog_Reopen(t *testing.T) {
	t.Parallel()
	log := memory.New()
	if _, err := log.Append(t.Context(), []amp.Record{ssottest.Submit("s", ssottest.Task(1))}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := log.Reopen()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Append(t.Context(), []amp.Record{ssottest.Note("n", ssottest.Task(1), "")}); err != nil {
		t.Fatal(err)
	}
	if err := ssottest.CheckJournal(t.Context(), again); err != nil {
		t.Error(err)
	}
	if _, err := log.Head(t.Context()); !errors.Is(err, ssot.ErrClosed) {
		t.Errorf("the closed log answers %v", err)
	}
}
