package group

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		gate, ended := make(chan struct{}), make(chan struct{})
		var sizes []int
		failed := errors.New("failed")
		go func() {
			defer close(ended)
			q.Serve(func(batch []*Request) error {
				<-gate
				sizes = append(sizes, len(batch))
				for _, r := range batch {
					r.Out = make([]ssot.Appended, len(r.Records))
					if r.Records[0].ID == "bad" {
						r.Err = failed
					}
				}
				return nil
			}, func(f func() error) error { return f() })
		}()
		answers := make(chan error, 10)
		send := func(ctx context.Context, id string, leave bool) {
			go func() {
				r := &Request{Records: []amp.Record{{ID: id}}, Leave: leave}
				err := q.Do(ctx, r)
				if err == nil && len(r.Out) != 1 {
					err = errors.New("no answer")
				}
				answers <- err
			}()
			synctest.Wait()
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		send(soon, "first", true) // the writer has it at once
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if err := <-answers; !errors.Is(err, ssot.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that was left: %v", err)
		}
		late, cancel := context.WithCancel(t.Context())
		send(late, "taken back", false)
		cancel()
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Errorf("a request that was taken back: %v", err)
		}
		send(t.Context(), "good", false)
		send(t.Context(), "bad", false)
		gate <- struct{}{}
		synctest.Wait()
		gate <- struct{}{}
		var got []error
		for range 2 {
			got = append(got, <-answers)
		}
		if errors.Join(got...) == nil || !errors.Is(errors.Join(got...), failed) || got[0] != nil && got[1] != nil {
			t.Errorf("a good and a bad request: %v", got)
		}
		if err := q.Do(t.Context(), &Request{Alone: func() error { return failed }}); !errors.Is(err, failed) {
			t.Errorf("alone: %v", err)
		}
		q.Close()
		<-ended
		if len(sizes) != 2 || sizes[0] != 1 || sizes[1] != 2 {
			t.Errorf("the batches had %v requests, want 1 and 2", sizes)
		}
	})
}
