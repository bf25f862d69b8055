package program

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// TestRun_fullDisk: a program that fills its folders is ended with words of its own; what they held before does not count, and no file is larger.
func TestRun_fullDisk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before int
		script string
		fails  providers.Failure
	}{
		"fills":  {0, `for i in 1 2 3 4 5 6 7 8; do head -c 400000 /dev/zero > f$i; done; exec sleep 1000`, providers.FailOutput},
		"before": {4 << 20, `head -c 3000000 /dev/zero > large; echo made`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, turn := t.TempDir(), "full-disk-"+rand.Text()
			if err := os.WriteFile(filepath.Join(dir, "before"), make([]byte, tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			cage, err := sandbox.Leash{Caps: sandbox.Caps{Disk: 1 << 20}}.Open(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			defer cage.Close()
			p, err := cage.Start(t.Context(), sandbox.Spec{
				Argv: []string{"/bin/sh", "-c", "read -r _; " + tc.script}, Dir: dir, Home: t.TempDir(), Turn: turn, Talk: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			p.Send([]byte("go\n"))
			made := false
			s := &Session{Process: p, Cage: cage, Limits: patient, Line: func(raw []byte) { made = strings.HasPrefix(string(raw), "made") }}
			end := s.Run(t.Context())
			if (end.Failed != nil) != (tc.fails != "") || end.Failed != nil && (end.Failed.Failure != tc.fails || !strings.Contains(end.Failed.Text, "grew by more than 2 MB")) {
				t.Errorf("end = %+v", end.Failed)
			}
			if tc.fails == "" && !made {
				t.Error("the program did not go on")
			}
			if info, err := os.Stat(filepath.Join(dir, "large")); err == nil && info.Size() > 1<<20 {
				t.Errorf("one file has %d bytes", info.Size())
			}
		})
	}
}
