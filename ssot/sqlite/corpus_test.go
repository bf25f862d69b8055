package sqlite

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// corpus are journals as each schema wrote them, with the head that each had then. ARBITER_STORE_CORPUS=1 writes the one of the newest
// schema, before a migration is added after it.
var corpus = map[int64]string{
	1: "471d788324dedf2c71b04d925df7d432dadaa7b79b16fa417eb3a5fdeda67a5a",
	2: "1fc57c2a6622cbdffdac719a591f1e642ea312bb381ade1eeffe182cf379c430",
	3: "1fc57c2a6622cbdffdac719a591f1e642ea312bb381ade1eeffe182cf379c430", // the tables changed, not the entries
	4: "1fc57c2a6622cbdffdac719a591f1e642ea312bb381ade1eeffe182cf379c430",
	5: "1fc57c2a6622cbdffdac719a591f1e642ea312bb381ade1eeffe182cf379c430",
}

const corpusEntries = 122

func corpusFile(version int64) string {
	return fmt.Sprintf("testdata/journals/%04d.db.gz", version)
}

// unpack puts a journal of the corpus into a folder.
func unpack(file, dir string) (err error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, fileName), data, 0o600))
}

// TestCorpus opens journals of every schema that was ever written: each is brought up to date, is whole, has its old head, and takes
// appends. A program that is older than a journal refuses it, and one that only reads says that it has to be opened for writing.
func TestCorpus(t *testing.T) {
	t.Parallel()
	know, err := newest()
	if err != nil {
		t.Fatal(err)
	}
	for version := int64(1); version <= know; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(corpusFile(version)); err != nil && version == know && os.Getenv("ARBITER_STORE_CORPUS") == "1" {
				writeCorpus(t, version)
			}
			dir := t.TempDir()
			if err := unpack(corpusFile(version), dir); err != nil {
				t.Fatalf("schema %d has no journal in the corpus, or one that cannot be read; ARBITER_STORE_CORPUS=1 writes it: %v", version, err)
			}
			if read, err := OpenReadOnly(t.Context(), dir); version < know {
				if older, is := errors.AsType[*ssot.OlderError](err); !is || older.Have != version || older.Know != know {
					t.Errorf("opened for reading: %v, want an error that names the versions %d and %d", err, version, know)
				}
			} else if err = errors.Join(err, read.Close()); err != nil {
				t.Error(err)
			}
			log := openLog(t, dir)
			head, err := log.Head(t.Context())
			if err != nil || head.Seq != corpusEntries || head.Hash.String() != corpus[version] {
				t.Fatalf("the head is %d %s, %v; it was %d %s", head.Seq, head.Hash, err, corpusEntries, corpus[version])
			}
			appendOne(t, log, ssottest.Note("new", ssottest.Task(1), "after the migration"))
			r, err := log.Verify(t.Context(), nil)
			if err := errors.Join(err, r.Err(dir)); err != nil {
				t.Error(err)
			}
			var whole string
			if err := log.reader.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&whole); err != nil || whole != "ok" {
				t.Errorf("SQLite finds: %s, %v", whole, err)
			}
			// The tables are those that the same entries give in a new store.
			if d := cmp.Diff(dumpOfCopy(t, log), dump(t, log)); d != "" {
				t.Errorf("the tables differ from those of a copy (-copy +migrated):\n%s", d)
			}
		})
	}
}

func dumpOfCopy(t *testing.T, log *Log) string {
	t.Helper()
	to := openLog(t, t.TempDir())
	if _, _, err := ssot.Copy(t.Context(), log, to, nil); err != nil {
		t.Fatal(err)
	}
	return dump(t, to)
}

func writeCorpus(t *testing.T, version int64) {
	t.Helper()
	dir := t.TempDir()
	var head amp.Head
	err := opened(dir, func(log *Log) error {
		fill(t, log, corpusEntries-2)
		appendOne(t, log, ssottest.Dispatch(ssottest.Task(1), ssottest.Start))
		appendOne(t, log, ssottest.Dispatch(ssottest.Task(3), ssottest.Start))
		var err error
		head, err = log.Head(context.Background())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), os.WriteFile(corpusFile(version), packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Fatalf("%s is written; its head is %s: put it into corpus", corpusFile(version), head.Hash)
}
