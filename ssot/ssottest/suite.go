// Package ssottest is what every store must do: one conformance suite for all of them, facts to fill a journal with, and a log
// whose appends fail as planned.
package ssottest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
)

// Run tests a store. open returns an empty log of its own for each call and closes it when the test ends; a log that the test
// has closed by then answers with ssot.ErrClosed, which open's cleanup must accept.
func Run(t *testing.T, open func(t *testing.T) ssot.Log) {
	for name, test := range map[string]func(*testing.T, ssot.Log){
		"Head/empty":                  testEmpty,
		"Append/gapless_and_chained":  testChain,
		"Append/exact_bytes":          testBytes,
		"Append/header":               testHeader,
		"Append/AMP-013_same_bytes":   testRepeat,
		"Append/AMP-013_other_bytes":  testConflict,
		"Append/invalid":              testInvalid,
		"Append/nothing":              testNothing,
		"Append/caller_keeps_body":    testOwnBytes,
		"Append/concurrent":           testConcurrent,
		"Append/concurrent_repeats":   testConcurrentRepeats,
		"Append/AMP-006_cancelled":    testCancelled,
		"Read/filters":                testFilters,
		"Read/limit":                  testLimit,
		"Read/sparse":                 testSparse,
		"Find/searches":               testSearch,
		"Find/many":                   testSearchMany,
		"Close":                       testClose,
		"Close/waits":                 testCloseWaits,
		"Board/equals_fold":           testBoard,
		"Board/everything":            testEverything,
		"Board/round":                 testRound,
		"Board/owned":                 testBoardOwned,
		"Follow/in_order":             testFollow,
		"Follow/ends":                 testFollowEnds,
		"Board/property_any_prefix":   testPrefix,
		"Append/AMP-002_refusal_kept": testRefusal,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// appendAll appends records in one call, each of which must be fresh.
func appendAll(t *testing.T, log ssot.Log, records ...amp.Record) []amp.Entry {
	t.Helper()
	out, err := log.Append(t.Context(), records)
	if err != nil {
		t.Fatalf("Append(%d records): %v", len(records), err)
	}
	if len(out) != len(records) {
		t.Fatalf("Append(%d records) answered %d", len(records), len(out))
	}
	entries := make([]amp.Entry, len(out))
	for i, a := range out {
		if a.Err != nil || !a.Fresh {
			t.Fatalf("record %s: fresh %v, err %v", records[i].ID, a.Fresh, a.Err)
		}
		entries[i] = a.Entry
	}
	return entries
}

// All reads every entry of a log.
func All(ctx context.Context, log ssot.Log) ([]amp.Entry, error) {
	var all []amp.Entry
	for {
		page, err := log.Read(ctx, amp.Filter{After: uint64(len(all))})
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < ssot.MaxPage {
			return all, nil
		}
	}
}

// CheckJournal says what is wrong with a log as a whole: gaps, the chain, a repeated id, the head, or a board that is not the fold.
func CheckJournal(ctx context.Context, log ssot.Log) error {
	all, err := All(ctx, log)
	if err != nil {
		return err
	}
	if err := CheckChain(all); err != nil {
		return err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	var last amp.Head
	if n := len(all); n > 0 {
		last = amp.Head{Seq: all[n-1].Seq, Hash: all[n-1].Hash}
	}
	if head != last {
		return fmt.Errorf("head is %d %s, the last entry is %d %s", head.Seq, head.Hash, last.Seq, last.Hash)
	}
	b, ok := log.(ssot.Boarder)
	if !ok {
		return nil
	}
	board, err := b.Board(ctx)
	if err != nil {
		return err
	}
	fold := amp.NewBoard()
	for _, e := range all {
		if err := fold.Apply(e); err != nil {
			return err
		}
	}
	if d := DiffBoards(fold, board); d != "" {
		return fmt.Errorf("the board is not the fold of the entries (-fold +board):\n%s", d)
	}
	return nil
}

// CheckChain says what is wrong with a whole journal's entries: gaps, order, hashes, or an id that comes twice.
func CheckChain(all []amp.Entry) error {
	var head amp.Head
	ids := map[string]uint64{}
	for i := range all {
		e := &all[i]
		switch {
		case e.Seq != head.Seq+1:
			return fmt.Errorf("entry %d comes after %d", e.Seq, head.Seq)
		case e.PrevHash != head.Hash:
			return fmt.Errorf("entry %d: prev_hash is %s, the entry before has %s", e.Seq, e.PrevHash, head.Hash)
		case e.Hash != e.Sum():
			return fmt.Errorf("entry %d: hash is %s, its content has %s", e.Seq, e.Hash, e.Sum())
		case ids[e.ID] != 0:
			return fmt.Errorf("entry %d has the id %s of entry %d", e.Seq, e.ID, ids[e.ID])
		}
		ids[e.ID] = e.Seq
		head = amp.Head{Seq: e.Seq, Hash: e.Hash}
	}
	return nil
}

// DiffBoards compares the JSON forms of two boards; "" when they are equal.
func DiffBoards(want, got *amp.Board) string {
	return cmp.Diff(string(amp.EncodeBody(want)), string(amp.EncodeBody(got)))
}

func check(t *testing.T, log ssot.Log) {
	t.Helper()
	if err := CheckJournal(t.Context(), log); err != nil {
		t.Error(err)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
	}
}
