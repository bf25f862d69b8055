package main

import (
	"strings"
	"testing"
)

// A key comes from a keyring's command, and no error repeats what the command printed.
func TestAskKey(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ script, key, fails string }{
		"a key":         {"echo ' sk-secret '", "sk-secret", ""},
		"it fails":      {"echo sk-secret; echo sk-secret >&2; exit 3", "", "failed (exit status 3)"},
		"nothing":       {"true", "", "printed nothing"},
		"a whole file":  {"head -c 20000 /dev/zero | tr '\\0' k", "", "too long"},
		"ended by kill": {"kill -9 $$", "", "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key, err := askKey([]string{"/bin/sh", "-c", tc.script})
			if key != tc.key || (err != nil) != (tc.fails != "") {
				t.Fatalf("askKey = %q, %v", key, err)
			}
			if err != nil && (!strings.Contains(err.Error(), tc.fails) || strings.Contains(err.Error(), "sk-secret")) {
				t.Errorf("error = %v, want %q in it and no key", err, tc.fails)
			}
		})
	}
	if _, err := askKey([]string{"/nowhere/keyring"}); err == nil {
		t.Error("a command that is not there gave a key")
	}
}
