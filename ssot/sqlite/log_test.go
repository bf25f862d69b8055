package sqlite

import (
	"errors"
	"testing"

	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

func openLog(t *testing.T, dir string) *Log {
	t.Helper()
	log, err := Open(t.Context(), dir, Options{Version: "test"})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil && !errors.Is(err, ssot.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
	return log
}

func TestLog(t *testing.T) {
	t.Parallel()
	ssottest.Run(t, func(t *testing.T) ssot.Log { return openLog(t, t.TempDir()) })
}
