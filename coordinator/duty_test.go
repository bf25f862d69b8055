package coordinator

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
)

// duties notes who is at work on a duty, and whether two ever were.
type duties struct {
	mu     sync.Mutex
	at     []string
	twice  bool
	begins int
}

func (d *duties) work(who string) func(context.Context) {
	return func(ctx context.Context) {
		d.mu.Lock()
		d.at, d.begins = append(d.at, who), d.begins+1
		d.twice = d.twice || len(d.at) > 1
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.at = slices.DeleteFunc(d.at, func(w string) bool { return w == who })
	}
}

func (d *duties) now() string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.at) != 1 {
		return ""
	}
	return d.at[0]
}

// A duty is done by one coordinator at a time, whatever becomes of that one: it ends, is killed, is cut off, or stands still.
func TestDuty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 3, everybody(works), everybody(judges(amp.Approved)))
		ctx, cancel := context.WithCancel(context.Background())
		d, ends := &duties{}, map[string]context.CancelFunc{}
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for _, m := range k.members {
			own, end := context.WithCancel(ctx)
			ends[m.name] = end
			wg.Go(func() { m.c.Duty(own, "mirror", d.work(m.name)) })
		}
		time.Sleep(time.Minute)
		first := d.now()
		at := func(name string) *member {
			return k.members[slices.IndexFunc(k.members, func(m *member) bool { return m.name == name })]
		}
		if first == "" {
			t.Fatal("nobody is on duty")
		}
		time.Sleep(time.Second)
		for _, m := range k.members {
			for _, who := range m.state().Members {
				if want := who.Owner == first; want != slices.Equal(who.Duties, []string{"mirror"}) || who.Tasks != 0 {
					t.Errorf("%s knows of %s: %d tasks, duties %v; on duty is %s", m.name, who.Owner, who.Tasks, who.Duties, first)
				}
			}
		}
		at(first).gate.cut(errCut)
		time.Sleep(time.Minute)
		second := d.now()
		if second == "" || second == first {
			t.Fatalf("after %s was cut off %q is on duty", first, second)
		}
		at(first).gate.cut(nil)
		release := at(second).gate.hold()
		time.Sleep(time.Minute)
		third := d.now()
		if third == "" || third == second {
			t.Fatalf("while %s hangs %q is on duty", second, third)
		}
		release()
		time.Sleep(time.Minute)
		if now := d.now(); now != third {
			t.Errorf("%q is on duty after %s came back, want %s", now, second, third)
		}
		ends[third]()
		time.Sleep(15 * time.Second)
		if now := d.now(); now == "" || now == third || d.twice {
			t.Errorf("after %s gave up %q is on duty; two at once: %t", third, now, d.twice)
		}
		k.check()
	})
}

// How far a duty came is found again, by its name; a coordinator that writes alone has no need of leases.
func TestDuty_reached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newCrew(t, 2, everybody(works), everybody(judges(amp.Approved)))
		if r, err := k.members[0].c.Reached(t.Context(), "events/a"); err != nil || r.Seq != 0 {
			t.Errorf("Reached = %+v, %v, want nothing", r, err)
		}
		for i, name := range []string{"events/a", "events/b", "events/a"} {
			if err := k.members[0].c.NoteReached(t.Context(), amp.Reached{Duty: name, Seq: uint64(10 * (i + 1)), N: i}); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]uint64{"events/a": 30, "events/b": 20, "events/c": 0} {
			if r, err := k.members[1].c.Reached(t.Context(), name); err != nil || r.Seq != want {
				t.Errorf("%s: %+v, %v, want %d", name, r, err, want)
			}
		}
		k.check()
		r := newRig(t, works, judges(amp.Approved))
		ran := false
		r.c.Duty(t.Context(), "mirror", func(context.Context) { ran = true })
		if !ran {
			t.Error("a coordinator that writes alone did not do its duty")
		}
	})
}
