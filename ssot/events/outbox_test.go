package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// feed is a journal that can be followed.
type feed struct {
	ssot.Log
	mu    sync.Mutex
	wakes []chan struct{}
}

func newFeed() *feed { return &feed{Log: memory.New()} }

func (f *feed) add(t testing.TB, records ...amp.Record) {
	t.Helper()
	if _, err := f.Append(context.Background(), records); err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.wakes {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

func (f *feed) follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	w := make(chan struct{}, 1)
	f.mu.Lock()
	f.wakes = append(f.wakes, w)
	f.mu.Unlock()
	return ssot.Follow(ctx, f, after, w, batch)
}

// receiver is a webhook that answers as answer says, and keeps what it took.
type receiver struct {
	mu     sync.Mutex
	answer func(e *Event, tries int) (int, error)
	secret []byte
	tries  map[string]int
	got    []string // ids
	types  []string
	sizes  []int
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := Verify(r.secret, req.Header.Get(SignatureHeader), body, time.Now(), time.Minute); err != nil {
		return nil, err
	}
	e, errs, _ := Decode(body)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%v", errs)
	}
	all := []*Event{e}
	if e.Type == Batch {
		all = nil
		for _, raw := range Messages(body) {
			inner, errs, _ := Decode(raw)
			if len(errs) > 0 {
				return nil, fmt.Errorf("%v", errs)
			}
			all = append(all, inner)
		}
	}
	code := 200
	for _, one := range all {
		r.tries[one.ID]++
		c, err := r.answer(one, r.tries[one.ID])
		if err != nil {
			return nil, err
		}
		code = max(code, c)
	}
	if code == 200 {
		r.sizes = append(r.sizes, len(all))
		for _, one := range all {
			r.got, r.types = append(r.got, one.ID), append(r.types, one.Type)
		}
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("because"))}, nil
}

func newReceiver(answer func(*Event, int) (int, error)) *receiver {
	return &receiver{answer: answer, secret: []byte("s3cret"), tries: map[string]int{}}
}

func taking(*Event, int) (int, error) { return 200, nil }

