package ssottest_test

import (
	"errors"
	"testing"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

func TestFlaky(t *testing.T) {
	t.Parallel()
	crash := errors.New("crash")
	for name, c := range map[string]struct {
		plan   ssottest.Plan
		errs   [3]error
		stored uint64
	}{
		"nothing":     {ssottest.Plan{}, [3]error{}, 3},
		"before":      {ssottest.Plan{FailBefore: map[int]error{2: crash}}, [3]error{nil, crash, nil}, 2},
		"after":       {ssottest.Plan{FailAfter: map[int]error{2: crash}}, [3]error{nil, crash, nil}, 3},
		"dead_before": {ssottest.Plan{FailBefore: map[int]error{2: crash}, Dead: true}, [3]error{nil, crash, crash}, 1},
		"dead_after":  {ssottest.Plan{FailAfter: map[int]error{1: crash}, Dead: true}, [3]error{crash, crash, crash}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			under := memory.New()
			log := ssottest.Flaky(under, c.plan)
			for i, want := range c.errs {
				_, err := log.Append(t.Context(), []amp.Record{ssottest.Note(string(rune('a'+i)), "", "")})
				if !errors.Is(err, want) || (err != nil) != (want != nil) {
					t.Errorf("append %d: %v, want %v", i+1, err, want)
				}
			}
			if head, err := under.Head(t.Context()); err != nil || head.Seq != c.stored {
				t.Errorf("%d entries are stored, %v; want %d", head.Seq, err, c.stored)
			}
			dead := c.plan.Dead
			_, err := log.Read(t.Context(), amp.Filter{})
			_, err2 := log.Board(t.Context())
			_, err3 := log.Head(t.Context())
			for _, err := range []error{err, err2, err3} {
				if (err != nil) != dead {
					t.Errorf("a read of a log that is dead %v: %v", dead, err)
				}
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
			if _, err := under.Head(t.Context()); !errors.Is(err, ssot.ErrClosed) {
				t.Errorf("the log underneath is not closed: %v", err)
			}
		})
	}
}

func TestFlaky_conforms(t *testing.T) {
	t.Parallel()
	ssottest.Run(t, func(*testing.T) ssot.Log { return ssottest.Flaky(memory.New(), ssottest.Plan{}) })
}
