//go:build linux

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// scenarios are what a process does with the journal of a folder while something happens to it. Each calls acked with what was
// acknowledged, and returns the first error.
var scenarios = map[string]struct {
	// before makes a folder ready.
	before func(dir string) error
	run    func(dir string, acked func(amp.Entry)) error
}{
	"create": {func(string) error { return nil }, func(dir string, acked func(amp.Entry)) error {
		return appends(dir, 20, 10, acked)
	}},
	"append": {few, func(dir string, acked func(amp.Entry)) error { return appends(dir, 60, 900, acked) }},
	// Bodies so large that the write-ahead log is folded in meanwhile.
	"checkpoint": {few, func(dir string, acked func(amp.Entry)) error { return appends(dir, 10, 900_000, acked) }},
	"rebuild": {few, func(dir string, acked func(amp.Entry)) error {
		return opened(dir, func(log *Log) error {
			return errors.Join(log.Rebuild(context.Background(), nil), appendTo(log, 5, 10, acked))
		})
	}},
	"migrate": {func(dir string) error { return unpack("testdata/journals/0001.db.gz", dir) }, func(dir string, acked func(amp.Entry)) error {
		return appends(dir, 5, 10, acked)
	}},
	"import": {func(dir string) error {
		from := filepath.Join(dir, "from")
		if err := few(from); err != nil {
			return err
		}
		return opened(from, func(log *Log) error {
			out, err := os.Create(filepath.Join(dir, "all.jsonl"))
			if err != nil {
				return err
			}
			_, err = ssot.Export(context.Background(), log, out, ssot.Part{}, nil)
			return errors.Join(err, out.Close())
		})
	}, func(dir string, acked func(amp.Entry)) error {
		in, err := os.Open(filepath.Join(dir, "all.jsonl"))
		if err != nil {
			return err
		}
		defer in.Close()
		return opened(dir, func(log *Log) error {
			if _, err := ssot.Import(context.Background(), log, in, nil); err != nil {
				return err
			}
			all, err := ssottest.All(context.Background(), log)
			for _, e := range all {
				acked(e)
			}
			return err
		})
	}},
}

// few makes a journal of a few entries.
func few(dir string) error {
	return opened(dir, func(log *Log) error {
		records := make([]amp.Record, 60)
		for i := range records {
			records[i] = fact(i)
		}
		_, err := log.Append(context.Background(), records)
		return err
	})
}

func appends(dir string, n, size int, acked func(amp.Entry)) error {
	return opened(dir, func(log *Log) error { return appendTo(log, n, size, acked) })
}

func appendTo(log *Log, n, size int, acked func(amp.Entry)) error {
	for i := range n {
		if err := appendNext(log, fmt.Sprint("next", i), size, acked); err != nil {
			return err
		}
	}
	return nil
}

func appendNext(log *Log, id string, size int, acked func(amp.Entry)) error {
	out, err := log.Append(context.Background(), []amp.Record{
		ssottest.Note(id, ssottest.Task(1+len(id)%9), strings.Repeat("n", size)),
		ssottest.Refusal(id+"-r", ssottest.Task(3), []byte(id)),
	})
	for _, a := range out {
		if err = errors.Join(err, a.Err); err == nil {
			acked(a.Entry)
		}
	}
	return err
}

// holds says what is wrong with a journal that must be whole and hold what was acknowledged. It may hold more.
func holds(dir string, acked []amp.Entry) (err error) {
	return opened(dir, func(log *Log) error {
		all, err := ssottest.All(context.Background(), log)
		if err != nil {
			return err
		}
		for _, e := range acked {
			if e.Seq > uint64(len(all)) || all[e.Seq-1].Hash != e.Hash {
				return fmt.Errorf("entry %d was acknowledged, and is not among the %d that are stored", e.Seq, len(all))
			}
		}
		r, err := log.Verify(context.Background(), nil)
		return errors.Join(err, r.Err(dir))
	})
}