func outbox(t *testing.T, home string, f *feed, r *receiver, hook Webhook) *Outbox {
	t.Helper()
	hook.Name, hook.URL, hook.Secret = "hook", "http://hook.test/", r.secret
	o, err := NewOutbox(home, NewPublisher(f.Read, f.follow), []Webhook{hook}, r, 0, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// run runs an outbox until the bubble is idle for d, then ends it.
func run(o *Outbox, d time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { o.Run(ctx); close(done) }()
	time.Sleep(d)
	synctest.Wait()
	cancel()
	<-done
}

// wanted are the ids of all events of a feed.
func wanted(t *testing.T, f *feed) (ids []string) {
	t.Helper()
	all, err := ssottest.All(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	_, events := typesOf(t, NewDeriver(f.Read), all)
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func life(f *feed, t *testing.T, n int) {
	task := ssottest.Task(n)
	at := ssottest.Start.Add(time.Duration(n) * time.Hour)
	dispatch := ssottest.Dispatch(task, at)
	id := func(s string) string { return fmt.Sprintf("%s-%d", s, n) }
	f.add(t, ssottest.Submit(id("c1"), task), ssottest.Propose(id("p"), task, "Hello"), ssottest.Approve(id("c2"), task), dispatch)
	f.add(t, ssottest.Turn(id("t1"), task, id("run"), amp.TurnStarted), ssottest.Ack(id("a"), task, dispatch.ID, amp.Executor))
	f.add(t, ssottest.Turn(id("t2"), task, id("run"), amp.TurnEnded), ssottest.Result(task, at.Add(time.Minute)))
}

// A receiver that is away for a day, and the coordinator with it now and then, misses nothing (EVT-094).
func TestOutbox_awayForADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, home := newFeed(), t.TempDir()
		life(f, t, 1)
		down := true
		r := newReceiver(func(_ *Event, tries int) (int, error) {
			if down {
				return [...]int{503, 429, 500, 404, 401}[tries%5], [...]error{nil, errors.New("connection refused")}[tries%2]
			}
			return 200, nil
		})
		for range 3 {
			o := outbox(t, home, f, r, Webhook{})
			run(o, 8*time.Hour)
			s := o.States()[0]
			if s.Delivered != 0 || s.Failing.IsZero() || s.Why == "" || s.Dead != 0 {
				t.Errorf("while it is away: %+v", s)
			}
		}
		life(f, t, 2)
		down = false
		o := outbox(t, home, f, r, Webhook{})
		run(o, time.Hour)
		want := wanted(t, f)
		if diff := cmp.Diff(want, r.got); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if s := o.States()[0]; s.Delivered != len(want) || !s.Failing.IsZero() {
			t.Errorf("in the end: %+v", s)
		}
		for id, n := range r.tries {
			if n > 3*8*60 {
				t.Errorf("event %s was tried %d times on one day", id, n)
			}
		}
	})
}

// What a receiver refuses is kept for the admin, does not hold up the others, and can be sent again.
func TestOutbox_deadLetters(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 50} {
		synctest.Test(t, func(t *testing.T) {
			f, home := newFeed(), t.TempDir()
			life(f, t, 1)
			strict := true
			r := newReceiver(func(e *Event, _ int) (int, error) {
				if strict && e.Type == "workflow.started" {
					return 422, nil
				}
				return 200, nil
			})
			o := outbox(t, home, f, r, Webhook{Batch: size})
			run(o, time.Hour)
			want := wanted(t, f)
			dead := o.Dead()
			if len(dead) != 1 || dead[0].Type != "workflow.started" || dead[0].Why != "422 because" || dead[0].Task != string(ssottest.Task(1)) {
				t.Fatalf("dead letters: %+v", dead)
			}
			if len(r.got) != len(want)-1 || slices.Contains(r.types, "workflow.started") {
				t.Errorf("%d of %d were delivered: %v", len(r.got), len(want), r.types)
			}
			o = outbox(t, home, f, r, Webhook{Batch: size}) // after a restart
			var again *ResendError
			if _, err := o.Resend(t.Context(), dead[0].ID); !errors.As(err, &again) || len(o.Dead()) != 1 {
				t.Errorf("resent to who still refuses it: %v, %v", err, o.Dead())
			}
			strict = false
			if sinks, err := o.Resend(t.Context(), dead[0].ID); err != nil || !slices.Equal(sinks, []string{"hook"}) || len(o.Dead()) != 0 {
				t.Errorf("Resend = %v, %v; left %v", sinks, err, o.Dead())
			}
			slices.Sort(want)
			slices.Sort(r.got)
			if diff := cmp.Diff(want, r.got); diff != "" {
				t.Errorf("in the end (-want +got):\n%s", diff)
			}
			if _, err := o.Resend(t.Context(), dead[0].ID); err == nil {
				t.Error("it was resent twice")
			}
		})
	}
}

// again is how many events came more than once, after it looked whether each came, the first time in order.
func again(t *testing.T, f *feed, r *receiver) int {
	t.Helper()
	seen := map[string]bool{}
	var once []string
	for _, id := range r.got {
		if !seen[id] {
			once = append(once, id)
		}
		seen[id] = true
	}
	if diff := cmp.Diff(wanted(t, f), once); diff != "" {
		t.Errorf("each once, in order (-want +got):\n%s", diff)
	}
	return len(r.got) - len(once)
}

// A crash after a delivery and before the note of it delivers again, and loses nothing: the ids are the same.
func TestOutbox_crashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, home := newFeed(), t.TempDir()
		r := newReceiver(taking)
		cursor := filepath.Join(home, "events", "hook.cursor.json")
		for n := 1; n <= 5; n++ {
			o := outbox(t, home, f, r, Webhook{Batch: n})
			life(f, t, n)
			before, err := os.ReadFile(cursor)
			if err != nil {
				t.Fatal(err)
			}
			run(o, time.Minute)
			if n%2 == 0 {
				if err := os.WriteFile(cursor, before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		run(outbox(t, home, f, r, Webhook{}), time.Minute)
		if again(t, f, r) == 0 {
			t.Error("nothing was delivered twice: the crashes were none")
		}
	})
}

