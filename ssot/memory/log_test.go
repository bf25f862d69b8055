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
