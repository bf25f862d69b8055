package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// setBack takes the last entries away and lets another coordinator go on from there, as after a failover to a server that never had them.
func setBack(t *testing.T, opts Options, to, others int) {
	t.Helper()
	c := conn(t, opts.URL)
	run(t, c, "ALTER TABLE entry DISABLE TRIGGER ALL", "ALTER TABLE task_key DISABLE TRIGGER ALL", fmt.Sprint("DELETE FROM entry WHERE seq > ", to),
		fmt.Sprintf("UPDATE head SET seq = %d, hash = (SELECT hash FROM entry WHERE seq = %d), fold = 0", to, to),
		fmt.Sprint("DELETE FROM task_key WHERE key > ", to), "ALTER TABLE entry ENABLE TRIGGER ALL")
	if others == 0 {
		return
	}
	log := open(t, opts)
	for i := range others {
		put(t, log, ssottest.Submit(fmt.Sprint("other-", i), ssottest.Task(100+i)))
	}
	closeLog(t, log)
}

// A coordinator that has seen a head writes to no journal that does not hold it, whatever came there since.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := server(t)
	for name, tc := range map[string]struct{ stored, to, others int }{
		"behind": {5, 3, 0}, "as long": {5, 3, 2}, "longer": {5, 3, 9}, "longer by one": {5, 4, 2}, "many behind": {40, 2, 50},
	} {
		for _, way := range []string{"append", "judged", "first append", "first judged", "waits"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				opts := Options{URL: s.URL(s.Schema())}
				log := open(t, opts)
				for i := range tc.stored {
					put(t, log, ssottest.Submit(fmt.Sprint("s-", i), ssottest.Task(i+1)))
				}
				seen, err := log.Head(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if way == "first append" || way == "first judged" { // it read the journal and has stored nothing yet
					closeLog(t, log)
					log = open(t, opts)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				grown := make(chan error, 1)
				if way == "waits" {
					if err := log.Grown(ctx, seen.Seq-1); err != nil {
						t.Fatal(err)
					}
					go func() { grown <- log.Grown(ctx, 1000) }()
				}
				setBack(t, opts, tc.to, tc.others)
				note := []amp.Record{ssottest.Note("after", ssottest.Task(1), "")}
				switch way {
				case "append", "first append":
					_, err = log.Append(ctx, note)
				case "judged", "first judged":
					_, err = log.AppendJudged(ctx, ssot.Judged{Seq: seen.Seq, Hash: seen.Hash}, note)
				case "waits":
					err = <-grown
				}
				if !isDamaged(err) {
					t.Errorf("it goes on: %v", err)
				}
				entries, err := log.Read(ctx, amp.Filter{ID: "after"})
				if err != nil || len(entries) != 0 {
					t.Errorf("%d entries were stored (%v)", len(entries), err)
				}
			})
		}
	}
}

// What was judged on an entry that is not the one of the journal is not stored, also when the writer itself has seen no other.
func TestJudged_otherEntry(t *testing.T) {
	t.Parallel()
	s := server(t)
	opts := Options{URL: s.URL(s.Schema())}
	log := open(t, opts)
	for i := range 9 {
		put(t, log, ssottest.Submit(fmt.Sprint("s-", i), ssottest.Task(i+1)))
	}
	page, err := log.Read(t.Context(), amp.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range page {
		hash := e.Hash
		hash[0]++
		r := []amp.Record{ssottest.Note(fmt.Sprint("wrong-", i), ssottest.Task(20), "")}
		other := open(t, opts)
		if _, err := other.AppendJudged(t.Context(), ssot.Judged{Seq: e.Seq, Hash: hash}, r); !isDamaged(err) {
			t.Errorf("entry %d with another hash: %v", e.Seq, err)
		}
		closeLog(t, other)
		r[0].ID = fmt.Sprint("right-", i)
		r[0].TaskID = ssottest.Task(30 + i)
		if _, err := log.AppendJudged(t.Context(), ssot.Judged{Seq: e.Seq, Hash: e.Hash}, r); err != nil && !errors.Is(err, ssot.ErrStale) {
			t.Errorf("entry %d with its hash: %v", e.Seq, err)
		}
	}
	whole(t, log)
}