// Of two outboxes on one journal the one on duty delivers; the other one goes on from what was noted last: each event arrives, in order, and
// only what came after the note twice.
func TestOutbox_shared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, r := newFeed(), newReceiver(taking)
		var noted Position
		notes, duties := 0, []string{}
		first, second := outbox(t, t.TempDir(), f, r, Webhook{}), outbox(t, t.TempDir(), f, r, Webhook{})
		for _, o := range []*Outbox{first, second} {
			o.Share(Shared{
				Duty: func(ctx context.Context, name string, work func(context.Context)) {
					duties = append(duties, name)
					work(ctx)
				},
				Note:  func(_ context.Context, _ string, at Position) error { noted, notes = at, notes+1; return nil },
				Noted: func(context.Context, string) (Position, error) { return noted, nil },
			})
		}
		const lives = 100 // of eight entries
		for n := 1; n <= lives; n++ {
			life(f, t, n)
		}
		run(first, time.Minute)
		if notes != 8*lives/noteEvery || slices.Compact(duties)[0] != "events/hook" {
			t.Errorf("%d notes of %v, want one in %d entries", notes, duties, noteEvery)
		}
		before := len(r.got)
		life(f, t, lives+1)
		run(second, time.Minute)
		if again := again(t, f, r); again == 0 || again > before*noteEvery/(8*lives)+1 {
			t.Errorf("%d of %d events came twice, want those after the last note", again, before)
		}
	})
}

func TestOutbox_selects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		life(f, t, 1)
		r := newReceiver(taking)
		run(outbox(t, t.TempDir(), f, r, Webhook{Types: []string{"workflow.*", "task.created"}}), time.Minute)
		if diff := cmp.Diff([]string{"task.created", "workflow.started", "workflow.step_completed"}, r.types); diff != "" {
			t.Errorf("types (-want +got):\n%s", diff)
		}
	})
}

func TestNewOutbox_damaged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	outbox(t, home, newFeed(), newReceiver(taking), Webhook{})
	file := filepath.Join(home, "events", "hook.cursor.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewOutbox(home, nil, []Webhook{{Name: "hook"}}, nil, 0, nil); err == nil {
		t.Error("a damaged file was taken")
	}
	if data, err := os.ReadFile(file); err != nil || !bytes.Equal(data, []byte("{")) {
		t.Errorf("the file is now %q, %v", data, err)
	}
}

// An event is found by its id wherever it stands, and a receiver goes on after it.
func TestPublisher_findsAndResumes(t *testing.T) {
	t.Parallel()
	f := newFeed()
	for n := range 30 {
		life(f, t, n+1)
	}
	want := wanted(t, f)
	enough := errors.New("enough")
	for _, i := range []int{0, 1, 7, len(want) / 2, len(want) - 2} {
		p := NewPublisher(f.Read, f.follow) // knows nothing yet
		d, err := p.Find(t.Context(), strings.ToUpper(want[i]))
		if err != nil || d.ID != want[i] {
			t.Fatalf("Find(%s) = %v, %v", want[i], d, err)
		}
		var got []string
		err = p.Subscribe(t.Context(), d.At, nil, func(all []Delivery, _ Position) error {
			for _, e := range all {
				got = append(got, e.ID)
			}
			if len(got) >= len(want)-i-1 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || !slices.Equal(got, want[i+1:]) {
			t.Errorf("after event %d of %d: %d events, %v", i, len(want), len(got), err)
		}
	}
	p := NewPublisher(f.Read, f.follow)
	for _, id := range []string{"", "x", "550e8400-e29b-41d4-a716-446655440000"} {
		var unknown *UnknownError
		if _, err := p.Find(t.Context(), id); !errors.As(err, &unknown) {
			t.Errorf("Find(%q) = %v", id, err)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	now, body := time.Unix(1790000000, 0), []byte(good)
	header := Sign([]byte("s"), body, now)
	for name, tc := range map[string]struct {
		secret, header, body string
		at                   time.Time
		want                 bool
	}{
		"right":          {"s", header, good, now.Add(time.Minute), true},
		"another secret": {"t", header, good, now, false},
		"another body":   {"s", header, good + " ", now, false},
		"too old":        {"s", header, good, now.Add(6 * time.Minute), false},
		"from tomorrow":  {"s", header, good, now.Add(-6 * time.Minute), false},
		"another time":   {"s", strings.Replace(header, "t=179", "t=178", 1), good, now, false},
		"nothing":        {"s", "", good, now, false},
		"no hex":         {"s", "t=1790000000,v1=zz", good, now, false},
	} {
		if err := Verify([]byte(tc.secret), tc.header, []byte(tc.body), tc.at, 5*time.Minute); (err == nil) != tc.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
