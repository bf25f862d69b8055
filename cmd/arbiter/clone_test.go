package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A clone that takes more of the disk than it may is ended with all that it started, while it goes on and when it was quicker than the look.
func TestClone_bounded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"for ever": `while :; do head -c 100000 /dev/zero >> "$D/pack"; done`,
		"a child":  `sh -c 'while :; do head -c 100000 /dev/zero >> "$D/pack"; done'; true`,
		"quick":    `head -c 4000000 /dev/zero > "$D/pack"`,
	} {
		dir := t.TempDir()
		large := &largeError{limit: 3 << 20, why: "a test"}
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = append(os.Environ(), "D="+dir)
		_, err := bounded(t.Context(), cmd, dir, large, func(_, _ uint64) {})
		if _, ok := errors.AsType[*largeError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `head -c 2000000 /dev/zero > "$D/pack"; head -c 1000000 /dev/zero | tr '\0' x; echo done`)
	cmd.Env = append(os.Environ(), "D="+dir)
	said, err := bounded(t.Context(), cmd, dir, &largeError{limit: 3 << 20}, func(_, _ uint64) {})
	if err != nil || len(said) > maxWords || !bytes.HasSuffix(said, []byte("xdone\n")) {
		t.Errorf("within its bounds: %v, %d bytes said", err, len(said))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bounded(ctx, exec.Command("sleep", "600"), dir, &largeError{limit: 3 << 20}, func(_, _ uint64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A real clone of a repository that is larger than what a clone may take leaves no process that writes.
func TestClone_boundedGit(t *testing.T) {
	t.Parallel()
	from := filepath.Join(t.TempDir(), "large")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", from, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	data := make([]byte, 8<<20)
	_, _ = rand.Read(data)
	if err := errors.Join(os.Mkdir(from, 0o700), os.WriteFile(filepath.Join(from, "file"), data, 0o600)); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-qm", "large")
	dir := t.TempDir()
	cmd := exec.Command("git", "clone", "-q", "--bare", "file://"+from, dir)
	_, err := bounded(t.Context(), cmd, dir, &largeError{limit: 2 << 20}, func(_, _ uint64) {})
	if _, ok := errors.AsType[*largeError](err); !ok {
		t.Error(err)
	}
}
