package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/memory"
	"arbiter/ssot/ssottest"
)

// machine drives the store and the store in memory, its model, with the same calls.
type machine struct {
	t     *testing.T
	dir   string
	log   *Log
	model *memory.Log
	rand  *rand.Rand
	at    time.Time
	n     int
	tail  int // how many entries the tables are behind at most
	sent  []amp.Record
	// early is a board of some earlier moment.
	early *amp.Board
}

func (m *machine) record(r *rapid.T) amp.Record {
	m.n++
	m.at = m.at.Add(time.Duration(1+m.rand.IntN(2)) * time.Millisecond)
	switch k := rapid.IntRange(0, 19).Draw(r, "kind of record"); {
	case k == 0 && len(m.sent) > 0: // sent again
		return m.sent[m.rand.IntN(len(m.sent))]
	case k == 1 && len(m.sent) > 0: // the id with another body
		other := m.sent[m.rand.IntN(len(m.sent))]
		other.Body = append([]byte(" "), other.Body...)
		return other
	case k == 2:
		return amp.Record{Kind: amp.KindPlan, TaskID: ssottest.Task(1 + m.rand.IntN(9)), ID: fmt.Sprint("bad", m.n), Body: []byte("{")}
	}
	rec := ssottest.Any(m.rand, fmt.Sprint("f", m.n), m.at)
	m.sent = append(m.sent, rec)
	return rec
}

func (m *machine) append(r *rapid.T) {
	batch := make([]amp.Record, rapid.IntRange(1, 8).Draw(r, "batch"))
	for i := range batch {
		batch[i] = m.record(r)
	}
	got, err := m.log.Append(m.t.Context(), batch)
	if err != nil {
		r.Fatal(err)
	}
	want, err := m.model.Append(m.t.Context(), batch)
	if err != nil {
		r.Fatal(err)
	}
	for i := range want {
		same := want[i].Fresh == got[i].Fresh && want[i].Entry.Hash == got[i].Entry.Hash &&
			errors.Is(got[i].Err, ssot.ErrConflict) == errors.Is(want[i].Err, ssot.ErrConflict) &&
			errors.Is(got[i].Err, ssot.ErrInvalid) == errors.Is(want[i].Err, ssot.ErrInvalid) && (got[i].Err == nil) == (want[i].Err == nil)
		if !same {
			r.Fatalf("record %s: the store answers %+v, memory %+v", batch[i].ID, got[i], want[i])
		}
	}
}

func (m *machine) reopen(r *rapid.T) {
	if err := m.log.Close(); err != nil {
		r.Fatal(err)
	}
	m.open(r)
}

func (m *machine) open(r *rapid.T) {
	var err error
	if m.log, err = Open(m.t.Context(), m.dir, Options{tail: m.tail}); err != nil {
		r.Fatal(err)
	}
}

func (m *machine) rebuild(r *rapid.T) {
	before := dump(m.t, m.log)
	if err := m.log.Rebuild(m.t.Context(), nil); err != nil {
		r.Fatal(err)
	}
	if d := cmp.Diff(before, dump(m.t, m.log)); d != "" {
		r.Fatalf("a rebuild changed the projections (-before +after):\n%s", d)
	}
}

// forget empties the writer's memory of tasks, as a long journal does.
func (m *machine) forget(r *rapid.T) {
	err := m.log.writer.alone(m.t.Context(), func(w *writer) error {
		if err := w.flush(); err != nil {
			return err
		}
		clear(w.board.Tasks)
		clear(w.acks)
		clear(w.keys)
		w.complete = false
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
}

// search asks both for the same, wherever the index is.
func (m *machine) search(r *rapid.T) {
	f := ssottest.Search(m.t, rapid.SampledFrom(ssottest.Searches).Draw(r, "search"))
	f.Newest, f.Limit = rapid.Bool().Draw(r, "newest"), rapid.IntRange(1, 9).Draw(r, "limit")
	if rapid.Bool().Draw(r, "behind a page") {
		f.Before = uint64(rapid.IntRange(1, 40).Draw(r, "before"))
	}
	want, err := ssot.Find(m.t.Context(), m.model, f)
	if err != nil {
		r.Fatal(err)
	}
	got, err := m.log.Find(m.t.Context(), f)
	if got.Capped && got.Count <= want.Count { // it may stop counting earlier
		got.Count, got.Capped = want.Count, want.Capped
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
		r.Fatalf("%+v with the index at %d of %d (-memory +store): %v\n%s", f, m.log.Indexed(), len(m.sent), err, d)
	}
}

func (m *machine) remember(r *rapid.T) {
	var err error
	if m.early, err = m.log.Board(m.t.Context()); err != nil {
		r.Fatal(err)
	}
}

// check compares the board with that of the model, and with an earlier one to which the later entries were added.
func (m *machine) check(r *rapid.T) {
	want, err := m.model.Board(m.t.Context())
	if err != nil {
		r.Fatal(err)
	}
	got, err := m.log.Board(m.t.Context())
	if err != nil {
		r.Fatal(err)
	}
	if d := ssottest.DiffBoards(want, got); d != "" {
		r.Fatalf("the board differs from that of memory (-memory +store):\n%s", d)
	}
	var written strings.Builder
	snapshot, err := m.log.Snapshot(m.t.Context())
	if err == nil {
		_, err = snapshot.WriteTo(&written)
	}
	if err != nil || snapshot.Head != want.Head || written.String() != string(amp.EncodeBody(want)) {
		r.Fatalf("the snapshot is not the board of memory (-memory +store): %v\n%s", err, cmp.Diff(string(amp.EncodeBody(want)), written.String()))
	}
	if m.early == nil {
		return
	}
	if err := ssot.Catch(m.t.Context(), m.log, m.early); err != nil {
		r.Fatal(err)
	}
	if d := ssottest.DiffBoards(want, m.early); d != "" {
		r.Fatalf("fold(prefix) + fold(rest) is not fold(all) (-all +sum):\n%s", d)
	}
	m.early = nil
}

// TestProperty_asMemory drives the store with any calls: it answers as the store in memory does, opened anew or not, its
// projections are those of a rebuild, and it verifies.
func TestProperty_asMemory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		m := &machine{
			t: t, dir: filepath.Join(root, fmt.Sprint(run)), model: memory.New(), at: ssottest.Start,
			tail: rapid.SampledFrom([]int{1, 4, 20, tailFull}).Draw(r, "tail"),
			rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1)),
		}
		m.open(r)
		r.Repeat(map[string]func(*rapid.T){
			"append": m.append, "append again": m.append, "append more": m.append, "reopen": m.reopen, "rebuild": m.rebuild,
			"forget": m.forget, "remember": m.remember, "search": m.search, "search again": m.search, "": m.check,
		})
		report, err := m.log.Verify(t.Context(), nil)
		if err != nil || report.Err("journal") != nil {
			r.Fatalf("%+v, %v", report, err)
		}
		if err := errors.Join(m.log.Close(), os.RemoveAll(m.dir)); err != nil {
			r.Fatal(err)
		}
	})
}
