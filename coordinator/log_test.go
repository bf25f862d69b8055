package coordinator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"arbiter/amp"
)

// TestQuery_ownLog shows the end of the coordinator's log, as far as there is a file.
func TestQuery_ownLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "arbiter.log")
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), func(c *Config) { c.LogFile = file })
		state, err := r.c.Query(t.Context(), amp.Query{Kind: amp.QueryStatus})
		if err != nil || state.Status.Log != "" {
			t.Errorf("the log is %q before there is one, %v", state.Status.Log, err)
		}
		if _, err := r.c.Query(t.Context(), amp.Query{Kind: amp.QueryLog}); err == nil || !strings.Contains(err.Error(), "no log file") {
			t.Errorf("err = %v", err)
		}
		if err := os.WriteFile(file, []byte(strings.Repeat("x", maxLog)+"the end\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		page, err := r.c.Query(t.Context(), amp.Query{Kind: amp.QueryLog})
		if err != nil || len(page.Text) != maxLog || !strings.HasSuffix(page.Text, "the end\n") {
			t.Errorf("%d bytes of the log, %v", len(page.Text), err)
		}
		if state, err = r.c.Query(t.Context(), amp.Query{Kind: amp.QueryStatus}); err != nil || state.Status.Log != file {
			t.Errorf("the log is %q, %v", state.Status.Log, err)
		}
	})
}
