package group

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"arbiter/amp"
	"arbiter/ssot"
)

// What is taken ahead is served next, in its order, and after it what needs the writer for itself, although more comes.
func TestQueue_Ahead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		answered := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
		var batches, ahead [][]string
		failed := errors.New("failed")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.Serve(func(batch []*Request) error {
				k := len(batches)
				batches = append(batches, ids(batch))
				for came := q.Ahead(answered[k]); len(came) > 0; came = q.Ahead(answered[k]) {
					ahead = append(ahead, ids(came))
				}
				for _, r := range batch {
					r.Out = make([]ssot.Appended, len(r.Records))
				}
				if k == 0 {
					return failed
				}
				return nil
			}, func(f func() error) error { return f() })
		}()
		var mu sync.Mutex
		answers := map[string]error{}
		send := func(r *Request) {
			go func() {
				err := q.Do(t.Context(), r)
				mu.Lock()
				defer mu.Unlock()
				answers[r.Records[0].ID] = err
			}()
			synctest.Wait()
		}
		append1 := func(id string) { send(&Request{Records: []amp.Record{{ID: id}}}) }
		append1("a")
		append1("b")
		append1("c")
		send(&Request{Records: []amp.Record{{ID: "alone"}}, Alone: func() error {
			batches = append(batches, []string{"alone"})
			return nil
		}})
		append1("d") // behind what is alone
		close(answered[0])
		synctest.Wait()
		if !errors.Is(answers["a"], failed) || len(answers) != 1 {
			t.Errorf("after the first batch failed there are the answers %v", answers)
		}
		close(answered[1])
		synctest.Wait()
		q.Close() // ends what is taken ahead, not the batch
		synctest.Wait()
		close(answered[3])
		<-ended
		synctest.Wait()
		if want := [][]string{{"a"}, {"b", "c"}, {"alone"}, {"d"}}; !slices.EqualFunc(batches, want, slices.Equal) {
			t.Errorf("served were %v, want %v", batches, want)
		}
		if want := [][]string{{"b"}, {"c"}}; !slices.EqualFunc(ahead, want, slices.Equal) {
			t.Errorf("taken ahead were %v, want %v", ahead, want)
		}
		for _, id := range []string{"b", "c", "alone", "d"} {
			if err, there := answers[id]; !there || err != nil {
				t.Errorf("%s was answered %v: %v", id, there, err)
			}
		}
	})
}

func ids(batch []*Request) (all []string) {
	for _, r := range batch {
		all = append(all, r.Records[0].ID)
	}
	return all
}
