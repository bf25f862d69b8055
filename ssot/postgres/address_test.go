package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"arbiter/ssot"
)

// What is wrong with an address is said, in words that name it and never the password.
func TestOpen_address(t *testing.T) {
	t.Parallel()
	s := server(t)
	for name, tc := range map[string]struct {
		change  func(url string) string
		address bool // it is an *AddressError
		want    string
	}{
		"unknown parameter": {func(u string) string { return u + "&dream=1" }, true, `"dream"`},
		"wrong value":       {func(u string) string { return u + "&lock_timeout=soon" }, true, "lock_timeout"},
		"no such database":  {func(u string) string { return strings.Replace(u, "/postgres?", "/nowhere?", 1) }, true, `database "nowhere" does not exist`},
		"wrong sslmode":     {func(string) string { return "postgres://owner:geheim@localhost/postgres?sslmode=perhaps" }, true, "sslmode"},
		"no address":        {func(string) string { return "postgres://owner:ge%zzheim@localhost/postgres" }, true, "write it as postgres://"},
		"wrong port":        {func(string) string { return "postgres://owner:geheim@localhost:99999/postgres" }, true, "port"},
		"wrong timeout":     {func(u string) string { return u + "&connect_timeout=soon" }, true, "connect_timeout"},
		"wrong schema":      {func(u string) string { return u + "&search_path=A-B" }, true, "small letters"},
		"read only": {
			func(u string) string { return u + "&default_transaction_read_only=on" }, false,
			"takes no writes: cannot execute CREATE SCHEMA in a read-only transaction",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := tc.change(s.URL(s.Schema()))
			log, err := Open(t.Context(), Options{URL: url, Password: "geheim", Patience: time.Nanosecond})
			if err == nil {
				_ = log.Close()
				t.Fatal("it was opened")
			}
			if _, ok := errors.AsType[*AddressError](err); ok != tc.address || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "geheim") ||
				strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "SQLSTATE") {
				t.Errorf("it says %v; want %q", err, tc.want)
			}
			if x, ok := errors.AsType[*UnreachableError](err); !tc.address && (!ok || !x.ReadOnly || !errors.Is(err, ssot.ErrUnreachable)) {
				t.Errorf("it is %+v", err)
			}
		})
	}
}
