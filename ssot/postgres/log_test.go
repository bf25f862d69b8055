package postgres

import (
	"testing"

	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

func TestLog(t *testing.T) {
	t.Parallel()
	s := server(t)
	ssottest.Run(t, func(t *testing.T) ssot.Log { return open(t, Options{URL: s.URL(s.Schema())}) })
}

func TestLog_shared(t *testing.T) {
	t.Parallel()
	s := server(t)
	ssottest.RunShared(t, func(t *testing.T) (a, b ssot.Shared) {
		opts := Options{URL: s.URL(s.Schema())}
		return open(t, opts), open(t, opts)
	})
}
