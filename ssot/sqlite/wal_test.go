package sqlite

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// A reader of one moment keeps the write-ahead log from being begun anew. Appends go on, and write few pages each.
func TestAppend_besideLongReader(t *testing.T) {
	t.Parallel()
	log, err := Open(t.Context(), t.TempDir(), Options{Unindexed: true}) // the index reads too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	tx, err := log.reader.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := head(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	for i := 0; log.walSize() <= walLimit; i++ {
		appendOne(t, log, ssottest.Raw(fmt.Sprint("large", i), "", []byte(strings.Repeat("x", 4<<20))))
	}
	const producers, each = 16, 20
	before := log.walSize()
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() {
			for i := range each {
				if _, err := log.Append(t.Context(), []amp.Record{ssottest.Raw(fmt.Sprint("p", p, "-", i), "", nil)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if grown := log.walSize() - before; grown <= 0 || grown > producers*each*pageSize/2 {
		t.Errorf("%d appends let the write-ahead log grow by %d bytes", producers*each, grown)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for i := range 100 { // the first folds it in, the next begins it anew
		if log.walSize() <= walLimit {
			break
		}
		appendOne(t, log, ssottest.Raw(fmt.Sprint("after", i), "", nil))
	}
	if size := log.walSize(); size > walLimit {
		t.Errorf("without the reader it still has %d bytes", size)
	}
}
