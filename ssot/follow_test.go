package ssot_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// gappy is a log that loses an entry on its way to the reader.
type gappy struct {
	ssot.Log
	lost uint64
}

func (g gappy) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	all, err := g.Log.Read(ctx, f)
	var out []amp.Entry
	for _, e := range all {
		if e.Seq != g.lost {
			out = append(out, e)
		}
	}
	return out, err
}

func TestFollow_gap(t *testing.T) {
	t.Parallel()
	log, _ := journal(t, 10)
	for _, lost := range []uint64{4, 7} {
		err := ssot.Follow(t.Context(), gappy{log, lost}, 3, nil, func(page []amp.Entry) error {
			t.Errorf("entries %d to %d were handed on over the gap at %d", page[0].Seq, page[len(page)-1].Seq, lost)
			return context.Canceled
		})
		if err == nil {
			t.Errorf("no error for the lost entry %d", lost)
		}
	}
}

// TestFollow_wakes follows slowly: no wake is lost, and an idle follower reads nothing.
func TestFollow_wakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		wake := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		done := make(chan error, 1)
		go func() {
			done <- ssot.Follow(ctx, log, 0, wake, func(page []amp.Entry) error {
				for _, e := range page {
					got = append(got, e.ID)
				}
				return nil
			})
		}()
		for _, id := range []string{"a", "b", "c"} {
			synctest.Wait()
			if _, err := log.Append(t.Context(), []amp.Record{ssottest.Note(id, "", ""), ssottest.Note(id+"2", "", "")}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := len(got); n > 0 && got[n-1] == id+"2" {
				t.Errorf("%s came without a wake", id)
			}
			wake <- struct{}{}
		}
		synctest.Wait()
		if len(got) != 6 {
			t.Errorf("followed %v", got)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow = %v", err)
		}
	})
}
